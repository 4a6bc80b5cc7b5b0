"""From a request to streams of jobs: sizes a system can place, durations, what failures cost."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from app.catalog import Catalog, ChipKind
from app.engine.partition import is_partition_size, nearest_partition_sizes, session_parts
from app.engine.pools import BuddyPool, NodePool, Pool
from app.engine.units import DAY, HOUR, MONTH
from app.errors import BadInput, Conflict, Message
from app.sizing.document import Estimate
from app.sizing.tenancy.jobs import Interruptions, Stream
from app.sizing.tenancy.request import MOST_COUNT, MOST_DEVICES, QueueRequest, TeamLoad
from app.sizing.tenancy.room import Site, conflict

MOST_JOBS = 50_000
"""Jobs of one run."""
WARM_UP = 0.25
"""Time simulated before a run is counted, over the length of the run."""


def path(index: int, name: str) -> str:
    """Return the place of a field of one team."""
    return f"teams.{index}.{name}"


def streams_of(request: QueueRequest, site: Site, estimates: Mapping[int, Estimate]) -> list[Stream]:
    """Return the jobs of each team as they will be placed."""
    found = [stream_of(index, one, site, estimates.get(index)) for index, one in enumerate(request.teams)]
    horizon = (1.0 + WARM_UP) * request.days * DAY
    expected = sum(one.rate for one in found) * horizon
    if expected > MOST_JOBS:
        raise BadInput.at(
            "days",
            "some {expected} jobs, with those before the run is counted; at most {most} are simulated: "
            "shorten the run to {days} days, or leave small jobs out",
            expected=round(expected),
            most=MOST_JOBS,
            days=math.floor(request.days * MOST_JOBS / expected),
        )
    for index, one in enumerate(found):
        check_size(index, one, request, site)
    return found


def stream_of(index: int, one: TeamLoad, site: Site, estimate: Estimate | None) -> Stream:
    """Return the jobs of one team; what is left out comes from its estimate."""
    hours, devices = one.hours, one.devices
    if estimate is not None:
        fits_system(index, estimate, site)
        if hours is None:
            assert estimate.time_to_train is not None, "an estimate that does not fit is refused"
            hours = estimate.time_to_train.value / HOUR
        devices = estimate.system.devices if devices is None else devices
    if hours is None or devices is None:
        name = "hours" if hours is None else "devices"
        raise BadInput.at(path(index, name), "give it, or an estimate that says it")
    if one.hours_deviation is not None and one.distribution not in (None, "lognormal"):
        raise BadInput.at(
            path(index, "hours_deviation"),
            "a deviation belongs to the lognormal distribution; leave it out for {distribution}",
            distribution=one.distribution,
        )
    if one.distribution == "lognormal" and one.hours_deviation is None:
        raise BadInput.at(path(index, "hours_deviation"), "a lognormal distribution needs its deviation")
    usual = "exponential" if one.hours_deviation is None else "lognormal"
    nodes = -(-devices // site.size)
    # The time of an estimate has its failures in it.
    stated = one.hours is not None
    machines = -(-devices // site.entry.devices_per_machine) if stated else 0
    return Stream(
        team=one.team,
        rate=one.jobs_per_month / MONTH,
        mean=hours * HOUR,
        deviation=None if one.hours_deviation is None else one.hours_deviation * HOUR,
        distribution=one.distribution or usual,
        devices=devices,
        held=devices if site.ipus or nodes == 1 else nodes * site.size,
        machines=machines,
    )


def fits_system(index: int, estimate: Estimate, site: Site) -> None:
    """Refuse an estimate that says nothing of this system."""
    if estimate.time_to_train is None:
        raise Conflict.at(
            path(index, "estimate_id"), "this estimate has no time to train: its plan does not fit the memory"
        )
    if estimate.system.chip != site.entry.chip:
        raise Conflict.at(
            path(index, "estimate_id"),
            "this estimate is of {other}, whose chip {system} does not have; estimate it there first",
            other=estimate.system.name,
            system=site.entry.name,
        )


def check_size(index: int, stream: Stream, request: QueueRequest, site: Site) -> None:
    """Refuse jobs of a size that can never be placed."""
    values: dict[str, object] = {"team": stream.team, "asked": stream.devices, "system": site.entry.name}
    if stream.held > site.devices:
        message = Message(
            "a job of {team} takes {asked} accelerators; {count} × {system} has {available}",
            values | {"count": request.count, "available": site.devices},
        )
        needed = -(-stream.held // site.entry.devices)
        hint = Message("{needed} × {system} would hold it", values | {"needed": needed})
        raise _refused(index, message, ("count", hint))
    if not site.ipus or session_parts(stream.devices, site.size, site.pods) is not None:
        return
    below, above = (int(size) for size in nearest_partition_sizes(stream.devices, site.size))
    if bool(is_partition_size(stream.devices)) or below == above:
        message = Message(
            "a job of {team} takes {asked} IPUs, which do not divide into equal partitions over pods of "
            "{size}",
            values | {"size": site.size},
        )
        raise _refused(
            index, message, (path(index, "devices"), Message("{below} would do", {"below": below}))
        )
    message = Message(
        "a job of {team} takes {asked} IPUs; the size of a partition is a power of two: the nearest sizes "
        "allowed are {below} and {above}",
        values | {"below": below, "above": above},
    )
    raise _refused(index, message)


def _refused(index: int, message: Message, *hints: tuple[str, Message]) -> Conflict:
    return conflict(message, path(index, "devices"), hints)


def pool_of(site: Site) -> Pool:
    """Return the empty devices of a system."""
    return BuddyPool(site.pods, site.size) if site.ipus else NodePool(site.pods, site.size)


def least_count(streams: Sequence[Stream], site: Site) -> int:
    """Return the fewest systems that hold each job and keep up with the work."""
    load = offered(streams) / site.entry.devices
    count = max(1, math.floor(load) + 1, *(-(-one.held // site.entry.devices) for one in streams))
    if site.ipus:
        # A session wants each of its partitions on a pod of its own.
        while any(session_parts(one.devices, site.size, count) is None for one in streams):
            count += 1
    return count


def offered(streams: Sequence[Stream]) -> float:
    """Return the accelerators that the work keeps busy."""
    return sum(one.rate * one.mean * one.held for one in streams)


def most_count(site: Site) -> int:
    """Return the most systems that are tried."""
    return min(MOST_COUNT, MOST_DEVICES // site.entry.devices)


def interruptions(request: QueueRequest, site: Site, catalog: Catalog) -> Interruptions | None:
    """Return what failures cost, from the catalogue; None where they are left out."""
    if not request.failures:
        return None
    known = catalog.reliability_defaults(site.entry.chip_kind)
    # Nobody publishes how often jobs on IPUs write a checkpoint; they are taken to do as on GPUs.
    interval = known.checkpoint_interval or catalog.reliability_defaults(ChipKind.GPU).checkpoint_interval
    half = 0.0 if interval is None else interval.si / 2.0
    return Interruptions(rate=known.failure_rate.si, lost=half + known.restart.si)
