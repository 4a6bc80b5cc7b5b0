"""Streams of jobs of a request: sizes, durations, and the time lost to failures."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from app.catalog.catalog import Catalog
from app.catalog.entries import ChipKind
from app.engine.partition import (
    BuddyPool,
    NodePool,
    Pool,
    is_partition_size,
    nearest_partition_sizes,
    session_parts,
)
from app.engine.records import Floats
from app.engine.units import DAY, HOUR, MONTH
from app.errors import BadInput, Conflict
from app.estimating.documents import Estimate
from app.features.tenancy.model import MOST_COUNT, MOST_DEVICES, QueueRequest, TeamLoad
from app.features.tenancy.site import Site, enough, hint, refusal

MOST_JOBS = 50_000
"""Jobs of one run."""

WARM_UP = 0.25
"""Time simulated before a run is counted, over the length of the run."""

SPARE = 6.0
"""Standard deviations above the expected count of arrivals that are drawn at once."""


@dataclass(frozen=True, slots=True)
class Interruptions:
    """Rate of machine failures, and the time each costs a job."""

    rate: float
    """Failures of one machine. [1/s]"""
    lost: float
    """Time lost per failure: half a checkpoint interval and the restart. [s]"""


@dataclass(frozen=True, slots=True)
class Stream:
    """Jobs of one team."""

    team: str
    rate: float
    """Arrivals. [1/s]"""
    mean: float
    """Mean duration. [s]"""
    deviation: float | None
    """Standard deviation of a lognormal duration. [s]"""
    distribution: str
    devices: int
    occupied: int
    """Accelerators that a job occupies: whole nodes where it takes several."""
    machines: int
    """Machines whose failures interrupt it."""


@dataclass(frozen=True, slots=True)
class JobSequence:
    """Jobs of one run in order of arrival."""

    arrival: Floats
    duration: Floats
    stream: npt.NDArray[np.int64]
    """Index of the stream of each job."""


def draw(
    streams: Sequence[Stream], horizon: float, seed: tuple[int, int], failures: Interruptions | None
) -> JobSequence:
    """Return the jobs of one run: Poisson arrivals, and durations with the time lost to failures.

    Each stream has its own random numbers, so that a change to one leaves the others unchanged.
    """
    arrivals, durations = [], []
    for index, stream in enumerate(streams):
        random = np.random.default_rng((*seed, index))
        arrival = poisson_times(random, stream.rate, horizon)
        duration = durations_of(random, stream, len(arrival))
        if failures is not None:
            duration += random.poisson(duration * stream.machines * failures.rate) * failures.lost
        arrivals.append(arrival)
        durations.append(duration)
    times = np.concatenate(arrivals)
    order = np.argsort(times, kind="stable")
    owner = np.repeat(np.arange(len(streams)), [len(arrival) for arrival in arrivals])
    return JobSequence(times[order], np.concatenate(durations)[order], owner[order])


def poisson_times(random: np.random.Generator, rate: float, horizon: float) -> Floats:
    expected = rate * horizon
    count = int(expected + SPARE * np.sqrt(expected) + SPARE)
    times = np.cumsum(random.exponential(1.0 / rate, count))
    while times[-1] < horizon:
        times = np.concatenate([times, times[-1] + np.cumsum(random.exponential(1.0 / rate, count))])
    return times[times < horizon]


def durations_of(random: np.random.Generator, stream: Stream, count: int) -> Floats:
    if stream.distribution == "fixed":
        return np.full(count, stream.mean)
    if stream.distribution == "exponential":
        return random.exponential(stream.mean, count)
    spread = np.sqrt(np.log1p(((stream.deviation or 0.0) / stream.mean) ** 2))
    return random.lognormal(np.log(stream.mean) - spread**2 / 2.0, spread, count)


def path(index: int, name: str) -> str:
    return f"teams.{index}.{name}"


def streams_of(request: QueueRequest, site: Site, estimates: Mapping[int, Estimate]) -> list[Stream]:
    streams = [stream_of(index, team, site, estimates.get(index)) for index, team in enumerate(request.teams)]
    expected = sum(stream.rate for stream in streams) * (1.0 + WARM_UP) * request.days * DAY
    if expected > MOST_JOBS:
        raise BadInput.at(
            "days",
            "about {expected} jobs including the warm-up; at most {most} are simulated: "
            "shorten the run to {days} days, or leave out small jobs",
            expected=round(expected),
            most=MOST_JOBS,
            days=math.floor(request.days * MOST_JOBS / expected),
        )
    for index, stream in enumerate(streams):
        check_size(index, stream, request, site)
    return streams


def stream_of(index: int, team: TeamLoad, site: Site, estimate: Estimate | None) -> Stream:
    """Return the jobs of one team; omitted fields come from its estimate."""
    hours, devices, deviation = team.hours, team.devices, team.hours_deviation
    if estimate is not None:
        trained = training_hours(index, estimate, site)
        hours = trained if hours is None else hours
        devices = estimate.system.devices if devices is None else devices
    if hours is None or devices is None:
        name = "hours" if hours is None else "devices"
        raise BadInput.at(path(index, name), "enter a value, or an estimate that provides it")
    if deviation is not None and team.distribution not in (None, "lognormal"):
        raise BadInput.at(
            path(index, "hours_deviation"),
            "a standard deviation applies only to the lognormal distribution; leave it empty "
            "for {distribution}",
            distribution=team.distribution,
        )
    if team.distribution == "lognormal" and deviation is None:
        raise BadInput.at(
            path(index, "hours_deviation"), "a lognormal distribution needs a standard deviation"
        )
    default = "exponential" if deviation is None else "lognormal"
    nodes = -(-devices // site.size)
    return Stream(
        team=team.team,
        rate=team.jobs_per_month / MONTH,
        mean=hours * HOUR,
        deviation=None if deviation is None else deviation * HOUR,
        distribution=team.distribution or default,
        devices=devices,
        occupied=devices if site.ipus or nodes == 1 else nodes * site.size,
        # The time to train of an estimate already includes failures.
        machines=0 if team.hours is None else -(-devices // site.entry.machine.devices),
    )


def training_hours(index: int, estimate: Estimate, site: Site) -> float:
    """Return the time to train of an estimate, which must be one of this system. [h]"""
    if estimate.time_to_train is None:
        raise Conflict.at(
            path(index, "estimate_id"), "this estimate has no training time: its plan does not fit in memory"
        )
    if estimate.system.chip != site.entry.machine.chip.id:
        raise Conflict.at(
            path(index, "estimate_id"),
            "this estimate is for {other}, but {system} does not have its chip; estimate this system first",
            other=estimate.system.name,
            system=site.entry.name,
        )
    return estimate.time_to_train.value / HOUR


def check_size(index: int, stream: Stream, request: QueueRequest, site: Site) -> None:
    """Refuse jobs of a size that can never be placed."""
    field = path(index, "devices")
    values: dict[str, Any] = {"team": stream.team, "asked": stream.devices, "system": site.entry.name}
    if stream.occupied > site.devices:
        template = "a job of {team} needs {asked} accelerators, but {count} × {system} has {available}"
        error = hint(field, template, **values, count=request.count, available=site.devices)
        raise refusal(error, enough(-(-stream.occupied // site.entry.devices), site))
    if not site.ipus or session_parts(stream.devices, site.size, site.pods) is not None:
        return
    below, above = (int(size) for size in nearest_partition_sizes(stream.devices, site.size))
    if bool(is_partition_size(stream.devices)) or below == above:
        template = (
            "a job of {team} needs {asked} IPUs, which cannot be split into equal partitions "
            "over pods of {size}"
        )
        error = hint(field, template, **values, size=site.size)
        raise refusal(error, hint(field, "use {below} instead", below=below))
    raise Conflict.at(
        field,
        "a job of {team} needs {asked} IPUs, but partition sizes are powers of two; the "
        "nearest allowed sizes are {below} and {above}",
        **values,
        below=below,
        above=above,
    )


def pool_of(site: Site) -> Pool:
    return BuddyPool(site.pods, site.size) if site.ipus else NodePool(site.pods, site.size)


def least_count(streams: Sequence[Stream], site: Site) -> int:
    """Return the fewest systems that fit each job and keep up with the load."""
    load = busy_devices(streams) / site.entry.devices
    count = max(1, math.floor(load) + 1, *(-(-stream.occupied // site.entry.devices) for stream in streams))
    if site.ipus:
        # Each partition of a session is on a different pod.
        while any(session_parts(stream.devices, site.size, count) is None for stream in streams):
            count += 1
    return count


def most_count(site: Site) -> int:
    return min(MOST_COUNT, MOST_DEVICES // site.entry.devices)


def busy_devices(streams: Sequence[Stream]) -> float:
    return sum(stream.rate * stream.mean * stream.occupied for stream in streams)


def interruptions(request: QueueRequest, site: Site, catalog: Catalog) -> Interruptions | None:
    """Return the rate and cost of failures from the catalogue; None where they are not simulated."""
    if not request.failures:
        return None
    defaults = catalog.reliability_defaults(site.entry.machine.chip.kind)
    # No checkpoint interval is published for IPUs; that of GPUs is assumed.
    interval = defaults.checkpoint_interval or catalog.reliability_defaults(ChipKind.GPU).checkpoint_interval
    half = 0.0 if interval is None else interval.si / 2.0
    return Interruptions(rate=defaults.failure_rate.si, lost=half + defaults.restart.si)
