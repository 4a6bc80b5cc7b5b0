"""Knobs of a study on its page: from the address to values, and from values to fields and addresses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import QueryParams

from app.errors import BadInput, FieldError
from app.estimating.documents import Estimate
from app.features.studies.concluding import USUAL_PROBABILITY
from app.features.studies.knobs import ADD, DROP, KNOBS, shown, split, unused_key, written_in_field
from app.features.studies.model import StudyAnswer, StudyOptionAnswer
from app.platform.web import choices
from app.platform.web.contexts import Choice, Form
from app.platform.web.forms import plain_number, whole
from app.platform.web.rendering import DISPLAY_PARAMS
from app.platform.wording.voice import Voice, written
from app.platform.workbench import Workbench

UNDO = "undo"
"""Names a knob of a state that is to stand as in the version again."""

NOT_KNOBS = (*DISPLAY_PARAMS, "version", "state", UNDO, "pair", "previous", "option", "figure")
"""Names of a query that are no knobs."""

LONGEST_QUERY = 120
"""Letters of the knobs of an address; what takes more is stored under a short name."""

LONGEST_STATE = 4_000
"""Letters of a state that a form sends along."""

PRECISIONS = ("bf16", "fp16", "fp8", "mxfp8", "nvfp4", "tf32", "fp32", "fp16.16")

OPTION_ROWS = ("count", "fabric", "software", "batch", "precision", "utilisation", "price")
"""Knobs of a column; a rented system has the price of an hour in place of that of the system."""

AMOUNT = ("target", "tokens", "samples", "epochs", "dataset", "length", "image")
"""Knobs of what is trained, of which those are shown that the study states."""

PRICES = ("utilisation", "years", "electricity", "currency")


def address(identifier: str, query: Iterable[tuple[str, str]], place: str = "") -> str:
    """Return the address of a state; ``place`` is what follows the address of the study."""
    state = urlencode(list(query))
    return f"/studies/{identifier}{place}" + (f"?{state}" if state else "")


def without(query: Sequence[tuple[str, str]], knob: str) -> list[tuple[str, str]]:
    """Return the query of a state with a knob set back, and with it those of an option it added."""
    if any(name == "state" for name, _ in query):
        return [*query, (UNDO, knob)]
    added = knob.partition(".")[2] if split(knob)[0] == ADD else ""
    return [(name, value) for name, value in query if name != knob and (not added or split(name)[1] != added)]


def state_in(text: str) -> QueryParams:
    """Return the state that a form sends along as the query of its address."""
    return QueryParams(parse_qsl(text[:LONGEST_STATE], keep_blank_values=True))


def knobs_in(query: QueryParams) -> dict[str, str]:
    """Return the knobs of an address: numbers as people write them become plain ones."""
    found: dict[str, str] = {}
    for name, text in query.multi_items():
        if name in NOT_KNOBS:
            continue
        knob, _ = split(name)
        word = knob in {ADD, DROP} or (knob in KNOBS and KNOBS[knob].kind == "word")
        found[name[:60]] = text.strip() if word else plain_number(text.strip())
    return found


def version_in(query: QueryParams) -> int | None:
    """Return the version an address names; the newest where it names none."""
    text = query.get("version", "").strip()
    version = whole(text)
    if text and not version:
        raise BadInput.at("version", "must be a whole number")
    return version


def pair_in(query: QueryParams) -> list[str] | None:
    """Return the two options an address holds against each other; the best two where it names none."""
    pair = [key[:20] for key in query.getlist("pair") if key]
    if pair and (len(pair) != 2 or pair[0] == pair[1]):
        raise BadInput.at("pair", "choose two different options")
    return pair or None


def form_of(answer: StudyAnswer, typed: Mapping[str, str], errors: Sequence[FieldError]) -> Form:
    """Return the fields of the page as they stand, with what was typed where it was refused."""
    names = [*KNOBS, *(f"{knob}.{option.key}" for option in answer.options for knob in KNOBS)]
    values = {name: value for name in names if (value := shown(answer.content, name))} | dict(typed)
    return Form({name: [value] for name, value in values.items()}, errors)


def knob_label(name: str, voice: Voice) -> str:
    return voice.label(f"knob.{name}" if KNOBS[name].kind == "share" else KNOBS[name].field)


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
class KnobGroup:
    """Knobs under one heading."""

    name: str
    knobs: Sequence[KnobView]


@dataclass(frozen=True, slots=True)
class KnobPanel:
    """Everything that can be turned on the page of an answer."""

    bench: Workbench
    answer: StudyAnswer
    form: Form
    voice: Voice
    query: Sequence[tuple[str, str]]
    """Of the state that is shown."""
    books: Sequence[Choice]
    """Price books to choose from."""

    def shared(self) -> list[KnobGroup]:
        """Return the knobs that turn all options.

        The efficiency of scaling is one where a figure is scaled, the price book where there is one.
        """
        linear = any(option.kind == "linear" for option in self.answer.options)
        estimated = any(option.estimate for option in self.answer.options)
        trained = [*(name for name in AMOUNT if self.form.get(name)), "batch", "precision"]
        limits = ["deadline", "budget"]
        limits += ["budget_kind"] if self.form.get("budget") else []
        limits += ["probability"] if self.form.get("deadline") or self.form.get("budget") else []
        prices = [*PRICES, *(["price_book"] if self.books or self.form.get("price_book") else [])]
        groups = {
            self.voice.gettext("Training"): trained if estimated else [],
            self.voice.gettext("Scaling"): ["scaling_efficiency"] if linear else [],
            self.voice.gettext("Limits"): limits,
            self.voice.gettext("Prices"): prices if estimated else [],
        }
        return [
            KnobGroup(name, [self._view(knob) for knob in knobs]) for name, knobs in groups.items() if knobs
        ]

    def column(self, option: StudyOptionAnswer) -> dict[str, KnobView]:
        """Return the knobs of one option by the row they stand in."""
        stated = next(one.figure for one in self.answer.content.options if one.key == option.key)
        if stated is not None:
            count = "hours" if stated.scaled_from is None else "factor"
            return {"label": self._view("label", option), "count": self._view(count, option)}
        cost = option.estimate.cost if option.estimate else None
        rented = cost is not None and cost.basis.get("acquisition") == "rent"
        names = {row: row for row in ("label", *OPTION_ROWS)} | ({"price": "rent"} if rented else {})
        return {row: self._view(name, option) for row, name in names.items()}

    def add(self) -> KnobView | None:
        """Return the field that adds an option; none where there are as many as there may be."""
        key = unused_key(self.answer.content, self.answer.knobs)
        if not key:
            return None
        name, label = f"add.{key}", self.voice.gettext("Add an option")
        return KnobView(name, "knob-add", label, self.form.get(name), "", False)

    def _view(self, name: str, option: StudyOptionAnswer | None = None) -> KnobView:
        full = name if option is None else f"{name}.{option.key}"
        offered = self._offered(name, option)
        taken = self._taken(name, option)
        taken = next((one.name for one in offered if one.id == taken), taken)
        less = more = ""
        if name == "count" and option is not None and option.estimate is not None:
            count = option.estimate.system.count
            less = self._address(full, count - 1) if count > 1 else ""
            more = self._address(full, count + 1)
        return KnobView(
            name=full,
            id=f"knob-{full.replace('.', '-')}",
            label=knob_label(name, self.voice),
            value=self.form.get(full),
            taken=taken,
            changed=full in self.answer.knobs,
            choices=offered,
            unit=self._unit(name),
            less_url=less,
            more_url=more,
        )

    def _address(self, name: str, count: int) -> str:
        rest = [(other, value) for other, value in self.query if other != name]
        return address(self.answer.id, [*rest, (name, str(count))])

    def _offered(self, name: str, option: StudyOptionAnswer | None) -> Sequence[Choice]:
        """Return what there is to choose from; nothing where a number is typed."""
        if name == "precision":
            return [Choice(precision, precision.upper()) for precision in PRECISIONS]
        if name == "currency":
            return [Choice("KRW", "KRW"), Choice("USD", "USD")]
        if name == "budget_kind":
            return [Choice(kind, self.voice.label(kind)) for kind in ("purchase", "run", "term")]
        if name == "target":
            catalog = self.bench.sizing.catalog
            return [Choice(target, catalog.items[target].name) for target in catalog.names("target")]
        if name == "price_book":
            return self.books
        shelf = self.bench.catalogue
        system = shelf.systems.documents.get(option.system) if option and option.system else None
        if system is not None and name == "fabric":
            scale_out = [fabric for fabric in shelf.fabrics.documents.values() if fabric.id != "ipu-fabric"]
            return choices.system_choice(system, scale_out, shelf).fabrics
        if system is not None and name == "software":
            groups = choices.softwares(self.bench, self.voice, system.chip_kind)
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
        }
        return units.get(name, "")

    def _taken(self, name: str, option: StudyOptionAnswer | None) -> str:
        """Return what an empty field stands for: what the base states, or the default an estimate took."""
        if name in {"price", "rent", "price_book"}:
            estimate = None if option is None else option.estimate
            unpriced = name == "price" and estimate is not None and estimate.fits and estimate.cost is None
            return self.voice.gettext("no published price" if unpriced else "from the catalogue")
        if name == "probability":
            return f"{100 * USUAL_PROBABILITY:g}"
        if name == "budget_kind":
            return self.voice.gettext("purchase, or the run if rented")
        if option is not None and (shared := shown(self.answer.content, name)):
            return shared
        options = self.answer.options if option is None else [option]
        estimates = [one.estimate for one in options if one.estimate]
        values = {self._default(estimate, name) for estimate in estimates} - {""}
        if option is not None and name == "count" and not values and estimates:
            return str(estimates[0].system.count)
        return values.pop() if len(values) == 1 else "" if not values else self.voice.gettext("by option")

    def _default(self, estimate: Estimate, name: str) -> str:
        knob = KNOBS[name]
        value = next((default.value for default in estimate.defaults if default.field == knob.field), None)
        if knob.kind == "share" and isinstance(value, int | float):
            return written_in_field(value, knob.kind)
        return "" if value is None else written(value, self.voice)
