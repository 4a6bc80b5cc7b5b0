"""The rules of a purchase: machines, their links, storage, management, spares, licences and installation."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

from app.catalog.catalog import Catalog
from app.catalog.entries import HOST, ChipKind, SystemEntry, total
from app.catalog.figures import Figure
from app.errors import Message, fields_at
from app.estimating.network_parts import CABLING, DOLLAR, BillPart, Group, adapters, network_bill, part

CLUSTER = "cluster-defaults"

COST = "cost-defaults"

STORAGE_SERVER = "storage-server"

CHECKPOINTS = "checkpoint-storage"

SERVICE_SERVER = "service-server"

MANAGEMENT_CABLE = "cable-1g"

IPU_LINK_CABLE = "cable-osfp-link"

POD_CABLE, POD_OPTICAL = "cable-100g-copper", "cable-100g-active"

GIGABIT = 1.25e8
"""[B/s]"""

GATEWAY = 400 * GIGABIT
"""Line rate of switches that join racks of IPUs over GW-Links. [B/s]"""

SWITCHES = frozenset(
    {"leaf", "spine", "core", "single_switch", "host_switch", "gateway_switch", "management_switch"}
)
"""Uses of switches, by which spares and management ports are counted."""


def machine_parts(
    catalog: Catalog, system: SystemEntry, count: int, whole: Figure | None
) -> Iterable[BillPart]:
    """Yield machines, hosts and the switches that come with pods.

    Where a price is that of a whole pod, the pod is one line, and its parts are included in it.
    """
    if whole is None or whole.value is None:
        yield from _system_parts(catalog, system, count)
        return
    if system.machines > 1 or system.hosts:
        rule = Message("{count} requested", {"count": count})
        yield BillPart(
            item=system.id,
            name=system.name,
            group="machines",
            use="system",
            count=count,
            rule=rule,
            price=whole,
        )
    for line in _system_parts(catalog, system, count):
        alone = line.use == "machine" and system.machines == 1 and not system.hosts
        yield replace(line, price=whole) if alone else included(line, whole, system.name)


def included(line: BillPart, whole: Figure, system: str) -> BillPart:
    """Return a line whose price is part of that of the whole system."""
    note = "; ".join(filter(None, (f"0 ({system})", whole.note)))
    return replace(line, price=replace(whole, value=0.0, low=None, high=None, text="0", note=note))


def _system_parts(catalog: Catalog, system: SystemEntry, count: int) -> Iterable[BillPart]:
    machines, values = count * system.machines, {"count": count, "system": system.name}
    unit = catalog.find(system.machine.id, "scalable_unit")
    if unit is not None:
        size = round(unit.si)
        rule = Message(
            "{machines} machines; scalable units of up to {size}: {units}",
            {"machines": machines, "units": -(-machines // size), "size": size},
        )
    elif system.machines == 1:
        rule = Message("{count} requested", {"count": count})
    else:
        rule = Message("{count} × {system}, {machines} each", values | {"machines": system.machines})
    yield part(catalog, system.machine.id, "machines", "machine", machines, rule)
    if system.hosts:
        rule = Message("{count} × {system}, {hosts} each", values | {"hosts": system.hosts})
        yield part(catalog, HOST, "hosts", "host", count * system.hosts, rule)
    if system.machine.chip.kind is ChipKind.IPU:
        for line in system.bill:
            if line.item not in (system.machine.id, HOST):
                group, use = _switch_use(catalog, line.item)
                rule = Message("{count} × {system}, {parts} each", values | {"parts": line.count})
                yield part(catalog, line.item, group, use, count * line.count, rule)


def _switch_use(catalog: Catalog, switch: str) -> tuple[Group, str]:
    """Group and use of a pod's switch by its rate: management, hosts, or GW-Links between racks."""
    rate = catalog.figure(switch, "port_rate").si
    if rate <= GIGABIT:
        return "management_network", "management_switch"
    return "compute_network", "gateway_switch" if rate >= GATEWAY else "host_switch"


def machines_linked(catalog: Catalog, system: SystemEntry) -> int:
    """Return the number of machines joined by their own links, which share a rack.

    Such links are IPU-Links and the switch trays of a rack that is sold as one.
    """
    if system.machine.chip.kind is ChipKind.IPU:
        joined = round(catalog.figure(system.machine.chip.id, "pod_size").si)
    else:
        domain = catalog.find(system.machine.id, "domain_devices")
        joined = system.machine.devices if domain is None else round(domain.si)
    return min(system.machines, max(joined // system.machine.devices, 1))


def pod_cables(catalog: Catalog, system: SystemEntry, count: int) -> Iterable[BillPart]:
    """Yield the cables inside IPU pods: IPU-Links, hosts, GW-Links between racks."""
    machines, hosts, linked = count * system.machines, count * system.hosts, machines_linked(catalog, system)
    chains = count * math.ceil(system.machines / linked)
    own = [line.item for line in system.bill if line.item not in (system.machine.id, HOST)]
    switches = {_switch_use(catalog, item)[1] for item in own}
    if linked > 1:
        links = round(catalog.figure(CABLING, "neighbour_links").si)
        closed = linked * system.machine.devices >= round(
            catalog.figure(system.machine.chip.id, "pod_size").si
        )
        template = (
            "{chains} rings of {linked} machines, {each} cables between neighbours"
            if closed
            else "{chains} rows of {linked} machines, {each} cables between neighbours"
        )
        rule = Message(template, {"chains": chains, "linked": linked, "each": links})
        cables = chains * (linked if closed else linked - 1) * links
        yield part(catalog, IPU_LINK_CABLE, "cables", "ipu_link_cable", cables, rule)
    links = round(catalog.figure(CABLING, "switch_host_links").si)
    cables = machines * links
    if "host_switch" in switches:
        of_host = round(catalog.figure(CABLING, "host_switch_links").si)
        cables += hosts * of_host
        rule = Message(
            "{machines} machines × {each} and {hosts} hosts × {of_host}, to the pod switch",
            {"machines": machines, "each": links, "hosts": hosts, "of_host": of_host},
        )
    else:
        values = {"machines": machines, "each": links}
        rule = Message("{machines} machines × {each}, directly to the host", values)
    yield part(catalog, POD_CABLE, "cables", "host_cable", cables, rule)
    if chains > count:
        ports = machines * round(catalog.figure(system.machine.id, "gateway_links").si)
        switched = "gateway_switch" in switches
        template = (
            "{ports} GW-Link ports, one cable each to the switches"
            if switched
            else "{ports} GW-Link ports; each cable connects two racks"
        )
        cables = ports if switched else ports // 2
        rule = Message(template, {"ports": ports})
        yield part(catalog, POD_OPTICAL, "cables", "gateway_cable", cables, rule)


def storage_parts(catalog: Catalog, system: SystemEntry, count: int, terabytes: float) -> Iterable[BillPart]:
    """Yield servers for an amount of usable storage, and their network."""
    if terabytes <= 0:
        return
    size = catalog.figure(STORAGE_SERVER, "usable_capacity").value
    assert size is not None
    servers = math.ceil(terabytes / size)
    rule = Message("{tb} TB usable, {each} TB per server", {"tb": terabytes, "each": size})
    server = part(catalog, STORAGE_SERVER, "storage", "storage_server", servers, rule)
    # A server is bought with the drives that are asked for.
    yield replace(server, price=server.price or _server_price(catalog, terabytes / servers))
    fabric = catalog.figure(CLUSTER, "storage_fabric", system.machine.chip.kind.value).text
    is_pod = system.machine.chip.kind is ChipKind.IPU
    own_ports = None if is_pod else catalog.find(system.machine.id, "storage_ports")
    # In a pod, the hosts access storage.
    reaching = count * (system.hosts if is_pod else system.machines)
    ports = round((own_ports or catalog.figure(CLUSTER, "storage_ports")).si)
    with fields_at(lambda _: "storage_tb"):
        network = network_bill(
            catalog,
            fabric=fabric,
            nodes=ports * reaching + servers * round(catalog.figure(STORAGE_SERVER, "storage_ports").si),
            ports_per_node=1,
            group="storage_network",
            spread_over=reaching + servers,
        )
    for line in network.lines:
        yield replace(line, use=f"storage_{line.use}") if line.group == "cables" else line
    if not is_pod and own_ports is None:
        yield from adapters(catalog, fabric, reaching, ports, CLUSTER, "storage_network")


def _server_price(catalog: Catalog, terabytes: float) -> Figure:
    """Price of a server from the price per usable terabyte, with that figure's source and range."""
    rate = catalog.figure(COST, "storage_flash")
    assert rate.value is not None
    return replace(
        rate,
        item=STORAGE_SERVER,
        parameter="price",
        value=rate.value * terabytes,
        low=None if rate.low is None else rate.low * terabytes,
        high=None if rate.high is None else rate.high * terabytes,
        unit=catalog.figure(HOST, "price").unit,
    )


def service_nodes(catalog: Catalog, system: SystemEntry, machines: int) -> Iterable[BillPart]:
    """Yield the servers that several GPU machines need beside them: to log in, and to manage them."""
    if system.machine.chip.kind is ChipKind.IPU or machines == 1:
        return
    least, share = catalog.figure(CLUSTER, "service_nodes"), catalog.figure(CLUSTER, "service_node_share")
    nodes = max(round(least.si), math.ceil(share.si * machines))
    login = math.ceil(nodes / 3)
    values = {"machines": machines, "share": 100 * share.si, "least": round(least.si)}
    rule = Message("{share} % of {machines} machines, at least {least}: a third to log in", values)
    yield part(catalog, SERVICE_SERVER, "management", "login_node", login, rule)
    rule = Message("{share} % of {machines} machines, at least {least}: two thirds to manage", values)
    yield part(catalog, SERVICE_SERVER, "management", "management_node", nodes - login, rule)


def checkpoint_parts(catalog: Catalog, system: SystemEntry, machines: int) -> Iterable[BillPart]:
    """Yield room for checkpoints on the drives of the service nodes, where no storage is bought."""
    if system.machine.chip.kind is ChipKind.IPU or machines == 1:
        return
    size, rate = catalog.figure(CLUSTER, "checkpoint_storage"), catalog.figure(COST, "storage_flash")
    assert size.value is not None
    terabytes = math.ceil(size.value * machines)
    rule = Message("{machines} machines × {each} TB", {"machines": machines, "each": size.value})
    price = replace(rate, unit=catalog.figure(HOST, "price").unit)
    line = part(catalog, CHECKPOINTS, "storage", "checkpoint_storage", terabytes, rule)
    yield replace(line, price=line.price or price)


def licence_parts(catalog: Catalog, system: SystemEntry, count: int, years: float) -> Iterable[BillPart]:
    """Yield the software licences of a maker, by accelerator and begun year."""
    licence = catalog.find(CLUSTER, "licence", system.machine.chip.maker)
    if licence is None:
        return
    devices, term = count * system.devices, math.ceil(years)
    rule = Message("{devices} accelerators × {years} years", {"devices": devices, "years": term})
    yield part(catalog, licence.text, "software", "licence", devices * term, rule)


def management_parts(catalog: Catalog, system: SystemEntry, parts: Sequence[BillPart]) -> Iterable[BillPart]:
    brought = sum(line.count for line in parts if line.use == "management_switch")
    stored = any(line.group == "storage" for line in parts)
    if system.machine.chip.kind is ChipKind.IPU and not brought and not stored:
        return
    usual, ports = catalog.figure(CLUSTER, "management_ports"), 0
    for line in parts:
        if line.use in ("machine", "host", "login_node", "management_node", "storage_server"):
            ports += line.count * round((catalog.find(line.item, "management_ports") or usual).si)
        elif line.use in SWITCHES and line.use != "management_switch":
            ports += line.count
    switch = catalog.figure(CLUSTER, "management_switch").text
    switch_ports = round(catalog.figure(switch, "ports").si)
    values = {"ports": ports, "each": switch_ports, "brought": brought}
    more = -(-ports // switch_ports) - brought
    if more > 0:
        template = (
            "{ports} management ports, {each} per switch; {brought} of the switches come with the pods"
            if brought
            else "{ports} management ports, {each} per switch"
        )
        rule = Message(template, values)
        yield part(catalog, switch, "management_network", "management_switch", more, rule)
    rule = Message("{ports} management ports, one cable each", values)
    yield part(catalog, MANAGEMENT_CABLE, "cables", "management_cable", ports, rule)


def spare_parts(catalog: Catalog, spare: int, parts: Sequence[BillPart]) -> Iterable[BillPart]:
    """Yield spare machines, a spare switch of each model and spare cables."""
    if not spare:
        return
    switches: set[str] = set()
    cables: dict[str, int] = {}
    for line in parts:
        if line.use == "machine":
            values = {"spare": spare, "count": line.count}
            rule = Message("{spare} in addition to the {count} in use: N+{spare}", values)
            yield part(catalog, line.item, "spares", "spare_machine", spare, rule)
        elif line.use == "host":
            rule = Message("1 in addition to the {count} in use", {"count": line.count})
            yield part(catalog, line.item, "spares", "spare_host", 1, rule)
        elif line.use in SWITCHES and line.item not in switches:
            switches.add(line.item)
            yield part(catalog, line.item, "spares", "spare_switch", 1, Message("one of each model"))
        elif line.group == "cables":
            cables[line.item] = cables.get(line.item, 0) + line.count
    share = catalog.figure(CABLING, "spare_cable_share").si
    for item, count in cables.items():
        rule = Message("{share} % of {count}, rounded up", {"share": 100 * share, "count": count})
        yield part(catalog, item, "spares", "spare_cable", math.ceil(count * share), rule)


def spare_allowance(catalog: Catalog, parts: Sequence[BillPart]) -> BillPart:
    """Return spare parts as a share of the equipment."""
    name = Message("Spare parts")
    return _share_of(catalog, parts, catalog.figure(COST, "spares_share"), name, "spares", "spare_parts")


def installation(catalog: Catalog, parts: Sequence[BillPart]) -> BillPart:
    """Return freight and installation as a share of everything bought."""
    share, name = catalog.figure(COST, "installation_share"), Message("Freight and installation")
    return _share_of(catalog, parts, share, name, "installation", "installation")


def commissioning(catalog: Catalog, parts: Sequence[BillPart]) -> BillPart:
    """Return start-up and acceptance test as a share of everything bought."""
    share, name = catalog.figure(COST, "commissioning_share"), Message("Start-up and acceptance test")
    return _share_of(catalog, parts, share, name, "installation", "commissioning")


def unlisted_network(catalog: Catalog, parts: Sequence[BillPart]) -> BillPart:
    """Return a network without a list of switches at its share of the cost of a published cluster."""
    share, name = catalog.figure("dgx-cluster", "network_share"), Message("Network between machines")
    over = replace(share, value=share.si / (1.0 - share.si))
    return _share_of(catalog, parts, over, name, "compute_network", "network")


def _share_of(
    catalog: Catalog, parts: Sequence[BillPart], share: Figure, name: Message, group: Group, use: str
) -> BillPart:
    """Return one line that costs a share of what others cost."""
    bought = total(((line.count, line.price) for line in parts), DOLLAR)
    price = replace(
        share,
        item=use,
        value=share.si * bought.value,
        low=share.si * bought.low,
        high=share.si * bought.high,
        unit=catalog.figure(HOST, "price").unit,
    )
    rule = Message("{share} % of the lines above", {"share": round(100 * share.si, 1)})
    return BillPart(item=use, name=str(name), group=group, use=use, count=1, rule=rule, price=price)
