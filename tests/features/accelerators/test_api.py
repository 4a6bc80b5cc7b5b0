"""Accelerators of a workspace through the API: stated, sized, changed, deleted, and whose they are."""

from __future__ import annotations

from typing import Any

import pytest
from fastapi import FastAPI

from app.platform.web.examples import ACCELERATOR
from tests.conftest import problem_of
from tests.support.application import Ask
from tests.support.jobs import do_next
from tests.support.sweeping import Threads

OWN = "/api/v1/accelerators"


def added(ask: Ask, **more: Any) -> dict[str, Any]:
    answer = ask("POST", OWN, json={**ACCELERATOR, **more})
    assert answer.status_code == 201, answer.text
    return dict(answer.json())


def asked(system: str, **more: Any) -> dict[str, Any]:
    work = {"samples": 1e7, "global_batch": 1024, "seq_len": 128}
    return {"model": {"preset": "bert-large"}, "workload": work, "system": {"id": system}, **more}


def estimate(ask: Ask, system: str, **more: Any) -> dict[str, Any]:
    answer = ask("POST", "/api/v1/estimates", json=asked(system, **more))
    assert answer.status_code == 201, answer.text
    return dict(answer.json())


def codes(document: dict[str, Any]) -> set[str]:
    return {one["code"] for one in document["warnings"]}


def test_an_own_accelerator_is_sized_and_says_that_it_is_from_its_data_sheet(ask: Ask) -> None:
    one = added(ask)
    assert one["id"].startswith("own-") and one["versions"][0]["version"] == 1
    stated = {figure["parameter"]: figure for figure in one["figures"]}
    assert stated["memory_capacity"]["value"] == 96e9
    assert stated["memory_capacity"]["source"]["kind"] == "customer"
    assert stated["power_max"]["estimated"] and stated["power_max"]["low"] < stated["power_max"]["high"]
    made = estimate(ask, one["id"])
    (told,) = (each for each in made["warnings"] if each["code"] == "from_data_sheet")
    step = made["step_time"]
    assert told["text"]["values"]["above"] == round(100 * (step["high"] / step["value"] - 1))
    assert made["validation"]["three_steps"] is not None and made["validation"]["basis"] == "data_sheet"
    assert made["validation"]["status"] != "validated"
    machines = next(line for line in made["cost"]["lines"] if line["item"] == "machines")
    assert [figure["value"] for figure in machines["figures"]] == [240_000]
    # Of chips without runs and of chips that nothing was fitted on, fits leave as much open.
    known = estimate(ask, "dgx-a100-640gb")
    assert "from_data_sheet" not in codes(known)
    assert step["high"] / step["low"] > known["step_time"]["high"] / known["step_time"]["low"]
    assert estimate(ask, added(ask, name="The same sheet")["id"])["step_time"] == step


@pytest.mark.parametrize(
    ("asked_for", "peaks", "used"),
    [
        ("bf16", {"fp16_tflops": 65}, "fp16"),
        ("fp32", {"fp16_tflops": 65, "fp32_tflops": 8.1}, "fp32"),
        ("fp16", {"bf16_tflops": 71, "fp16_tflops": 142, "fp32_tflops": 35.6, "int8_tops": 284}, "fp16"),
    ],
)
def test_formats_that_the_data_sheet_states_are_used(
    ask: Ask, asked_for: str, peaks: dict[str, float], used: str
) -> None:
    plain = {"bf16_tflops": None, "tf32_tflops": None, "fp8_tflops": None, "sparsity": "none"}
    small = {"memory_gb": 24, "memory_gb_per_s": 600, "link": "pcie", "link_gb_per_s": 16}
    one = added(ask, **{**plain, **small, **peaks})
    work = {"samples": 1e6, "global_batch": 256, "seq_len": 128, "precision": asked_for}
    assert estimate(ask, one["id"], workload=work)["precision_used"] == used
    sparse = added(ask, **{**plain, **small, **peaks, "sparsity": "structured"})
    figures = [{each["parameter"]: each["value"] for each in sheet["figures"]} for sheet in (one, sparse)]
    for name, value in figures[0].items():
        if name.startswith("peak_") and value is not None:
            assert figures[1][name] == (value if name == "peak_fp32" else value / 2)


def test_it_is_compared_billed_searched_and_in_sizings(ask: Ask) -> None:
    one = added(ask, name="Everywhere")
    comparison = ask("POST", "/api/v1/comparisons", json={"rows": [asked(one["id"]), asked("dgx-h100")]})
    assert [row["system"] for row in comparison.json()["rows"]] == [one["id"], "dgx-h100"]
    bill = ask("POST", "/api/v1/boms", json={"system": one["id"], "count": 4}).json()
    line = next(each for each in bill["lines"] if each["item"] == one["id"])
    assert (line["quantity"], line["unit_price"]["value"]) == (4, 240_000)
    sizing = {key: value for key, value in asked(one["id"]).items() if key != "system"}
    found = ask("POST", "/api/v1/sizings", json={**sizing, "deadline_s": 1e6}).json()
    # Options are paged in the order of the decision, which holds every one of them.
    assert any(each["id"].startswith(one["id"]) for each in found["decision"]["options"])
    alone = ask("POST", "/api/v1/sizings", json={**sizing, "deadline_s": 1e6, "systems": [one["id"]]}).json()
    options = [each for each in alone["options"] if each["system"] == one["id"]]
    assert options and all("from_data_sheet" in each["warnings"] for each in options)
    search = ask("POST", "/api/v1/searches", json={**asked(one["id"]), "keep": 2}).json()
    assert "from_data_sheet" in codes(search)
    for kind in ("chips", "machines", "systems"):
        assert ask("GET", f"/api/v1/catalog/{kind}/{one['id']}").status_code == 200
    kinds = {each["kind"] for each in ask("GET", f"{OWN}/{one['id']}").json()["used_by"]}
    assert {"comparison", "bill", "sizing"} <= kinds


def test_a_sweep_computes_it_in_other_processes(ask: Ask, application: FastAPI) -> None:
    one = added(ask, name="Swept")
    model = {"model": {"preset": "bert-large"}, "workload": {"target": "mlperf-bert"}}
    body = {"models": [{"label": "BERT", **model}], "systems": [{"id": one["id"], "counts": [1, 2]}]}
    sweep = ask("POST", "/api/v1/sweeps", json=body).json()
    while do_next(application.state.installation, Threads):
        pass
    rows = ask("GET", f"/api/v1/sweeps/{sweep['id']}").json()["rows"]
    assert len(rows) == 2 and all(row["time_to_train"] for row in rows)


def test_measured_steps_end_the_warning(ask: Ask) -> None:
    one = added(ask, name="Measured")
    made = estimate(ask, one["id"])
    runs = [{"step_time_s": factor * made["step_time"]["value"]} for factor in (1.1, 1.11, 1.12)]
    fitted = ask("POST", "/api/v1/calibrations", json={"estimate": asked(one["id"]), "runs": runs}).json()
    after = estimate(ask, one["id"], software=fitted["software"])
    assert "from_data_sheet" not in codes(after)
    ends = [each["step_time"]["high"] / each["step_time"]["low"] for each in (after, made)]
    assert ends[0] < ends[1]


def test_a_change_is_a_version_and_stored_estimates_keep_their_figures(ask: Ask) -> None:
    one = added(ask, name="Changing")
    address, before = f"{OWN}/{one['id']}", estimate(ask, one["id"])
    tag = ask("GET", address).headers["etag"]
    changed = ask("PATCH", address, json={"bf16_tflops": 400, "fp8_tflops": None}, headers={"If-Match": tag})
    assert changed.status_code == 200 and changed.json()["newest"] == 2
    differ = {
        each["field"]: (each["before"], each["after"]) for each in changed.json()["versions"][0]["changes"]
    }
    assert differ == {"bf16_tflops": (800.0, 400.0), "fp8_tflops": (1600.0, None)}
    stale = ask("PATCH", address, json={"power_w": 500}, headers={"If-Match": tag})
    assert problem_of(stale) == (412, "precondition_failed", "If-Match")
    after = estimate(ask, one["id"])
    assert after["time_to_train"]["value"] > before["time_to_train"]["value"]
    kept = ask("GET", f"/api/v1/estimates/{before['id']}").json()
    assert kept["time_to_train"] == before["time_to_train"]
    assert ask("GET", address, params={"version": 1}).json()["bf16_tflops"] == 800
    assert ask("GET", address, params={"version": 9}).status_code == 404


def test_a_frozen_proposal_replays_after_a_change_and_after_deletion(ask: Ask) -> None:
    one = added(ask, name="Proposed")
    comparison = ask(
        "POST", "/api/v1/comparisons", json={"rows": [asked(one["id"]), asked("dgx-h100")]}
    ).json()
    body = {"comparison_id": comparison["id"], "customer": "Example", "locale": "en", "currency": "USD"}
    proposal = ask("POST", "/api/v1/proposals", json=body).json()["id"]
    frozen = ask("POST", f"/api/v1/proposals/{proposal}/freeze").json()
    ask("PATCH", f"{OWN}/{one['id']}", json={"bf16_tflops": 600, "fp8_tflops": 1200, "machine_price": 1e5})
    replay = ask("POST", f"/api/v1/proposals/{proposal}/replay").json()
    assert not replay["refused"] and replay["changes"] and replay["sha256"] == frozen["sha256"]
    assert ask("DELETE", f"{OWN}/{one['id']}").status_code == 204
    again = ask("POST", f"/api/v1/proposals/{proposal}/replay").json()
    assert not again["refused"] and len(again["changes"]) >= len(replay["changes"])
    assert ask("GET", f"/api/v1/proposals/{proposal}.pdf").status_code == 200


def test_what_was_made_with_it_outlives_it(ask: Ask) -> None:
    one = added(ask, name="Deleted")
    before = estimate(ask, one["id"])
    address = f"{OWN}/{one['id']}"
    assert ask("DELETE", address).status_code == 204
    assert ask("GET", address).json()["deleted_at"] is not None
    assert one["id"] not in {each["id"] for each in ask("GET", OWN).json()["items"]}
    listed = ask("GET", "/api/v1/catalog/systems", params={"fields": "id"}).json()["items"]
    assert one["id"] not in {each["id"] for each in listed}
    again = estimate(ask, one["id"])
    assert again["time_to_train"] == before["time_to_train"]
    assert "accelerator_deleted" in codes(again) - codes(before)
    assert ask("PATCH", address, json={"power_w": 500}).status_code == 409
    unused = f"{OWN}/{added(ask, name='Unused')['id']}"
    assert ask("DELETE", unused).status_code == 204 and ask("GET", unused).status_code == 404


@pytest.mark.parametrize(
    ("change", "status", "field"),
    [
        ({"bf16_tflops": 1600, "fp8_tflops": 3200, "sparsity": None}, 400, "sparsity"),
        ({"fp8_tflops": 3200, "sparsity": None}, 400, "sparsity"),
        ({"bf16_tflops": 0}, 400, "bf16_tflops"),
        ({"bf16_tflops": None}, 422, "bf16_tflops"),
        ({"bf16_tflops": "800"}, 422, "bf16_tflops"),
        ({"memory_gb": -1}, 400, "memory_gb"),
        ({"memory_gb_per_s": 1e300}, 400, "memory_gb_per_s"),
        ({"devices": 10**9}, 400, "devices"),
        ({"devices": 8.5}, 422, "devices"),
        ({"linked_devices": 12}, 400, "linked_devices"),
        ({"ports": 33}, 400, "ports"),
        ({"link": "telepathy"}, 422, "link"),
        ({"fabric": "telepathy"}, 404, "fabric"),
        ({"fabric": "ipu-fabric"}, 400, "fabric"),
        ({"hourly_rent": 3}, 400, "hourly_rent"),
        ({"currency": "XAU"}, 400, "currency"),
        ({"price_date": "soon"}, 422, "price_date"),
        ({"price_date": 0}, 422, "price_date"),
        ({"data_sheet_date": True}, 422, "data_sheet_date"),
        ({"name": "   "}, 400, "name"),
        ({"name": "x" * 101}, 400, "name"),
        ({"data_sheet": ""}, 400, "data_sheet"),
        ({"id": "dgx-h100"}, 422, "id"),
    ],
)
def test_what_makes_no_sense_is_refused_at_its_field(
    ask: Ask, change: dict[str, Any], status: int, field: str
) -> None:
    answer = ask("POST", OWN, json={**ACCELERATOR, **change})
    assert answer.status_code == status, answer.text
    assert field in {error["field"] for error in answer.json()["errors"]}


@pytest.mark.parametrize(
    "name", ["<script>alert(1)</script>", "{count} %s \\ ' \"", "가속기 X", "own-x", "💾"]
)
def test_any_name_is_kept_and_shown(ask: Ask, name: str) -> None:
    one = added(ask, name=name, data_sheet=f"javascript:alert(1) {name}", maker=name)
    made = estimate(ask, one["id"])
    pages = (
        f"/accelerators/{one['id']}",
        "/accelerators",
        f"/estimates/{made['id']}",
        f"/catalog/systems/{one['id']}",
    )
    for page in (*pages, f"/accelerators/{one['id']}/delete", "/", "/price-books"):
        answer = ask("GET", page, headers={"accept": "text/html"})
        assert answer.status_code == 200, (page, answer.text[:200])
        assert "<script>alert" not in answer.text and 'href="javascript' not in answer.text


@pytest.mark.parametrize(
    "figures",
    [
        {"bf16_tflops": 0.1, "fp8_tflops": None, "memory_gb": 1, "memory_gb_per_s": 1, "power_w": 1},
        {"bf16_tflops": 1e6, "fp8_tflops": 1e6, "memory_gb": 1e5, "memory_gb_per_s": 1e6, "power_w": 1e5},
        {"link": "torus", "link_gb_per_s": 0.1, "devices": 1, "linked_devices": 16_384, "ports": 32},
        {"link": "pcie", "link_gb_per_s": 1e5, "devices": 256, "ports": 1, "fabric": "ethernet-25"},
    ],
)
def test_figures_at_the_limits_are_answered(ask: Ask, figures: dict[str, Any]) -> None:
    one = added(ask, name="Limits", **figures)
    answers = [
        ask("POST", "/api/v1/estimates", json=asked(one["id"])),
        ask("POST", "/api/v1/boms", json={"system": one["id"], "count": 2}),
        ask("GET", f"/accelerators/{one['id']}", headers={"accept": "text/html"}),
    ]
    assert [answer.status_code < 500 for answer in answers] == [True] * 3, answers
    assert ask("DELETE", f"{OWN}/{one['id']}").status_code == 204


def test_a_workspace_has_room_for_so_many(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.features.accelerators.service.MOST", 1)
    added_before = ask("GET", OWN).json()["items"]
    if not added_before:
        added(ask)
    answer = ask("POST", OWN, json=ACCELERATOR)
    assert answer.status_code == 409 and "at most 1" in answer.json()["detail"]
