"""From sizings to what their pages show; no number is made here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from urllib.parse import urlencode

from app.reports.figures import sizings as figures
from app.reports.figures.comparisons import time_scale
from app.reports.wording import Voice
from app.services.sizings import sentences
from app.sizing.size.documents import Sizing, SizingOption
from app.sizing.size.request import BudgetKind
from app.web.contexts import Form
from app.web.pages.presenting import grouped, view
from app.web.sizing_contexts import OptionRow, SizingPage, SortLink

SHOWN = 40
"""Options shown before all are asked for."""

REASONS = {
    "batch_not_divisible": "batch adjusted",
    "devices_unused": "accelerators idle",
    "does_not_fit": "does not fit",
    "family_error_large": "family predicted poorly",
    "input_bound": "waits for input",
    "memory_borderline": "memory borderline",
    "memory_margin_thin": "memory nearly full",
    "phased_execution": "weights streamed in phases",
    "price_is_estimate": "price estimated",
    "price_unknown": "no price published",
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
    documents: Sequence[tuple[str, str]],
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
        scaling = view("scaling", voice.gettext("Time to train by size"), "square", drawn, "scaling-table")
    times = [option.time_to_train for option in sizing.options]
    frontier = view(
        "frontier",
        voice.gettext("Time against cost"),
        "tall",
        figures.frontier(sizing, voice),
        "options",
        voice.gettext("Ranges of the front are drawn; options without a published price are not."),
    )
    return SizingPage(
        data_url=address(f"/sizings/{sizing.id}.json", query, drop=("sort", "all")),
        limits_query=address("", query, drop=("sort", "all")),
        documents=documents,
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
        ("", voice.gettext("purchase if owned, rent if rented")),
        ("purchase", voice.gettext("purchase")),
        ("run", voice.gettext("this run")),
        ("term", voice.gettext("all costs over the term")),
    ]


def heads(voice: Voice) -> dict[str, str]:
    """Return the columns of the table: name in the address → words."""
    return {
        "system": voice.gettext("System"),
        "accelerators": voice.gettext("Accelerators"),
        "time": voice.gettext("Time to train"),
        "purchase": voice.gettext("Purchase"),
        "cost": voice.gettext("Run cost"),
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
