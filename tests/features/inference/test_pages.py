"""The view Serving of a study: its systems as servers, its form, and what it leaves out."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.application import Reader


def made(reader: Reader, *systems: dict[str, Any], model: str = "llama2-70b") -> str:
    """Keep a study of a model on systems; return the address of its view."""
    body = {
        "name": "Serving",
        "base": {"model": {"preset": model}, "workload": {"tokens": 1e9}},
        "options": [{"system": system} for system in systems],
    }
    answer = reader.ask("POST", "/api/v1/studies", json=body)
    assert answer.status_code == 201, answer.text
    return f"/studies/{answer.json()['id']}/serving"


@pytest.fixture(scope="module")
def path(reader: Reader) -> str:
    return made(reader, {"id": "dgx-h100", "count": 2}, {"id": "dgx-a100-640gb"}, {"id": "ipu-pod64"})


def test_the_page_shows_what_its_data_says_and_that_nothing_is_validated(reader: Reader, path: str) -> None:
    page, data = reader.page(path), reader.data(f"{path}.json")
    rows = page.select("#served tbody tr")
    assert [row.a.get_text() for row in rows if row.a] == [one["label"] for one in data["systems"]]
    assert [one["label"] for one in data["systems"]] == ["2 × DGX H100", "DGX A100 640GB"]
    for row, one in zip(rows, data["systems"], strict=True):
        assert row.select_one(".status-unvalidated") is not None
        cell = row.select_one('[data-label="Batch per replica"]')
        assert cell is not None and cell.get_text().startswith(f"{one['serving']['batch']:,}")
    assert page.select_one('[data-code="inference_not_validated"]') is not None
    assert page.find(id="unvalidated") is not None
    left_out = page.find(id="left-out")
    assert left_out is not None and "IPU-POD64" in left_out.get_text()
    assert page.find(id="figure-serving") is not None


def test_fields_are_kept_with_the_state(reader: Reader, path: str) -> None:
    page = reader.page(f"{path}?output_tokens=512&precision=fp8&time_per_output_token_s=0.03")
    values = {one["name"]: one.get("value") for one in page.select("form.limits input[name]")}
    assert values["output_tokens"] == "512" and values["time_per_output_token_s"] == "0.03"
    assert [row.select("span.tag")[1].get_text() for row in page.select("#served tbody tr")] == [
        "fp8",
        "bf16",
    ]


def test_an_error_stands_beside_its_field_above_the_answer_before(reader: Reader, path: str) -> None:
    page = reader.page(f"{path}?tensor=3", status=400)
    error = page.find(id="tensor-error-1")
    assert error is not None and "choose from 1, 2, 4, 8" in error.get_text()
    assert page.select("#served tbody tr")


def test_what_is_too_large_says_so(reader: Reader) -> None:
    page = reader.page(made(reader, {"id": "dgx-a100-320gb"}, model="deepseek-v3"))
    (row,) = page.select("#served tbody tr")
    assert "does not fit" in row.get_text()
    assert page.select_one('[data-code="does_not_fit"]') is not None
    assert page.find(id="figure-serving") is None


def test_other_models_and_systems_have_no_answer(reader: Reader) -> None:
    encoder = reader.page(made(reader, {"id": "dgx-h100"}, model="bert-large"))
    assert "decoder transformers" in encoder.select_one(".notice").get_text()
    pods = reader.page(made(reader, {"id": "ipu-pod64"}))
    assert pods.find(id="served") is None
