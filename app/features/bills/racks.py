"""Packed racks as they are shown: identical ones as one, with the place of every machine."""

from __future__ import annotations

import math
from collections.abc import Sequence

from app.estimating.bill_parts import SWITCHES
from app.estimating.racks import PackedRack, RackLimits, strips_of
from app.features.bills.model import Rack, RackPlacement


def bill_racks(packed: Sequence[PackedRack], limits: RackLimits) -> list[Rack]:
    """Return the racks in order, identical ones as one."""
    alike: dict[tuple[tuple[str, str], ...], list[PackedRack]] = {}
    for rack in packed:
        alike.setdefault(tuple((unit.item, unit.use) for unit in rack.units), []).append(rack)
    return [
        Rack(
            count=len(racks),
            height=limits.height,
            used=racks[0].height,
            power=racks[0].typical,
            power_max=racks[0].greatest,
            power_limit=limits.power,
            weight=racks[0].weight,
            feeds=limits.feeds,
            pdus_per_feed=strips_of(racks[0].greatest, limits.strip_power),
            pdu_power=limits.strip_power,
            placements=_placements(racks[0], limits.height),
        )
        for racks in alike.values()
    ]


def _placements(rack: PackedRack, height: int) -> list[RackPlacement]:
    """Machines from the floor up, heavy ones low; switches from the top down."""
    placements: list[RackPlacement] = []
    floor, top = 1, height
    for unit in rack.units:
        size, bottom = math.ceil(unit.height), floor
        if unit.use in SWITCHES:
            top -= size
            bottom = top + 1
        else:
            floor += size
        placements.append(
            RackPlacement(item=unit.item, name=unit.name, use=unit.use, bottom=bottom, height=size)
        )
    return sorted(placements, key=lambda placement: placement.bottom)
