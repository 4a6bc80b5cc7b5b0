"""Choose a plan: memory of every legal one, then the time of those that fit, ranked with their risk."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from app.catalog.software import PLAN_KINDS
from app.engine.arrays import first_seen
from app.engine.gpu.plan_steps import PlanFigures, PlanLimits
from app.engine.ipu.plan_steps import evaluate_ipu_plans, phases_needed
from app.engine.ipu.stage_memory import FITS_BELOW, REFUSED_ABOVE
from app.engine.plans import PLAN_FIELDS, MemoryUse, Offload, Plans, Recompute
from app.engine.records import Floats, GpuChip, Indices, IpuChip
from app.engine.runs import ONE_STEP, RunFigures
from app.engine.search.enumeration import combinations, ipu_plans, phased, plans_of, spread_of
from app.engine.search.evaluate import Candidates, GpuEvaluator, fitting
from app.engine.search.nearby import nearby_plans
from app.engine.search.selection import LITTLE, best_that_differ, least_on_any_number
from app.engine.search.space import LARGEST_MICRO_BATCH, Space, layouts, layouts_like
from app.errors import engine_errors, refuse
from app.estimating.request import PlanInput
from app.estimating.scenario import (
    GPU_ONLY,
    IPU_ONLY,
    OFFLOADS,
    PLAIN,
    Scenario,
    nothing_legal,
    offload_sums,
    plan_errors,
    with_offload,
    with_recomputed_layers,
)

NEVER_SEARCHED = ("sharding_ranks",)
"""Fields of a plan that are as requested, else at their default."""
PHASES_TRIED = (1.0, 1.25, 1.5, 2.0)
"""Multiples of the fewest phases that are tried."""
CHOICES = tuple(name for name in Plans.__slots__ if name not in ("data", "micro_batch", "accumulation"))
"""Fields of a plan that stay fixed while its copies, micro-batch and batch are varied."""
LAYOUT = ("tensor", "pipeline", "context", "micro_batch")
"""Fields in which layouts differ."""
MATERIAL_DEGREES = ("tensor", "pipeline", "context", "recompute", "offload", "phases")
"""Fields by which plans are told apart when fewer devices are tried."""
MOST_DEGREES = 96
"""Combinations of these fields that are tried on fewer devices."""
WHOLE = 2
"""Best layouts whose every option is tried after a lean search."""
CLOSELY = 6
"""Best plans around which micro-batches and batches are varied finely."""
WORTH = 1.5
"""How many times as long as the fastest found a plan may take to be looked at further."""
CLOSE = 1.1
"""The same of a plan around the best."""
PARTLY = 24
"""Best layouts with full recompute for which fewer recomputed layers are tried."""
Risk = Callable[[Plans], Floats]
"""Factors on the times of plans, for the uncertainty of their kind."""


@dataclass(frozen=True, slots=True)
class PlanRanking:
    """Plans with memory, time and rank."""

    plans: Plans
    evaluated: PlanFigures
    cost: Floats
    """Time of the run with its risk, by which plans are ranked; infinite for plans that do not fit. [s]"""

    @property
    def totals(self) -> Floats:
        """Time of the run at central values; of one step where its length is unknown. [s]"""
        return self.evaluated.totals

    def take(self, index: Indices) -> PlanRanking:
        return PlanRanking(self.plans.take(index), self.evaluated.take(index), self.cost[index])

    def with_more(self, more: PlanRanking) -> PlanRanking:
        return PlanRanking(
            Plans.joined([self.plans, more.plans]),
            PlanFigures.joined([self.evaluated, more.evaluated]),
            np.concatenate([self.cost, more.cost]),
        )

    def best_that_differ(
        self, by: str, names: Sequence[str], keep: int, *, recompute: float | None = None
    ) -> Indices:
        """Return the indices of the best plan of each combination of fields, the best first."""
        ranks: Floats = getattr(self, by)
        if recompute is not None:
            ranks = np.where(self.plans.recompute == recompute, ranks, np.inf)
        return best_that_differ(self.plans, ranks, names, keep)


NOTHING = PlanRanking(Plans.of_rows(np.empty((0, len(PLAN_FIELDS)))), PlanFigures.room(0), np.empty(0))


class PlanSearch:
    """A search for plans in rounds; keeps those that fit and may be worth it, or all of them."""

    def __init__(
        self,
        scenario: Scenario,
        space: Space,
        risk: Risk | None,
        run: RunFigures,
        evaluator: GpuEvaluator | None = None,
        *,
        everything: bool = False,
    ) -> None:
        self.scenario = scenario
        self.space = space
        self.everything = everything
        """True to keep all plans, each once; else only those that fit, some possibly twice."""
        self.limits = PlanLimits(
            0.0, scenario.memory_elsewhere, float(scenario.time_factor()), np.inf if everything else WORTH
        )
        self.enumerated = 0
        self.count = 0
        self.ranked = NOTHING
        self._least_memory = math.inf
        self._risk = risk
        self._run = run
        self._gpu = evaluator
        if evaluator is None and not scenario.is_ipu:
            self._gpu = GpuEvaluator(scenario.gpu_case())

    def run(self, strict: float, loose: float) -> None:
        """Search below the strict limit of memory, then below the loose one if nothing fits."""
        space = self.space
        self._start(space, strict)
        if not self.feasible and space.lean and not space.ipu:
            space = replace(space, lean=False)
            self._start(space, strict)
        if not self.feasible and self._least_memory <= loose:
            self._start(space, loose)
            if not self.feasible:
                self._start(space, strict)
        if "offload" not in space.allowed and not space.ipu:
            if not self.feasible:
                self._offload_more(strict)
            elif space.lean:
                self._add_offloaded()
        if space.spare and self.feasible:
            if self.space.lean and not space.ipu:
                ranked, whole = self.ranked, replace(self.space, lean=False)
                best = np.union1d(*(ranked.best_that_differ(by, LAYOUT, WHOLE) for by in ("cost", "totals")))
                self._add_layouts(whole, layouts_like(whole, ranked.plans.take(best)))
            self._add(self._nearby())
        if self.feasible and not space.ipu and "recompute" not in space.allowed:
            self._add_partly_recomputed()

    @property
    def feasible(self) -> int:
        return int(np.count_nonzero(self.ranked.evaluated.fits))

    @property
    def _fastest(self) -> float:
        return float(np.min(self.ranked.totals, initial=np.inf))

    def best(self) -> int:
        """Return the index of the chosen plan; of the one closest to fitting where none fits."""
        ranked = self.ranked
        if not self.feasible:
            return int(np.argmin(fullness(ranked.evaluated, self.limits)))
        if not self.space.spare:
            return int(np.argmin(ranked.cost))
        # Machines come whole, so a plan that leaves part of one idle is not one on fewer.
        machines = np.ceil(ranked.plans.devices / self.space.devices_per_node)
        return least_on_any_number(machines, ranked.cost, ranked.totals)

    def fastest(self) -> PlanRanking:
        """Return the plan with the least central time."""
        return self.ranked.take(np.argmin(self.ranked.totals, keepdims=True))

    def roomier(self, best: int) -> float | None:
        """Return the time of the fastest plan that leaves more room, over that of the chosen one."""
        evaluated = self.ranked.evaluated
        most = float(evaluated.memory[best]) - MARGIN * memory_of(self.scenario.chip)
        least = float(np.min(evaluated.totals, where=evaluated.memory <= most, initial=np.inf))
        return least / float(evaluated.totals[best]) if math.isfinite(least) else None

    def _start(self, space: Space, limit: float) -> None:
        """Restart with every plan of a space that fills at most ``limit`` of a device."""
        self.ranked, self.count, self.enumerated = NOTHING, 0, 0
        self.limits, self._least_memory = self.limits._replace(memory=limit), math.inf
        if space.ipu:
            self._add_on_ipus(space)
        else:
            self._add_layouts(space, layouts(space))

    def _add_layouts(self, space: Space, rows: Floats) -> None:
        spread = spread_of(space, rows)
        self.enumerated += combinations(space, len(rows))
        if self.everything:
            with engine_errors():
                plans = plans_of(spread)
            self._add(plans)
            return
        assert self._gpu is not None
        with engine_errors():
            self._keep(self._gpu.fitting(spread, self.limits, self._run, self._fastest))

    def _add(self, plans: Plans, evaluated: PlanFigures | None = None) -> None:
        """Add the plans that fit and are worth it, or all that are new."""
        if self.ranked.cost.size and self.everything:
            new = first_seen(self.ranked.plans.rows, plans.rows)
            plans, evaluated = plans.take(new), None if evaluated is None else evaluated.take(new)
            self.enumerated += plans.tensor.size
        if not plans.tensor.size:
            return
        if evaluated is None:
            evaluated = self._evaluated(plans)
        if self.everything:
            self._keep(Candidates(plans, evaluated, plans.tensor.size, float(np.min(evaluated.memory))))
        else:
            self._keep(fitting(plans, evaluated, self.limits, self._fastest))

    def _keep(self, candidates: Candidates) -> None:
        plans, evaluated = candidates.plans, candidates.evaluated
        self.count += candidates.count
        self._least_memory = min(self._least_memory, candidates.least_memory)
        fits = np.flatnonzero(evaluated.fits)
        if not candidates.count or (self.ranked.cost.size and not self.everything and not fits.size):
            return
        cost = np.full(evaluated.seconds.shape, np.inf)
        if fits.size:
            feasible = plans if fits.size == cost.size else plans.take(fits)
            cost[fits] = evaluated.totals[fits] * (1.0 if self._risk is None else self._risk(feasible))
            if not self.space.ipu:
                cost[fits] *= margin_price(evaluated.memory[fits], memory_of(self.scenario.chip))
        more = PlanRanking(plans, evaluated, cost)
        self.ranked = self.ranked.with_more(more) if self.ranked.cost.size else more

    def _evaluated(self, plans: Plans) -> PlanFigures:
        scenario = self.scenario
        if self._gpu is not None:
            return self._gpu(plans, self.limits, self._run)
        assert isinstance(scenario.hardware, IpuChip)
        memory, streaming, seconds = evaluate_ipu_plans(
            scenario.table,
            plans,
            scenario.hardware,
            scenario.ipu_software(),
            precision=scenario.precision,
            optimizer=scenario.optimizer,
            limit=self.limits.memory,
            split=scenario.stage_layers,
        )
        seconds *= self.limits.factor
        fits = np.flatnonzero(np.isfinite(seconds))
        totals = np.full(seconds.shape, np.inf)
        totals[fits] = self._run.totals(plans.take(fits), seconds[fits])
        return PlanFigures(memory, streaming, seconds, totals)

    def _add_offloaded(self) -> None:
        """Where memory is short, add plans that keep the optimizer on the host."""
        ranked = self.ranked
        if ranked.plans.recompute[np.argmin(ranked.evaluated.seconds)] == Recompute.FULL:
            space = replace(self.space, allowed={**self.space.allowed, "offload": (1.0,)})
            self._add_layouts(space, layouts(space))

    def _offload_more(self, limit: float) -> None:
        """Search plans that keep parameters or activations on the host, where nothing else fits."""
        sums = [kinds for kinds in offload_sums(self.scenario) if kinds > Offload.OPTIMIZER]
        if not sums:
            return
        before = self.space, self.ranked, self.count, self.enumerated, self.limits, self._least_memory
        # All of them together, for one sample that is computed again, leave the least on a device.
        least = {"micro_batch": (1.0,), "recompute": (float(Recompute.FULL),)}
        self._start(replace(self.space, allowed={**least, **self.space.allowed, "offload": sums[-1:]}), limit)
        if self._least_memory <= limit:
            self.space = replace(self.space, allowed={**self.space.allowed, "offload": tuple(sums)})
            self._start(self.space, limit)
        if not self.feasible:
            self.space, self.ranked, self.count, self.enumerated, self.limits, self._least_memory = before

    def _add_partly_recomputed(self) -> None:
        """Add the best plans with full recompute, with the fewest recomputed layers that fit."""
        ranked, full, gpu = self.ranked, Recompute.FULL, self._gpu
        best = np.union1d(
            *(ranked.best_that_differ("cost", names, PARTLY, recompute=full) for names in (LAYOUT, CHOICES))
        )
        if not best.size:
            return
        assert gpu is not None
        # The least that any of a plan's layers takes bounds it from below: most cannot become the best.
        slowest = math.inf if self.everything else float(ranked.cost.min())
        self._add(*gpu.recomputing_less(ranked.plans.take(best), self.limits, self._run, slowest))

    def _add_on_ipus(self, space: Space) -> None:
        """Add the plans, with those that do not fit into the processor cut into phases as well."""
        plans, self.enumerated = ipu_plans(space)
        if not plans.tensor.size:
            return
        evaluated = self._evaluated(plans)
        if "phases" not in space.allowed:
            # In phases a layout may fit, and may then be the fastest.
            outside = np.flatnonzero(~evaluated.fits)
            in_phases = self._phased(plans.take(outside)) if outside.size else None
            if in_phases is not None:
                self.enumerated += in_phases.tensor.size
                plans = Plans.joined([plans, in_phases])
                evaluated = PlanFigures.joined([evaluated, self._evaluated(in_phases)])
        self._add(plans, evaluated)

    def _phased(self, plans: Plans) -> Plans | None:
        """Return the plans that keep their optimizer off chip, cut into the phases they need."""
        off_chip = np.flatnonzero(plans.offload > 0)
        offloaded = plans.take(off_chip) if off_chip.size else plans
        scenario, chip = self.scenario, self.scenario.hardware
        assert isinstance(chip, IpuChip)
        least = phases_needed(
            scenario.table,
            offloaded,
            chip,
            scenario.ipu_software(),
            precision=scenario.precision,
            optimizer=scenario.optimizer,
        )
        cut = phased(offloaded, least, scenario.table.depth, PHASES_TRIED)
        return cut if cut.tensor.size else None

    def _nearby(self) -> Plans:
        """Return plans on fewer devices and around the best."""
        ranked = self.ranked
        materially = ranked.best_that_differ("cost", MATERIAL_DEGREES, MOST_DEGREES)
        # A less certain plan may be the faster one.
        degrees = ("tensor", "pipeline")
        best = np.union1d(*(ranked.best_that_differ(by, degrees, CLOSELY) for by in ("cost", "totals")))
        best = np.union1d(best, ranked.best_that_differ("cost", CHOICES, CLOSELY))
        # Few large micro-batches or many small ones: which is better shows only when both are varied.
        best = np.union1d(best, ranked.best_that_differ("cost", LAYOUT, CLOSELY))
        seeds = np.concatenate([best, np.setdiff1d(materially, best)])
        plans, found = ranked.plans.take(seeds), []
        for context in np.unique(plans.context).tolist():
            mine = np.flatnonzero(plans.context == context)
            groups = grouped(plans.take(mine), np.array(1.0 / context))
            near = nearby_plans(
                self.space.of_groups(int(context)),
                groups,
                np.flatnonzero(mine < best.size),
                slots=None if self._gpu is None or self.everything else self._least_slots(context),
                run=self._run,
                slowest=max(CLOSE * self._fastest, (1.0 + LITTLE) * float(ranked.cost.min())),
            )
            found.append(grouped(near, np.array(context)))
        return Plans.joined(found)

    def _least_slots(self, context: float) -> Callable[[Floats], Floats]:
        """Return what gives the least time of a slot of plans of groups, however much is recomputed. [s]"""

        def slots(rows: Floats) -> Floats:
            assert self._gpu is not None
            plans = grouped(Plans.of_rows(rows), np.array(context))
            if "recompute" not in self.space.allowed:
                plans = replace(plans, recompute=np.minimum(plans.recompute, float(Recompute.SELECTIVE)))
            return self.limits.factor * self._gpu.slots(plans.rows)

        return slots


def grouped(plans: Plans, more: Floats) -> Plans:
    """Return plans with ``more`` times the copies, each with a micro-batch as much smaller."""
    if np.all(more == 1.0):
        return plans
    ranks, micro_batch = plans.sharding_ranks * more, plans.micro_batch / more
    return replace(plans, data=plans.data * more, sharding_ranks=ranks, micro_batch=micro_batch)


MARGIN = 0.1
"""Share of the memory that a plan had better leave free."""
MARGIN_PRICE = 0.05
"""Share of its time by which a plan ranks as slower that leaves none of this free; it is a price, not a
limit: a plan that needs more than this to leave room is not taken for it."""


def margin_price(memory: Floats, capacity: float) -> Floats:
    """Return the factors by which plans rank as slower for the memory that they fill.

    >>> margin_price(np.array([60e9, 75e9, 80e9]), 80e9).round(3).tolist()
    [1.0, 1.019, 1.05]
    """
    return 1.0 + MARGIN_PRICE * np.clip((memory / capacity - 1.0 + MARGIN) / MARGIN, 0.0, 1.0)


def fullness(evaluated: PlanFigures, limits: PlanLimits) -> Floats:
    """Return the fuller of device memory and host or streaming memory, as a share of its capacity."""
    device = evaluated.memory / limits.memory
    if not limits.host_memory:
        return np.asarray(device)
    return np.maximum(device, evaluated.elsewhere / limits.host_memory)


TINY_SAMPLE = 1e9
"""Forward work below which micro-batches of more samples than usual still gain. [FLOP]"""
LARGE_MICRO_BATCH = 1e16
"""Forward work of a micro-batch beyond which a larger one gains nothing. [FLOP]"""


@dataclass(frozen=True, slots=True)
class SearchRanking(PlanRanking):
    """Legal plans of a space with memory, time and rank, or the best of them alone."""

    space: Space
    enumerated: int
    """Combinations of the dimensions that span the plans."""
    count: int
    """Legal plans whose memory was computed and, where they fit, whose step time was."""
    feasible: int
    """Plans of them that fit."""
    borderline: bool
    """True where a plan fits only into the memory that is otherwise left free."""
    limits: PlanLimits
    best: int
    """Index of the chosen plan, else of the one closest to fitting."""
    fastest: PlanRanking | None
    """The plan with the least central time, whatever its risk; None where none fits."""
    roomier: float | None
    """Time of the fastest plan that leaves :data:`MARGIN` more of a device free, over that of the chosen one;
    None where none does. [-]"""

    @property
    def fullness(self) -> Floats:
        return fullness(self.evaluated, self.limits)


@dataclass(frozen=True, slots=True)
class PlanChoice:
    """A plan, its memory, and the search it was chosen from."""

    plans: Plans
    """One plan, arrays of length one."""
    memory: MemoryUse
    found: SearchRanking

    @property
    def space(self) -> Space:
        return self.found.space

    @property
    def fits(self) -> bool:
        return self.found.feasible > 0

    @property
    def seconds(self) -> float:
        """Time of the run at central values. [s]"""
        return float(self.found.totals[self.found.best])

    @property
    def searched(self) -> tuple[str, ...]:
        """Fields that were not given."""
        space = self.space
        stated = {name for name, values in space.allowed.items() if len(values) == 1}
        if len(space.contexts) == 1:
            stated.add("context")
        fixed = {*stated, *(GPU_ONLY if space.ipu else IPU_ONLY), *NEVER_SEARCHED}
        if space.experts == 1:
            fixed.add("expert")
        if "recompute" in stated:
            fixed.add("recompute_layers")
        if self.plans.offload[0] <= Offload.OPTIMIZER:
            # Other kinds are tried only where nothing else fits.
            fixed |= OFFLOADS.keys() - {"offload"}
        return tuple(name for name in PlanInput.model_fields if name not in fixed)


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
    if not scenario.is_ipu and not scenario.memory_elsewhere:
        # Whether an optimizer fits into a host of unknown memory is unknown.
        allowed = {"offload": (0.0,), **allowed}
    refuse(plan_errors(scenario, allowed, devices))
    allowed = with_recomputed_layers(with_offload(_supported(scenario, allowed)), scenario.table.depth)
    return Space(
        devices=devices,
        devices_per_node=per_node,
        global_batch=global_batch,
        depth=scenario.table.depth,
        heads=int(scenario.table.attention_heads),
        ipu=scenario.is_ipu,
        allowed=allowed,
        experts=scenario.table.experts,
        contexts=contexts_of(scenario, allowed),
        fused_attention=not scenario.is_ipu and scenario.gpu_software().fused_attention > 0.0,
        largest_micro_batch=_largest_micro_batch(scenario),
        spare=spare,
        any_batch=any_batch,
        quarterings=quarterings,
        batches=batches,
        lean=lean,
    )


def _supported(scenario: Scenario, allowed: Mapping[str, Sequence[float]]) -> dict[str, Sequence[float]]:
    """Return the allowed values of fields, without those of plans that the software does not have."""
    supported = dict(allowed)
    kinds = PLAN_KINDS - (OFFLOADS.keys() - {"offload"})
    for name in () if scenario.is_ipu else kinds - scenario.software.plans:
        plain = PLAIN.get(name, (1.0,))
        supported[name] = tuple(value for value in allowed.get(name, plain) if value in plain)
    return supported


LEAST_TOKENS = 4096
"""Tokens of a rank below which sharing those of a sample is not tried unless asked."""


def contexts_of(scenario: Scenario, allowed: Mapping[str, Sequence[float]]) -> tuple[int, ...]:
    """Return the numbers of ranks that may share the tokens of each sample: as given, else powers of two."""
    if "context" in allowed:
        return tuple(map(int, allowed["context"]))
    table = scenario.table
    if scenario.is_ipu or not table.attention_heads or not scenario.gpu_software().fused_attention:
        return (1,)
    most = int(table.tokens / LEAST_TOKENS)
    powers = (1 << power for power in range(max(most, 1).bit_length()))
    # A mean length of samples need not be whole: one rank always holds all of it.
    return tuple(ranks for ranks in powers if ranks == 1 or table.tokens % ranks == 0)


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
    run: RunFigures = ONE_STEP,
    evaluator: GpuEvaluator | None = None,
    everything: bool = False,
) -> SearchRanking:
    """Return the legal plans of a space with memory, time and rank.

    Every combination of options is tried on as many devices as the batch allows. Where devices may idle, the
    best of each layout are then tried on fewer, and the best of all with other micro-batches and batches.
    """
    strict, loose = _limits(scenario, margin)
    search = PlanSearch(scenario, space, risk, run, evaluator, everything=everything)
    search.run(strict, loose)
    if not search.count:
        raise nothing_legal(space)
    best = search.best()
    ranked = search.ranked if everything else search.ranked.take(np.array([best]))
    return SearchRanking(
        ranked.plans,
        ranked.evaluated,
        ranked.cost,
        space=space,
        enumerated=search.enumerated,
        count=search.count,
        feasible=search.feasible,
        borderline=search.limits.memory > strict,
        limits=search.limits,
        best=best if everything else 0,
        fastest=search.fastest() if search.feasible else None,
        roomier=search.roomier(best) if search.feasible else None,
    )


def choose_plan(scenario: Scenario, search: SearchRanking) -> PlanChoice:
    """Return the best legal plan that fits, or the one that comes closest to fitting."""
    plans = search.plans.take(np.array([search.best]))
    return PlanChoice(plans, scenario.memory(plans), search)


def _limits(scenario: Scenario, margin: float | None) -> tuple[float, float]:
    """Return the memory a plan may fill, and the memory up to which it is called borderline.

    A requested margin is kept; only the default one may be eaten into.
    """
    capacity = memory_of(scenario.chip)
    if margin is not None:
        return capacity * (1.0 - margin), capacity * (1.0 - margin)
    largest = REFUSED_ABOVE if scenario.is_ipu else 1.0
    return capacity * (1.0 - default_margin(scenario)), capacity * largest


def default_margin(scenario: Scenario) -> float:
    """Return the share of the memory that is left free by default; on GPUs it has a price instead."""
    return 1.0 - FITS_BELOW if scenario.is_ipu else 0.0


def memory_of(chip: GpuChip | IpuChip) -> float:
    """Return the memory of one device. [B]"""
    return chip.memory_capacity if isinstance(chip, GpuChip) else chip.tiles * chip.sram_per_tile
