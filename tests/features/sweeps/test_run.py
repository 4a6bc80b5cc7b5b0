"""Running a sweep: every point exactly once, whatever happens to the workers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from app.estimating.context import SizingContext
from app.features.sweeps.run import CHUNK_POINTS, WorkerFailure, run_sweep
from tests.conftest import sizing_context
from tests.support.sweeping import Threads, computed, sweep, wide


def positions(rows: Sequence[object]) -> list[int]:
    return sorted(row.position for row in rows)  # type: ignore[attr-defined]


def test_every_point_comes_once() -> None:
    crew = Threads()
    assert positions(computed(wide(37), crew)) == list(range(37))
    assert crew.closed


def test_points_that_are_done_are_not_computed_again() -> None:
    asked = wide(20)
    done = {point.key for point in asked.points() if point.position % 3}
    assert positions(computed(asked, Threads(), done)) == list(range(0, 20, 3))
    assert computed(asked, Threads(), {point.key for point in asked.points()}) == []


def test_chunks_lost_with_a_worker_come_again() -> None:
    deaths = iter([False, True, False, False, True])
    crew = Threads(kills=lambda chunk: next(deaths, False))
    assert positions(computed(wide(40), crew)) == list(range(40))
    assert crew.renewed == 2


def test_a_point_that_kills_its_worker_gets_a_row_that_says_so() -> None:
    crew = Threads(kills=lambda chunk: 13 in chunk)
    rows = computed(wide(30), crew)
    assert positions(rows) == list(range(30))
    (row,) = [row for row in rows if row.problem]
    assert row.position == 13
    assert row.problem is not None and "3" in row.problem.message


def test_workers_that_die_whatever_they_do_end_the_sweep() -> None:
    crew = Threads(kills=lambda chunk: True)
    with pytest.raises(WorkerFailure, match="keep crashing"):
        computed(wide(100), crew)
    assert crew.closed


def test_workers_that_cannot_compute_say_why() -> None:
    contexts = iter([sizing_context()])

    def make_context() -> SizingContext:
        """Return the catalogue to whoever asks first; workers have none."""
        for found in contexts:
            return found
        raise ModuleNotFoundError("No module named 'app'")

    with pytest.raises(WorkerFailure, match="ModuleNotFoundError"):
        list(run_sweep(sweep().points(), make_context, Threads()))


def test_cancelling_stops_between_chunks() -> None:
    crew = Threads(workers=1)
    found: list[int] = []
    for rows in run_sweep(
        wide(400).points(), sizing_context, crew, cancelled=lambda: len(found) >= CHUNK_POINTS
    ):
        found.extend(row.position for row in rows)
    assert CHUNK_POINTS <= len(found) < 400
    assert crew.closed


def test_points_are_read_as_they_are_needed() -> None:
    read: list[int] = []

    def points():  # type: ignore[no-untyped-def]
        for point in wide(400).points():
            read.append(point.position)
            yield point

    next(run := run_sweep(points(), sizing_context, Threads(workers=2)))
    assert len(read) <= 5 * CHUNK_POINTS
    run.close()


def test_workers_of_another_version_are_refused() -> None:
    contexts: list[SizingContext] = []

    def make_context() -> SizingContext:
        """Return the catalogue, another version of it to everyone but the first who asks."""
        found = sizing_context()
        if contexts:
            found = replace(found, catalog=replace(found.catalog, version="other"))
        contexts.append(found)
        return found

    with pytest.raises(WorkerFailure, match="catalogue other"):
        list(run_sweep(sweep().points(), make_context, Threads()))
