"""Forms of measured runs, what comes of them, and that page and data agree."""

from __future__ import annotations

import pytest
from bs4 import BeautifulSoup

from tests.web.pages.conftest import Reader

RUNS = {
    "estimate": "example",
    "label": "Two runs",
    "runs.0.value": "3,600",
    "runs.0.unit": "samples_per_s",
    "runs.0.system.count": "1",
    "runs.0.workload.global_batch": "512",
    "runs.2.value": "0.265",
    "runs.2.unit": "step_time_s",
    "runs.2.system.count": "1",
    "runs.2.workload.global_batch": "1024",
    "runs.2.note": "the second <b>try</b>",
}
GAIN = {
    "gain.system": "dgx-a100-640gb",
    "gain.reference": "RoCE",
    "gain.reference_runs": "985 990 980",
    "gain.alternative": "InfiniBand",
    "gain.alternative_runs": "1003, 998, 999",
    "gain.threshold": "5",
}


@pytest.fixture(scope="module")
def calibration(reader: Reader) -> str:
    response = reader.submit("/calibrations/new", RUNS)
    assert response.status_code == 303, response.text
    return str(response.headers["location"])


def errors_of(response_text: str) -> BeautifulSoup:
    return BeautifulSoup(response_text, "html.parser")


def test_rows_left_empty_are_left_out(reader: Reader, calibration: str) -> None:
    data = reader.data(f"{calibration}.json")
    assert [run["global_batch"] for run in data["runs"]] == [512, 1024]
    assert data["runs"][0]["samples_per_s"] == pytest.approx(3600)
    assert data["runs"][1]["measured"] == pytest.approx(0.265)


def test_page_and_data_agree(reader: Reader, calibration: str) -> None:
    page, data = reader.page(calibration), reader.data(f"{calibration}.json")
    figures = [one.get_text() for one in page.select(".headline .figure")]
    assert figures[0] == f"{data['gap_before'] * 100:.1f}%"
    assert len(page.select("#runs tbody tr")) == 2
    codes = [row.find("code").get_text() for row in page.select("#moved tbody tr")]
    assert codes == [figure["parameter"] for figure in data["moved"]]
    warned = {one["data-code"] for one in page.select(".warning")}
    assert warned == {one["code"] for one in data["warnings"]}
    assert data["software"] in page.get_text()
    assert page.select_one("#runs").find("b") is None


def test_every_chart_has_its_table(reader: Reader, calibration: str) -> None:
    page = reader.page(calibration)
    for link in page.select(".chart-table a"):
        assert page.find(id=str(link["href"]).removeprefix("#")) is not None
    assert len(page.select("figure .chart-table tbody")) == 2


def test_the_profile_is_used_with_one_click(reader: Reader, calibration: str) -> None:
    response = reader.submit(f"{calibration}/estimate", {})
    assert response.status_code == 303
    estimate, data = reader.data(f"{response.headers['location']}.json"), reader.data(f"{calibration}.json")
    assert estimate["software"] == data["software"]
    assert estimate["time_to_train"] == data["after"]["time_to_train"]
    page = reader.page(str(response.headers["location"]))
    assert page.find("a", href=calibration) is not None


def test_an_estimate_leads_to_the_form_that_has_chosen_it(reader: Reader, calibration: str) -> None:
    made = str(reader.submit(f"{calibration}/estimate", {}).headers["location"])
    link = reader.page(made).find("a", string="Calibrate with measured runs")
    page = reader.page(str(link["href"]))
    assert page.select_one("#estimate option[selected]")["value"] == made.removeprefix("/estimates/")


@pytest.mark.parametrize("example", ["runs", "gain"])
def test_examples_work_as_they_are_filled_in(reader: Reader, example: str) -> None:
    page = reader.page(f"/calibrations/new?example={example}")
    form = page.select("form.ask")[0 if example == "runs" else 1]
    fields = {one["name"]: one.get("value", "") for one in form.select("input[name]")}
    for one in form.select("select[name]"):
        chosen = one.select_one("option[selected]") or one.select_one("option")
        fields[one["name"]] = chosen["value"]
    assert reader.submit(str(form["action"]), fields).status_code == 303


def test_errors_stand_at_the_rows_they_were_typed_in(reader: Reader) -> None:
    response = reader.submit("/calibrations/new", {**RUNS, "runs.2.value": "-1"})
    assert response.status_code >= 400
    page = errors_of(response.text)
    assert page.find(id="runs-2-value-error-1") is not None and page.find(id="runs-0-value-error-1") is None
    assert page.find("input", id="runs-0-value")["value"] == "3,600"
    response = reader.submit(
        "/calibrations/new", {**RUNS, "runs.2.system.id": "ipu-pod16", "runs.2.value": "1"}
    )
    assert response.status_code == 400
    assert errors_of(response.text).find(id="runs-2-system-error-1") is not None


def test_a_form_without_runs_or_estimate_says_so(reader: Reader) -> None:
    response = reader.submit("/calibrations/new", {"estimate": "example"})
    assert response.status_code == 400
    assert "at least one measured run" in response.text
    response = reader.submit("/calibrations/new", {**RUNS, "estimate": "est_nobody"})
    assert response.status_code == 404


def test_rows_can_be_added_without_losing_what_was_typed(reader: Reader) -> None:
    response = reader.submit("/calibrations/new", {**RUNS, "rows": "3", "more": "1"})
    page = errors_of(response.text)
    assert len(page.select("fieldset.run")) == 6
    assert page.find("input", id="runs-2-value")["value"] == "0.265"


def test_a_gain_under_the_threshold_is_not_recommended(reader: Reader, korean: Reader) -> None:
    response = reader.submit("/calibrations/gain", GAIN)
    assert response.status_code == 303, response.text
    where = str(response.headers["location"])
    page, data = reader.page(where), reader.data(f"{where}.json")
    assert data["recommendation"] == "RoCE"
    text = page.get_text(" ", strip=True)
    assert "1.52%" in text and "5%" in text and "not recommended" in page.find(id="verdict").get_text()
    assert "비추천" in korean.page(where).find(id="verdict").get_text()
    assert {row.th.get_text(strip=True) for row in page.select("#alternatives tbody tr")} == {
        "RoCEreference",
        "InfiniBand",
    }


def test_slower_roce_turns_the_recommendation(reader: Reader) -> None:
    response = reader.submit("/calibrations/gain", {**GAIN, "gain.reference_runs": "700 700 700"})
    data = reader.data(f"{response.headers['location']}.json")
    assert data["recommendation"] == "InfiniBand"


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"gain.reference_runs": "985 x"}, "gain-reference_runs"),
        ({"gain.alternative_runs": ""}, "gain-alternative_runs"),
        ({"gain.reference": ""}, "gain-reference"),
        ({"gain.alternative": "RoCE"}, "gain-alternative"),
        ({"gain.threshold": "-5"}, "gain-threshold"),
        ({"gain.threshold": "much"}, "gain-threshold"),
    ],
)
def test_errors_of_a_gain_stand_at_their_field(reader: Reader, change: dict[str, str], field: str) -> None:
    response = reader.submit("/calibrations/gain", {**GAIN, **change})
    assert response.status_code in {400, 422}
    assert errors_of(response.text).find(id=f"{field}-error-1") is not None
