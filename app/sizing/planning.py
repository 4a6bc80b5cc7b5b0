"""Choose a plan: every legal one, memory first, then time for what fits, risk weighed in."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from app.engine.ipu import FITS_BELOW, REFUSED_ABOVE, phases_needed
from app.engine.plans import MemoryUse, Plans
from app.engine.records import Floats, GpuChip, IpuChip
from app.engine.search import Evaluated, Space, evaluate_gpu_plans, gpu_plans, ipu_plans, phased
from app.sizing.asked_plan import GPU_ONLY, IPU_ONLY, check_devices, check_kind, nothing_legal
from app.sizing.request import PlanInput
from app.sizing.scenario import Scenario

PHASES_TRIED = (1.0, 1.25, 1.5, 2.0)
"""Multiples of the fewest phases."""

Risk = Callable[[Plans], Floats]
"""Factors on the times of plans, for what is not known of their kind."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A plan, its memory, and how it was found."""

    plans: Plans
    """One plan, arrays of length one. [-]"""
    memory: MemoryUse
    fits: bool
    borderline: bool
    searched: tuple[str, ...]
    """Fields that were not given. [-]"""
    found: Searched
    """All plans it was chosen from."""
    space: Space
    """What spans them."""


@dataclass(frozen=True, slots=True)
class Searched:
    """Every legal plan of a space with its memory, its time and its rank."""

    plans: Plans
    evaluated: Evaluated
    cost: Floats
    """Time of one step with its risk, by which plans are ranked; infinite where one does not fit. [s]"""
    enumerated: int
    """Combinations of the dimensions that span the plans. [-]"""
    count: int
    """Distinct legal plans whose memory was computed and, where they fit, whose step time was. [-]"""
    borderline: bool
    """True where a plan fits only into the memory that is otherwise left free."""
    limit: float
    """Memory of one device that a plan was allowed to fill. [B]"""
    elsewhere_limit: float
    """Host or streaming memory of one device; 0 where it is not known. [B]"""
    fastest: float
    """Central step time of the fastest plan, whatever its risk; infinite where none fits. [s]"""

    @property
    def fits(self) -> bool:
        """True where any plan fits."""
        return bool(self.evaluated.fits.any())

    @property
    def feasible(self) -> int:
        """Plans that fit. [-]"""
        return int(self.evaluated.fits.sum())

    @property
    def best(self) -> int:
        """Place of the best plan that fits, else of the one that comes closest to fitting."""
        if self.fits:
            return int(np.argmin(self.cost))
        return int(np.argmin(self.fullness))

    def alone(self) -> Searched:
        """Return the best plan without the others, which take room."""
        best = np.array([self.best])
        values = self.evaluated
        kept = Evaluated(values.memory[best], values.elsewhere[best], values.fits[best], values.seconds[best])
        return replace(self, plans=self.plans.take(best), evaluated=kept, cost=self.cost[best])

    @property
    def least(self) -> float:
        """Time by which the best plan is ranked; infinite where none fits. [s]"""
        return float(np.min(self.cost))

    @property
    def fullness(self) -> Floats:
        """Fuller of device memory and of host or streaming memory, as shares of what there is. [-]"""
        device = self.evaluated.memory / self.limit
        if not self.elsewhere_limit:
            return np.asarray(device)
        return np.maximum(device, self.evaluated.elsewhere / self.elsewhere_limit)


def space_of(
    scenario: Scenario,
    allowed: Mapping[str, Sequence[float]],
    *,
    devices: int,
    available: int,
    per_node: int,
    global_batch: int,
) -> Space:
    """Return the space of a scenario's plans; refuse values that can never be right.

    Parameters
    ----------
    scenario : Scenario
        Model, hardware and software. [-]
    allowed : mapping
        Values of the fields of the plan that are not free. [-]
    devices : int
        Accelerators to use. [-]
    available : int
        Accelerators of the system. [-]
    per_node : int
        Accelerators of one machine. [-]
    global_batch : int
        Samples per step. [-]
    """
    # Among several values those that cannot be are passed over; a single one is an order.
    orders = {name: values[0] for name, values in allowed.items() if len(values) == 1}
    if not scenario.is_ipu and not scenario.memory_elsewhere:
        # Whether an optimizer fits into a host of unknown memory nobody can say.
        allowed = {"offload": (0.0,), **allowed}
    check_kind(scenario, allowed)
    check_devices(scenario, orders, available)
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
    )


def search_space(
    scenario: Scenario, space: Space, *, margin: float | None = None, risk: Risk | None = None
) -> Searched:
    """Return every legal plan of a space with memory, time and rank.

    Parameters
    ----------
    scenario : Scenario
        Model, hardware and software. [-]
    space : Space
        What spans the plans. [-]
    margin : float or None
        Share of the memory to leave free; the default of the hardware where None. [-]
    risk : callable or None
        Factors on the times by which plans are ranked; none where None. [-]
    """
    strict, loose = _limits(scenario, margin)
    find = _ipu_search if scenario.is_ipu else _gpu_search
    plans, evaluated, enumerated, count, limit = find(scenario, space, strict, loose)
    if not plans.tensor.size:
        raise nothing_legal(space)
    cost = evaluated.seconds
    if risk is not None:
        cost = cost * risk(plans)
    return Searched(
        plans=plans,
        evaluated=evaluated,
        cost=cost,
        enumerated=enumerated,
        count=count,
        borderline=limit > strict,
        limit=limit,
        elsewhere_limit=scenario.memory_elsewhere,
        fastest=float(np.min(evaluated.seconds)),
    )


def choose_plan(
    scenario: Scenario,
    *,
    allowed: Mapping[str, Sequence[float]],
    devices: int,
    available: int,
    per_node: int,
    global_batch: int,
    margin: float | None,
    risk: Risk | None = None,
) -> Choice:
    """Return the best legal plan that fits, or the one that comes closest to fitting.

    Parameters
    ----------
    scenario : Scenario
        Model, hardware and software. [-]
    allowed : mapping
        Values of the fields of the plan that are not free. [-]
    devices : int
        Accelerators to use. [-]
    available : int
        Accelerators of the system. [-]
    per_node : int
        Accelerators of one machine. [-]
    global_batch : int
        Samples per step. [-]
    margin : float or None
        Share of the memory to leave free; the default of the hardware where None. [-]
    risk : callable or None
        Factors on the times by which plans are ranked; none where None. [-]
    """
    space = space_of(
        scenario,
        allowed,
        devices=devices,
        available=available,
        per_node=per_node,
        global_batch=global_batch,
    )
    found = search_space(scenario, space, margin=margin, risk=risk)
    chosen = found.plans.take(np.array([found.best]))
    elsewhere = GPU_ONLY if scenario.is_ipu else IPU_ONLY
    given = {name for name, values in allowed.items() if len(values) == 1}
    free = set(PlanInput.model_fields) - {*given, *elsewhere, "sharding_ranks"}
    if space.experts == 1:
        free.discard("expert")
    return Choice(
        plans=chosen,
        memory=scenario.memory(chosen),
        fits=found.fits,
        borderline=found.borderline,
        searched=tuple(name for name in PlanInput.model_fields if name in free),
        found=found,
        space=space,
    )


Found = tuple[Plans, Evaluated, int, int, float]
"""Plans, what evaluating them gave, combinations, plans evaluated, and the memory a plan may fill."""


def _gpu_search(scenario: Scenario, space: Space, strict: float, loose: float) -> Found:
    """Search below the strict limit, and below the loose one where nothing else fits."""
    assert not isinstance(scenario.hardware, IpuChip)
    candidates = gpu_plans(space)

    def evaluate(limit: float) -> Evaluated:
        assert not isinstance(scenario.hardware, IpuChip)
        return evaluate_gpu_plans(
            scenario.table,
            candidates,
            scenario.hardware,
            scenario.gpu_software(),
            scenario.precision,
            scenario.optimizer,
            limit=limit,
            host_memory=scenario.memory_elsewhere,
        )

    limit, evaluated = strict, evaluate(strict)
    if not evaluated.fits.any() and np.any(evaluated.memory <= loose):
        evaluated = evaluate(loose)
        limit = loose if evaluated.fits.any() else strict
    evaluated.seconds[:] *= scenario.time_factor()
    return candidates.plans, evaluated, candidates.enumerated, candidates.count, limit


def _ipu_search(scenario: Scenario, space: Space, strict: float, loose: float) -> Found:
    """Search plans that stay in the processor, then such as run in phases; strictly, then loosely."""
    plans, enumerated = ipu_plans(space)
    if not plans.tensor.size:
        nothing = np.empty(0)
        return plans, Evaluated(nothing, nothing, nothing.astype(bool), nothing), enumerated, 0, strict
    tried = [(plans, scenario.memory(plans))]
    if "phases" not in space.allowed and not _fits(tried[0][1], strict).any():
        tried.append(_phased(scenario, plans))
    limit = next(
        (limit for limit in (strict, loose) if any(_fits(memory, limit).any() for _, memory in tried)), strict
    )
    plans, memory = next(((p, m) for p, m in tried if _fits(m, limit).any()), tried[-1])
    count = sum(int(some.tensor.size) for some, _ in tried)
    fits = _fits(memory, limit)
    seconds = np.full(fits.shape, np.inf)
    kept = np.flatnonzero(fits)
    if kept.size:
        seconds[kept] = scenario.step(plans.take(kept)).total
    streaming = np.broadcast_to(memory.streaming, fits.shape)
    return plans, Evaluated(memory.total, streaming, fits, seconds), enumerated, count, limit


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


def _fits(memory: MemoryUse, limit: float) -> NDArray[np.bool_]:
    inside = memory.total <= limit
    if memory.streaming_capacity:
        inside = inside & (memory.streaming <= memory.streaming_capacity)
    return np.asarray(inside)


def _phased(scenario: Scenario, plans: Plans) -> tuple[Plans, MemoryUse]:
    """Return the plans that keep their optimizer off chip, cut into the phases they need."""
    off_chip = np.flatnonzero(plans.offload > 0)
    offloaded = plans.take(off_chip) if off_chip.size else plans
    chip = scenario.hardware
    assert isinstance(chip, IpuChip)
    least = phases_needed(
        scenario.table,
        offloaded,
        chip,
        scenario.ipu_software(),
        precision=scenario.precision,
        optimizer=scenario.optimizer,
    )
    found = phased(offloaded, least, scenario.table.depth, PHASES_TRIED)
    if not found.tensor.size:
        return plans, scenario.memory(plans)
    return found, scenario.memory(found)


def memory_of(chip: GpuChip | IpuChip) -> float:
    """Return the memory of one device. [B]"""
    return chip.memory_capacity if isinstance(chip, GpuChip) else chip.tiles * chip.sram_per_tile
