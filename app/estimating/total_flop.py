"""A model that is only a number of operations: compute over peak × utilisation."""

from __future__ import annotations

import math

from app.engine.units import DAY, YEAR
from app.errors import BadInput, FieldError, Message, check_between
from app.estimating.checks import data_sheet_checks, time_checks
from app.estimating.context import SizingContext
from app.estimating.costing import run_expense
from app.estimating.defaults import system_defaults
from app.estimating.documents import (
    CheckWarning,
    Default,
    Estimate,
    ModelSummary,
    Part,
    TraceStep,
    Validation,
    caution,
    serious,
)
from app.estimating.hardware import Hardware
from app.estimating.ranges import significant
from app.estimating.regimes import OTHER_CHIP
from app.estimating.request import EstimateRequest, PlanInput
from app.estimating.schema import Quantity
from app.estimating.summaries import system_summary
from app.estimating.trace import source_refs
from app.estimating.trace_amounts import with_amounts
from app.estimating.version import engine_version
from app.estimating.workload import ADAPTER_PAPERS

UNKNOWN = dict.fromkeys(
    (
        *("plan", "software", "precision_used", "memory", "step_time", "throughput", "tokens_per_second"),
        *("steps", "samples", "roof"),
    )
)
"""What no division tells."""

LEAST_UTILIZATION = 1e-6
PEAKS = (1e6, 1e30)
"""Less and more than any machine that trains. [FLOP/s]"""


def total_flop_estimate(
    request: EstimateRequest, total_flop: float, hardware: Hardware, context: SizingContext
) -> Estimate:
    """Return compute over peak × utilisation, without plan, memory and range."""
    assumptions = request.assumptions
    if request.workload.kind in ADAPTER_PAPERS:
        raise BadInput.at(
            "workload.kind", "a bare compute figure has no layers for adapters; use a preset or a config"
        )
    planned = [name for name in PlanInput.model_fields if getattr(request.plan, name) is not None]
    if planned:
        message = Message("a bare compute figure has no layers to plan for; use a preset or a config")
        raise BadInput(message, [FieldError(f"plan.{name}", message) for name in planned])
    defaults: list[Default] = []
    warnings: list[CheckWarning] = []
    utilization = 1.0 if assumptions.utilization is None else assumptions.utilization
    check_between("assumptions.utilization", utilization, LEAST_UTILIZATION, 1)
    if assumptions.utilization is None:
        why = Message("no run reaches the peak; actual runs reach 30 to 55 %")
        defaults.append(Default.of("assumptions.utilization", 1.0, why))
    chip = hardware.entry.machine.chip.id
    usual = context.catalog.usual_peak(chip)
    dense = usual.value
    sources = []
    if assumptions.peak_flops is not None:
        check_between("assumptions.peak_flops", assumptions.peak_flops, *PEAKS)
        # A stated peak is that of one system, as data sheets print it.
        peak, formula = assumptions.peak_flops * hardware.count, "stated peak × systems"
        per_device = peak / hardware.devices
        name = "peak_flops"
    else:
        name = assumptions.peak or usual.name
        derived = context.catalog.peak(chip, name, "assumptions.peak")
        per_device = derived.value
        peak, formula = per_device * hardware.devices, f"{name} × devices"
        sources = source_refs(derived.inputs)
        if assumptions.peak is None:
            why = Message("the dense half-precision peak")
            defaults.append(Default.of("assumptions.peak", name, why))
    if "sparse" in name or (assumptions.peak_flops is not None and per_device > 1.05 * dense):
        seconds_dense = total_flop / (dense * hardware.devices * utilization)
        warnings.append(
            serious(
                "sparse_peak",
                "assumptions.peak_flops" if assumptions.peak_flops is not None else "assumptions.peak",
                "the peak exceeds the dense peak of this system, {dense} PFLOP/s, as figures with structured "
                "sparsity do; at the dense peak the same division gives {days} days",
                dense=significant(dense * hardware.devices / 1e15, 4),
                days=significant(seconds_dense / DAY, 4),
            )
        )
    warnings.append(
        caution(
            "bare_division",
            "model.total_flop",
            "compute divided by peak: memory, communication and plan are not considered",
        )
    )
    warnings += data_sheet_checks(hardware, context.catalog.own, [OTHER_CHIP], None)
    seconds = total_flop / (peak * utilization)
    expense, doubts = run_expense(request, hardware, seconds, context)
    warnings += doubts
    enough = math.ceil(hardware.count * seconds / YEAR)
    warnings += time_checks(seconds, hardware, expense.written_off, lambda: enough)
    return Estimate(
        **UNKNOWN,
        id="",
        name=request.label or f"{total_flop:.3g} FLOP · {hardware.count} × {hardware.entry.name}",
        engine_version=engine_version(context.catalog.version),
        catalog_version=context.catalog.version,
        model=ModelSummary(
            id="total-flop", name="training compute", family="custom", parameters=0.0,
            forward_flop_per_sample=0.0, seq_len=None, image_size=None, assumptions=[],
        ),
        system=system_summary(hardware, context.catalog),
        defaults=[
            *system_defaults(request, hardware),
            *defaults,
            *expense.defaults,
        ],
        fits=True,
        mfu=Quantity.exact(utilization, "1"),
        time_to_train=Quantity.exact(seconds, "s"),
        energy=expense.energy,
        cost=expense.cost,
        breakdown=[Part(part="gemm", seconds=seconds)],
        roofline=[],
        sensitivity=[],
        validation=Validation(nearest_measured=[], family_error=None, status="unvalidated"),
        warnings=warnings,
        trace=[*with_amounts([
            TraceStep(
                name="time_to_train",
                formula=f"T = total FLOP / (peak × utilization), peak = {formula}",
                inputs={"total_flop": total_flop, "peak": peak, "utilization": utilization},
                value=seconds,
                unit="s",
                reference="Kaplan et al. 2020, section 2.1 (compute of a training run)",
                source=sources,
            ),
        ], context.catalog, expense.cost), *expense.trace],
    )  # fmt: skip
