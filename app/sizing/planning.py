"""Choose a plan: every legal one, memory first, then time for what fits, risk weighed in."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from app.engine.ipu import FITS_BELOW, REFUSED_ABOVE, evaluate_ipu_plans, phases_needed
from app.engine.plans import MemoryUse, Plans, Recompute
from app.engine.records import Floats, GpuChip, IpuChip
from app.engine.search import (
    LARGEST_MICRO_BATCH,
    Evaluated,
    Space,
    best_that_differ,
    evaluate_gpu_plans,
    first_seen,
    gpu_plans,
    ipu_plans,
    layouts,
    least_on_any_number,
    nearby_plans,
    options_of,
    phased,
)
from app.sizing.asked_plan import GPU_ONLY, IPU_ONLY, check_devices, check_kind, nothing_legal
from app.sizing.request import PlanInput
from app.sizing.scenario import Scenario

PHASES_TRIED = (1.0, 1.25, 1.5, 2.0)
"""Multiples of the fewest phases."""

CHOICES = tuple(name for name in Plans.__slots__ if name not in ("data", "micro_batch", "accumulation"))
"""Fields of a plan that stay as they are when its copies, micro-batch and batch are varied."""

MATERIAL_DEGREES = ("tensor", "pipeline", "recompute", "offload", "phases")
"""Fields in which plans differ from which fewer devices are tried."""

MOST_DEGREES = 96
"""Combinations of them that are followed to fewer devices."""

WHOLE = 2
"""Layouts of which every option is tried where few were before."""

CLOSELY = 6
"""Plans around which micro-batches and batches are varied finely."""

TINY_SAMPLE = 1e9
"""Forward work below which micro-batches of more samples than usual still gain. [FLOP]"""

LARGE_MICRO_BATCH = 1e16
"""Forward work of a micro-batch beyond which a larger one gains nothing. [FLOP]"""

Risk = Callable[[Plans], Floats]
"""Factors on the times of plans, for what is not known of their kind."""

Totals = Callable[[Plans, Floats], Floats]
"""Time of the whole run of plans, from the time of one step of each. [s]"""


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
    """Time of the run with its risk, by which plans are ranked; infinite where one does not fit. [s]"""
    totals: Floats
    """Time of the run at central values; of one step where nothing says how long it is. [s]"""
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
    best: int
    """Place of the plan that is chosen, else of the one that comes closest to fitting."""
    fastest: Fastest | None
    """The fastest plan, whatever its risk; None where none fits."""

    @property
    def fits(self) -> bool:
        """True where any plan fits."""
        return bool(self.evaluated.fits.any())

    @property
    def feasible(self) -> int:
        """Plans that fit. [-]"""
        return int(self.evaluated.fits.sum())

    def alone(self) -> Searched:
        """Return the best plan without the others, which take room."""
        best = np.array([self.best])
        values = self.evaluated
        kept = Evaluated(values.memory[best], values.elsewhere[best], values.fits[best], values.seconds[best])
        return replace(
            self,
            plans=self.plans.take(best),
            evaluated=kept,
            cost=self.cost[best],
            totals=self.totals[best],
            best=0,
        )

    @property
    def fullness(self) -> Floats:
        """Fuller of device memory and of host or streaming memory, as shares of what there is. [-]"""
        return _fullness(self.evaluated, self.limit, self.elsewhere_limit)


@dataclass(frozen=True, slots=True)
class Fastest:
    """The plan with the least central time."""

    plans: Plans
    """One plan. [-]"""
    total: float
    """Time of its run. [s]"""


def _fullness(evaluated: Evaluated, limit: float, elsewhere_limit: float) -> Floats:
    device = evaluated.memory / limit
    if not elsewhere_limit:
        return np.asarray(device)
    return np.maximum(device, evaluated.elsewhere / elsewhere_limit)


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
    lean: bool = False,
) -> Space:
    """Return the space of a scenario's plans; refuse values that can never be right.

    Parameters
    ----------
    scenario : Scenario
        Model, hardware and software. [-]
    allowed : mapping
        Values of the fields of the plan that are not free. [-]
    devices : int
        Accelerators of the system. [-]
    per_node : int
        Accelerators of one machine. [-]
    global_batch : int
        Samples per step; the most of them where any batch may be taken. [-]
    spare : bool
        True where accelerators may stay idle. [-]
    any_batch : bool
        True where smaller batches may be taken. [-]
    quarterings : int
        Times that a batch is quartered. [-]
    lean : bool
        True to try the options that usually win first, and all around the best of them. [-]
    """
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
) -> Searched:
    """Return the legal plans of a space with memory, time and rank.

    Every combination of options is tried on as many devices as the batch allows. Where devices may idle, the
    best of each layout are then tried on fewer, and the best of all with other micro-batches and batches.

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
    totals : callable or None
        Times of whole runs, by which plans of several batches are compared; those of one step where None. [s]
    """
    strict, loose = _limits(scenario, margin)
    find = _ipu_search if scenario.is_ipu else _gpu_search
    plans, evaluated, enumerated, count, limit = find(scenario, space, strict, loose)
    if not plans.tensor.size:
        raise nothing_legal(space)

    def rank(some: Plans, seconds: Floats) -> tuple[Floats, Floats]:
        total = np.full(seconds.shape, np.inf)
        fits = np.flatnonzero(np.isfinite(seconds))
        fitting = some.take(fits)
        total[fits] = seconds[fits] if totals is None else totals(fitting, seconds[fits])
        cost = total.copy()
        if risk is not None:
            cost[fits] *= np.broadcast_to(risk(fitting), fits.shape)
        return total, cost

    total, cost = rank(plans, evaluated.seconds)
    rounds = (_every_option, _nearby) if space.lean and not space.ipu else (_nearby,)
    for around in rounds if space.spare and evaluated.fits.any() else ():
        more = around(space, plans, cost, total)
        if not more.tensor.size:
            continue
        found = _evaluated(scenario, more, limit)
        more_total, more_cost = rank(more, found.seconds)
        plans, evaluated = Plans.joined([plans, more]), Evaluated.joined([evaluated, found])
        total, cost = np.concatenate([total, more_total]), np.concatenate([cost, more_cost])
        enumerated, count = enumerated + more.tensor.size, count + more.tensor.size
    fastest = None
    if evaluated.fits.any():
        best = least_on_any_number(plans.devices, cost, total) if space.spare else int(np.argmin(cost))
        quickest = np.array([np.argmin(total)])
        fastest = Fastest(plans.take(quickest), float(total[quickest[0]]))
    else:
        best = int(np.argmin(_fullness(evaluated, limit, scenario.memory_elsewhere)))
    return Searched(
        plans=plans,
        evaluated=evaluated,
        cost=cost,
        totals=total,
        enumerated=enumerated,
        count=count,
        borderline=limit > strict,
        limit=limit,
        elsewhere_limit=scenario.memory_elsewhere,
        best=best,
        fastest=fastest,
    )


def _every_option(space: Space, plans: Plans, cost: Floats, total: Floats) -> Plans:
    """Return the plans of the best layouts with every option, which none of the given ones equals."""
    layout = ("tensor", "pipeline", "micro_batch")
    best = np.union1d(*(best_that_differ(plans, by, layout, WHOLE) for by in (cost, total)))
    found = [layouts(_layout(space, plans.take(best[place : place + 1]))) for place in range(best.size)]
    return _new(plans, options_of(replace(space, lean=False), np.concatenate(found, axis=1))[0])


def _layout(space: Space, layout: Plans) -> Space:
    """Return the space of one layout, with all its options, also with a micro-batch of twice the samples."""
    micro_batch = float(layout.micro_batch[0])
    most = space.global_batch / float(layout.data[0])
    larger = [2.0 * micro_batch] if 2.0 * micro_batch <= min(most, space.largest_micro_batch) else []
    sizes = space.choices("micro_batch", [micro_batch, *larger])
    degrees = {name: (float(getattr(layout, name)[0]),) for name in ("tensor", "pipeline", "data")}
    return replace(space, allowed={**space.allowed, **degrees, "micro_batch": sizes}, lean=False)


def _nearby(space: Space, plans: Plans, cost: Floats, total: Floats) -> Plans:
    """Return plans on fewer devices and around the best, which none of the given ones equals."""
    materially = best_that_differ(plans, cost, MATERIAL_DEGREES, MOST_DEGREES)
    # A plan that is less certain may be the faster one.
    degrees = ("tensor", "pipeline")
    best = np.union1d(*(best_that_differ(plans, by, degrees, CLOSELY) for by in (cost, total)))
    best = np.union1d(best, best_that_differ(plans, cost, CHOICES, CLOSELY))
    seeds = np.concatenate([best, np.setdiff1d(materially, best)])
    return _new(plans, nearby_plans(space, plans.take(seeds), np.arange(best.size)))


def _new(known: Plans, found: Plans) -> Plans:
    """Return the plans that are not among those known, each once."""
    columns = (np.stack([getattr(plans, name) for name in Plans.__slots__]) for plans in (known, found))
    return found.take(first_seen(*columns))


def choose_plan(
    scenario: Scenario,
    space: Space,
    *,
    margin: float | None = None,
    risk: Risk | None = None,
    totals: Totals | None = None,
) -> Choice:
    """Return the best legal plan that fits, or the one that comes closest to fitting.

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
    totals : callable or None
        Times of whole runs; those of one step where None. [s]
    """
    found = search_space(scenario, space, margin=margin, risk=risk, totals=totals)
    chosen = found.plans.take(np.array([found.best]))
    elsewhere = GPU_ONLY if scenario.is_ipu else IPU_ONLY
    given = {name for name, values in space.allowed.items() if len(values) == 1}
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
    plans, enumerated = gpu_plans(space)
    limit, evaluated = strict, _evaluated(scenario, plans, strict)
    if space.lean and not evaluated.fits.any():
        return _gpu_search(scenario, replace(space, lean=False), strict, loose)
    if not evaluated.fits.any() and np.any(evaluated.memory <= loose):
        evaluated = _evaluated(scenario, plans, loose)
        limit = loose if evaluated.fits.any() else strict
    if space.lean and "offload" not in space.allowed:
        best = plans.take(np.array([np.argmin(evaluated.seconds)]))
        if float(best.recompute[0]) == Recompute.FULL:
            # Memory is short: the optimizer may be better kept on the host.
            more, tried = gpu_plans(replace(space, allowed={**space.allowed, "offload": (1.0,)}))
            plans = Plans.joined([plans, more])
            evaluated = Evaluated.joined([evaluated, _evaluated(scenario, more, limit)])
            enumerated += tried
    return plans, evaluated, enumerated, int(plans.tensor.size), limit


def _evaluated(scenario: Scenario, plans: Plans, limit: float) -> Evaluated:
    """Return memory and time of plans that may fill so much of a device."""
    if isinstance(scenario.hardware, IpuChip):
        memory, streaming, seconds = evaluate_ipu_plans(
            scenario.table,
            plans,
            scenario.hardware,
            scenario.ipu_software(),
            precision=scenario.precision,
            optimizer=scenario.optimizer,
            limit=limit,
            split=scenario.stage_layers,
        )
        evaluated = Evaluated(memory, streaming, np.isfinite(seconds), seconds)
    else:
        evaluated = evaluate_gpu_plans(scenario.gpu_case(), plans, limit=limit)
    evaluated.seconds[:] *= scenario.time_factor()
    return evaluated


def _ipu_search(scenario: Scenario, space: Space, strict: float, loose: float) -> Found:
    """Search plans that stay in the processor, then such as run in phases; strictly, then loosely."""
    plans, enumerated = ipu_plans(space)
    if not plans.tensor.size:
        nothing = np.empty(0)
        return plans, Evaluated(nothing, nothing, nothing.astype(bool), nothing), enumerated, 0, strict
    evaluated = _evaluated(scenario, plans, strict)
    if "phases" not in space.allowed:
        # Whatever does not stay in the processor whole may in phases, and be the faster for its layout.
        outside = np.flatnonzero(~evaluated.fits)
        in_phases = _phased(scenario, plans.take(outside)) if outside.size else None
        if in_phases is not None:
            plans, enumerated = Plans.joined([plans, in_phases]), enumerated + in_phases.tensor.size
            evaluated = Evaluated.joined([evaluated, _evaluated(scenario, in_phases, strict)])
    count = plans.tensor.size
    if not evaluated.fits.any() and np.any(evaluated.memory <= loose):
        loosely = _evaluated(scenario, plans, loose)
        if loosely.fits.any():
            return plans, loosely, enumerated, count, loose
    return plans, evaluated, enumerated, count, strict


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


def _phased(scenario: Scenario, plans: Plans) -> Plans | None:
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
    return found if found.tensor.size else None


def memory_of(chip: GpuChip | IpuChip) -> float:
    """Return the memory of one device. [B]"""
    return chip.memory_capacity if isinstance(chip, GpuChip) else chip.tiles * chip.sram_per_tile
