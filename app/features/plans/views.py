"""The page of a plan search: order, links, words and figures; nothing is computed here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.errors import Message
from app.estimating.chips import IPU_GENERATIONS
from app.estimating.documents import CheckWarning, Part, PlanSummary
from app.estimating.schema import Quantity
from app.features.plans import charts as figures
from app.features.plans.charts import FilledBar, HeatCell
from app.features.plans.forms import AGAINST, FILTERS, OFFERED, Values
from app.features.plans.model import MapCell, ModelMapping, Search, SearchedPlan, WhatIf
from app.features.plans.words import options_in_words, plan_in_short, plan_in_words, reasons
from app.features.studies.frame import StudyFrame
from app.features.studies.knobs import plan_text
from app.platform.charts.figures import RangeBar, range_bars
from app.platform.web.contexts import Choice, FigureView, Form, WarningGroup, view
from app.platform.wording.scales import Scale, decimals_of, scale_of
from app.platform.wording.voice import Voice


@dataclass(frozen=True, slots=True, kw_only=True)
class MappingPart:
    """The mapping of a model onto the IPUs of an option."""

    form: Form
    general: Sequence[Message]
    """Errors that no field shows."""
    mapping: ModelMapping | None
    stale: bool
    """Whether the result is that of an earlier question."""
    filled: float
    """Weights on the memory bar. [%]"""
    capacity: float
    """Memory on the memory bar. [%]"""
    warnings: Sequence[WarningGroup]
    use_url: str
    """Address of the study with this mapping; empty if the result is stale."""


@dataclass(frozen=True, slots=True)
class PlanFilter:
    """A field of the plans that can be narrowed."""

    field: str
    choices: Sequence[Choice]
    chosen: str
    """Value in the form; empty if it is unconstrained."""


@dataclass(frozen=True, slots=True)
class FilterChip:
    """An active filter, and the address without it."""

    field: str
    written: str
    url: str


@dataclass(frozen=True, slots=True)
class MapLink:
    """A cell of the map with its link."""

    heat: HeatCell
    written: str
    """Step time in the unit of the map, or the share of memory needed if nothing fits."""
    url: str
    chosen: bool
    """Whether the search is constrained to it; its link then removes the constraint."""
    best: bool
    """Whether it holds the best plan."""


@dataclass(frozen=True, slots=True)
class MapRow:
    """All pipeline degrees of one tensor degree; None if no plan is legal."""

    tensor: int
    cells: Sequence[MapLink | None]


@dataclass(frozen=True, slots=True)
class MapView:
    """Step time of the best plan over tensor and pipeline degrees."""

    unit: str
    pipeline: Sequence[int]
    """Columns."""
    rows: Sequence[MapRow]


@dataclass(frozen=True, slots=True)
class PlanRow:
    """The row of one of the best plans."""

    place: int
    found: SearchedPlan
    options: Sequence[Message]
    """Its choices beside the degrees, in words."""
    time_bar: RangeBar | None
    memory_bar: FilledBar
    use_url: str
    """Address of the study in which the option has this plan."""
    url: str
    """Address of its comparison with the first plan; empty for the first."""
    compared: bool
    own: bool
    """Whether it is the plan of the option."""


@dataclass(frozen=True, slots=True)
class PlanReason:
    """Why the first plan wins over another."""

    place: int
    sentence: str
    uncertain: str
    """Why a plan with a shorter central time ranks lower; empty if the first is faster."""
    total: float
    """Time by which its step is longer. [s]"""
    parts: Sequence[Part]
    figure: FigureView


@dataclass(frozen=True, slots=True)
class HardwareAdvice:
    """What other hardware would change."""

    change: Message
    gain: float
    """Share of the step time saved; 0 if negligible."""
    step_time: float
    plan: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PlansPage:
    """The best plans of an option, and why they win."""

    frame: StudyFrame
    form: Form
    general: Sequence[Message]
    """Errors that no filter shows."""
    own_time: Quantity | None
    """Step time with the option's plan; None if the plan is in the table or there is none."""
    filters: Sequence[PlanFilter]
    chips: Sequence[FilterChip]
    search: Search | None
    best: str
    """The best plan in words."""
    refusal: CheckWarning | None
    warnings: Sequence[WarningGroup]
    map: MapView | None
    shades: Sequence[float]
    plans: Sequence[PlanRow]
    why: PlanReason | None
    front: FigureView | None
    advice: Sequence[HardwareAdvice]
    laid: MappingPart | None
    """The arithmetic of IPUs; None where the option has none."""


MOST_CHOICES = 40
"""Values of a field that a list offers."""

NOTHING = 0.005
"""Least gain that is shown; below it, the range of any gain is far wider."""

LEAST_PART = 1e-3
"""Differences below this share of the largest are not shown."""

SENTENCES = {
    "memory_capacity": "{factor}× memory",
    "memory_bandwidth": "{factor}× memory bandwidth",
    "network_bandwidth": "{factor}× network bandwidth",
    "ipu.memory_bandwidth": "{factor}× exchange and streaming bandwidth",
}
"""By what is changed; on IPUs it is the exchange and the streaming memory."""


def address(frame: StudyFrame, values: Values, changes: Mapping[str, str], anchor: str = "") -> str:
    """Return the address of the view with changed filters and without a comparison."""
    filters = {name: text for name, text in values.items() if name in FILTERS and text}
    url = frame.url("plan", option=frame.option, **{**filters, **changes})
    return url + (f"#{anchor}" if anchor else "")


def chips_of(frame: StudyFrame, values: Values, voice: Voice) -> list[FilterChip]:
    return [
        FilterChip(name, value_in_words(values[name], voice), address(frame, values, {name: ""}))
        for name in FILTERS
        if values.get(name)
    ]


def value_in_words(text: str, voice: Voice) -> str:
    """Write the value of a filter, with words translated."""
    known = {"true": voice.gettext("yes"), "false": voice.gettext("no")}
    parts = [part.strip() for part in text.split(",")]
    return ", ".join(
        known.get(part) or (voice.label(part, "plan") if part.isalpha() else part) for part in parts
    )


def filters_for(values: Values, search: Search | None, voice: Voice) -> list[PlanFilter]:
    """Return the filters to show: fields in which plans differ, and those already constrained."""
    differing = {dimension.field: dimension.values for dimension in search.dimensions} if search else {}
    filters = []
    for name in FILTERS:
        chosen = values.get(name, "")
        if not chosen and (name not in differing or name not in OFFERED):
            continue
        written_values = list(dict.fromkeys(map(_in_form, differing.get(name, []))))[:MOST_CHOICES]
        if chosen and chosen not in written_values:
            written_values.insert(0, chosen)
        choices = [Choice(text, value_in_words(text, voice)) for text in written_values]
        filters.append(PlanFilter(name, choices, chosen))
    return filters


def _in_form(value: float | str | bool) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else f"{value:g}"


def map_of(
    cells: Sequence[MapCell], search: Search, frame: StudyFrame, values: Values, voice: Voice
) -> MapView:
    drawn = figures.heat_map(cells)
    best = search.plans[0].plan if search.plans else None
    times = [cell.step_time for cell in cells if cell.step_time is not None]
    scale = scale_of(min(times), "s") if times else Scale(1.0, "s")

    def link(heat: figures.HeatCell) -> MapLink:
        tensor, pipeline = str(heat.cell.tensor), str(heat.cell.pipeline)
        chosen = values.get("tensor") == tensor and values.get("pipeline") == pipeline
        changes = {"tensor": "" if chosen else tensor, "pipeline": "" if chosen else pipeline}
        time = None if heat.cell.step_time is None else heat.cell.step_time / scale.size
        return MapLink(
            heat,
            voice.ratio(heat.cell.memory_share) if time is None else voice.decimal(time, decimals_of(time)),
            address(frame, values, changes, "map-title"),
            chosen,
            best is not None and (best.tensor, best.pipeline) == (heat.cell.tensor, heat.cell.pipeline),
        )

    rows = [
        MapRow(tensor, [None if heat is None else link(heat) for heat in row])
        for tensor, row in zip(drawn.tensor, drawn.rows, strict=True)
    ]
    return MapView(voice.gettext(scale.unit), drawn.pipeline, rows)


def plan_rows(
    search: Search, frame: StudyFrame, values: Values, compared: int, own: int, batch: int | None
) -> list[PlanRow]:
    """Return the best plans with bars on common scales; ``batch`` is that of the option."""
    bars = range_bars([plan.step_time for plan in search.plans])
    limit = search.memory_limit.value / search.memory_capacity.value
    return [
        PlanRow(
            place=rank,
            found=searched,
            options=options_in_words(searched.plan),
            time_bar=bar,
            memory_bar=figures.filled_bar(searched.memory_share, limit),
            use_url=frame.url_with(plan_knobs(searched.plan, frame.option, batch)),
            url=address(frame, values, {AGAINST: str(rank)}, "why-title") if rank > 1 else "",
            compared=rank == compared,
            own=rank == own,
        )
        for rank, (searched, bar) in enumerate(zip(search.plans, bars, strict=True), 1)
    ]


def plan_knobs(plan: PlanSummary, option: str, batch: int | None) -> dict[str, str]:
    """Return the knobs that give an option a plan at its batch."""
    knobs = {f"plan.{option}": plan_text({name: getattr(plan, name) for name in FILTERS})}
    return knobs if plan.global_batch == batch else {**knobs, f"batch.{option}": str(plan.global_batch)}


def why_of(search: Search, rank: int, voice: Voice) -> PlanReason | None:
    """Return why the first plan wins over another."""
    if not 2 <= rank <= len(search.plans):
        return None
    other = search.plans[rank - 1]
    largest = max((abs(part.seconds) for part in other.more), default=0.0)
    parts = [part for part in other.more if abs(part.seconds) >= LEAST_PART * largest]
    title = voice.say(Message("Plan {place}: step time above plan 1, in seconds", {"place": rank}))
    drawn = figures.differences(parts, voice.gettext("Time above plan 1"), voice)
    return PlanReason(
        place=rank,
        sentence=reasons(parts, rank, voice),
        uncertain=_uncertain(search, other, rank, voice),
        total=sum(part.seconds for part in other.more),
        parts=parts,
        figure=view("difference", title, drawn),
    )


def _uncertain(search: Search, other: SearchedPlan, rank: int, voice: Voice) -> str:
    """Say why a plan with a shorter central time ranks lower."""
    if other.step_time.value >= search.plans[0].step_time.value:
        return ""
    return voice.sentence(
        Message(
            "plan {place} is faster at central values, but less is known of its kind: with "
            "{probability} confidence it takes at most {later}, plan 1 at most {sooner}",
            {
                "place": rank,
                "probability": voice.percent(search.probability),
                "later": voice.value(other.ranked_time, "s", exact=False),
                "sooner": voice.value(search.plans[0].ranked_time, "s", exact=False),
            },
        )
    )


def front_of(search: Search, voice: Voice) -> FigureView | None:
    """Draw step time against memory; None if no plan fits."""
    if not search.plans:
        return None

    plans = [plan_in_short(plan.plan) for plan in search.plans]
    points = [plan_in_short(point.plan) for point in search.pareto]
    drawn = figures.time_and_memory(search, plans, points, voice)
    note = voice.say(
        Message(
            "Times are central values; plans are ranked by the time that holds with "
            "{probability} confidence, so one with a shorter central time may rank lower.",
            {"probability": voice.percent(search.probability)},
        )
    )
    return view("front", voice.gettext("Step time versus memory"), drawn, note)


def advice_of(search: Search, voice: Voice) -> list[HardwareAdvice]:
    """Return the effect of other hardware, the largest first."""
    prefix = "ipu." if search.system.generation in IPU_GENERATIONS else ""
    ranked = sorted(search.what_if, key=lambda what_if: -what_if.gain)
    return [
        _advice(what_if, SENTENCES.get(prefix + what_if.change, SENTENCES[what_if.change]), voice)
        for what_if in ranked
    ]


def _advice(what_if: WhatIf, template: str, voice: Voice) -> HardwareAdvice:
    return HardwareAdvice(
        change=Message(template, {"factor": what_if.factor}),
        gain=what_if.gain if what_if.gain >= NOTHING else 0.0,
        step_time=what_if.step_time,
        plan=plan_in_words(what_if.plan, voice),
    )
