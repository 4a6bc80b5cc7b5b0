"""Degrees and micro-batches: all that divide, none that do not."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.engine.search.space import (
    LARGEST_MICRO_BATCH,
    Space,
    divisors,
    layouts,
    pipeline_degrees,
    tensor_degrees,
)
from tests.engine.search.conftest import ipu_spaces, space, spaces


@given(number=st.integers(1, 100_000))
def test_divisors_are_all_there_and_rise(number: int) -> None:
    found = divisors(number)
    assert found == sorted(set(found))
    assert all(number % value == 0 for value in found)
    assert [number // value for value in reversed(found)] == found


@given(asked=spaces)
def test_tensor_groups_lie_in_one_machine_or_fill_whole_ones(asked: Space) -> None:
    """Machines are filled in order, so that a group starts at a multiple of its size."""
    for tensor in tensor_degrees(asked):
        for group in range(asked.devices // tensor):
            machines = [device // 8 for device in range(group * tensor, (group + 1) * tensor)]
            whole = all(machines.count(machine) == 8 for machine in machines)
            assert len(set(machines)) == 1 or whole or asked.devices < 8


@pytest.mark.parametrize(
    ("changes", "degrees"),
    [
        ({"heads": 96, "devices": 256}, [1, 2, 4, 8, 16, 32]),
        ({"heads": 96, "devices": 48}, [1, 2, 4, 8, 16, 24, 48]),
        ({"heads": 12, "devices": 6}, [1, 2, 3, 6]),
        ({"heads": 12, "ipu": True}, [1, 2, 4]),
        ({"heads": 0}, [1]),
        ({"heads": 25}, [1]),
        ({"heads": 16, "devices": 48, "allowed": {"tensor": [2.0, 3.0, 5.0, 8.0]}}, [2, 8]),
        ({"heads": 0, "allowed": {"tensor": [1.0, 2.0]}}, [1]),
    ],
)
def test_tensor_degrees_divide_the_heads(changes: dict[str, object], degrees: list[int]) -> None:
    assert tensor_degrees(space(**changes)) == degrees


@pytest.mark.parametrize(
    ("changes", "degrees"),
    [
        ({"depth": 6}, [1, 2, 4]),
        ({"depth": 1}, [1]),
        ({"devices": 24, "depth": 24}, [1, 2, 3, 4, 6, 12]),
        ({"devices": 48, "depth": 24, "ipu": True}, [1, 2, 4, 8]),
        ({"heads": 0}, [1]),
        ({"heads": 0, "ipu": True}, [1, 2, 4, 8, 16]),
        ({"heads": 0, "allowed": {"pipeline": [4.0, 5.0]}}, [4]),
        ({"depth": 6, "allowed": {"pipeline": [2.0, 8.0]}}, [2]),
    ],
)
def test_pipelines_have_at_most_one_stage_a_layer(changes: dict[str, object], degrees: list[int]) -> None:
    assert pipeline_degrees(space(**changes), 1 if changes.get("heads") == 0 else 2) == degrees


def rows(asked: Space) -> list[tuple[int, ...]]:
    """Return tensor, pipeline and data degree, micro-batch and rounds of every layout."""
    return [tuple(map(int, row)) for row in layouts(asked)]


def micro_batches(share: int, **allowed: list[float]) -> list[int]:
    """Return the micro-batches of a single copy with so many samples."""
    return [row[3] for row in rows(space(devices=1, heads=0, global_batch=share, allowed=allowed))]


@given(share=st.integers(1, 4096))
def test_micro_batches_divide_the_samples_of_a_copy(share: int) -> None:
    found = micro_batches(share)
    assert found == [value for value in range(1, LARGEST_MICRO_BATCH + 1) if share % value == 0]


def test_a_micro_batch_that_is_asked_for_may_be_larger_than_those_that_are_tried() -> None:
    large = 4.0 * LARGEST_MICRO_BATCH
    assert micro_batches(int(2 * large), micro_batch=[large, 3.0]) == [int(large)]


@given(asked=st.one_of(spaces, ipu_spaces))
def test_layouts_use_all_devices_and_the_whole_batch_once(asked: Space) -> None:
    found = rows(asked)
    assert len(found) == len(set(found))
    for tensor, pipeline, data, micro_batch, accumulation, _ in found:
        assert tensor * pipeline * data == asked.devices
        assert asked.global_batch == data * micro_batch * accumulation


@given(asked=spaces, draw=st.data())
def test_allowed_values_keep_what_has_them_and_nothing_else(asked: Space, draw: st.DataObject) -> None:
    every = rows(asked)
    names = ("tensor", "pipeline", "data", "micro_batch") if every else ()
    allowed = {
        name: draw.draw(
            st.lists(st.sampled_from(sorted({row[place] for row in every})), min_size=1, unique=True)
        )
        for place, name in enumerate(names)
    }
    kept = [
        row for row in every if all(value in allowed[name] for name, value in zip(names, row, strict=False))
    ]
    assert sorted(rows(replace(asked, allowed=allowed))) == sorted(kept)
