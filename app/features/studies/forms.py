"""Knobs of a study on its page: read from addresses, and shown as fields and links."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import get_args
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import QueryParams

from app.catalog.defaults import CURRENCIES
from app.errors import BadInput, FieldError
from app.estimating.decision import USUAL_PROBABILITY
from app.estimating.documents import Estimate
from app.estimating.request import BudgetKind, Demand
from app.features.studies.knobs import ADD, KNOBS, knob_text, split, unused_key, written_in_field
from app.features.studies.model import StudyAnswer, StudyOptionAnswer
from app.platform.web import choices
from app.platform.web.contexts import Choice, Form
from app.platform.web.forms import whole
from app.platform.web.rendering import DISPLAY_PARAMS
from app.platform.wording.voice import Voice, written
from app.platform.workspace import Workspace

UNDO = "undo"
"""Query parameter that resets a knob to its value in the version."""

NOT_KNOBS = (*DISPLAY_PARAMS, "version", "state", UNDO, "pair", "previous", "option", "figure")
"""Query parameters that are no knobs."""

LONGEST_QUERY = 120
"""Most characters of the knobs in an address; longer ones are stored under a short name."""

LONGEST_STATE = 4_000
"""Most characters of a state in a form."""

PRECISIONS = ("bf16", "fp16", "fp8", "mxfp8", "nvfp4", "tf32", "fp32", "fp16.16")

OPTION_ROWS = ("count", "fabric", "software", "batch", "precision", "utilisation", "price")
"""Knobs of an option; a rented system has an hourly price instead of a purchase price."""

AMOUNT = ("target", "tokens", "samples", "epochs", "dataset", "length", "image")
"""Knobs of the training that are shown only if the study states them."""

PRICES = ("utilisation", "years", "electricity", "currency")

LIMITS = ("deadline", "budget", "power")

DEMANDS: Mapping[str, str] = {"runs": "runs", "runs_per_year": "runs_per_year", "utilisation": "busy"}
"""Field of a demand → its knob."""


def address(identifier: str, query: Sequence[tuple[str, str]], suffix: str = "") -> str:
    """Return the address of a state; ``suffix`` follows the address of the study."""
    return f"/studies/{identifier}{suffix}" + (f"?{urlencode(query)}" if query else "")


def without(query: Sequence[tuple[str, str]], knob: str) -> list[tuple[str, str]]:
    """Return the query of a state with a knob reset, and with it the knobs of an option that it added."""
    if any(name == "state" for name, _ in query):
        return [*query, (UNDO, knob)]
    added = knob.partition(".")[2] if split(knob)[0] == ADD else ""
    return [(name, value) for name, value in query if name != knob and (not added or split(name)[1] != added)]


def with_demand(query: Sequence[tuple[str, str]], demand: Demand) -> list[tuple[str, str]]:
    """Return the query of a state with another demand."""
    for knob in DEMANDS.values():
        if any(name in (knob, "state") for name, _ in query):
            query = without(query, knob)
    return [*query, *demand_knob(demand).items()]


def demand_knob(demand: Demand) -> dict[str, str]:
    """Return the knob that states a demand, with its value."""
    ((field, value),) = demand.model_dump(exclude_none=True).items()
    knob = DEMANDS[field]
    return {knob: written_in_field(value, KNOBS[knob].kind)}


def state_in(text: str) -> QueryParams:
    """Return the query of the state in a form."""
    return QueryParams(parse_qsl(text[:LONGEST_STATE], keep_blank_values=True))


def knobs_in(query: QueryParams) -> dict[str, str]:
    """Return the knobs of an address."""
    return {name[:60]: text.strip() for name, text in query.multi_items() if name not in NOT_KNOBS}


def version_in(query: QueryParams) -> int | None:
    """Return the version in an address; None for the newest."""
    text = query.get("version", "").strip()
    version = whole(text)
    if text and not version:
        raise BadInput.at("version", "must be a whole number")
    return version


def pair_in(query: QueryParams) -> list[str] | None:
    """Return the two options to compare with each other; None for the best two."""
    pair = [key[:20] for key in query.getlist("pair") if key]
    if pair and (len(pair) != 2 or pair[0] == pair[1]):
        raise BadInput.at("pair", "choose two different options")
    return pair or None


def form_of(answer: StudyAnswer, typed: Mapping[str, str], errors: Sequence[FieldError]) -> Form:
    """Return the fields of the page with their values, or with the rejected input."""
    names = [*KNOBS, *(f"{knob}.{option.key}" for option in answer.options for knob in KNOBS)]
    values = {name: value for name in names if (value := knob_text(answer.content, name))} | dict(typed)
    return Form({name: [value] for name, value in values.items()}, errors)


def knob_label(name: str, voice: Voice) -> str:
    return voice.label(f"knob.{name}" if KNOBS[name].kind == "share" else KNOBS[name].field)


@dataclass(frozen=True, slots=True)
class KnobView:
    name: str
    id: str
    label: str
    value: str
    default: str
    """Value that is used if the field is empty."""
    changed: bool
    """Whether it differs from the version."""
    choices: Sequence[Choice] = ()
    unit: str = ""
    less_url: str = ""
    """Address of the state with one less; empty if there is none."""
    more_url: str = ""


@dataclass(frozen=True, slots=True)
class KnobGroup:
    name: str
    knobs: Sequence[KnobView]


@dataclass(frozen=True, slots=True)
class KnobPanel:
    """All knobs on the page of an answer."""

    workspace: Workspace
    answer: StudyAnswer
    form: Form
    voice: Voice
    query: Sequence[tuple[str, str]]
    """Query of the state shown."""
    books: Sequence[Choice]

    def shared(self) -> list[KnobGroup]:
        """Return the knobs of all options."""
        linear = any(option.kind == "linear" for option in self.answer.options)
        estimated = any(option.estimate for option in self.answer.options)
        trained = [*(name for name in AMOUNT if self.form.get(name)), "batch", "precision"]
        limits = [*LIMITS]
        limits += ["budget_kind"] if self.form.get("budget") else []
        limits += ["probability"] if any(self.form.get(knob) for knob in LIMITS) else []
        demand = [knob for knob in DEMANDS.values() if self.form.get(knob)] or ["runs"]
        prices = [*PRICES, *(["price_book"] if self.books or self.form.get("price_book") else [])]
        groups = {
            self.voice.gettext("Training"): trained if estimated else [],
            self.voice.gettext("Scaling"): ["scaling_efficiency"] if linear else [],
            self.voice.gettext("Limits"): limits,
            self.voice.gettext("How often"): demand,
            self.voice.gettext("Prices"): prices if estimated else [],
        }
        return [
            KnobGroup(name, [self._view(knob) for knob in knobs]) for name, knobs in groups.items() if knobs
        ]

    def column(self, option: StudyOptionAnswer) -> dict[str, KnobView]:
        """Return the knobs of one option by row."""
        figure = next(stated.figure for stated in self.answer.content.options if stated.key == option.key)
        if figure is not None:
            count = "hours" if figure.scaled_from is None else "factor"
            return {"label": self._view("label", option), "count": self._view(count, option)}
        cost = option.estimate.cost if option.estimate else None
        rented = cost is not None and cost.basis.get("acquisition") == "rent"
        names = {row: row for row in ("label", *OPTION_ROWS)} | ({"price": "rent"} if rented else {})
        return {row: self._view(name, option) for row, name in names.items()}

    def add(self) -> KnobView | None:
        """Return the field that adds an option; None if the study has the most allowed."""
        key = unused_key(self.answer.content, self.answer.knobs)
        if not key:
            return None
        name, label = f"add.{key}", self.voice.gettext("Add an option")
        return KnobView(name, "knob-add", label, self.form.get(name), "", False)

    def _view(self, name: str, option: StudyOptionAnswer | None = None) -> KnobView:
        full = name if option is None else f"{name}.{option.key}"
        items = self._choices(name, option)
        default = self._default(name, option)
        default = next((choice.name for choice in items if choice.id == default), default)
        less = more = ""
        if name == "count" and option is not None and option.estimate is not None:
            count = option.estimate.system.count
            others = [(other, value) for other, value in self.query if other != full]
            less = address(self.answer.id, [*others, (full, str(count - 1))]) if count > 1 else ""
            more = address(self.answer.id, [*others, (full, str(count + 1))])
        return KnobView(
            name=full,
            id=f"knob-{full.replace('.', '-')}",
            label=knob_label(name, self.voice),
            value=self.form.get(full),
            default=default,
            changed=full in self.answer.knobs,
            choices=items,
            unit=self._unit(name),
            less_url=less,
            more_url=more,
        )

    def _choices(self, name: str, option: StudyOptionAnswer | None) -> Sequence[Choice]:
        """Return the choices of a knob; none for one that is typed."""
        if name == "precision":
            return [Choice(precision, precision.upper()) for precision in PRECISIONS]
        if name == "currency":
            return [Choice(currency, currency) for currency in CURRENCIES]
        if name == "budget_kind":
            return [Choice(kind, self.voice.label(kind, name)) for kind in get_args(BudgetKind)]
        if name == "target":
            catalog = self.workspace.sizing.catalog
            return [Choice(target, catalog.items[target].name) for target in catalog.names("target")]
        if name == "price_book":
            return self.books
        shelf = self.workspace.catalogue
        system = shelf.systems.documents.get(option.system) if option and option.system else None
        if system is not None and name == "fabric":
            scale_out = [fabric for fabric in shelf.fabrics.documents.values() if fabric.id != "ipu-fabric"]
            return choices.system_choice(system, scale_out, shelf).fabrics
        if system is not None and name == "software":
            groups = choices.softwares(self.workspace, self.voice, system.chip_kind)
            return [choice for group in groups for choice in group.choices]
        return []

    def _unit(self, name: str) -> str:
        if KNOBS[name].kind == "share":
            return "%"
        if name in {"price", "rent", "electricity", "budget"}:
            return self.answer.content.base.currency
        units = {
            "hours": self.voice.gettext("h"),
            "years": self.voice.gettext("years"),
            "deadline": self.voice.gettext("days"),
            "power": "kW",
        }
        return units.get(name, "")

    def _default(self, name: str, option: StudyOptionAnswer | None) -> str:
        """Return the value of an empty field: that of the base, or the default of the estimates."""
        if name in {"price", "rent", "price_book"}:
            estimate = None if option is None else option.estimate
            unpriced = name == "price" and estimate is not None and estimate.fits and estimate.cost is None
            return self.voice.gettext("no published price" if unpriced else "from the catalogue")
        if name == "runs":
            return "1"
        if name == "probability":
            return f"{100 * USUAL_PROBABILITY:g}"
        if name == "budget_kind":
            return self.voice.gettext("purchase, or rented run")
        if option is not None and (shared := knob_text(self.answer.content, name)):
            return shared
        options = self.answer.options if option is None else [option]
        estimates = [other.estimate for other in options if other.estimate]
        values = {self._estimate_default(estimate, name) for estimate in estimates} - {""}
        if option is not None and name == "count" and not values and estimates:
            return str(estimates[0].system.count)
        return values.pop() if len(values) == 1 else "" if not values else self.voice.gettext("by option")

    def _estimate_default(self, estimate: Estimate, name: str) -> str:
        knob = KNOBS[name]
        value = next((default.value for default in estimate.defaults if default.field == knob.field), None)
        if knob.kind == "share" and isinstance(value, int | float):
            return written_in_field(value, knob.kind)
        return "" if value is None else written(value, self.voice)
