from __future__ import annotations

from urllib.parse import urlencode

import pytest
from bs4 import BeautifulSoup

from tests.web.pages.conftest import Reader

GPT3 = {
    "system": "ipu-pod256",
    "parameters": "175e9",
    "layers": "96",
    "tensor": "8",
    "pipeline": "8",
    "replicas": "4",
    "replica_batch": "8",
    "replicated_tensor_sharding": "4",
}


def told(page: BeautifulSoup) -> dict[str, str]:
    return {row.th.get_text(): row.td.get_text(strip=True) for row in page.select("#mapping tr")}


def test_mapping_of_gpt3(reader: Reader) -> None:
    result = told(reader.page(f"/mappings?{urlencode(GPT3)}"))
    assert result["IPUs per replica"] == "64"
    assert result["Global batch"] == "32"
    assert result["Layers per stage"] == "12"
    assert result["Share of the weights each IPU works on"] == "1/64"
    assert result["Share of the weights each IPU keeps"] == "1/256"
    assert result["Weights each IPU works on (FP16)"] == "5.47 GB"
    assert result["Memory per IPU"] == "940.6 MB"
    assert result["Memory per IPU, rounded by the vendor"] == "900 MB"
    assert result["Minimum phases for the weights alone"] == "7"


def test_page_and_twin_agree(reader: Reader) -> None:
    data = reader.data(f"/mappings.json?{urlencode(GPT3)}")
    assert data["devices"] == 256 and data["minimum_phases"] == 7
    assert data == reader.data("/mappings.json")


def test_people_may_write_175b(reader: Reader) -> None:
    assert reader.data(f"/mappings.json?{urlencode(GPT3 | {'parameters': '175B'})}")["minimum_phases"] == 7


def test_refused_mapping_stands_beside_the_field_and_the_previous_result_stays(reader: Reader) -> None:
    before = reader.page(f"/mappings?{urlencode(GPT3)}")
    previous = before.select_one("input[name=previous]")["value"]
    page = reader.page(
        f"/mappings?{urlencode(GPT3 | {'replicas': '5', 'previous': str(previous)})}", status=409
    )
    error = page.find(id="replicas-error-1").get_text()
    assert "320" in error and "256" in error
    assert "stale" in page.find(id="result")["class"]
    assert told(page) == told(before)
    assert page.find("input", id="replicas")["value"] == "5"


@pytest.mark.parametrize(
    ("field", "value", "status"),
    [("tensor", "x", 422), ("layers", "", 422), ("replicas", "1e400", 422), ("system", "pod", 404)],
)
def test_wrong_field_is_refused_at_its_place(reader: Reader, field: str, value: str, status: int) -> None:
    page = reader.page(f"/mappings?{urlencode(GPT3 | {field: value})}", status=status)
    assert page.find(id=f"{field}-error-1") is not None


def test_both_mappings_of_bert_are_offered(reader: Reader) -> None:
    for link in reader.page("/mappings").select("form .hint a"):
        assert told(reader.page(str(link["href"])))
