"""What stands around the machines: shared storage, the management network, spares and installation."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Sequence

from app.catalog import HOST, Catalog, ChipKind, Figure, SystemEntry
from app.errors import BadInput, FieldError, Message
from app.sizing.bill.lines import DOLLAR, BillPart, added, part
from app.sizing.bill.network import CABLING, adapters, network_bill

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
    rule = Message("{tb} TB usable at {each} TB a server", {"tb": terabytes, "each": capacity.value})
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
            "{ports} management ports at {each} a switch, {brought} of which come with the pods"
            if brought
            else "{ports} management ports at {each} a switch"
        )
        yield part(
            catalog, switch, "management_network", "management_switch", more, Message(template, values)
        )
    rule = Message("{ports} management ports, a cable each", values)
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
                "{spare} beyond the {count} that run: N+{spare}", {"spare": spare, "count": line.count}
            )
            yield part(catalog, line.item, "spares", "spare_machine", spare, rule)
        elif line.use == "host":
            rule = Message("one beyond the {count} that run", {"count": line.count})
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
