"""What a system brings: machines, hosts, switches of a pod and the cables that join its machines."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace

from app.catalog import HOST, Catalog, ChipKind, Figure, SystemEntry
from app.catalog.entries import SystemPart
from app.errors import Message
from app.sizing.bill.lines import BillPart, Group, part
from app.sizing.bill.network import CABLING

IPU_LINK_CABLE = "cable-osfp-link"
POD_CABLE, POD_OPTICAL = "cable-100g-copper", "cable-100g-active"

GIGABIT = 1.25e8
GATEWAY = 400 * GIGABIT
"""Line rate of switches that join racks of IPUs over GW-Links. [B/s]"""


def machine_parts(catalog: Catalog, system: SystemEntry, count: int) -> Iterable[BillPart]:
    """Give machines, hosts and the switches that come with pods.

    A price book may state the price of a pod as a whole: its machines share it evenly, and what else comes
    with the pod is paid for with them.
    """
    whole = system.whole_price
    for one in _parts_of(catalog, system, count):
        if whole is None or whole.value is None:
            yield one
        else:
            share = 1.0 / system.machines if one.use == "machine" else 0.0
            yield replace(one, price=_share_of(whole, share, system))


def _share_of(whole: Figure, share: float, system: SystemEntry) -> Figure:
    """Return what one part of a system takes of its price as a whole."""
    note = f"{whole.value:,.15g} {whole.unit.name} × {share:.4g} ({system.name})"
    value = (whole.value or 0.0) * share
    return replace(whole, value=value, text=repr(value), note="; ".join(filter(None, (note, whole.note))))


def _parts_of(catalog: Catalog, system: SystemEntry, count: int) -> Iterable[BillPart]:
    yield part(
        catalog,
        system.machine,
        "machines",
        "machine",
        count * system.machines,
        _counted(catalog, system, count),
    )
    if system.hosts:
        rule = Message(
            "{hosts} for each of {count} × {system}", _each(system, count) | {"hosts": system.hosts}
        )
        yield part(catalog, HOST, "hosts", "host", count * system.hosts, rule)
    if system.chip_kind is not ChipKind.IPU:
        return
    for line in system.bill:
        if line.item in (system.machine, HOST):
            continue
        group, use = _place_of(catalog, line.item)
        rule = Message("{parts} in each of {count} × {system}", _each(system, count) | {"parts": line.count})
        yield part(catalog, line.item, group, use, count * line.count, rule)


def _each(system: SystemEntry, count: int) -> dict[str, object]:
    return {"count": count, "system": system.name}


def _counted(catalog: Catalog, system: SystemEntry, count: int) -> Message:
    machines = count * system.machines
    unit = catalog.find(system.machine, "scalable_unit")
    if unit is not None:
        size = round(unit.si)
        return Message(
            "{machines} machines; scalable units of up to {size}: {units}",
            {"machines": machines, "units": -(-machines // size), "size": size},
        )
    if system.machines == 1:
        return Message("{count} as asked for", {"count": count})
    return Message(
        "{machines} in each of {count} × {system}", _each(system, count) | {"machines": system.machines}
    )


def _place_of(catalog: Catalog, switch: str) -> tuple[Group, str]:
    """Group and use of a pod's switch by its rate: management, hosts, or GW-Links between racks."""
    rate = catalog.figure(switch, "port_rate").si
    if rate <= GIGABIT:
        return "management_network", "management_switch"
    return "compute_network", "gateway_switch" if rate >= GATEWAY else "host_switch"


def pod_cables(catalog: Catalog, system: SystemEntry, count: int) -> Iterable[BillPart]:
    """Give the cables inside IPU pods: IPU-Links, hosts, GW-Links between racks."""
    machines = count * system.machines
    linked = machines_linked(catalog, system)
    chains = count * math.ceil(system.machines / linked)
    if linked > 1:
        each = round(catalog.figure(CABLING, "neighbour_links").si)
        closed = linked * system.devices_per_machine >= _pod_size(catalog, system)
        pairs = linked if closed else linked - 1
        template = (
            "{chains} rings of {linked} machines, {each} cables between neighbours"
            if closed
            else "{chains} rows of {linked} machines, {each} cables between neighbours"
        )
        rule = Message(template, {"chains": chains, "linked": linked, "each": each})
        yield part(catalog, IPU_LINK_CABLE, "cables", "ipu_link_cable", chains * pairs * each, rule)
    yield from _host_cables(catalog, system, count)
    if chains > count:
        ports = machines * round(catalog.figure(system.machine, "gateway_links").si)
        switched = any(_place_of(catalog, line.item)[1] == "gateway_switch" for line in _switches_of(system))
        template = (
            "{ports} GW-Link ports, a cable each to the switches"
            if switched
            else "{ports} GW-Link ports, two of different racks on each cable"
        )
        cables = ports if switched else ports // 2
        yield part(
            catalog, POD_OPTICAL, "cables", "gateway_cable", cables, Message(template, {"ports": ports})
        )


def _pod_size(catalog: Catalog, system: SystemEntry) -> int:
    """IPUs that IPU-Links alone join."""
    return round(catalog.figure(system.chip, "pod_size").si)


def machines_linked(catalog: Catalog, system: SystemEntry) -> int:
    """Return the machines that IPU-Links join, which stand in one rack."""
    return min(system.machines, max(_pod_size(catalog, system) // system.devices_per_machine, 1))


def _switches_of(system: SystemEntry) -> list[SystemPart]:
    return [line for line in system.bill if line.item not in (system.machine, HOST)]


def _host_cables(catalog: Catalog, system: SystemEntry, count: int) -> Iterable[BillPart]:
    machines, hosts = count * system.machines, count * system.hosts
    each = round(catalog.figure(CABLING, "switch_host_links").si)
    if any(_place_of(catalog, line.item)[1] == "host_switch" for line in _switches_of(system)):
        of_host = round(catalog.figure(CABLING, "host_switch_links").si)
        rule = Message(
            "{machines} machines × {each} and {hosts} hosts × {of_host} to the pod's switch",
            {"machines": machines, "each": each, "hosts": hosts, "of_host": of_host},
        )
        cables = machines * each + hosts * of_host
    else:
        rule = Message(
            "{machines} machines × {each}, straight to the host", {"machines": machines, "each": each}
        )
        cables = machines * each
    yield part(catalog, POD_CABLE, "cables", "host_cable", cables, rule)
