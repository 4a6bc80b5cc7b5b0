"""The trace of an estimate: each formula with its inputs, its value and its sources."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

import numpy as np
from pydantic import JsonValue

from app.catalog.catalog import Catalog
from app.catalog.figures import Figure, Source
from app.engine.gpu.operators import QUANTISED_BYTES
from app.engine.operators.table import Pointwise
from app.engine.plans import Plans, Recompute
from app.engine.records import IpuChip
from app.estimating.context import SizingContext
from app.estimating.documents import TraceStep
from app.estimating.hardware import Hardware
from app.estimating.runtime import Run
from app.estimating.scenario import Scenario
from app.estimating.schema import SourceRef
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
    """Return a source as an answer shows it."""
    return SourceRef(
        id=source.id,
        kind=source.kind.value,
        title=source.title,
        publisher=source.publisher,
        published=source.published,
        url=source.url,
    )


def _sources(figures: Iterable[Figure]) -> list[SourceRef]:
    return list({figure.source.id: source_ref(figure.source) for figure in figures}.values())


def trace_of(
    scenario: Scenario, plans: Plans, run: Run, training: Training, hardware: Hardware, context: SizingContext
) -> list[TraceStep]:
    """Return the trace from the chip's figures to the time to train."""
    catalog = context.catalog
    steps = [_peak(scenario, catalog), _software(scenario, catalog), _flop(scenario)]
    steps += _adapters(scenario, plans, training)
    steps += _parts(scenario, plans, run, hardware, catalog)
    batch = float(plans.global_batch[0])
    if training.target is not None:
        target = training.target
        steps.append(
            TraceStep(
                name="samples_to_target",
                formula="log-log interpolation of reference points; S = S0 (1 + (B/Bc)^g) beyond them",
                inputs={
                    "global_batch": batch,
                    "S0": target.law_samples,
                    "Bc": target.law_batch,
                    "g": target.law_exponent,
                },
                value=run.samples,
                unit="samples",
                reference="MLPerf reference convergence points; McCandlish et al. 2018",
                source=[source_ref(target.points_source), *_sources(target.figures)],
            )
        )
    steps.append(
        TraceStep(
            name="steps",
            formula="steps = ceil(samples / global batch)",
            inputs={"samples": run.samples, "global_batch": batch},
            value=float(run.steps),
            unit="steps",
            reference="definition",
            source=[],
        )
    )
    steps += _losses(run, plans, hardware, catalog)
    steps.append(
        TraceStep(
            name="time_to_train",
            formula="T = steps × (step time + input wait) + evaluation + checkpoints + failures",
            inputs={
                "steps": run.steps,
                "step_time": run.step_seconds,
                "evaluation": run.evaluation,
                "checkpoint": run.checkpoint,
                "failures": run.failures,
            },
            value=run.total,
            unit="s",
            reference="definition",
            source=[],
        )
    )
    return steps


def _peak(scenario: Scenario, catalog: Catalog) -> TraceStep:
    chip = scenario.chip
    name = "fp32" if scenario.precision.value == "fp32" else f"{scenario.precision.value}_dense"
    derived = catalog.peak(chip.name, name)
    return TraceStep(
        name="peak",
        formula=f"dense {scenario.precision.value} peak: {derived.formula}",
        inputs={figure.parameter: figure.value for figure in derived.inputs},
        value=derived.value,
        unit="FLOP/s",
        reference=f"catalogue: {chip.name}",
        source=_sources(derived.inputs),
    )


def _software(scenario: Scenario, catalog: Catalog) -> TraceStep:
    profile = scenario.software
    inputs: dict[str, JsonValue] = {
        name: profile.figures[name].value for name in SHOWN_PARAMETERS if name in profile.figures
    }
    reference = "data/software.csv, fitted on data/validation/measured.csv"
    if profile.calibration is not None:
        inputs["time_factor"] = float(profile.time_factor())
        reference = f"measured runs of the workspace, starting from {profile.calibration.prior}"
    fitted = sum(figure.status == "fitted" for figure in profile.figures.values())
    return TraceStep(
        name="software",
        formula=f"profile {profile.id}: {profile.title} ({profile.as_of})",
        inputs=inputs,
        value=float(fitted),
        unit="fitted figures",
        reference=reference,
        source=[source_ref(catalog.source(profile.source))],
    )


def _flop(scenario: Scenario) -> TraceStep:
    table = scenario.table
    forward = float(np.sum(table.forward_flop))
    frozen = table.trained_parameters < table.parameters
    return TraceStep(
        name="training_flop_per_sample",
        formula=(
            "2 × forward FLOP, 3 × those of adapters and attention: frozen weights have no gradients; MFU "
            "counts only these"
            if frozen
            else "3 × forward FLOP: the backward pass costs twice the forward pass"
        ),
        inputs={
            "forward_flop": forward,
            "parameters": table.parameters,
            "trained_parameters": table.trained_parameters,
        },
        value=table.training_flop,
        unit="FLOP",
        reference=HU if frozen else "Kaplan et al. 2020, section 2.1; operators of the model",
        source=[],
    )


def _adapters(scenario: Scenario, plans: Plans, training: Training) -> list[TraceStep]:
    """Return what is trained where weights are frozen, and the time to turn them from 4 bit."""
    adapters, table = training.adapters, scenario.table
    if adapters is None:
        return []
    steps = [
        TraceStep(
            name="trained_parameters",
            formula="sum of rank × (inner + columns) over the products with adapters",
            inputs={"rank": adapters.rank, "modules": ", ".join(adapters.modules)},
            value=table.trained_parameters,
            unit="parameters",
            reference=HU,
            source=[],
        )
    ]
    if not adapters.quantised or isinstance(scenario.hardware, IpuChip):
        return steps
    unpacked = table.pointwise == Pointwise.DEQUANTISE
    times = scenario.operator_times(plans)
    again = 2.0 if plans.recompute[0] == Recompute.FULL else 1.0
    once = float(np.sum((again * times.forward + times.backward)[unpacked]))
    steps.append(
        TraceStep(
            name="dequantisation",
            formula="passes × weights in 4 bit × (bytes stored + bytes of the products) × factor / memory "
            "bandwidth, for one micro-batch over all stages; part of memory_bound",
            inputs={
                "weights": float(np.sum(table.weights * table.count * table.quantised)),
                "stored_bytes": QUANTISED_BYTES,
                "factor": scenario.hardware.kernels.dequantise_factor,
                "passes": again + 1.0,
            },
            value=once,
            unit="s",
            reference=DETTMERS,
            source=[],
        )
    )
    return steps


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
    "pipeline_bubble": ("bubble: (p − 1)/v slots of one micro-batch", NARAYANAN),
    "pipeline_comm": ("stage to stage: activations / bandwidth of one rank", NARAYANAN),
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
    "input": ("wait for input: batch / input rate − step", "definition"),
}
"""Formula in words and reference of each part of a step."""


def _parts(
    scenario: Scenario, plans: Plans, run: Run, hardware: Hardware, catalog: Catalog
) -> list[TraceStep]:
    chip_figures = catalog.chip_figures(scenario.chip.name)
    machine_figures = catalog.machine_figures(hardware.entry.id)
    fabric_figures = {} if isinstance(scenario.hardware, IpuChip) else catalog.fabric_figures(hardware.fabric)
    peak = f"matrix_peak.{scenario.precision.value}"
    used = {
        "gemm": (peak, "sustained_clock", "multiprocessors", "clock", "tiles", "amp_efficiency"),
        "attention": (peak, "clock", "tiles"),
        "memory_bound": ("memory_bandwidth", "achieved_bandwidth", "element_cycles"),
        "exchange": ("exchange_bytes_per_cycle", "exchange_multiplier"),
        "sync": ("operation_cycles", "elementwise_operation_cycles"),
        "optimizer": ("memory_bandwidth", "achieved_bandwidth", "streaming_bandwidth"),
        "fixed": ("kernel_overhead", "host_return", "update_overhead"),
        "data_comm": ("allreduce_bandwidth", "gateway_bandwidth"),
        "tensor_comm": ("allreduce_bandwidth",),
        "pipeline_comm": ("link_bandwidth",),
    }
    steps = []
    for name, seconds in run.step.parts.items():
        value = float(np.ravel(seconds)[0])
        if value <= 0:
            continue
        figures = [chip_figures[key] for key in used.get(name, ()) if key in chip_figures]
        if name in {"data_comm", "tensor_comm", "pipeline_comm"}:
            figures += [*machine_figures.values(), *fabric_figures.values()]
        formula, reference = FORMULAS[name]
        inputs: dict[str, JsonValue] = {
            f"{figure.item}.{figure.parameter}": figure.text if figure.value is None else figure.value
            for figure in figures
        }
        inputs |= {
            "micro_batch": float(plans.micro_batch[0]),
            "accumulation": float(plans.accumulation[0]),
            "tensor": float(plans.tensor[0]),
            "pipeline": float(plans.pipeline[0]),
            "data": float(plans.data[0]),
        }
        steps.append(
            TraceStep(
                name=f"step.{name}",
                formula=formula,
                inputs=inputs,
                value=value,
                unit="s",
                reference=reference,
                source=_sources(figures),
            )
        )
    return steps


def _losses(run: Run, plans: Plans, hardware: Hardware, catalog: Catalog) -> list[TraceStep]:
    defaults = catalog.reliability_defaults(hardware.entry.chip_kind)
    failing = (defaults.failure_rate, defaults.failure_growth, defaults.restart)
    writing = (defaults.checkpoint_bandwidth, defaults.storage_bandwidth, defaults.storage_write_rate)
    interval: JsonValue = run.checkpoint_interval if np.isfinite(run.checkpoint_interval) else None
    mean: JsonValue = run.mean_time_to_failure if np.isfinite(run.mean_time_to_failure) else None
    return [
        TraceStep(
            name="checkpoints",
            formula="useful time × time of one checkpoint / interval; interval after Daly unless given; one "
            "checkpoint at the bandwidth of all machines or of the shared storage, whichever is lower",
            inputs={"checkpoint_seconds": run.checkpoint_seconds, "interval": interval},
            value=run.checkpoint,
            unit="s",
            reference=DALY,
            source=_sources(writing),
        ),
        TraceStep(
            name="failures",
            formula="expected work done again and restarts at a constant failure rate r · N^(1 + g)",
            inputs={
                "mean_time_to_failure": mean,
                "machines": float(hardware.machines_used(plans)[0]),
                "restart": defaults.restart.si,
            },
            value=run.failures,
            unit="s",
            reference=DALY,
            source=_sources(failing),
        ),
    ]
