"""Legal plans: each is legal, none is missing, none is there twice."""

from collections.abc import Iterator
from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.engine.plans import Plans, Recompute, Sharding
from app.engine.search import DEEPEST_INTERLEAVE, LARGEST_MICRO_BATCH, Space, divisors, legal_plans


def space(**changes: object) -> Space:
    values = {
        "devices": 64,
        "devices_per_node": 8,
        "global_batch": 512,
        "depth": 24,
        "heads": 16,
        "ipu": False,
        "fixed": {},
    }
    return Space(**(values | changes))


def rows(plans: Plans) -> list[tuple[float, ...]]:
    return list(zip(*(getattr(plans, entry.name).tolist() for entry in fields(Plans)), strict=True))


spaces = st.builds(
    space,
    devices=st.sampled_from([1, 2, 3, 4, 6, 8, 16, 24, 32, 64, 128]),
    global_batch=st.integers(1, 512),
    depth=st.integers(1, 48),
    heads=st.sampled_from([0, 1, 4, 12, 16, 25]),
)
ipu_spaces = st.builds(
    space,
    devices=st.sampled_from([4, 16, 64, 256]),
    devices_per_node=st.just(4),
    global_batch=st.integers(1, 2048),
    depth=st.integers(1, 96),
    heads=st.sampled_from([0, 12, 16, 32]),
    ipu=st.just(True),
)


@given(number=st.integers(1, 100_000))
def test_divisors_are_all_there_and_rise(number: int) -> None:
    found = divisors(number)
    assert found == sorted(set(found))
    assert all(number % value == 0 for value in found)
    assert [number // value for value in reversed(found)] == found


@given(asked=spaces)
def test_every_plan_is_legal(asked: Space) -> None:
    plans = legal_plans(asked)
    assert np.all(plans.devices == asked.devices)
    assert np.all(plans.global_batch == asked.global_batch)
    assert np.all(plans.tensor <= asked.devices_per_node)
    assert np.all(plans.pipeline * plans.interleave <= asked.depth)
    assert np.all(plans.micro_batch <= LARGEST_MICRO_BATCH)
    assert np.all((plans.accumulation % plans.pipeline == 0) | (plans.interleave == 1))
    if asked.heads:
        assert np.all(asked.heads % plans.tensor == 0)
    else:
        assert np.all(plans.tensor * plans.pipeline == 1)
    for entry in fields(Plans):
        column = getattr(plans, entry.name)
        assert column.shape == plans.tensor.shape
        assert np.all(column == np.round(column))


@given(asked=ipu_spaces)
def test_every_ipu_plan_is_legal(asked: Space) -> None:
    plans = legal_plans(asked)
    assert np.all(plans.devices == asked.devices)
    assert np.all(plans.global_batch == asked.global_batch)
    for degree in (plans.tensor, plans.pipeline, plans.data):
        assert np.all(np.log2(degree) % 1 == 0)
    assert np.all(plans.pipeline <= asked.depth)
    assert np.all((plans.rts == 1) | (plans.rts == plans.data))
    assert np.all((plans.rts_optimizer == 1) | (plans.rts_optimizer == plans.data))


@given(asked=st.one_of(spaces, ipu_spaces))
def test_no_plan_is_there_twice(asked: Space) -> None:
    found = rows(legal_plans(asked))
    assert len(found) == len(set(found))


def by_hand(asked: Space) -> Iterator[tuple[int, ...]]:
    """Every plan of a small space by looping over every number, without divisors."""
    for t in range(1, min(asked.devices, asked.devices_per_node) + 1):
        for p in range(1, asked.depth + 1):
            for d in range(1, asked.devices + 1):
                if t * p * d != asked.devices or asked.heads % t or asked.global_batch % d:
                    continue
                for micro in range(1, asked.global_batch // d + 1):
                    if asked.global_batch % (d * micro):
                        continue
                    rounds = asked.global_batch // (d * micro)
                    for v in range(1, DEEPEST_INTERLEAVE + 1):
                        if v > 1 and (p == 1 or asked.depth % (p * v) or rounds % p):
                            continue
                        for mode in Recompute:
                            for split in (0, 1) if t > 1 else (0,):
                                for sharding in Sharding:
                                    if sharding and d == 1:
                                        continue
                                    if sharding > Sharding.OPTIMIZER and p > 1:
                                        continue
                                    yield (t, p, d, micro, v, int(mode), split, int(sharding))


@pytest.mark.parametrize(
    ("devices", "batch", "depth", "heads"), [(8, 16, 12, 12), (12, 24, 6, 4), (16, 16, 8, 8)]
)
def test_no_legal_plan_is_missing(devices: int, batch: int, depth: int, heads: int) -> None:
    asked = space(devices=devices, global_batch=batch, depth=depth, heads=heads)
    plans = legal_plans(asked)
    names = (
        "tensor",
        "pipeline",
        "data",
        "micro_batch",
        "interleave",
        "recompute",
        "sequence_parallel",
        "sharding",
    )
    found = set(zip(*(getattr(plans, name).astype(int).tolist() for name in names), strict=True))
    assert found == set(by_hand(asked))


GIVEN = (
    "tensor",
    "pipeline",
    "data",
    "micro_batch",
    "accumulation",
    "interleave",
    "recompute",
    "sequence_parallel",
    "sharding",
)


@given(asked=spaces, draw=st.data())
def test_a_plan_given_in_part_or_whole_is_among_the_legal_ones(asked: Space, draw: st.DataObject) -> None:
    every = rows(legal_plans(asked))
    if not every:
        return
    chosen = draw.draw(st.sampled_from(every))
    values = dict(zip((entry.name for entry in fields(Plans)), chosen, strict=True))
    names = draw.draw(st.sets(st.sampled_from(GIVEN)))
    narrowed = legal_plans(replace(asked, fixed={name: values[name] for name in names}))
    assert chosen in rows(narrowed)
    for name in names:
        assert np.all(getattr(narrowed, name) == values[name])
    if names == set(GIVEN):
        assert narrowed.tensor.size == 1


@pytest.mark.parametrize(
    "fixed",
    [{"micro_batch": 4.0, "accumulation": 1.0}, {"data": 64.0, "micro_batch": 8.0, "accumulation": 3.0}],
)
def test_given_fields_that_contradict_the_batch_leave_nothing(fixed: dict[str, float]) -> None:
    plans = legal_plans(space(devices=64, global_batch=512, heads=0, fixed=fixed))
    assert plans.tensor.size == 0


def test_nothing_is_legal_where_the_batch_does_not_divide() -> None:
    assert legal_plans(space(devices=160, global_batch=8192, heads=0)).tensor.size == 0


@pytest.mark.parametrize("name", ["rts", "rts_optimizer", "sharding_ranks"])
def test_replicas_that_share_come_out_even(name: str) -> None:
    ipu = name != "sharding_ranks"
    asked = space(ipu=ipu, heads=16, fixed={name: 4.0})
    plans = legal_plans(asked)
    assert plans.tensor.size
    assert np.all(getattr(plans, name) == 4)
    assert np.all(plans.data % 4 == 0)
    assert legal_plans(replace(asked, fixed={name: 4.0, "data": 2.0})).tensor.size == 0
