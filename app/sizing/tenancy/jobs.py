"""Jobs of teams at random: when they come and how long they take, the same for every number of machines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from app.engine.records import Floats

SPARE = 6.0
"""Standard deviations of a Poisson count that are drawn ahead."""


@dataclass(frozen=True, slots=True)
class Interruptions:
    """What failing machines cost a job."""

    rate: float
    """Failures of one machine. [1/s]"""
    lost: float
    """Work and time lost by one: half a checkpoint interval and the restart. [s]"""


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
    held: int
    """Accelerators it keeps others from: whole nodes where it takes several."""
    machines: int
    """Machines whose failures interrupt it."""

    @property
    def squared_variation(self) -> float:
        """Variance of the duration over its squared mean."""
        if self.distribution == "fixed":
            return 0.0
        return 1.0 if self.deviation is None else (self.deviation / self.mean) ** 2


@dataclass(frozen=True, slots=True)
class JobSequence:
    """Jobs of one run in the order they come."""

    arrival: Floats
    duration: Floats
    stream: npt.NDArray[np.int64]
    """Which stream each is of."""


def draw(
    streams: Sequence[Stream], horizon: float, seed: tuple[int, int], broken: Interruptions | None
) -> JobSequence:
    """Draw the jobs of one run: Poisson arrivals, durations of each stream, interruptions within them.

    Each stream has random numbers of its own, so that a change to one leaves the others as they were.
    """
    arrivals, durations = [], []
    for index, stream in enumerate(streams):
        random = np.random.default_rng((*seed, index))
        came = poisson_times(random, stream.rate, horizon)
        took = durations_of(random, stream, len(came))
        if broken is not None:
            failures = random.poisson(took * stream.machines * broken.rate)
            took = took + failures * broken.lost
        arrivals.append(came)
        durations.append(took)
    arrival = np.concatenate(arrivals)
    order = np.argsort(arrival, kind="stable")
    owner = np.repeat(np.arange(len(streams)), [len(one) for one in arrivals])
    return JobSequence(arrival[order], np.concatenate(durations)[order], owner[order])


def poisson_times(random: np.random.Generator, rate: float, horizon: float) -> Floats:
    """Return the times of a Poisson process up to the horizon."""
    expected = rate * horizon
    ahead = int(expected + SPARE * np.sqrt(expected) + SPARE)
    times = np.cumsum(random.exponential(1.0 / rate, ahead))
    while times[-1] < horizon:
        times = np.concatenate([times, times[-1] + np.cumsum(random.exponential(1.0 / rate, ahead))])
    return times[times < horizon]


def durations_of(random: np.random.Generator, stream: Stream, count: int) -> Floats:
    """Return durations of a stream."""
    if stream.distribution == "fixed":
        return np.full(count, stream.mean)
    if stream.distribution == "exponential":
        return random.exponential(stream.mean, count)
    spread = np.sqrt(np.log1p(stream.squared_variation))
    return random.lognormal(np.log(stream.mean) - spread**2 / 2.0, spread, count)
