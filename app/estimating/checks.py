"""The warnings of an estimate, as data."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace

import numpy as np

from app.catalog.entries import ChipKind
from app.catalog.own import OwnAccelerator
from app.engine.plans import Offload
from app.engine.records import GpuSystem
from app.engine.units import YEAR
from app.errors import Message
from app.estimating.documents import CheckWarning, caution, info, serious
from app.estimating.hardware import Hardware, Reliability
from app.estimating.nearest import LARGE_FAMILY_ERROR
from app.estimating.plan_search import PlanChoice, memory_of
from app.estimating.ranges import duration, significant
from app.estimating.regimes import DEEPEST_INTERLEAVE, OTHER_CHIP
from app.estimating.runtime import Run
from app.estimating.scenario import Scenario, offloaded
from app.estimating.schema import Quantity
from app.estimating.workload import Training

MK2 = frozenset({"gc200"})
THIN = 0.10
INPUT_SHARE = 0.01
LARGE_BATCH_COST = 1.5
DEGREES = ("tensor", "pipeline", "context", "expert")
"""Fields of a plan by which a copy of the model takes several devices."""
WORTH_SAYING = 0.01
"""Least gain of a bolder plan that is reported."""


def plan_checks(
    scenario: Scenario, choice: PlanChoice, hardware: Hardware, devices: int
) -> Iterator[CheckWarning]:
    """Yield the warnings of a plan and its memory."""
    plans, memory = choice.plans, choice.memory
    filled = float(memory.total[0]) / memory_of(scenario.chip)
    if choice.fits and filled > 1.0:
        yield serious(
            "memory_borderline",
            "plan",
            "the plan needs {share} % of device memory: within the memory model's error, but it may not run",
            share=round(100.0 * filled),
        )
    elif choice.fits and (choice.found.borderline or 1.0 - filled < THIN):
        share = significant(100.0 * float(memory.total[0]) / choice.found.limits.memory, 3)
        longer = choice.found.roomier
        if longer is None:
            yield caution(
                "memory_margin_thin",
                "plan",
                "the plan fills {share} % of usable device memory, and no plan that was tried leaves 10 % "
                "more in up to 1.5 times the least time; measure before relying on it",
                share=share,
            )
        else:
            yield caution(
                "memory_margin_thin",
                "plan",
                "the plan fills {share} % of usable device memory; one that leaves 10 % more would take "
                "about as long; measure before relying on it"
                if longer < 1.001
                else "the plan fills {share} % of usable device memory; one that leaves 10 % more would take "
                "{more} % longer; measure before relying on it",
                share=share,
                more=significant(100.0 * max(longer - 1.0, 0.0), 2),
            )
    if plans.devices[0] < devices:
        yield _idle(choice, hardware, int(plans.devices[0]), devices)
    idle = hardware.machines - int(hardware.machines_used(plans)[0])
    charged = replace(hardware, idle_machines=idle).occupied
    if charged < hardware.count:
        yield info(
            "idle_not_charged",
            ("system.count", "assumptions.acquisition"),
            "a run is charged for the {charged} of {count} systems that have work; a purchase is of all",
            charged=charged,
            count=hardware.count,
        )
    if plans.offload[0] > 0 and not scenario.is_ipu:
        yield from _host_checks(float(plans.offload[0]), float(np.ravel(memory.streaming)[0]), hardware)
    if plans.phases[0] > 1:
        yield caution(
            "phased_execution",
            "plan.phases",
            "the weights do not stay on the processor: each stage streams them in and out in {phases} phases",
            phases=int(plans.phases[0]),
        )
    if hardware.entry.machine.chip.id in MK2:
        yield info(
            "generation_mk2",
            "system.id",
            "{system} uses Mk2 IPUs (GC200); Bow systems of the same size run at a 40 % higher clock",
            system=hardware.entry.name,
        )


def _host_checks(kinds: float, size: float, hardware: Hardware) -> Iterator[CheckWarning]:
    """Yield the warnings of a plan that keeps so many bytes per device in the memory of its host."""
    if kinds == Offload.OPTIMIZER:
        yield caution(
            "optimizer_on_host",
            "plan.offload",
            "{size} GB of optimizer state per device is kept and updated in host memory; no such run has "
            "been measured",
            size=significant(size / 1e9),
        )
    else:
        yield caution(
            "state_on_host",
            [f"plan.{name}" for name, away in offloaded(kinds).items() if away],
            "{size} GB per device are kept in host memory and travel there and back in every micro-batch; no "
            "such run has been measured",
            size=significant(size / 1e9),
        )
    assert isinstance(hardware.engine, GpuSystem)
    if not hardware.engine.host_memory:
        yield caution(
            "host_memory_unknown",
            "system.streaming_memory_gb",
            "the host memory of {system} is not known, so whether {size} GB per device fit into it was not "
            "checked; enter that of one machine",
            system=hardware.entry.name,
            size=significant(size / 1e9),
        )


def _idle(choice: PlanChoice, hardware: Hardware, used: int, devices: int) -> CheckWarning:
    """Return the warning that a plan leaves accelerators idle, because of the batch or not."""
    plans = choice.plans
    batch, copies = int(plans.global_batch[0]), devices // int(plans.tensor[0] * plans.pipeline[0])
    if choice.space.ipu:
        # Partitions are powers of two, whatever the batch.
        copies = 1 << (copies.bit_length() - 1)
    if not choice.space.any_batch and batch < copies:
        return caution(
            "batch_not_divisible",
            ("workload.global_batch", "system.count"),
            "{batch} samples per step occupy {used} of {devices} accelerators; a larger batch would use more",
            batch=batch,
            used=used,
            devices=devices,
        )
    if not choice.space.any_batch and batch % copies:
        return caution(
            "batch_not_divisible",
            ("workload.global_batch", "system.count"),
            "{batch} samples do not divide evenly over {copies} copies of the model ({each} each); {used} of "
            "{devices} accelerators are used, and a batch of {whole} would use more",
            batch=batch,
            copies=copies,
            each=significant(batch / copies),
            used=used,
            devices=devices,
            whole=-(-batch // copies) * copies,
        )
    fields = ("system.count", "plan")
    allowed = choice.space.allowed
    if len(allowed.get("data", ())) == 1 or any(tuple(allowed.get(name, ())) > (1.0,) for name in DEGREES):
        return caution(
            "devices_unused",
            fields,
            "the plan as given uses {used} of {devices} accelerators; leave its degrees empty to use more",
            used=used,
            devices=devices,
        )
    if not choice.space.any_batch:
        return caution(
            "devices_unused",
            ("workload.global_batch", *fields),
            "{batch} samples per step, as asked, are no faster on more than {used} of {devices} accelerators",
            batch=batch,
            used=used,
            devices=devices,
        )
    machines = hardware.machines - int(hardware.machines_used(plans)[0])
    if machines:
        return caution(
            "devices_unused",
            fields,
            "{idle} of {machines} machines stay idle: no plan is faster with them",
            idle=machines,
            machines=hardware.machines,
        )
    return caution(
        "devices_unused",
        fields,
        "{idle} of {devices} accelerators stay idle: no plan is faster with them",
        idle=devices - used,
        devices=devices,
    )


def bolder_plan(choice: PlanChoice) -> Iterator[CheckWarning]:
    """Yield the gain of a faster plan of a kind that was never measured, if it is worth reporting."""
    if choice.found.fastest is None:
        return
    plans, chosen = choice.found.fastest.plans, choice.plans
    total, seconds = float(choice.found.fastest.totals[0]), float(choice.found.totals[choice.found.best])
    if total > (1.0 - WORTH_SAYING) * seconds:
        return
    traits = []
    if plans.offload[0] > chosen.offload[0]:
        traits.append(Message("the optimizer offloaded to the host"))
    if plans.interleave[0] > max(chosen.interleave[0], DEEPEST_INTERLEAVE):
        traits.append(Message("{count} interleaved chunks per stage", {"count": int(plans.interleave[0])}))
    if plans.tensor[0] > max(chosen.tensor[0], choice.space.devices_per_node):
        traits.append(Message("{count}-way tensor parallelism", {"count": int(plans.tensor[0])}))
    if not traits:
        return
    description = traits[0]
    for trait in traits[1:]:
        description = Message("{first} and {second}", {"first": description, "second": trait})
    yield info(
        "bolder_plan",
        "plan",
        "a plan with {what} would be {share} % faster, but no published run has used one like it",
        what=description,
        share=significant(100.0 * (1.0 - total / seconds), 2),
    )


def does_not_fit(scenario: Scenario, choice: PlanChoice, remedy: Message) -> CheckWarning:
    """Return the warning of a model that is too large, with what would fit."""
    memory = choice.memory
    streaming, elsewhere = float(np.ravel(memory.streaming)[0]), memory.streaming_capacity
    if 0 < elsewhere < streaming:
        template = (
            "even the leanest plan needs {needed} GB of streaming memory per device, of {capacity} GB "
            "available; {remedy}"
            if scenario.is_ipu
            else "even the leanest plan needs {needed} GB of host memory per device, of {capacity} GB "
            "available; {remedy}"
        )
        return serious(
            "does_not_fit",
            ("plan", "system.streaming_memory_gb" if scenario.is_ipu else "system.count"),
            template,
            needed=significant(streaming / 1e9),
            capacity=significant(elsewhere / 1e9),
            remedy=remedy,
        )
    _, largest = max((float(value[0]), name) for name, value in memory.parts.items())
    return serious(
        "does_not_fit",
        ("plan", "system.count"),
        "even the leanest plan needs {needed} GB on a {capacity} GB device, most of it {part}; {remedy}",
        needed=significant(float(memory.total[0]) / 1e9),
        capacity=significant(memory_of(scenario.chip) / 1e9),
        part=Message(largest),
        remedy=remedy,
    )


def run_checks(run: Run, assumed: Reliability, training: Training) -> Iterator[CheckWarning]:
    """Yield the warnings of a run: input, failures, batch."""
    if run.time.input_wait > INPUT_SHARE * run.step_seconds:
        yield caution(
            "input_bound",
            "assumptions.input_samples_per_second",
            "each step spends {share} % of its time waiting for input; faster storage or hosts would help, "
            "more accelerators would not",
            share=round(100.0 * run.time.input_wait / run.step_seconds),
        )
    if run.time.mean_time_to_failure < assumed.restart:
        yield serious(
            "restart_outlasts_failures",
            "assumptions.failures_per_1000_node_days",
            "failures occur faster than the run can restart; training does not finish at this size",
        )
    if training.target is None:
        return
    factor = run.time.samples / float(training.target.samples.min())
    if factor > LARGE_BATCH_COST:
        yield caution(
            "batch_beyond_critical",
            "workload.global_batch",
            "at this batch size, reaching the target takes {factor} times the samples of a small batch",
            factor=significant(factor),
        )


def time_checks(
    seconds: float, hardware: Hardware, written_off: float | None, finishing: Callable[[], int | None]
) -> Iterator[CheckWarning]:
    """Yield the warning of a run longer than a year or the amortisation, with a count that would finish."""
    too_long = written_off is not None and seconds > written_off
    if not too_long and seconds <= YEAR:
        return
    count = finishing()
    advice = (
        Message("train less, or choose another system: more of this one would not finish within a year")
        if count is None
        else Message(
            "{count} × {system} would finish within a year", {"count": count, "system": hardware.entry.name}
        )
    )
    fields = ("system.count", "workload")
    if written_off is None or not too_long:
        yield serious(
            "longer_than_a_year",
            fields,
            "training takes {time}; {advice}",
            time=duration(seconds),
            advice=advice,
        )
    else:
        yield serious(
            "longer_than_amortisation",
            fields,
            "training takes {time}, longer than the amortization period of {term}; {advice}",
            time=duration(seconds),
            term=duration(written_off),
            advice=advice,
        )


def rental_checks(hardware: Hardware) -> Iterator[CheckWarning]:
    """Yield the warning of a count that cannot be ordered on demand at once."""
    most = hardware.entry.most_rented
    if most is not None and hardware.count > most:
        yield caution(
            "beyond_one_order",
            "system.count",
            "one order of {system} on demand holds at most {most}; agree on capacity and price for {count} "
            "with the provider before relying on them",
            system=hardware.entry.name,
            most=most,
            count=hardware.count,
        )


def validation_checks(
    status: str,
    family_error: float | None,
    kind: ChipKind,
    contradicted: bool = False,
    *,
    software_presumed: bool = False,
) -> Iterator[CheckWarning]:
    """Yield how far an estimate is from anything measured."""
    if family_error is not None and family_error > LARGE_FAMILY_ERROR:
        yield serious(
            "family_error_large",
            "model",
            "the median error on measured runs of this family and chip is {error} %; measure before deciding",
            error=round(100.0 * family_error),
        )
    if status == "unvalidated":
        yield caution(
            "unvalidated",
            "software",
            "no measured run combines this model and plan on IPUs; the range is a judgement"
            if kind is ChipKind.IPU
            else "no measured run combines this model and plan on such a chip; time and range are carried "
            "over from comparable runs",
        )
    if status == "validated" and software_presumed:
        yield info(
            "software_unnamed",
            "software",
            "no software is named, and stacks differ: the range is that of the usual one with an allowance "
            "for others; name yours, or measure three steps, for a narrower one",
        )
    if status == "extrapolated" and not contradicted:
        yield info(
            "extrapolated", "system.count", "the case is outside the measured runs, so its range is widened"
        )


def data_sheet_checks(
    hardware: Hardware, own: Mapping[str, OwnAccelerator], regimes: Collection[str], time: Quantity | None
) -> Iterator[CheckWarning]:
    """Yield the warnings of a workspace's accelerator: unmeasured, deleted."""
    stated = own.get(hardware.entry.id)
    if stated is None:
        return
    if OTHER_CHIP in regimes:
        values = {"system": hardware.entry.name, "day": stated.as_of, "version": stated.version}
        template = (
            "the figures of {system} are from its data sheet as stated on {day} (version {version}); no run "
            "on it was measured. Run three steps on it and calibrate with them"
        )
        if time is not None:
            values["below"] = round(100.0 * (1.0 - time.low / time.value))
            values["above"] = round(100.0 * (time.high / time.value - 1.0))
            template = (
                "the figures of {system} are from its data sheet as stated on {day} (version {version}); no "
                "run on it was measured, so the step time has a wider range: {below} % below to {above} % "
                "above"
            )
        yield caution("from_data_sheet", "system.id", template, **values)
    if stated.withdrawn:
        yield info(
            "accelerator_deleted",
            "system.id",
            "{system} was deleted from the workspace; the figures it had last are used",
            system=hardware.entry.name,
        )


def model_checks(scenario: Scenario) -> Iterator[CheckWarning]:
    """Yield the warning of experts that are assumed to be loaded evenly."""
    if scenario.table.experts > 1 and scenario.expert_imbalance == 1.0:
        yield caution(
            "experts_evenly_loaded",
            "workload.expert_imbalance",
            "every expert is assumed to get an equal share of the tokens, as published runs force it; if "
            "yours do not, enter the load of the busiest device over the mean as the expert imbalance",
        )


def batch_adjusted(requested: int, used: int, devices: int) -> CheckWarning:
    """Return the warning that another batch is used because the requested one divides over few devices."""
    return caution(
        "batch_not_divisible",
        ("workload.global_batch", "system.count"),
        "a global batch size of {asked} divides over only a few of {devices} accelerators; {used} is used "
        "instead",
        asked=requested,
        devices=devices,
        used=used,
    )
