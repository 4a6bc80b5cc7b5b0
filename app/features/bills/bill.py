"""The whole bill: lines from the rules, sums, racks and what to ask about them."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from app.catalog.catalog import Catalog
from app.catalog.entries import Acquisition, ChipKind, SystemEntry
from app.catalog.figures import Figure, Spread
from app.engine.units import KILOWATT
from app.errors import BadInput, Conflict, Message
from app.estimating.context import SizingContext
from app.estimating.documents import CheckWarning, Text
from app.estimating.hardware import MOST_DEVICES, known_id
from app.estimating.money import Currency, quote, quote_line
from app.estimating.network_parts import DOLLAR, BillPart, NetworkBill, added, network_bill
from app.estimating.ranges import spread_quantity
from app.estimating.schema import Quantity
from app.estimating.trace import source_ref
from app.features.bills import racks
from app.features.bills.fabric import described, fabric_warnings
from app.features.bills.model import (
    Bill,
    BillLine,
    BillRequest,
    BillTotals,
    FabricPlan,
    GroupTotal,
    Placement,
    Rack,
    Tax,
    check_asked,
)
from app.features.bills.parts import (
    SWITCHES,
    installation,
    machine_parts,
    management_parts,
    pod_cables,
    spare_parts,
    storage_parts,
)
from app.features.bills.racks import Packed, RackLimits


def bill_warnings(
    catalog: Catalog,
    system: SystemEntry,
    request: BillRequest,
    parts: Sequence[BillPart],
    packed: Sequence[Packed],
    limits: RackLimits,
    plan: FabricPlan | None,
) -> list[CheckWarning]:
    """Return the warnings of a bill."""
    found = [] if plan is None else list(plan.warnings)
    unknown = list(dict.fromkeys(line.name for line in parts if line.price is None))
    if unknown:
        message = Message(
            "the price of {parts} is unknown: the total is at least the sum of the other lines",
            {"parts": ", ".join(unknown)},
        )
        found.append(CheckWarning.of("price_unknown", "caution", message, "price_book_id"))
    estimated = sum(line.price is not None and line.price.estimated for line in parts)
    if estimated:
        message = Message(
            "the prices of {estimated} of {lines} lines are estimates; replace them with a "
            "quote or a price book",
            {"estimated": estimated, "lines": len(parts)},
        )
        found.append(CheckWarning.of("prices_estimated", "info", message, "price_book_id"))
    over = max((rack.greatest for rack in packed), default=0.0)
    if over > limits.power:
        message = Message(
            "equipment that must stay together draws up to {power} kW, but a rack may draw "
            "{limit} kW: ask the site for the higher limit, or for a second rack within reach "
            "of short cables",
            {"power": round(over / KILOWATT, 1), "limit": round(limits.power / KILOWATT, 1)},
        )
        found.append(CheckWarning.of("rack_power_exceeded", "caution", message, "rack_power_kw"))
    if not request.storage_tb:
        message = Message("shared storage is not included; set storage_tb to include it")
        found.append(CheckWarning.of("storage_not_counted", "info", message, "storage_tb"))
    if system.chip_kind is ChipKind.IPU and request.count > 1:
        message = Message(
            "{count} × {system} are counted as separate systems; larger pods are joined by GW-Links",
            {"count": request.count, "system": system.name},
        )
        found.append(CheckWarning.of("pods_not_joined", "info", message, "count"))
    unweighed = list(dict.fromkeys(line.name for line in parts if line.weight is None and line.height > 0))
    if unweighed:
        message = Message("the weight of {parts} is unknown", {"parts": ", ".join(unweighed)})
        found.append(CheckWarning.of("weight_unknown", "info", message, "racks"))
    return found


@dataclass(frozen=True, slots=True)
class Money:
    """Dollars of the catalogue in the currency of the bill."""

    currency: Currency
    rate: Spread
    """Units of it per dollar, with its range."""

    def of(self, spread: Spread) -> Quantity:
        """Return an amount in the currency."""
        return Quantity(
            value=self.rate.value * spread.value,
            low=self.rate.low * spread.low,
            high=self.rate.high * spread.high,
            unit=self.currency,
        )


def _range(count: int, figure: Figure | None) -> Quantity | None:
    return None if figure is None else spread_quantity(added([(count, figure)], figure.si_unit))


def bill_lines(parts: Sequence[BillPart], money: Money) -> list[BillLine]:
    """Return the lines in the order of their groups, each total rounded as it is printed."""
    return [_line(one, money) for one in sorted(parts, key=lambda one: GROUPS.index(one.group))]


GROUPS = (
    "machines",
    "hosts",
    "compute_network",
    "storage_network",
    "management_network",
    "cables",
    "storage",
    "spares",
    "racks",
    "installation",
)


def _line(one: BillPart, money: Money) -> BillLine:
    price = None if one.price is None else money.of(added([(1, one.price)], DOLLAR))
    total = None
    if price is not None:
        quoted = quote_line(one.item, one.name, one.count, price.value, money.currency)
        assert quoted.total is not None
        value = float(quoted.total)
        total = Quantity(
            value=value,
            low=min(one.count * price.low, value),
            high=max(one.count * price.high, value),
            unit=money.currency,
        )
    powered = one.group != "spares"
    return BillLine(
        item=one.item,
        name=one.name,
        group=one.group,
        use=one.use,
        quantity=one.count,
        rule=Text.of(one.rule),
        unit_price=price,
        total=total,
        power=_range(one.count, one.power_typical) if powered else None,
        power_max=_range(one.count, one.greatest) if powered else None,
        rack_units=one.count * one.height,
        weight=_range(one.count, one.weight),
        source=None if one.price is None else source_ref(one.price.source),
        as_of="" if one.price is None else one.price.as_of,
        status="unknown" if one.price is None else "estimate" if one.price.estimated else "published",
        note="" if one.price is None else one.price.note,
    )


def _summed(amounts: Iterable[Quantity | None], unit: str) -> Quantity:
    """Add up quantities; both ends of the ranges are added, so that they are no narrower than the truth."""
    known = [amount for amount in amounts if amount is not None]
    return Quantity(
        value=sum(amount.value for amount in known),
        low=sum(amount.low for amount in known),
        high=sum(amount.high for amount in known),
        unit=unit,
    )


def _priced(lines: Sequence[BillLine], money: Money) -> tuple[Quantity, bool]:
    """Return the exact sum of printed totals with its range, and whether no price is missing."""
    quoted = quote(
        (
            quote_line(
                line.item,
                line.name,
                line.quantity,
                None if line.unit_price is None else line.unit_price.value,
                money.currency,
            )
            for line in lines
        ),
        money.currency,
    )
    spread = _summed((line.total for line in lines), money.currency)
    value = float(quoted.total)
    return (
        Quantity(value=value, low=min(spread.low, value), high=max(spread.high, value), unit=money.currency),
        quoted.complete,
    )


def group_totals(lines: Sequence[BillLine], money: Money) -> list[GroupTotal]:
    """Return the sums of the groups; lines of a group stand together."""
    found = []
    for group, members in itertools.groupby(lines, key=lambda line: line.group):
        listed = list(members)
        price, complete = _priced(listed, money)
        power = _summed((line.power for line in listed), "W")
        found.append(GroupTotal(group=group, price=price, complete=complete, power=power))
    return found


def bill_totals(lines: Sequence[BillLine], money: Money, count: int) -> BillTotals:
    """Return the sums of all lines, which stand in so many racks."""
    price, complete = _priced(lines, money)
    return BillTotals(
        price=price,
        complete=complete,
        power=_summed((line.power for line in lines), "W"),
        power_max=_summed((line.power_max for line in lines), "W"),
        rack_units=sum(line.rack_units for line in lines if line.use != "spare_switch"),
        racks=count,
        weight=_summed((line.weight for line in lines), "kg"),
    )


def bill_racks(packed: Sequence[racks.Packed], limits: racks.RackLimits) -> list[Rack]:
    """Return racks, those filled alike as one, in the order they stand."""
    found: dict[tuple[tuple[str, str], ...], tuple[racks.Packed, int]] = {}
    for rack in packed:
        key = tuple((unit.item, unit.use) for unit in rack.units)
        first, count = found.get(key, (rack, 0))
        found[key] = (first, count + 1)
    return [
        Rack(
            count=count,
            height=limits.height,
            used=rack.height,
            power=rack.typical,
            power_max=rack.greatest,
            power_limit=limits.power,
            weight=rack.weight,
            placements=_placements(rack, limits.height),
        )
        for rack, count in found.values()
    ]


def _placements(rack: racks.Packed, height: int) -> list[Placement]:
    """Machines from the floor up, heavy ones low; switches from the top down."""
    found: list[Placement] = []
    floor, top = 1, height
    for unit in rack.units:
        if unit.use in SWITCHES:
            top -= unit.height
            bottom = top + 1
        else:
            bottom = floor
            floor += unit.height
        found.append(
            Placement(item=unit.item, name=unit.name, use=unit.use, bottom=bottom, height=unit.height)
        )
    return sorted(found, key=lambda one: one.bottom)


GIGABIT_PER_SECOND = 1.25e8


def make_bill(
    request: BillRequest, context: SizingContext, identifier: str = "", estimate_id: str | None = None
) -> Bill:
    """Return the bill of materials of a system."""
    check_asked(request)
    catalog = context.priced(request.price_book_id).catalog
    system = bought(catalog, request)
    network = compute_network(catalog, system, request)
    parts = parts_of(catalog, system, request, network)
    item, limits = racks.limits_of(
        catalog,
        request.rack_units,
        None if request.rack_power_kw is None else request.rack_power_kw * KILOWATT,
    )
    packed = racks.pack(racks.blocks_of(catalog, system, request.count, parts), limits)
    parts += racks.rack_parts(catalog, item, packed)
    parts.append(installation(catalog, parts))
    money = Money(request.currency, _rate(catalog, request.currency))
    taxes = _taxes(catalog, request.region)
    plan = _plan(catalog, network, system, request)
    lines = bill_lines(parts, money)
    totals = bill_totals(lines, money, len(packed))
    unit = catalog.find(system.machine, "scalable_unit")
    return Bill(
        id=identifier,
        label=request.label or _label(catalog, system, request, network),
        request=request,
        estimate_id=estimate_id,
        catalog_version=catalog.version,
        system=system.id,
        name=system.name,
        count=request.count,
        machines=request.count * system.machines,
        accelerators=request.count * system.devices,
        scalable_units=None if unit is None else -(-request.count * system.machines // round(unit.si)),
        fabric=system.fabric if network is None else network.fabric,
        currency=request.currency,
        package=None if system.price is None else money.of(_times(system.price, request.count)),
        equipment=_equipment(system, request.count, network, money),
        taxes=[_tax(name, figure, totals.price) for name, figure in taxes.items()],
        tax_note=Text.of(tax_note(taxes)),
        lines=lines,
        groups=group_totals(lines, money),
        totals=totals,
        network=plan,
        racks=bill_racks(packed, limits),
        warnings=bill_warnings(catalog, system, request, parts, packed, limits, plan),
    )


def bought(catalog: Catalog, request: BillRequest) -> SystemEntry:
    """Return the system, or refuse what no bill can be made of."""
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
    if system.chip_kind is ChipKind.IPU:
        if request.fabric not in (None, system.fabric):
            raise Conflict.at(
                "fabric",
                "{system} is connected by IPU-Links and GW-Links; leave the fabric empty or use {fabric}",
                system=system.name,
                fabric=system.fabric,
            )
        given = {
            "ports_per_node": request.ports_per_node is not None,
            "oversubscription": request.oversubscription > 1.0,
        }
        for name in (name for name, stated in given.items() if stated):
            raise BadInput.at(name, "{system} comes with its own links; leave this empty", system=system.name)
    return system


def compute_network(catalog: Catalog, system: SystemEntry, request: BillRequest) -> NetworkBill | None:
    """Return the network between machines; None for one machine and for pods, which bring theirs."""
    nodes = request.count * system.machines
    if system.chip_kind is ChipKind.IPU or nodes == 1:
        return None
    fabric = request.fabric or system.fabric
    return network_bill(
        catalog,
        fabric=known_id(catalog, "fabric", fabric, "fabric"),
        nodes=nodes,
        ports_per_node=request.ports_per_node or system.ports_per_node,
        oversubscription=request.oversubscription,
        machine=system.machine,
    )


def parts_of(
    catalog: Catalog, system: SystemEntry, request: BillRequest, network: NetworkBill | None
) -> list[BillPart]:
    """Return every line but racks and installation."""
    parts = list(machine_parts(catalog, system, request.count))
    if network is not None:
        parts += network.lines
    if system.chip_kind is ChipKind.IPU:
        parts += pod_cables(catalog, system, request.count)
    parts += storage_parts(catalog, system, request.count, request.storage_tb or 0.0)
    parts += management_parts(catalog, system, request.count, parts)
    parts += spare_parts(catalog, request.spare, parts)
    return parts


def _rate(catalog: Catalog, currency: str) -> Spread:
    if currency == "USD":
        return Spread(1.0, 1.0, 1.0, "1")
    won = catalog.figure("cost-defaults", "exchange_rate", "krw")
    return Spread(won.si, won.si_low, won.si_high, won.si_unit)


def _equipment(system: SystemEntry, count: int, network: NetworkBill | None, money: Money) -> Quantity | None:
    if system.price is None:
        return None
    systems = _times(system.price, count)
    if network is None:
        return money.of(systems)
    joined = network.price
    return money.of(
        Spread(
            systems.value + joined.value, systems.low + joined.low, systems.high + joined.high, systems.unit
        )
    )


def _taxes(catalog: Catalog, region: str) -> dict[Literal["vat", "duty"], Figure]:
    return {
        "vat": catalog.figure("cost-defaults", "vat", region),
        "duty": catalog.figure("cost-defaults", "duty", region),
    }


def _tax(name: Literal["vat", "duty"], figure: Figure, total: Quantity) -> Tax:
    value, low, high = (figure.si * end for end in (total.value, total.low, total.high))
    return Tax(
        name=name,
        rate=figure.si,
        amount=Quantity(value=value, low=low, high=high, unit=total.unit),
        source=source_ref(figure.source),
        as_of=figure.as_of,
        note=figure.note,
    )


def tax_note(taxes: Mapping[Literal["vat", "duty"], Figure]) -> Message:
    """Return what prices exclude, in a sentence."""
    rates: dict[str, object] = {name: round(100 * figure.si, 1) for name, figure in taxes.items()}
    return Message("Prices exclude VAT ({vat} %) and customs duty ({duty} %).", rates)


def _times(spread: Spread, count: int) -> Spread:
    return Spread(count * spread.value, count * spread.low, count * spread.high, spread.unit)


def _label(catalog: Catalog, system: SystemEntry, request: BillRequest, network: NetworkBill | None) -> str:
    name = f"{request.count} × {system.name}"
    return name if network is None else f"{name}, {catalog.items[network.fabric].name}"


def _plan(
    catalog: Catalog, network: NetworkBill | None, system: SystemEntry, request: BillRequest
) -> FabricPlan | None:
    if network is None:
        return None
    gbps = catalog.figure(network.fabric, "line_rate").si / GIGABIT_PER_SECOND
    plan = described(network.tree, request.count * system.machines, network.switch_ports, gbps)
    return plan.model_copy(update={"warnings": fabric_warnings(plan, request.oversubscription, None)})
