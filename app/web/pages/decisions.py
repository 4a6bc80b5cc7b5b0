"""The tools around the hardware, on one page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fastapi import Request
from fastapi.responses import HTMLResponse, Response

from app.errors import Message
from app.web.contexts import Choice, ChoiceGroup, DecisionsPage
from app.web.pages.documents import available
from app.web.rendering import render
from app.web.routers import page_router

router = page_router()

TOOLS: Sequence[tuple[Message, Mapping[str, tuple[Message, Message]]]] = (
    (
        Message("Money"),
        {
            "/boms/new": (
                Message("Bill of materials"),
                Message(
                    "Every line with its price, power and weight: machines, switches, cables, racks, spares."
                ),
            ),
            "/breakevens": (
                Message("Build or rent"),
                Message("After how many months an own cluster is cheaper than the cloud, if ever."),
            ),
            "/price-books": (
                Message("Price books"),
                Message(
                    "Your own prices, discounts and rates instead of the catalogue's; every version is kept."
                ),
            ),
        },
    ),
    (
        Message("Network"),
        {
            "/fabric-choices/new": (
                Message("Which network to buy"),
                Message(
                    "What a faster network gains on this workload, what it costs, and whether it is worth it."
                ),
            ),
            "/fabrics": (
                Message("Switches and cables"),
                Message("Leaf and spine switches, cables and oversubscription of so many nodes."),
            ),
        },
    ),
    (
        Message("Sharing"),
        {
            "/partitions": (
                Message("Partitions"),
                Message("Which teams fit on a pod or a cluster together, isolated from each other."),
            ),
            "/queues": (
                Message("Sharing a cluster"),
                Message("How long each team waits over a year, and how many machines keep the wait short."),
            ),
            "/mappings": (
                Message("IPU mapping"),
                Message(
                    "How a model is laid over the IPUs of a pod, and whether it stays in processor memory."
                ),
            ),
        },
    ),
    (
        Message("Claims"),
        {
            "/claims": (
                Message("Vendor claims"),
                Message("Published ratios beside our own estimate per chip, system, dollar and watt."),
            ),
        },
    ),
)
"""What is decided → address → what it is and what it answers."""


@router.get("/decisions", response_class=HTMLResponse)
def show_decisions(request: Request) -> Response:
    """Show the tools."""
    groups = [
        ChoiceGroup(str(title), [Choice(at, str(name), str(detail)) for at, (name, detail) in tools.items()])
        for title, tools in TOOLS
    ]
    return render(request, "decisions.html", DecisionsPage(documents=available(), groups=groups))
