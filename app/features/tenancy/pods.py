"""Partitions on pods of IPUs: aligned powers of two inside a pod, sessions over several."""

from __future__ import annotations

from collections.abc import Collection

from app.engine.partition import (
    Block,
    BuddyPool,
    is_partition_size,
    nearest_partition_sizes,
    pods_needed,
    session_parts,
)
from app.errors import BadInput, Conflict, FieldError
from app.features.tenancy.model import FreeBlock, PartitionRequest
from app.features.tenancy.site import (
    Allocation,
    Site,
    enough_for_all,
    hint,
    move_together,
    path,
    pinned,
    refusal,
    taken,
    unmet,
)

BACKEND_AI = "backend.ai"
"""The only orchestrator that joins partitions on several pods into one session."""

Blocks = dict[int, tuple[Block, ...]]
"""Position of a request → its blocks."""


def settle(request: PartitionRequest, site: Site) -> Allocation:
    """Allocate the IPUs, or refuse with what would be possible."""
    parts = [parts_of(index, request, site) for index in range(len(request.requests))]
    blocks, pool, stuck = share_out(request, site, parts)
    if stuck is not None:
        raise no_room(stuck, request, site, parts)
    allocation = Allocation(largest_free=pool.largest_free)
    for index, team in enumerate(request.requests):
        for part, block in enumerate(blocks[index], 1):
            allocation.give(index, team, block, part, len(blocks[index]))
    if request.orchestrator == BACKEND_AI:
        allocation.largest_free = max(pool.largest_free, largest_session(pool))
    allocation.free_blocks = [
        FreeBlock(pod=pod, first_device=first, devices=size) for pod, first, size in pool.free_blocks()
    ]
    return allocation


def parts_of(index: int, request: PartitionRequest, site: Site) -> int:
    """Return the number of partitions of a request: one, or one per pod of a session."""
    team = request.requests[index]
    if team.slice is not None:
        raise BadInput.at(
            path(index, "slice"),
            "{system} has no MIG: its smallest unit is one IPU; leave the profile empty",
            system=site.entry.name,
        )
    joins = request.orchestrator == BACKEND_AI
    if team.spanning and not joins:
        raise BadInput.at(
            path(index, "spanning"),
            "a partition cannot span allocations; only a Backend.AI cluster session joins several pods",
        )
    small = bool(is_partition_size(team.devices)) and team.devices <= site.size
    if small and not (team.spanning and request.count > 1):
        return 1
    if joins and team.spanning is not False and (team.spanning or team.devices > site.size):
        parts = session_parts(team.devices, site.size, site.pods)
        if parts is not None:
            return parts
    raise too_large(index, request, site) if team.devices > site.size else odd_size(index, request, site)


def too_large(index: int, request: PartitionRequest, site: Site) -> Conflict:
    """Return the refusal of a request larger than a pod that no session meets."""
    devices = request.requests[index].devices
    if devices > site.devices:
        template = "{team} requests {asked} IPUs, but {count} × {system} has {available}"
    else:
        template = (
            "{team} requests {asked} IPUs, but a partition cannot span allocations and one "
            "{system} has {size}"
        )
    hints = [hint(path(index), "the largest allowed size is {below}", below=site.size)]
    pods = pods_needed(devices, site.size)
    session = session_parts(devices, site.size, max(pods, site.pods))
    if session is not None:
        enough = "a Backend.AI cluster session over {pods} × {system} would be enough"
        where = "count" if request.orchestrator == BACKEND_AI else "orchestrator"
        hints.append(hint(where, enough, pods=max(session, pods), system=site.entry.name))
    return refusal(unmet(index, request, site, template), *hints)


def odd_size(index: int, request: PartitionRequest, site: Site) -> Conflict:
    """Return the refusal of a size that is no power of two, with the nearest that are."""
    nearest = nearest_partition_sizes(request.requests[index].devices, site.size)
    below, above = (int(size) for size in nearest)
    error = unmet(
        index,
        request,
        site,
        "{team} requests {asked} IPUs, but partition sizes are powers of two; the nearest "
        "allowed sizes are {below} and {above}",
        below=below,
        above=above,
    )
    others = sum(team.devices for other, team in enumerate(request.requests) if other != index)
    if others + below <= site.devices:
        return refusal(error)
    more_pods = hint(
        "count",
        "the other teams leave {left} IPUs free, so a partition of {below} needs {needed} × {system}",
        left=max(site.devices - others, 0),
        below=below,
        needed=-(-(others + below) // site.size),
        system=site.entry.name,
    )
    return refusal(error, more_pods)


def share_out(
    request: PartitionRequest,
    site: Site,
    parts: list[int],
    *,
    unpinned: Collection[int] = (),
    without: int | None = None,
) -> tuple[Blocks, BuddyPool, int | None]:
    """Place the requests, those with a fixed placement first, then the largest partitions.

    Return the blocks, the pool they leave, and the first request that finds no room.
    """
    pool = BuddyPool(site.pods, site.size)
    blocks: Blocks = {}
    for index, block in pinned(request, site):
        if index in unpinned or index == without:
            continue
        _, first, devices = block
        if first % devices:
            raise Conflict.at(
                path(index, "first_device"),
                "a partition of {devices} must start at a multiple of {devices}, not at {first}",
                devices=devices,
                first=first,
            )
        if not pool.reserve(*block):
            raise taken(index, block)
        blocks[index] = (block,)
    sizes = {
        index: team.devices // parts[index]
        for index, team in enumerate(request.requests)
        if index not in blocks and index != without
    }
    for index in sorted(sizes, key=lambda index: (-sizes[index], -parts[index])):
        placed = pool.place_parts(sizes[index], parts[index])
        if placed is None:
            return blocks, pool, index
        blocks[index] = placed
    return blocks, pool, None


def largest_session(pool: BuddyPool) -> int:
    """Return the largest session over several pods for which there is room."""
    largest: dict[int, int] = {}
    for pod, _, size in pool.free_blocks():
        largest[pod] = max(largest.get(pod, 0), size)
    # As many equal parts as pods, each no larger than the smallest of their largest blocks.
    sizes = sorted(largest.values(), reverse=True)
    return max((size * pods for pods, size in enumerate(sizes, 1)), default=0)


def no_room(index: int, request: PartitionRequest, site: Site, parts: list[int]) -> Conflict:
    """Return the refusal of a request without room: what is free, who could move, how many pods fit all."""
    _, pool, stuck = share_out(request, site, parts, without=index)
    total = sum(team.devices for team in request.requests)
    hints = moves(request, site, parts)
    if stuck is None and pool.largest_free:
        fits = "a partition of {largest} would fit now"
        hints.insert(0, hint(path(index), fits, largest=pool.largest_free))
    if total > site.devices:
        template = "the teams request {asked} IPUs, but {count} × {system} has {available}"
        needed = max(pods_needed(float(total), site.size), max(parts))
        error = unmet(index, request, site, template, asked=total)
        return refusal(error, *hints, enough_for_all(needed, site))
    template = "{team} requests {asked} IPUs, but {free} are free, the largest block with {largest}"
    if stuck is not None:
        template = (
            "{team} requests {asked} IPUs, but no free block is that large; {free} are free in smaller blocks"
        )
    return refusal(unmet(index, request, site, template, free=pool.free, largest=pool.largest_free), *hints)


def moves(request: PartitionRequest, site: Site, parts: list[int]) -> list[FieldError]:
    """Return the hint which teams to move for all to fit: one if that is enough."""
    fixed = [index for index, _ in pinned(request, site)]
    for index in sorted(fixed, key=lambda index: request.requests[index].devices):
        blocks, _, stuck = share_out(request, site, parts, unpinned={index})
        if stuck is None:
            (pod, first, _), team = blocks[index][0], request.requests[index].team
            alone = "moving {team} to pod {pod}, device {first}, would make room for all"
            return [hint(path(index, "first_device"), alone, team=team, pod=pod, first=first)]
    if fixed and share_out(request, site, parts, unpinned=fixed)[2] is None:
        return [move_together(fixed[0])]
    return []
