"""Legal plans: each is legal, none is missing, none is there twice, none differs without effect."""

from collections.abc import Iterator
from dataclasses import fields, replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.engine.errors import TooManyPlans
from app.engine.plans import MODULES, Plans, Recompute, Sharding
from app.engine.search.enumeration import combinations, ipu_plans, phased
from app.engine.search.space import LARGEST_MICRO_BATCH, Space, layouts
from tests.engine.search.conftest import gpu_plans, ipu_spaces, rows, space, spaces

OPTIONS = (
    *("tensor", "pipeline", "data", "micro_batch", "accumulation", "interleave", "expert"),
    *("recompute", "sequence_parallel", "sharding", "sharding_ranks", "offload"),
)


@given(asked=spaces)
def test_every_plan_is_legal(asked: Space) -> None:
    plans = gpu_plans(asked)
    assert np.all(plans.devices == asked.devices)
    assert np.all(plans.global_batch == asked.global_batch)
    stages = np.ceil(asked.depth / plans.pipeline)
    assert np.all(plans.interleave <= stages)
    assert np.all(plans.micro_batch <= LARGEST_MICRO_BATCH)
    assert np.all((plans.accumulation % plans.pipeline == 0) | (plans.interleave == 1))
    assert np.all(stages % plans.interleave == 0)
    assert np.all(plans.data % plans.sharding_ranks == 0)
    assert np.all((plans.data % plans.expert == 0) & (asked.experts % plans.expert == 0))
    assert np.all((plans.pipeline == 1) | (plans.sharding <= Sharding.OPTIMIZER))
    if asked.heads:
        assert np.all(asked.heads % plans.tensor == 0)
    else:
        assert np.all(plans.tensor * plans.pipeline == 1)
    for entry in fields(Plans):
        column = getattr(plans, entry.name)
        assert column.shape == plans.tensor.shape
        whole = column == np.round(column)
        assert np.all(whole if entry.name != "recompute" else whole | (column == MODULES))


@given(asked=spaces)
def test_options_without_effect_are_left_out(asked: Space) -> None:
    plans = gpu_plans(asked)
    assert np.all((plans.interleave == 1) | (plans.pipeline > 1))
    assert np.all((plans.sequence_parallel == 0) | (plans.tensor > 1))
    assert np.all((plans.sharding == 0) | (plans.data > 1))
    assert np.all((plans.sharding_ranks == plans.data) | (plans.sharding > 0))
    assert np.all((plans.sharding_ranks > 1) | (plans.data == 1))
    if asked.fused_attention or not asked.heads:
        assert not np.any(plans.recompute == Recompute.SELECTIVE)


@given(asked=spaces)
def test_shards_lie_over_all_copies_or_inside_a_machine(asked: Space) -> None:
    plans = gpu_plans(asked)
    inside = plans.sharding_ranks * plans.tensor <= asked.devices_per_node
    assert np.all(inside | (plans.sharding_ranks == plans.data))


@given(asked=spaces)
def test_no_plan_is_there_twice(asked: Space) -> None:
    plans = gpu_plans(asked)
    assert len(set(rows(plans))) == plans.tensor.size <= combinations(asked, len(layouts(asked)))


def by_hand(asked: Space) -> Iterator[tuple[int, ...]]:
    """Every plan of a small space: the full product of all numbers, and what makes one illegal or empty."""
    devices, batch, depth, node = asked.devices, asked.global_batch, asked.depth, asked.devices_per_node
    degrees = range(1, devices + 1)
    switch = (0, 1)
    for t, p, d in product(degrees, degrees, degrees):
        if t * p * d != devices or p > depth or batch % d or asked.heads % t:
            continue
        if min(node, devices) % t and t % min(node, devices):
            continue
        for micro, v, e in product(range(1, batch // d + 1), range(1, depth + 1), range(1, d + 1)):
            if batch % (d * micro) or d % e or asked.experts % e:
                continue
            rounds = batch // (d * micro)
            if v > 1 and (p == 1 or -(-depth // p) % v or rounds % p):
                continue
            near = min(node, devices) // t
            modes = (*Recompute, *([MODULES] if asked.experts > 1 else []))
            for mode, split, stage, ranks, host in product(modes, switch, Sharding, {d, near}, switch):
                legal = not (
                    (mode == Recompute.SELECTIVE and asked.fused_attention)
                    or (split and t == 1)
                    or (stage and d == 1)
                    or (stage > Sharding.OPTIMIZER and p > 1)
                    or (ranks != d and (not stage or ranks >= d or ranks <= 1 or d % ranks))
                )
                if legal:
                    yield (t, p, d, micro, rounds, v, e, float(mode), split, int(stage), ranks, host)


@pytest.mark.parametrize(
    "changes",
    [
        {"devices": 8, "global_batch": 16, "depth": 12, "heads": 12},
        {"devices": 12, "global_batch": 24, "depth": 6, "heads": 4},
        {"devices": 16, "global_batch": 16, "depth": 8, "heads": 16},
        {"devices": 16, "global_batch": 32, "depth": 4, "heads": 8, "devices_per_node": 4, "experts": 6},
        {"devices": 8, "global_batch": 8, "depth": 4, "heads": 4, "experts": 8, "fused_attention": True},
        {"devices": 24, "global_batch": 24, "depth": 6, "heads": 24},
        {"devices": 16, "global_batch": 16, "depth": 13, "heads": 4},
    ],
)
def test_no_legal_plan_is_missing(changes: dict[str, object]) -> None:
    asked = space(**changes)
    expected = list(by_hand(asked))
    assert len(expected) == len(set(expected))
    assert set(rows(gpu_plans(asked), OPTIONS)) == set(expected)


@given(asked=spaces, draw=st.data())
def test_a_plan_given_in_part_or_whole_is_among_the_legal_ones(asked: Space, draw: st.DataObject) -> None:
    every = rows(gpu_plans(asked), OPTIONS)
    if not every:
        return
    chosen = draw.draw(st.sampled_from(every))
    values = dict(zip(OPTIONS, chosen, strict=True))
    names = draw.draw(st.sets(st.sampled_from(OPTIONS)))
    if "sharding" in names and values["sharding"] > Sharding.OPTIMIZER:
        # Full sharding alone is that over all copies.
        names.add("sharding_ranks")
    narrowed = gpu_plans(replace(asked, allowed={name: (values[name],) for name in names}))
    assert chosen in rows(narrowed, OPTIONS)
    for name in names:
        assert np.all(getattr(narrowed, name) == values[name])
    if names == set(OPTIONS):
        assert narrowed.tensor.size == 1


@given(asked=spaces, draw=st.data())
def test_several_allowed_values_keep_every_plan_that_has_them(asked: Space, draw: st.DataObject) -> None:
    plans = gpu_plans(asked)
    every = rows(plans, OPTIONS)
    if not every:
        return
    names = draw.draw(st.sets(st.sampled_from(OPTIONS), max_size=3))
    allowed = {
        name: draw.draw(st.sets(st.sampled_from(sorted(set(getattr(plans, name).tolist()))), min_size=1))
        for name in names
    }
    wanted = {name: sorted(values) for name, values in allowed.items()}
    narrowed = gpu_plans(replace(asked, allowed=wanted))
    found = rows(narrowed, OPTIONS)
    assert len(found) == len(set(found))
    for name, values in allowed.items():
        assert set(getattr(narrowed, name).tolist()) <= values
    places = {name: OPTIONS.index(name) for name in names}
    assert {row for row in every if all(row[places[name]] in allowed[name] for name in names)} <= set(found)


def test_shards_over_any_number_of_allowed_copies() -> None:
    asked = space(global_batch=64, allowed={"sharding_ranks": [2.0, 4.0, 8.0, 16.0], "sharding": [3.0]})
    plans = gpu_plans(asked)
    held = set(rows(plans, ("data", "sharding_ranks")))
    degrees = {data for data, _ in held}
    assert {16.0, 32.0, 64.0} <= degrees
    assert held == {(data, ranks) for data in degrees for ranks in (2.0, 4.0, 8.0, 16.0) if data % ranks == 0}


@pytest.mark.parametrize(
    "given_values",
    [
        {"micro_batch": [4.0], "accumulation": [1.0]},
        {"data": [64.0], "micro_batch": [8.0], "accumulation": [3.0]},
    ],
)
def test_given_fields_that_contradict_the_batch_leave_nothing(given_values: dict[str, list[float]]) -> None:
    plans = gpu_plans(space(devices=64, global_batch=512, heads=0, allowed=given_values))
    assert plans.tensor.size == 0


def test_more_plans_than_there_is_room_for_are_refused_before_they_are_made() -> None:
    asked = space(
        devices=50_400, global_batch=7_207_200, depth=5_040, heads=5_040, experts=5_040, devices_per_node=8
    )
    with pytest.raises(TooManyPlans) as refused:
        gpu_plans(asked)
    assert refused.value.field == "plan"


def test_nothing_is_legal_where_the_batch_does_not_divide() -> None:
    asked = space(devices=160, global_batch=8192, heads=0)
    assert gpu_plans(asked).tensor.size == combinations(asked, len(layouts(asked))) == 0


@given(asked=ipu_spaces)
def test_every_ipu_plan_is_legal_and_there_once(asked: Space) -> None:
    plans, enumerated = ipu_plans(asked)
    assert np.all(plans.devices == asked.devices)
    assert np.all(plans.global_batch == asked.global_batch)
    for degree in (plans.tensor, plans.pipeline, plans.data, plans.rts, plans.rts_optimizer):
        assert np.all(np.log2(degree) % 1 == 0)
    assert np.all(plans.pipeline <= asked.depth)
    assert np.all(plans.data % plans.rts == 0)
    assert np.all(plans.data % plans.rts_optimizer == 0)
    assert np.all(plans.rts <= plans.rts_optimizer)
    assert not np.any(plans.recompute == Recompute.SELECTIVE)
    assert len(set(rows(plans))) == plans.tensor.size <= enumerated


@pytest.mark.parametrize(
    ("devices", "batch", "depth", "heads"), [(4, 8, 4, 4), (8, 12, 3, 0), (16, 16, 12, 12), (64, 64, 6, 2)]
)
def test_no_legal_ipu_plan_is_missing(devices: int, batch: int, depth: int, heads: int) -> None:
    asked = space(devices=devices, global_batch=batch, depth=depth, heads=heads, ipu=True, devices_per_node=4)
    powers = [1 << power for power in range(devices.bit_length())]
    expected = {
        (t, p, d, micro, batch // (d * micro), mode, host, weights, state)
        for t, p, d, micro in product(powers, powers, powers, range(1, batch + 1))
        if t * p * d == devices and p <= depth and batch % (d * micro) == 0
        if (heads % t == 0 if heads else t == 1)
        for mode, host, weights, state in product((0, 2), (0, 1), powers, powers)
        if d % weights == 0 and state in (1, d) and weights <= state
    }
    names = ("tensor", "pipeline", "data", "micro_batch", "accumulation", "recompute", "offload")
    found = rows(ipu_plans(asked)[0], (*names, "rts", "rts_optimizer"))
    assert set(found) == expected


@pytest.mark.parametrize("name", ["rts", "rts_optimizer", "sharding_ranks"])
def test_replicas_that_share_come_out_even(name: str) -> None:
    def plans(**allowed: list[float]) -> Plans:
        asked = space(ipu=name != "sharding_ranks", allowed={name: [4.0], **allowed})
        return ipu_plans(asked)[0] if asked.ipu else gpu_plans(asked)

    found = plans()
    assert found.tensor.size
    assert np.all(getattr(found, name) == 4)
    assert np.all(found.data % 4 == 0)
    assert plans(data=[2.0]).tensor.size == 0


@given(
    least=st.lists(st.one_of(st.floats(0.5, 30.0), st.just(np.inf)), min_size=1, max_size=12),
    depth=st.integers(1, 24),
)
def test_phases_are_as_few_as_needed_or_more_and_never_more_than_layers(
    least: list[float], depth: int
) -> None:
    count = len(least)
    numbered = {name: np.arange(1.0, count + 1.0) for name in Plans.__slots__}
    plans = Plans(**{**numbered, "recompute": np.zeros(count)})
    found = phased(plans, np.array(least), depth, (1.0, 1.25, 1.5, 2.0))
    needed = np.array(least)[found.tensor.astype(int) - 1]
    assert np.all(found.phases >= needed)
    assert np.all(found.phases <= depth + 2)
    assert len(set(rows(found))) == found.tensor.size
    possible = {place + 1.0 for place, value in enumerate(least) if 1 <= value <= depth + 2}
    assert set(found.tensor.tolist()) == possible


def test_a_phase_computes_its_activations_again_whatever_a_plan_says() -> None:
    neutral = {name: np.ones(2) for name in Plans.__slots__}
    both = Plans(**{**neutral, "recompute": np.array([0.0, 2.0])})
    found = phased(both, np.array([3.0, 3.0]), 24, (1.0,))
    assert found.recompute.tolist() == [0.0]
    assert phased(both.take(np.array([1])), np.array([3.0]), 24, (1.0,)).recompute.tolist() == [2.0]


def test_of_several_allowed_values_those_without_effect_are_left_out() -> None:
    allowed = {
        "tensor": [1.0, 2.0],
        "sequence_parallel": [0.0, 1.0],
        "interleave": [1.0, 2.0],
        "sharding": [1.0, 3.0],
        "recompute": [1.0, 2.0],
    }
    plans = gpu_plans(space(allowed=allowed, fused_attention=True))
    assert np.all(plans.sequence_parallel[plans.tensor == 1] == 0)
    assert np.all(plans.interleave[plans.pipeline == 1] == 1)
    assert np.all(plans.sharding[plans.pipeline > 1] == 1)
    assert np.all(plans.recompute == 2)
    assert {0.0, 1.0} == set(plans.sequence_parallel[plans.tensor == 2].tolist())
