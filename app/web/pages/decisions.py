"""The tools around the hardware, on one page."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response

from app.errors import Message
from app.web.contexts import Choice, DecisionsPage
from app.web.pages.documents import available
from app.web.rendering import render

router = APIRouter(include_in_schema=False)

TOOLS = {
    "/boms/new": (
        Message("Bill of materials"),
        Message(
            "Machines, switches, cables and racks of a system, line by line, with price, power and weight."
        ),
    ),
    "/fabrics": (
        Message("Network"),
        Message("Leaf and spine switches, cables and oversubscription of so many nodes."),
    ),
    "/fabric-choices/new": (
        Message("Which network to buy"),
        Message("What a faster network gains on this workload, what it costs, and whether it is worth it."),
    ),
    "/breakevens": (
        Message("Build or rent"),
        Message("After how many months an own cluster is cheaper than the cloud, if ever."),
    ),
    "/partitions": (
        Message("Partitions"),
        Message("Which teams fit on a pod or a cluster together, isolated from each other."),
    ),
    "/queues": (
        Message("Sharing a cluster"),
        Message("How long each team waits over a year, and how many machines keep the wait short."),
    ),
    "/price-books": (
        Message("Price books"),
        Message("Your own prices, discounts and rates in place of the catalogue's, with every version kept."),
    ),
    "/claims": (
        Message("Vendor claims"),
        Message("Published ratios beside our own estimate per chip, system, dollar and watt."),
    ),
}
"""Address → what it is and what it answers."""


@router.get("/decisions", response_class=HTMLResponse)
def show_decisions(request: Request) -> Response:
    """Show the tools."""
    tools = [Choice(address, str(name), str(detail)) for address, (name, detail) in TOOLS.items()]
    return render(request, "decisions.html", DecisionsPage(documents=available(), tools=tools))
