"""Named checks: what a reader of an estimate has to be told, as data."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from app.catalog.entries import ChipKind
from app.engine.units import YEAR
from app.errors import Message
from app.estimating.documents import CheckWarning
from app.estimating.hardware import Hardware, Reliability
from app.estimating.nearest import LARGE_FAMILY_ERROR
from app.estimating.plan_search import PlanChoice, memory_of
from app.estimating.ranges import duration, significant
from app.estimating.regimes import DEEPEST_INTERLEAVE
from app.estimating.runtime import Run
from app.estimating.scenario import Scenario
from app.estimating.workload import Training

MK2 = frozenset({"gc200"})

THIN = 0.10

INPUT_SHARE = 0.01


def plan_checks(
    scenario: Scenario, choice: PlanChoice, hardware: Hardware, devices: int
) -> list[CheckWarning]:
    """Return what has to be said of a plan and the memory it needs."""
    found = []
    memory = choice.memory
    total, capacity = float(memory.total[0]), memory_of(scenario.chip)
    free = 1.0 - total / capacity
    if choice.fits and free < 0:
        found.append(
            CheckWarning.of(
                "memory_borderline",
                "serious",
                Message(
                    "the plan needs {share} % of device memory: within the memory model's "
                    "error, but it may not run",
                    {"share": round(100.0 * total / capacity)},
                ),
                "plan",
            )
        )
    elif choice.fits and (choice.borderline or free < THIN):
        found.append(
            CheckWarning.of(
                "memory_margin_thin",
                "caution",
                Message(
                    "the plan fills {share} % of device memory; measure before relying on it",
                    {"share": round(100.0 * total / capacity)},
                ),
                "plan",
            )
        )
    used = int(choice.plans.devices[0])
    if used < devices:
        found.append(_idle(choice, hardware, used, devices))
    if float(choice.plans.offload[0]) > 0 and not scenario.is_ipu:
        found.append(
            CheckWarning.of(
                "optimizer_on_host",
                "caution",
                Message(
                    "{size} GB of optimizer state per device is kept and updated in host "
                    "memory; no such run has been measured",
                    {"size": significant(float(np.ravel(memory.streaming)[0]) / 1e9)},
                ),
                "plan.offload",
            )
        )
    if float(choice.plans.phases[0]) > 1:
        found.append(
            CheckWarning.of(
                "phased_execution",
                "caution",
                Message(
                    "the weights do not stay on the processor: each stage streams them in and "
                    "out in {phases} phases",
                    {"phases": int(choice.plans.phases[0])},
                ),
                "plan.phases",
            )
        )
    if hardware.entry.chip in MK2:
        found.append(
            CheckWarning.of(
                "generation_mk2",
                "info",
                Message(
                    "{system} uses Mk2 IPUs (GC200); Bow systems of the same size run at a 40 % higher clock",
                    {"system": hardware.entry.name},
                ),
                "system.id",
            )
        )
    return found


def _idle(choice: PlanChoice, hardware: Hardware, used: int, devices: int) -> CheckWarning:
    """Return the warning that a plan leaves accelerators idle, and whether the batch is the reason."""
    plans = choice.plans
    copy = int(plans.tensor[0] * plans.pipeline[0])
    batch, copies = int(plans.global_batch[0]), devices // copy
    if choice.space.ipu:
        # Partitions are powers of two, whatever the batch.
        copies = 1 << (copies.bit_length() - 1)
    if not choice.space.any_batch and batch % copies:
        return CheckWarning.of(
            "batch_not_divisible",
            "caution",
            Message(
                "{batch} samples do not divide evenly over {copies} copies of the model "
                "({each} each); {used} of {devices} accelerators are used, and a batch of "
                "{whole} would use more",
                {
                    "batch": batch,
                    "copies": copies,
                    "each": significant(batch / copies),
                    "used": used,
                    "devices": devices,
                    "whole": -(-batch // copies) * copies,
                },
            ),
            "workload.global_batch",
            "system.count",
        )
    machines = hardware.machines - int(hardware.machines_used(plans)[0])
    message = Message(
        "{idle} of {devices} accelerators stay idle: no plan is faster with them",
        {"idle": devices - used, "devices": devices},
    )
    if machines:
        message = Message(
            "{idle} of {machines} machines stay idle: no plan is faster with them",
            {"idle": machines, "machines": hardware.machines},
        )
    return CheckWarning.of("devices_unused", "caution", message, "system.count", "plan")


def bolder_plan(choice: PlanChoice) -> CheckWarning | None:
    """Return what a faster plan of a kind that was never measured would gain; None where that is little."""
    fastest = choice.found.fastest
    seconds = float(choice.found.totals[choice.found.best])
    if fastest is None or fastest.total > (1.0 - WORTH_SAYING) * seconds:
        return None
    traits = []
    if float(fastest.plans.offload[0]) > float(choice.plans.offload[0]):
        traits.append(Message("the optimizer offloaded to the host"))
    if float(fastest.plans.interleave[0]) > max(float(choice.plans.interleave[0]), DEEPEST_INTERLEAVE):
        traits.append(
            Message("{count} interleaved chunks per stage", {"count": int(fastest.plans.interleave[0])})
        )
    if float(fastest.plans.tensor[0]) > max(float(choice.plans.tensor[0]), choice.space.devices_per_node):
        traits.append(Message("{count}-way tensor parallelism", {"count": int(fastest.plans.tensor[0])}))
    if not traits:
        return None
    what = traits[0]
    for trait in traits[1:]:
        what = Message("{first} and {second}", {"first": what, "second": trait})
    return CheckWarning.of(
        "bolder_plan",
        "info",
        Message(
            "a plan with {what} would be {share} % faster, but no published run has used one like it",
            {"what": what, "share": significant(100.0 * (1.0 - fastest.total / seconds), 2)},
        ),
        "plan",
    )


WORTH_SAYING = 0.01
"""Gain of a bolder plan from which on it is told."""


def does_not_fit(scenario: Scenario, choice: PlanChoice, remedy: Message) -> CheckWarning:
    """Return the warning of a model that is too large, with what would fit."""
    memory = choice.memory
    streaming = float(np.ravel(memory.streaming)[0])
    if 0 < memory.streaming_capacity < streaming and not scenario.is_ipu:
        message = Message(
            "even the leanest plan needs {needed} GB of host memory per device, of {capacity} "
            "GB available; {remedy}",
            {
                "needed": significant(streaming / 1e9),
                "capacity": significant(memory.streaming_capacity / 1e9),
                "remedy": remedy,
            },
        )
        return CheckWarning.of("does_not_fit", "serious", message, "plan", "system.count")
    if 0 < memory.streaming_capacity < streaming:
        message = Message(
            "even the leanest plan needs {needed} GB of streaming memory per device, of "
            "{capacity} GB available; {remedy}",
            {
                "needed": significant(streaming / 1e9),
                "capacity": significant(memory.streaming_capacity / 1e9),
                "remedy": remedy,
            },
        )
        return CheckWarning.of("does_not_fit", "serious", message, "plan", "system.streaming_memory_gb")
    parts = sorted(((float(value[0]), name) for name, value in memory.parts.items()), reverse=True)
    return CheckWarning.of(
        "does_not_fit",
        "serious",
        Message(
            "even the leanest plan needs {needed} GB on a {capacity} GB device, most of it {part}; {remedy}",
            {
                "needed": significant(float(memory.total[0]) / 1e9),
                "capacity": significant(memory_of(scenario.chip) / 1e9),
                "part": Message(parts[0][1]),
                "remedy": remedy,
            },
        ),
        "plan",
        "system.count",
    )


def run_checks(run: Run, assumed: Reliability, training: Training) -> list[CheckWarning]:
    """Return what has to be said of a run: input, failures, batch."""
    found = []
    if run.input_wait > INPUT_SHARE * run.step_seconds:
        found.append(
            CheckWarning.of(
                "input_bound",
                "caution",
                Message(
                    "each step spends {share} % of its time waiting for input; faster storage "
                    "or hosts would help, more accelerators would not",
                    {"share": round(100.0 * run.input_wait / run.step_seconds)},
                ),
                "assumptions.input_samples_per_second",
            )
        )
    if run.mean_time_to_failure < assumed.restart:
        found.append(
            CheckWarning.of(
                "restart_outlasts_failures",
                "serious",
                Message(
                    "failures occur faster than the run can restart; training does not finish at this size"
                ),
                "assumptions.failures_per_1000_node_days",
            )
        )
    target = training.target
    if target is not None and run.samples > LARGE_BATCH_COST * float(target.samples.min()):
        found.append(
            CheckWarning.of(
                "batch_beyond_critical",
                "caution",
                Message(
                    "at this batch size, reaching the target takes {factor} times the samples "
                    "of a small batch",
                    {"factor": significant(run.samples / float(target.samples.min()))},
                ),
                "workload.global_batch",
            )
        )
    return found


LARGE_BATCH_COST = 1.5


def time_checks(
    seconds: float, hardware: Hardware, written_off: float | None, finishing: Callable[[], int | None]
) -> list[CheckWarning]:
    """Return the warning of a run that lasts longer than makes sense, with the count that would finish."""
    too_long = written_off is not None and seconds > written_off
    if not too_long and seconds <= YEAR:
        return []
    count = finishing()
    advice = (
        Message("train less, or choose another system: more of this one would not finish within a year")
        if count is None
        else Message(
            "{count} × {system} would finish within a year", {"count": count, "system": hardware.entry.name}
        )
    )
    values: dict[str, object] = {"time": duration(seconds), "advice": advice}
    if written_off is None or not too_long:
        message = Message("training takes {time}; {advice}", values)
        return [CheckWarning.of("longer_than_a_year", "serious", message, *TIME_FIELDS)]
    message = Message(
        "training takes {time}, longer than the amortization period of {term}; {advice}",
        {**values, "term": duration(written_off)},
    )
    return [CheckWarning.of("longer_than_amortisation", "serious", message, *TIME_FIELDS)]


TIME_FIELDS = ("system.count", "workload")


def validation_checks(
    status: str, family_error: float | None, kind: ChipKind, contradicted: bool = False
) -> list[CheckWarning]:
    """Return how far an estimate is from anything measured, as warnings."""
    found = []
    if family_error is not None and family_error > LARGE_FAMILY_ERROR:
        found.append(
            CheckWarning.of(
                "family_error_large",
                "serious",
                Message(
                    "the median error on measured runs of this family and chip is {error} %; "
                    "measure before deciding",
                    {"error": round(100.0 * family_error)},
                ),
                "model",
            )
        )
    if status == "unvalidated":
        text = (
            "no measured run of this kind exists on IPUs; the range is a judgement"
            if kind is ChipKind.IPU
            else "no measured run of this kind exists; the range is a judgement"
        )
        found.append(CheckWarning.of("unvalidated", "caution", Message(text), "software"))
    if status == "extrapolated" and not contradicted:
        found.append(
            CheckWarning.of(
                "extrapolated",
                "info",
                Message("the case is outside the measured runs, so its range is widened"),
                "system.count",
            )
        )
    return found


def model_checks(scenario: Scenario) -> list[CheckWarning]:
    """Return what has to be said of how a model is understood."""
    table = scenario.table
    if table.active_parameters < table.parameters:
        return [
            CheckWarning.of(
                "experts_evenly_loaded",
                "caution",
                Message(
                    "every expert is assumed to get an equal share of the tokens; uneven load "
                    "is slower, and no mixture-of-experts run has been measured"
                ),
                "model",
            )
        ]
    return []


def batch_adjusted(asked: int, used: int, devices: int) -> CheckWarning:
    """Return the warning that a batch divides over few of the devices, so that another is computed."""
    return CheckWarning.of(
        "batch_not_divisible",
        "caution",
        Message(
            "a global batch size of {asked} divides over only a few of {devices} accelerators; "
            "{used} is used instead",
            {"asked": asked, "devices": devices, "used": used},
        ),
        "workload.global_batch",
        "system.count",
    )


def stage_layers_of(stages: int, depth: int) -> list[int]:
    """Return the layers of each stage of a GPU pipeline, spread as evenly as they can be."""
    whole, rest = divmod(depth, stages)
    return [whole + (1 if place < rest else 0) for place in range(stages)]
