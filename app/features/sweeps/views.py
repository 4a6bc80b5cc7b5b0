"""The page of a sweep, made from its rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from app.errors import Message
from app.estimating.schema import Quantity
from app.features.sweeps.charts import called, cost_of, time_against_cost, time_of
from app.features.sweeps.rows import SweepAnswer, SweepRow, SweepState
from app.platform.charts.figures import time_scale
from app.platform.web.contexts import FigureView, Form
from app.platform.wording.scales import Scale
from app.platform.wording.voice import Voice


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepsPage:
    """The form that asks for a sweep, and those asked for before."""

    form: Form
    message: Message | None
    """What is wrong with the form as a whole."""
    most: int
    """Points that one sweep may have."""
    earlier: Sequence[SweepState]
    """Sweeps asked for before, the newest first."""


@dataclass(frozen=True, slots=True)
class RowView:
    """One row with what its line shows."""

    row: SweepRow
    system: str
    """The system with its count."""
    time: Quantity | None
    cost: Quantity | None


@dataclass(frozen=True, slots=True)
class Narrowed:
    """One list that the rows can be narrowed by."""

    name: str
    """Name of the parameter."""
    label: str
    """What is chosen, in words."""
    choices: Sequence[str]
    chosen: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepPage:
    """A sweep: how far it is, and its rows."""

    state: SweepState
    axes: Sequence[str]
    """Lists of more than one entry: in words, and how many."""
    refused: int
    """Points that could not be estimated."""
    filters: Sequence[Narrowed]
    orders: Sequence[tuple[str, str, bool]]
    """What rows can be sorted by: parameter, words, whether it is chosen."""
    priced: bool
    """Whether there are price lists, and so a column for them."""
    varied: bool
    """Whether there are scenarios, and so a column for them."""
    rows: Sequence[RowView]
    time_scale: Scale
    """One unit for the times of all rows that are shown."""
    figure: FigureView | None
    """Time against cost; none where no row has both."""
    first: int
    """Number of the first row shown, from 1."""
    matching: int
    """Rows that the filters leave over."""
    address: str
    """Address of the page as it is narrowed."""
    before: str
    """Address of the rows before; empty at the beginning."""
    after: str
    """Address of the rows after; empty at the end."""


MOST_PICTURED = 400
"""Most points of the picture."""


def sweep_page(
    answer: SweepAnswer,
    pictured: Sequence[SweepRow],
    labels: Mapping[str, str],
    order: str,
    first: int,
    rows: int,
    voice: Voice,
) -> SweepPage:
    """Return the page."""
    names = {
        "model": voice.gettext("Model"),
        "system": voice.gettext("System"),
        "price": voice.gettext("Price list"),
        "scenario": voice.gettext("Scenario"),
    }
    orders = {
        "position": voice.gettext("in the requested order"),
        "time_to_train": voice.gettext("Training time"),
        "cost": voice.gettext("Cost per run"),
    }
    query = dict(labels) | ({"order": order} if order != "position" else {})
    views = [RowView(row, called(row), time_of(row), cost_of(row)) for row in answer.rows]
    last = first - 1 + len(answer.rows)
    return SweepPage(
        state=SweepState(**{name: getattr(answer, name) for name in SweepState.model_fields}),
        axes=[voice.say(how_many(name, count)) for name, count in answer.sizes.items() if count > 1],
        refused=answer.refused,
        filters=[
            Narrowed(name, names[name], known, labels.get(name, ""))
            for name, known in answer.labels.items()
            if len(known) > 1
        ],
        orders=[(name, words, name == order) for name, words in orders.items()],
        priced=bool(answer.labels["price"]),
        varied=bool(answer.labels["scenario"]),
        rows=views,
        time_scale=time_scale([view.time for view in views]),
        figure=picture(pictured, answer.matching, voice),
        first=first,
        matching=answer.matching,
        address=address(answer.id, query, first),
        before=address(answer.id, query, max(1, first - rows)) if first > 1 else "",
        after=address(answer.id, query, last + 1) if answer.next else "",
    )


def how_many(axis: str, count: int) -> Message:
    """Return how many of an axis there are."""
    values = {"count": count}
    if axis == "model":
        return Message("{count} models", values)
    if axis == "system":
        return Message("{count} systems", values)
    if axis == "price":
        return Message("{count} price lists", values)
    return Message("{count} scenarios", values)


def address(identifier: str, query: Mapping[str, str], first: int, ending: str = "") -> str:
    """Return the address of a stretch of the rows."""
    stated = dict(query) | ({"first": str(first)} if first > 1 else {})
    return f"/sweeps/{identifier}{ending}" + (f"?{urlencode(stated)}" if stated else "")


def picture(rows: Sequence[SweepRow], matching: int, voice: Voice) -> FigureView | None:
    """Return time against cost, where rows have both."""
    if not any(row.cost is not None for row in rows):
        return None
    notes = [voice.gettext("Colours are systems, symbols are models; lower left is better.")]
    if MOST_PICTURED <= len(rows) < matching:
        notes.append(
            voice.gettext("Showing {shown} of {matching} points.").format(
                shown=voice.number(len(rows)), matching=voice.number(matching)
            )
        )
    return FigureView(
        "time-against-cost",
        voice.gettext("Time versus cost"),
        "tall",
        time_against_cost(rows, voice),
        "points",
        " ".join(notes),
    )
