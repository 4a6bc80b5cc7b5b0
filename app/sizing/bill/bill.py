"""The whole bill: lines from the rules, sums, racks and what to ask about them."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from app.catalog import Acquisition, Catalog, ChipKind, Figure, Spread, SystemEntry
from app.errors import BadInput, Conflict
from app.sizing.bill import racks
from app.sizing.bill.around import SWITCHES, installation, management_parts, spare_parts, storage_parts
from app.sizing.bill.checks import bill_warnings
from app.sizing.bill.documents import (
    Bill,
    BillLine,
    BillTotals,
    FabricPlan,
    GroupTotal,
    Placement,
    Rack,
)
from app.sizing.bill.fabric import described, fabric_warnings
from app.sizing.bill.lines import DOLLAR, Part, added
from app.sizing.bill.network import NetworkBill, network_bill
from app.sizing.bill.parts import machine_parts, pod_cables
from app.sizing.bill.request import BillRequest, check_asked
from app.sizing.context import SizingContext
from app.sizing.document import Quantity, Text
from app.sizing.hardware import MOST_DEVICES, known_id
from app.sizing.quantities import spread_quantity
from app.sizing.quote import Currency, quote, quote_line
from app.sizing.trace import source_ref

KILOWATT = 1000.0
GIGABIT_PER_SECOND = 1.25e8


@dataclass(frozen=True, slots=True)
class Money:
    """Dollars of the catalogue in the currency of the bill."""

    currency: Currency
    rate: float
    """Units of it per dollar. [-]"""

    def of(self, spread: Spread) -> Quantity:
        """Return an amount in the currency."""
        value, low, high = (self.rate * part for part in (spread.value, spread.low, spread.high))
        return Quantity(value=value, low=low, high=high, unit=self.currency)


def make_bill(
    request: BillRequest, context: SizingContext, identifier: str = "", estimate_id: str | None = None
) -> Bill:
    """Return the bill of materials of a system.

    Parameters
    ----------
    request : BillRequest
        The system, how many, and what stands around it; an estimate has been replaced by its system. [-]
    context : SizingContext
        Catalogue, with the prices of a workspace where it has its own. [-]
    identifier : str
        Identifier of the bill. [-]
    estimate_id : str or None
        Estimate whose system it is. [-]
    """
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
    plan = _plan(catalog, network, system, request)
    lines = _lines(parts, money)
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
        lines=lines,
        groups=_groups(lines, money),
        totals=_totals(lines, money, len(packed)),
        network=plan,
        racks=_racks(packed, limits),
        warnings=bill_warnings(catalog, system, request, parts, packed, limits, plan),
    )


def bought(catalog: Catalog, request: BillRequest) -> SystemEntry:
    """Return the system, or refuse what no bill can be made of."""
    system = catalog.system(known_id(catalog, "system", str(request.system), "system"))
    if system.acquisition is not Acquisition.OWN:
        raise BadInput.at(
            "system",
            "{system} is rented by the hour; a bill is made of systems that are bought",
            system=system.name,
        )
    if request.count * system.devices > MOST_DEVICES:
        raise BadInput.at(
            "count",
            "{count} × {system} are more than {most} accelerators; ask for fewer",
            count=request.count,
            system=system.name,
            most=MOST_DEVICES,
        )
    if system.chip_kind is ChipKind.IPU:
        if request.fabric not in (None, system.fabric):
            raise Conflict.at(
                "fabric",
                "{system} is joined by IPU-Links and GW-Links; leave the fabric out or give {fabric}",
                system=system.name,
                fabric=system.fabric,
            )
        given = {
            "ports_per_node": request.ports_per_node is not None,
            "oversubscription": request.oversubscription > 1.0,
        }
        for name in (name for name, stated in given.items() if stated):
            raise BadInput.at(name, "{system} comes with its own links; leave this out", system=system.name)
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
) -> list[Part]:
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


def _rate(catalog: Catalog, currency: str) -> float:
    return catalog.figure("cost-defaults", "exchange_rate", "krw").si if currency == "KRW" else 1.0


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


def _range(count: int, figure: Figure | None) -> Quantity | None:
    return None if figure is None else spread_quantity(added([(count, figure)], figure.si_unit))


def _lines(parts: Sequence[Part], money: Money) -> list[BillLine]:
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


def _line(one: Part, money: Money) -> BillLine:
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


def _groups(lines: Sequence[BillLine], money: Money) -> list[GroupTotal]:
    found = []
    for group, members in itertools.groupby(lines, key=lambda line: line.group):
        listed = list(members)
        price, complete = _priced(listed, money)
        power = _summed((line.power for line in listed), "W")
        found.append(GroupTotal(group=group, price=price, complete=complete, power=power))
    return found


def _totals(lines: Sequence[BillLine], money: Money, count: int) -> BillTotals:
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


def _racks(packed: Sequence[racks.Packed], limits: racks.Limits) -> list[Rack]:
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
