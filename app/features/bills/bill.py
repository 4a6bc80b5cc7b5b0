"""The whole bill: lines from the rules, sums, racks and warnings."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Literal

from app.catalog.catalog import Catalog
from app.catalog.entries import Acquisition, ChipKind, SystemEntry
from app.catalog.figures import Figure, Spread
from app.engine.units import KILOWATT, TERABYTE, YEAR
from app.errors import BadInput, Conflict, Message, fields_at
from app.estimating.bill_parts import COST, GIGABIT
from app.estimating.context import SizingContext
from app.estimating.documents import CheckWarning, Text
from app.estimating.hardware import MOST_DEVICES, known_id
from app.estimating.money import Currency, ExchangeRate, exact
from app.estimating.network_parts import DOLLAR, BillPart, NetworkBill, network_bill
from app.estimating.purchase import WHOLE, Order, Purchase, printed_price, purchase_of
from app.estimating.ranges import scaled
from app.estimating.schema import Quantity, filled
from app.estimating.trace import source_ref
from app.features.bills.fabric import fabric_plan
from app.features.bills.model import (
    Bill,
    BillLine,
    BillRequest,
    BillTotals,
    FabricPlan,
    GroupTotal,
    Tax,
    check_asked,
)
from app.features.bills.racks import bill_racks


def make_bill(
    request: BillRequest, context: SizingContext, identifier: str = "", estimate_id: str | None = None
) -> Bill:
    check_asked(request)
    catalog = context.priced(request.price_book_id).catalog
    system, count = bought_system(catalog, request), request.count
    machines = count * system.machines
    check_network(catalog, system, request)
    with fields_at(lambda _: "storage_tb"):
        order = _order(catalog, system, request)
        purchase = purchase_of(catalog, order)
    parts, network = purchase.parts, purchase.network
    plan = None
    if network is not None:
        gbps = catalog.figure(network.fabric, "line_rate").si / GIGABIT
        plan = fabric_plan(network.tree, machines, network.switch_ports, gbps)
    rate = ExchangeRate.of(catalog, request.currency)
    lines = [_line(part, rate) for part in parts]
    totals = _totals(lines, request.currency, len(purchase.racks))
    vat, duty = (catalog.figure("cost-defaults", name, request.region) for name in ("vat", "duty"))
    unit = catalog.find(system.machine.id, "scalable_unit")
    label = f"{count} × {system.name}"
    if network is not None:
        label += f", {catalog.items[network.fabric].name}"
    return Bill(
        id=identifier,
        label=request.label or label,
        request=request,
        estimate_id=estimate_id,
        catalog_version=catalog.version,
        system=system.id,
        name=system.name,
        count=count,
        machines=machines,
        accelerators=count * system.devices,
        scalable_units=None if unit is None else -(-machines // round(unit.si)),
        fabric=system.fabric if network is None else network.fabric,
        currency=request.currency,
        package=_package(system, count, None, rate),
        equipment=_package(system, count, network, rate),
        taxes=[_tax("vat", vat, totals.price), _tax("duty", duty, totals.price)],
        tax_note=Text.of(
            Message(
                "Prices exclude VAT ({vat} %) and customs duty ({duty} %).",
                {"vat": round(100 * vat.si, 1), "duty": round(100 * duty.si, 1)},
            )
        ),
        lines=lines,
        groups=_group_totals(lines, request.currency),
        totals=totals,
        network=plan,
        racks=bill_racks(purchase.racks, purchase.limits),
        warnings=[
            *_warnings(system, request, purchase, plan),
            *_network_step(catalog, order, network),
            *_network_share(purchase, order, plan),
        ],
    )


def bought_system(catalog: Catalog, request: BillRequest) -> SystemEntry:
    """Return the system; refuse one for which there is no bill."""
    system = catalog.system(known_id(catalog, "system", str(request.system), "system"))
    if system.acquisition is not Acquisition.OWN:
        raise BadInput.at(
            "system",
            "{system} is rented by the hour; a bill of materials covers purchased systems only",
            system=system.name,
        )
    if request.count * system.devices > MOST_DEVICES:
        raise BadInput.at(
            "count",
            "{count} × {system} exceeds {most} accelerators; reduce the count",
            count=request.count,
            system=system.name,
            most=MOST_DEVICES,
        )
    if system.machine.chip.kind is ChipKind.IPU:
        if request.fabric not in (None, system.fabric):
            raise Conflict.at(
                "fabric",
                "{system} is connected by IPU-Links and GW-Links; leave the fabric empty or use {fabric}",
                system=system.name,
                fabric=system.fabric,
            )
        for name, stated in (
            ("ports_per_node", request.ports_per_node is not None),
            ("oversubscription", request.oversubscription > 1.0),
        ):
            if stated:
                message = "{system} comes with its own links; leave this empty"
                raise BadInput.at(name, message, system=system.name)
    return system


def check_network(catalog: Catalog, system: SystemEntry, request: BillRequest) -> None:
    """Refuse a network between machines that cannot be bought or built."""
    nodes = request.count * system.machines
    if system.machine.chip.kind is ChipKind.IPU or nodes == 1:
        return
    network_bill(
        catalog,
        fabric=known_id(catalog, "fabric", request.fabric or system.fabric, "fabric"),
        nodes=nodes,
        ports_per_node=request.ports_per_node or system.ports_per_node,
        oversubscription=request.oversubscription,
        machine=system.machine.id,
    )


def _order(catalog: Catalog, system: SystemEntry, request: BillRequest) -> Order:
    include = WHOLE if request.include is None else request.include
    storage = request.storage_tb
    if storage is None and "storage" in (request.include or ()):
        per_machine = catalog.figure(COST, "storage_per_node")
        storage = per_machine.si / TERABYTE * request.count * system.machines
    years = request.licence_years
    if years is None:
        years = catalog.figure(COST, "amortisation").si / YEAR
    return Order(
        system=system,
        count=request.count,
        fabric=request.fabric or system.fabric,
        ports_per_node=request.ports_per_node or system.ports_per_node,
        oversubscription=request.oversubscription,
        include=tuple(include),
        storage_tb=storage,
        licence_years=years if "licences" in include else 0.0,
        spare=request.spare,
        rack=f"rack-{request.rack_units}u",
        rack_power=None if request.rack_power_kw is None else request.rack_power_kw * KILOWATT,
    )


def _package(
    system: SystemEntry, count: int, network: NetworkBill | None, rate: ExchangeRate
) -> Quantity | None:
    """Return the price of the systems and the network between them; None without a price."""
    price, joined = system.price, Spread(0.0, 0.0, 0.0, DOLLAR) if network is None else network.price
    if price is None:
        return None
    return rate.amount(
        Spread(
            count * price.value + joined.value,
            count * price.low + joined.low,
            count * price.high + joined.high,
            DOLLAR,
        )
    )


def _line(part: BillPart, rate: ExchangeRate) -> BillLine:
    """Return a line in the currency of the bill, its total rounded as it is printed."""
    figure, printed = part.price, printed_price(part, rate)
    powered = part.group != "spares"
    return filled(
        BillLine,
        part,
        quantity=part.count,
        rule=Text.of(part.rule),
        unit_price=None if printed is None else printed[0],
        total=None if printed is None else printed[1],
        power=_times(part.count, part.power_typical) if powered else None,
        power_max=_times(part.count, part.greatest) if powered else None,
        rack_units=part.count * part.height,
        weight=_times(part.count, part.weight),
        source=None if figure is None else source_ref(figure.source),
        as_of="" if figure is None else figure.as_of,
        status="unknown" if figure is None else "estimate" if figure.estimated else "published",
        note="" if figure is None else figure.note,
    )


def _times(count: int, figure: Figure | None) -> Quantity | None:
    if figure is None:
        return None
    value, low, high = (count * end for end in (figure.si, figure.si_low, figure.si_high))
    return Quantity(value=value, low=low, high=high, unit=figure.si_unit)


def _summed(amounts: Iterable[Quantity | None], unit: str) -> Quantity:
    """Add up quantities and both ends of their ranges, so that the range is not too narrow."""
    known = [amount for amount in amounts if amount is not None]
    return Quantity(
        value=sum(amount.value for amount in known),
        low=sum(amount.low for amount in known),
        high=sum(amount.high for amount in known),
        unit=unit,
    )


def _price_of(lines: Sequence[BillLine], currency: Currency) -> tuple[Quantity, bool]:
    """Return the exact sum of printed totals with its range, and whether all prices are known."""
    totals = [line.total for line in lines if line.total is not None]
    spread = _summed(totals, currency)
    # Cents are added as decimals: floats would leave a remainder.
    value = float(sum(exact(total.value) for total in totals))
    price = Quantity(value=value, low=min(spread.low, value), high=max(spread.high, value), unit=currency)
    return price, len(totals) == len(lines)


def _group_totals(lines: Sequence[BillLine], currency: Currency) -> list[GroupTotal]:
    """Return the sums of the groups; lines of a group stand together."""
    totals = []
    for group, members in itertools.groupby(lines, key=lambda line: line.group):
        listed = list(members)
        price, complete = _price_of(listed, currency)
        power = _summed((line.power for line in listed), "W")
        totals.append(GroupTotal(group=group, price=price, complete=complete, power=power))
    return totals


def _totals(lines: Sequence[BillLine], currency: Currency, racks: int) -> BillTotals:
    price, complete = _price_of(lines, currency)
    return BillTotals(
        price=price,
        complete=complete,
        power=_summed((line.power for line in lines), "W"),
        power_max=_summed((line.power_max for line in lines), "W"),
        rack_units=sum(line.rack_units for line in lines if line.use != "spare_switch"),
        racks=racks,
        weight=_summed((line.weight for line in lines), "kg"),
    )


def _tax(name: Literal["vat", "duty"], rate: Figure, total: Quantity) -> Tax:
    return Tax(
        name=name,
        rate=rate.si,
        amount=scaled(total, rate.si),
        source=source_ref(rate.source),
        as_of=rate.as_of,
        note=rate.note,
    )


STEP = 1.3
"""Factor between the money per port of two counts that follow each other, above which it has a reason."""


def _network_step(catalog: Catalog, order: Order, network: NetworkBill | None) -> Iterable[CheckWarning]:
    """Say why a port costs much more than with one system less: another level of switches."""
    before = (
        purchase_of(catalog, replace(order, count=order.count - 1)).network
        if network is not None and order.count > 1
        else None
    )
    if network is None or before is None or network.per_port <= STEP * before.per_port:
        return
    message = Message(
        "the network costs {times} times as much per port as for {fewer} systems: its {ports} ports need "
        "{levels} levels of switches instead of {before}; a few systems less or many more use it better",
        {
            "times": round(network.per_port / before.per_port, 1),
            "fewer": order.count - 1,
            "ports": int(network.tree.endpoints),
            "levels": int(network.tree.levels),
            "before": int(before.tree.levels),
        },
    )
    yield CheckWarning.of("network_level_added", "info", message, "count")


MOST_SHARE = 0.3
"""Share of the network in a bill above which it has a reason."""


def _network_share(purchase: Purchase, order: Order, plan: FabricPlan | None) -> Iterable[CheckWarning]:
    """Say why a network takes a large part of the money: many or fast ports on machines that cost little."""
    share = purchase.network_share
    if plan is None or share is None or share <= MOST_SHARE:
        return
    message = Message(
        "the network is {share} % of the price: {each} ports of {rate} Gb/s on each machine need {switches} "
        "switches of {radix} ports in {levels} levels; fewer ports, oversubscription or another network "
        "cost less",
        {
            "share": round(100 * share),
            "each": order.ports_per_node,
            "rate": round(plan.port_gbps),
            "switches": plan.switches,
            "radix": plan.switch_ports,
            "levels": plan.levels,
        },
    )
    yield CheckWarning.of("network_dear", "caution", message, "ports_per_node")


def _warnings(
    system: SystemEntry,
    request: BillRequest,
    purchase: Purchase,
    plan: FabricPlan | None,
) -> list[CheckWarning]:
    parts, limits = purchase.parts, purchase.limits
    warnings = [] if plan is None else list(plan.warnings)
    unknown = list(dict.fromkeys(part.name for part in parts if part.price is None))
    if unknown:
        message = Message(
            "the price of {parts} is unknown: the total is at least the sum of the other lines",
            {"parts": ", ".join(unknown)},
        )
        warnings.append(CheckWarning.of("price_unknown", "caution", message, "price_book_id"))
    estimated = sum(part.price is not None and part.price.estimated for part in parts)
    if estimated:
        message = Message(
            "the prices of {estimated} of {lines} lines are estimates; replace them with a "
            "quote or a price book",
            {"estimated": estimated, "lines": len(parts)},
        )
        warnings.append(CheckWarning.of("prices_estimated", "info", message, "price_book_id"))
    over = max((rack.greatest for rack in purchase.racks), default=0.0)
    if over > limits.power:
        message = Message(
            "equipment that must stay together draws up to {power} kW, but a rack may draw "
            "{limit} kW: ask the site for the higher limit, or for a second rack within reach "
            "of short cables",
            {"power": round(over / KILOWATT, 1), "limit": round(limits.power / KILOWATT, 1)},
        )
        warnings.append(CheckWarning.of("rack_power_exceeded", "caution", message, "rack_power_kw"))
    if not request.storage_tb:
        message = Message("shared storage is not included; enter its capacity to include it")
        warnings.append(CheckWarning.of("storage_not_counted", "info", message, "storage_tb"))
    if system.machine.chip.kind is ChipKind.IPU and request.count > 1:
        message = Message(
            "{count} × {system} are counted as separate systems; larger pods are joined by GW-Links",
            {"count": request.count, "system": system.name},
        )
        warnings.append(CheckWarning.of("pods_not_joined", "info", message, "count"))
    unweighed = list(dict.fromkeys(part.name for part in parts if part.weight is None and part.height > 0))
    if unweighed:
        message = Message("the weight of {parts} is unknown", {"parts": ", ".join(unweighed)})
        warnings.append(CheckWarning.of("weight_unknown", "info", message, "racks"))
    return warnings
