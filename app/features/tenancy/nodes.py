"""Whole GPUs on nodes, and instances of GPUs that are cut."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from app.catalog.catalog import Catalog
from app.engine.partition import SlicedGpu, SliceProfile, arrangement, gpus_for_slices
from app.errors import BadInput, Conflict, Message, NotFound
from app.features.tenancy.model import FreeBlock, PartitionRequest, SliceRoom
from app.features.tenancy.room import (
    GC_DOCKER,
    STRICT,
    Allocation,
    Site,
    conflict,
    path,
    pinned,
    placement,
    taken,
)

COMPUTE, MEMORY, PLACES = "mig_compute_slices", "mig_memory_slices", "mig_placements"


def sliced_gpu(catalog: Catalog, chip: str) -> SlicedGpu | None:
    """Return how a chip can be cut; None where it cannot."""
    compute, memory = catalog.find(chip, COMPUTE), catalog.find(chip, MEMORY)
    return None if compute is None or memory is None else SlicedGpu(round(compute.si), round(memory.si))


def profiles_of(catalog: Catalog, chip: str) -> dict[str, SliceProfile]:
    """Return the MIG profiles of a chip by name, the smallest first."""
    found = [
        SliceProfile(
            memory=round(catalog.figure(chip, MEMORY, name).si),
            compute=round(catalog.figure(chip, COMPUTE, name).si),
            starts=tuple(int(start) for start in catalog.figure(chip, PLACES, name).text.split()),
            name=name,
        )
        for name in catalog.conditions(chip, PLACES)
    ]
    return {one.name: one for one in sorted(found)}


def profile_named(catalog: Catalog, chip: str, name: str, field: str) -> SliceProfile:
    """Return a profile, or say which there are."""
    profiles = profiles_of(catalog, chip)
    if not profiles:
        raise BadInput.at(
            field, "{chip} has no MIG; leave the profile empty", chip=catalog.item("chip", chip).name
        )
    if name not in profiles:
        raise NotFound.named("MIG profile", name, profiles, field)
    return profiles[name]


def cut_gpus(
    instances: Sequence[tuple[int, SliceProfile]], gpu: SlicedGpu
) -> list[list[tuple[int, SliceProfile, int]]]:
    """Return the GPUs that hold instances: request, profile and first memory slice of each."""
    kinds = [profile for _, profile in instances]
    found = []
    for share in gpus_for_slices(kinds, gpu):
        ordered = sorted(share, key=lambda at: kinds[at])
        starts = arrangement(tuple(kinds[at] for at in ordered), gpu)
        assert starts is not None, "the packer puts together only what fits"
        found.append(
            [(instances[at][0], kinds[at], start) for at, start in zip(ordered, starts, strict=True)]
        )
    return found


def room_left(
    cut: Sequence[Sequence[tuple[int, SliceProfile, int]]], profiles: Sequence[SliceProfile], gpu: SlicedGpu
) -> list[SliceRoom]:
    """Return how many instances of each profile still fit on GPUs that are cut, were they laid out anew."""
    found = []
    for profile in profiles:
        more = 0
        for share in cut:
            held = [one for _, one, _ in share]
            while arrangement(tuple(sorted([*held, profile])), gpu) is not None:
                held.append(profile)
                more += 1
        if more:
            found.append(SliceRoom(slice=profile.name, more=more))
    return found


MOST_INSTANCES = 500
"""Instances of GPUs in one plan."""

Free = list[list[int]]
"""Free GPUs of each node, rising."""


def settle(request: PartitionRequest, site: Site, catalog: Catalog) -> Allocation:
    """Return who gets which GPUs, or say what stands in the way and what would do."""
    check(request, site)
    found, free = Allocation(), [list(range(site.size)) for _ in range(site.pods)]
    for index, one in pinned(request, site):
        assert one.pod is not None and one.first_device is not None
        wanted = list(range(one.first_device, one.first_device + one.devices))
        if not set(wanted) <= set(free[one.pod]):
            raise taken(index, one)
        give(found, request, index, [(one.pod, wanted)], free)
    whole = [index for index, one in enumerate(request.requests) if one.slice is None and one.pod is None]
    for index in sorted(whole, key=lambda at: -request.requests[at].devices):
        chosen = choose(request.requests[index].devices, site, free, request.isolation == STRICT)
        if chosen is None:
            raise no_room(index, request, site, free)
        held = sum(len(devices) for _, devices in chosen)
        if held > request.requests[index].devices:
            found.rounded.append((request.requests[index], held))
        give(found, request, index, chosen, free)
    cut(found, request, site, catalog, free)
    found.placements.sort(key=lambda one: (one.request, one.part))
    empty = sum(len(devices) == site.size for devices in free)
    found.largest_free = max(
        empty * site.size, max((len(devices) for devices in free), default=0), rest_of(free, site, request)
    )
    found.free_blocks = [
        FreeBlock(pod=node, first_device=run[0], devices=len(run))
        for node, devices in enumerate(free)
        for run in runs(devices)
    ]
    return found


def check(request: PartitionRequest, site: Site) -> None:
    """Refuse what GPUs cannot do."""
    if request.orchestrator == GC_DOCKER:
        raise BadInput.at(
            "orchestrator",
            "gc-docker starts IPU containers, but {system} has GPUs; choose none or backend.ai",
            system=site.entry.name,
        )
    for index, one in enumerate(request.requests):
        if one.slice is not None or one.devices <= site.devices:
            continue
        message = Message(
            "{team} requests {asked} GPUs, but {count} × {system} has {available}",
            {
                "team": one.team,
                "asked": one.devices,
                "count": request.count,
                "system": site.entry.name,
                "available": site.devices,
            },
        )
        needed = -(-one.devices // site.entry.devices)
        hint = Message("{needed} × {system} would be enough", {"needed": needed, "system": site.entry.name})
        raise conflict(message, path(index), [("count", hint)])
    for index, one in enumerate(request.requests):
        if one.spanning is False and one.slice is None and one.devices > site.size:
            raise Conflict.at(
                path(index, "spanning"),
                "{asked} GPUs need several nodes of {size}; leave this empty, or request at most {size}",
                asked=one.devices,
                size=site.size,
            )


def rest_of(free: Free, site: Site, request: PartitionRequest) -> int:
    """Return what empty nodes and a part of another give a job that may end in a part of a node."""
    if request.isolation == STRICT:
        return 0
    empty = sum(len(devices) == site.size for devices in free)
    part = max((len(devices) for devices in free if len(devices) < site.size), default=0)
    return empty * site.size + part if empty else 0


def choose(devices: int, site: Site, free: Free, strict: bool) -> list[tuple[int, list[int]]] | None:
    """Choose nodes for a job: the fullest that holds it, or empty ones and a part of another.

    Where teams are kept apart, a job over several nodes takes all of each.
    """
    nodes, rest = divmod(devices, site.size)
    if strict and nodes and rest:
        nodes, rest = nodes + 1, 0
    empty = [node for node, left in enumerate(free) if len(left) == site.size][:nodes]
    if len(empty) < nodes:
        return None
    chosen = [(node, list(free[node])) for node in empty]
    if rest:
        rooms = [
            (len(left), node) for node, left in enumerate(free) if len(left) >= rest and node not in empty
        ]
        if not rooms:
            return None
        _, node = min(rooms)
        chosen.append((node, free[node][:rest]))
    return chosen


def runs(devices: Iterable[int]) -> list[list[int]]:
    """Return rising numbers as stretches without a gap."""
    found: list[list[int]] = []
    for device in devices:
        if found and device == found[-1][-1] + 1:
            found[-1].append(device)
        else:
            found.append([device])
    return found


def give(
    found: Allocation, request: PartitionRequest, index: int, chosen: list[tuple[int, list[int]]], free: Free
) -> None:
    """Hand devices to a request."""
    blocks = [(node, run[0], len(run)) for node, devices in chosen for run in runs(devices)]
    for part, block in enumerate(blocks, 1):
        found.placements.append(placement(index, request.requests[index], block, part, len(blocks)))
    for node, devices in chosen:
        free[node] = [device for device in free[node] if device not in set(devices)]
        found.held |= {(node, device) for device in devices}


def cut(found: Allocation, request: PartitionRequest, site: Site, catalog: Catalog, free: Free) -> None:
    """Place the instances of GPUs, each GPU on the fullest node that has one free."""
    chip = site.entry.chip
    asked = [
        (index, profile_named(catalog, chip, one.slice, path(index, "slice")))
        for index, one in enumerate(request.requests)
        if one.slice is not None
    ]
    gpu = sliced_gpu(catalog, chip)
    if not asked or gpu is None:
        return
    total = sum(request.requests[index].devices for index, _ in asked)
    if total > MOST_INSTANCES:
        raise BadInput.at(
            path(asked[-1][0]),
            "{total} instances, but a plan holds at most {most}; request whole GPUs, or split "
            "them into several plans",
            total=total,
            most=MOST_INSTANCES,
        )
    instances = [(index, profile) for index, profile in asked for _ in range(request.requests[index].devices)]
    gpus = cut_gpus(instances, gpu)
    left = sum(len(devices) for devices in free)
    if len(gpus) > left:
        index = gpus[-1][0][0]
        message = Message(
            "the instances need {needed} GPUs, but only {free} are free beside whole GPUs",
            {"needed": len(gpus), "free": left},
        )
        raise conflict(message, path(index), [more_systems(len(gpus), site, request)])
    part = dict.fromkeys((index for index, _ in asked), 0)
    for share in gpus:
        _, node = min((len(devices), node) for node, devices in enumerate(free) if devices)
        device = free[node].pop(0)
        found.held.add((node, device))
        found.cut.append([index for index, _, _ in share])
        for index, profile, start in share:
            part[index] += 1
            one = request.requests[index]
            block = (node, device, 1)
            found.placements.append(
                placement(index, one, block, part[index], one.devices, (start, profile.memory))
            )


def more_systems(gpus: int, site: Site, request: PartitionRequest) -> tuple[str, Message]:
    """Return how many systems would hold all that is asked for, with so many GPUs cut into instances."""
    most = sum(-(-one.devices // site.size) for one in request.requests if one.slice is None)
    used = packed(request, site, most) or 0
    whole = sum(one.devices for one in request.requests if one.slice is None)
    nodes = max(used, -(-(whole + gpus) // site.size))
    needed = max(-(-nodes // site.entry.machines), request.count + 1)
    hint = Message(
        "{needed} × {system} would be enough for all", {"needed": needed, "system": site.entry.name}
    )
    return "count", hint


def no_room(index: int, request: PartitionRequest, site: Site, free: Free) -> Conflict:
    """Return the refusal of a request that finds no room, with what would do."""
    one = request.requests[index]
    left = sum(len(devices) for devices in free)
    largest = max((len(devices) for devices in free), default=0)
    message = Message(
        "{team} requests {asked} GPUs, but {free} are free, at most {largest} of them on one node",
        {"team": one.team, "asked": one.devices, "free": left, "largest": largest},
    )
    hints = (
        [] if not largest else [(path(index), Message("up to {largest} would fit now", {"largest": largest}))]
    )
    if any(other.pod is not None for other in request.requests) and packed(request, site, site.pods):
        hint = Message("moving the running teams together would make room for all")
        return conflict(message, path(index), [*hints, (path(index, "first_device"), hint)])
    return conflict(message, path(index), [*hints, more_systems(0, site, request)])


def packed(request: PartitionRequest, site: Site, nodes: int) -> int | None:
    """Return the nodes that the whole GPUs of all requests take where none names its place.

    None where they do not fit so many nodes.
    """
    free = [list(range(site.size)) for _ in range(nodes)]
    for devices in sorted((one.devices for one in request.requests if one.slice is None), reverse=True):
        chosen = choose(devices, site, free, request.isolation == STRICT)
        if chosen is None:
            return None
        for node, given in chosen:
            free[node] = [device for device in free[node] if device not in set(given)]
    return sum(len(left) < site.size for left in free)
