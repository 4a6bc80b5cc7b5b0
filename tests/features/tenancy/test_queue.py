"""A simulated line: against the closed form, the same for the same seed, shorter with more machines."""

from typing import Any

import numpy as np
import pytest

from app.catalog.catalog import Catalog, load_catalog
from app.engine.partition import BuddyPool, NodePool
from app.engine.queueing import mean_wait, wait_percentile
from app.engine.units import DAY, HOUR, MONTH
from app.errors import AppError, BadInput, Conflict
from app.features.tenancy.jobs import Interruptions, JobSequence, Stream, draw
from app.features.tenancy.model import QueueAnswer, QueueRequest
from app.features.tenancy.queue import QueueRun, busy, run_line, simulate, waiting
from tests.conftest import DATA

DGX = "dgx-a100-640gb"


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return load_catalog(DATA)


def stream(per_month: float, devices: int, hours: float, distribution: str = "exponential") -> Stream:
    return Stream("A", per_month / MONTH, hours * HOUR, None, distribution, devices, devices, 1)


def ask(catalog: Catalog, teams: list[dict[str, Any]], system: str = DGX, **more: Any) -> QueueAnswer:
    named = [{"team": chr(65 + at)} | one for at, one in enumerate(teams)]
    return simulate(QueueRequest.model_validate({"system": system, "teams": named} | more), catalog, {})


def test_four_nodes_are_four_servers() -> None:
    """Ten years of one-node jobs wait as Erlang's formula says; Little's law holds within a hundredth."""
    one, horizon = stream(60, 8, 36), 10 * 365 * DAY
    runs = [run_line(draw([one], horizon, (3, run), None), [one], NodePool(4, 8), "fifo") for run in range(8)]
    waits = [float(np.mean(run.wait)) for run in runs]
    exact = float(mean_wait(one.rate, one.mean, 4))
    error = np.std(waits, ddof=1) / np.sqrt(len(waits))
    assert abs(np.mean(waits) - exact) < 3.0 * error + 0.01 * exact
    ninetieth = np.mean([np.percentile(run.wait, 90) for run in runs])
    assert ninetieth == pytest.approx(float(wait_percentile(one.rate, one.mean, 4, 0.9)), rel=0.1)
    lengths = [float(waiting(run, np.array([0.0, horizon]))[0]) for run in runs]
    arrived = [len(run.wait) / horizon for run in runs]
    assert lengths == pytest.approx(np.multiply(arrived, waits), rel=0.01)
    load = np.mean([busy(run, [one], 32, np.array([0.0, horizon]))[0] for run in runs])
    assert load == pytest.approx(one.rate * one.mean / 4, rel=0.03)


def test_the_closed_form_stands_beside_a_line_it_holds_for(catalog: Catalog) -> None:
    found = ask(catalog, [{"jobs_per_month": 40, "devices": 8, "hours": 48}], count=4)
    assert found.closed_form is not None and found.closed_form.servers == 4
    wait = found.teams[0].mean_wait
    assert wait.low <= found.closed_form.mean_wait <= wait.high
    assert (
        ask(
            catalog, [{"jobs_per_month": 40, "devices": 8, "hours": 48}], count=4, discipline="fair"
        ).closed_form
        is None
    )


def test_the_same_seed_gives_the_same_answer(catalog: Catalog) -> None:
    teams = [
        {"jobs_per_month": 30, "devices": 4, "hours": 20},
        {"jobs_per_month": 5, "devices": 16, "hours": 40},
    ]
    first = ask(catalog, teams, count=3, seed=5, days=120)
    assert first == ask(catalog, teams, count=3, seed=5, days=120)
    assert first.teams != ask(catalog, teams, count=3, seed=6, days=120).teams


@pytest.mark.parametrize("discipline", ["fifo", "backfill", "fair"])
@pytest.mark.parametrize("system", [DGX, "bow-pod64"])
def test_more_machines_wait_less(catalog: Catalog, discipline: str, system: str) -> None:
    teams = [
        {"jobs_per_month": 60, "devices": 16, "hours": 24},
        {"jobs_per_month": 90, "devices": 4, "hours": 10},
    ]
    found = ask(catalog, teams, system=system, count=4, discipline=discipline, days=180, target_wait_hours=6)
    waits = [point.worst_wait.value for point in found.by_count]
    assert waits == sorted(waits, reverse=True)
    assert found.machines_needed is not None
    for point in found.by_count:
        assert point.meets == (point.count >= found.machines_needed)
    assert [point.count for point in found.by_count] == sorted({point.count for point in found.by_count})
    assert all(one.mean_wait.low <= one.mean_wait.value <= one.mean_wait.high for one in found.teams)


def run_of(discipline: str, pool: NodePool | BuddyPool, *jobs: tuple[float, float, int]) -> list[float]:
    """Return when jobs of (arrival, duration, devices) begin; each is of a team of its own."""
    streams = [
        Stream(str(at), 1.0, 1.0, None, "fixed", devices, devices, 1)
        for at, (_, _, devices) in enumerate(jobs)
    ]
    drawn = JobSequence(
        np.array([one[0] for one in jobs]),
        np.array([one[1] for one in jobs]),
        np.arange(len(jobs), dtype=np.int64),
    )
    return run_line(drawn, streams, pool, discipline).start.tolist()


def test_a_short_job_passes_where_it_delays_nobody() -> None:
    jobs = [(0.0, 10.0, 4), (1.0, 5.0, 8), (2.0, 8.0, 4), (3.0, 9.0, 4)]
    assert run_of("fifo", NodePool(1, 8), *jobs) == [0.0, 10.0, 15.0, 15.0]
    assert run_of("backfill", NodePool(1, 8), *jobs) == [0.0, 10.0, 2.0, 15.0]


def test_the_team_that_has_used_least_is_first() -> None:
    streams = [Stream(name, 1.0, 1.0, None, "fixed", 8, 8, 1) for name in "AB"]
    drawn = JobSequence(
        np.array([0.0, 1.0, 2.0, 3.0]), np.full(4, 10.0), np.array([0, 0, 0, 1], dtype=np.int64)
    )
    start = run_line(drawn, streams, NodePool(1, 8), "fair").start.tolist()
    # A's second job was already first when B came; its third lets B go ahead.
    assert start == [0.0, 10.0, 30.0, 20.0]
    assert run_line(drawn, streams, NodePool(1, 8), "fifo").start.tolist() == [0.0, 10.0, 20.0, 30.0]


def test_ipus_wait_for_a_block_and_not_only_for_their_number() -> None:
    jobs = [(0.0, 10.0, 16), (0.0, 20.0, 8), (0.0, 10.0, 8), (0.0, 20.0, 16), (0.0, 20.0, 16), (1.0, 1.0, 32)]
    assert run_of("fifo", BuddyPool(1, 64), *jobs)[-1] == 20.0


def test_nobody_holds_more_than_there_is() -> None:
    streams = [stream(300, 4, 20), stream(60, 16, 30), stream(500, 1, 8)]
    for discipline in ("fifo", "backfill", "fair"):
        run = run_line(draw(streams, 60 * DAY, (1, 0), None), streams, BuddyPool(1, 64), discipline)
        assert not np.isnan(run.start).any() and (run.wait >= 0).all()
        held = np.array([4, 16, 1])[run.jobs.stream]
        moments = np.concatenate([run.start, run.end])
        changes = np.concatenate([held, -held])
        order = np.lexsort((changes, moments))
        assert np.cumsum(changes[order]).max() <= 64


def test_durations_have_the_mean_and_deviation_asked_for() -> None:
    one = Stream("A", 50_000 / MONTH, 20 * HOUR, 30 * HOUR, "lognormal", 1, 1, 1)
    drawn = draw([one], MONTH, (1, 0), None)
    assert np.mean(drawn.duration) == pytest.approx(20 * HOUR, rel=0.03)
    assert np.std(drawn.duration) == pytest.approx(30 * HOUR, rel=0.1)
    assert len(drawn.arrival) == pytest.approx(50_000, rel=0.02)
    assert (np.diff(drawn.arrival) >= 0).all()
    assert (draw([stream(100, 1, 5, "fixed")], MONTH, (1, 0), None).duration == 5 * HOUR).all()


def test_failures_lengthen_jobs() -> None:
    one = Stream("A", 10_000 / MONTH, 100 * HOUR, None, "fixed", 8, 8, 1)
    broken = draw([one], MONTH, (1, 0), Interruptions(rate=1 / (50 * HOUR), lost=HOUR))
    assert np.mean(broken.duration) == pytest.approx(102 * HOUR, rel=0.01)


def test_failures_are_those_of_the_catalogue(catalog: Catalog) -> None:
    teams = [{"jobs_per_month": 30, "devices": 16, "hours": 60}]
    sure, broken = (ask(catalog, teams, count=4, days=90, failures=failures) for failures in (False, True))
    assert sure.failures_per_1000_node_days is None
    assert broken.failures_per_1000_node_days == pytest.approx(22.0)
    assert broken.utilisation.value > sure.utilisation.value


def test_too_much_work_is_told(catalog: Catalog) -> None:
    found = ask(catalog, [{"jobs_per_month": 60, "devices": 8, "hours": 48}], count=2, days=90)
    assert {one.code: one.severity for one in found.warnings}["queue_overloaded"] == "serious"
    assert not found.meets and (found.machines_needed or 0) > 3
    near = ask(catalog, [{"jobs_per_month": 14, "devices": 8, "hours": 48}], days=90)
    assert "queue_near_full" in {one.code for one in near.warnings}


def test_whole_nodes_count_in_full(catalog: Catalog) -> None:
    found = ask(catalog, [{"jobs_per_month": 2, "devices": 12, "hours": 30}], count=2, days=60)
    assert found.offered_load == pytest.approx(16 * 2 * 30 / (24 * 30.4375))
    assert {"whole_nodes", "queue_few_jobs"} <= {one.code for one in found.warnings}


def test_sessions_wait_for_pods_of_their_own(catalog: Catalog) -> None:
    found = ask(
        catalog, [{"jobs_per_month": 10, "devices": 128, "hours": 20}], system="bow-pod64", count=2, days=60
    )
    assert "session_spans_pods" in {one.code for one in found.warnings}
    assert min(point.count for point in found.by_count) == 2


@pytest.mark.parametrize(
    ("team", "more", "kind", "field"),
    [
        ({"devices": 12}, {"system": "bow-pod64"}, Conflict, "teams.0.devices"),
        ({"devices": 128}, {"system": "bow-pod64"}, Conflict, "teams.0.devices"),
        ({"devices": 16}, {}, Conflict, "teams.0.devices"),
        ({"jobs_per_month": 90_000}, {}, BadInput, "days"),
        ({"hours": None}, {}, BadInput, "teams.0.hours"),
        ({"devices": None}, {}, BadInput, "teams.0.devices"),
        ({"hours_deviation": 5, "distribution": "fixed"}, {}, BadInput, "teams.0.hours_deviation"),
        ({"distribution": "lognormal"}, {}, BadInput, "teams.0.hours_deviation"),
    ],
)
def test_refusals_stand_at_their_field(
    catalog: Catalog, team: dict[str, Any], more: dict[str, Any], kind: type[AppError], field: str
) -> None:
    with pytest.raises(kind) as raised:
        ask(catalog, [{"jobs_per_month": 10, "devices": 8, "hours": 10} | team], **more)
    assert raised.value.errors[0].field == field


def test_a_run_has_waits_of_its_own() -> None:
    ran = QueueRun(
        JobSequence(np.array([1.0]), np.array([3.0]), np.array([0], dtype=np.int64)), np.array([2.0])
    )
    assert (ran.wait.tolist(), ran.end.tolist()) == ([1.0], [5.0])
