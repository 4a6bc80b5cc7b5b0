"""The shapes other tools rely on: stored answers, lists, keys, edits, restated comparisons."""

import math
from pathlib import Path
from typing import Any

import pytest

from app.platform.web.examples import (
    BARE_FIGURE,
    BOW,
    CONFIG,
    GPT3,
    HEAD_TO_HEAD,
    RESNET,
    TRANSFORMER,
)
from tests.conftest import problem_of
from tests.support.application import Ask

ESTIMATE = {
    "id",
    "engine_version",
    "catalog_version",
    "model",
    "system",
    "plan",
    "software",
    "precision_used",
    "defaults",
    "fits",
    "memory",
    "step_time",
    "throughput",
    "tokens_per_second",
    "mfu",
    "steps",
    "time_to_train",
    "energy",
    "cost",
    "breakdown",
    "roofline",
    "sensitivity",
    "validation",
    "warnings",
    "trace",
}

KINDS = ("chips", "machines", "systems", "fabrics", "models", "software", "sources")


def made(ask: Ask, path: str, body: object, **values: Any) -> dict[str, Any]:
    response = ask("POST", f"/api/v1/{path}", json=body, **values)
    assert response.status_code == 201, response.text[:500]
    return dict(response.json())


def test_an_estimate_has_the_shape_of_the_contract(ask: Ask) -> None:
    found = made(ask, "estimates", GPT3)
    assert found.keys() >= ESTIMATE
    time = found["time_to_train"]
    assert time.keys() == {"value", "low", "high", "unit"}
    assert time["low"] <= time["value"] <= time["high"]
    assert isinstance(found["steps"], int)
    total = sum(part["seconds"] for part in found["breakdown"])
    assert math.isclose(total, time["value"], rel_tol=1e-6)
    assert found["trace"]
    assert found["plan"]["tensor"] == 8


def test_what_does_not_fit_is_an_answer(ask: Ask) -> None:
    body = {"model": {"preset": "gpt3-175b"}, "workload": {"tokens": 1e9}, "system": {"id": "dgx-a100-640gb"}}
    found = made(ask, "estimates", body)
    assert found["fits"] is False
    assert found["memory"] is not None
    assert (found["time_to_train"], found["cost"], found["breakdown"]) == (None, None, None)
    assert "does_not_fit" in {warning["code"] for warning in found["warnings"]}


def test_the_article_s_two_years_carry_the_sparse_warning(ask: Ask) -> None:
    found = made(ask, "estimates", BARE_FIGURE)
    assert found["time_to_train"]["value"] / 86400 == pytest.approx(726.9, abs=0.1)
    assert "sparse_peak" in {warning["code"] for warning in found["warnings"]}


@pytest.mark.parametrize("key", ["", "x" * 201])
def test_a_key_has_a_length(ask: Ask, key: str) -> None:
    response = ask("POST", "/api/v1/estimates", json=RESNET, headers={"Idempotency-Key": key})
    assert problem_of(response) == (400, "bad_input", "Idempotency-Key")


def test_a_comparison_of_estimates_keeps_them(ask: Ask) -> None:
    found = made(
        ask, "comparisons", {"rows": [RESNET, BOW, {"label": "stated", "hours": 1, "kind": "measured"}]}
    )
    assert [row["label"] for row in found["rows"]] == ["One DGX A100", "One Bow Pod16", "stated"]
    estimate = found["rows"][0]["estimate"]
    assert found["rows"][0]["hours"] * 3600 == pytest.approx(estimate["time_to_train"]["value"])
    assert ask("GET", f"/api/v1/estimates/{estimate['id']}").json() == estimate
    assert ask("GET", f"/api/v1/comparisons/{found['id']}").json() == found


def test_options_without_labels_get_different_ones(ask: Ask) -> None:
    row = {name: value for name, value in RESNET.items() if name != "label"}
    labels = [row["label"] for row in made(ask, "comparisons", {"rows": [row, row]})["rows"]]
    assert len(set(labels)) == 2


def test_a_comparison_is_changed_piece_by_piece(ask: Ask) -> None:
    found = made(ask, "comparisons", HEAD_TO_HEAD)
    address = f"/api/v1/comparisons/{found['id']}"
    response = ask("PATCH", address, json={"title": "새 제목", "locale": "ko"})
    assert response.status_code == 200
    assert response.json() == found | {"title": "새 제목", "locale": "ko"}
    response = ask("PATCH", address, json={"rows": [RESNET], "currency": "KRW"})
    assert response.json()["rows"][0]["estimate"]["cost"]["run"]["unit"] == "KRW"
    assert ask("GET", address).json() == response.json()


@pytest.mark.parametrize("body", [CONFIG, {"config": CONFIG}, TRANSFORMER])
def test_a_model_in_json_can_be_sized_by_its_identifier(ask: Ask, body: dict[str, Any]) -> None:
    profile = made(ask, "profiles", body)
    assert {
        "id",
        "kind",
        "name",
        "parameters",
        "forward_flop_per_sample",
        "operators",
        "warnings",
    } <= profile.keys()
    assert ask("GET", f"/api/v1/profiles/{profile['id']}").json() == profile
    estimate = made(
        ask,
        "estimates",
        {
            "model": {"profile_id": profile["id"]},
            "workload": {"tokens": 1e9},
            "system": {"id": "dgx-a100-640gb", "count": 4},
        },
    )
    assert estimate["model"]["parameters"] == profile["parameters"]


def test_a_sample_brings_its_lengths_and_not_its_text(ask: Ask) -> None:
    text = b'{"text": "confidential words of a customer"}\n' * 20
    response = ask("POST", "/api/v1/workloads", files={"file": ("data.jsonl", text)}, data={"seq_len": "128"})
    assert response.status_code == 201
    sample = response.json()
    assert sample["samples"] == 20
    assert sample["seq_len"] == 128
    assert sample["mean_tokens"].keys() == {"value", "low", "high", "unit"}
    assert sum(entry["samples"] for entry in sample["histogram"]) == 20
    assert "confidential" not in ask("GET", f"/api/v1/workloads/{sample['id']}").text
    body = {
        "model": {"preset": "bert-large"},
        "workload": {"workload_id": sample["id"], "samples": 1e6, "seq_len": 128},
        "system": {"id": "dgx-a100-640gb"},
    }
    assert made(ask, "estimates", body)["time_to_train"]["value"] > 0


def test_nothing_of_an_uploaded_text_reaches_the_disk(ask: Ask, application: Any) -> None:
    word = b"unmistakable-word-of-a-customer"
    ask("POST", "/api/v1/workloads", files={"file": ("data.txt", word + b"\n")})
    database = application.state.installation.store.engine.url.database
    files = [path for path in Path(database).parent.iterdir() if path.is_file()]
    assert files
    assert all(word not in path.read_bytes() for path in files)


@pytest.mark.parametrize("kind", KINDS)
def test_every_entry_of_the_catalogue_can_be_read_alone(ask: Ask, kind: str) -> None:
    found = ask("GET", f"/api/v1/catalog/{kind}").json()
    assert found["items"]
    for item in found["items"][:5]:
        one = ask("GET", f"/api/v1/catalog/{kind}/{item['id']}")
        assert one.status_code == 200
        assert one.json().items() >= item.items()


def test_every_figure_has_source_and_status_and_its_rejected_rivals(ask: Ask) -> None:
    rejected = 0
    for kind in ("chips", "machines", "systems", "fabrics"):
        for item in ask("GET", f"/api/v1/catalog/{kind}").json()["items"]:
            for figure in item["figures"]:
                assert {"value", "low", "high", "unit", "source", "status", "rejected"} <= figure.keys()
                assert figure["source"]["id"]
                assert figure["status"] == "accepted"
                rejected += len(figure["rejected"])
                assert all(rival["note"] for rival in figure["rejected"])
    assert rejected > 0
