"""Cuts of networks with unlike layers: against every cut, against published splits, and alone."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from app.engine.compiled import record
from app.engine.ipu.chains import has_unlike_layers, model_units, stated_cut
from app.engine.ipu.layout import balance, stage_list, stage_of
from app.engine.ipu.plan_steps import ipu_memory, ipu_step, pipeline_stages
from app.engine.ipu.stage_memory import stage_weights
from app.engine.ipu.work import Loads, StageTime
from app.engine.operators.table import OperatorTable
from app.engine.plans import Plans
from app.engine.records import IpuChip, IpuSoftware, Precision
from app.profiles.architectures.classification import build_efficientnet, build_resnet
from app.profiles.architectures.segmentation import build_unet

NETWORKS = {
    "resnet50": build_resnet(None, 224),
    "efficientnet-b4": build_efficientnet(None, 380, variant=4, group_size=16, norm="group"),
    "unet": build_unet(None, 572),
}


def slowest(times: np.ndarray, last: np.ndarray, stage: np.ndarray) -> float:
    """Return the time of the slowest stage; the last recomputes nothing."""
    final = stage.max()
    return max(
        float(np.sum((last if place == final else times)[stage == place])) for place in range(final + 1)
    )


def slot(table: OperatorTable, chip: IpuChip, software: IpuSoftware, split: tuple[float, ...] = (), **plan):
    plans = Plans.of(**{"micro_batch": 4, "accumulation": 64, "recompute": 1, **plan})
    step = ipu_step(table, plans, chip, software, optimizer="momentum", split=split)
    return sum(step.parts[name] for name in StageTime._fields)


@pytest.mark.parametrize("seed", range(20))
def test_no_cut_has_a_faster_slowest_stage(seed: int) -> None:
    random = np.random.default_rng(seed)
    layers, stages = int(random.integers(4, 10)), int(random.integers(2, 5))
    times = random.exponential(size=layers)
    last = times * random.uniform(0.6, 1.0, size=layers)
    found = np.zeros(layers, dtype=np.int64)
    balance(times, last, float(stages), found)
    best = min(
        slowest(times, last, np.searchsorted(cuts, np.arange(layers), side="right"))
        for parts in range(1, stages + 1)
        for cuts in itertools.combinations(range(1, layers), parts - 1)
    )
    assert np.all(np.diff(found) >= 0)
    assert found.max() < stages
    assert slowest(times, last, found) == pytest.approx(best, rel=1e-9)


@pytest.mark.parametrize("name", NETWORKS)
def test_blocks_hold_the_whole_network(name: str) -> None:
    table = NETWORKS[name]
    units = model_units(table)
    assert has_unlike_layers(table)
    assert units.repeats[units.layers].sum() == table.depth
    assert np.all(np.diff(units.unit) >= 0)
    assert units.repeats[units.unit] == pytest.approx(table.block_repeats)


@pytest.mark.parametrize("name", NETWORKS)
def test_a_balanced_cut_is_faster_than_equal_numbers_of_layers(
    name: str, bow: IpuChip, popart: IpuSoftware
) -> None:
    table = NETWORKS[name]
    for stages in (2, 4):
        share, rest = divmod(table.depth, stages)
        equal = tuple(float(share + (place < rest)) for place in range(stages))
        balanced = float(slot(table, bow, popart, pipeline=stages))
        assert balanced <= float(slot(table, bow, popart, split=equal, pipeline=stages)) * (1 + 1e-9)


@pytest.mark.parametrize("name", NETWORKS)
def test_more_stages_never_lengthen_the_slowest(name: str, bow: IpuChip, popart: IpuSoftware) -> None:
    table = NETWORKS[name]
    stages = np.arange(2.0, 9.0)
    plans = Plans.of(pipeline=stages, micro_batch=4, accumulation=64, recompute=1)
    found = pipeline_stages(table, plans, bow, popart, precision=Precision.FP16_16, optimizer="momentum")
    level = found.laid.slowest[found.laid.layouts].sum(axis=1)
    assert np.all(level[1:] <= level[:-1] * 1.05)
    for place, pipeline in enumerate(stages.astype(int)):
        listed = stage_list(found.counts[:, place], table.depth, pipeline)
        assert sum(listed) == table.depth
        held = [stage_of(found.laid.stages, found.laid.layouts[place], each) for each in range(pipeline)]
        loads = record(Loads, found.laid.loads, found.laid.keys[place])
        weights = [stage_weights(loads, each.layers, each.embedding, each.head) for each in held]
        assert all(each.present for each in held)
        assert sum(weights) == pytest.approx(table.parameters)


def test_published_splits_are_taken_as_they_are(bow: IpuChip, popart: IpuSoftware) -> None:
    """EfficientNet-B4 is cut at block4a (graphcore/examples, efficientnet_b4_g16_16ipus)."""
    table = NETWORKS["efficientnet-b4"]
    units = model_units(table)
    stage = stated_cut(np.repeat(units.layers, units.repeats), (10, 22))
    first_of_stage_4 = [name.startswith("stage4") for name in table.names].index(True)
    owner = np.repeat(np.arange(len(units.repeats)), units.repeats)
    assert stage[owner < units.unit[first_of_stage_4]].max() == 0
    assert stage[owner >= units.unit[first_of_stage_4]].min() == 1
    plans = Plans.of(pipeline=2, micro_batch=3, accumulation=256, recompute=1)
    found = pipeline_stages(
        table, plans, bow, popart, precision=Precision.FP16_16, optimizer="momentum", split=(10, 22)
    )
    assert stage_list(found.counts, table.depth, 2) == (10, 22)
    other = pipeline_stages(
        table, plans, bow, popart, precision=Precision.FP16_16, optimizer="momentum", split=(10, 20)
    )
    assert stage_list(other.counts, table.depth, 2) != (10, 20)


def test_one_stage_has_the_time_of_all_operators(bow: IpuChip, popart: IpuSoftware) -> None:
    table = NETWORKS["resnet50"]
    alone = replace(table, block=np.full(len(table), -1.0))
    assert not has_unlike_layers(alone)
    assert float(slot(table, bow, popart)) == pytest.approx(float(slot(alone, bow, popart)))


def test_the_last_stage_recomputes_nothing(bow: IpuChip, popart: IpuSoftware) -> None:
    """Graphcore, TensorFlow for the IPU, pipeline_recomputation.cc."""
    table = NETWORKS["resnet50"]
    late = {"split": (1.0, 15.0), "pipeline": 2}
    kept, repeated = (slot(table, bow, popart, recompute=recompute, **late) for recompute in (0, 1))
    assert float(repeated) == pytest.approx(float(kept))
    early = {"split": (15.0, 1.0), "pipeline": 2}
    kept, repeated = (slot(table, bow, popart, recompute=recompute, **early) for recompute in (0, 1))
    assert 1.2 < float(repeated / kept) < 1.4


UNET_CUT = (2.0, 3.0, 2.0, 2.0)
"""graphcore/examples, vision/unet_medical/tensorflow2/model_utils.py: set_pipeline_stages."""
KEPT = (392**2 * 64.0, 200**2 * 128.0, 104**2 * 256.0, 56**2 * 512.0)
"""Elements of the skip connections of a U-Net on 572 × 572 pixels, cropped (model.py)."""


def test_skip_connections_pass_every_stage_they_span(bow: IpuChip, popart: IpuSoftware) -> None:
    table = NETWORKS["unet"]
    assert np.sort(table.skip[table.skip > 0]).tolist() == sorted(KEPT)
    plans = Plans.of(pipeline=4, micro_batch=1, accumulation=24, recompute=1)
    laid = pipeline_stages(
        table, plans, bow, popart, precision=Precision.FP16_16, optimizer="momentum", split=UNET_CUT
    ).laid
    stages = [stage_of(laid.stages, 0, place) for place in range(4)]
    large, small = sum(KEPT[:2]), sum(KEPT[2:])
    assert [stage.passing * table.hidden for stage in stages] == pytest.approx([0.0, large, KEPT[0], 0.0])
    assert [stage.begun * table.hidden for stage in stages] == pytest.approx([large, small, 0.0, 0.0])
    # What is joined before a cut is handed on with the path; convolutions lose their outermost positions.
    down, up, last = 138**2 * 128.0, 54**2 * 1024.0 + sum(KEPT[1:3]), 198**2 * 256.0 + KEPT[0]
    assert [stage.received * table.hidden for stage in stages[1:]] == pytest.approx([down, up, last])
    step = ipu_step(table, plans, bow, popart, optimizer="momentum", split=UNET_CUT)
    widest = max(stage.received + stage.passing for stage in stages[1:]) * table.hidden
    assert float(step.parts["pipeline_comm"]) == pytest.approx(24 * 2 * 2 * widest / bow.link_bandwidth)


@pytest.mark.parametrize("recompute", [0, 1])
def test_skip_connections_take_memory_and_links(recompute: int, bow: IpuChip, popart: IpuSoftware) -> None:
    table = NETWORKS["unet"]
    plain = replace(table, skip=np.zeros(len(table)))
    plans = Plans.of(pipeline=[1, 2, 4], micro_batch=1, accumulation=24, recompute=recompute)
    memory, without = (ipu_memory(one, plans, bow, popart).parts["activations"] for one in (table, plain))
    assert np.all(memory >= without * (1 - 1e-9))
    if recompute:
        assert memory[0] - without[0] == pytest.approx(2.0 * sum(KEPT))
        assert memory[2] > without[2]
    moved, less = (ipu_step(one, plans, bow, popart).parts["pipeline_comm"] for one in (table, plain))
    assert moved[0] == less[0] == 0
    assert np.all(moved[1:] > less[1:])


@pytest.mark.parametrize("name", ["resnet50", "efficientnet-b4"])
def test_a_chain_hands_on_what_its_next_block_is_given(name: str, bow: IpuChip, popart: IpuSoftware) -> None:
    plans = Plans.of(pipeline=4, micro_batch=4, accumulation=64, recompute=1)
    found = pipeline_stages(
        NETWORKS[name], plans, bow, popart, precision=Precision.FP16_16, optimizer="momentum"
    )
    stages = [stage_of(found.laid.stages, 0, place) for place in range(4)]
    assert all(stage.passing == stage.begun == 0 for stage in stages)
    assert all(stage.received > 0 for stage in stages)
