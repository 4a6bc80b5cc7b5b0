"""Steps: parts, pipelines, updates, phases, and what must hold for any plan."""

import numpy as np
import pytest

from app.engine.ipu.plan_steps import ipu_memory, ipu_operator_times, ipu_step
from app.engine.ipu.step import IpuStep
from app.engine.ipu.work import CYCLE_PARTS, StageTime
from app.engine.plans import Plans, StepTime
from app.engine.records import IpuChip, IpuSoftware, Precision
from app.profiles.architectures.classification import build_resnet
from tests.engine.ipu.conftest import bert_large, transformer

BERT = {
    "pipeline": 4,
    "data": 4,
    "micro_batch": 8,
    "accumulation": 512,
    "recompute": 1,
    "offload": 1,
    "rts_optimizer": 4,
}


def seconds(chip: IpuChip, software: IpuSoftware, **changes: object) -> np.ndarray:
    return ipu_step(bert_large(128), Plans.of(**{**BERT, **changes}), chip, software).total


def test_parts_are_known_and_positive(bow: IpuChip, popart: IpuSoftware) -> None:
    step = ipu_step(bert_large(128), Plans.of(**{**BERT, "tensor": [1, 2]}), bow, popart)
    assert tuple(step.parts) == IpuStep._fields
    assert all(np.all(part >= 0) for part in step.parts.values())
    assert step.total.shape == (2,)


def test_bert_large_on_a_bow_pod16_is_near_the_measured_rate(bow: IpuChip, popart: IpuSoftware) -> None:
    """5,179 sequences a second at a batch of 65,536 (Graphcore performance results, before SDK 2.5)."""
    step = seconds(bow, popart, accumulation=2048)
    assert 65536 / float(step) == pytest.approx(5179, rel=0.08)


def test_resnet_50_on_a_bow_pod16_is_near_the_measured_rate(bow: IpuChip, popart: IpuSoftware) -> None:
    """42,170 images a second at a batch of 3,520 (MLPerf Training v2.0, training alone)."""
    software = popart._replace(host_returns_per_update=0.0)
    plans = Plans.of(data=16, micro_batch=22, accumulation=10, recompute=1)
    step = ipu_step(build_resnet(None, 224), plans, bow, software, optimizer="momentum").total
    assert 3520 / float(step) == pytest.approx(42170, rel=0.08)


def test_operator_times_add_up_to_the_slot(bow: IpuChip, popart: IpuSoftware) -> None:
    plans = Plans.of(micro_batch=[4, 8], recompute=[0, 1])
    times = ipu_operator_times(bert_large(128), plans, bow, popart)
    step = ipu_step(bert_large(128), plans, bow, popart)
    slot = sum(step.parts[name] for name in CYCLE_PARTS)
    assert (times.forward + times.backward).sum(axis=0) == pytest.approx(slot)


def test_many_plans_at_once_give_what_each_gives_alone(bow: IpuChip, popart: IpuSoftware) -> None:
    pipelines, batches = [1.0, 2.0, 4.0, 8.0], [1.0, 2.0, 8.0, 2.0]
    together = seconds(bow, popart, pipeline=pipelines, micro_batch=batches)
    alone = [
        float(seconds(bow, popart, pipeline=pipeline, micro_batch=batch))
        for pipeline, batch in zip(pipelines, batches, strict=True)
    ]
    assert together == pytest.approx(alone)


def test_software_samples_broadcast(bow: IpuChip, popart: IpuSoftware) -> None:
    factors = np.array([0.9, 1.0, 1.1])
    samples = seconds(bow, popart._replace(sdk_factor=factors))
    single = [float(seconds(bow, popart._replace(sdk_factor=float(factor)))) for factor in factors]
    assert samples == pytest.approx(single)


def test_more_clock_is_never_slower(bow: IpuChip, gc200: IpuChip, popart: IpuSoftware) -> None:
    grid = {"pipeline": [1, 2, 4, 8], "micro_batch": [1, 4, 8, 16]}
    assert np.all(seconds(bow, popart, **grid) <= seconds(gc200, popart, **grid))


def test_device_time_never_falls_with_the_data_degree(bow: IpuChip, popart: IpuSoftware) -> None:
    degrees = np.arange(1.0, 257.0)
    step = seconds(bow, popart, data=degrees, rts_optimizer=1)
    assert np.all(np.diff(step) >= -1e-12)


def test_full_precision_is_slower(bow: IpuChip, popart: IpuSoftware) -> None:
    plans = Plans.of(**BERT)
    full = ipu_step(bert_large(128), plans, bow, popart, precision=Precision.FP32).total
    assert float(full) > 2 * float(ipu_step(bert_large(128), plans, bow, popart).total)


def test_the_bubble_is_that_of_a_filling_pipeline(bow: IpuChip, popart: IpuSoftware) -> None:
    step = ipu_step(bert_large(128), Plans.of(**BERT), bow, popart).parts
    busy = sum(step[name] for name in (*CYCLE_PARTS, "pipeline_comm"))
    assert float(step["pipeline_bubble"] / busy) == pytest.approx(3 / 512)


def test_a_second_pod_adds_the_gateway(bow: IpuChip, popart: IpuSoftware) -> None:
    plans = Plans.of(data=[64, 128], micro_batch=20, accumulation=2, recompute=1)
    step = ipu_step(build_resnet(None, 224), plans, bow, popart, optimizer="momentum")
    inside, across = step.parts["data_comm"]
    assert across > inside


def test_phases_hide_their_weights_behind_enough_micro_batches(bow: IpuChip, popart: IpuSoftware) -> None:
    table = transformer(24, 4096, 512, scored=512.0)
    plans = Plans.of(phases=24, micro_batch=1, accumulation=[1, 1024], recompute=1, offload=1)
    streamed = ipu_step(table, plans, bow, popart).parts["optimizer"]
    state = 2 * 8 * table.parameters / bow.streaming_bandwidth
    assert float(streamed[1]) == pytest.approx(state)
    assert float(streamed[0]) > state


def test_a_larger_batch_in_phases_is_never_slower_by_sample(bow: IpuChip, popart: IpuSoftware) -> None:
    """What waits between phases fills streaming memory at some batch; then a step takes several rounds."""
    table = transformer(24, 1024, 512, scored=512.0)
    counts = 2.0 ** np.arange(16)
    plans = Plans.of(phases=24, micro_batch=1, accumulation=counts, recompute=1, offload=1)
    by_sample = ipu_step(table, plans, bow, popart).total / counts
    assert np.all(np.diff(by_sample) < 0.01 * by_sample[1:])
    waiting = ipu_memory(table, plans, bow, popart).streaming
    assert waiting[-1] <= bow.streaming_capacity < 2.0 * waiting[-1]


def test_sharded_weights_are_gathered(bow: IpuChip, popart: IpuSoftware) -> None:
    parts = ipu_step(bert_large(128), Plans.of(**{**BERT, "rts": [1, 4]}), bow, popart).parts["data_comm"]
    assert parts[1] > parts[0]


def test_tensor_parallelism_pays_for_its_collectives(bow: IpuChip, popart: IpuSoftware) -> None:
    parts = ipu_step(bert_large(128), Plans.of(**{**BERT, "tensor": [1, 2, 4]}), bow, popart).parts
    assert parts["tensor_comm"][0] == 0
    assert parts["tensor_comm"][2] > parts["tensor_comm"][1] > 0
    assert np.all(np.diff(parts["gemm"]) < 0)


IMAGES = {"micro_batch": 20, "accumulation": 4, "recompute": 1}


def images(chip: IpuChip, software: IpuSoftware, **plan: object) -> StepTime:
    return ipu_step(build_resnet(None, 224), Plans.of(**{**IMAGES, **plan}), chip, software)


def test_a_slow_host_sets_the_rate_of_all_that_it_feeds(bow: IpuChip, popart: IpuSoftware) -> None:
    slow = popart._replace(input_time_per_sample=0.01)
    after = ("fixed", "data_comm", "optimizer")
    for copies, shared in ((1, 1), (8, 8), (16, 16), (64, 16)):
        step = images(bow, slow, data=copies)
        waited = step.total - sum(step.parts[name] for name in after)
        assert float(waited) == pytest.approx(4 * 20 * shared * 0.01)


def test_a_host_that_keeps_ahead_is_not_seen(bow: IpuChip, popart: IpuSoftware) -> None:
    quick = popart._replace(input_time_per_sample=np.array([0.0, 1e-6]))
    assert images(bow, quick, data=16).parts["input"].tolist() == [0.0, 0.0]


def test_copies_of_one_machine_share_its_way_from_the_host(bow: IpuChip, popart: IpuSoftware) -> None:
    narrow = bow._replace(host_bandwidth=1e8)
    bytes_of_sample = 224 * 224 * 3.0
    for copies, shared in ((1, 1), (4, 4), (16, 4)):
        found = {}
        for size in (1.0, 2.0):
            step = images(narrow, popart._replace(input_bytes=size), data=copies)
            found[size] = sum(step.parts[name] for name in ("input", *StageTime._fields))
        assert float(found[1.0]) == pytest.approx(4 * 20 * shared * bytes_of_sample / 1e8)
        assert float(found[2.0]) == pytest.approx(2 * float(found[1.0]))
