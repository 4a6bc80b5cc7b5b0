"""Knobs of a study on its page: from the address to values, and from values to fields and addresses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import urlencode

from starlette.datastructures import QueryParams

from app.errors import FieldError, Message
from app.estimating.documents import Default, Text
from app.estimating.money import CostLine
from app.estimating.schema import Quantity
from app.features.catalogue.views import StatementView
from app.features.comparisons.model import BasisCost
from app.features.studies.charts import MatrixCell
from app.features.studies.knobs import ADD, DROP, KNOBS, Knob, shown, split, written_in_field
from app.features.studies.model import (
    MAX_OPTIONS,
    Change,
    PartAcross,
    StudyAnswer,
    StudyAssumptions,
    StudyOptionAnswer,
    StudySummary,
    StudyVersion,
    Swing,
    Tornado,
    free_keys,
)
from app.features.studies.trace import StudyTrace
from app.features.workloads.filling import Filled
from app.platform.catalogue import Catalogue
from app.platform.charts.figures import MemoryBar, RangeBar
from app.platform.web import choices
from app.platform.web.choices import SystemGroup
from app.platform.web.contexts import Choice, ChoiceGroup, FigureView, Form, WarningGroup
from app.platform.web.forms import plain_number
from app.platform.web.pictures import DISPLAY_PARAMS
from app.platform.wording.scales import Scale
from app.platform.wording.voice import Voice, written
from app.platform.workbench import Workbench


@dataclass(frozen=True, slots=True, kw_only=True)
class StudiesPage:
    """The list of studies."""

    studies: Sequence[StudySummary]
    sought: str
    archived: bool
    next_url: str
    """Address of the next stretch; empty at the end."""
    errors: Sequence[FieldError] = ()
    """What is wrong with a file that was to be imported."""
    message: Message | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyFormPage:
    """The guided start: model, workload, systems."""

    form: Form
    message: Message | None
    featured: Sequence[Choice]
    models: Sequence[ChoiceGroup]
    model: Choice | None
    """The model that was chosen; the other steps open with it."""
    filled: Filled | None
    """What the form holds of the training of its model; None where no model is chosen."""
    targets: Sequence[Choice]
    softwares: Sequence[ChoiceGroup]
    """Software profiles of GPUs, then of IPUs."""
    systems: Sequence[SystemGroup]
    within: Message | None
    """Time within which the counts finish; None where one of each system does."""


@dataclass(frozen=True, slots=True)
class KnobView:
    """One knob as it is drawn."""

    name: str
    id: str
    label: str
    value: str
    taken: str
    """What is taken where the field is empty."""
    changed: bool
    """Whether it differs from the version."""
    choices: Sequence[Choice] = ()
    unit: str = ""
    less_url: str = ""
    """Address of the state with one less; empty where there is none."""
    more_url: str = ""


@dataclass(frozen=True, slots=True)
class OptionColumn:
    """One option with its knobs and what it comes to."""

    option: StudyOptionAnswer
    knobs: Mapping[str, KnobView]
    time_bar: RangeBar | None
    cost_bar: RangeBar | None
    memory: MemoryBar | None
    drop_url: str
    trace_url: str
    """Address of the traces of this option, to which the name of the figure is added."""
    hourly: Quantity | None = None
    """Cost of one useful hour on the basis of all options."""
    lines: Mapping[str, CostLine] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ChangeView:
    """One thing that differs from the version, with the address of the state without it."""

    change: Change
    url: str


@dataclass(frozen=True, slots=True)
class PartLine:
    """One part of the time over all options that have it."""

    row: PartAcross
    keys: Sequence[str]


@dataclass(frozen=True, slots=True)
class Matrix:
    """How surely each option beats each other."""

    title: str
    labels: Sequence[str]
    rows: Sequence[tuple[str, Sequence[MatrixCell]]]


@dataclass(frozen=True, slots=True)
class TornadoView:
    """A tornado with its chart."""

    tornado: Tornado
    figure: FigureView
    best: str
    runner_up: str
    rows: Sequence[tuple[Swing, str, str]]
    """Swings, what they are called, and what the option is called that overtakes."""


@dataclass(frozen=True, slots=True)
class Clash:
    """What somebody else has changed meanwhile."""

    message: Message
    changes: Sequence[Text]
    apply_url: str
    """Address of the reader's own changes on the newest version."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyPage:
    """The workspace of a study."""

    answer: StudyAnswer
    form: Form
    general: Sequence[Message]
    """What is wrong that belongs to no knob on the page."""
    stale: bool
    """Whether the result is that of an earlier state."""
    previous: str
    """Query of the last state that could be answered."""
    state: str
    """Query of this state."""
    query: str
    """The same with a question mark, empty where nothing differs."""
    clash: Clash | None
    shared: Sequence[KnobView]
    rows: Sequence[tuple[str, str]]
    """Rows of knobs: name of the knob and what it is called."""
    add: KnobView | None
    """Adds an option; none where there are as many as there may be."""
    add_groups: Sequence[ChoiceGroup]
    columns: Sequence[OptionColumn]
    changes: Sequence[ChangeView]
    fastest_tied: str
    """Options that tie for the least time; empty where one is the fastest."""
    cheapest_tied: str
    basis_rows: Sequence[tuple[str, BasisCost]]
    """Options with what they cost on one basis, each way to pay."""
    time_scale: Scale
    figures: Sequence[FigureView]
    part_labels: Sequence[str]
    parts: Sequence[PartLine]
    pair: tuple[str, str] | None
    pair_form: Sequence[tuple[str, str]]
    """Knobs that stay as they are when another pair is chosen."""
    why_labels: tuple[str, str]
    tornados: Sequence[TornadoView]
    matrices: Sequence[Matrix]
    cost_lines: Sequence[str]
    warnings: Sequence[WarningGroup]
    linear_bases: Sequence[Choice]
    model_name: str


@dataclass(frozen=True, slots=True)
class AssumedLine:
    """One assumption over the options: values that differ stand with their options."""

    field: str
    knob_url: str
    """Address of the knob that changes it; empty where none does."""
    values: Sequence[tuple[str, bool, str, Text | None]]
    """Value as written, whether it is a default, options it holds for, and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyAssumptionsPage:
    """Everything a study takes for granted."""

    assumptions: StudyAssumptions
    back_url: str
    lines: Sequence[AssumedLine]
    catalog: str
    """Address of the catalogue's sources."""


@dataclass(frozen=True, slots=True)
class ClaimView:
    """A figure of the catalogue that went in."""

    name: str
    address: str
    statement: StatementView


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyTracePage:
    """Source of a figure."""

    trace: StudyTrace
    back_url: str
    figures: Sequence[Choice]
    """The other figures of the option, by address."""
    claims: Sequence[ClaimView]
    panel: bool
    """Whether it is drawn beside the workspace."""
    rejected: int
    """Claims that were rejected."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyVersionsPage:
    """Every version of a study."""

    id: str
    name: str
    versions: Sequence[StudyVersion]
    archived: bool


STATE = (*DISPLAY_PARAMS, "version", "pair", "previous", "option", "figure")
"""Names of a query that are no knobs."""

PRECISIONS = ("bf16", "fp16", "tf32", "fp32", "fp16.16")

OPTION_ROWS = ("count", "fabric", "software", "batch", "precision", "utilisation", "price")
"""Knobs of a column; a rented system has the price of an hour in place of that of the system."""

SHARED = ("batch", "precision", "utilisation", "electricity", "years", "currency")
"""Knobs that turn all options; beside them stand price book and scaling efficiency where they have a say."""


def knobs_in(query: QueryParams) -> dict[str, str]:
    """Return the knobs of an address: numbers as people write them become plain ones."""
    found: dict[str, str] = {}
    for name, text in query.multi_items():
        if name in STATE:
            continue
        knob, _ = split(name)
        word = knob in {ADD, DROP} or (knob in KNOBS and KNOBS[knob].kind == "word")
        found[name[:60]] = text.strip() if word else plain_number(text.strip())
    return found


def address_query(answer: StudyAnswer, pair: Sequence[str] | None) -> list[tuple[str, str]]:
    """Return the query of a state as its one address has it."""
    found = list(answer.knobs.items())
    if answer.version != answer.latest:
        found.append(("version", str(answer.version)))
    return [*found, *(("pair", key) for key in pair or ())]


def with_knob(query: Sequence[tuple[str, str]], name: str, value: str | None) -> str:
    """Return the query of a state with one knob at another value, or without it."""
    kept = [(one, text) for one, text in query if one != name]
    return urlencode([*kept, (name, value)] if value is not None else kept)


def form_of(answer: StudyAnswer, typed: Mapping[str, str], wrong: Iterable[str]) -> Form:
    """Return the fields of the page as they stand; what was typed where it was refused."""
    names = [*KNOBS, *(f"{knob}.{option.key}" for option in answer.options for knob in KNOBS)]
    values = {name: [value] for name in names if (value := shown(answer.content, name))}
    if set(wrong):
        values |= {name: [text] for name, text in typed.items()}
    return Form(values)


def shared_views(answer: StudyAnswer, form: Form, voice: Voice, books: Sequence[Choice]) -> list[KnobView]:
    """Return the knobs that turn all options.

    The efficiency of scaling is one where a figure is scaled, the price book where there is one.
    """
    found = [_view(name, None, answer, form, voice, []) for name in SHARED]
    if books or form.get("price_book"):
        found.append(_view("price_book", None, answer, form, voice, [], books))
    if any(option.kind == "linear" for option in answer.options):
        found.append(_view("scaling_efficiency", None, answer, form, voice, []))
    return found


def option_views(
    option: StudyOptionAnswer,
    answer: StudyAnswer,
    form: Form,
    query: Sequence[tuple[str, str]],
    bench: Workbench,
    voice: Voice,
) -> dict[str, KnobView]:
    """Return the knobs of one column by the row they stand in."""
    stated = next(one.figure for one in answer.content.options if one.key == option.key)
    rows = list(OPTION_ROWS)
    if stated is not None:
        rows = ["factor"] if stated.scaled_from is not None else ["hours"]
    found = {}
    for row in rows:
        name = "rent" if row == "price" and _rented(option) else row
        offered = _offered(row, option, bench, voice) if row in {"fabric", "software"} else []
        place = "count" if stated is not None else row
        found[place] = _view(name, option, answer, form, voice, query, offered)
    return found


def _rented(option: StudyOptionAnswer) -> bool:
    cost = option.estimate.cost if option.estimate else None
    return cost is not None and cost.basis.get("acquisition") == "rent"


def _offered(row: str, option: StudyOptionAnswer, bench: Workbench, voice: Voice) -> list[Choice]:
    """Return the fabrics or software profiles an option may have."""
    shelf: Catalogue = bench.catalogue
    if option.system is None or option.system not in shelf.systems.documents:
        return []
    system = shelf.systems.documents[option.system]
    if row == "fabric":
        scale_out = [fabric for fabric in shelf.fabrics.documents.values() if fabric.id != "ipu-fabric"]
        return list(choices.system_choice(system, scale_out, shelf).fabrics)
    return [one for group in choices.softwares(bench, voice, system.chip_kind) for one in group.choices]


def _view(
    name: str,
    option: StudyOptionAnswer | None,
    answer: StudyAnswer,
    form: Form,
    voice: Voice,
    query: Sequence[tuple[str, str]],
    offered: Sequence[Choice] = (),
) -> KnobView:
    full = name if option is None else f"{name}.{option.key}"
    value = form.get(full)
    taken = _taken(name, option, answer, voice)
    given: Sequence[Choice] = offered
    if name == "precision":
        given = [Choice(one, one.upper()) for one in PRECISIONS]
    if name == "currency":
        given = [Choice("KRW", "KRW"), Choice("USD", "USD")]
    if name != "software":  # profiles have long names; their identifiers are what people say
        taken = next((one.name for one in given if one.id == taken), taken)
    less = more = ""
    if name == "count" and option is not None and option.estimate is not None:
        count = option.estimate.system.count
        base = f"/studies/{answer.id}?"
        less = base + with_knob(query, full, str(count - 1)) if count > 1 else ""
        more = base + with_knob(query, full, str(count + 1))
    return KnobView(
        name=full,
        id=f"knob-{full.replace('.', '-')}",
        label=_label(name, voice),
        value=value,
        taken=taken,
        changed=full in answer.knobs,
        choices=given,
        unit=_unit(name, answer, voice),
        less_url=less,
        more_url=more,
    )


def _label(name: str, voice: Voice) -> str:
    return voice.label(f"knob.{name}" if KNOBS[name].kind == "share" else KNOBS[name].field)


def _unit(name: str, answer: StudyAnswer, voice: Voice) -> str:
    if KNOBS[name].kind == "share":
        return "%"
    if name in {"price", "rent", "electricity"}:
        return answer.content.base.currency
    return {"hours": voice.gettext("h"), "years": voice.gettext("years")}.get(name, "")


def _taken(name: str, option: StudyOptionAnswer | None, answer: StudyAnswer, voice: Voice) -> str:
    """Return what an empty field stands for: what the base states, or the default an estimate took."""
    if name in {"price", "rent", "price_book"}:
        return voice.gettext("from the catalogue")
    if option is not None and (shared := shown(answer.content, name)):
        return shared
    estimates = [one.estimate for one in ([option] if option is not None else answer.options) if one.estimate]
    values = {_default(one.defaults, KNOBS[name], voice) for one in estimates} - {""}
    if option is not None and name == "count" and not values and estimates:
        return str(estimates[0].system.count)
    return values.pop() if len(values) == 1 else "" if not values else voice.gettext("by option")


def _default(defaults: Sequence[Default], knob: Knob, voice: Voice) -> str:
    found = next((one.value for one in defaults if one.field == knob.field), None)
    if knob.kind == "share" and isinstance(found, int | float):
        return written_in_field(found, knob.kind)
    return "" if found is None else written(found, voice)


def add_view(answer: StudyAnswer, form: Form, voice: Voice) -> KnobView | None:
    """Return the field that adds an option; none where there are as many as there may be."""
    if len(answer.content.options) >= MAX_OPTIONS:
        return None
    keys = {option.key for option in answer.content.options} | {
        name.partition(".")[2] for name in answer.knobs if name.startswith("drop.")
    }
    name = f"add.{next(free_keys(keys))}"
    return KnobView(name, "knob-add", voice.gettext("Add an option"), form.get(name), "", False)
