"""From bills of materials to what their pages show; no number is made here."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from app.errors import Message
from app.features.bills.drawings import heading, rack_elevation, stretches, topology
from app.features.bills.model import Bill, BillComparison, BillLine, FabricPlan, GroupTotal, Rack
from app.platform.charts.svg import Drawing
from app.platform.web.contexts import Choice, ChoiceGroup, DrawingView, Form, WarningGroup, grouped
from app.platform.wording.voice import Voice


@dataclass(frozen=True, slots=True, kw_only=True)
class FabricPage:
    """A network by its nodes and switches."""

    form: Form
    examples: Sequence[Choice]
    """Queries worth trying, by name."""
    plan: FabricPlan | None
    stale: bool
    """Whether the result is an earlier one, for what is asked now is refused."""
    previous: str
    """Query of the result that is shown."""
    drawing: DrawingView | None
    warnings: Sequence[WarningGroup]


@dataclass(frozen=True, slots=True, kw_only=True)
class BillFormPage:
    """The form that asks for a bill of materials."""

    form: Form
    message: Message | None
    """What is wrong with the form as a whole."""
    systems: Sequence[ChoiceGroup]
    fabrics: Sequence[Choice]
    heights: Sequence[Choice]
    """Heights of racks."""
    currencies: Sequence[Choice]
    estimate: Choice | None
    """Estimate whose system is billed; the form asks for no system then."""
    earlier: Sequence[Choice]
    """Bills made before, the newest first."""


@dataclass(frozen=True, slots=True)
class BillSection:
    """The lines of one group with their sum."""

    total: GroupTotal
    lines: Sequence[BillLine]


@dataclass(frozen=True, slots=True)
class RackRow:
    """Racks that are filled alike, as the table names them."""

    name: str
    rack: Rack
    contents: str
    """What stands in one of them, in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BillPage:
    """A bill of materials with its racks and its network."""

    bill: Bill
    groups: Sequence[BillSection]
    racks: Sequence[RackRow]
    elevation: DrawingView | None
    topology: DrawingView | None
    fabric_query: str
    """Query of the page that plans the network alone."""
    change_query: str
    """Query that fills the form with what was asked."""
    warnings: Sequence[WarningGroup]
    others: Sequence[Choice]
    """Bills to compare with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BillComparisonPage:
    """Two bills of materials side by side."""

    comparison: BillComparison
    warnings: Sequence[WarningGroup]


def bill_page(bill: Bill, others: Sequence[Choice], voice: Voice) -> BillPage:
    """Return the page of a bill."""
    return BillPage(
        bill=bill,
        groups=groups(bill),
        racks=rack_rows(bill.racks, voice),
        elevation=drawing_view("elevation", rack_elevation(bill.racks, voice), "racks")
        if bill.racks
        else None,
        topology=drawing_view("topology", topology(bill.network, voice), "") if bill.network else None,
        fabric_query=fabric_query(bill),
        change_query=change_query(bill),
        warnings=grouped(("", warning) for warning in bill.warnings),
        others=others,
    )


def drawing_view(name: str, drawing: Drawing, table: str) -> DrawingView:
    """Return a drawing with the title it has as its caption."""
    return DrawingView(name, drawing.title, drawing, table)


def groups(bill: Bill) -> list[BillSection]:
    """Return lines under their groups."""
    listed = {name: list(lines) for name, lines in itertools.groupby(bill.lines, key=lambda line: line.group)}
    return [BillSection(total, listed[total.group]) for total in bill.groups]


def rack_rows(racks: Sequence[Rack], voice: Voice) -> list[RackRow]:
    """Return racks with their names and what stands in them."""
    rows, number = [], 1
    for rack in racks:
        counts: dict[str, int] = {}
        for count, one in stretches(rack.placements):
            counts[one.name] = counts.get(one.name, 0) + count
        contents = ", ".join(f"{count} × {voice.gettext(name)}" for name, count in counts.items())
        rows.append(RackRow(heading(rack, number, voice), rack, contents))
        number += rack.count
    return rows


def fabric_query(bill: Bill) -> str:
    """Return the query that plans the bill's network alone; empty where it has none."""
    plan = bill.network
    if plan is None:
        return ""
    return urlencode(
        {
            "nodes": plan.nodes,
            "ports_per_node": plan.rails,
            "port_gbps": f"{plan.port_gbps:g}",
            "switch_ports": plan.switch_ports,
            "oversubscription": f"{bill.request.oversubscription:g}",
        }
    )


def change_query(bill: Bill) -> str:
    """Return the query that fills the form with what was asked, to ask for something else."""
    asked = bill.request.model_dump(mode="json", exclude_none=True, exclude={"label"})
    return urlencode(
        {name: f"{value:g}" if isinstance(value, float) else value for name, value in asked.items()}
    )
