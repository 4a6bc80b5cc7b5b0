"""Named checks: each is raised where it should be, and nowhere else."""

import numpy as np
import pytest

from app.estimating.request import EstimateRequest
from tests.conftest import answer, codes, seconds, sizing_context, warning

GPT3_FLOP = {"total_flop": 3.14e23}

GPT3 = {"model": {"preset": "gpt3-175b"}, "workload": {"samples": 1e5, "seq_len": 2048, "global_batch": 512}}

DAY = 86_400.0


def test_an_ordinary_request_is_answered_with_what_it_leaves_open() -> None:
    found = answer()
    left_open = {"price_is_estimate", "software_unnamed"}
    assert codes(found) - {"measured_run_outside_range"} == left_open
    assert found.validation.status == "extrapolated", "no run bears out a stack that nobody named"


def test_the_two_years_of_the_article_are_a_sparse_peak() -> None:
    """Seed 002: 3.14e23 / 5e15 FLOP/s is 726.9 days; at the dense peak twice that, 1,456 days."""
    found = answer(model=GPT3_FLOP, assumptions={"peak_flops": 5e15})
    assert seconds(found) / DAY == pytest.approx(726.9, abs=0.05)
    assert warning(found, "sparse_peak").severity == "serious"
    assert "1,456 days" in warning(found, "sparse_peak").message
    assert "2.496 PFLOP/s" in warning(found, "sparse_peak").message
    dense = answer(model=GPT3_FLOP)
    assert seconds(dense) / DAY == pytest.approx(1456, abs=0.5)
    assert codes(dense) == {"bare_division", "price_is_estimate", "longer_than_a_year"}


@pytest.mark.parametrize(
    ("assumptions", "sparse"),
    [
        ({"peak": "fp16_sparse"}, True),
        ({"peak": "fp16_dense"}, False),
        ({"peak": "tf32_dense"}, False),
        ({"peak_flops": 8 * 624e12}, True),
        ({"peak_flops": 8 * 312e12}, False),
    ],
)
def test_only_peaks_above_the_dense_one_are_sparse(assumptions: dict[str, object], sparse: bool) -> None:
    assert ("sparse_peak" in codes(answer(model=GPT3_FLOP, assumptions=assumptions))) == sparse


RESNET = {"model": {"preset": "resnet50"}}


def test_the_batch_of_imagenet_in_an_hour_does_not_divide_over_160() -> None:
    workload = {"seq_len": None, "samples": 1281167 * 90, "global_batch": 8192}
    found = answer(**RESNET, workload=workload, system={"count": 20})
    said = warning(found, "batch_not_divisible")
    assert "51.2 each" in said.message and "128 of 160" in said.message and "8,320" in said.message
    assert found.plan is not None
    assert (found.plan.global_batch, found.plan.idle_machines) == (8192, 4)
    assert said.fields == ["workload.global_batch", "system.count"]
    assert "batch_not_divisible" not in codes(answer(**RESNET, workload=workload, system={"count": 16}))


def test_what_does_not_fit_is_answered_with_what_would() -> None:
    found = answer(**GPT3, plan={"offload": False})
    assert found.fits is False
    assert found.memory is not None
    assert found.memory.per_device.value > found.memory.capacity.value
    assert sum(part.value for part in found.memory.parts) == pytest.approx(found.memory.per_device.value)
    for name in ("step_time", "throughput", "tokens_per_second", "mfu", "steps", "time_to_train", "energy",
                 "cost", "breakdown"):  # fmt: skip
        assert getattr(found, name) is None
    assert warning(found, "does_not_fit").text.values["remedy"]["values"]["count"] == 2
    assert answer(**GPT3, system={"count": 2}).fits


def test_without_the_memory_of_hosts_more_machines_are_needed() -> None:
    """Sixteen bytes a weight and more: 2.8 TB of GPT-3 are in the GPUs of eight machines, not of four."""
    for count, fits in ((4, False), (8, True)):
        assert answer(**GPT3, system={"count": count}, plan={"offload": False}).fits is fits


def test_a_given_plan_that_does_not_fit_is_told_that_another_would() -> None:
    plan = {"tensor": 1, "pipeline": 1, "sharding": "none", "offload": False}
    found = answer(model={"preset": "llama-7b"}, workload={"seq_len": 2048}, plan=plan)
    assert found.fits is False
    assert "count" not in warning(found, "does_not_fit").text.values["remedy"]["values"]
    assert answer(model={"preset": "llama-7b"}, workload={"seq_len": 2048}).fits


def test_streaming_memory_that_overflows_is_named() -> None:
    plan = {"tensor": 8, "pipeline": 8, "data": 4}
    system = {"id": "ipu-pod256", "streaming_memory_gb": 16}
    found = answer(**GPT3, system=system, plan=plan)
    assert found.fits is False
    assert found.memory is not None
    assert found.memory.streaming is not None
    assert found.memory.streaming_capacity is not None
    assert found.memory.streaming.value > found.memory.streaming_capacity.value
    overflow = warning(found, "does_not_fit")
    assert overflow.fields == ["plan", "system.streaming_memory_gb"]
    assert overflow.text.values["capacity"] == 4
    wider = answer(**GPT3, system=system | {"streaming_memory_gb": 512}, plan=plan)
    assert wider.fits
    assert "does_not_fit" not in codes(wider)


@pytest.mark.parametrize("margin", [0.0, 0.05])
def test_a_full_device_is_a_thin_margin(margin: float) -> None:
    """The largest micro-batch that the margin allows: nothing stays free."""
    plan = {"tensor": 1, "pipeline": 1, "recompute": "none", "sharding": "none", "offload": False}
    found = [
        answer(
            plan=plan | {"micro_batch": size},
            workload={"global_batch": 8 * size, "seq_len": 512},
            assumptions={"memory_margin": margin},
            software="gpu-fused",
        )
        for size in range(16, 80, 2)
    ]
    fitting = [one for one in found if one.fits]
    assert fitting
    assert len(fitting) < len(found)
    shares = [
        one.memory.per_device.value / one.memory.capacity.value for one in fitting if one.memory is not None
    ]
    assert np.all(np.diff(shares) > 0)
    assert shares[-1] <= 1 - margin
    assert ["memory_margin_thin" in codes(one) for one in fitting] == [share > 0.9 for share in shares]


def test_a_margin_that_is_asked_for_is_kept() -> None:
    plan = {"tensor": 1, "pipeline": 1, "recompute": "none", "sharding": "none", "offload": False}
    plan |= {"micro_batch": 48}
    workload = {"global_batch": 384, "seq_len": 512}
    request = {"plan": plan, "workload": workload, "software": "gpu-fused"}
    assert answer(**request).fits
    assert not answer(**request, assumptions={"memory_margin": 0.5}).fits


def test_slow_input_binds_and_fast_input_does_not() -> None:
    free = answer()
    assert free.throughput is not None
    rate = free.throughput.value
    for factor, bound in ((0.5, True), (0.95, True), (1.05, False), (10.0, False)):
        found = answer(assumptions={"input_samples_per_second": factor * rate})
        assert ("input_bound" in codes(found)) == bound
        assert found.throughput is not None
        assert found.throughput.value == pytest.approx(min(factor, 1.0) * rate)
        parts = {part.part for part in found.breakdown or []}
        assert ("input" in parts) == bound


def test_the_input_rate_is_that_of_one_machine() -> None:
    one = answer(assumptions={"input_samples_per_second": 100.0})
    four = answer(assumptions={"input_samples_per_second": 100.0}, system={"count": 4})
    assert one.throughput is not None
    assert four.throughput is not None
    assert four.throughput.value == pytest.approx(4 * one.throughput.value, rel=1e-3)


@pytest.mark.parametrize(
    ("request_parts", "status"),
    [
        ({"software": "mlperf-bert"}, "validated"),
        ({"system": {"count": 128}}, "extrapolated"),
        ({"system": {"id": "big-basin-p100"}}, "extrapolated"),
        ({"system": {"id": "dgx-h200"}}, "unvalidated"),
        ({"model": {"preset": "llama-7b"}, "workload": {"seq_len": 2048}, "system": {"id": "bow-pod64"}},
         "unvalidated"),
        ({"system": {"id": "bow-pod16"}}, "validated"),
        ({"model": {"preset": "deepvoice3"}, "workload": {"seq_len": None}}, "unvalidated"),
    ],
)  # fmt: skip
def test_the_distance_from_anything_measured_is_said(request_parts: dict[str, object], status: str) -> None:
    found = answer(**request_parts)
    assert found.validation.status == status
    assert codes(found) & {"extrapolated", "unvalidated"} == {status} - {"validated"}


def test_ranges_widen_with_the_distance_from_anything_measured() -> None:
    def width(**parts: object) -> float:
        found = answer(**parts).step_time
        assert found is not None
        # A shorter step than a perfect one is in no range, so that the other end tells how wide it is.
        return found.high / found.value

    assert width(software="ngc-pytorch") < width() < width(system={"count": 128})
    assert width() < width(system={"id": "big-basin-p100"})


@pytest.mark.parametrize(
    ("system", "asked", "used", "substituted"),
    [
        ("ipu-pod16", "bf16", "fp16.16", True),
        ("bow-pod16", "fp16", "fp16.16", True),
        ("ipu-pod16", "tf32", "fp32", True),
        ("ipu-pod16", "fp16.16", "fp16.16", False),
        ("ipu-pod16", "fp32", "fp32", False),
        ("dgx-a100-640gb", "bf16", "bf16", False),
        ("dgx-a100-640gb", "tf32", "tf32", False),
        ("dgx1-v100", "bf16", "fp16", True),
        ("dgx-a100-640gb", "fp16.16", "fp16", True),
    ],
)
def test_the_nearest_precision_stands_in(system: str, asked: str, used: str, substituted: bool) -> None:
    found = answer(system={"id": system}, workload={"precision": asked})
    assert found.precision_used == used
    assert ("precision_substituted" in codes(found)) == substituted


def test_phases_are_said_where_weights_do_not_stay() -> None:
    workload = GPT3["workload"] | {"global_batch": 64}
    phased = answer(model=GPT3["model"], workload=workload, system={"id": "bow-pod256"})
    assert phased.plan is not None
    assert phased.plan.phases > 1
    assert f"{phased.plan.phases} phases" in warning(phased, "phased_execution").message
    assert "phased_execution" not in codes(answer(system={"id": "bow-pod16"}))


def test_accelerators_that_a_plan_leaves_idle_are_counted() -> None:
    found = answer(plan={"tensor": 2, "pipeline": 1, "data": 2})
    assert "4 of 8" in warning(found, "devices_unused").message
    assert "devices_unused" not in codes(answer(plan={"tensor": 2, "pipeline": 1, "data": 4}))


@pytest.mark.parametrize(("count", "used"), [(1, 4), (2, 8), (3, 8), (4, 16), (5, 16)])
def test_ipus_work_in_powers_of_two_and_the_rest_idles(count: int, used: int) -> None:
    """Partitions of V-IPU are powers of two."""
    found = answer(system={"id": "bow-2000", "count": count})
    assert found.plan is not None
    assert found.plan.tensor * found.plan.pipeline * found.plan.data == used
    assert ("devices_unused" in codes(found)) == (used < 4 * count)


@pytest.mark.parametrize(
    ("system", "old"),
    [("ipu-m2000", True), ("ipu-pod64", True), ("bow-2000", False), ("bow-pod64", False),
     ("dgx-a100-640gb", False)],
)  # fmt: skip
def test_mk2_systems_are_told_from_bow(system: str, old: bool) -> None:
    found = answer(system={"id": system})
    assert ("generation_mk2" in codes(found)) == old
    assert (found.system.generation == "mk2") == old


def test_a_system_without_a_published_price_has_no_cost() -> None:
    found = answer(system={"id": "big-basin-p100"})
    assert found.cost is None
    assert found.time_to_train is not None
    assert warning(found, "price_unknown").fields == ["assumptions.system_price"]
    stated = answer(system={"id": "big-basin-p100"}, assumptions={"system_price": 100_000})
    assert stated.cost is not None
    assert "price_unknown" not in codes(stated)


def test_a_run_that_fails_faster_than_it_restarts_is_said_not_to_finish() -> None:
    found = answer(assumptions={"failures_per_1000_node_days": 1e6, "restart_minutes": 1e4})
    assert warning(found, "restart_outlasts_failures").severity == "serious"
    assert "restart_outlasts_failures" not in codes(answer())


def test_a_batch_beyond_what_converges_costs_samples() -> None:
    workload = {"samples": None, "target": "mlperf-resnet50", "seq_len": None}
    small = answer(**RESNET, workload=workload | {"global_batch": 2048}, system={"count": 16})
    large = answer(**RESNET, workload=workload | {"global_batch": 1024 * 128}, system={"count": 16})
    assert "batch_beyond_critical" in codes(large)
    assert "batch_beyond_critical" not in codes(small)
    assert (large.samples or 0) > 1.5 * (small.samples or 0)


def test_every_warning_names_fields_of_the_request() -> None:
    requests = (
        GPT3,
        {"system": {"id": "ipu-pod16"}, "workload": {"precision": "bf16"}},
        {"model": GPT3_FLOP, "assumptions": {"peak": "fp16_sparse"}},
        {"system": {"id": "big-basin-p100"}},
        {"plan": {"tensor": 2, "pipeline": 1, "data": 2}},
    )
    for parts in requests:
        for found in answer(**parts).warnings:
            assert found.fields
            for field in found.fields:
                schema = EstimateRequest
                for name in field.split("."):
                    assert name in schema.model_fields, field
                    schema = schema.model_fields[name].annotation


def test_the_checks_know_every_catalogued_system() -> None:
    """No system is refused or crashes for the simplest of models."""
    for entry in sizing_context().catalog.systems():
        workload = {"global_batch": None}
        found = answer(model={"preset": "bert-base"}, workload=workload, system={"id": entry.id})
        assert found.fits, entry.id
