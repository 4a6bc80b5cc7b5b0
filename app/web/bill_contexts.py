"""What the templates of networks and bills of materials are given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from app.sizing.bill.documents import FabricPlan
from app.web.contexts import Choice, Form, Page, WarningGroup


@dataclass(frozen=True, slots=True, kw_only=True)
class FabricPage(Page):
    """A network by its nodes and switches."""

    form: Form
    examples: Sequence[Choice]
    """Queries worth trying, by name."""
    plan: FabricPlan | None
    stale: bool
    """Whether the result is an earlier one, for what is asked now is refused."""
    previous: str
    """Query of the result that is shown."""
    drawing: Markup | None
    warnings: Sequence[WarningGroup]
