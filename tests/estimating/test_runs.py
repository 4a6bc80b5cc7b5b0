"""Start-up, goodput and all-in hours of a run, and the scatter of runs to a target."""

import math

import pytest

from app.catalog.entries import ChipKind
from app.estimating.documents import Estimate
from app.estimating.hardware import log_deviation
from app.estimating.schema import Quantity
from tests.conftest import answer, codes, sizing_context

LONG = {"samples": 3e9, "global_batch": 1024, "seq_len": 128}

TARGETS = [("bert-large", "mlperf-bert", 0.12), ("resnet50", "mlperf-resnet50", 0.05)]


def parts(found: Estimate) -> dict[str, float]:
    return {part.part: part.seconds for part in found.breakdown or []}


def goodput(found: Estimate) -> Quantity:
    assert found.goodput is not None
    return found.goodput


def test_startup_is_shown_apart_and_longer_where_a_graph_is_compiled() -> None:
    gpu, ipu = answer(), answer(system={"id": "bow-pod16"})
    for found, least, most in ((gpu, 60, 1200), (ipu, 600, 3600)):
        assert found.startup is not None
        assert least <= found.startup.low <= found.startup.value <= found.startup.high <= most
        assert "startup" not in parts(found)


def test_goodput_is_the_share_of_the_time_in_steps() -> None:
    found = answer(workload=LONG)
    assert found.steps is not None
    assert found.step_time is not None
    assert found.time_to_train is not None
    share = found.steps * found.step_time.value / found.time_to_train.value
    assert goodput(found).value == pytest.approx(share)
    assert 0 < goodput(found).low <= share <= goodput(found).high <= 1


def test_goodput_falls_as_machines_fail_more_often() -> None:
    shares = [
        goodput(answer(workload=LONG, assumptions={"failures_per_1000_node_days": rate})).value
        for rate in (0.0, 6.5, 65.0, 650.0)
    ]
    assert shares == sorted(shares, reverse=True)
    assert len(set(shares)) == len(shares)


def test_evaluations_take_the_forward_third_of_as_many_samples_and_what_each_costs_before_it() -> None:
    """3e9 samples, evaluated on 1e5 of them every 1e7: 300 times."""
    plain, often = (
        answer(workload=LONG | more) for more in ({}, {"evaluation_interval": 1e7, "evaluated_samples": 1e5})
    )
    assert often.step_time is not None and often.throughput is not None and plain.step_time is not None
    assert often.step_time == plain.step_time and often.plan == plain.plan
    assert "evaluation" not in parts(plain)
    least = 300 * 1e5 / (3 * often.throughput.value)
    assert least <= parts(often)["evaluation"] <= least + 300 * 10.0
    more = answer(workload=LONG | {"evaluation_interval": 5e6, "evaluated_samples": 1e5})
    assert parts(more)["evaluation"] == pytest.approx(2 * parts(often)["evaluation"])


def test_goodput_falls_with_machines() -> None:
    shares = [goodput(answer(workload=LONG, system={"count": count})).value for count in (1, 4, 16, 64)]
    assert shares == sorted(shares, reverse=True)


def test_all_in_hours_are_the_steady_ones_over_the_share_of_published_runs() -> None:
    """LLaMA, Llama 2, Pythia and IBM's 7B model trained 0.62 to 0.98 of the hours they state."""
    found = answer(workload=LONG)
    hours = found.all_in_device_hours
    assert hours is not None
    assert found.steps is not None
    assert found.step_time is not None
    steady = found.steps * found.step_time.value * found.system.devices / 3600.0
    assert 0.62 <= steady / hours.value <= 0.98
    assert hours.low < hours.value < hours.high
    share = sizing_context().catalog.reliability_defaults(ChipKind.GPU).operational_share
    assert log_deviation(share) == pytest.approx(0.20, abs=0.005)


@pytest.mark.parametrize(("model", "target", "scatter"), TARGETS)
def test_a_run_to_a_target_scatters_as_runs_to_it_do(model: str, target: str, scatter: float) -> None:
    found = answer(model={"preset": model}, workload={"target": target, "samples": None, "seq_len": None})
    assert found.time_to_train is not None
    assert found.step_time is not None
    widths = [
        math.log(band.high / band.low) / (2 * 1.2816) for band in (found.time_to_train, found.step_time)
    ]
    assert widths[0] == pytest.approx(math.hypot(widths[1], scatter), rel=0.25)


@pytest.mark.parametrize(("batch", "advised"), [(1536, False), (65_536, True)])
def test_a_language_model_beyond_its_critical_batch_is_told_so(batch: int, advised: bool) -> None:
    """GPT-3 trained on 3.2 million tokens a step; its critical batch is some 19 million."""
    found = answer(
        model={"preset": "gpt3-175b"},
        workload={"samples": None, "tokens": 3e11, "global_batch": batch, "seq_len": 2048},
        system={"count": 128},
    )
    assert ("batch_beyond_critical" in codes(found)) == advised
