"""From bills of materials to what their pages show; no number is made here."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from urllib.parse import urlencode

from app.reports.drawings.rack import heading, rack_elevation, stretches
from app.reports.drawings.svg import Drawing
from app.reports.drawings.topology import topology
from app.reports.wording import Voice
from app.sizing.bill.documents import Bill, Rack
from app.web.bill_contexts import BillPage, BillSection, RackRow
from app.web.contexts import Choice, DrawingView
from app.web.pages.presenting import grouped


def bill_page(
    bill: Bill, others: Sequence[Choice], voice: Voice, documents: Sequence[tuple[str, str]]
) -> BillPage:
    """Return the page of a bill."""
    return BillPage(
        data_url=f"/boms/{bill.id}.json",
        documents=documents,
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
        for _, _, count, one in stretches(rack.placements):
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
