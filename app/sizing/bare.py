"""The bare division: training compute over peak and utilisation, with the warnings it deserves."""

from __future__ import annotations

import math

import numpy as np

from app import __version__
from app.engine.units import DAY, YEAR
from app.errors import BadInput, Message
from app.sizing.checks import time_checks
from app.sizing.context import SizingContext
from app.sizing.cost.prices import cost_defaults_of, prices
from app.sizing.cost.trace import cost_trace
from app.sizing.costing import cost_of, energy_of, system_power
from app.sizing.defaults import assumption_defaults, system_defaults
from app.sizing.document import (
    CheckWarning,
    Default,
    Estimate,
    ModelSummary,
    Part,
    Quantity,
    SystemSummary,
    TraceStep,
    Validation,
)
from app.sizing.hardware import Hardware
from app.sizing.quantities import significant, spread_quantity
from app.sizing.request import EstimateRequest
from app.sizing.spread import SAMPLES, common_normals
from app.sizing.trace import source_ref
from app.sizing.workload import ADAPTER_PAPERS

DEFAULT_PEAK = "fp16_dense"


def bare_estimate(
    request: EstimateRequest, total_flop: float, hardware: Hardware, context: SizingContext
) -> Estimate:
    """Return compute over peak × utilisation; no plan, no memory and no range."""
    asked = request.assumptions
    if request.workload.kind in ADAPTER_PAPERS:
        raise BadInput.at(
            "workload.kind",
            "a bare figure has no layers that adapters could be added to; give a preset or a config",
        )
    defaults: list[Default] = []
    warnings: list[CheckWarning] = []
    utilization = 1.0 if asked.utilization is None else asked.utilization
    if not 0 < utilization <= 1:
        raise BadInput.at(
            "assumptions.utilization", "{value} is not above 0 and at most 1", value=utilization
        )
    if asked.utilization is None:
        defaults.append(
            Default.of(
                "assumptions.utilization", 1.0, Message("nobody reaches the peak; runs reach 30 to 55 %")
            )
        )
    chip = hardware.entry.chip
    dense = context.catalog.peak(chip, DEFAULT_PEAK)
    sources = []
    if asked.peak_flops is not None:
        if not 0 < asked.peak_flops < 1e30:
            raise BadInput.at("assumptions.peak_flops", "{value} is not above 0", value=asked.peak_flops)
        # A stated peak is that of one system, as data sheets print it.
        peak, formula = asked.peak_flops * hardware.count, "stated peak × systems"
        per_device = peak / hardware.devices
        name = "peak_flops"
    else:
        name = asked.peak or DEFAULT_PEAK
        derived = context.catalog.peak(chip, name, "assumptions.peak")
        per_device = derived.value
        peak, formula = per_device * hardware.devices, f"{name} × devices"
        sources = [source_ref(figure.source) for figure in derived.inputs]
        if asked.peak is None:
            defaults.append(Default.of("assumptions.peak", name, Message("the dense half-precision peak")))
    if "sparse" in name or per_device > 1.05 * dense.value:
        seconds_dense = total_flop / (dense.value * hardware.devices * utilization)
        warnings.append(
            CheckWarning.of(
                "sparse_peak",
                "serious",
                Message(
                    "the peak is above the dense one, {dense} PFLOP/s for this system, as figures with "
                    "structured sparsity are; at the dense peak the same division gives {days} days",
                    {
                        "dense": significant(dense.value * hardware.devices / 1e15, 4),
                        "days": significant(seconds_dense / DAY, 4),
                    },
                ),
                "assumptions.peak_flops" if asked.peak_flops is not None else "assumptions.peak",
            )
        )
    warnings.append(
        CheckWarning.of(
            "bare_division",
            "caution",
            Message("compute over peak: no memory, no communication, no plan was looked at"),
            "model.total_flop",
        )
    )
    seconds = total_flop / (peak * utilization)
    normals = common_normals()
    samples = np.full(SAMPLES, seconds)
    found = prices(hardware, asked, request.currency, context.catalog, warnings)
    cost_defaults = cost_defaults_of(hardware, asked, context.catalog)
    written_off = found.lifetime * YEAR if found is not None and found.owned else None
    enough = math.ceil(hardware.count * seconds / YEAR)
    warnings += time_checks(seconds, hardware, written_off, lambda: enough)
    power = system_power(hardware, cost_defaults.pue.si if asked.pue is None else asked.pue, context.catalog)
    cost = None
    if found is not None:
        cost = cost_of(
            hardware,
            found,
            seconds=seconds,
            samples=samples,
            normals=normals,
            currency=request.currency,
            catalog=context.catalog,
        )
    entry = hardware.entry
    return Estimate(
        id="",
        label=request.label or f"{total_flop:.3g} FLOP · {hardware.count} × {entry.name}",
        engine_version=__version__,
        catalog_version=context.catalog.version,
        model=ModelSummary(
            id="total-flop", name="training compute", family="custom", parameters=0.0,
            forward_flop_per_sample=0.0, seq_len=None, image_size=None, assumptions=[],
        ),
        system=SystemSummary(
            id=entry.id, name=entry.name, count=hardware.count, machines=hardware.machines,
            devices=hardware.devices,
            chip=chip, fabric=hardware.fabric, ports_per_node=hardware.ports_per_node,
            generation={"gc200": "mk2", "bow": "bow"}.get(chip, chip.split("-")[0]),
            power=spread_quantity(system_power(hardware, 1.0, context.catalog)),
            rack_units=entry.rack_units * hardware.count,
        ),
        plan=None,
        software=None,
        precision_used=None,
        defaults=[
            *system_defaults(request, hardware),
            *defaults,
            *assumption_defaults(request, found, cost_defaults, None, None),
        ],
        fits=True,
        memory=None,
        step_time=None, throughput=None, tokens_per_second=None, steps=None, samples=None,
        mfu=Quantity.exact(utilization, "1"),
        time_to_train=Quantity.exact(seconds, "s"),
        energy=energy_of(power, seconds, samples, normals),
        cost=cost,
        breakdown=[Part(part="gemm", seconds=seconds)],
        roofline=[],
        roof=None,
        sensitivity=[],
        validation=Validation(nearest_measured=[], family_error=None, status="unvalidated"),
        warnings=warnings,
        trace=[
            TraceStep(
                name="time_to_train",
                formula=f"T = total FLOP / (peak × utilization), peak = {formula}",
                inputs={"total_flop": total_flop, "peak": peak, "utilization": utilization},
                value=seconds,
                unit="s",
                reference="Kaplan et al. 2020, section 2.1 (compute of a training run)",
                source=sources,
            ),
            *cost_trace(found, cost, seconds),
        ],
    )  # fmt: skip
