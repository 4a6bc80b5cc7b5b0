"""Measured runs as a view of a study: the form, what comes of it, and that page and data agree."""

from __future__ import annotations

import pytest
from bs4 import BeautifulSoup

from app.platform.web.examples import CALIBRATION, FABRIC_GAIN
from tests.support.application import Reader

RUNS = {
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


@pytest.fixture(scope="module")
def study(reader: Reader) -> str:
    """Address of a study of the example, with a pod and the same machines once more."""
    asked = CALIBRATION["estimate"]
    base = {name: asked[name] for name in ("model", "workload")}
    systems = [asked["system"], {"id": "bow-pod64"}, {"id": "dgx-a100-640gb", "count": 2}]
    body = {"name": "Measured", "base": base, "options": [{"system": one} for one in systems]}
    made = reader.ask("POST", "/api/v1/studies", json=body)
    assert made.status_code == 201, made.text
    return f"/studies/{made.json()['id']}"


@pytest.fixture(scope="module")
def fitted(reader: Reader, study: str) -> str:
    """Where a calibration is shown."""
    response = reader.submit(f"{study}/runs", RUNS)
    assert response.status_code == 303, response.text
    return str(response.headers["location"])


def twin(place: str) -> str:
    return place.replace("/runs?", "/runs.json?")


def errors_of(response_text: str) -> BeautifulSoup:
    return BeautifulSoup(response_text, "lxml")


def test_rows_left_empty_are_left_out(reader: Reader, fitted: str) -> None:
    fit = reader.data(twin(fitted))["fit"]
    assert [run["global_batch"] for run in fit["runs"]] == [512, 1024]
    assert fit["runs"][0]["samples_per_s"] == pytest.approx(3600)
    assert fit["runs"][1]["measured"] == pytest.approx(0.265)
    assert fit["estimate"]["system"]["count"] == 8, "the option is what was measured"


def test_page_and_data_agree(reader: Reader, fitted: str) -> None:
    page, fit = reader.page(fitted), reader.data(twin(fitted))["fit"]
    figures = [one.get_text() for one in page.select(".headline .figure")]
    assert figures[0] == f"{fit['gap_before'] * 100:.1f}%"
    assert len(page.select("#runs tbody tr")) == 2
    codes = [row.find("code").get_text() for row in page.select("#moved tbody tr")]
    assert codes == [figure["parameter"] for figure in fit["moved"]]
    warned = {one["data-code"] for one in page.select(".warning")}
    assert warned == {one["code"] for one in fit["warnings"]}
    assert fit["software"] in page.get_text()
    assert page.select_one("#runs").find("b") is None


def test_every_chart_has_its_table(reader: Reader, fitted: str) -> None:
    page = reader.page(fitted)
    for link in page.select("figcaption a:not([download])"):
        assert page.find(id=str(link["href"]).removeprefix("#")) is not None
    assert len(page.select("figure .chart-table tbody")) == 2


def test_the_profile_is_used_with_one_click(reader: Reader, study: str, fitted: str) -> None:
    fit = reader.data(twin(fitted))["fit"]
    link = reader.page(fitted).find("a", string="Use in this study")
    answer = reader.data(str(link["href"]).replace("?", ".json?"))
    assert {change["option"] for change in answer["changes"]} == {"a", "c"}, "a pod has other software"
    used = answer["options"][0]["estimate"]
    assert used["software"] == fit["software"]
    assert used["time_to_train"] == fit["after"]["time_to_train"]


def test_calibrations_of_a_study_are_listed(reader: Reader, study: str, fitted: str) -> None:
    listed = reader.page(f"{study}/runs").select("#earlier a")
    assert str(listed[-1]["href"]) == fitted
    assert [one["id"] for one in reader.data(f"{study}/runs.json")["calibrations"]][-1] in fitted
    assert reader.data(f"{reader.study({'id': 'bow-pod64'})}/runs.json")["calibrations"] == []
    missing = {**CALIBRATION, "study_id": "stu_nobody"}
    refused = reader.ask("POST", "/api/v1/calibrations", json=missing)
    assert refused.status_code == 404
    assert "study_id" in refused.text


def test_runs_come_from_a_file_as_well(reader: Reader, study: str) -> None:
    rows = b"samples_per_s,count,batch,note\n3600,1,512,one node\n6900,2,1024,\n"
    made = reader.submit(f"{study}/runs", RUNS, {"runs_file": ("runs.csv", rows, "text/csv")})
    assert made.status_code == 303, made.text
    assert len(reader.data(twin(str(made.headers["location"])))["fit"]["runs"]) == 4
    wrong = reader.submit(f"{study}/runs", RUNS, {"runs_file": ("runs.csv", b"speed\n1\n", "text/csv")})
    page = errors_of(wrong.text)
    assert wrong.status_code == 400 and page.find(id="runs_file-error-1") is not None
    assert page.find("input", id="runs-0-value")["value"] == "3,600"
    rows = b"step_time_s,system,batch\n1,ipu-pod16,512\n"
    unsuited = reader.submit(f"{study}/runs", {}, {"runs_file": ("runs.csv", rows, "text/csv")})
    assert unsuited.status_code == 400
    assert errors_of(unsuited.text).find(id="runs_file-error-1") is not None


def test_errors_stand_at_the_rows_they_were_typed_in(reader: Reader, study: str) -> None:
    response = reader.submit(f"{study}/runs", {**RUNS, "runs.2.value": "-1"})
    assert response.status_code >= 400
    page = errors_of(response.text)
    assert page.find(id="runs-2-value-error-1") is not None and page.find(id="runs-0-value-error-1") is None
    assert page.find("input", id="runs-0-value")["value"] == "3,600"


def test_a_study_may_leave_batch_and_length_open(reader: Reader) -> None:
    page = reader.page(f"{reader.study({'id': 'bow-pod64', 'count': 2})}/runs")
    assert page.find("input", id="runs-0-system-count")["placeholder"] == "2"
    assert page.find("input", id="runs-0-workload-global_batch")["placeholder"] == ""


def test_a_form_without_runs_says_so(reader: Reader, study: str) -> None:
    response = reader.submit(f"{study}/runs", {})
    assert response.status_code == 400
    assert BeautifulSoup(response.text, "lxml").select('[role="alert"]')


def test_rows_can_be_added_without_losing_what_was_typed(reader: Reader, study: str) -> None:
    response = reader.submit(f"{study}/runs", {**RUNS, "rows": "3", "more": "1"})
    page = errors_of(response.text)
    assert len(page.select("fieldset.run")) == 6
    assert page.find("input", id="runs-2-value")["value"] == "0.265"


def test_a_kept_calibration_leads_to_its_study(reader: Reader, fitted: str) -> None:
    identifier = fitted.rpartition("=")[2]
    assert reader.landed(f"/calibrations/{identifier}") == fitted
    made = reader.ask("POST", "/api/v1/calibrations", json=CALIBRATION).json()
    assert reader.data(f"/calibrations/{made['id']}.json") == made
    place = reader.landed(f"/calibrations/{made['id']}")
    assert reader.data(twin(place))["fit"] == made
    assert reader.get("/calibrations/cal_nobody").status_code == 404


def gain(reader: Reader, **change: object) -> str:
    made = reader.ask("POST", "/api/v1/calibrations", json={**FABRIC_GAIN, **change})
    assert made.status_code == 201, made.text
    return f"/calibrations/{made.json()['id']}"


def test_a_gain_under_the_threshold_is_not_recommended(reader: Reader, korean: Reader) -> None:
    where = gain(reader)
    page, data = reader.page(where), reader.data(f"{where}.json")
    assert data["recommendation"] == "roce"
    assert page.select_one(".subtabs [aria-current]").get_text() == "Measured runs"
    assert page.select_one("form.ask") is None
    text = page.get_text(" ", strip=True)
    assert "1.52%" in text and "5%" in text and "not recommended" in page.find(id="verdict").get_text()
    assert "비추천" in korean.page(where).find(id="verdict").get_text()
    assert {row.th.get_text(strip=True) for row in page.select("#alternatives tbody tr")} == {
        "rocereference",
        "infiniband",
    }


def test_slower_roce_turns_the_recommendation(reader: Reader) -> None:
    runs = {**FABRIC_GAIN["runs"], "roce": [700, 700, 700]}
    assert reader.data(f"{gain(reader, runs=runs)}.json")["recommendation"] == "infiniband"


def test_rows_say_what_the_study_takes_and_nothing_where_it_leaves_that_open(reader: Reader) -> None:
    page = reader.page(f"{reader.study({'id': 'dgx-a100-640gb', 'count': 2})}/runs")
    assert page.find(id="runs-0-system-count")["placeholder"] == "2"
    assert page.find(id="runs-0-workload-global_batch")["placeholder"] == ""
    figure = {"label": "Reported", "figure": {"hours": 3.5, "kind": "vendor"}}
    base = {"model": {"preset": "bert-large"}, "workload": {"target": "mlperf-bert"}}
    body = {"name": "Stated", "base": base, "options": [figure]}
    stated = reader.ask("POST", "/api/v1/studies", json=body).json()["id"]
    assert reader.get(f"/studies/{stated}/runs").status_code == 200
