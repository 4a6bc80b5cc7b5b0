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
from app.errors import BadInput, Conflict, Message
from app.features.tenancy.model import FreeBlock, PartitionRequest
from app.features.tenancy.room import BACKEND_AI, Allocation, Site, conflict, path, pinned, placement, taken


def settle(request: PartitionRequest, site: Site) -> Allocation:
    """Return who gets which IPUs, or say what stands in the way and what would do."""
    parts = [parts_of(index, request, site) for index in range(len(request.requests))]
    blocks, refused = share_out(request, site, parts)
    if refused is not None:
        raise no_room(refused, request, site, parts)
    found = Allocation()
    for index, one in enumerate(request.requests):
        for part, block in enumerate(blocks[index], 1):
            found.placements.append(placement(index, one, block, part, len(blocks[index])))
            found.held |= {(block[0], block[1] + device) for device in range(block[2])}
    pool = pool_of(site, blocks)
    found.largest_free = pool.largest_free
    if request.orchestrator == BACKEND_AI:
        found.largest_free = max(found.largest_free, largest_session(pool))
    found.free_blocks = [
        FreeBlock(pod=pod, first_device=first, devices=size) for pod, first, size in pool.free_blocks()
    ]
    return found


def parts_of(index: int, request: PartitionRequest, site: Site) -> int:
    """Return in how many partitions a request is met: one, or one per pod of a session."""
    one = request.requests[index]
    if one.slice is not None:
        raise BadInput.at(
            path(index, "slice"),
            "{system} has no MIG: its smallest unit is one IPU; leave the profile empty",
            system=site.entry.name,
        )
    joins = request.orchestrator == BACKEND_AI
    if one.spanning and not joins:
        raise BadInput.at(
            path(index, "spanning"),
            "a partition cannot span allocations; only a Backend.AI cluster session joins several pods",
        )
    small = bool(is_partition_size(one.devices)) and one.devices <= site.size
    if small and not (one.spanning and request.count > 1):
        return 1
    if joins and one.spanning is not False and (one.spanning or one.devices > site.size):
        parts = session_parts(one.devices, site.size, site.pods)
        if parts is not None:
            return parts
    raise wrong_size(index, request, site)


def wrong_size(index: int, request: PartitionRequest, site: Site) -> Conflict:
    """Return the refusal of a size no partition can have, with the nearest that one can."""
    one = request.requests[index]
    values: dict[str, object] = {"team": one.team, "asked": one.devices, "system": site.entry.name}
    below, above = (int(size) for size in nearest_partition_sizes(one.devices, site.size))
    if one.devices > site.size:
        pods = pods_needed(one.devices, site.size)
        if one.devices > site.devices:
            message = Message(
                "{team} requests {asked} IPUs, but {count} × {system} has {available}",
                values | {"count": request.count, "available": site.devices},
            )
        else:
            message = Message(
                "{team} requests {asked} IPUs, but a partition cannot span allocations and one "
                "{system} has {size}",
                values | {"size": site.size},
            )
        hints = [(path(index), Message("the largest allowed size is {below}", {"below": site.size}))]
        session = session_parts(one.devices, site.size, max(pods, site.pods))
        if session is not None:
            hint = Message(
                "a Backend.AI cluster session over {pods} × {system} would be enough",
                values | {"pods": max(session, pods)},
            )
            hints.append(("count" if request.orchestrator == BACKEND_AI else "orchestrator", hint))
        return conflict(message, path(index), hints)
    others = [other.devices for at, other in enumerate(request.requests) if at != index]
    message = Message(
        "{team} requests {asked} IPUs, but partition sizes are powers of two; the nearest "
        "allowed sizes are {below} and {above}",
        values | {"below": below, "above": above},
    )
    left = site.devices - sum(others)
    if below <= left:
        return conflict(message, path(index), [])
    needed = -(-(sum(others) + below) // site.size)
    hint = Message(
        "the other teams leave {left} IPUs free, so a partition of {below} needs {needed} × {system}",
        values | {"left": max(left, 0), "below": below, "needed": needed},
    )
    return conflict(message, path(index), [("count", hint)])


def share_out(
    request: PartitionRequest, site: Site, parts: list[int], loose: Collection[int] = ()
) -> tuple[dict[int, tuple[Block, ...]], int | None]:
    """Place all requests, the largest partitions first; return the first that finds no room."""
    pool = BuddyPool(site.pods, site.size)
    blocks: dict[int, tuple[Block, ...]] = {}
    for index, one in pinned(request, site):
        if index in loose or one.pod is None or one.first_device is None:
            continue
        if one.first_device % one.devices:
            raise Conflict.at(
                path(index, "first_device"),
                "a partition of {devices} must start at a multiple of {devices}, not at {first}",
                devices=one.devices,
                first=one.first_device,
            )
        if not pool.reserve(one.pod, one.first_device, one.devices):
            raise taken(index, one)
        blocks[index] = ((one.pod, one.first_device, one.devices),)
    rest = [index for index in range(len(parts)) if index not in blocks]
    sizes = {index: request.requests[index].devices // parts[index] for index in rest}
    for index in sorted(rest, key=lambda at: (-sizes[at], -parts[at])):
        found = pool.place_parts(sizes[index], parts[index])
        if found is None:
            return blocks, index
        blocks[index] = found
    return blocks, None


def pool_of(site: Site, blocks: dict[int, tuple[Block, ...]]) -> BuddyPool:
    """Return a pool in which these blocks are taken."""
    pool = BuddyPool(site.pods, site.size)
    for found in blocks.values():
        for block in found:
            pool.reserve(*block)
    return pool


def largest_session(pool: BuddyPool) -> int:
    """Return the largest session over several pods for which there is room."""
    best: dict[int, int] = {}
    for pod, _, size in pool.free_blocks():
        best[pod] = max(best.get(pod, 0), size)
    ranked = sorted(best.values(), reverse=True)
    return max((size * place for place, size in enumerate(ranked, 1)), default=0)


def no_room(refused: int, request: PartitionRequest, site: Site, parts: list[int]) -> Conflict:
    """Return the refusal of a request that finds no room: what is free, who could move, how many pods."""
    one = request.requests[refused]
    others = request.model_copy(
        update={"requests": [ask for at, ask in enumerate(request.requests) if at != refused]}
    )
    around = [count for at, count in enumerate(parts) if at != refused]
    blocks, stuck = share_out(others, site, around)
    pool = pool_of(site, blocks)
    values: dict[str, object] = {"team": one.team, "asked": one.devices, "system": site.entry.name}
    asked = sum(ask.devices for ask in request.requests)
    if stuck is not None or asked > site.devices:
        message = Message(
            "the teams request {asked} IPUs, but {count} × {system} has {available}",
            values | {"asked": asked, "count": request.count, "available": site.devices},
        )
        if asked <= site.devices:
            message = Message(
                "{team} requests {asked} IPUs, but no free block is that large; {free} are "
                "free in smaller blocks",
                values | {"free": pool.free},
            )
    else:
        message = Message(
            "{team} requests {asked} IPUs, but {free} are free, the largest block with {largest}",
            values | {"free": pool.free, "largest": pool.largest_free},
        )
    hints: list[tuple[str, Message]] = []
    if stuck is None and pool.largest_free:
        fits = Message("a partition of {largest} would fit now", {"largest": pool.largest_free})
        hints.append((path(refused), fits))
    hints += moves(request, site, parts)
    if asked > site.devices:
        needed = max(pods_needed(float(asked), site.size), max(parts))
        hint = Message("{needed} × {system} would be enough for all", values | {"needed": needed})
        hints.append(("count", hint))
    return conflict(message, path(refused), hints)


def moves(request: PartitionRequest, site: Site, parts: list[int]) -> list[tuple[str, Message]]:
    """Return who would have to move for all to fit: one team where that is enough."""
    fixed = [index for index, _ in pinned(request, site)]
    for index in sorted(fixed, key=lambda at: request.requests[at].devices):
        blocks, stuck = share_out(request, site, parts, loose={index})
        if stuck is None:
            pod, first, _ = blocks[index][0]
            hint = Message(
                "moving {team} to pod {pod}, device {first}, would make room for all",
                {"team": request.requests[index].team, "pod": pod, "first": first},
            )
            return [(path(index, "first_device"), hint)]
    if fixed and share_out(request, site, parts, loose=fixed)[1] is None:
        return [
            (
                path(fixed[0], "first_device"),
                Message("moving the running teams together would make room for all"),
            )
        ]
    return []
