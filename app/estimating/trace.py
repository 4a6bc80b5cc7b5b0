"""The trace of an estimate: each formula with its inputs, its value and its sources."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

import numpy as np
from pydantic import JsonValue

from app.catalog.catalog import Catalog
from app.catalog.figures import Figure, Source
from app.engine.operators.table import Pointwise
from app.engine.plans import Plans, Recompute, StepTime
from app.engine.records import IpuChip
from app.errors import Message
from app.estimating.documents import MeasuredEffect, Text, TraceStep
from app.estimating.effects import UNNAMED
from app.estimating.hardware import Hardware
from app.estimating.ranges import significant
from app.estimating.runtime import Run
from app.estimating.scenario import Scenario
from app.estimating.schema import SourceRef, filled
from app.estimating.workload import Training

NARAYANAN = "Narayanan et al., SC 2021, section 2.2 and appendix"
WILLIAMS = "Williams, Waterman, Patterson, CACM 52(4), 2009"
HU = "Hu et al. 2021, arXiv 2106.09685, section 4"
DETTMERS = "Dettmers et al. 2023, arXiv 2305.14314, section 3"
DALY = "Daly, Future Generation Computer Systems 22, 2006"

SHOWN_PARAMETERS = (
    "matrix_efficiency",
    "attention_efficiency",
    "elementwise_factor",
    "overlap",
    "step_overhead",
    "sdk_factor",
    "framework_factor",
    "host_returns_per_update",
)


@lru_cache(maxsize=4096)
def source_ref(source: Source) -> SourceRef:
    return filled(SourceRef, source, kind=source.kind.value)


def source_refs(figures: Iterable[Figure]) -> list[SourceRef]:
    return list({figure.source.id: source_ref(figure.source) for figure in figures}.values())


def finite(value: float) -> float | None:
    """Return a number, or None where it is infinite."""
    return value if math.isfinite(value) else None


def _step(
    name: str,
    formula: str,
    inputs: dict[str, JsonValue],
    value: float,
    unit: str,
    reference: str,
    source: list[SourceRef] | None = None,
) -> TraceStep:
    return TraceStep(
        name=name,
        formula=formula,
        inputs=inputs,
        value=value,
        unit=unit,
        reference=reference,
        source=source or [],
    )


def step_trace(
    scenario: Scenario, plans: Plans, step: StepTime, training: Training, hardware: Hardware, catalog: Catalog
) -> list[TraceStep]:
    """Return the trace from the chip's figures to the parts of a step."""
    return [
        _peak(scenario, catalog),
        _software(scenario, catalog),
        *_effects(scenario, catalog),
        _flop(scenario),
        *_adapters(scenario, plans, training),
        *_parts(scenario, plans, step, hardware, catalog),
    ]


def run_trace(
    plans: Plans, run: Run, training: Training, hardware: Hardware, catalog: Catalog
) -> list[TraceStep]:
    """Return the trace from a step to the time to train."""
    target, batch = training.target, float(plans.global_batch[0])
    steps = list[TraceStep]()
    if target is not None:
        steps.append(
            _step(
                "samples_to_target",
                "log-log interpolation of reference points; S = S0 (1 + (B/Bc)^g) beyond them",
                {
                    "global_batch": batch,
                    "S0": target.law_samples,
                    "Bc": target.law_batch,
                    "g": target.law_exponent,
                },
                run.time.samples,
                "samples",
                "MLPerf reference convergence points; McCandlish et al. 2018",
                [source_ref(target.points_source), *source_refs(target.figures)],
            )
        )
    return [
        *steps,
        _step(
            "steps",
            "steps = ceil(samples / global batch)",
            {"samples": run.time.samples, "global_batch": batch},
            float(run.steps),
            "steps",
            "definition",
        ),
        *_losses(run, plans, hardware, catalog),
        _step(
            "time_to_train",
            "T = steps × (step time + input wait) + evaluation + checkpoints + failures",
            {
                "steps": run.steps,
                "step_time": run.step_seconds,
                "evaluation": run.time.evaluation,
                "checkpoint": run.time.checkpoint,
                "failures": run.time.failures,
            },
            run.time.total,
            "s",
            "definition",
        ),
    ]


def _peak(scenario: Scenario, catalog: Catalog) -> TraceStep:
    chip, precision = scenario.chip, scenario.precision.value
    derived = catalog.peak(chip.name, "fp32" if precision == "fp32" else f"{precision}_dense")
    return _step(
        "peak",
        f"dense {precision} peak: {derived.formula}",
        {figure.parameter: figure.value for figure in derived.inputs},
        derived.value,
        "FLOP/s",
        f"catalogue: {chip.name}",
        source_refs(derived.inputs),
    )


def _software(scenario: Scenario, catalog: Catalog) -> TraceStep:
    profile = scenario.software
    inputs: dict[str, JsonValue] = {
        name: profile.figures[name].value for name in SHOWN_PARAMETERS if name in profile.figures
    }
    title, reference = profile.title, "data/software.csv, fitted on data/validation/measured.csv"
    if profile.calibration is not None:
        inputs["time_factor"] = float(profile.time_factor())
        title = "fitted to measured runs"
        reference = f"measured runs of the workspace, starting from {profile.calibration.prior}"
    return _step(
        "software",
        f"profile {profile.id}: {title} ({profile.as_of})",
        inputs,
        float(sum(figure.status == "fitted" for figure in profile.figures.values())),
        "fitted figures",
        reference,
        [source_ref(catalog.source(profile.source))],
    )


def measured_effects(scenario: Scenario, catalog: Catalog) -> list[MeasuredEffect]:
    """Return the factors of measured runs on the step time."""
    fitted = source_ref(catalog.source("rackline-fit"))
    rows = []
    for effect in scenario.effects:
        kind = UNNAMED if effect.name == UNNAMED else effect.kind
        template = EFFECTS[kind, effect.factor > 1.0].template
        percent = significant(100.0 * abs(effect.factor - 1.0), 2)
        rows.append(
            filled(
                MeasuredEffect,
                effect,
                text=Text.of(Message(template, {"percent": percent, "runs": effect.runs})),
                source=fitted,
            )
        )
    return rows


def _effects(scenario: Scenario, catalog: Catalog) -> list[TraceStep]:
    return [
        _step(
            f"{effect.kind}_effect",
            "measured over computed time of such runs, all else equal; a factor on every part of a step",
            {effect.kind: effect.name, **effect.model_dump(include={"deviation", "runs", "groups"})},
            effect.factor,
            "1",
            "data/effects.csv; Gelman and Hill 2007, chapter 12",
            [effect.source],
        )
        for effect in measured_effects(scenario, catalog)
    ]


EFFECTS: Mapping[tuple[str, bool], Message] = {
    ("architecture", True): Message(
        "{runs} measured runs of chips of this architecture take {percent} % longer than their data "
        "sheets say"
    ),
    ("architecture", False): Message(
        "{runs} measured runs of chips of this architecture take {percent} % less time than their data "
        "sheets say"
    ),
    ("chip", True): Message(
        "{runs} measured runs of this chip take {percent} % longer than its data sheet says"
    ),
    ("chip", False): Message(
        "{runs} measured runs of this chip take {percent} % less time than its data sheet says"
    ),
    ("software", True): Message(
        "{runs} measured runs of this software take {percent} % longer than its figures say"
    ),
    ("software", False): Message(
        "{runs} measured runs of this software take {percent} % less time than its figures say"
    ),
    (UNNAMED, True): Message(
        "no software is named: {runs} measured runs of language models take {percent} % longer than with the "
        "usual one of their chip"
    ),
    ("family", True): Message(
        "{runs} measured runs of this model family take {percent} % longer than its operators say"
    ),
    ("family", False): Message(
        "{runs} measured runs of this model family take {percent} % less time than its operators say"
    ),
}
"""Kind of an effect, and whether runs are slower than computed → its sentence."""


def _flop(scenario: Scenario) -> TraceStep:
    table = scenario.table
    frozen = table.trained_parameters < table.parameters
    return _step(
        "training_flop_per_sample",
        "2 × forward FLOP, 3 × those of adapters and attention: frozen weights have no gradients; MFU counts "
        "only these"
        if frozen
        else "3 × forward FLOP: the backward pass costs twice the forward pass",
        {
            "forward_flop": float(np.sum(table.forward_flop)),
            "parameters": table.parameters,
            "trained_parameters": table.trained_parameters,
        },
        table.training_flop,
        "FLOP",
        HU if frozen else "Kaplan et al. 2020, section 2.1; operators of the model",
    )


def _adapters(scenario: Scenario, plans: Plans, training: Training) -> Iterator[TraceStep]:
    """Yield the trained parameters where weights are frozen, and the time to dequantise them."""
    adapters, table = training.adapters, scenario.table
    if adapters is None:
        return
    yield _step(
        "trained_parameters",
        "sum of rank × (inner + columns) over the products with adapters",
        {"rank": adapters.rank, "modules": ", ".join(adapters.modules)},
        table.trained_parameters,
        "parameters",
        HU,
    )
    if not adapters.stored_bytes or isinstance(scenario.hardware, IpuChip):
        return
    unpacked = table.pointwise == Pointwise.DEQUANTISE
    times = scenario.operator_times(plans)
    passes = 2.0 if plans.recompute[0] == Recompute.FULL else 1.0
    yield _step(
        "dequantisation",
        "passes × stored weights × (bytes stored + bytes of the products) × factor / memory "
        "bandwidth, for one micro-batch over all stages; part of memory_bound",
        {
            "weights": float(np.sum(table.weights * table.count * table.quantised)),
            "stored_bytes": scenario.table.quantised_bytes,
            "factor": scenario.hardware.kernels.dequantise_factor,
            "passes": passes + 1.0,
        },
        float(np.sum((passes * times.forward + times.backward)[unpacked])),
        "s",
        DETTMERS,
    )


FORMULAS = {
    "gemm": ("products: max(tiles in waves / (efficiency × peak), bytes / memory bandwidth)", WILLIAMS),
    "attention": (
        "attention: FLOP / (attention efficiency × peak), or products and softmax passes",
        "Dao et al. 2022",
    ),
    "memory_bound": (
        "elementwise: passes × elements × bytes × elementwise factor / memory bandwidth",
        "Ivanov et al. 2021",
    ),
    "tensor_comm": (
        "tensor parallel: all-reduces of the activations of every layer, not hidden",
        "Shoeybi et al. 2019",
    ),
    "expert_comm": (
        "experts: all-to-alls of the tokens of every layer with experts, forward and backward",
        "Lepikhin et al. 2021",
    ),
    "pipeline_bubble": ("bubble: (p − 1)/v slots of one micro-batch", NARAYANAN),
    "pipeline_comm": ("stage to stage: activations / bandwidth of one rank", NARAYANAN),
    "host_comm": (
        "host: weights for every pass, gradients and activations / bandwidth of its link, not hidden",
        "Rajbhandari et al. 2021 (ZeRO-Infinity)",
    ),
    "data_comm": (
        "gradients: max(C − overlap × window, (1 − overlap) C), C of a ring or tree",
        "Thakur et al. 2005; Rajbhandari et al. 2020",
    ),
    "exchange": ("exchange phase: bytes per tile / exchange rate, added to compute", "Valiant 1990 (BSP)"),
    "sync": ("cycles of synchronisation and control of every operation", "Valiant 1990 (BSP)"),
    "optimizer": (
        "weight update: parameters × bytes of the optimizer / bandwidth",
        "Rajbhandari et al. 2020",
    ),
    "fixed": ("kernel launches, host returns and fixed time of a step", "fitted on measured runs"),
    "input": ("wait for input: batch / rate of host or of the way from it − step", "Mohan et al. 2021"),
}
"""Formula in words and reference of each part of a step."""


USED = {
    "gemm": ("sustained_clock", "multiprocessors", "clock", "tiles", "amp_efficiency"),
    "attention": ("clock", "tiles"),
    "memory_bound": ("memory_bandwidth", "achieved_bandwidth", "element_cycles"),
    "exchange": ("exchange_bytes_per_cycle", "exchange_multiplier"),
    "sync": ("operation_cycles", "elementwise_operation_cycles"),
    "optimizer": ("memory_bandwidth", "achieved_bandwidth", "streaming_bandwidth"),
    "fixed": ("kernel_overhead", "host_return", "update_overhead"),
    "data_comm": ("allreduce_bandwidth", "gateway_bandwidth"),
    "tensor_comm": ("allreduce_bandwidth",),
    "expert_comm": ("allreduce_bandwidth",),
    "pipeline_comm": ("link_bandwidth",),
    "input": ("host_bandwidth",),
}
"""Figures of the chip that each part of a step rests on."""


def _parts(
    scenario: Scenario, plans: Plans, step: StepTime, hardware: Hardware, catalog: Catalog
) -> Iterator[TraceStep]:
    of_chip = catalog.chip_figures(scenario.chip.name)
    between = [*catalog.machine_figures(hardware.entry.id).values()]
    if not scenario.is_ipu:
        between += catalog.fabric_figures(hardware.fabric).values()
    layout: dict[str, JsonValue] = {
        name: float(getattr(plans, name)[0])
        for name in ("micro_batch", "accumulation", "tensor", "pipeline", "data")
    }
    for name, seconds in step.parts.items():
        value = float(np.ravel(seconds)[0])
        if value <= 0:
            continue
        used = USED.get(name, ())
        if name in {"gemm", "attention"}:
            used = (f"matrix_peak.{scenario.precision.value}", *used)
        figures = [of_chip[key] for key in used if key in of_chip]
        if name in {"data_comm", "tensor_comm", "expert_comm", "pipeline_comm"}:
            figures += between
        formula, reference = FORMULAS[name]
        inputs: dict[str, JsonValue] = {
            f"{figure.item}.{figure.parameter}": figure.text if figure.value is None else figure.value
            for figure in figures
        }
        yield _step(f"step.{name}", formula, inputs | layout, value, "s", reference, source_refs(figures))


def _losses(run: Run, plans: Plans, hardware: Hardware, catalog: Catalog) -> list[TraceStep]:
    defaults = catalog.reliability_defaults(hardware.entry.machine.chip.kind)
    return [
        _step(
            "checkpoints",
            "useful time × time of one checkpoint / interval; interval after Daly unless given; one "
            "checkpoint at the bandwidth of all machines or of the shared storage, whichever is lower",
            {"checkpoint_seconds": run.time.written, "interval": finite(run.time.interval)},
            run.time.checkpoint,
            "s",
            DALY,
            source_refs(
                (defaults.checkpoint_bandwidth, defaults.storage_bandwidth, defaults.storage_write_rate)
            ),
        ),
        _step(
            "failures",
            "expected work done again and restarts at a constant failure rate r · N^(1 + g)",
            {
                "mean_time_to_failure": finite(run.time.mean_time_to_failure),
                "machines": float(hardware.machines_used(plans)[0]),
                "restart": defaults.restart.si,
            },
            run.time.failures,
            "s",
            DALY,
            source_refs((defaults.failure_rate, defaults.failure_growth, defaults.restart)),
        ),
    ]
