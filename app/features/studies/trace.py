"""Where a figure of a study comes from: formula, inputs, sources, and the claims that were rejected."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from pydantic import Field, JsonValue

from app.catalog.entries import ChipKind
from app.catalog.figures import Figure
from app.errors import NotFound
from app.estimating.documents import Estimate, TraceStep
from app.estimating.schema import Document, Quantity
from app.features.comparisons.compare import SECONDS_PER_HOUR
from app.features.comparisons.model import ClaimKind
from app.features.studies.answering import check_pair
from app.features.studies.model import StudyAnswer, StudyOptionAnswer
from app.platform.catalogue import figure
from app.platform.catalogue_model import CatalogueFigure
from app.platform.workbench import Workbench

SHELVES = {"chip": "chips", "machine": "machines", "system": "systems", "fabric": "fabrics"}
"""Kind of item → its page of the catalogue."""


class TraceClaim(Document):
    """A figure of the catalogue that went in, with its competing claims."""

    item: str = Field(description="What it is a figure of.")
    name: str = Field(description="Name of that.")
    address: str = Field(description="Its page of the catalogue; empty where it has none.")
    figure: CatalogueFigure = Field(description="The figure in use, with the rejected ones.")


class StudyTrace(Document):
    """How one figure of one option comes about."""

    id: str = Field(description="Identifier of the study.")
    version: int = Field(description="Version to which the knobs apply.")
    knobs: dict[str, str] = Field(description="Knobs that were turned.")
    option: str = Field(description="Key of the option.")
    label: str = Field(description="What the option is called.")
    kind: ClaimKind = Field(description="Source of the statement.")
    figure: str = Field(description="Name of the figure.")
    value: Quantity | None = Field(description="The figure with its range; null where there is none.")
    step: TraceStep | None = Field(description="Formula, inputs and sources of the figure itself.")
    steps: list[TraceStep] = Field(description="What its inputs come from, in the order of the calculation.")
    claims: list[TraceClaim] = Field(description="Figures of the catalogue that went in.")


FORMULAS = {
    "step_time": "step time = sum of its parts",
    "throughput": "throughput = global batch / step time",
    "mfu": "MFU = training FLOP of one sample × global batch / (step time × peak × devices)",
    "memory": "memory = sum of its parts on the fullest device",
    "cost": "cost of the run = sum of the hourly lines × hours",
    "energy": "energy = power of the machines × PUE × time to train",
    "energy_with_cooling": "energy = power with cooling × time to train",
    "stated": "as somebody states it",
    "scaled": "time = time of the option it is scaled from / (factor × scaling efficiency)",
}
"""Formulas in words."""


Head = Callable[[Estimate], TraceStep | None]


def _step(
    name: str, formula: str, inputs: Mapping[str, JsonValue], value: Quantity | None, reference: str
) -> TraceStep | None:
    if value is None:
        return None
    return TraceStep(
        name=name,
        formula=formula,
        inputs=dict(inputs),
        value=value.value,
        unit=value.unit,
        reference=reference,
        source=[],
    )


def _named(estimate: Estimate, name: str) -> TraceStep | None:
    return next((step for step in estimate.trace if step.name == name), None)


def _value(estimate: Estimate, name: str) -> float | None:
    found = _named(estimate, name)
    return None if found is None else found.value


def _time(estimate: Estimate) -> TraceStep | None:
    return _named(estimate, "time_to_train")


def _step_time(estimate: Estimate) -> TraceStep | None:
    parts: dict[str, JsonValue] = {
        step.name.removeprefix("step."): step.value
        for step in estimate.trace
        if step.name.startswith("step.")
    }
    return _step("step_time", FORMULAS["step_time"], parts, estimate.step_time, "definition")


def _throughput(estimate: Estimate) -> TraceStep | None:
    if estimate.plan is None or estimate.step_time is None:
        return None
    inputs: dict[str, JsonValue] = {
        "global_batch": estimate.plan.global_batch,
        "step_time": estimate.step_time.value,
    }
    return _step("throughput", FORMULAS["throughput"], inputs, estimate.throughput, "definition")


def _mfu(estimate: Estimate) -> TraceStep | None:
    if estimate.plan is None or estimate.step_time is None:
        return None
    inputs: dict[str, JsonValue] = {
        "training_flop_per_sample": _value(estimate, "training_flop_per_sample"),
        "global_batch": estimate.plan.global_batch,
        "step_time": estimate.step_time.value,
        "peak": _value(estimate, "peak"),
        "devices": estimate.system.devices,
    }
    return _step("mfu", FORMULAS["mfu"], inputs, estimate.mfu, "Chowdhery et al. 2022 (PaLM), appendix B")


def _memory(estimate: Estimate) -> TraceStep | None:
    if estimate.memory is None:
        return None
    inputs: dict[str, JsonValue] = {part.part: part.value for part in estimate.memory.parts}
    inputs["capacity"] = estimate.memory.capacity.value
    return _step("memory", FORMULAS["memory"], inputs, estimate.memory.per_device, "definition")


def _cost(estimate: Estimate) -> TraceStep | None:
    if estimate.cost is None or estimate.time_to_train is None:
        return None
    inputs: dict[str, JsonValue] = {f"hourly.{line.item}": line.hourly for line in estimate.cost.lines}
    inputs["hours"] = estimate.time_to_train.value / SECONDS_PER_HOUR
    basis = {f"basis.{name}": value for name, value in estimate.cost.basis.items()}
    reference = "Barroso, Hölzle, Ranganathan 2018, chapter 6"
    return _step("cost", FORMULAS["cost"], {**inputs, **basis}, estimate.cost.run, reference)


def _energy(estimate: Estimate) -> TraceStep | None:
    if estimate.energy is None or estimate.time_to_train is None:
        return None
    seconds = estimate.time_to_train.value
    power, pue = estimate.energy.value / seconds, estimate.cost.basis.get("pue") if estimate.cost else None
    if isinstance(pue, float):
        apart: dict[str, JsonValue] = {"power": power / pue, "pue": pue, "time_to_train": seconds}
        return _step("energy", FORMULAS["energy"], apart, estimate.energy, "definition")
    inputs: dict[str, JsonValue] = {"power_with_cooling": power, "time_to_train": seconds}
    return _step("energy", FORMULAS["energy_with_cooling"], inputs, estimate.energy, "definition")


STEP = ("step.", "peak", "software", "architecture_effect", "chip_effect", "family_effect")
"""Beginnings of the names of the steps that the time of a training step rests on."""

FIGURES: Mapping[str, tuple[Head, Callable[[Estimate], Quantity | None], tuple[str, ...]]] = {
    "time_to_train": (_time, lambda one: one.time_to_train, ("",)),
    "cost": (_cost, lambda one: one.cost.run if one.cost else None, ("time_to_train",)),
    "step_time": (_step_time, lambda one: one.step_time, STEP),
    "throughput": (_throughput, lambda one: one.throughput, STEP),
    "mfu": (_mfu, lambda one: one.mfu, ("training_flop_per_sample", *STEP)),
    "memory": (_memory, lambda one: one.memory.per_device if one.memory else None, ("software",)),
    "energy": (_energy, lambda one: one.energy, ("time_to_train",)),
}
"""Figure → its own step, its value, and the beginnings of the names of the steps it rests on."""


def trace_figure(bench: Workbench, answer: StudyAnswer, option: str, name: str) -> StudyTrace:
    check_pair([option], [one.key for one in answer.options])
    if name not in FIGURES:
        raise NotFound.named("figure", name, FIGURES, "figure")
    found = next(one for one in answer.options if one.key == option)
    head, steps, claims, value = None, list[TraceStep](), list[TraceClaim](), found.time
    if found.estimate is not None:
        make, read, prefixes = FIGURES[name]
        head, value = make(found.estimate), read(found.estimate)
        own = head.name if head else ""
        steps = [one for one in _until(found.estimate, own) if one.name.startswith(prefixes)]
        claims = _claims(bench, found.estimate, [*steps, *([head] if head else [])], name)
    elif name != "time_to_train":
        value = None
    else:
        head = _stated(answer, found)
    return StudyTrace(
        id=answer.id,
        version=answer.version,
        knobs=answer.knobs,
        option=option,
        label=found.label,
        kind=found.kind,
        figure=name,
        value=value,
        step=head,
        steps=steps,
        claims=claims,
    )


def _until(estimate: Estimate, own: str) -> list[TraceStep]:
    """Return the steps before a figure's own; costs come after the time they are reckoned from."""
    names = [step.name for step in estimate.trace]
    return estimate.trace[: names.index(own) if own in names else len(names)]


def _stated(answer: StudyAnswer, found: StudyOptionAnswer) -> TraceStep | None:
    """Return how the time of a stated figure comes about: stated, or scaled from another."""
    option = next(one for one in answer.content.options if one.key == found.key)
    figure = option.figure
    if figure is None:
        return None
    inputs: dict[str, JsonValue] = {"hours": figure.hours}
    formula = FORMULAS["stated"]
    if figure.kind == "linear":
        formula = FORMULAS["scaled"]
        inputs = {
            "scaled_from": figure.scaled_from,
            "factor": figure.factor,
            "scaling_efficiency": answer.content.base.scaling_efficiency,
            **({"hours": figure.hours} if figure.hours is not None else {}),
        }
    return _step("time_to_train", formula, inputs, found.time, "stated in the study")


def _claims(bench: Workbench, estimate: Estimate, steps: Iterable[TraceStep], name: str) -> list[TraceClaim]:
    """Return the figures of the catalogue that went in, once each."""
    found: dict[tuple[str, str, str], Figure] = {}
    for fact in [*_inputs(bench, estimate, steps), *(_prices(bench, estimate) if name == "cost" else ())]:
        found.setdefault((fact.item, fact.parameter, fact.condition), fact)
    return [claim for fact in found.values() if (claim := _claim(bench, fact)) is not None]


def _inputs(bench: Workbench, estimate: Estimate, steps: Iterable[TraceStep]) -> Iterator[Figure]:
    catalog = bench.sizing.catalog
    for step in steps:
        for name in step.inputs:
            item, _, parameter = name.rpartition(".")
            if not item and step.name == "peak":
                item = estimate.system.chip
            plain = catalog.find(item, parameter)
            known = [plain] if plain is not None else catalog.figures_of(item, [parameter])
            yield from known[-1:]


def _prices(bench: Workbench, estimate: Estimate) -> Iterator[Figure]:
    """Return the prices and rates behind a cost."""
    catalog = bench.sizing.catalog
    entry = catalog.system(estimate.system.id)
    if entry.acquisition.value == "rent":
        if entry.price_hour is not None:
            yield entry.price_hour
        return
    for line in entry.bill:
        if line.price is not None:
            yield line.price
    kind = ChipKind(entry.chip_kind)
    defaults = catalog.cost_defaults(kind)
    yield from (
        defaults.amortisation,
        defaults.residual,
        defaults.capital_rate,
        *defaults.yearly_shares.values(),
        defaults.utilisation,
        defaults.pue,
        defaults.tariff,
        defaults.colocation,
        defaults.staff_per_node,
        defaults.staff_cost,
        defaults.won_per_dollar,
    )


def _claim(bench: Workbench, fact: Figure) -> TraceClaim | None:
    catalog = bench.sizing.catalog
    shown = figure(catalog, fact)
    item = catalog.items.get(fact.item)
    if shown is None or item is None:
        return None
    shelf = next((SHELVES[kind] for kind in item.kinds if kind in SHELVES), "")
    address = f"/catalog/{shelf}/{fact.item}#{fact.parameter}" if shelf else ""
    name = catalog.chip(fact.item).name if shelf == SHELVES["chip"] else item.name
    return TraceClaim(item=fact.item, name=name, address=address, figure=shown)
