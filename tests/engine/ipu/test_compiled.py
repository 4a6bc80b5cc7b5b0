"""Compiled kernels against the same functions run interpreted, and against one another."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.engine.arrays import distinct_columns
from app.engine.compiled import Kernel, state
from app.engine.ipu.examples import BOW, POPART
from app.engine.ipu.plan_steps import (
    evaluate_ipu_plans,
    ipu_forward_share,
    ipu_memory,
    ipu_step,
    phases_needed,
    pipeline_stages,
)
from app.engine.operators.table import OperatorTable
from app.engine.plans import Plans
from app.engine.records import Precision
from app.profiles.architectures.classification import build_resnet
from tests.engine.ipu.conftest import transformer

MODELS = {"like layers": transformer(12, 1024, 128), "unlike layers": build_resnet(None, 224)}

OPTIONS = {"precision": Precision.FP16_16, "optimizer": "lamb"}


@st.composite
def some_plans(draw: st.DrawFn) -> Plans:
    """Draw a few dozen plans of few distinct micro-batches, which are slow to interpret."""
    count = draw(st.integers(1, 36))

    def column(*values: float) -> list[float]:
        return draw(st.lists(st.sampled_from(values), min_size=count, max_size=count))

    data = column(1, 2, 16, 64)
    return Plans.of(
        tensor=column(1, 2),
        micro_batch=column(*draw(st.lists(st.integers(1, 64), min_size=1, max_size=2))),
        sequence_parallel=draw(st.sampled_from([0, 1])),
        pipeline=column(1, 2, 3, 4, 8, 16),
        data=data,
        accumulation=column(1, 2, 7, 512),
        recompute=column(0, 2),
        offload=column(0, 1),
        rts=draw(st.sampled_from([data, 1.0])),
        rts_optimizer=draw(st.sampled_from([data, 1.0])),
        phases=column(1, 2, 5),
    )


def answers(table: OperatorTable, plans: Plans) -> list[np.ndarray]:
    memory, step = (evaluate(table, plans, BOW, POPART, **OPTIONS) for evaluate in (ipu_memory, ipu_step))
    phases = phases_needed(table, plans, BOW, POPART, **OPTIONS)
    share = ipu_forward_share(pipeline_stages(table, plans, BOW, POPART, **OPTIONS), POPART)
    return [*memory.parts.values(), memory.streaming, *step.parts.values(), phases, share]


@pytest.mark.parametrize("name", MODELS)
@settings(max_examples=5, deadline=None)
@given(plans=some_plans())
def test_compiled_is_interpreted(name: str, plans: Plans) -> None:
    if state():
        pytest.skip(state())
    compiled = answers(MODELS[name], plans)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Kernel, "__call__", Kernel._interpreted)
        interpreted = answers(MODELS[name], plans)
    for one, other in zip(compiled, interpreted, strict=True):
        assert one == pytest.approx(other, rel=1e-9)


@pytest.mark.parametrize("name", MODELS)
@settings(max_examples=20, deadline=None)
@given(plans=some_plans(), filled=st.floats(0.5, 2.0))
def test_all_at_once_is_memory_and_step(name: str, plans: Plans, filled: float) -> None:
    table = MODELS[name]
    use, step = (evaluate(table, plans, BOW, POPART, **OPTIONS) for evaluate in (ipu_memory, ipu_step))
    limit = filled * use.capacity
    memory, streaming, seconds = evaluate_ipu_plans(table, plans, BOW, POPART, limit=limit, **OPTIONS)
    assert memory == pytest.approx(use.total)
    assert streaming == pytest.approx(use.streaming)
    fits = (memory <= limit) & (streaming <= use.streaming_capacity)
    assert np.isinf(seconds[~fits]).all()
    assert seconds[fits] == pytest.approx(step.total[fits])


@given(
    columns=st.integers(0, 40).flatmap(
        lambda count: st.lists(
            st.lists(st.sampled_from([0.0, 1.0, 2.0, 0.5, 4096.0]), min_size=count, max_size=count),
            min_size=2,
            max_size=2,
        )
    )
)
def test_equal_columns_have_one_number(columns: list[list[float]]) -> None:
    matrix = np.array(columns)
    first, which = distinct_columns(matrix)
    assert np.array_equal(matrix[:, first][:, which], matrix)
    assert len(first) == len({*zip(*columns, strict=True)})
    assert np.all(np.diff(first) > 0)
