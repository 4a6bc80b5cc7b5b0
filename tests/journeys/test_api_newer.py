"""The six journeys with today's accelerators beside DGX A100 and Bow Pod: time, money, energy."""

import io
from collections.abc import Callable
from typing import Any

import httpx
import pypdf
import pytest

Call = Callable[..., Any]
Ask = Callable[..., httpx.Response]

NEWER = ("dgx-h100", "dgx-h200", "dgx-b200", "mi300x-8")
BERT = {"model": {"preset": "bert-large"}, "workload": {"target": "mlperf-bert"}}
OPTIONS = ("dgx-a100-640gb", *NEWER, "bow-pod16")


@pytest.fixture(scope="module")
def estimates(post: Call) -> dict[str, dict[str, Any]]:
    return {system: post("/estimates", BERT | {"system": {"id": system}}) for system in OPTIONS}


def test_time_money_and_energy_stand_in_one_table(estimates: dict[str, dict[str, Any]]) -> None:
    for found in estimates.values():
        assert found["fits"]
        for answer in (found["time_to_train"], found["energy"], found["cost"]["run"], found["cost"]["capex"]):
            assert 0 < answer["low"] <= answer["value"] <= answer["high"]
    seconds = {system: found["time_to_train"]["value"] for system, found in estimates.items()}
    assert seconds["dgx-b200"] < seconds["dgx-h200"] <= seconds["dgx-h100"] < seconds["dgx-a100-640gb"]
    joules = {system: found["energy"]["value"] for system, found in estimates.items()}
    assert joules["dgx-b200"] < joules["dgx-h100"] < joules["dgx-a100-640gb"]


def test_an_answer_says_what_is_known_of_its_chip(estimates: dict[str, dict[str, Any]]) -> None:
    """No run on H200 is at hand: nearest to it are runs on the H100 of the same architecture."""
    near = estimates["dgx-h200"]["validation"]["nearest_measured"]
    assert all("h100" in one["system"] for one in near)
    chips = {system: estimates[system]["validation"]["basis"] for system in ("dgx-h200", "bow-pod16")}
    assert chips == {"dgx-h200": "data_sheet", "bow-pod16": "measured_here"}


@pytest.mark.parametrize("system", NEWER)
def test_a_network_that_gains_less_than_asked_is_not_recommended(post: Call, system: str) -> None:
    runs = {"infiniband": [1003, 998, 999], "roce": [985, 990, 980]}
    found = post("/calibrations", {"system": system, "reference": "roce", "threshold": 0.05, "runs": runs})
    assert found["recommendation"] == "roce"


@pytest.mark.parametrize("system", NEWER)
def test_owning_is_held_against_the_cloud(post: Call, system: str) -> None:
    bill = post("/boms", {"system": system, "count": 4, "currency": "USD"})
    capex = bill["totals"]["price"]["value"]
    asked = {"currency": "USD", "capex": capex, "onprem_monthly": 20e3, "cloud_monthly": 220e3}
    assert post("/breakevens", asked)["months"] == pytest.approx(capex / 200e3)


@pytest.mark.parametrize("system", NEWER)
def test_a_model_too_large_for_one_machine_says_how_many_hold_it(post: Call, system: str) -> None:
    asked = {"model": {"preset": "gpt3-175b"}, "workload": {"tokens": 300e9}, "system": {"id": system}}
    found = post("/estimates", asked)
    assert found["fits"] is False and found["time_to_train"] is None
    (warning,) = (one for one in found["warnings"] if one["code"] == "does_not_fit")
    assert "would be enough" in warning["message"]


@pytest.mark.parametrize("system", NEWER)
def test_two_teams_share_one_machine(post: Call, system: str) -> None:
    teams = [{"team": "language", "devices": 4}, {"team": "vision", "devices": 2}]
    found = post("/partitions", {"system": system, "isolation": "strict", "requests": teams})
    assert (found["allocated"], found["free"]) == (6, 2)


def test_a_proposal_names_them_all(ask: Ask, post: Call) -> None:
    rows = [BERT | {"system": {"id": system}, "label": system} for system in OPTIONS]
    comparison = post("/comparisons", {"title": "BERT-Large", "locale": "ko", "rows": rows})
    assert [row["label"] for row in comparison["rows"]] == list(OPTIONS)
    asked = {"comparison_id": comparison["id"], "customer": "고객", "locale": "ko", "currency": "KRW"}
    proposal = post("/proposals", asked)
    post(f"/proposals/{proposal['id']}/freeze")
    printed = ask("GET", f"/api/v1/proposals/{proposal['id']}.pdf").content
    text = " ".join(page.extract_text() for page in pypdf.PdfReader(io.BytesIO(printed)).pages)
    for name in ("DGX H100", "DGX H200", "DGX B200", "MI300X", "DGX A100", "Bow Pod16"):
        assert name in text
