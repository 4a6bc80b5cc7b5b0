"""What teams ask for on one system, before and after it is placed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from app.catalog.entries import ChipKind, SystemEntry
from app.errors import BadInput, Conflict, FieldError, Message
from app.features.tenancy.model import MOST_DEVICES, FreeBlock, PartitionRequest, Placement, TeamRequest

BACKEND_AI = "backend.ai"

GC_DOCKER = "gc-docker"

STRICT = "strict"


@dataclass(frozen=True, slots=True)
class Site:
    """Where devices are handed out: pods that V-IPU allocates from, or nodes."""

    entry: SystemEntry
    count: int
    pods: int
    size: int

    @property
    def devices(self) -> int:
        """Accelerators in all."""
        return self.pods * self.size

    @property
    def ipus(self) -> bool:
        """Whether these are pods of IPUs."""
        return self.entry.chip_kind is ChipKind.IPU

    @classmethod
    def of(cls, entry: SystemEntry, count: int, field_name: str = "count") -> Site:
        """Return the pods or nodes of so many systems."""
        if count * entry.devices > MOST_DEVICES:
            raise BadInput.at(
                field_name,
                "{count} × {system} exceeds {most} accelerators; reduce the count",
                count=count,
                system=entry.name,
                most=MOST_DEVICES,
            )
        if entry.chip_kind is ChipKind.IPU:
            return cls(entry, count, count, entry.devices)
        return cls(entry, count, count * entry.machines, entry.devices_per_machine)


@dataclass(slots=True)
class Allocation:
    """What came of the requests."""

    placements: list[Placement] = field(default_factory=list)
    free_blocks: list[FreeBlock] = field(default_factory=list)
    largest_free: int = 0
    held: set[tuple[int, int]] = field(default_factory=set)
    """Pod and device of every accelerator that is taken."""
    cut: list[list[int]] = field(default_factory=list)
    """Requests that share each GPU that is cut into instances, one entry per instance."""
    rounded: list[tuple[TeamRequest, int]] = field(default_factory=list)
    """Requests that hold more than they asked for, and how much."""


def path(index: int, name: str = "devices") -> str:
    """Return the place of a field of one request."""
    return f"requests.{index}.{name}"


def pinned(request: PartitionRequest, site: Site) -> list[tuple[int, TeamRequest]]:
    """Return the requests that name their place, checked against the site."""
    found = []
    for index, one in enumerate(request.requests):
        if (one.pod is None) != (one.first_device is None):
            missing = "pod" if one.pod is None else "first_device"
            raise BadInput.at(
                path(index, missing), "a placement is a pod and a first device; enter both or neither"
            )
        if one.pod is None or one.first_device is None:
            continue
        if one.slice is not None:
            raise BadInput.at(
                path(index, "pod"), "GPU instances are placed automatically; leave the placement empty"
            )
        if one.pod >= site.pods:
            raise Conflict.at(
                path(index, "pod"),
                "there is no pod {pod}; the {pods} pods are numbered from 0",
                pod=one.pod,
                pods=site.pods,
            )
        if one.first_device + one.devices > site.size:
            raise Conflict.at(
                path(index, "first_device"),
                "devices {first} to {last} are outside a pod of {size}",
                first=one.first_device,
                last=one.first_device + one.devices - 1,
                size=site.size,
            )
        found.append((index, one))
    return found


def taken(index: int, one: TeamRequest) -> Conflict:
    """Return the error for a place that somebody else has."""
    return Conflict.at(
        path(index, "first_device"),
        "device {first} of pod {pod} is used by another team; partitions cannot overlap",
        first=one.first_device,
        pod=one.pod,
    )


def conflict(message: Message, field_name: str, hints: Sequence[tuple[str, Message]]) -> Conflict:
    """Return a refusal with what would do instead; the detail says all of it."""
    errors = [FieldError(field_name, message)]
    errors += [FieldError(name, hint) for name, hint in hints]
    whole = message
    for _, hint in hints:
        whole = Message("{first}; {second}", {"first": whole, "second": hint})
    return Conflict(whole, errors)


def placement(
    index: int,
    one: TeamRequest,
    block: tuple[int, int, int],
    part: int = 1,
    parts: int = 1,
    cut: tuple[int, int] | None = None,
) -> Placement:
    """Return the document of one block of devices."""
    pod, first, devices = block
    name = f"p{pod}-{first}-{devices}"
    return Placement(
        request=index,
        team=one.team,
        devices=devices,
        pod=pod,
        first_device=first,
        partition=name if cut is None else f"{name}-s{cut[0]}",
        part=part,
        parts=parts,
        slice=one.slice,
        first_slice=None if cut is None else cut[0],
        memory_slices=None if cut is None else cut[1],
    )
