from __future__ import annotations

import pytest
from bs4 import BeautifulSoup

from app.errors import Message
from app.estimating.documents import CheckWarning
from app.platform.web.contexts import grouped
from tests.web.pages.conftest import Reader


def rows(page: BeautifulSoup, table: str = "options") -> list[list[str]]:
    found = page.find("table", id=table)
    assert found is not None
    return [
        [cell.get_text(" ", strip=True) for cell in row.find_all(["th", "td"])]
        for row in found.find_all("tr")
    ]


def test_every_option_is_a_row_with_time_cost_and_range(reader: Reader, modelled: str) -> None:
    page, data = reader.page(modelled), reader.data(f"{modelled}.json")
    head, *options = rows(page)
    assert head[:4] == ["Option", "Training time", "Relative to the fastest", "Cost per run"]
    assert len(options) == len(data["rows"]) == 3
    for cells, row in zip(options, data["rows"], strict=True):
        assert cells[0].startswith(row["label"])
        minutes = [row[end] * 60 for end in ("hours", "low", "high")]
        assert cells[1] == f"{minutes[0]:.1f} min ({minutes[1]:.1f}–{minutes[2]:.1f})"


def test_ratios_are_against_the_fastest(reader: Reader, claimed: str) -> None:
    options = rows(reader.page(claimed))[1:]
    assert [(cells[1], cells[2]) for cells in options] == [
        ("69.5 h", "5.3×"),
        ("23.2 h", "1.8×"),
        ("13.2 h", "fastest"),
    ]


def test_a_ratio_says_how_sure_it_is(reader: Reader, modelled: str, claimed: str) -> None:
    for address in (modelled, claimed):
        told = reader.page(address).select("#ratios li")
        ratios = reader.data(f"{address}.json")["ratios"]
        for item, ratio in zip(told, ratios, strict=True):
            assert ("probability" in item.get_text()) == (ratio["probability"] is not None)


def test_each_row_says_who_claims_it(reader: Reader, claimed: str) -> None:
    labels = [row[0] for row in rows(reader.page(claimed))[1:]]
    assert [("vendor" in label, "linear" in label) for label in labels] == [
        (True, False),
        (False, True),
        (True, False),
    ]


def test_warnings_stand_on_the_page_the_gravest_first(reader: Reader, claimed: str) -> None:
    page, data = reader.page(claimed), reader.data(f"{claimed}.json")
    shown = [item["data-code"] for item in page.select(".warnings li")]
    assert set(shown) == {warning["code"] for warning in data["warnings"]}
    assert {"vendor_figure", "linear_scaling_assumed", "generation_mk2"} <= set(shown)


def test_options_come_first(reader: Reader, modelled: str, claimed: str) -> None:
    for address in (modelled, claimed):
        page = reader.page(address)
        order = [one.get("id") or one["class"][0] for one in page.select("main #options, main .warnings")]
        assert order[0] == "options"


def test_one_check_is_one_row_that_names_its_options() -> None:
    def thin(share: int) -> CheckWarning:
        return CheckWarning.of("thin", "caution", Message("{share} % is full", {"share": share}))

    grave = CheckWarning.of("grave", "serious", Message("no"))
    found = grouped([("a", thin(94)), ("b", thin(97)), ("c", thin(94)), ("", grave)])
    assert [(group.code, group.severity) for group in found] == [("grave", "serious"), ("thin", "caution")]
    assert [(line.text.message, line.options) for line in found[1].lines] == [
        ("94 % is full", ["a", "c"]),
        ("97 % is full", ["b"]),
    ]


@pytest.mark.parametrize("typed", ["85", "0.85", "85%", "0,85"])
def test_efficiency_has_one_address_however_it_is_typed(reader: Reader, claimed: str, typed: str) -> None:
    response = reader.get(claimed, params={"scaling_efficiency": typed})
    address = response.headers.get("location", f"{claimed}?scaling_efficiency={typed}")
    assert address == f"{claimed}?scaling_efficiency=0.85"
    assert rows(reader.page(address))[2][1:3] == ["27.3 h", "2.1×"]


def test_full_efficiency_is_the_plain_address(reader: Reader, claimed: str) -> None:
    assert reader.get(f"{claimed}?scaling_efficiency=100").headers["location"] == claimed


def test_json_twin_takes_the_same_efficiency(reader: Reader, claimed: str) -> None:
    data = reader.data(f"{claimed}.json?scaling_efficiency=85")
    assert data["scaling_efficiency"] == 0.85
    assert data["rows"][1]["hours"] == pytest.approx(69.5 / 3 / 0.85)


@pytest.mark.parametrize("typed", ["0", "-3", "101", "nan", "much"])
def test_wrong_efficiency_is_refused_beside_its_field(reader: Reader, claimed: str, typed: str) -> None:
    page = reader.page(f"{claimed}?scaling_efficiency={typed}", status=400)
    field = page.find("input", id="scaling-efficiency")
    assert field is not None and field["value"] == typed and field["aria-invalid"] == "true"
    assert "at most 100" in page.select_one("#scaling-efficiency-messages .field-error").get_text()
    assert rows(page)[2][1] == "23.2 h"


def test_an_option_that_does_not_fit_says_why_and_what_would(reader: Reader) -> None:
    asked = {
        "model": {"preset": "gpt3-175b"},
        "workload": {"tokens": 300e9},
        "system": {"id": "dgx-a100-640gb"},
    }
    made = reader.ask("POST", "/api/v1/comparisons", json={"rows": [asked]})
    address = f"/comparisons/{made.json()['id']}"
    option, data = rows(reader.page(address))[1], reader.data(f"{address}.json")
    warning = next(one for one in data["rows"][0]["estimate"]["warnings"] if one["code"] == "does_not_fit")
    assert option[1].startswith("Does not fit")
    assert warning["message"].split(";")[-1].strip() in option[1]


def test_parts_of_the_time_add_up_to_all_of_it(reader: Reader, modelled: str) -> None:
    data = reader.data(f"{modelled}.json")
    table = reader.page(modelled).select(".chart-box:has(#figure-breakdown) .chart-table tbody tr")
    cells = [row.td.get_text() for row in table]
    shares = [float(cell.rpartition("(")[2].strip("<%)")) for cell in cells if "(" in cell]
    assert sum(shares) == pytest.approx(100, abs=0.5)
    assert data["rows"][0]["estimate"]["breakdown"]


def test_scaling_curve_is_a_part_for_htmx_and_a_page_otherwise(reader: Reader, modelled: str) -> None:
    whole = reader.get(f"{modelled}/scaling")
    part = reader.get(f"{modelled}/scaling", headers={"HX-Request": "true"})
    assert whole.text.startswith("<!doctype html>") and not part.text.startswith("<!doctype")
    first = reader.data(f"{modelled}/scaling.json")["DGX A100 640GB"]
    shown = BeautifulSoup(part.text, "html.parser")
    table = shown.select(".chart-box:has(#figure-scaling) .chart-table tbody tr")
    assert [row.td.get_text() for row in table if row.th.get_text() == "DGX A100 640GB"] == [
        str(one["system"]["count"]) for one in first
    ]


def test_unknown_comparison_is_a_page_that_says_so(reader: Reader) -> None:
    page = reader.page("/comparisons/cmp_none", status=404)
    assert page.h1.get_text() == "Not found"
    assert "cmp_none" in page.get_text()
