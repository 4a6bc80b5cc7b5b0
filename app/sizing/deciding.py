"""Decide what an estimate leaves open: workload, software, global batch and plan."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from app.engine.records import IpuChip
from app.engine.search import divisors
from app.errors import BadInput
from app.profiles.model import ModelProfile
from app.sizing.asked_plan import given_fields
from app.sizing.batches import BatchLimit
from app.sizing.checks import batch_adjusted
from app.sizing.context import SizingContext
from app.sizing.document import CheckWarning
from app.sizing.hardware import Hardware
from app.sizing.planning import Choice, choose_plan
from app.sizing.request import EstimateRequest
from app.sizing.risk import RANKED_AT, risk_of
from app.sizing.runtime import samples_at
from app.sizing.scenario import Scenario
from app.sizing.software_choice import choose_software
from app.sizing.workload import Training, batch_candidates, is_convolutional, resolve_training


@dataclass(slots=True)
class Sizing:
    """Everything decided before the engine is asked for the final numbers."""

    request: EstimateRequest
    profile: ModelProfile
    hardware: Hardware
    training: Training
    scenario: Scenario
    choice: Choice
    batch: int
    batch_searched: bool
    margin: float | None
    """Share of the memory to leave free; the default of the hardware where None. [-]"""
    warnings: list[CheckWarning]


def decide(
    request: EstimateRequest,
    profile: ModelProfile,
    hardware: Hardware,
    context: SizingContext,
    *,
    allowed: Mapping[str, Sequence[float]] | None = None,
    probability: float = RANKED_AT,
) -> Sizing:
    """Resolve workload and software, then choose batch and plan.

    Parameters
    ----------
    request : EstimateRequest
        What is asked. [-]
    profile : ModelProfile
        The model. [-]
    hardware : Hardware
        The system. [-]
    context : SizingContext
        Catalogue, software profiles, what was measured. [-]
    allowed : mapping or None
        Values of the fields of the plan that are not free; those of the request's plan where None. [-]
    probability : float
        Share of the runs of a plan that stay below the time by which it is ranked. [-]
    """
    chip = hardware.engine if isinstance(hardware.engine, IpuChip) else hardware.engine.chip
    training = resolve_training(request, profile, chip, context)
    table = profile.operators(training.tokens, training.image_size)
    software = choose_software(
        request.software,
        profile.family,
        is_convolutional(table),
        hardware.entry.chip,
        hardware.entry.chip_kind,
        context,
        training.defaults,
    )
    scenario = Scenario(
        table=table,
        hardware=hardware.engine,
        software=software,
        precision=training.precision,
        optimizer=training.optimizer,
        overrides={},
    )
    margin = request.assumptions.memory_margin
    if margin is not None and not 0 <= margin < 1:
        raise BadInput.at("assumptions.memory_margin", "{value} is not between 0 and 1", value=margin)
    if allowed is None:
        allowed = {name: (value,) for name, value in given_fields(request.plan).items()}
    given = {name: values[0] for name, values in allowed.items() if len(values) == 1}
    risk = risk_of(scenario, profile.family, context, probability)
    devices = hardware.devices
    used = _devices_used(given, devices, scenario.is_ipu)
    warnings = list(training.warnings)

    def choose(batch: int) -> Choice:
        return choose_plan(
            scenario,
            allowed=allowed,
            devices=used,
            available=devices,
            per_node=hardware.devices_per_machine,
            global_batch=batch,
            margin=margin,
            risk=risk,
        )

    if training.global_batch is not None:
        batch = training.global_batch
        try:
            choice = choose(batch)
        except BadInput:
            adjusted = -(-batch // used) * used
            if allowed or adjusted == batch:
                raise
            choice = choose(adjusted)
            warnings.append(batch_adjusted(batch, adjusted, used, _dividing_devices(batch, used)))
            batch = adjusted
        return Sizing(request, profile, hardware, training, scenario, choice, batch, False, margin, warnings)
    batch, choice = _best_batch(training, context.batch_limits, used, given, choose)
    return Sizing(request, profile, hardware, training, scenario, choice, batch, True, margin, warnings)


def _devices_used(given: dict[str, float], devices: int, ipu: bool) -> int:
    """Devices a plan occupies: all, unless every degree is given and asks for fewer.

    Partitions of IPUs are powers of two (V-IPU user guide); the rest of an odd system stays idle.
    """
    degrees = [given.get(name) for name in ("tensor", "pipeline", "data")]
    known = [degree for degree in degrees if degree is not None]
    if len(known) == len(degrees) and np.prod(known) <= devices:
        return int(np.prod(known))
    return 1 << (devices.bit_length() - 1) if ipu else devices


def _best_batch(
    training: Training,
    limits: Mapping[str, BatchLimit],
    devices: int,
    given: Mapping[str, float],
    choose: Callable[[int], Choice],
) -> tuple[int, Choice]:
    """Return the global batch, of those worth trying, with the least time to train.

    Where a target says how many samples a batch costs, the larger batches are compared; else the
    largest batch that fits is taken, as it is the fastest.
    """
    found: list[tuple[float, int, Choice]] = []
    refused: BadInput | None = None
    unit = int(given.get("data", 1.0) * given.get("micro_batch", 1.0) * given.get("accumulation", 1.0))
    if not {"micro_batch", "accumulation"} <= set(given):
        candidates = batch_candidates(training, limits, devices)
    elif "data" in given:
        candidates = [unit]
    else:
        candidates = [unit * replicas for replicas in reversed(divisors(devices))]
    for candidate in candidates:
        batch = -(-candidate // unit) * unit
        try:
            choice = choose(batch)
        except BadInput as reason:
            refused = reason
            continue
        found.append((choice.found.least * samples_at(training, batch) / batch, batch, choice))
        fitting = sum(entry[2].fits for entry in found)
        if fitting and (training.target is None or fitting == COMPARED_BATCHES):
            break
    if not found:
        raise refused or BadInput.at("workload.global_batch", "no batch divides over the devices; give one")
    _, batch, choice = min(found, key=lambda entry: entry[0])
    return batch, choice


COMPARED_BATCHES = 4
"""Batches that fit and are compared where a target costs more samples at a larger one."""


def _dividing_devices(batch: int, devices: int) -> int:
    """Return the largest number of devices, at most as many, that divides a batch."""
    return next(count for count in range(devices, 0, -1) if batch % count == 0)
