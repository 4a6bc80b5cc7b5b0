"""Pods or nodes from which devices are allocated, and the form of refusals."""

from __future__ import annotations

from dataclasses import dataclass, field

from app.catalog.entries import ChipKind, SystemEntry
from app.engine.partition import Block, SliceProfile
from app.errors import BadInput, Conflict, FieldError, Message
from app.features.tenancy.model import MOST_DEVICES, FreeBlock, PartitionRequest, TeamPlacement, TeamRequest


@dataclass(frozen=True, slots=True)
class Site:
    """Pods or nodes from which devices are allocated."""

    entry: SystemEntry
    count: int
    pods: int
    size: int
    """Accelerators of a pod or node."""

    @property
    def devices(self) -> int:
        return self.pods * self.size

    @property
    def ipus(self) -> bool:
        return self.entry.machine.chip.kind is ChipKind.IPU

    @classmethod
    def of(cls, entry: SystemEntry, count: int) -> Site:
        if count * entry.devices > MOST_DEVICES:
            raise BadInput.at(
                "count",
                "{count} × {system} exceeds {most} accelerators; reduce the count",
                count=count,
                system=entry.name,
                most=MOST_DEVICES,
            )
        if entry.machine.chip.kind is ChipKind.IPU:
            return cls(entry, count, count, entry.devices)
        return cls(entry, count, count * entry.machines, entry.machine.devices)


@dataclass(slots=True)
class Allocation:
    """Devices given to each request, and what stays free."""

    placements: list[TeamPlacement] = field(default_factory=list)
    free_blocks: list[FreeBlock] = field(default_factory=list)
    largest_free: int = 0
    devices_allocated: set[tuple[int, int]] = field(default_factory=set)
    """Pod and device of every allocated accelerator."""
    cut: list[list[SliceProfile]] = field(default_factory=list)
    """Instances on each split GPU."""
    rounded: list[tuple[TeamRequest, int]] = field(default_factory=list)
    """Requests that are given more than they ask for, and how much."""

    def give(
        self,
        index: int,
        request: TeamRequest,
        block: Block,
        part: int,
        parts: int,
        slices: tuple[int, int] | None = None,
    ) -> None:
        """Give a block of devices to a request; of a split GPU, with its first slice and number of slices."""
        pod, first, devices = block
        name = f"p{pod}-{first}-{devices}"
        first_slice, memory_slices = slices or (None, None)
        self.devices_allocated |= {(pod, device) for device in range(first, first + devices)}
        self.placements.append(
            TeamPlacement(
                request=index,
                team=request.team,
                devices=devices,
                pod=pod,
                first_device=first,
                partition=name if slices is None else f"{name}-s{first_slice}",
                part=part,
                parts=parts,
                slice=request.slice,
                first_slice=first_slice,
                memory_slices=memory_slices,
            )
        )


def pinned(request: PartitionRequest, site: Site) -> list[tuple[int, Block]]:
    """Return the blocks of the requests with a fixed placement, checked against the site."""
    blocks = []
    for index, team in enumerate(request.requests):
        pod, first = team.pod, team.first_device
        if pod is None and first is None:
            continue
        if pod is None or first is None:
            missing = "pod" if pod is None else "first_device"
            raise BadInput.at(
                path(index, missing), "a placement is a pod and a first device; enter both or neither"
            )
        if team.slice is not None:
            raise BadInput.at(
                path(index, "pod"), "GPU instances are placed automatically; leave the placement empty"
            )
        if pod >= site.pods:
            raise Conflict.at(
                path(index, "pod"),
                "there is no pod {pod}; the {pods} pods are numbered from 0",
                pod=pod,
                pods=site.pods,
            )
        if first + team.devices > site.size:
            raise Conflict.at(
                path(index, "first_device"),
                "devices {first} to {last} are outside a pod of {size}",
                first=first,
                last=first + team.devices - 1,
                size=site.size,
            )
        blocks.append((index, (pod, first, team.devices)))
    return blocks


def path(index: int, name: str = "devices") -> str:
    return f"requests.{index}.{name}"


def taken(index: int, block: Block) -> Conflict:
    return Conflict.at(
        path(index, "first_device"),
        "device {first} of pod {pod} is used by another team; partitions cannot overlap",
        first=block[1],
        pod=block[0],
    )


def unmet(index: int, request: PartitionRequest, site: Site, template: str, **values: object) -> FieldError:
    """Return the error at one request; its template may name team, request and system."""
    team = request.requests[index]
    known = {"team": team.team, "asked": team.devices, "count": request.count, "system": site.entry.name}
    known |= {"available": site.devices, "size": site.size}
    return FieldError(path(index), Message(template, known | values))


def hint(field_name: str, template: str, **values: object) -> FieldError:
    return FieldError(field_name, Message(template, values))


def enough(needed: int, site: Site) -> FieldError:
    """Return the hint how many systems fit one request."""
    return hint("count", "{needed} × {system} would be enough", needed=needed, system=site.entry.name)


def enough_for_all(needed: int, site: Site) -> FieldError:
    template = "{needed} × {system} would be enough for all"
    return hint("count", template, needed=needed, system=site.entry.name)


def move_together(index: int) -> FieldError:
    return hint(path(index, "first_device"), "moving the running teams together would make room for all")


def refusal(error: FieldError, *hints: FieldError) -> Conflict:
    """Return a refusal with hints; its detail joins all of them."""
    detail = error.message
    for alternative in hints:
        detail = Message("{first}; {second}", {"first": detail, "second": alternative.message})
    return Conflict(detail, [error, *hints])
