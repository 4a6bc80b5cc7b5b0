"""A new user's way: upload a model and a sample of the data, estimate on several systems, compare."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.graphs import resnet50
from tests.support.views import LLAMA_7B

Call = Callable[..., Any]
SYSTEMS = ("dgx-a100-640gb", "ipu-pod16", "bow-pod16")


def total(found: dict[str, Any]) -> float:
    return float(sum(part["seconds"] for part in found["breakdown"]))


def test_an_uploaded_graph_is_estimated_and_compared(post: Call, get: Call) -> None:
    profile = post("/profiles", files={"file": ("resnet50.onnx", resnet50())})
    assert profile["parameters"] == 25_557_032
    assert get(f"/profiles/{profile['id']}") == profile
    rows = [
        {
            "label": system,
            "model": {"profile_id": profile["id"]},
            "workload": {"epochs": 90, "dataset_samples": 1281167, "global_batch": 2048},
            "system": {"id": system},
        }
        for system in SYSTEMS
    ]
    alone = {row["label"]: post("/estimates", row) for row in rows}
    for found in alone.values():
        assert get(f"/estimates/{found['id']}") == found
        assert total(found) == pytest.approx(found["time_to_train"]["value"], rel=1e-6)
    comparison = post("/comparisons", {"title": "ResNet", "rows": rows})
    assert get(f"/comparisons/{comparison['id']}") == comparison
    for row in comparison["rows"]:
        assert row["kind"] == "modelled"
        assert row["hours"] == pytest.approx(alone[row["label"]]["time_to_train"]["value"] / 3600)
        assert row["low"] <= row["hours"] <= row["high"]
    for ratio in comparison["ratios"]:
        hours = {row["label"]: row["hours"] for row in comparison["rows"]}
        assert ratio["ratio"] == pytest.approx(hours[ratio["slower"]] / hours[ratio["faster"]])


def test_a_sample_of_the_data_brings_its_lengths(post: Call) -> None:
    """Short texts cost less than rows filled to the end."""
    lines = "\n".join(json.dumps({"length": 100 + 7 * (place % 30)}) for place in range(500))
    sample = post("/workloads", files={"file": ("lengths.jsonl", lines)}, data={"seq_len": "512"})
    assert sample["samples"] == 500
    assert sample["mean_tokens"]["value"] == pytest.approx(201.5, abs=5)
    request = {
        "model": {"preset": "bert-large"},
        "workload": {"samples": 1e6, "global_batch": 1024, "seq_len": 512},
        "system": {"id": "dgx-a100-640gb"},
    }
    padded = post("/estimates", request)
    request["workload"] |= {"workload_id": sample["id"]}
    real = post("/estimates", request)
    assert real["time_to_train"]["value"] < 0.6 * padded["time_to_train"]["value"]
    assert "workload.mean_tokens" in [default["field"] for default in real["defaults"]]


def test_a_config_is_the_same_as_the_model_it_describes(post: Call) -> None:
    kept = post("/profiles", {"name": "ours", "config": LLAMA_7B})
    assert kept["parameters"] == 6_738_415_616
    system, workload = {"id": "dgx-a100-640gb", "count": 4}, {"tokens": 1e11, "global_batch": 512}
    times = [
        post("/estimates", {"model": model, "workload": workload, "system": system})["time_to_train"]
        for model in ({"config": LLAMA_7B}, {"profile_id": kept["id"]})
    ]
    assert times[0] == times[1]
