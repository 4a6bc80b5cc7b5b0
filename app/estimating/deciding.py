"""Decide what a request leaves open: workload, software, global batch and plan."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from app.engine.plans import Plans
from app.engine.records import Floats, IpuChip
from app.engine.runs import RunFigures
from app.engine.search.evaluate import GpuEvaluator
from app.engine.search.space import divisors
from app.errors import AppError, BadInput
from app.estimating.checks import batch_adjusted
from app.estimating.context import SizingContext, choose_software
from app.estimating.documents import CheckWarning
from app.estimating.expectation import team_of
from app.estimating.hardware import Hardware, reliability
from app.estimating.plan_search import PlanChoice, Risk, choose_plan, search_space, space_of
from app.estimating.ranges import residual_quantile
from app.estimating.regimes import known_regimes, unusual_masks
from app.estimating.request import AssumptionsInput, EstimateRequest
from app.estimating.runtime import run_figures
from app.estimating.scenario import Scenario, given_fields
from app.estimating.workload import Training, is_convolutional, largest_batch, resolve_training
from app.profiles.model import ModelProfile

RANKED_AT = 0.8
"""Share of the runs of a plan that stay below the time by which it is ranked."""
WORTH_IT = 1.05
"""Speed-up from which a plan of an unmeasured kind is preferred, at :data:`RANKED_AT`."""
WAYS = {"gpu_offload": 2.0}
"""Ways in which a plan of a kind is unmeasured, if not one: neither plans with state on the host were
measured, nor that host."""


def risk_of(scenario: Scenario, family: str, context: SizingContext, probability: float = RANKED_AT) -> Risk:
    r"""Return the factors by which plans of a kind that no published run used are ranked as slower.

    .. math:: f = 1.05^{k q_P / q_{0.8}}

    where :math:`k` counts the ways in which a plan is of such a kind. What else is uncertain moves all plans
    alike, or says how well a number of devices is known and not which plan to take on them.

    Parameters
    ----------
    scenario : Scenario
        Model, hardware and software.
    family : str
        Family of the model.
    context : SizingContext
        What was measured.
    probability : float
        Share of the runs that stay below, :math:`P`; 0.5 ranks by central times.
    """
    if not 0.5 <= probability < 1.0:
        raise BadInput.at("probability", "must be at least 0.5 and below 1, not {value}", value=probability)
    factor = WORTH_IT ** (residual_quantile(probability) / residual_quantile(RANKED_AT))

    measured = known_regimes(scenario, family)

    def factors(plans: Plans) -> Floats:
        ways = np.zeros(plans.tensor.shape)
        for name, mask in unusual_masks(scenario, plans).items():
            if name not in measured:
                ways += mask * WAYS.get(name, 1.0)
        return np.asarray(factor**ways)

    return factors


@dataclass(frozen=True, slots=True)
class ResolvedRequest:
    """A request with its model, workload and software resolved; batch and plan are open on any system."""

    request: EstimateRequest
    profile: ModelProfile
    training: Training
    scenario: Scenario
    margin: float | None
    """Share of the memory to leave free; the default of the hardware where None."""


@dataclass(frozen=True, slots=True)
class PlanDecision(ResolvedRequest):
    """What is decided before the engine computes the final numbers."""

    hardware: Hardware
    choice: PlanChoice
    batch_searched: bool
    warnings: list[CheckWarning]

    @property
    def batch(self) -> int:
        """Samples per step."""
        return int(self.choice.plans.global_batch[0])

    @property
    def machines_used(self) -> int:
        return int(self.hardware.machines_used(self.choice.plans)[0])

    @property
    def idle_machines(self) -> int:
        """Machines that the plan leaves idle, for which a run is not charged."""
        return self.hardware.machines - self.machines_used


def decide(
    request: EstimateRequest,
    profile: ModelProfile,
    hardware: Hardware,
    context: SizingContext,
    *,
    allowed: Mapping[str, Sequence[float]] | None = None,
    probability: float = RANKED_AT,
    lean: bool = True,
) -> PlanDecision:
    """Resolve workload and software, then choose batch and plan."""
    question = question_of(request, profile, hardware, context)
    return choose(question, hardware, context, allowed=allowed, probability=probability, lean=lean)


def question_of(
    request: EstimateRequest, profile: ModelProfile, hardware: Hardware, context: SizingContext
) -> ResolvedRequest:
    """Return a request with workload and software resolved, for any count of the hardware."""
    chip = hardware.engine if isinstance(hardware.engine, IpuChip) else hardware.engine.chip
    training = resolve_training(request, profile, chip, context)
    table = training.operators()
    software = choose_software(
        request.software,
        profile.family,
        is_convolutional(table),
        hardware.entry.machine.chip.id,
        hardware.entry.machine.chip.kind,
        context,
        training.defaults,
        request.workload.target or "",
    )
    scenario = Scenario(
        table=table,
        hardware=hardware.engine,
        software=software,
        precision=training.precision,
        optimizer=training.optimizer,
        overrides={},
        expert_imbalance=request.workload.expert_imbalance or 1.0,
        effects=context.effects.of(
            hardware.entry.machine.chip.id, software, profile.family, context.measured.series
        ),
        team=team_of(
            context.teams,
            software,
            table,
            hardware.engine,
            request.plan,
            benchmark=training.target is not None,
        ),
    )
    return ResolvedRequest(request, profile, training, scenario, margin_of(request.assumptions))


def margin_of(assumptions: AssumptionsInput) -> float | None:
    """Return the share of the memory to leave free; None where nothing is asked."""
    margin = assumptions.memory_margin
    if margin is not None and not 0 <= margin < 1:
        raise BadInput.at("assumptions.memory_margin", "{value} is not between 0 and 1", value=margin)
    return margin


def choose(
    question: ResolvedRequest,
    hardware: Hardware,
    context: SizingContext,
    *,
    allowed: Mapping[str, Sequence[float]] | None = None,
    probability: float = RANKED_AT,
    lean: bool = True,
    evaluator: GpuEvaluator | None = None,
    known: dict[tuple[int, int], PlanChoice] | None = None,
    least: Callable[[int], float] = lambda devices: 0.0,
) -> PlanDecision:
    """Return the best plan; ``known`` keeps what was found, by devices of the same kind and batch.

    ``least`` gives the time below which no run on a number of devices gets, so that some need no search. [s]
    """
    training, scenario = question.training, question.scenario
    if allowed is None:
        allowed = {name: (value,) for name, value in given_fields(question.request.plan).items()}
    searched = training.global_batch is None
    batch = training.global_batch or largest_batch(training, context)
    warnings = list(training.warnings)
    divided = batch if searched or allowed else divided_batch(batch, hardware.devices)
    if divided != batch:
        warnings.append(batch_adjusted(batch, divided, hardware.devices))
    # Smaller batches need fewer samples to a target, and less memory for activations on an IPU.
    quarterings = 2 if scenario.is_ipu else 0 if training.target is None else 3

    kept = {} if known is None else known

    def found_on(some: Hardware) -> PlanChoice:
        key = some.devices, divided
        if key not in kept:
            kept[key] = searched_on(some)
        return kept[key]

    def searched_on(some: Hardware) -> PlanChoice:
        space = space_of(
            scenario,
            allowed,
            devices=some.devices,
            per_node=some.devices_nearby,
            global_batch=divided,
            spare=True,
            any_batch=searched,
            quarterings=quarterings,
            batches=() if training.target is None else training.target.batches.tolist(),
            lean=lean,
        )
        search = search_space(
            scenario,
            space,
            margin=question.margin,
            risk=risk_of(scenario, question.profile.family, context, probability),
            run=usual_run(scenario, training, hardware, context),
            evaluator=evaluator,
            everything=not lean,
        )
        return choose_plan(scenario, search)

    choice = found_on(hardware)
    if lean and choice.fits and "data" not in allowed:
        choice = best_of_fewer(scenario, hardware, choice, found_on, least)
    asked: dict[str, Any] = {entry.name: getattr(question, entry.name) for entry in fields(question)}
    return PlanDecision(**asked, hardware=hardware, choice=choice, batch_searched=searched, warnings=warnings)


FLAT = 0.12
"""Share of the peak that a step reaches below which fewer machines may be as fast."""
MANY = 40
"""Systems from which a number that divides badly may lose to a smaller one."""
ROUND = 2
"""Smaller numbers that divide well, tried beside one that does not."""
MISSES = 3
"""Smaller numbers in a row that are no faster before no further one is tried."""


def best_of_fewer(
    scenario: Scenario,
    hardware: Hardware,
    choice: PlanChoice,
    found_on: Callable[[Hardware], PlanChoice],
    least: Callable[[int], float],
) -> PlanChoice:
    """Return the choice, or a faster one that leaves systems idle, so that more are never slower.

    The search on a number of devices tries plans on fewer around the best alone. Next to a large number that
    divides badly those below it that divide well are searched too, and where a step is far from the peak,
    numbers that fall by a quarter to a third until they are slower.
    """
    best, misses = choice, 0

    def improved(count: int) -> bool:
        nonlocal best
        fewer = replace(hardware, count=count, accelerators=None)
        if least(fewer.devices) >= best.seconds:
            return False
        try:
            found = found_on(fewer)
        except AppError:  # Degrees that are asked for need more.
            return False
        faster = found.fits and found.seconds < best.seconds
        best = found if faster else best
        return faster

    if hardware.count > MANY:
        for count in round_numbers(hardware.count):
            improved(count)
    for count in rungs_below(hardware.count):
        if misses == MISSES or not _is_flat(scenario, best):
            break
        # A number that the best plan does not fill finds that plan again, which says nothing of fewer.
        repeated = count * hardware.devices > float(best.plans.devices[0]) * hardware.count
        misses = 0 if improved(count) else misses + (not repeated)
    # What is said of the plan is said of all devices.
    return best if best is choice else replace(best, found=replace(best.found, space=choice.space))


def rungs_below(count: int) -> list[int]:
    """Return the powers of two below a number and three times them, falling.

    >>> rungs_below(47)
    [32, 24, 16, 12, 8, 6, 4, 3, 2, 1]
    """
    powers = {1 << power for power in range(count.bit_length())}
    return sorted((rung for rung in powers | {3 * rung for rung in powers} if rung < count), reverse=True)


def round_numbers(count: int) -> list[int]:
    """Return the next smaller numbers without a prime factor above 5; none where the number is one.

    >>> round_numbers(47), round_numbers(140), round_numbers(64)
    ([45, 40], [135, 128], [])
    """
    if _divides_well(count):
        return []
    return list(itertools.islice(filter(_divides_well, range(count, 0, -1)), ROUND))


def _divides_well(count: int) -> bool:
    for prime in (2, 3, 5):
        while count % prime == 0:
            count //= prime
    return count == 1


def _is_flat(scenario: Scenario, choice: PlanChoice) -> bool:
    step, plans = choice.found.evaluated.seconds[choice.found.best], choice.plans
    at_peak = 3.0 * np.sum(scenario.table.forward_flop) * plans.global_batch / (plans.devices * scenario.peak)
    return bool(at_peak[0] < FLAT * step)


def usual_run(
    scenario: Scenario, training: Training, hardware: Hardware, context: SizingContext
) -> RunFigures:
    """Return the figures of whole runs at usual failures, as a request's assumptions change no plan."""
    assumed = reliability(
        context.catalog.reliability_defaults(hardware.entry.machine.chip.kind), AssumptionsInput()
    )
    machine = hardware.entry.machine.devices
    return run_figures(scenario, training, assumed, input_rate=None, devices_per_machine=machine)


def divided_batch(batch: int, devices: int) -> int:
    """Return a global batch that enough devices can share: itself, or the next multiple of the devices.

    A batch with few divisors, such as a large prime, would leave most devices idle.
    """
    copies = max(count for count in divisors(batch) if count <= devices)
    return batch if 2 * copies >= min(batch, devices) else -(-batch // devices) * devices
