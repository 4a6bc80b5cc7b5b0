"""Whole GPUs on nodes, and MIG instances."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from app.catalog.catalog import Catalog
from app.engine.partition import SlicedGpu, SliceProfile, arrangement, gpus_for_slices
from app.errors import BadInput, Conflict, FieldError, NotFound
from app.features.tenancy.model import FreeBlock, PartitionRequest, SliceRoom
from app.features.tenancy.site import (
    Allocation,
    Site,
    enough,
    enough_for_all,
    hint,
    move_together,
    path,
    pinned,
    refusal,
    taken,
    unmet,
)

COMPUTE, MEMORY, PLACES = "mig_compute_slices", "mig_memory_slices", "mig_placements"

MOST_INSTANCES = 500
"""Most MIG instances in one plan."""


def sliced_gpu(catalog: Catalog, chip: str) -> SlicedGpu | None:
    """Return the slices of a chip; None where it has no MIG."""
    compute, memory = catalog.find(chip, COMPUTE), catalog.find(chip, MEMORY)
    return None if compute is None or memory is None else SlicedGpu(round(compute.si), round(memory.si))


def profiles_of(catalog: Catalog, chip: str) -> dict[str, SliceProfile]:
    """Return the MIG profiles of a chip by name, the smallest first."""
    profiles = [
        SliceProfile(
            memory=round(catalog.figure(chip, MEMORY, name).si),
            compute=round(catalog.figure(chip, COMPUTE, name).si),
            starts=tuple(int(start) for start in catalog.figure(chip, PLACES, name).text.split()),
            name=name,
        )
        for name in catalog.conditions(chip, PLACES)
    ]
    return {profile.name: profile for profile in sorted(profiles)}


def profile_named(catalog: Catalog, chip: str, name: str, field: str) -> SliceProfile:
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
    gpus = []
    for share in gpus_for_slices(kinds, gpu):
        ordered = sorted(share, key=lambda index: kinds[index])
        starts = arrangement(tuple(kinds[index] for index in ordered), gpu)
        assert starts is not None, "the packer puts together only what fits"
        gpus.append([(*instances[index], start) for index, start in zip(ordered, starts, strict=True)])
    return gpus


def slice_room(cut: Sequence[Sequence[SliceProfile]], chip: str, catalog: Catalog) -> list[SliceRoom]:
    """Return how many instances of each profile still fit on split GPUs, with their instances rearranged."""
    gpu = sliced_gpu(catalog, chip)
    if gpu is None or not cut:
        return []
    rooms = []
    for profile in profiles_of(catalog, chip).values():
        more = 0
        for share in cut:
            profiles = [*share]
            while arrangement(tuple(sorted([*profiles, profile])), gpu) is not None:
                profiles.append(profile)
                more += 1
        if more:
            rooms.append(SliceRoom(slice=profile.name, more=more))
    return rooms


NodeDevices = list[tuple[int, list[int]]]
"""Nodes, each with some of its GPUs."""


class FreeGpus:
    """Free GPUs of each node, in ascending order. With isolation, a multi-node job takes whole nodes."""

    def __init__(self, nodes: int, size: int, *, isolated: bool) -> None:
        self.size = size
        self.isolated = isolated
        self.nodes = [list(range(size)) for _ in range(nodes)]

    @property
    def total(self) -> int:
        return sum(map(len, self.nodes))

    @property
    def most(self) -> int:
        """GPUs on the emptiest node."""
        return max(map(len, self.nodes), default=0)

    @property
    def empty(self) -> list[int]:
        return [node for node, free in enumerate(self.nodes) if len(free) == self.size]

    @property
    def largest_job(self) -> int:
        """GPUs of the largest job that fits: on all empty nodes, and on part of another unless isolated."""
        whole = len(self.empty) * self.size
        part = max((len(free) for free in self.nodes if len(free) < self.size), default=0)
        return whole if whole and self.isolated else whole + part

    def choose(self, devices: int) -> NodeDevices | None:
        """Choose nodes for a job: the fullest that fits it, or empty ones and part of another."""
        nodes, rest = divmod(devices, self.size)
        if self.isolated and nodes and rest:
            nodes, rest = nodes + 1, 0
        empty = self.empty[:nodes]
        if len(empty) < nodes:
            return None
        chosen = [(node, list(self.nodes[node])) for node in empty]
        if rest:
            rooms = [
                (len(free), node)
                for node, free in enumerate(self.nodes)
                if len(free) >= rest and node not in empty
            ]
            if not rooms:
                return None
            _, node = min(rooms)
            chosen.append((node, self.nodes[node][:rest]))
        return chosen

    def take(self, chosen: NodeDevices) -> None:
        for node, devices in chosen:
            self.nodes[node] = [device for device in self.nodes[node] if device not in set(devices)]


def settle(request: PartitionRequest, site: Site, catalog: Catalog) -> Allocation:
    """Allocate the GPUs, or refuse with what would be possible."""
    check(request, site)
    teams = request.requests
    allocation, free = Allocation(), FreeGpus(site.pods, site.size, isolated=request.isolation == "strict")

    def give(index: int, chosen: NodeDevices) -> None:
        blocks = [(node, run[0], len(run)) for node, devices in chosen for run in runs(devices)]
        for part, block in enumerate(blocks, 1):
            allocation.give(index, teams[index], block, part, len(blocks))
        free.take(chosen)

    for index, block in pinned(request, site):
        node, first, count = block
        devices = list(range(first, first + count))
        if not set(devices) <= set(free.nodes[node]):
            raise taken(index, block)
        give(index, [(node, devices)])
    whole = [index for index, team in enumerate(teams) if team.slice is None and team.pod is None]
    for index in sorted(whole, key=lambda index: -teams[index].devices):
        chosen = free.choose(teams[index].devices)
        if chosen is None:
            raise no_room(index, request, site, free)
        total = sum(len(devices) for _, devices in chosen)
        if total > teams[index].devices:
            allocation.rounded.append((teams[index], total))
        give(index, chosen)
    cut(allocation, request, site, catalog, free)
    allocation.placements.sort(key=lambda placement: (placement.request, placement.part))
    allocation.largest_free = free.largest_job
    allocation.free_blocks = [
        FreeBlock(pod=node, first_device=run[0], devices=len(run))
        for node, devices in enumerate(free.nodes)
        for run in runs(devices)
    ]
    return allocation


def check(request: PartitionRequest, site: Site) -> None:
    if request.orchestrator == "gc-docker":
        raise BadInput.at(
            "orchestrator",
            "gc-docker starts IPU containers, but {system} has GPUs; choose none or backend.ai",
            system=site.entry.name,
        )
    whole = [(index, team) for index, team in enumerate(request.requests) if team.slice is None]
    for index, team in whole:
        if team.devices > site.devices:
            template = "{team} requests {asked} GPUs, but {count} × {system} has {available}"
            needed = -(-team.devices // site.entry.devices)
            raise refusal(unmet(index, request, site, template), enough(needed, site))
    for index, team in whole:
        if team.spanning is False and team.devices > site.size:
            raise Conflict.at(
                path(index, "spanning"),
                "{asked} GPUs need several nodes of {size}; leave this empty, or request at most {size}",
                asked=team.devices,
                size=site.size,
            )


def runs(devices: Iterable[int]) -> list[list[int]]:
    """Split ascending numbers into runs without a gap."""
    stretches: list[list[int]] = []
    for device in devices:
        if stretches and device == stretches[-1][-1] + 1:
            stretches[-1].append(device)
        else:
            stretches.append([device])
    return stretches


def cut(
    allocation: Allocation, request: PartitionRequest, site: Site, catalog: Catalog, free: FreeGpus
) -> None:
    """Place MIG instances, each split GPU on the fullest node that has one free."""
    chip = site.entry.machine.chip.id
    profiles = {
        index: profile_named(catalog, chip, team.slice, path(index, "slice"))
        for index, team in enumerate(request.requests)
        if team.slice is not None
    }
    gpu = sliced_gpu(catalog, chip)
    if not profiles or gpu is None:
        return
    total = sum(request.requests[index].devices for index in profiles)
    if total > MOST_INSTANCES:
        raise BadInput.at(
            path(max(profiles)),
            "{total} instances, but a plan holds at most {most}; request whole GPUs, or split "
            "them into several plans",
            total=total,
            most=MOST_INSTANCES,
        )
    gpus = cut_gpus(
        [
            (index, profile)
            for index, profile in profiles.items()
            for _ in range(request.requests[index].devices)
        ],
        gpu,
    )
    if len(gpus) > free.total:
        template = "the instances need {needed} GPUs, but only {free} are free beside whole GPUs"
        error = hint(path(gpus[-1][0][0]), template, needed=len(gpus), free=free.total)
        raise refusal(error, more_systems(len(gpus), site, request))
    part = dict.fromkeys(profiles, 0)
    for share in gpus:
        _, node = min((len(devices), node) for node, devices in enumerate(free.nodes) if devices)
        device = free.nodes[node].pop(0)
        allocation.cut.append([profile for _, profile, _ in share])
        for index, profile, start in share:
            part[index] += 1
            team = request.requests[index]
            slices = (start, profile.memory)
            allocation.give(index, team, (node, device, 1), part[index], team.devices, slices)


def no_room(index: int, request: PartitionRequest, site: Site, free: FreeGpus) -> Conflict:
    needed = sum(team.devices for team in request.requests if team.slice is None)
    template = "{team} requests {asked} GPUs, but {free} are free, at most {largest} of them on one node"
    if needed > site.devices:
        template = "the teams request {needed} GPUs together, but {count} × {system} has {available}"
    error = unmet(index, request, site, template, free=free.total, largest=free.most, needed=needed)
    hints = [hint(path(index), "up to {largest} would fit now", largest=free.most)] if free.most else []
    if any(team.pod is not None for team in request.requests) and nodes_used(request, site, site.pods):
        return refusal(error, *hints, move_together(index))
    return refusal(error, *hints, more_systems(0, site, request))


def more_systems(gpus: int, site: Site, request: PartitionRequest) -> FieldError:
    """Return the hint how many systems fit all requests, with so many GPUs split into instances."""
    whole = [team.devices for team in request.requests if team.slice is None]
    used = nodes_used(request, site, sum(-(-devices // site.size) for devices in whole)) or 0
    nodes = max(used, -(-(sum(whole) + gpus) // site.size))
    return enough_for_all(max(-(-nodes // site.entry.machines), request.count + 1), site)


def nodes_used(request: PartitionRequest, site: Site, nodes: int) -> int | None:
    """Return how many of the nodes the whole GPUs of all requests take, placed freely; None if too few."""
    free = FreeGpus(nodes, site.size, isolated=request.isolation == "strict")
    for devices in sorted((team.devices for team in request.requests if team.slice is None), reverse=True):
        chosen = free.choose(devices)
        if chosen is None:
            return None
        free.take(chosen)
    return nodes - len(free.empty)
