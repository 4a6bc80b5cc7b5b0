"""Choose a plan: every legal one, memory first, then time for what fits, risk weighed in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from app.engine.ipu import FITS_BELOW, REFUSED_ABOVE
from app.engine.plans import MemoryUse, Plans
from app.engine.records import Floats, GpuChip, IpuChip
from app.engine.search import LARGEST_MICRO_BATCH, Evaluated, GpuEvaluator, Space
from app.sizing.asked_plan import GPU_ONLY, IPU_ONLY, check_devices, check_kind, nothing_legal
from app.sizing.plan_search import PlanSearch, Risk, Totals, fullness
from app.sizing.request import PlanInput
from app.sizing.scenario import Scenario

TINY_SAMPLE = 1e9
"""Forward work below which micro-batches of more samples than usual still gain. [FLOP]"""

LARGE_MICRO_BATCH = 1e16
"""Forward work of a micro-batch beyond which a larger one gains nothing. [FLOP]"""


@dataclass(frozen=True, slots=True)
class PlanChoice:
    """A plan, its memory, and how it was found."""

    plans: Plans
    """One plan, arrays of length one."""
    memory: MemoryUse
    fits: bool
    borderline: bool
    searched: tuple[str, ...]
    """Fields that were not given."""
    found: Searched
    """All plans it was chosen from."""
    space: Space
    """What spans them."""


@dataclass(frozen=True, slots=True)
class Searched:
    """Legal plans of a space with memory, time and rank, or the best of them alone."""

    plans: Plans
    evaluated: Evaluated
    cost: Floats
    """Time of the run with its risk, by which plans are ranked; infinite where one does not fit. [s]"""
    totals: Floats
    """Time of the run at central values; of one step where nothing says how long it is. [s]"""
    enumerated: int
    """Combinations of the dimensions that span the plans."""
    count: int
    """Legal plans whose memory was computed and, where they fit, whose step time was."""
    feasible: int
    """Plans of them that fit."""
    borderline: bool
    """True where a plan fits only into the memory that is otherwise left free."""
    limit: float
    """Memory of one device that a plan was allowed to fill. [B]"""
    elsewhere_limit: float
    """Host or streaming memory of one device; 0 where it is not known. [B]"""
    best: int
    """Place of the plan that is chosen, else of the one that comes closest to fitting."""
    fastest: Fastest | None
    """The fastest plan, whatever its risk; None where none fits."""

    @property
    def fits(self) -> bool:
        """True where any plan fits."""
        return self.feasible > 0

    @property
    def fullness(self) -> Floats:
        """Fuller of device memory and of host or streaming memory, as shares of what there is."""
        return fullness(self.evaluated, self.limit, self.elsewhere_limit)


@dataclass(frozen=True, slots=True)
class Fastest:
    """The plan with the least central time."""

    plans: Plans
    """One plan."""
    total: float
    """Time of its run. [s]"""


def space_of(
    scenario: Scenario,
    allowed: Mapping[str, Sequence[float]],
    *,
    devices: int,
    per_node: int,
    global_batch: int,
    spare: bool = False,
    any_batch: bool = False,
    quarterings: int = 0,
    batches: Sequence[float] = (),
    lean: bool = False,
) -> Space:
    """Return the space of a scenario's plans; refuse values that can never be right."""
    # Among several values those that cannot be are passed over; a single one is an order.
    orders = {name: values[0] for name, values in allowed.items() if len(values) == 1}
    if not scenario.is_ipu and not scenario.memory_elsewhere:
        # Whether an optimizer fits into a host of unknown memory nobody can say.
        allowed = {"offload": (0.0,), **allowed}
    check_kind(scenario, allowed)
    check_devices(scenario, orders, devices)
    return Space(
        devices=devices,
        devices_per_node=per_node,
        global_batch=global_batch,
        depth=scenario.table.depth,
        heads=int(scenario.table.attention_heads),
        ipu=scenario.is_ipu,
        allowed=allowed,
        experts=scenario.table.experts,
        fused_attention=not scenario.is_ipu and scenario.gpu_software().fused_attention,
        largest_micro_batch=_largest_micro_batch(scenario),
        spare=spare,
        any_batch=any_batch,
        quarterings=quarterings,
        batches=batches,
        lean=lean,
    )


def _largest_micro_batch(scenario: Scenario) -> int:
    """Return the largest micro-batch worth trying, which depends on the work of a sample."""
    work = float(np.sum(scenario.table.forward_flop))
    usual = LARGEST_MICRO_BATCH * max(int(TINY_SAMPLE / work), 1)
    return max(min(usual, int(LARGE_MICRO_BATCH / work)), 1)


def search_space(
    scenario: Scenario,
    space: Space,
    *,
    margin: float | None = None,
    risk: Risk | None = None,
    totals: Totals | None = None,
    evaluator: GpuEvaluator | None = None,
    everything: bool = False,
) -> Searched:
    """Return the legal plans of a space with memory, time and rank.

    Every combination of options is tried on as many devices as the batch allows. Where devices may idle, the
    best of each layout are then tried on fewer, and the best of all with other micro-batches and batches.
    """
    strict, loose = _limits(scenario, margin)
    search = PlanSearch(scenario, space, risk, totals, evaluator, everything=everything)
    search.run(strict, loose)
    if not search.count:
        raise nothing_legal(space)
    best, fastest = search.best(), None
    if search.feasible:
        quickest = search.one(search.fastest())
        fastest = Fastest(quickest.plans, float(quickest.totals[0]))
    found = search.joined() if everything else search.one(best)
    return Searched(
        plans=found.plans,
        evaluated=found.evaluated,
        cost=found.cost,
        totals=found.totals,
        enumerated=search.enumerated,
        count=search.count,
        feasible=search.feasible,
        borderline=search.limit > strict,
        limit=search.limit,
        elsewhere_limit=scenario.memory_elsewhere,
        best=best if everything else 0,
        fastest=fastest,
    )


def choose_plan(
    scenario: Scenario,
    space: Space,
    *,
    margin: float | None = None,
    risk: Risk | None = None,
    totals: Totals | None = None,
    evaluator: GpuEvaluator | None = None,
    everything: bool = False,
) -> PlanChoice:
    """Return the best legal plan that fits, or the one that comes closest to fitting."""
    found = search_space(
        scenario,
        space,
        margin=margin,
        risk=risk,
        totals=totals,
        evaluator=evaluator,
        everything=everything,
    )
    chosen = found.plans.take(np.array([found.best]))
    elsewhere = GPU_ONLY if scenario.is_ipu else IPU_ONLY
    given = {name for name, values in space.allowed.items() if len(values) == 1}
    free = set(PlanInput.model_fields) - {*given, *elsewhere, "sharding_ranks"}
    if space.experts == 1:
        free.discard("expert")
    return PlanChoice(
        plans=chosen,
        memory=scenario.memory(chosen),
        fits=found.fits,
        borderline=found.borderline,
        searched=tuple(name for name in PlanInput.model_fields if name in free),
        found=found,
        space=space,
    )


def _limits(scenario: Scenario, margin: float | None) -> tuple[float, float]:
    """Return the memory a plan may fill, and the memory up to which it is called borderline.

    A margin that was asked for is kept to; only that of the default may be eaten into.
    """
    capacity = memory_of(scenario.chip)
    if margin is not None:
        return capacity * (1.0 - margin), capacity * (1.0 - margin)
    largest = REFUSED_ABOVE if scenario.is_ipu else 1.0
    return capacity * (1.0 - default_margin(scenario)), capacity * largest


def default_margin(scenario: Scenario) -> float:
    """Return the share of the memory that is left free where nothing else is asked."""
    if isinstance(scenario.hardware, IpuChip):
        return 1.0 - FITS_BELOW
    return scenario.hardware.kernels.memory_margin


def memory_of(chip: GpuChip | IpuChip) -> float:
    """Return the memory of one device. [B]"""
    return chip.memory_capacity if isinstance(chip, GpuChip) else chip.tiles * chip.sram_per_tile
