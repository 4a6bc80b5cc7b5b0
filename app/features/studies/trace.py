"""Where a figure of a study comes from: formula, inputs, sources, and the claims that were rejected."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

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
    version: int = Field(description="Version whose knobs were turned.")
    knobs: dict[str, str] = Field(description="Knobs that were turned.")
    option: str = Field(description="Key of the option.")
    label: str = Field(description="What the option is called.")
    kind: ClaimKind = Field(description="Who says so.")
    figure: str = Field(description="Name of the figure.")
    value: Quantity | None = Field(description="The figure with its range; null where there is none.")
    step: TraceStep | None = Field(description="Formula, inputs and sources of the figure itself.")
    steps: list[TraceStep] = Field(description="What its inputs come from, in the order of the calculation.")
    claims: list[TraceClaim] = Field(description="Figures of the catalogue that went in.")


Inputs = dict[str, JsonValue]


@dataclass(frozen=True, slots=True)
class TracedFigure:
    """A figure of an estimate, and how it comes about."""

    value: Callable[[Estimate], Quantity | None]
    inputs: Callable[[Estimate], Inputs | None]
    """What goes into its own step; None where an estimate has no such step."""
    formula: str
    reference: str
    rests_on: tuple[str, ...]
    """Beginnings of the names of the steps it rests on."""


def _named(estimate: Estimate, name: str) -> TraceStep | None:
    return next((step for step in estimate.trace if step.name == name), None)


def _value(estimate: Estimate, name: str) -> float | None:
    found = _named(estimate, name)
    return None if found is None else found.value


def _step_parts(estimate: Estimate) -> Inputs:
    parts = (step for step in estimate.trace if step.name.startswith("step."))
    return {step.name.removeprefix("step."): step.value for step in parts}


def _throughput_inputs(estimate: Estimate) -> Inputs | None:
    if estimate.plan is None or estimate.step_time is None:
        return None
    return {"global_batch": estimate.plan.global_batch, "step_time": estimate.step_time.value}


def _mfu_inputs(estimate: Estimate) -> Inputs | None:
    work = _throughput_inputs(estimate)
    return work and {
        "training_flop_per_sample": _value(estimate, "training_flop_per_sample"),
        **work,
        "peak": _value(estimate, "peak"),
        "devices": estimate.system.devices,
    }


def _memory_inputs(estimate: Estimate) -> Inputs | None:
    if estimate.memory is None:
        return None
    return {
        **{part.part: part.value for part in estimate.memory.parts},
        "capacity": estimate.memory.capacity.value,
    }


def _cost_inputs(estimate: Estimate) -> Inputs | None:
    cost, time = estimate.cost, estimate.time_to_train
    if cost is None or time is None:
        return None
    return {
        **{f"hourly.{line.item}": line.hourly for line in cost.lines},
        "hours": time.value / SECONDS_PER_HOUR,
        **{f"basis.{name}": value for name, value in cost.basis.items()},
    }


def _energy_inputs(estimate: Estimate) -> Inputs | None:
    energy, time = estimate.energy, estimate.time_to_train
    if energy is None or time is None:
        return None
    return {"power": energy.value / time.value, "time_to_train": time.value}


STEP_PARTS = ("step.", "peak", "software")

FIGURES: Mapping[str, TracedFigure] = {
    # The estimate itself has the step of its time.
    "time_to_train": TracedFigure(lambda made: made.time_to_train, lambda made: None, "", "", ("",)),
    "cost": TracedFigure(
        lambda made: made.cost.run if made.cost else None,
        _cost_inputs,
        "cost of the run = sum of the hourly lines × hours",
        "Barroso, Hölzle, Ranganathan 2018, chapter 6",
        ("time_to_train",),
    ),
    "step_time": TracedFigure(
        lambda made: made.step_time, _step_parts, "step time = sum of its parts", "definition", STEP_PARTS
    ),
    "throughput": TracedFigure(
        lambda made: made.throughput,
        _throughput_inputs,
        "throughput = global batch / step time",
        "definition",
        STEP_PARTS,
    ),
    "mfu": TracedFigure(
        lambda made: made.mfu,
        _mfu_inputs,
        "MFU = training FLOP of one sample × global batch / (step time × peak × devices)",
        "Chowdhery et al. 2022 (PaLM), appendix B",
        ("training_flop_per_sample", "peak", "step."),
    ),
    "memory": TracedFigure(
        lambda made: made.memory.per_device if made.memory else None,
        _memory_inputs,
        "memory = sum of its parts on the fullest device",
        "definition",
        ("software",),
    ),
    "energy": TracedFigure(
        lambda made: made.energy,
        _energy_inputs,
        "energy = power of the facility under the training load × time to train",
        "definition",
        ("time_to_train",),
    ),
}


def _step(name: str, formula: str, inputs: Inputs, value: Quantity, reference: str) -> TraceStep:
    return TraceStep(
        name=name,
        formula=formula,
        inputs=inputs,
        value=value.value,
        unit=value.unit,
        reference=reference,
        source=[],
    )


def trace_figure(bench: Workbench, answer: StudyAnswer, option: str, name: str) -> StudyTrace:
    """Return how a figure of an option comes about."""
    check_pair([option], [one.key for one in answer.options])
    if name not in FIGURES:
        raise NotFound.named("figure", name, FIGURES, "figure")
    found = next(one for one in answer.options if one.key == option)
    head, steps, claims, value = None, list[TraceStep](), list[TraceClaim](), None
    if (made := found.estimate) is not None:
        traced = FIGURES[name]
        value, inputs = traced.value(made), traced.inputs(made)
        if name == "time_to_train":
            head = _named(made, name)
        elif inputs is not None and value is not None:
            head = _step(name, traced.formula, inputs, value, traced.reference)
        own = head.name if head else ""
        steps = [step for step in made.trace if step.name.startswith(traced.rests_on) and step.name != own]
        claims = _claims(bench, made, [*steps, *([head] if head else [])], name)
    elif name == "time_to_train":
        head, value = _stated(answer, found), found.time
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


def _stated(answer: StudyAnswer, found: StudyOptionAnswer) -> TraceStep | None:
    """Return how the time of a stated figure comes about: stated, or scaled from another."""
    stated = next(option.figure for option in answer.content.options if option.key == found.key)
    if stated is None or found.time is None:
        return None
    inputs: dict[str, JsonValue] = {"hours": stated.hours}
    formula = "as somebody states it"
    if stated.kind == "linear":
        formula = "time = time of the option it is scaled from / (factor × scaling efficiency)"
        inputs = {
            "scaled_from": stated.scaled_from,
            "factor": stated.factor,
            "scaling_efficiency": answer.content.base.scaling_efficiency,
            **({"hours": stated.hours} if stated.hours is not None else {}),
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
    defaults = catalog.cost_defaults(ChipKind(entry.chip_kind))
    yield from (
        defaults.amortisation,
        defaults.residual,
        defaults.capital_rate,
        defaults.support_rate,
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
    return TraceClaim(item=fact.item, name=item.name, address=address, figure=shown)
