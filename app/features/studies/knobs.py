"""Knobs of a study, and the estimate request or stated figure of each of its options."""

from __future__ import annotations

import copy
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from pydantic import ValidationError

from app.catalog.catalog import Catalog
from app.engine.units import DAY, KILOWATT
from app.errors import AppError, BadInput, FieldError, Message, NotFound, Unprocessable, fields_at
from app.estimating.decision import check_limits
from app.estimating.demand import check_demand
from app.estimating.hardware import known_id
from app.estimating.numbers import (
    DAYS,
    HOURS,
    MONEY,
    PLAIN,
    SHARE_OR_PERCENT,
    WHOLE,
    YEARS,
    NumberKind,
    number_in,
)
from app.estimating.request import Demand, EstimateRequest, PlanInput
from app.features.studies.model import (
    MAX_OPTIONS,
    KnobValue,
    StudyContent,
    StudyOption,
    free_keys,
    merged,
    stated,
    tree_of,
)
from app.features.studies.options import PublishedFigure, StatedFigure
from app.platform.json_bodies import as_app_error

Kind = Literal["whole", "number", "share", "money", "hours", "days", "years", "kilowatts", "word", "plan"]

UNITS: Mapping[Kind, float] = {"days": DAY, "kilowatts": KILOWATT}
"""Kind of a number that is written in another unit than that of its field → the unit."""


@dataclass(frozen=True, slots=True)
class Knob:
    """Field that a knob sets: its path in the base and in an option, if it exists there."""

    kind: Kind
    base: str | None = None
    option: str | None = None
    figure: bool | None = False
    """Whether it applies to stated figures rather than to estimates; None for both."""

    @property
    def field(self) -> str:
        """Path of the field in an estimate request."""
        return self.option or self.base or ""


KNOBS: Mapping[str, Knob] = {
    "label": Knob("word", option="label", figure=None),
    "count": Knob("whole", option="system.count"),
    "fabric": Knob("word", option="system.fabric"),
    "ports": Knob("whole", option="system.ports_per_node"),
    "software": Knob("word", "software", "software"),
    "batch": Knob("whole", "workload.global_batch", "workload.global_batch"),
    "precision": Knob("word", "workload.precision", "workload.precision"),
    "model": Knob("word", "model.preset"),
    "target": Knob("word", "workload.target"),
    "tokens": Knob("number", "workload.tokens"),
    "samples": Knob("number", "workload.samples"),
    "epochs": Knob("number", "workload.epochs"),
    "dataset": Knob("number", "workload.dataset_samples"),
    "length": Knob("whole", "workload.seq_len"),
    "image": Knob("whole", "workload.image_size"),
    "optimizer": Knob("word", "workload.optimizer"),
    "plan": Knob("plan", option="plan"),
    "utilisation": Knob("share", "assumptions.utilisation", "assumptions.utilisation"),
    "acquisition": Knob("word", "assumptions.acquisition", "assumptions.acquisition"),
    "price": Knob("money", option="assumptions.system_price"),
    "rent": Knob("money", option="assumptions.hourly_price"),
    "years": Knob("years", "assumptions.amortisation_years", "assumptions.amortisation_years"),
    "electricity": Knob("money", "assumptions.electricity_per_kwh"),
    "price_book": Knob("word", "assumptions.price_book_id"),
    "runs": Knob("number", "assumptions.demand.runs"),
    "runs_per_year": Knob("number", "assumptions.demand.runs_per_year"),
    "busy": Knob("share", "assumptions.demand.utilisation"),
    "scaling_efficiency": Knob("share", "scaling_efficiency"),
    "currency": Knob("word", "currency"),
    "baseline": Knob("word", "baseline"),
    "deadline": Knob("days", "limits.deadline_s"),
    "budget": Knob("money", "limits.budget"),
    "budget_kind": Knob("word", "limits.budget_kind"),
    "power": Knob("kilowatts", "limits.power_w"),
    "probability": Knob("share", "limits.probability"),
    "hours": Knob("hours", option="figure.hours", figure=True),
    "factor": Knob("number", option="figure.factor", figure=True),
}

BESIDE = ("limits.", "baseline")
"""Beginnings of paths outside the base of a study."""

MOST_DAYS = 100_000

LONGEST, LONGEST_PLAN = 100, 400
"""Most characters of a value and of a plan."""

ADD, DROP = "add", "drop"
"""``add.d=bow-pod16`` adds an option with the key d; ``drop.b=1`` removes option b."""


def split(name: str) -> tuple[str, str | None]:
    """Return the knob and the key of its option.

    >>> split("count.a"), split("batch")
    (('count', 'a'), ('batch', None))
    """
    knob, _, key = name.partition(".")
    return knob, key or None


def knob_text(content: StudyContent, name: str) -> str:
    """Return the value of a knob as its field shows it, with defaults for the base but not for an option."""
    knob, key = split(name)
    path = KNOBS[knob].base if key is None else KNOBS[knob].option
    value: Any = content if beside_base(path) else content.base
    if key is not None:
        value = next((option for option in content.options if option.key == key), None)
    for part in (path or "").split("."):
        if value is None or (key is not None and part not in value.model_fields_set):
            return ""
        value = getattr(value, part, None)
    return "" if value is None else written_in_field(value, KNOBS[knob].kind)


def unused_key(content: StudyContent, knobs: Mapping[str, KnobValue]) -> str:
    """Return a key for one more option; empty if the study has the most allowed."""
    if len(content.options) >= MAX_OPTIONS:
        return ""
    dropped = {name.partition(".")[2] for name in knobs if split(name)[0] == DROP}
    return next(free_keys({option.key for option in content.options} | dropped))


def written_in_field(value: object, kind: Kind) -> str:
    if isinstance(value, int | float):
        if kind in UNITS:
            return f"{value / UNITS[kind]:.6g}"
        if kind == "share":
            return f"{value * 100:.6g}"
        return f"{value:,.15g}"
    return str(value)


@dataclass(frozen=True, slots=True)
class StudyVariant:
    """A study with knobs applied, and the knobs that changed it."""

    content: StudyContent
    knobs: Mapping[str, str]
    """As written in an address, in the order of ``KNOBS``."""


def apply_knobs(content: StudyContent, knobs: Mapping[str, KnobValue]) -> StudyVariant:
    """Apply knobs to a study; the result leaves out those that change nothing."""
    before = tree_of(content)
    tree = copy.deepcopy(before)
    errors: list[FieldError] = []
    statuses: set[int] = set()
    ordered = sorted(knobs, key=_order)
    currency = str(knobs.get("currency") or content.base.currency)
    for name in ordered:
        try:
            _turn(tree, name, knobs[name], knobs, currency)
        except AppError as error:
            errors += error.errors or [FieldError("knobs", error.message)]
            statuses.add(error.status)
    if not tree["options"] and not errors:
        message = Message("a study needs at least one option; drop fewer")
        errors += [FieldError(name, message) for name in ordered if split(name)[0] == DROP]
    if errors:
        kind = BadInput if statuses <= {BadInput.status} else Unprocessable
        message = Message("{count} fields are invalid", {"count": len(errors)})
        raise kind(errors[0].message if len(errors) == 1 else message, errors)
    try:
        changed = StudyContent.model_validate(tree)
    except ValidationError as invalid:
        refusal, keys = as_app_error(invalid), [option["key"] for option in tree["options"]]
        refusal.errors = tuple(
            FieldError(field_of_knobs(error.field, keys, knobs), error.message) for error in refusal.errors
        )
        raise refusal from None
    keys = [option.key for option in changed.options]
    with fields_at(lambda field: field_of_knobs(field, keys, knobs)):
        check_asked(changed)
    texts = {name: _changed_to(name, before, tree) for name in ordered}
    return StudyVariant(changed, {name: text for name, text in texts.items() if text is not None})


def _order(name: str) -> tuple[int, int, str]:
    """Return the sort key: added options first, dropped ones last, others in the order of ``KNOBS``."""
    knob, key = split(name)
    return {ADD: 0, DROP: 2}.get(knob, 1), [*KNOBS, knob].index(knob), key or ""


def _turn(
    tree: dict[str, Any], name: str, raw: KnobValue, chosen: Mapping[str, KnobValue], currency: str
) -> None:
    knob, key = split(name)
    if knob in {ADD, DROP}:
        _add_or_drop(tree, knob, key, name, raw)
        return
    if knob not in KNOBS:
        raise NotFound.named("setting", knob, KNOBS, name)
    target = KNOBS[knob]
    part, path = _shared_part(tree, target), target.base
    if key is not None:
        part, path = _option(tree, key, name), target.option
    if path is None:
        template = "applies to one option: name it, as in {example}"
        if key is not None:
            template = "applies to all options; leave the option out, as in {example}"
        raise BadInput.at(name, template, example=f"{knob}.a" if key is None else knob)
    if key is not None and target.figure not in (None, "figure" in part):
        raise BadInput.at(name, "option {key} has no such setting; it is a different kind of option", key=key)
    value = _value(target.kind, name, raw, currency)
    *above, last = path.split(".")
    if path.startswith(DEMAND):
        _demand(part, last, value, chosen)
        return
    for field in above:
        part = part.setdefault(field, {})
    if value is None:
        part.pop(last, None)
    else:
        if knob == "count":  # Of another number of systems all accelerators are used.
            part.pop("accelerators", None)
        part[last] = plan_in(str(value), name) if target.kind == "plan" else value


DEMAND = "assumptions.demand."
"""Beginning of the paths of a demand, of which a study states one."""


def _demand(base: dict[str, Any], field: str, value: KnobValue, chosen: Mapping[str, KnobValue]) -> None:
    """Set one form of the demand in place of another, unless that was chosen too."""
    assumptions = base.setdefault("assumptions", {})
    before = assumptions.pop("demand", {})
    demand = {name: stated for name, stated in before.items() if name != field}
    if value is not None:
        knobs = {knob.base: name for name, knob in KNOBS.items()}
        demand = {name: stated for name, stated in demand.items() if chosen.get(knobs[DEMAND + name])}
        demand[field] = value
    if demand:
        assumptions["demand"] = demand


def plan_in(text: str, field: str) -> dict[str, Any]:
    """Return the plan that a knob states.

    >>> plan_in("tensor=8;pipeline=4", "plan.a")
    {'tensor': 8, 'pipeline': 4}
    """
    fields = dict(pair.split("=", 1) for pair in text.split(";") if "=" in pair)
    try:
        return PlanInput.model_validate(fields).model_dump(exclude_unset=True)
    except ValidationError:
        raise Unprocessable.at(
            field, "must state a plan, as in {example}", example="tensor=8;pipeline=4"
        ) from None


def plan_text(plan: Mapping[str, Any]) -> str:
    """Return a plan as a knob states it.

    >>> plan_text({"tensor": 8, "sequence_parallel": True})
    'tensor=8;sequence_parallel=true'
    """
    return ";".join(f"{name}={str(value).lower()}" for name, value in plan.items() if value is not None)


def _add_or_drop(tree: dict[str, Any], knob: str, key: str | None, name: str, raw: KnobValue) -> None:
    if key is None:
        raise BadInput.at(name, "applies to one option: name it, as in {example}", example=f"{knob}.a")
    if raw in (None, ""):
        return
    if knob == DROP:
        tree["options"].remove(_option(tree, key, name))
        return
    if _option_in(tree, key) is not None:
        raise BadInput.at(name, "two options have the key “{key}”; use different keys", key=key)
    if len(tree["options"]) >= MAX_OPTIONS:
        raise BadInput.at(name, "a study has at most {most} options", most=MAX_OPTIONS)
    tree["options"].append({"key": key, "system": {"id": str(raw)}})


def _option(tree: dict[str, Any], key: str, name: str) -> dict[str, Any]:
    option: dict[str, Any] | None = _option_in(tree, key)
    if option is None:
        raise NotFound.named("option", key, [option["key"] for option in tree["options"]], name)
    return option


NUMBERS: Mapping[str, NumberKind] = {
    "whole": WHOLE, "number": PLAIN, "share": SHARE_OR_PERCENT, "hours": HOURS, "days": DAYS, "years": YEARS,
    "kilowatts": PLAIN,
}  # fmt: skip


def _value(kind: Kind, name: str, raw: KnobValue, currency: str) -> KnobValue:
    """Return a value as a request states it, amounts of money in a currency."""
    text = str(raw).strip() if raw is not None else ""
    if not text:
        return None
    longest = LONGEST_PLAN if kind == "plan" else LONGEST
    if len(text) > longest:
        raise BadInput.at(name, "must have at most {max_length} characters", max_length=longest)
    if kind in {"word", "plan"}:
        return text
    expected = replace(MONEY, currency=currency) if kind == "money" else NUMBERS[kind]
    number = number_in(text, expected, name)
    if kind == "whole" and not 0 < number <= 1e12:
        raise BadInput.at(name, "must be at least 1 and at most {most}", most=10**12)
    if kind == "share" and not 0 < number <= 1:
        raise BadInput.at(name, "must be above 0 and at most 100")
    if number < 0:
        raise BadInput.at(name, "must be at least 0")
    if kind == "days" and number > MOST_DAYS:
        raise BadInput.at(name, "must be at most {most}", most=MOST_DAYS)
    return number * UNITS.get(kind, 1.0)


def beside_base(path: str | None) -> bool:
    """Tell whether a path is outside the base: in the limits, or the baseline."""
    return path is not None and path.startswith(BESIDE)


def _shared_part(tree: Mapping[str, Any], knob: Knob) -> Any:
    """Return the part of a study in which a knob of all options sets its field."""
    return tree if beside_base(knob.base) else tree["base"]


def _read(tree: Mapping[str, Any], name: str) -> Any:
    """Return the value at a knob; None if none is stated, because a tree holds no nulls."""
    knob, key = split(name)
    part, path = _shared_part(tree, KNOBS[knob]), KNOBS[knob].base
    if key is not None:
        part, path = _option_in(tree, key), KNOBS[knob].option
    for field in (path or "").split("."):
        part = (part or {}).get(field)
    return part


def _option_in(tree: Mapping[str, Any], key: str | None) -> Any:
    return next((option for option in tree["options"] if option["key"] == key), None)


def _changed_to(name: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> str | None:
    """Return the value of a knob as written in an address; None if it changed nothing."""
    knob, key = split(name)
    option = _option_in(after, key)
    if knob in {ADD, DROP}:
        if (_option_in(before, key) is None) == (option is None):
            return None
        return "1" if option is None else str(option["system"]["id"])
    if key is not None and option is None:
        return None
    old, new = _read(before, name), _read(after, name)
    numbers = isinstance(old, int | float) and isinstance(new, int | float)
    if math.isclose(old, new, rel_tol=1e-9) if numbers else old == new:
        return None
    if new is None:
        return ""
    unit = UNITS.get(KNOBS[knob].kind)
    return _written(new if unit is None else new / unit)


def _written(value: Any) -> str:
    if isinstance(value, dict):
        return plan_text(value)
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else f"{value:.12g}"
    return str(value)


def knob_at(path: str, key: str | None) -> str | None:
    """Return the knob that sets a field; None if there is none.

    >>> knob_at("workload.global_batch", "a"), knob_at("workload.global_batch", None), knob_at("notes", None)
    ('batch.a', 'batch', None)
    """
    for name, knob in KNOBS.items():
        if path == (knob.base if key is None else knob.option):
            return name if key is None else f"{name}.{key}"
    return None


def field_of_knobs(field: str, keys: Sequence[str], knobs: Collection[str]) -> str:
    """Return the knob at which an error of a field is shown, or the field itself if none sets it.

    A field names an option by its index in ``keys``.
    """
    parts = field.split(".")
    if parts[0] == "options" and len(parts) > 2 and parts[1].isdecimal():
        index, path = int(parts[1]), ".".join(parts[2:])
        if index >= len(keys):
            return field
        key = keys[index]
        own, shared = knob_at(path, key), knob_at(path, None)
        if shared in knobs and own not in knobs:
            return shared or field
        if path == "system.id" and f"{ADD}.{key}" in knobs:
            return f"{ADD}.{key}"
        return own or field
    return knob_at(field.removeprefix("base."), None) or field


def check(content: StudyContent, catalog: Catalog) -> None:
    """Refuse a contradictory study before anything is estimated."""
    keys = [option.key for option in content.options]
    for index, option in enumerate(content.options):
        path = f"options.{index}"
        if option.key in keys[:index]:
            raise BadInput.at(
                f"{path}.key", "two options have the key “{key}”; use different keys", key=option.key
            )
        if (option.system is None) == (option.figure is None):
            raise Unprocessable.at(path, "enter exactly one: a system to estimate or a stated figure")
        if option.system is not None:
            known_id(catalog, "system", option.system.id, f"{path}.system.id")
        if option.figure is not None:
            _check_figure(option.figure, option, keys, path, catalog)
    check_asked(content)
    if content.baseline is not None and content.baseline not in keys:
        raise NotFound.named("option", content.baseline, keys, "baseline")


def check_asked(content: StudyContent) -> None:
    """Refuse limits and a demand that can never be right."""
    with fields_at("limits.{}".format):
        check_limits(content.limits)
    demand = demand_of(content)
    with fields_at("base.{}".format):
        check_demand(demand)


def demand_of(content: StudyContent) -> Demand | None:
    """Return the demand of a study, of which its base and its options state at most one."""
    options = (
        (f"options.{index}.assumptions", option.assumptions.demand)
        for index, option in enumerate(content.options)
    )
    return shared_demand([("base.assumptions", content.base.assumptions.demand), *options])


def shared_demand(stated: Iterable[tuple[str, Demand | None]]) -> Demand | None:
    """Return the demand of options, given with their paths, of which no two may differ."""
    found: Demand | None = None
    for path, demand in stated:
        if demand is None:
            continue
        if found is not None and demand != found:
            raise BadInput.at(
                f"{path}.demand", "differs from the demand of another option; state it once for all of them"
            )
        found = demand
    return found


def check_labels(content: StudyContent) -> None:
    labels = [option.label for option in content.options if option.label]
    for label in labels:
        if labels.count(label) > 1:
            raise BadInput.at(
                "options", "two options are labelled “{label}”; use different labels", label=label
            )


def _check_figure(
    figure: StatedFigure, option: StudyOption, keys: list[str], path: str, catalog: Catalog
) -> None:
    parts = (option.workload, option.plan, option.assumptions)
    if option.software is not None or any(part.model_dump() != type(part)().model_dump() for part in parts):
        raise BadInput.at(path, "a stated figure cannot have a workload, plan, software or assumptions")
    if figure.system is not None:
        known_id(catalog, "system", figure.system, f"{path}.figure.system")
    if figure.scaled_from is not None and figure.scaled_from not in keys:
        raise NotFound.named("option", figure.scaled_from, keys, f"{path}.figure.scaled_from")
    if figure.kind == "linear" and figure.scaled_from is not None:
        if figure.factor is None:
            raise Unprocessable.at(
                f"{path}.figure.factor", "enter a factor for a figure that is scaled from another"
            )
    elif figure.hours is None:
        raise Unprocessable.at(
            f"{path}.figure.hours", "enter hours for a figure that is not scaled from an option"
        )


def request_of(content: StudyContent, option: StudyOption) -> EstimateRequest | PublishedFigure:
    if option.figure is not None:
        return PublishedFigure(label=option.key, **dict(option.figure))
    base = content.base
    parts = {
        "model": stated(option.model or base.model),
        "workload": merged(base.workload, option.workload),
        "system": stated(option.system) if option.system else {},
        "plan": stated(option.plan),
        "assumptions": merged(base.assumptions, option.assumptions),
        "software": option.software or base.software,
        "currency": base.currency,
    }
    return EstimateRequest.model_validate({name: part for name, part in parts.items() if part is not None})


def labels_of(content: StudyContent, catalog: Catalog) -> dict[str, str]:
    """Return the label of each option by its key; an option without one is called by count and system.

    Labels that are equal, as version 0.1.0 may have left them, are told apart by the key.
    """
    labels: dict[str, str] = {}
    own_labels = {option.label for option in content.options}
    for option in content.options:
        label = option.label or _usual_label(option, catalog)
        if label in labels.values() or (option.label is None and label in own_labels):
            label = f"{label} ({option.key})"
        labels[option.key] = label
    return labels


def _usual_label(option: StudyOption, catalog: Catalog) -> str:
    if option.system is not None:
        name = catalog.items[option.system.id].name
        if used := option.system.accelerators:
            return f"{used} × {catalog.system(option.system.id).machine.chip.name}"
        return name if option.system.count == 1 else f"{option.system.count} × {name}"
    if option.figure is not None and option.figure.system is not None:
        return catalog.items[option.figure.system].name
    return option.key
