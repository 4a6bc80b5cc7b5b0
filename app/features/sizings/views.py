"""From sizings to what their pages show; no number is made here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from app.errors import Message
from app.features.sizings import charts as figures
from app.features.sizings.model import BudgetKind, ScalingCurve, Sizing, SizingOption
from app.features.sizings.words import sentences
from app.features.workloads.filling import Filled
from app.platform.charts.figures import time_scale
from app.platform.web.choices import SystemGroup
from app.platform.web.contexts import (
    Choice,
    ChoiceGroup,
    FigureView,
    Form,
    WarningGroup,
    grouped,
    view,
)
from app.platform.wording.scales import Scale
from app.platform.wording.voice import Voice


@dataclass(frozen=True, slots=True, kw_only=True)
class SizingFormPage:
    """The form that asks for a sizing."""

    form: Form
    message: Message | None
    """What is wrong with the form as a whole."""
    models: Sequence[ChoiceGroup]
    filled: Filled | None
    """What the form holds of the training of its model; None where no model is chosen."""
    targets: Sequence[Choice]
    softwares: Sequence[ChoiceGroup]
    """Software profiles of GPUs, then of IPUs."""
    systems: Sequence[SystemGroup]
    kinds: Sequence[tuple[str, str]]
    """What a budget may have to pay, with its name; empty: as the system is had."""
    earlier: Sequence[Choice]
    """Sizings made before, the newest first."""


@dataclass(frozen=True, slots=True)
class SortLink:
    """Head of a column that sorts the table."""

    name: str
    url: str
    numeric: bool
    chosen: bool


@dataclass(frozen=True, slots=True)
class OptionRow:
    """One option with its plan as it is written."""

    option: SizingOption
    plan: str
    warnings: Sequence[str]
    """Codes of warnings above the level of information, in words."""
    best: bool
    tied: bool
    """Whether nothing separates it from the other best."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SizingPage:
    """Options by deadline and budget."""

    sizing: Sizing
    answer: Sequence[Message]
    """What was found, in sentences; the first stands out."""
    form: Form
    """Deadline, budget and probability as they can be changed."""
    unit: str
    """Unit of the deadline in the form."""
    kinds: Sequence[tuple[str, str]]
    """What a budget may have to pay, with its name."""
    mixed: bool
    """Whether the budget is held against the purchase of some and the rent of others."""
    heads: Sequence[SortLink]
    rows: Sequence[OptionRow]
    hidden: int
    """Options that are not shown yet."""
    limits_query: str
    """Query of the limits that are tried, which decide what options there are; may be empty."""
    all_url: str
    """Address that shows them."""
    frontier: FigureView
    scaling: FigureView | None
    curve: ScalingCurve | None
    time_scale: Scale
    warnings: Sequence[WarningGroup]


SHOWN = 40
"""Options shown before all are asked for."""

REASONS = {
    "batch_not_divisible": "batch adjusted",
    "devices_unused": "accelerators idle",
    "does_not_fit": "does not fit",
    "family_error_large": "poorly predicted family",
    "input_bound": "input-bound",
    "memory_borderline": "memory borderline",
    "memory_margin_thin": "memory nearly full",
    "phased_execution": "weights streamed in phases",
    "price_is_estimate": "price estimated",
    "price_unknown": "no published price",
    "restart_outlasts_failures": "failures outpace restarts",
}
"""Warnings of an option in few words; the full sentences stand in its estimate."""

UNKNOWN = float("inf")


def _money(option: SizingOption, kind: BudgetKind) -> float:
    amount = getattr(option.costs, kind)
    return UNKNOWN if amount is None else float(amount.value)


def _time(option: SizingOption) -> float:
    return UNKNOWN if option.time_to_train is None else option.time_to_train.value


SORTS: Mapping[str, Callable[[SizingOption], tuple[float | str, ...]]] = {
    "system": lambda option: (option.name, option.count),
    "accelerators": lambda option: (option.accelerators, _time(option)),
    "time": lambda option: (_time(option), _money(option, "run")),
    "purchase": lambda option: (_money(option, "purchase"), _time(option)),
    "cost": lambda option: (_money(option, "run"), _time(option)),
    "term": lambda option: (_money(option, "term"), _time(option)),
    "probability": lambda option: (-(option.probability or 0.0), _money(option, "run")),
    "power": lambda option: (option.power.value, _money(option, "run")),
}


def sizing_page(
    sizing: Sizing,
    voice: Voice,
    form: Form,
    query: Mapping[str, str],
) -> SizingPage:
    """Return the page of a sizing; the query says how it is sorted and which limits are tried."""
    sort = query.get("sort", "")
    options = sorted(sizing.options, key=SORTS[sort]) if sort in SORTS else sizing.options
    shown = options if query.get("all") else options[:SHOWN]
    curve = sizing.scaling
    scaling = None
    if curve is not None and len(curve.points) > 1:
        drawn = figures.curve(curve, voice)
        scaling = view("scaling", voice.gettext("Training time by size"), "square", drawn, "scaling-table")
    times = [option.time_to_train for option in sizing.options]
    frontier = view(
        "frontier",
        voice.gettext("Time versus cost"),
        "tall",
        figures.frontier(sizing, voice),
        "options",
        voice.gettext(
            "Ranges are drawn for the Pareto front only; options without a published price are left out."
        ),
    )
    return SizingPage(
        limits_query=address("", query, drop=("sort", "all")),
        sizing=sizing,
        answer=sentences(sizing),
        form=form,
        unit=form.get("unit", "d"),
        kinds=kinds(voice),
        mixed=len({option.budget_kind for option in sizing.options}) > 1,
        heads=[
            SortLink(
                name, address(f"/sizings/{sizing.id}", {**query, "sort": key}), key != "system", key == sort
            )
            for key, name in heads(voice).items()
        ],
        rows=[option_row(option, sizing, voice) for option in shown],
        hidden=len(options) - len(shown),
        all_url=address(f"/sizings/{sizing.id}", {**query, "all": "1"}),
        frontier=frontier,
        scaling=scaling,
        curve=curve,
        time_scale=time_scale(times),
        warnings=grouped(("", warning) for warning in sizing.warnings),
    )


def kinds(voice: Voice) -> list[tuple[str, str]]:
    """Return what a budget may have to pay: value of the field → words."""
    return [
        ("", voice.gettext("purchase price if owned, rent if rented")),
        ("purchase", voice.gettext("purchase")),
        ("run", voice.gettext("this run")),
        ("term", voice.gettext("all costs over the term")),
    ]


def heads(voice: Voice) -> dict[str, str]:
    """Return the columns of the table: name in the address → words."""
    return {
        "system": voice.gettext("System"),
        "accelerators": voice.gettext("Accelerators"),
        "time": voice.gettext("Training time"),
        "purchase": voice.gettext("Purchase"),
        "cost": voice.gettext("Cost per run"),
        "term": voice.gettext("Term cost"),
        "probability": voice.gettext("Probability"),
        "power": voice.gettext("Power"),
    }


def option_row(option: SizingOption, sizing: Sizing, voice: Voice) -> OptionRow:
    """Return an option as a row: its plan in short, its warnings in words."""
    plan = option.plan
    degrees = [f"t {plan.tensor}", f"p {plan.pipeline}", f"d {plan.data}", f"m {plan.micro_batch}"]
    notes = [voice.gettext(REASONS[code]) for code in option.warnings if code in REASONS]
    return OptionRow(
        option=option,
        plan=" · ".join(degrees),
        warnings=notes,
        best=option.id == sizing.recommended,
        tied=sizing.margin is not None
        and sizing.margin.tie
        and option.id in (sizing.margin.option, *sizing.margin.tied),
    )


def address(path: str, query: Mapping[str, str], drop: Sequence[str] = ()) -> str:
    """Return an address with a query."""
    kept = {name: value for name, value in query.items() if name not in drop}
    return f"{path}?{urlencode(kept)}" if kept else path
