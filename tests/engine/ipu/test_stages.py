"""The stage rule against published splits and against trying every level."""

import math

import pytest

from app.engine.ipu.layout import stage_layers, stage_list
from app.engine.ipu.plan_steps import pipeline_stages
from app.engine.plans import Plans
from app.engine.records import IpuChip, IpuSoftware, Precision
from tests.engine.ipu.conftest import bert_large


@pytest.mark.parametrize(
    ("length", "pipeline", "micro_batch", "published"),
    [
        (128, 4, 8, (3, 7, 7, 7)),
        (512, 4, 2, (3, 7, 7, 7)),
        (512, 8, 2, (3,) * 8),
        (512, 8, 3, (3,) * 8),
    ],
)
def test_bert_large_is_split_as_published_on_four_and_evenly_on_eight(
    length: int,
    pipeline: int,
    micro_batch: int,
    published: tuple[int, ...],
    bow: IpuChip,
    popart: IpuSoftware,
) -> None:
    """Layers per IPU of graphcore/examples, nlp/bert; on eight the MLPerf submissions differ."""
    table = bert_large(length)
    plans = Plans.of(
        pipeline=pipeline,
        data=4,
        micro_batch=micro_batch,
        accumulation=100,
        recompute=1,
        offload=1,
        rts_optimizer=4,
    )
    found = pipeline_stages(table, plans, bow, popart, precision=Precision.FP16_16, optimizer="lamb")
    assert stage_list(found.counts, table.depth, pipeline) == published


def best_level(depth: int, pipeline: int, limit: float, first: float, last: float) -> float:
    """Return the time of the slowest stage under the best split, by trying every level."""
    levels = sorted({whole + extra for whole in range(depth + 40) for extra in (0.0, first, last)})
    for level in levels:
        between = (pipeline - 2) * math.floor(level + 1e-9)
        on_first = min(limit, max(0, math.floor(level - first + 1e-9)))
        if between + on_first + max(0, math.floor(level - last + 1e-9)) >= depth:
            return level
    raise AssertionError("a pipeline holds every layer at some level")


@pytest.mark.parametrize("depth", [1, 2, 5, 12, 24, 96])
@pytest.mark.parametrize("limit", [0, 1, 5, math.inf])
@pytest.mark.parametrize("extras", [(0, 0), (0.6, 0), (0.1, 0.34), (3.7, 6.2), (0, 12.5), (30, 1)])
def test_no_split_has_a_faster_slowest_stage(depth: int, limit: float, extras: tuple[float, float]) -> None:
    first, last = extras
    for pipeline in range(2, 33):
        layers = stage_list(stage_layers(depth, pipeline, limit, first, last), depth, pipeline)
        assert sum(layers) == depth
        assert len(layers) == pipeline
        assert min(layers) >= 0
        assert layers[0] <= limit
        at_ends = [count + extra for count, extra in ((layers[0], first), (layers[-1], last)) if count]
        assert max([*at_ends, *layers[1:-1]]) <= best_level(depth, pipeline, limit, first, last) + 1e-6


def test_one_stage_has_everything() -> None:
    assert stage_layers(24.0, 1.0) == (24, 0, 0)
    assert stage_layers(24.0, 2.0) == (12, 12, 12)
