"""The customers' documents through the API: what they say right is reproduced, the rest is marked."""

from collections.abc import Callable
from typing import Any

import httpx
import pytest

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
    assert refused.status_code == 409
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
    assert refused.status_code == 409
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


def test_head_to_head_and_what_if_scaling_is_not_linear(post: Call, get: Call) -> None:
    """Journey 4: 69.5 and 13.2 hours, 5.3 and 1.8 times; at 85 % of linear 27.3 hours and 2.1 times."""
    stored = post(
        "/comparisons",
        {
            "rows": [
                {"label": "DGX A100", "hours": 69.5, "kind": "vendor"},
                {"label": "3 × DGX A100", "kind": "linear", "scaled_from": "DGX A100", "factor": 3},
                {"label": "IPU-POD64", "hours": 13.2, "kind": "vendor", "system": "ipu-pod64"},
            ]
        },
    )

    def ratio(found: dict[str, Any], slower: str) -> float:
        pair = (slower, "IPU-POD64")
        return next(one["ratio"] for one in found["ratios"] if (one["slower"], one["faster"]) == pair)

    assert ratio(stored, "DGX A100") == pytest.approx(5.27, abs=0.005)
    assert ratio(stored, "3 × DGX A100") == pytest.approx(1.755, abs=0.001)
    assert codes(stored) >= {"vendor_figure", "linear_scaling_assumed", "generation_mk2"}
    restated = get(f"/comparisons/{stored['id']}", params={"scaling_efficiency": 0.85})
    assert restated["rows"][1]["hours"] == pytest.approx(27.3, abs=0.06)
    assert ratio(restated, "3 × DGX A100") == pytest.approx(2.1, abs=0.04)
    assert get(f"/comparisons/{stored['id']}") == stored


def test_sales_tooling_checks_the_batch_first(post: Call) -> None:
    """Journey 6: 8,192 on 160 GPUs does not divide; 128 are suggested."""
    found = post("/checks", {"devices": 160, "global_batch": 8192})
    assert found["suggested_devices"] == 128
    assert codes(found) == {"batch_not_divisible"}


def test_vendor_claims_stand_on_equal_footing(get: Call) -> None:
    """Journey 4: Bow's ceiling of 9.4 hours, and one IPU-POD64 = three DGX A100 as an assumption."""
    found = get("/claims", params={"scaling_efficiency": 0.85, "dgx_per_pod64": 3})
    hours = {one["label"]: one for one in found["hours"]}
    assert hours["3 × DGX A100 320GB"]["hours"] == pytest.approx(27.3, abs=0.06)
    bow = hours["1 × Bow Pod64"]
    assert bow["hours"] == pytest.approx(13.2 / 1.4) and bow["ceiling"] and bow["kind"] == "vendor"
    three = next(claim for claim in found["items"] if claim["id"] == "bert-large-3-dgx")
    restated = {one["footing"]: one["claimed"] for one in three["readings"][0]["footings"]}
    assert restated["per_dollar"] == restated["per_watt_typical"] == pytest.approx(2.06, abs=0.01)
    assert found["parity"]["assumed"] and codes(three) >= {"vendor_figure", "generation_mk2"}
    without = {claim["id"] for claim in found["items"] if not claim["readings"]}
    assert without == {
        "resnet-throughput",
        "efficientnet-throughput",
        "mcmc-training",
        "bert-large-inference",
    }
