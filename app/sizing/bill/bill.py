"""The whole bill: lines from the rules, sums, racks and what to ask about them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from app.catalog import Acquisition, Catalog, ChipKind, Figure, Spread, SystemEntry
from app.engine.units import KILOWATT
from app.errors import BadInput, Conflict, Message
from app.sizing.bill import racks
from app.sizing.bill.ancillary import installation, management_parts, spare_parts, storage_parts
from app.sizing.bill.checks import bill_warnings
from app.sizing.bill.documents import (
    Bill,
    FabricPlan,
    Tax,
)
from app.sizing.bill.fabric import described, fabric_warnings
from app.sizing.bill.lines import BillPart
from app.sizing.bill.network import NetworkBill, network_bill
from app.sizing.bill.parts import machine_parts, pod_cables
from app.sizing.bill.request import BillRequest, check_asked
from app.sizing.bill.sums import Money, bill_lines, bill_racks, bill_totals, group_totals
from app.sizing.context import SizingContext
from app.sizing.document import Quantity, Text
from app.sizing.hardware import MOST_DEVICES, known_id
from app.sizing.trace import source_ref

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
