"""What a system brings: machines, hosts, switches of a pod and the cables that join its machines."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

from app.catalog.catalog import Catalog
from app.catalog.entries import HOST, ChipKind, SystemEntry, SystemPart
from app.catalog.figures import Figure
from app.errors import BadInput, FieldError, Message
from app.estimating.network_parts import CABLING, DOLLAR, BillPart, Group, adapters, added, network_bill, part

CLUSTER = "cluster-defaults"

COST = "cost-defaults"

STORAGE_SERVER = "storage-server"

MANAGEMENT_CABLE = "cable-1g"

SWITCHES = frozenset(
    {"leaf", "spine", "core", "single_switch", "host_switch", "gateway_switch", "management_switch"}
)
"""Uses of switches, by which spares and management ports are counted."""


def storage_parts(catalog: Catalog, system: SystemEntry, count: int, terabytes: float) -> Iterable[BillPart]:
    """Give servers for so much usable storage and the network that reaches them."""
    if terabytes <= 0:
        return
    capacity = catalog.figure(STORAGE_SERVER, "usable_capacity")
    assert capacity.value is not None
    servers = math.ceil(terabytes / capacity.value)
    rule = Message("{tb} TB usable, {each} TB per server", {"tb": terabytes, "each": capacity.value})
    server = part(catalog, STORAGE_SERVER, "storage", "storage_server", servers, rule)
    yield dataclasses.replace(server, price=server.price or _price_of(catalog, capacity))
    kind = system.chip_kind.value
    fabric = catalog.figure(CLUSTER, "storage_fabric", kind).text
    ports, reaching = _storage_ports(catalog, system, count)
    endpoints = ports * reaching + servers * round(catalog.figure(STORAGE_SERVER, "storage_ports").si)
    try:
        network = network_bill(
            catalog,
            fabric=fabric,
            nodes=endpoints,
            ports_per_node=1,
            group="storage_network",
            spread_over=reaching + servers,
        )
    except BadInput as error:
        raise BadInput(error.message, [FieldError("storage_tb", error.message)]) from None
    for line in network.lines:
        use = f"storage_{line.use}" if line.group == "cables" else line.use
        yield dataclasses.replace(line, use=use)
    if system.chip_kind is ChipKind.GPU and catalog.find(system.machine, "storage_ports") is None:
        yield from adapters(catalog, fabric, reaching, ports, CLUSTER, "storage_network")


def _price_of(catalog: Catalog, capacity: Figure) -> Figure:
    """Price of a full server from the price per usable terabyte, with that figure's source and range."""
    rate = catalog.figure(COST, "storage_flash")
    assert rate.value is not None and capacity.value is not None
    size = capacity.value
    return dataclasses.replace(
        rate,
        item=STORAGE_SERVER,
        parameter="price",
        value=rate.value * size,
        low=None if rate.low is None else rate.low * size,
        high=None if rate.high is None else rate.high * size,
        unit=catalog.figure(HOST, "price").unit,
    )


def _storage_ports(catalog: Catalog, system: SystemEntry, count: int) -> tuple[int, int]:
    """Storage ports of one machine that reaches storage, and how many do: hosts, where a pod has them."""
    if system.chip_kind is ChipKind.IPU:
        return round(catalog.figure(CLUSTER, "storage_ports").si), count * system.hosts
    own = catalog.find(system.machine, "storage_ports") or catalog.figure(CLUSTER, "storage_ports")
    return round(own.si), count * system.machines


def management_parts(
    catalog: Catalog, system: SystemEntry, count: int, parts: Sequence[BillPart]
) -> Iterable[BillPart]:
    """Give switches and cables of the management network for everything that is managed."""
    brought = sum(line.count for line in parts if line.use == "management_switch")
    if (
        system.chip_kind is ChipKind.IPU
        and not brought
        and not any(line.group == "storage" for line in parts)
    ):
        return
    usual = catalog.figure(CLUSTER, "management_ports")
    ports = 0
    for line in parts:
        if line.use in ("machine", "host", "storage_server"):
            own = catalog.find(line.item, "management_ports") or usual
            ports += line.count * round(own.si)
        elif line.use in SWITCHES:
            ports += line.count if line.use != "management_switch" else 0
    switch = catalog.figure(CLUSTER, "management_switch").text
    each = round(catalog.figure(switch, "ports").si)
    values = {"ports": ports, "each": each, "brought": brought}
    more = -(-ports // each) - brought
    if more > 0:
        template = (
            ("{ports} management ports, {each} per switch; {brought} of the switches come with the pods")
            if brought
            else "{ports} management ports, {each} per switch"
        )
        yield part(
            catalog, switch, "management_network", "management_switch", more, Message(template, values)
        )
    rule = Message("{ports} management ports, one cable each", values)
    yield part(catalog, MANAGEMENT_CABLE, "cables", "management_cable", ports, rule)


def spare_parts(catalog: Catalog, spare: int, parts: Sequence[BillPart]) -> Iterable[BillPart]:
    """Give spare machines, a spare switch of each model and spare cables; they draw no power."""
    if not spare:
        return
    share = catalog.figure(CABLING, "spare_cable_share").si
    switches: set[str] = set()
    cables: dict[str, int] = {}
    for line in parts:
        if line.use == "machine":
            rule = Message(
                "{spare} in addition to the {count} in use: N+{spare}", {"spare": spare, "count": line.count}
            )
            yield part(catalog, line.item, "spares", "spare_machine", spare, rule)
        elif line.use == "host":
            rule = Message("1 in addition to the {count} in use", {"count": line.count})
            yield part(catalog, line.item, "spares", "spare_host", 1, rule)
        elif line.use in SWITCHES and line.item not in switches:
            switches.add(line.item)
            yield part(catalog, line.item, "spares", "spare_switch", 1, Message("one of each model"))
        elif line.group == "cables":
            cables[line.item] = cables.get(line.item, 0) + line.count
    for item, count in cables.items():
        spares = math.ceil(count * share)
        rule = Message("{share} % of {count}, rounded up", {"share": 100 * share, "count": count})
        yield part(catalog, item, "spares", "spare_cable", spares, rule)


def installation(catalog: Catalog, parts: Sequence[BillPart]) -> BillPart:
    """Return freight and installation as a share of everything bought."""
    share = catalog.figure(COST, "installation_share")
    hardware = added(((line.count, line.price) for line in parts), DOLLAR)
    factor = share.si
    price = dataclasses.replace(
        share,
        item="installation",
        parameter="price",
        value=factor * hardware.value,
        low=factor * hardware.low,
        high=factor * hardware.high,
        unit=catalog.figure(HOST, "price").unit,
    )
    return BillPart(
        item="installation",
        name=str(Message("Freight and installation")),
        group="installation",
        use="installation",
        count=1,
        rule=Message("{share} % of the lines above", {"share": 100 * factor}),
        price=price,
        power_typical=None,
        power_max=None,
        rack_units=None,
        weight=None,
    )


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
        rule = Message("{count} × {system}, {hosts} each", _each(system, count) | {"hosts": system.hosts})
        yield part(catalog, HOST, "hosts", "host", count * system.hosts, rule)
    if system.chip_kind is not ChipKind.IPU:
        return
    for line in system.bill:
        if line.item in (system.machine, HOST):
            continue
        group, use = _place_of(catalog, line.item)
        rule = Message("{count} × {system}, {parts} each", _each(system, count) | {"parts": line.count})
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
        return Message("{count} requested", {"count": count})
    return Message(
        "{count} × {system}, {machines} each", _each(system, count) | {"machines": system.machines}
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
            "{ports} GW-Link ports, one cable each to the switches"
            if switched
            else "{ports} GW-Link ports; each cable connects two racks"
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
            "{machines} machines × {each} and {hosts} hosts × {of_host}, to the pod switch",
            {"machines": machines, "each": each, "hosts": hosts, "of_host": of_host},
        )
        cables = machines * each + hosts * of_host
    else:
        rule = Message(
            "{machines} machines × {each}, directly to the host", {"machines": machines, "each": each}
        )
        cables = machines * each
    yield part(catalog, POD_CABLE, "cables", "host_cable", cables, rule)
