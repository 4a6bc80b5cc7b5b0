"""Contexts of the pages of studies, from their answers; no number is calculated here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlencode

from fastapi import Request
from pydantic import JsonValue

from app.errors import AppError, FieldError, Message
from app.estimating.decision import Decision, DecisionOption
from app.estimating.documents import Text
from app.estimating.money import CostLine
from app.estimating.ranges import significant
from app.estimating.schema import Quantity
from app.features.catalogue.views import StatementView, statement_view
from app.features.price_books.service import list_books
from app.features.studies import charts as drawn
from app.features.studies import states
from app.features.studies.answering import State
from app.features.studies.charts import MatrixCell
from app.features.studies.common_basis import exchange_sentence
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
    with_demand,
    without,
)
from app.features.studies.frame import StudyFrame, frame_of, state_query
from app.features.studies.model import AMOUNTS as AMOUNT_FIELDS
from app.features.studies.model import (
    AssumptionRow,
    Metric,
    StudyAnswer,
    StudyAssumptions,
    StudyChange,
    StudyOptionAnswer,
    Tornado,
    merged,
)
from app.features.studies.model import stated as stated_of
from app.features.studies.options import BasisCost, DemandAnswer
from app.features.studies.trace import FIGURES, StudyTrace, TraceClaim
from app.features.workloads.suggestions import starting_counts
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
from app.platform.workspace import Workspace

OFFERED_BOOKS = 30
"""Number of the newest price books that are offered."""


@dataclass(frozen=True, slots=True)
class OptionColumn:
    option: StudyOptionAnswer
    knobs: Mapping[str, KnobView]
    time_bar: RangeBar | None
    cost_bar: RangeBar | None
    memory: MemoryBar | None
    drop_url: str
    pin_url: str
    """Address of the state with this option as the baseline, or without a baseline if it is."""
    detail_url: str
    trace_url: str
    """Address of the traces of this option, to which the name of the figure is appended."""
    own_cost: BasisCost | None
    """Cost on the shared basis, paid for as its request states."""
    lines: Mapping[str, CostLine]


@dataclass(frozen=True, slots=True)
class Matrix:
    """Probability with which each option beats each other."""

    title: str
    labels: Sequence[str]
    rows: Sequence[tuple[str, Sequence[MatrixCell]]]


@dataclass(frozen=True, slots=True)
class AnswerCard:
    """One of at most three options of the first screen."""

    kind: Literal["recommended", "faster", "cheaper", "next"]
    option: DecisionOption
    time: Quantity | None
    """How much sooner or later than the recommended option it is done."""
    money: Quantity | None
    """How much more or less than the recommended option it costs."""


def answer_cards(decision: Decision) -> list[AnswerCard]:
    """Return the recommended option, the least dear faster one and the cheaper one done soonest."""
    best = next((option for option in decision.options if option.id == decision.recommended), None)
    if best is None or best.time is None or best.outlay is None:
        return []
    others = [
        (option, option.time, option.outlay)
        for option in decision.options
        if option is not best and option.time is not None and option.outlay is not None
        and option.why_not != "published"
    ]  # fmt: skip

    def card(kind: Literal["faster", "cheaper", "next"], option: DecisionOption) -> AnswerCard:
        assert best is not None and best.time and best.outlay and option.time and option.outlay
        time, money = (
            Quantity(value=amount, low=amount, high=amount, unit=unit)
            for amount, unit in (
                (abs(option.time.value - best.time.value), option.time.unit),
                (abs(option.outlay.value - best.outlay.value), option.outlay.unit),
            )
        )
        return AnswerCard(kind, option, time, money)

    cards = [AnswerCard("recommended", best, None, None)]
    faster = [one for one in others if one[1].value < NOTICED * best.time.value]
    cheaper = [one for one in others if one[2].value < NOTICED * best.outlay.value]
    if faster:
        cards.append(card("faster", min(faster, key=lambda one: one[2].value)[0]))
    if cheaper:
        cards.append(card("cheaper", min(cheaper, key=lambda one: one[1].value)[0]))
    shown, margin = {one.option.id for one in cards}, decision.margin
    if len(cards) < MOST_CARDS and margin is not None and margin.over not in shown:
        cards += [card("next", option) for option, _, _ in others if option.id == margin.over]
    return cards


MOST_CARDS = 3

NOTICED = 0.99
"""Share of a time or an outlay below which another one is worth a card."""


@dataclass(frozen=True, slots=True)
class Clash:
    """What somebody else has changed since."""

    message: Message
    changes: Sequence[StudyChange]
    apply_url: str
    """Address of the reader's own changes on the newest version."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyPage:
    """A study with its answer, which is that of an earlier state if the form has errors."""

    frame: StudyFrame
    answer: StudyAnswer
    form: Form
    general: Sequence[Message]
    """Errors that belong to no knob on the page."""
    previous: str
    """Query of the last state that could be answered."""
    query: Sequence[tuple[str, str]]
    clash: Clash | None
    hidden: Sequence[tuple[str, str]]
    """Knobs of the state that the form has no fields for."""
    by_demand: Sequence[tuple[DemandAnswer, str]]
    """Answers for other demands, each with the address of its state."""
    cards: Sequence[AnswerCard]
    map: FigureView | None
    """Time against money; None where no option has both."""
    before: Decision | None
    """Decision of the version, where the state differs from it."""
    terms: str
    """Basis of all costs, in a sentence; empty without costs."""
    shared: Sequence[KnobGroup]
    rows: Sequence[tuple[str, str]]
    """Name and label of each row of knobs."""
    add: KnobView | None
    """Adds an option; None if the study has the most allowed."""
    add_groups: Sequence[ChoiceGroup]
    columns: Sequence[OptionColumn]
    changes: Sequence[tuple[StudyChange, str]]
    """Differences from the version, each with the address of the state without it."""
    labels: Mapping[str, str]
    recounted: Mapping[str, int]
    """Other counts, by option, of which each is the least that trains what the state asks in time."""
    recount_url: str
    """Address of the state with these counts."""
    time_scale: Scale
    figures: Sequence[FigureView]
    with_parts: Sequence[StudyOptionAnswer]
    """Options with a breakdown of their time."""
    tornados: Sequence[tuple[Tornado, FigureView]]
    matrices: Sequence[Matrix]
    warnings: Sequence[WarningGroup]


@dataclass(frozen=True, slots=True)
class AnsweredState:
    state: State
    answer: StudyAnswer
    pair: Sequence[str] | None
    """Options that are compared with each other; None for the best two."""


def query_of(workspace: Workspace, shown: AnsweredState) -> list[tuple[str, str]]:
    return [*state_query(workspace, shown.state), *(("pair", key) for key in shown.pair or ())]


def study_page(
    request: Request,
    workspace: Workspace,
    shown: AnsweredState,
    *,
    typed: Mapping[str, str] | None = None,
    errors: Sequence[FieldError] = (),
    previous: str | None = None,
    clash: Clash | None = None,
) -> StudyPage:
    answer, voice = shown.answer, voice_of(request)
    frame = frame_of(workspace, shown.state, "", voice)
    query = query_of(workspace, shown)
    books = [Choice(book.id, book.name) for book in list_books(workspace, OFFERED_BOOKS, None).items]
    panel = KnobPanel(workspace, answer, form_of(answer, typed or {}, errors), voice, query, books)
    columns = list(_columns(panel, frame))
    shared, add = panel.shared(), panel.add()
    in_columns = [knob for column in columns for knob in column.knobs.values()]
    in_groups = [knob for group in shared for knob in group.knobs]
    names = {knob.name for knob in (*in_groups, *in_columns, add) if knob is not None}
    recounted = counts_anew(workspace, answer)
    with_parts = [option for option in answer.options if option.estimate and option.estimate.breakdown]
    warnings = [("", warning) for warning in answer.warnings]
    for option in answer.options:
        of_option = option.estimate.warnings if option.estimate else ()
        warnings += [(option.label, warning) for warning in of_option if warning.code != REFUSAL]
    return StudyPage(
        frame=frame,
        answer=answer,
        form=panel.form,
        general=[error.message for error in errors if error.field not in names],
        previous=urlencode(query) if previous is None else previous,
        query=query,
        clash=clash,
        hidden=[(name, value) for name, value in query if name not in names and name != "version"],
        by_demand=[
            (other, address(answer.id, with_demand(query, other.demand))) for other in answer.by_demand
        ],
        cards=answer_cards(answer.decision),
        map=_map(answer, voice),
        before=states.decision_before(workspace, shown.state) if answer.changes else None,
        terms=cost_terms(answer, voice),
        shared=shared,
        rows=[
            (row, voice.gettext("Price") if row == "price" else knob_label(row, voice)) for row in OPTION_ROWS
        ],
        add=add,
        add_groups=choices.system_names(workspace.catalogue) if add else [],
        columns=columns,
        changes=[
            (change, address(answer.id, without(query, change.knob)) if change.knob else "")
            for change in with_names(answer.changes, workspace)
        ],
        labels={option.key: option.label for option in answer.options},
        recounted=recounted,
        recount_url=address(answer.id, [*query, *((f"count.{key}", str(n)) for key, n in recounted.items())]),
        time_scale=time_scale([option.time for option in answer.options]),
        figures=_figures(answer, with_parts, voice),
        with_parts=with_parts,
        tornados=[(tornado, _tornado_figure(tornado, voice)) for tornado in answer.tornados],
        matrices=_matrices(answer, voice),
        warnings=grouped(warnings),
    )


@dataclass(frozen=True, slots=True)
class StudyCostsPage:
    frame: StudyFrame
    answer: StudyAnswer
    columns: Sequence[OptionColumn]
    basis_rows: Sequence[tuple[str, BasisCost]]
    """Labels of options with their costs on the shared basis, for each way to pay."""
    cost_lines: Sequence[str]


def costs_page(request: Request, workspace: Workspace, shown: AnsweredState) -> StudyCostsPage:
    answer, voice = shown.answer, voice_of(request)
    frame = frame_of(workspace, shown.state, "costs", voice)
    panel = KnobPanel(workspace, answer, form_of(answer, {}, ()), voice, query_of(workspace, shown), [])
    columns = list(_columns(panel, frame))
    return StudyCostsPage(
        frame=frame,
        answer=answer,
        columns=columns,
        basis_rows=[(option.label, cost) for option in answer.options for cost in option.costs],
        cost_lines=list(dict.fromkeys(name for column in columns for name in column.lines)),
    )


def _map(answer: StudyAnswer, voice: Voice) -> FigureView | None:
    chart = drawn.time_and_money(answer, voice)
    note = voice.gettext("Crosses show the 80 % interval; lines are the limits.")
    return view("map", voice.gettext("Time against money"), chart, note, "decision") if chart else None


TRAINED = ("model.", *(f"workload.{name}" for name in (*AMOUNT_FIELDS, "dataset_samples", "kind")))
"""Beginnings of the fields that say what is trained."""


def counts_anew(workspace: Workspace, answer: StudyAnswer) -> dict[str, int]:
    """Return better counts where what is trained was changed, but not the count of the option."""
    if not any(change.option is None and change.field.startswith(TRAINED) for change in answer.changes):
        return {}
    content, found = answer.content, {}
    for option in content.options:
        if option.system is None or option.model is not None or f"count.{option.key}" in answer.knobs:
            continue
        name, workload = option.system.id, merged(content.base.workload, option.workload)
        try:
            counts = starting_counts(stated_of(content.base.model), workload, [name], workspace.context())
        except AppError:  # The page says what is wrong with it.
            continue
        if counts.get(name, option.system.count) != option.system.count:
            found[option.key] = counts[name]
    return found


def cost_terms(answer: StudyAnswer, voice: Voice) -> str:
    """Return the sentence on the utilisation, term and exchange rate of costs."""
    if answer.one_basis is None:
        return ""
    basis = answer.one_basis
    values = {"share": voice.percent(basis.utilisation), "years": voice.number(basis.term_years)}
    terms = voice.gettext(
        "The cost per run is the share of one run, without start-up, in a system that is busy {share} of "
        "{years} years; idle time beyond that is in the outlay alone."
    ).format(**values)
    estimates = (option.estimate for option in answer.options)
    rate = next((estimate.cost.basis for estimate in estimates if estimate and estimate.cost), {})
    if answer.content.base.currency != "USD" and rate.get("exchange_rate"):
        terms += " " + exchange_sentence(rate, voice)
    return terms


def _columns(panel: KnobPanel, frame: StudyFrame) -> Iterator[OptionColumn]:
    answer, query = panel.answer, panel.query
    times = figures.range_bars([option.time for option in answer.options])
    costs = figures.range_bars([option.cost for option in answer.options])
    for option, time_bar, cost_bar in zip(answer.options, times, costs, strict=True):
        memory = option.estimate.memory if option.estimate else None
        added = f"add.{option.key}" in answer.knobs
        dropped = [*query, (f"drop.{option.key}", "1")]
        others = without(query, f"add.{option.key}") if added else dropped
        own = next((cost for cost in option.costs if cost.own), None)
        pinned = answer.content.baseline == option.key
        if pinned and "baseline" in answer.knobs:
            pin = without(query, "baseline")
        else:
            pin = [*query, ("baseline", "" if pinned else option.key)]
        trace = [*query, ("option", option.key), ("figure", "")]
        yield OptionColumn(
            option=option,
            knobs=panel.column(option),
            time_bar=time_bar,
            cost_bar=cost_bar,
            memory=figures.memory_bar(memory) if memory else None,
            drop_url=address(answer.id, others) if len(answer.options) > 1 else "",
            pin_url=address(answer.id, pin),
            detail_url=frame.url("details", option=option.key),
            trace_url=address(answer.id, trace, "/trace"),
            own_cost=own,
            lines={line.item: line for line in own.lines} if own else {},
        )


def with_names(changes: Sequence[StudyChange], workspace: Workspace) -> list[StudyChange]:
    """Return changes whose sentences name items of the catalogue instead of their identifiers."""
    items, software = workspace.sizing.catalog.items, workspace.catalogue.software.documents

    def name(value: JsonValue) -> JsonValue:
        known = (items.get(value) or software.get(value)) if isinstance(value, str) else None
        return known.name if known else value

    def renamed(text: Text) -> Text:
        values = {placeholder: name(value) for placeholder, value in text.values.items()}
        return text.model_copy(update={"values": values})

    return [change.model_copy(update={"text": renamed(change.text)}) for change in changes]


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
        "cost": voice.gettext("What would change which option costs least per run"),
    }[tornado.metric]
    name, chart = f"tornado-{tornado.metric}", drawn.tornado(tornado, voice)
    return view(name, caption, chart, voice.gettext("Left of the dashed line, another option is best."))


def _matrices(answer: StudyAnswer, voice: Voice) -> list[Matrix]:
    labels = {option.key: option.label for option in answer.options}
    titles: dict[Metric, str] = {
        "time": voice.gettext("is faster"),
        "cost": voice.gettext("costs less per run"),
    }
    matrices = []
    for metric, title in titles.items():
        probabilities = {
            (contest.first, contest.second): contest.probability
            for contest in answer.contests
            if contest.metric == metric
        }
        keys = list(dict.fromkeys(first for first, _ in probabilities))
        if len(keys) < 2 or all(value is None for value in probabilities.values()):
            continue
        rows = [
            (labels[first], [drawn.cell(probabilities.get((first, second))) for second in keys])
            for first in keys
        ]
        matrices.append(Matrix(title, [labels[key] for key in keys], rows))
    return matrices


@dataclass(frozen=True, slots=True)
class AssumedLine:
    """One assumption of the options, with the options of each value."""

    field: str
    knob: str
    """Label of the knob that changes it."""
    knob_url: str
    """Address of that knob; empty if none is on the page."""
    values: Sequence[tuple[str, bool, str, Text | None]]
    """Written value, whether it is a default, labels of its options if not all have it, and the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyAssumptionsPage:
    assumptions: StudyAssumptions
    back_url: str
    lines: Sequence[AssumedLine]


def query_without(request: Request, *names: str) -> list[tuple[str, str]]:
    """Return the query of a request without display parameters and ``names``."""
    excluded = {*DISPLAY_PARAMS, *names}
    return [(name, value) for name, value in request.query_params.multi_items() if name not in excluded]


def assumptions_page(request: Request, assumptions: StudyAssumptions) -> StudyAssumptionsPage:
    voice = voice_of(request)
    back = address(assumptions.id, query_without(request))
    lines = []
    # The labels of options say which system each is.
    for row in (row for row in assumptions.rows if row.field != "system.id"):
        groups: dict[tuple[str, bool, str], tuple[list[str], Text | None]] = {}
        for key, assumed in row.values.items():
            shown = assumed.value
            if assumed.default and isinstance(shown, float):
                shown = significant(shown)
            value = stated(row.field, shown, voice)
            reason = assumed.text.message if assumed.text else ""
            labels, _ = groups.setdefault((value, assumed.default, reason), ([], assumed.text))
            labels.append(assumptions.labels[key])
        for_all = len(groups) == 1 and len(row.values) == len(assumptions.labels)
        values = [
            (value, default, "" if for_all else " · ".join(labels), text)
            for (value, default, _), (labels, text) in groups.items()
        ]
        name = knob_label(row.knob, voice) if row.knob else ""
        lines.append(AssumedLine(row.field, name, _knob_url(back, row), values))
    return StudyAssumptionsPage(assumptions=assumptions, back_url=back, lines=lines)


def _knob_url(back: str, row: AssumptionRow) -> str:
    """Return the address of the knob on the page of the study, in the first column that has it."""
    # The page has only those knobs of AMOUNT that the study states.
    is_stated = any(not assumed.default for assumed in row.values.values())
    if row.knob in {"batch", "precision", *PRICES} or (row.knob in AMOUNT and is_stated):
        return f"{back}#knob-{row.knob}"
    if row.knob in {"count", "fabric", "software", "price", "rent"}:
        return f"{back}#knob-{row.knob}-{next(iter(row.values))}"
    return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyTracePage:
    trace: StudyTrace
    back_url: str
    base_url: str
    """Address of the traces of the option, to which the name of the figure is appended."""
    figures: Sequence[str]
    claims: Sequence[tuple[TraceClaim, StatementView]]
    panel: bool
    """Whether it is shown as a panel of the page of the study."""


def trace_page(request: Request, trace: StudyTrace) -> StudyTracePage:
    voice = voice_of(request)
    query = query_without(request, "option", "figure")
    figure = [*query, ("option", trace.option), ("figure", "")]
    return StudyTracePage(
        trace=trace,
        back_url=address(trace.id, query),
        base_url=address(trace.id, figure, "/trace"),
        figures=list(FIGURES) if trace.kind == "modelled" else ["time_to_train"],
        claims=[
            (claim, statement_view(claim.figure, voice, claim.figure.description)) for claim in trace.claims
        ],
        panel="HX-Request" in request.headers,
    )
