"""The customers' documents through the API: what they say right is reproduced, the rest is marked."""

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from tests.conftest import problem_of

Call = Callable[..., Any]
Ask = Callable[..., httpx.Response]
DAY = 86_400.0


def codes(found: dict[str, Any]) -> set[str]:
    return {warning["code"] for warning in found["warnings"]}


def test_build_or_cloud_starts_with_the_two_years(post: Call) -> None:
    """Journey 2: GPT-3 on one DGX A100 at the article's 5 PFLOP/s, and on twenty."""
    request = {"model": {"total_flop": 3.14e23}, "system": {"id": "dgx-a100-640gb"}}
    article = post("/estimates", request | {"assumptions": {"peak_flops": 5e15, "utilization": 1.0}})
    assert article["time_to_train"]["value"] / DAY == pytest.approx(726.9, abs=0.05)
    assert "sparse_peak" in codes(article)
    (sparse,) = (warning for warning in article["warnings"] if warning["code"] == "sparse_peak")
    assert sparse["text"]["values"]["days"] == pytest.approx(1456, abs=0.5)
    assert "1,456 days" in sparse["message"]
    twenty = request | {"system": {"id": "dgx-a100-640gb", "count": 20}}
    for share, days in ((0.3, 243), (0.5, 146)):
        found = post("/estimates", twenty | {"assumptions": {"utilization": share}})
        assert found["time_to_train"]["value"] / DAY == pytest.approx(days, abs=0.7)
        assert "sparse_peak" not in codes(found)
    tf32 = post("/estimates", twenty | {"assumptions": {"peak": "tf32_dense"}})
    assert tf32["trace"][0]["inputs"]["peak"] == pytest.approx(24.96e15)


def test_build_or_cloud_ends_with_the_month(post: Call) -> None:
    """Journey 2: ₩4.378 billion against ₩300 million a month: 17.5 months; 8.0 if the lab doubles."""
    asked = {"currency": "KRW", "capex": 20 * 199_000 * 1_100, "onprem_monthly": 50e6, "cloud_monthly": 300e6}
    found = post("/breakevens", asked)
    assert found["capex"]["value"] == 4.378e9
    assert found["months"] == pytest.approx(17.512)
    assert found["outcome"] == "within_horizon"
    assert found["tornado"][0]["input"] == "cloud_monthly"
    assert codes(found) >= {"capex_excludes_fabric", "capacity_not_checked"}
    doubled = post("/breakevens", asked | {"cloud_monthly": 600e6})
    assert doubled["months"] == pytest.approx(7.96)
    assert doubled["tornado"][0]["input"] == "cloud_monthly"
    assert post("/breakevens", asked | {"teams_now": 1, "teams_then": 2})["months"] == doubled["months"]
    below = post("/breakevens", asked | {"cloud_monthly": 45e6})
    assert (below["months"], below["outcome"]) == (None, "never")
    assert below["sentences"][0]["message"].startswith("Never")


def test_twenty_machines_of_the_article(get: Call) -> None:
    """Journey 2: 160 GPUs, 24.96 PFLOP/s in TF32, 1.6 Tb/s for each node."""
    system = get("/catalog/systems/dgx-a100-320gb")
    derived = {one["name"]: one["value"] for one in system["derived"]}
    assert 20 * system["devices"] == 160
    assert 20 * derived["peak_tf32_dense"] == pytest.approx(24.96e15)
    assert 8 * derived["node_line_rate"] == pytest.approx(1.6e12)


def test_gpt3_is_mapped_on_a_pod256(ask: Ask, post: Call) -> None:
    """Journey 3: 8 · 8 · 4, twelve layers a stage, at least seven phases; r = 5 is refused."""
    asked = {
        "system": "ipu-pod256", "parameters": 175e9, "layers": 96, "tensor": 8, "pipeline": 8, "replicas": 4,
        "replica_batch": 16, "replicated_tensor_sharding": 4,
    }  # fmt: skip
    found = post("/mappings", asked)
    assert found["devices"] == 256
    assert found["devices_per_replica"] == 64
    assert found["layers_per_stage"] == 12
    assert found["weight_fraction"] == 1 / 64
    assert found["resident_weight_fraction"] == 1 / 256
    assert found["global_batch"] == 64
    assert found["weights_per_device"] == pytest.approx(5.47e9, rel=0.001)
    assert found["minimum_phases"] == 7
    refused = ask("POST", "/api/v1/mappings", json=asked | {"replicas": 5})
    assert problem_of(refused) == (409, "conflict", "replicas")
    assert "320" in refused.json()["detail"]
    assert "256" in refused.json()["detail"]
    estimate = {
        "model": {"preset": "gpt3-175b"},
        "workload": {"tokens": 300e9, "global_batch": 64},
        "system": {"id": "ipu-pod256"},
        "plan": {"tensor": 8, "pipeline": 8, "data": 4},
    }
    assert post("/estimates", estimate)["plan"]["phases"] >= found["minimum_phases"]
    estimate["plan"] = {"tensor": 8, "pipeline": 8, "data": 5}
    refused = ask("POST", "/api/v1/estimates", json=estimate)
    assert problem_of(refused) == (409, "conflict", "plan.data")
    assert refused.headers["content-type"] == "application/problem+json"
    assert "320" in refused.json()["detail"] and "256" in refused.json()["detail"]
    assert refused.json()["errors"][0]["field"] == "plan.data"


@pytest.mark.parametrize(("pipeline", "data"), [(4, 4), (8, 2)])
def test_bert_large_is_mapped_on_a_pod16(post: Call, pipeline: int, data: int) -> None:
    found = post(
        "/estimates",
        {
            "model": {"preset": "bert-large"},
            "workload": {"samples": 1e7, "seq_len": 128, "global_batch": 8192},
            "system": {"id": "ipu-pod16"},
            "plan": {"tensor": 1, "pipeline": pipeline, "data": data},
        },
    )
    assert found["fits"]
    assert found["plan"]["phases"] == 1
