"""Memory verdicts against configurations that Graphcore published, and ones that nobody did."""

from dataclasses import replace

import numpy as np
import pytest

from app.engine.compiled import record
from app.engine.ipu.case import STATE_BYTES, ipu_capacity
from app.engine.ipu.plan_steps import ipu_memory, phases_needed, pipeline_stages
from app.engine.ipu.stage_memory import FITS_BELOW, REFUSED_ABOVE, plain_stage, stage_memory
from app.engine.ipu.work import Loads
from app.engine.operators.table import OperatorTable
from app.engine.operators.transformer import Stack
from app.engine.plans import Plan, Plans
from app.engine.records import IpuChip, IpuSoftware, Precision
from app.profiles.architectures.classification import build_resnet
from tests.engine.ipu.conftest import bert_large, transformer

FITS, BORDERLINE, NO = (0.0, FITS_BELOW), (FITS_BELOW, REFUSED_ABOVE), (REFUSED_ABOVE, np.inf)
"""Shares of the memory that a plan fills."""


def largest_micro_batch(chip: IpuChip, software: IpuSoftware, recompute: int) -> int:
    """Return the most images of ResNet-50 one IPU trains at once."""
    sizes = np.arange(1, 41)
    plans = Plans.of(micro_batch=sizes, accumulation=8, recompute=recompute)
    use = ipu_memory(build_resnet(None, 224), plans, chip, software, optimizer="momentum")
    return int(sizes[use.total <= use.capacity].max())


def gpt(layers: int, hidden: int, length: int) -> OperatorTable:
    return transformer(layers, hidden, length, vocabulary=50257, scored=float(length), stack=Stack.DECODER)


# Layers, place in the pipeline and settings of graphcore/examples (nlp/bert, nlp/gpt2); the megabytes
# are weights and accumulators (4 B a parameter), stashes, one layer's activations, temporaries, program.
STAGES = [
    (bert_large(128), 7, 4, 1, 8, 0.25, 0.0, 1, 811, FITS),
    (bert_large(128), 3, 4, 0, 8, 0.15, 0.0, 1, 691, FITS),
    (bert_large(384), 7, 4, 1, 2, 0.40, 0.0, 1, 777, FITS),
    (bert_large(512), 7, 4, 1, 2, 0.15, 0.0, 1, 803, FITS),
    (bert_large(512), 8, 4, 3, 2, 0.10, 0.0, 1, 800, FITS),
    (bert_large(128), 7, 4, 1, 16, 0.25, 0.0, 1, 937, BORDERLINE),
    (bert_large(512), 7, 4, 1, 4, 0.15, 0.0, 1, 906, BORDERLINE),
    (bert_large(128), 7, 4, 1, 8, 0.25, 6.0, 1, 1339, NO),
    (bert_large(128), 12, 2, 1, 8, 0.15, 0.0, 1, 1025, NO),
    (bert_large(128), 3, 8, 1, 8, 0.25, 8.0, 1, 920, BORDERLINE),
    (bert_large(128), 3, 8, 0, 8, 0.15, 8.0, 1, 1260, NO),
    (bert_large(128), 1, 8, 0, 8, 0.15, 8.0, 1, 954, BORDERLINE),
    (transformer(12, 768, 128), 4, 4, 1, 32, 0.25, 0.0, 1, 750, FITS),
    (transformer(12, 768, 512), 4, 4, 1, 8, 0.25, 0.0, 1, 845, FITS),
    (gpt(24, 1024, 1024), 4, 8, 1, 1, 0.15, 0.0, 1, 688, FITS),
    (gpt(24, 1024, 1024), 4, 8, 1, 1, 0.15, 8.0, 2, 889, BORDERLINE),
    (gpt(24, 1024, 1024), 7, 4, 1, 1, 0.15, 0.0, 1, 845, FITS),
    (gpt(36, 1280, 1024), 3, 16, 1, 1, 0.15, 0.0, 1, 775, FITS),
    (gpt(36, 1280, 512), 5, 8, 1, 1, 0.15, 0.0, 1, 813, FITS),
    (gpt(36, 1280, 1024), 5, 8, 1, 1, 0.15, 0.0, 1, 940, BORDERLINE),
    (gpt(48, 1600, 1024), 3, 16, 1, 1, 0.15, 0.0, 1, 1008, NO),
    (gpt(48, 1600, 1024), 1, 32, 1, 1, 0.15, 0.0, 1, 860, FITS),
    (gpt(48, 1600, 1024), 2, 32, 16, 1, 0.15, 0.0, 1, 902, FITS),
    (gpt(48, 1600, 512), 3, 16, 1, 1, 0.15, 0.0, 1, 830, FITS),
]


@pytest.mark.parametrize(
    (
        "table",
        "layers",
        "pipeline",
        "place",
        "micro_batch",
        "available",
        "state",
        "shards",
        "megabytes",
        "fit",
    ),
    STAGES,
)
def test_one_stage_takes_the_published_memory(
    table: OperatorTable,
    layers: int,
    pipeline: int,
    place: int,
    micro_batch: int,
    available: float,
    state: float,
    shards: int,
    megabytes: float,
    fit: tuple[float, float],
    bow: IpuChip,
    popart: IpuSoftware,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(STATE_BYTES, "given", state)
    software = popart._replace(available_memory=available)
    plans = Plans.of(
        pipeline=pipeline,
        micro_batch=micro_batch,
        accumulation=100,
        recompute=1,
        offload=float(state == 0),
        rts_optimizer=shards,
    )
    laid = pipeline_stages(table, plans, bow, software, precision=Precision.FP16_16, optimizer="given").laid
    first = plain_stage(layers, layers / table.depth, embedding=float(place == 0), head=0.0)
    held = first._replace(position=place)
    parts = stage_memory(laid.case, record(Loads, laid.loads, 0), record(Plan, laid.plans, 0), held)
    total = float(sum(parts))
    assert total / 1e6 == pytest.approx(megabytes, rel=0.06)
    assert fit[0] < total / ipu_capacity(bow, software) <= fit[1]


def test_resnet_50_fits_an_ipu_only_as_published(bow: IpuChip, popart: IpuSoftware) -> None:
    """Every published configuration recomputes, with 16 to 22 images (graphcore/examples, vision/cnns)."""
    software = popart._replace(available_memory=0.25)
    assert largest_micro_batch(bow, software, recompute=1) == 25
    assert largest_micro_batch(bow, software, recompute=0) == 10


def test_gpt3_over_64_ipus_runs_in_phases(bow: IpuChip, popart: IpuSoftware) -> None:
    """Three layers a phase with their optimizer shard, and one phase more for the embedding."""
    table = transformer(96, 12288, 2048, vocabulary=50257, scored=2048.0, stack=Stack.DECODER, head=128)
    software = popart._replace(available_memory=0.1, io_tiles=128)
    plans = Plans.of(
        tensor=64,
        data=4,
        micro_batch=1,
        accumulation=32,
        recompute=1,
        sequence_parallel=1,
        rts=4,
        rts_optimizer=4,
        phases=[1, 33, 98],
    )
    assert phases_needed(table, plans, bow, software, optimizer="adam").tolist() == [33.0, 33.0, 33.0]
    use = ipu_memory(table, plans, bow, software, optimizer="adam")
    for filled, (least, most) in zip(use.total / use.capacity, (NO, BORDERLINE, FITS), strict=True):
        assert least < filled <= most
    assert np.all(use.streaming < use.streaming_capacity)
    assert use.streaming[1] > use.streaming[0]


def test_offloading_moves_the_state_out(bow: IpuChip, popart: IpuSoftware) -> None:
    use = ipu_memory(
        bert_large(128),
        Plans.of(pipeline=4, micro_batch=8, accumulation=8, recompute=1, offload=[0, 1]),
        bow,
        popart,
    )
    assert use.parts["optimizer"][1] == 0 < use.parts["optimizer"][0]
    assert use.streaming[0] == 0 < use.streaming[1]


def test_recomputing_never_takes_more_memory(bow: IpuChip, popart: IpuSoftware) -> None:
    plans = Plans.of(pipeline=[2, 4, 8], micro_batch=4, accumulation=64)
    kept = ipu_memory(bert_large(512), plans, bow, popart).total
    recomputed = ipu_memory(bert_large(512), replace(plans, recompute=np.ones(3)), bow, popart).total
    assert np.all(recomputed < kept)
