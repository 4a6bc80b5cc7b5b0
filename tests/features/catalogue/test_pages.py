from __future__ import annotations

import pytest

from tests.support.application import Reader

KINDS = ("chips", "machines", "systems", "fabrics", "models", "software", "sources")


@pytest.mark.parametrize("kind", KINDS)
def test_list_and_twin_name_the_same_things(reader: Reader, kind: str) -> None:
    listed = [row.th.code.get_text() for row in reader.page(f"/catalog/{kind}").select("#entries tbody tr")]
    assert sorted(listed) == sorted(one["id"] for one in reader.data(f"/catalog/{kind}.json"))


def test_index_leads_to_every_kind(reader: Reader) -> None:
    addresses = [card["href"] for card in reader.page("/catalog").select(".card")]
    assert addresses == [
        *(f"/catalog/{kind}" for kind in KINDS),
        "/accelerators",
        "/price-books",
        "/uploads",
        "/claims",
    ]
    for address in addresses[len(KINDS) :]:
        assert reader.page(str(address)).select_one('.crumb a[href="/catalog"]') is not None


@pytest.mark.parametrize("kind", KINDS)
def test_every_entry_has_a_page(reader: Reader, kind: str) -> None:
    for entry in reader.data(f"/catalog/{kind}.json")[:4]:
        assert reader.page(f"/catalog/{kind}/{entry['id']}").h1


def test_figure_has_value_source_date_and_status(reader: Reader) -> None:
    page = reader.page("/catalog/chips/a100-sxm-80gb")
    row = page.find(id="memory_capacity")
    cells = [cell.get_text(" ", strip=True) for cell in row.find_all("td")]
    assert cells[0].startswith("81,920 MiB") and "nvidia-smi" in row.select_one(".source").get_text()
    assert cells[3] == "accepted"
    linked = page.find(id="memory_bandwidth").select_one(".source a")
    assert linked["href"].startswith("https://")


def test_rejected_claim_is_struck_but_readable_with_its_reason(reader: Reader) -> None:
    page = reader.page("/catalog/chips/a100-sxm-80gb")
    data = reader.data("/catalog/chips/a100-sxm-80gb.json")
    struck = page.select("tr.struck")
    rivals = [claim for figure in data["figures"] for claim in figure["rejected"]]
    assert rivals and len(struck) == len(rivals)
    for row, claim in zip(struck, rivals, strict=True):
        assert row.s is not None
        assert claim["note"] in row.select_one(".reason").get_text()


def test_direction_is_stated(reader: Reader) -> None:
    row = reader.page("/catalog/chips/a100-sxm-80gb").find(id="nvlink_bandwidth")
    assert "300 GB/s" in row.get_text(" ") and "unidirectional" in row.get_text()


def test_unknown_entry_offers_close_names(reader: Reader) -> None:
    page = reader.page("/catalog/systems/dgx-a100", status=404)
    assert "dgx-a100-640gb" in page.get_text()


def test_unknown_kind_is_not_found(reader: Reader) -> None:
    assert "chips" in reader.page("/catalog/chip", status=404).get_text()
