"""What a review found of networks and counts of machines: bills, advice and times that hold still.

Each is a question that was answered badly once, by the API and on its page.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.support.application import Reader

GPT3: dict[str, Any] = {"model": {"preset": "gpt3-175b"}, "workload": {"tokens": 300e9}}
BERT: dict[str, Any] = {"model": {"preset": "bert-large"}, "workload": {"target": "mlperf-bert"}}
SWITCHES = {"single_switch", "leaf", "spine", "core"}


def kept(reader: Reader, base: dict[str, Any], *systems: dict[str, Any]) -> str:
    """Keep a study of systems; return its address."""
    body = {"name": "rows", "base": base, "options": [{"system": system} for system in systems]}
    answer = reader.ask("POST", "/api/v1/studies", json=body)
    assert answer.status_code == 201, answer.text
    return f"/studies/{answer.json()['id']}"


@pytest.fixture(scope="module")
def post(reader: Reader) -> Callable[[str, dict[str, Any]], Any]:
    def store(path: str, body: dict[str, Any]) -> Any:
        answer = reader.ask("POST", f"/api/v1{path}", json=body)
        assert answer.status_code in (200, 201), answer.text
        return answer.json()

    return store


def test_a_third_gaudi_3_needs_five_switches_and_not_twenty_six(
    reader: Reader, post: Callable[[str, dict[str, Any]], Any]
) -> None:
    bill = post("/boms", {"system": "gaudi3-8", "count": 3})
    assert sum(line["quantity"] for line in bill["lines"] if line["use"] in SWITCHES) == 5
    assert bill["network"]["switches"] == 5
    prices = {group["group"]: group["price"]["value"] for group in bill["groups"]}
    assert prices["compute_network"] < 200_000
    total = sum(line["total"]["value"] for line in bill["lines"] if line["total"])
    assert bill["totals"]["price"]["value"] == pytest.approx(total, abs=0.01)
    study = kept(reader, {**BERT}, {"id": "gaudi3-8", "count": 3})
    assert reader.data(f"{study}/bill.json")["network"]["switches"] == 5


def test_network_advice_that_is_followed_stays(
    reader: Reader, post: Callable[[str, dict[str, Any]], Any]
) -> None:
    asked = {**GPT3, "system": {"id": "dgx-a100-640gb", "count": 20}}
    first = post("/fabric-choices", {"estimate": asked})
    taken = next(one for one in first["options"] if one["id"] == first["decision"]["recommended"])
    network = {"fabric": taken["fabric"], "ports_per_node": taken["ports_per_node"]}
    again = post("/fabric-choices", {"estimate": {**asked, "system": {**asked["system"], **network}}})
    assert again["decision"]["recommended"] == taken["id"] == again["advice"]["recommendation"]
    # A dearer network is never said to gain less than nothing.
    assert again["advice"]["gain"]["value"] >= 0.0

    study = kept(reader, GPT3, asked["system"])
    page = reader.page(f"{study}/network")
    assert page.select_one("#networks tr.best")["id"] == taken["id"]
    followed = reader.page(str(page.select_one(".next-steps a.primary")["href"]))
    state = str(followed.select_one(".tabs a")["href"]).partition("?")[2]
    after = reader.page(f"{study}/network?{state}")
    assert after.select_one("#networks tr.best")["id"] == taken["id"]
    assert after.select_one("#networks tr.best").find(string="this option") is not None
    assert after.select_one(".next-steps a.primary") is None


def test_bert_takes_no_longer_on_more_racks(
    reader: Reader, post: Callable[[str, dict[str, Any]], Any]
) -> None:
    systems = [{"id": "gb200-nvl72", "count": count} for count in (32, 64, 128)]
    seconds = [post("/estimates", {**BERT, "system": system})["time_to_train"]["value"] for system in systems]
    assert seconds == sorted(seconds, reverse=True)
    asked = {"systems": ["gb200-nvl72"], "counts": [32, 64, 128], "most_accelerators": 16_384}
    sizing = post("/sizings", {**BERT, **asked})
    times = {one["count"]: one["time_to_train"]["value"] for one in sizing["options"]}
    assert [times[count] for count in (32, 64, 128)] == pytest.approx(seconds, rel=1e-9)
    idle = {one["count"]: one["idle_machines"] for one in sizing["options"]}
    assert idle[128] > 0
    study = kept(reader, BERT, *systems)
    page, data = reader.page(study), reader.data(f"{study}.json")
    shown = {one["id"]: one["time"]["value"] for one in data["decision"]["options"]}
    assert [shown[key] for key in ("a", "b", "c")] == sorted(shown.values(), reverse=True)
    assert page.select_one("#decision") is not None
