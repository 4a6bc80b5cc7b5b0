"""Measured runs as the estimate's own cases: system, workload and plan of each decided."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np

from app.catalog.software import SoftwareProfile
from app.engine.records import Floats
from app.errors import AppError, BadInput, FieldError
from app.sizing.calibrated import MeasuredStep
from app.sizing.calibration_documents import CalibrationRun, RunSystem
from app.sizing.context import SizingContext
from app.sizing.deciding import Decision, decide
from app.sizing.models import resolve_model
from app.sizing.regimes import regimes
from app.sizing.request import EstimateRequest, PlanInput, SystemInput, WorkloadInput

Prediction = Callable[[SoftwareProfile, Mapping[str, Floats]], Floats]
"""Logarithm of a step time with a profile, from standard normals by figure."""


@dataclass(frozen=True, slots=True)
class PreparedRun:
    """A run with its plan decided."""

    asked: CalibrationRun
    sizing: Decision
    step: MeasuredStep

    @property
    def batch(self) -> int:
        """Samples per step."""
        return self.sizing.batch


def check_measurement(run: CalibrationRun, position: int) -> None:
    """Refuse a run that states both a throughput and a step time, or neither."""
    if (run.samples_per_s is None) == (run.step_time_s is None):
        raise BadInput.at(
            f"runs.{position}.samples_per_s", "give either samples_per_s or step_time_s of every run"
        )


@contextmanager
def below(place: str) -> Iterator[None]:
    """Name the part of the request in the fields of what is wrong with it."""
    try:
        yield
    except AppError as error:
        error.errors = tuple(FieldError(f"{place}.{one.field}", one.message) for one in error.errors)
        raise


def decided(request: EstimateRequest, context: SizingContext) -> Decision:
    """Return a request with its workload, software and plan decided."""
    asked = request.system
    hardware = context.hardware.system(
        asked.id, asked.count, asked.fabric, asked.ports_per_node, asked.streaming_memory_gb
    )
    return decide(request, resolve_model(request.model, context), hardware, context)


def prepared(
    runs: Sequence[CalibrationRun], asked: EstimateRequest, target: Decision, context: SizingContext
) -> list[PreparedRun]:
    """Return runs with their systems, workloads and plans decided; those alike are decided once."""
    known: dict[tuple[SystemInput, WorkloadInput, PlanInput], tuple[Decision, Prediction]] = {}
    found = []
    for position, run in enumerate(runs):
        system = run_system(run.system, asked.system)
        stated = {name: getattr(run.workload, name) for name in run.workload.model_fields_set}
        workload = asked.workload.model_copy(update=stated)
        same = system == asked.system and workload == asked.workload
        plan = run.plan if run.plan is not None else asked.plan if same else PlanInput()
        if (system, workload, plan) not in known:
            changes = {"system": system, "workload": workload, "plan": plan}
            changed = asked.model_copy(update={**changes, "software": target.scenario.software.id})
            with below(f"runs.{position}"):
                _check_kind(system, target, context)
                sizing = decided(changed, context)
            known[system, workload, plan] = sizing, _prediction(sizing, asked)
        sizing, predict = known[system, workload, plan]
        seconds = run.step_time_s or sizing.batch / (run.samples_per_s or math.nan)
        devices = float(sizing.choice.plans.devices[0])
        step = MeasuredStep(predict, math.log(seconds), tuple(case_regimes(sizing, context)), devices)
        found.append(PreparedRun(run, sizing, step))
    return found


def _check_kind(system: SystemInput, target: Decision, context: SizingContext) -> None:
    """Refuse a run on the other kind of hardware."""
    entry, known = context.hardware.system(system.id, 1).entry, target.hardware.entry.chip_kind
    if entry.chip_kind is not known:
        raise BadInput.at(
            "system.id",
            "{run} has {run_kind}s and the estimate {kind}s, whose software tells nothing of theirs",
            run=entry.name,
            run_kind=entry.chip_kind.value.upper(),
            kind=known.value.upper(),
        )


def _prediction(sizing: Decision, asked: EstimateRequest) -> Prediction:
    """Return the logarithm of a case's step time as a function of profile and normals."""
    rate = asked.assumptions.input_samples_per_second
    fed = sizing.batch / (rate * sizing.machines_used) if rate else 0.0

    def predict(profile: SoftwareProfile, normals: Mapping[str, Floats]) -> Floats:
        scenario = replace(sizing.scenario, software=profile)
        step = np.ravel(scenario.step(sizing.choice.plans, normals).total)
        return np.asarray(np.log(np.maximum(step, fed)))

    return predict


def run_system(given: RunSystem | str | None, asked: SystemInput) -> SystemInput:
    """Return the system of a run: its own where it names one, else the estimate's with changes."""
    if given is None:
        return asked
    if isinstance(given, str):
        return SystemInput(id=given)
    stated = {name: value for name in given.model_fields_set if (value := getattr(given, name)) is not None}
    return SystemInput(**stated) if "id" in stated else asked.model_copy(update=stated)


def case_regimes(sizing: Decision, context: SizingContext) -> list[str]:
    """Return the regimes of a case; the class's own is replaced by that of a profile.

    What sets a class apart from one stack is in the wider figures that calibrating starts from.
    """
    names = regimes(sizing.scenario, sizing.choice.plans, sizing.profile.family, context.measured)
    own = [name for name in names if name != "gpu_software_unnamed"]
    return ["gpu_profile_known" if name == "gpu_class_known" else name for name in own]
