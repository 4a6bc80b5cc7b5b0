"""Choose a plan: memory of every legal one, then the time of those that fit, ranked with their risk."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from app.catalog.software import PLAN_KINDS
from app.engine.arrays import first_seen
from app.engine.gpu.plan_steps import PlanFigures
from app.engine.ipu.plan_steps import evaluate_ipu_plans, phases_needed
from app.engine.ipu.stage_memory import FITS_BELOW, REFUSED_ABOVE
from app.engine.plans import PLAN_FIELDS, MemoryUse, Offload, Plans, Recompute
from app.engine.records import Floats, GpuChip, Indices, IpuChip
from app.engine.search.enumeration import combinations, ipu_plans, phased, plans_of, spread_of
from app.engine.search.evaluate import Candidates, GpuEvaluator, fitting
from app.engine.search.nearby import nearby_plans
from app.engine.search.selection import best_that_differ, least_on_any_number
from app.engine.search.space import LARGEST_MICRO_BATCH, Space, layouts
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
PARTLY = 24
"""Best layouts with full recompute for which fewer recomputed layers are tried."""
Risk = Callable[[Plans], Floats]
"""Factors on the times of plans, for the uncertainty of their kind."""
Totals = Callable[[Plans, Floats], Floats]
"""Time of the whole run of plans, from the time of one step of each. [s]"""


@dataclass(frozen=True, slots=True)
class PlanRanking:
    """Plans with memory, time and rank."""

    plans: Plans
    evaluated: PlanFigures
    totals: Floats
    """Time of the run at central values; of one step where its length is unknown. [s]"""
    cost: Floats
    """Time of the run with its risk, by which plans are ranked; infinite for plans that do not fit. [s]"""


class PlanSearch:
    """A search for plans in rounds; keeps those that fit, or all of them."""

    def __init__(
        self,
        scenario: Scenario,
        space: Space,
        risk: Risk | None,
        totals: Totals | None,
        evaluator: GpuEvaluator | None = None,
        *,
        everything: bool = False,
    ) -> None:
        self.scenario = scenario
        self.space = space
        self.everything = everything
        """True to keep all plans, each once; else only those that fit, some possibly twice."""
        self.limit = 0.0
        """Memory of one device that a plan may fill. [B]"""
        self.enumerated = 0
        self.count = 0
        self.parts: list[PlanRanking] = []
        self._least_memory = math.inf
        self._risk = risk
        self._totals = totals
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
                self._add_layouts(replace(self.space, lean=False), self._best_layouts())
            self._add(self._nearby())
        if self.feasible and not space.ipu and "recompute" not in space.allowed:
            self._add_partly_recomputed()

    @property
    def feasible(self) -> int:
        return sum(int(np.count_nonzero(part.evaluated.fits)) for part in self.parts)

    def joined(self) -> PlanRanking:
        parts = self.parts
        if len(parts) == 1:
            return parts[0]
        return PlanRanking(
            Plans.joined([part.plans for part in parts]),
            PlanFigures.joined([part.evaluated for part in parts]),
            np.concatenate([part.totals for part in parts]),
            np.concatenate([part.cost for part in parts]),
        )

    def best(self) -> int:
        """Return the index of the chosen plan; of the one closest to fitting where none fits."""
        if not self.feasible:
            ranked = self.joined()
            return int(np.argmin(fullness(ranked.evaluated, self.limit, self.scenario.memory_elsewhere)))
        cost = np.concatenate([part.cost for part in self.parts])
        if not self.space.spare:
            return int(np.argmin(cost))
        totals = np.concatenate([part.totals for part in self.parts])
        # Machines come whole, so a plan that leaves part of one idle is not one on fewer.
        devices = np.concatenate([part.plans.devices for part in self.parts])
        return least_on_any_number(np.ceil(devices / self.space.devices_per_node), cost, totals)

    def fastest(self) -> int:
        """Return the index of the plan with the least central time."""
        return int(np.argmin(np.concatenate([part.totals for part in self.parts])))

    def roomier(self, best: int) -> float | None:
        """Return the time of the fastest plan that leaves more room, over that of the chosen one."""
        chosen = self.plan_at(best)
        most = float(chosen.evaluated.memory[0]) - MARGIN * memory_of(self.scenario.chip)
        least = min(
            (
                float(np.min(part.totals, where=part.evaluated.memory <= most, initial=np.inf))
                for part in self.parts
            ),
            default=math.inf,
        )
        return least / float(chosen.totals[0]) if math.isfinite(least) else None

    def take(self, indices: Indices) -> Plans:
        if len(self.parts) == 1:
            return self.parts[0].plans.take(indices)
        rows, start = np.empty((indices.size, len(PLAN_FIELDS))), 0
        for part in self.parts:
            inside = (indices >= start) & (indices < start + part.cost.size)
            rows[inside] = part.plans.rows[indices[inside] - start]
            start += part.cost.size
        return Plans.of_rows(rows)

    def plan_at(self, index: int) -> PlanRanking:
        for part in self.parts:
            if index < part.cost.size:
                at = np.array([index])
                evaluated = PlanFigures(*(values[at] for values in part.evaluated))
                return PlanRanking(part.plans.take(at), evaluated, part.totals[at], part.cost[at])
            index -= part.cost.size
        raise IndexError(index)

    def _best_that_differ(
        self, by: str, names: Sequence[str], keep: int, *, recompute: float | None = None
    ) -> Indices:
        """Return the indices of the best plan of each combination of fields, the best first."""
        indices, values, start = [], [], 0
        for part in self.parts:
            ranks: Floats = getattr(part, by)
            if recompute is not None:
                ranks = np.where(part.plans.recompute == recompute, ranks, np.inf)
            best = best_that_differ(part.plans, ranks, names, keep)
            indices.append(start + best)
            values.append(ranks[best])
            start += ranks.size
        if len(indices) == 1:
            return indices[0]
        merged = np.concatenate(indices)
        return merged[best_that_differ(self.take(merged), np.concatenate(values), names, keep)]

    def _start(self, space: Space, limit: float) -> None:
        """Restart with every plan of a space that fills at most ``limit`` of a device."""
        self.parts, self.count, self.enumerated = [], 0, 0
        self.limit, self._least_memory = limit, math.inf
        if space.ipu:
            plans, self.enumerated = self._ipu_plans(space)
            self._add(plans)
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
            candidates = self._gpu.fitting(spread, self.limit)
        self._keep(candidates)

    def _add(self, plans: Plans) -> None:
        """Add the plans that fit, or all that are new."""
        if self.parts and self.everything:
            plans = plans.take(first_seen(self.joined().plans.rows, plans.rows))
            self.enumerated += plans.tensor.size
        if not plans.tensor.size:
            return
        evaluated = self._evaluated(plans)
        if self.everything:
            self._keep(Candidates(plans, evaluated, plans.tensor.size, float(np.min(evaluated.memory))))
        else:
            elsewhere = self.scenario.memory_elsewhere
            self._keep(fitting(plans, evaluated, limit=self.limit, elsewhere_limit=elsewhere))

    def _keep(self, candidates: Candidates) -> None:
        plans, evaluated = candidates.plans, candidates.evaluated
        self.count += candidates.count
        self._least_memory = min(self._least_memory, candidates.least_memory)
        if not candidates.count or (self.parts and not self.everything and not evaluated.fits.any()):
            return
        evaluated.seconds[:] *= self.scenario.time_factor()
        totals = np.full(evaluated.seconds.shape, np.inf)
        cost = totals.copy()
        fits = np.flatnonzero(evaluated.fits)
        if fits.size:
            feasible = plans if fits.size == totals.size else plans.take(fits)
            steps = evaluated.seconds[fits]
            totals[fits] = steps if self._totals is None else self._totals(feasible, steps)
            cost[fits] = totals[fits] * (1.0 if self._risk is None else self._risk(feasible))
            if not self.space.ipu:
                cost[fits] *= margin_price(evaluated.memory[fits], memory_of(self.scenario.chip))
        self.parts.append(PlanRanking(plans, evaluated, totals, cost))

    def _evaluated(self, plans: Plans) -> PlanFigures:
        scenario = self.scenario
        if self._gpu is not None:
            return self._gpu(plans, self.limit)
        assert isinstance(scenario.hardware, IpuChip)
        return PlanFigures(
            *evaluate_ipu_plans(
                scenario.table,
                plans,
                scenario.hardware,
                scenario.ipu_software(),
                precision=scenario.precision,
                optimizer=scenario.optimizer,
                limit=self.limit,
                split=scenario.stage_layers,
            )
        )

    def _add_offloaded(self) -> None:
        """Where memory is short, add plans that keep the optimizer on the host."""
        part = self.parts[0]
        if part.plans.recompute[np.argmin(part.evaluated.seconds)] == Recompute.FULL:
            space = replace(self.space, allowed={**self.space.allowed, "offload": (1.0,)})
            self._add_layouts(space, layouts(space))

    def _offload_more(self, limit: float) -> None:
        """Search plans that keep parameters or activations on the host, where nothing else fits."""
        sums = [kinds for kinds in offload_sums(self.scenario) if kinds > Offload.OPTIMIZER]
        if not sums:
            return
        before = self.space, self.parts, self.count, self.enumerated, self.limit, self._least_memory
        # All of them together, for one sample that is computed again, leave the least on a device.
        least = {"micro_batch": (1.0,), "recompute": (float(Recompute.FULL),)}
        self._start(replace(self.space, allowed={**least, **self.space.allowed, "offload": sums[-1:]}), limit)
        if self._least_memory <= limit:
            self.space = replace(self.space, allowed={**self.space.allowed, "offload": tuple(sums)})
            self._start(self.space, limit)
        if not self.feasible:
            self.space, self.parts, self.count, self.enumerated, self.limit, self._least_memory = before

    def _add_partly_recomputed(self) -> None:
        """Add the best plans with full recompute, with the fewest recomputed layers that fit."""
        full = Recompute.FULL
        best = np.union1d(
            *(self._best_that_differ("cost", names, PARTLY, recompute=full) for names in (LAYOUT, CHOICES))
        )
        if not best.size:
            return
        whole, depth = self.take(best), int(self.scenario.table.depth)

        def partly(layers: Floats) -> Plans:
            return replace(whole, recompute=Recompute.SELECTIVE + layers / depth)

        # Bisection: low layers do not fit, high ones do. Plans that fit without any gain nothing here.
        low, high = np.zeros(best.size), np.full(best.size, float(depth))
        tight = ~self._evaluated(partly(low)).fits
        if not self.everything and tight.any():
            # The least that any of a plan's layers takes bounds it from below: most cannot become the best.
            assert self._gpu is not None
            seconds = self._gpu(partly(low), np.inf).seconds * self.scenario.time_factor()
            totals = seconds if self._totals is None else self._totals(partly(low), seconds)
            tight &= totals < min(float(part.cost.min()) for part in self.parts)
        whole, low, high = whole.take(np.flatnonzero(tight)), low[tight], high[tight]
        while np.any(high - low > 1.0):
            layers = np.ceil((low + high) / 2.0)
            fits = self._evaluated(partly(layers)).fits
            low, high = np.where(fits, low, layers), np.where(fits, layers, high)
        self._add(partly(high).take(np.flatnonzero(high < depth)))

    def _ipu_plans(self, space: Space) -> tuple[Plans, int]:
        """Return the plans, with those that do not fit into the processor cut into phases as well."""
        plans, enumerated = ipu_plans(space)
        if plans.tensor.size and "phases" not in space.allowed:
            # In phases a layout may fit, and may then be the fastest.
            outside = np.flatnonzero(~self._evaluated(plans).fits)
            in_phases = self._phased(plans.take(outside)) if outside.size else None
            if in_phases is not None:
                plans, enumerated = Plans.joined([plans, in_phases]), enumerated + in_phases.tensor.size
        return plans, enumerated

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

    def _best_layouts(self) -> Floats:
        best = np.union1d(*(self._best_that_differ(by, LAYOUT, WHOLE) for by in ("cost", "totals")))
        seeds = self.take(best)
        return np.concatenate(
            [layouts(self._layout(seeds.take(np.array([index])))) for index in range(best.size)]
        )

    def _layout(self, layout: Plans) -> Space:
        """Return the space of all options of a layout, also with its micro-batch doubled."""
        space, context = self.space, layout.context
        layout = grouped(layout, 1.0 / context)
        micro_batch = float(layout.micro_batch[0])
        most = space.global_batch / float(layout.data[0])
        larger = [2.0 * micro_batch] if 2.0 * micro_batch <= min(most, space.largest_micro_batch) else []
        sizes = space.choices("micro_batch", [micro_batch, *larger])
        degrees = {name: (float(getattr(layout, name)[0]),) for name in ("tensor", "pipeline", "data")}
        allowed = {**space.allowed, **degrees, "micro_batch": sizes}
        return replace(space, allowed=allowed, contexts=(int(context[0]),), lean=False)

    def _nearby(self) -> Plans:
        """Return plans on fewer devices and around the best."""
        materially = self._best_that_differ("cost", MATERIAL_DEGREES, MOST_DEGREES)
        # A less certain plan may be the faster one.
        degrees = ("tensor", "pipeline")
        best = np.union1d(*(self._best_that_differ(by, degrees, CLOSELY) for by in ("cost", "totals")))
        best = np.union1d(best, self._best_that_differ("cost", CHOICES, CLOSELY))
        # Few large micro-batches or many small ones: which is better shows only when both are varied.
        best = np.union1d(best, self._best_that_differ("cost", LAYOUT, CLOSELY))
        seeds = np.concatenate([best, np.setdiff1d(materially, best)])
        plans, found = self.take(seeds), []
        for context in np.unique(plans.context).tolist():
            mine = np.flatnonzero(plans.context == context)
            groups = grouped(plans.take(mine), np.array(1.0 / context))
            near = nearby_plans(self.space.of_groups(int(context)), groups, np.flatnonzero(mine < best.size))
            found.append(grouped(near, np.array(context)))
        return Plans.joined(found)


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


def fullness(evaluated: PlanFigures, limit: float, elsewhere_limit: float) -> Floats:
    """Return the fuller of device memory and host or streaming memory, as a share of its capacity."""
    device = evaluated.memory / limit
    if not elsewhere_limit:
        return np.asarray(device)
    return np.maximum(device, evaluated.elsewhere / elsewhere_limit)


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
    limit: float
    """Memory of one device that a plan was allowed to fill. [B]"""
    elsewhere_limit: float
    """Host or streaming memory of one device; 0 where it is not known. [B]"""
    best: int
    """Index of the chosen plan, else of the one closest to fitting."""
    fastest: PlanRanking | None
    """The plan with the least central time, whatever its risk; None where none fits."""
    roomier: float | None
    """Time of the fastest plan that leaves :data:`MARGIN` more of a device free, over that of the chosen one;
    None where none does. [-]"""

    @property
    def fullness(self) -> Floats:
        return fullness(self.evaluated, self.limit, self.elsewhere_limit)


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
    totals: Totals | None = None,
    evaluator: GpuEvaluator | None = None,
    everything: bool = False,
) -> SearchRanking:
    """Return the legal plans of a space with memory, time and rank.

    Every combination of options is tried on as many devices as the batch allows. Where devices may idle, the
    best of each layout are then tried on fewer, and the best of all with other micro-batches and batches.
    """
    strict, loose = _limits(scenario, margin)
    search = PlanSearch(scenario, space, risk, totals, evaluator, everything=everything)
    search.run(strict, loose)
    if not search.count:
        raise nothing_legal(space)
    best = search.best()
    ranked = search.joined() if everything else search.plan_at(best)
    return SearchRanking(
        ranked.plans,
        ranked.evaluated,
        ranked.totals,
        ranked.cost,
        space=space,
        enumerated=search.enumerated,
        count=search.count,
        feasible=search.feasible,
        borderline=search.limit > strict,
        limit=search.limit,
        elsewhere_limit=scenario.memory_elsewhere,
        best=best if everything else 0,
        fastest=search.plan_at(search.fastest()) if search.feasible else None,
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
