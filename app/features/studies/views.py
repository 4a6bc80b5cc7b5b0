"""From answers of studies to what their pages show; no number is made here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from fastapi import Request
from pydantic import JsonValue

from app.errors import FieldError, Message
from app.estimating.documents import Text
from app.estimating.money import CostLine
from app.features.catalogue.views import StatementView, statement_view
from app.features.comparisons.model import BasisCost
from app.features.price_books.service import list_books
from app.features.studies import charts as drawn
from app.features.studies.charts import MatrixCell
from app.features.studies.forms import (
    AMOUNT,
    OPTION_ROWS,
    PRICES,
    KnobGroup,
    KnobPanel,
    KnobView,
    address,
    form_of,
    knob_label,
    without,
)
from app.features.studies.frame import StudyFrame
from app.features.studies.model import (
    AssumptionRow,
    Metric,
    StudyAnswer,
    StudyAssumptions,
    StudyChange,
    StudyOptionAnswer,
    Tornado,
)
from app.features.studies.trace import FIGURES, StudyTrace, TraceClaim
from app.platform.charts import figures
from app.platform.charts.figures import MemoryBar, RangeBar, time_scale
from app.platform.web import choices
from app.platform.web.contexts import (
    REFUSAL,
    Choice,
    ChoiceGroup,
    FigureView,
    Form,
    WarningGroup,
    grouped,
    view,
)
from app.platform.web.locale import voice_of
from app.platform.web.rendering import DISPLAY_PARAMS
from app.platform.wording.scales import Scale
from app.platform.wording.voice import Voice, stated
from app.platform.workbench import Workbench

OFFERED_BOOKS = 30
"""Price books that are offered, the newest."""


@dataclass(frozen=True, slots=True)
class OptionColumn:
    """One option with its knobs and what it comes to."""

    option: StudyOptionAnswer
    knobs: Mapping[str, KnobView]
    time_bar: RangeBar | None
    cost_bar: RangeBar | None
    memory: MemoryBar | None
    drop_url: str
    pin_url: str
    """Address of the state with this option as the baseline, or without one where it is the baseline."""
    detail_url: str
    """Address of the estimate in full."""
    trace_url: str
    """Address of the traces of this option, to which the name of the figure is added."""
    own_cost: BasisCost | None
    """What it costs on the basis of all options, paid for as its request asks."""
    lines: Mapping[str, CostLine]
    """Lines of that cost by what they are for."""


@dataclass(frozen=True, slots=True)
class Matrix:
    """How surely each option beats each other."""

    title: str
    labels: Sequence[str]
    rows: Sequence[tuple[str, Sequence[MatrixCell]]]


@dataclass(frozen=True, slots=True)
class Clash:
    """What somebody else has changed meanwhile."""

    message: Message
    changes: Sequence[StudyChange]
    apply_url: str
    """Address of the reader's own changes on the newest version."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyPage:
    """The workspace of a study; with errors in its form the answer is that of an earlier state."""

    frame: StudyFrame
    answer: StudyAnswer
    form: Form
    general: Sequence[Message]
    """What is wrong that belongs to no knob on the page."""
    previous: str
    """Query of the last state that could be answered."""
    query: Sequence[tuple[str, str]]
    """Of this state."""
    state: str
    """The same as text."""
    clash: Clash | None
    hidden: Sequence[tuple[str, str]]
    """Knobs of the state that the form has no fields for."""
    limited: bool
    """Whether options are held against a deadline or a budget."""
    terms: str
    """What all costs rest on, in a sentence; empty without costs."""
    shared: Sequence[KnobGroup]
    rows: Sequence[tuple[str, str]]
    """Rows of knobs: name of the knob and what it is called."""
    add: KnobView | None
    """Adds an option; none where there are as many as there may be."""
    add_groups: Sequence[ChoiceGroup]
    columns: Sequence[OptionColumn]
    changes: Sequence[tuple[StudyChange, str]]
    """What differs from the version, each with the address of the state without it."""
    labels: Mapping[str, str]
    """What the options are called, by key."""
    basis_rows: Sequence[tuple[str, BasisCost]]
    """Options with what they cost on one basis, each way to pay."""
    time_scale: Scale
    figures: Sequence[FigureView]
    with_parts: Sequence[StudyOptionAnswer]
    """Options whose time is known part by part."""
    tornados: Sequence[tuple[Tornado, FigureView]]
    matrices: Sequence[Matrix]
    cost_lines: Sequence[str]
    warnings: Sequence[WarningGroup]


def study_page(
    bench: Workbench,
    workspace: str,
    answer: StudyAnswer,
    frame: StudyFrame,
    query: Sequence[tuple[str, str]],
    voice: Voice,
    *,
    typed: Mapping[str, str],
    errors: Sequence[FieldError],
    previous: str | None,
    clash: Clash | None,
) -> StudyPage:
    state = urlencode(list(query))
    books = [Choice(one.id, one.name) for one in list_books(bench, workspace, OFFERED_BOOKS, None).items]
    panel = KnobPanel(bench, answer, form_of(answer, typed, errors), voice, query, books)
    columns = _columns(panel, frame)
    shared, add = panel.shared(), panel.add()
    in_columns = [knob for column in columns for knob in column.knobs.values()]
    in_groups = [knob for group in shared for knob in group.knobs]
    names = {knob.name for knob in (*in_groups, *in_columns, add) if knob is not None}
    with_parts = [one for one in answer.options if one.estimate and one.estimate.breakdown]
    warnings = [("", one) for one in answer.warnings]
    for option in answer.options:
        of_option = option.estimate.warnings if option.estimate else ()
        warnings += [(option.label, one) for one in of_option if one.code != REFUSAL]
    return StudyPage(
        frame=frame,
        answer=answer,
        form=panel.form,
        general=[error.message for error in errors if error.field not in names],
        previous=state if previous is None else previous,
        query=query,
        state=state,
        clash=clash,
        hidden=[(name, value) for name, value in query if name not in names and name != "version"],
        limited=any(option.meets is not None for option in answer.options),
        terms=cost_terms(answer, voice),
        shared=shared,
        rows=[
            (row, voice.gettext("Price") if row == "price" else knob_label(row, voice)) for row in OPTION_ROWS
        ],
        add=add,
        add_groups=choices.system_names(bench.catalogue) if add else [],
        columns=columns,
        changes=[(change, _address_without(change, panel)) for change in with_names(answer.changes, bench)],
        labels={option.key: option.label for option in answer.options},
        basis_rows=[(option.label, one) for option in answer.options for one in option.costs],
        time_scale=time_scale([option.time for option in answer.options]),
        figures=_figures(answer, with_parts, voice),
        with_parts=with_parts,
        tornados=[(tornado, _tornado_figure(tornado, voice)) for tornado in answer.tornados],
        matrices=_matrices(answer, voice),
        cost_lines=list(dict.fromkeys(name for column in columns for name in column.lines)),
        warnings=grouped(warnings),
    )


def cost_terms(answer: StudyAnswer, voice: Voice) -> str:
    """Say over which hours costs are spread, and at which rate of exchange."""
    if answer.one_basis is None:
        return ""
    basis = answer.one_basis
    values = {"share": voice.percent(basis.utilisation), "years": voice.number(basis.term_years)}
    said = voice.gettext("Costs at {share} utilization over {years} years.").format(**values)
    rates = (one.estimate.cost.basis for one in answer.options if one.estimate and one.estimate.cost)
    rate = next(rates, {})
    if answer.content.base.currency == "KRW" and rate.get("won_per_dollar"):
        won, day = voice.number(float(str(rate["won_per_dollar"]))), str(rate["exchange_rate_as_of"])
        said += " " + voice.gettext("1 USD = {won} KRW ({day}).").format(won=won, day=voice.date(day))
    return said


def _columns(panel: KnobPanel, frame: StudyFrame) -> list[OptionColumn]:
    answer, query = panel.answer, panel.query
    times = figures.range_bars([option.time for option in answer.options])
    costs = figures.range_bars([option.cost for option in answer.options])
    columns = []
    for option, time_bar, cost_bar in zip(answer.options, times, costs, strict=True):
        memory = option.estimate.memory if option.estimate else None
        added = f"add.{option.key}" in answer.knobs
        dropped = [*query, (f"drop.{option.key}", "1")]
        rest = without(query, f"add.{option.key}") if added else dropped
        own = next((cost for cost in option.costs if cost.own), None)
        trace = [*query, ("option", option.key), ("figure", "")]
        columns.append(
            OptionColumn(
                option=option,
                knobs=panel.column(option),
                time_bar=time_bar,
                cost_bar=cost_bar,
                memory=figures.memory_bar(memory) if memory else None,
                drop_url=address(answer.id, rest) if len(answer.options) > 1 else "",
                pin_url=address(
                    answer.id,
                    without(query, "baseline")
                    if answer.content.baseline == option.key and "baseline" in answer.knobs
                    else [*query, ("baseline", "" if answer.content.baseline == option.key else option.key)],
                ),
                detail_url=frame.url("details", option=option.key),
                trace_url=address(answer.id, trace, "/trace"),
                own_cost=own,
                lines={line.item: line for line in own.lines} if own else {},
            )
        )
    return columns


def with_names(changes: Sequence[StudyChange], bench: Workbench) -> list[StudyChange]:
    """Return changes whose sentences call what the catalogue has by its name."""
    items, software = bench.sizing.catalog.items, bench.catalogue.software.documents

    def name(value: JsonValue) -> JsonValue:
        known = (items.get(value) or software.get(value)) if isinstance(value, str) else None
        return known.name if known else value

    def named(text: Text) -> Text:
        return text.model_copy(update={"values": {place: name(one) for place, one in text.values.items()}})

    return [change.model_copy(update={"text": named(change.text)}) for change in changes]


def _address_without(change: StudyChange, panel: KnobPanel) -> str:
    return address(panel.answer.id, without(panel.query, change.knob)) if change.knob else ""


def _figures(answer: StudyAnswer, with_parts: Sequence[StudyOptionAnswer], voice: Voice) -> list[FigureView]:
    if not with_parts:
        return []
    scale = time_scale([option.time for option in with_parts])
    chart = drawn.parts(answer.where_time_goes, with_parts, scale, voice)
    note = voice.gettext("Bars end at the training time; whiskers show its range.")
    return [view("parts", voice.gettext("Training time breakdown"), chart, note)]


def _tornado_figure(tornado: Tornado, voice: Voice) -> FigureView:
    caption = {
        "time": voice.gettext("What would change the fastest option"),
        "cost": voice.gettext("What would change the cheapest option"),
    }[tornado.metric]
    name, chart = f"tornado-{tornado.metric}", drawn.tornado(tornado, voice)
    return view(name, caption, chart, voice.gettext("Left of the dashed line, another option is best."))


def _matrices(answer: StudyAnswer, voice: Voice) -> list[Matrix]:
    labels = {option.key: option.label for option in answer.options}
    titles: dict[Metric, str] = {"time": voice.gettext("is faster"), "cost": voice.gettext("is cheaper")}
    matrices = []
    for metric, title in titles.items():
        sure = {(one.first, one.second): one.probability for one in answer.contests if one.metric == metric}
        keys = list(dict.fromkeys(first for first, _ in sure))
        if len(keys) < 2 or all(value is None for value in sure.values()):
            continue
        rows = [(labels[first], [drawn.cell(sure.get((first, second))) for second in keys]) for first in keys]
        matrices.append(Matrix(title, [labels[key] for key in keys], rows))
    return matrices


@dataclass(frozen=True, slots=True)
class AssumedLine:
    """One assumption over the options: values that differ stand with their options."""

    field: str
    knob: str
    """What the knob that changes it is called."""
    knob_url: str
    """Address of that knob; empty where none does."""
    values: Sequence[tuple[str, bool, str, Text | None]]
    """Value as written, whether it is a default, options it holds for, and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyAssumptionsPage:
    """Everything a study takes for granted."""

    assumptions: StudyAssumptions
    back_url: str
    lines: Sequence[AssumedLine]


def query_without(request: Request, *names: str) -> list[tuple[str, str]]:
    """Return the state in an address, without what only says how a page is shown."""
    apart = {*DISPLAY_PARAMS, *names}
    return [(name, value) for name, value in request.query_params.multi_items() if name not in apart]


def assumptions_page(request: Request, assumptions: StudyAssumptions) -> StudyAssumptionsPage:
    """Return everything a study takes for granted, options with the same value on one line."""
    voice = voice_of(request)
    back = address(assumptions.id, query_without(request))
    lines = []
    for row in assumptions.rows:
        alike: dict[tuple[str, bool, str], tuple[list[str], Text | None]] = {}
        for key, assumed in row.values.items():
            value = stated(row.field, assumed.value, voice)
            reason = assumed.text.message if assumed.text else ""
            labels, _ = alike.setdefault((value, assumed.default, reason), ([], assumed.text))
            labels.append(assumptions.labels[key])
        for_all = len(alike) == 1 and len(row.values) == len(assumptions.labels)
        values = [
            (value, default, "" if for_all else " · ".join(labels), text)
            for (value, default, _), (labels, text) in alike.items()
        ]
        name = knob_label(row.knob, voice) if row.knob else ""
        lines.append(AssumedLine(row.field, name, _knob_url(back, row), values))
    return StudyAssumptionsPage(assumptions=assumptions, back_url=back, lines=lines)


def _knob_url(back: str, row: AssumptionRow) -> str:
    """Return the address of the knob on the page of the study, in the first column that has it."""
    # What is trained has fields for what the study states of it.
    stated = any(not one.default for one in row.values.values())
    if row.knob in {"batch", "precision", *PRICES} or (row.knob in AMOUNT and stated):
        return f"{back}#knob-{row.knob}"
    if row.knob in {"count", "fabric", "software", "price", "rent"}:
        return f"{back}#knob-{row.knob}-{next(iter(row.values))}"
    return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyTracePage:
    """Where a figure comes from."""

    trace: StudyTrace
    back_url: str
    base_url: str
    """Address of the traces of the option, to which the name of the figure is added."""
    figures: Sequence[str]
    """Figures of the option."""
    claims: Sequence[tuple[TraceClaim, StatementView]]
    panel: bool
    """Whether it is drawn beside the workspace."""


def trace_page(request: Request, trace: StudyTrace) -> StudyTracePage:
    """Return where a figure comes from: a part of the workspace for htmx, a page of its own otherwise."""
    voice = voice_of(request)
    query = query_without(request, "option", "figure")
    figure = [*query, ("option", trace.option), ("figure", "")]
    return StudyTracePage(
        trace=trace,
        back_url=address(trace.id, query),
        base_url=address(trace.id, figure, "/trace"),
        figures=list(FIGURES) if trace.kind == "modelled" else ["time_to_train"],
        claims=[(one, statement_view(one.figure, voice, one.figure.description)) for one in trace.claims],
        panel="HX-Request" in request.headers,
    )
