"""Traces of figures of a study: formula, inputs, sources and rejected claims."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from pydantic import Field, JsonValue

from app.catalog.entries import ChipKind
from app.catalog.figures import Figure
from app.engine.units import HOUR
from app.errors import NotFound
from app.estimating.documents import Estimate, TraceStep
from app.estimating.schema import Document, Quantity
from app.features.studies.answering import check_options
from app.features.studies.model import StudyAnswer, StudyOptionAnswer
from app.features.studies.options import ClaimKind
from app.platform.catalogue import figure
from app.platform.catalogue_model import CatalogueFigure
from app.platform.workspace import Workspace

SHELVES = {"chip": "chips", "machine": "machines", "system": "systems", "fabric": "fabrics"}
"""Kind of item → its section of the catalogue."""


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


def _step(
    name: str,
    inputs: Mapping[str, JsonValue],
    value: Quantity | None,
    reference: str = "definition",
    *,
    formula: str = "",
) -> TraceStep | None:
    if value is None:
        return None
    return TraceStep(
        name=name,
        formula=FORMULAS[formula or name],
        inputs=dict(inputs),
        value=value.value,
        unit=value.unit,
        reference=reference,
        source=[],
    )


def _value(estimate: Estimate, name: str) -> float | None:
    return next((step.value for step in estimate.trace if step.name == name), None)


def _time(estimate: Estimate) -> TraceStep | None:
    return next((step for step in estimate.trace if step.name == "time_to_train"), None)


def _step_time(estimate: Estimate) -> TraceStep | None:
    parts: dict[str, JsonValue] = {
        step.name.removeprefix("step."): step.value
        for step in estimate.trace
        if step.name.startswith("step.")
    }
    return _step("step_time", parts, estimate.step_time)


def _throughput(estimate: Estimate) -> TraceStep | None:
    if estimate.plan is None or estimate.step_time is None:
        return None
    inputs: dict[str, JsonValue] = {
        "global_batch": estimate.plan.global_batch,
        "step_time": estimate.step_time.value,
    }
    return _step("throughput", inputs, estimate.throughput)


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
    return _step("mfu", inputs, estimate.mfu, "Chowdhery et al. 2022 (PaLM), appendix B")


def _memory(estimate: Estimate) -> TraceStep | None:
    if estimate.memory is None:
        return None
    inputs: dict[str, JsonValue] = {part.part: part.value for part in estimate.memory.parts}
    inputs["capacity"] = estimate.memory.capacity.value
    return _step("memory", inputs, estimate.memory.per_device)


def _cost(estimate: Estimate) -> TraceStep | None:
    if estimate.cost is None or estimate.time_to_train is None:
        return None
    inputs: dict[str, JsonValue] = {f"hourly.{line.item}": line.hourly for line in estimate.cost.lines}
    inputs["hours"] = estimate.time_to_train.value / HOUR
    inputs |= {f"basis.{name}": value for name, value in estimate.cost.basis.items()}
    return _step("cost", inputs, estimate.cost.run, "Barroso, Hölzle, Ranganathan 2018, chapter 6")


def _energy(estimate: Estimate) -> TraceStep | None:
    if estimate.energy is None or estimate.time_to_train is None:
        return None
    seconds = estimate.time_to_train.value
    power, pue = estimate.energy.value / seconds, estimate.cost.basis.get("pue") if estimate.cost else None
    inputs: dict[str, JsonValue] = {"power_with_cooling": power, "time_to_train": seconds}
    if isinstance(pue, float):
        inputs = {"power": power / pue, "pue": pue, "time_to_train": seconds}
        return _step("energy", inputs, estimate.energy)
    return _step("energy", inputs, estimate.energy, formula="energy_with_cooling")


STEP = ("step.", "peak", "software", "architecture_effect", "chip_effect", "family_effect")
"""Beginnings of the names of the steps that determine the time of a training step."""

FIGURES: Mapping[
    str, tuple[Callable[[Estimate], TraceStep | None], Callable[[Estimate], Quantity | None], tuple[str, ...]]
] = {
    "time_to_train": (_time, lambda estimate: estimate.time_to_train, ("",)),
    "cost": (_cost, lambda estimate: estimate.cost.run if estimate.cost else None, ("time_to_train",)),
    "step_time": (_step_time, lambda estimate: estimate.step_time, STEP),
    "throughput": (_throughput, lambda estimate: estimate.throughput, STEP),
    "mfu": (_mfu, lambda estimate: estimate.mfu, ("training_flop_per_sample", *STEP)),
    "memory": (
        _memory,
        lambda estimate: estimate.memory.per_device if estimate.memory else None,
        ("software",),
    ),
    "energy": (_energy, lambda estimate: estimate.energy, ("time_to_train",)),
}
"""Figure → its own step, its value, and the beginnings of the names of the steps that determine it."""


def trace_figure(workspace: Workspace, answer: StudyAnswer, key: str, name: str) -> StudyTrace:
    check_options([key], [option.key for option in answer.options], "option")
    if name not in FIGURES:
        raise NotFound.named("figure", name, FIGURES, "figure")
    option = next(option for option in answer.options if option.key == key)
    step, steps, claims, value = None, list[TraceStep](), list[TraceClaim](), None
    if option.estimate is not None:
        step_of, value_of, prefixes = FIGURES[name]
        step, value = step_of(option.estimate), value_of(option.estimate)
        earlier = _steps_before(step.name if step else "", option.estimate.trace)
        steps = [other for other in earlier if other.name.startswith(prefixes)]
        claims = _claims(workspace, option.estimate, [*steps, *([step] if step else [])], name)
    elif name == "time_to_train":
        step, value = _stated_time(answer, option), option.time
    return StudyTrace(
        id=answer.id,
        version=answer.version,
        knobs=answer.knobs,
        option=key,
        label=option.label,
        kind=option.kind,
        figure=name,
        value=value,
        step=step,
        steps=steps,
        claims=claims,
    )


def _steps_before(name: str, steps: list[TraceStep]) -> list[TraceStep]:
    """Return the steps before one, or all if it is not among them."""
    names = [step.name for step in steps]
    return steps[: names.index(name) if name in names else None]


def _stated_time(answer: StudyAnswer, option: StudyOptionAnswer) -> TraceStep | None:
    """Return the step of a stated figure, which may be scaled from another option."""
    figure = next(stated.figure for stated in answer.content.options if stated.key == option.key)
    if figure is None:
        return None
    formula, inputs = "stated", dict[str, JsonValue]()
    if figure.kind == "linear":
        formula = "scaled"
        inputs = {
            "scaled_from": figure.scaled_from,
            "factor": figure.factor,
            "scaling_efficiency": answer.content.base.scaling_efficiency,
        }
    if figure.hours is not None or formula == "stated":
        inputs["hours"] = figure.hours
    return _step("time_to_train", inputs, option.time, "stated in the study", formula=formula)


def _claims(
    workspace: Workspace, estimate: Estimate, steps: Iterable[TraceStep], name: str
) -> list[TraceClaim]:
    """Return the figures of the catalogue that went in, once each."""
    figures: dict[tuple[str, str, str], Figure] = {}
    for fact in [
        *_inputs(workspace, estimate, steps),
        *(_prices(workspace, estimate) if name == "cost" else ()),
    ]:
        figures.setdefault((fact.item, fact.parameter, fact.condition), fact)
    return [claim for fact in figures.values() if (claim := _claim(workspace, fact)) is not None]


def _inputs(workspace: Workspace, estimate: Estimate, steps: Iterable[TraceStep]) -> Iterator[Figure]:
    catalog = workspace.sizing.catalog
    for step in steps:
        for name in step.inputs:
            item, _, parameter = name.rpartition(".")
            if not item and step.name == "peak":
                item = estimate.system.chip
            plain = catalog.find(item, parameter)
            yield from [plain] if plain is not None else catalog.figures_of(item, [parameter])[-1:]


def _prices(workspace: Workspace, estimate: Estimate) -> Iterator[Figure]:
    """Return the prices and rates behind a cost."""
    catalog = workspace.sizing.catalog
    entry = catalog.system(estimate.system.id)
    if entry.acquisition.value == "rent":
        if entry.price_hour is not None:
            yield entry.price_hour
        return
    for line in entry.bill:
        if line.price is not None:
            yield line.price
    kind = ChipKind(entry.machine.chip.kind)
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
        *defaults.exchange_rates.values(),
    )


def _claim(workspace: Workspace, fact: Figure) -> TraceClaim | None:
    catalog = workspace.sizing.catalog
    document = figure(catalog, fact)
    item = catalog.items.get(fact.item)
    if document is None or item is None:
        return None
    shelf = next((SHELVES[kind] for kind in item.kinds if kind in SHELVES), "")
    address = f"/catalog/{shelf}/{fact.item}#{fact.parameter}" if shelf else ""
    name = catalog.chip(fact.item).name if shelf == SHELVES["chip"] else item.name
    return TraceClaim(item=fact.item, name=name, address=address, figure=document)
