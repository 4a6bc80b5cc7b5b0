"""Every system at every count: plans are searched once for all systems of the same hardware."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from pydantic import JsonValue

from app.catalog.catalog import Catalog
from app.catalog.entries import ChipKind, SystemEntry
from app.engine.records import Floats, IpuChip
from app.engine.search.evaluate import GpuEvaluator
from app.engine.units import HOUR, YEAR
from app.errors import AppError, BadInput, Message
from app.estimating.capital import spot_interruptions
from app.estimating.checks import time_checks
from app.estimating.context import SizingContext
from app.estimating.costing import Charges, charges_of, system_power
from app.estimating.deciding import PlanDecision, ResolvedRequest, choose, question_of
from app.estimating.decision import Alternative
from app.estimating.documents import CheckWarning
from app.estimating.hardware import Hardware, Reliability, known_id, reliability
from app.estimating.options import alternative_of, usual_term
from app.estimating.outlay import Uncertain
from app.estimating.plan_search import PlanChoice, memory_of
from app.estimating.ranges import quantity, spread_quantity
from app.estimating.request import EstimateRequest, PlanInput, SystemInput, WorkloadInput
from app.estimating.scenario import as_stated, offloaded, recompute_name, recomputed_layers, sharding_name
from app.estimating.schema import Quantity
from app.estimating.timed_plan import TimedPlan, run_together
from app.estimating.workload import ADAPTER_PAPERS
from app.features.sizings.beaten import (
    ACCELERATORS,
    BULK,
    CROWDED,
    LINEAR,
    MONEY,
    MONOTONE,
    RELIEVED,
    SECONDS,
    Rival,
    beaten,
    least_memory,
    least_times,
    rival_of,
)
from app.features.sizings.model import (
    LARGEST_ACCELERATORS,
    Omission,
    OptionCosts,
    SizingOption,
    SizingRequest,
)
from app.features.sizings.options import SampledOption, fronts, weighing_of
from app.profiles.model import ModelProfile

SCALABLE_UNIT = 20
"""Nodes of one scalable unit of a DGX SuperPOD, in which clusters of A100 are ordered."""

TRIED_BETWEEN = 4
"""Counts tried between one that misses and the next of the lattice that meets."""

POWERS = [1 << power for power in range(LARGEST_ACCELERATORS.bit_length() + 1)]
"""Numbers of devices for which bounds are computed."""

Watch = Callable[[int, int, str], None]
"""Called before each search with the searches done, their total, and the next system's name.

Raising an exception stops the search.
"""


def nobody(done: int, total: int, system: str) -> None:
    """Watch nothing."""


@dataclass(eq=False)
class Group:
    """Systems that share chip, node, host memory and fabric, and so the plan at each number of machines."""

    hardware: Hardware
    """One machine or the smallest system of them."""
    question: ResolvedRequest
    reliability: Reliability
    place: int
    context: SizingContext
    findings: dict[int, TimedPlan | None] = field(default_factory=dict)
    """By number of machines; None where no plan is legal."""
    plans: dict[tuple[int, int], PlanChoice] = field(default_factory=dict)
    """Found by devices and batch."""

    def least_on(self, devices: int) -> float:
        """Return the least time to train on a number of devices. [s]"""
        return float(self.least(np.array([float(devices)]), ())[0])

    def least(self, devices: Floats, known: Sequence[SampledOption]) -> Floats:
        """Return the least time to train on numbers of devices, given what was found on others. [s]"""
        power = np.floor(np.log2(devices)).astype(int)
        least: Floats = np.maximum(
            self.least_times[power] * 2.0**power / devices, self.least_times[power + 1]
        )
        least[devices <= self.too_few] = np.inf
        for option in known:
            seconds, plan, own = option.seconds, option.document.plan, option.document.accelerators
            fewer = devices <= own
            least[fewer] = np.maximum(least[fewer], MONOTONE * seconds)
            # With weights or activations on the host, more devices are faster by any factor.
            if option.document.fits and not (plan.offload_parameters or plan.offload_activations):
                frugal = plan.recompute != "none" or plan.offload
                in_proportion = seconds * own / devices / (RELIEVED if frugal else LINEAR)
                least[~fewer] = np.maximum(least, in_proportion)[~fewer]
        return least

    @cached_property
    def least_times(self) -> Floats:
        """Time to train below which no plan gets, on each power of two of devices. [s]"""
        return least_times(self.question, self.hardware, POWERS, self.context)

    @cached_property
    def too_few(self) -> int:
        """Devices that cannot hold the model. [-]"""
        if self.question.scenario.is_ipu:
            return 0
        crowded = least_memory(self.question, POWERS) > CROWDED
        return max(itertools.compress(POWERS, crowded), default=0)

    @cached_property
    def evaluator(self) -> GpuEvaluator | None:
        scenario = self.question.scenario
        return None if scenario.is_ipu else GpuEvaluator(scenario.gpu_case())

    @cached_property
    def request_fields(self) -> dict[str, JsonValue]:
        """Fields of an estimate's request, apart from system and plan."""
        return self.question.request.model_dump(mode="json", exclude_none=True, exclude_defaults=True)


@dataclass(frozen=True, slots=True, eq=False)
class Offer:
    """A system, and what one of it costs at least."""

    hardware: Hardware
    """One of it."""
    group: Group
    rival: Rival
    """One of it in a run of an hour."""
    by_time: bool
    """Whether the time is paid, not the system."""
    startup: float
    """[s]"""

    def least(self, count: int) -> Rival:
        """Return what a number of systems takes at least; the time is left open."""
        one, many = self.rival, BULK * count if count > 1 else 1.0
        return one._replace(
            money=one.money * many, power=one.power * many, accelerators=one.accelerators * count
        )


@dataclass(slots=True, eq=False)
class Candidate:
    """A system at one count, which becomes an option if a plan is legal."""

    group: Group
    hardware: Hardware
    charges: Charges | None
    """None where no price is known."""
    warnings: list[CheckWarning]


def by_count(options: Iterable[SampledOption], system: str) -> dict[int, SampledOption]:
    """Return the options of one system by count, in ascending order."""
    known = {option.document.count: option for option in options if option.document.system == system}
    return dict(sorted(known.items()))


class SystemSearch:
    """Search over the systems of one request, which appends to :attr:`options` and :attr:`left_out`."""

    def __init__(
        self, request: SizingRequest, profile: ModelProfile, context: SizingContext, watch: Watch = nobody
    ) -> None:
        self.request = request
        self.profile = profile
        self.context = context
        self.options: list[SampledOption] = []
        self.left_out: list[Omission] = []
        self.refusal: AppError | None = None
        """Last error that left a count without a plan."""
        self.first: PlanDecision | None = None
        """Decision of the first option."""
        self._groups: list[Group] = []
        self._systems: dict[str, tuple[Hardware, Group]] = {}
        self._offers: dict[str, Offer] = {}
        self._watch = watch

    @property
    def searches(self) -> int:
        return sum(len(group.findings) for group in self._groups)

    def systems(self) -> dict[str, list[int]]:
        """Return the counts to consider of each system."""
        catalog, request = self.context.catalog, self.request
        for index, name in enumerate(request.systems or ()):
            known_id(catalog, "system", name, f"systems.{index}")
        on_gpus = request.workload.kind in ADAPTER_PAPERS
        names = request.systems
        if names is None:
            names = [
                entry.id
                for entry in catalog.systems()
                if entry.machine.chip.kind is ChipKind.GPU or not on_gpus
            ]
        counts_by_system = {}
        for name in dict.fromkeys(names):
            entry = catalog.system(name)
            counts = lattice(entry, request.most_accelerators)
            if request.counts is not None:
                counts = sorted(set(request.counts))
                counts = [count for count in counts if count * entry.devices <= request.most_accelerators]
            if counts:
                counts_by_system[name] = counts
        if not counts_by_system:
            raise BadInput.at(
                "most_accelerators",
                "every requested system has more than {most} accelerators even at its smallest count",
                most=request.most_accelerators,
            )
        return counts_by_system

    def explore(self, *, refine: bool) -> None:
        """Search the lattice of counts, then refine around the smallest count that meets the limits.

        Of the whole catalogue nothing is searched that is beaten at the least time and money it can have, and
        other counts than powers of two only of systems on the front.
        """
        systems = self.systems()
        wanted = [(name, count) for name, counts in systems.items() for count in counts]
        coarse = self.request.systems is None and self.request.counts is None
        if coarse:
            self._narrow([(name, count) for name, count in wanted if is_power_of_two(count)])
            if not self.options:
                # Where no system holds the model, the largest of each say how much is missing.
                self._search([(name, counts[-1]) for name, counts in systems.items()])
            front = set(self._on_front())
            self._narrow(
                [(name, count) for name, count in wanted if name in front and not is_power_of_two(count)]
            )
        else:
            self._search(wanted)
        if refine:
            self.refine()
        if coarse and self.options:
            # The scaling curve of what is recommended, or comes first, is whole.
            weighing = weighing_of(self.options, self.request, self.term)
            best = int(np.argmin(weighing.outlay)) if weighing.recommended is None else weighing.recommended
            name = self.options[best].document.system
            known = by_count(self.options, name)
            self._search(
                [(name, count) for count in systems[name] if is_power_of_two(count) and count not in known]
            )
        if not self.options:
            raise self.refusal or BadInput.at(
                "workload.global_batch", "no batch size divides evenly over the devices"
            )

    def refine(self) -> None:
        """Search between a count that misses the limits and the next that meets them, on the front."""
        if not self.request.question.limited or not self.options:
            return
        self._narrow([(name, count) for name in self._on_front() for count in self._finer(name)])

    def _narrow(self, wanted: Sequence[tuple[str, int]]) -> None:
        """Search what may reach the front; what is beaten at its least time and money is left out.

        The time is bounded by computation alone, by the time of the same hardware on more machines, and by
        that on fewer in proportion, so that each search narrows what is left.
        """
        still, rivals = [(self._offer(system), count) for system, count in wanted], list[Rival]()
        while still:
            rivals += [self._rival(option) for option in self.options[len(rivals) :]]
            known = np.array(rivals).reshape(-1, len(Rival._fields))
            least = self._least(still)
            hopeless = np.isinf(least[:, SECONDS]) | beaten(least, known)
            self.left_out += [
                Omission(
                    system=offer.hardware.entry.id,
                    count=count,
                    reason="does_not_fit" if math.isinf(seconds) else "beaten",
                )
                for (offer, count), seconds in itertools.compress(
                    zip(still, least[:, SECONDS], strict=True), hopeless
                )
            ]
            still, least = list(itertools.compress(still, ~hopeless)), least[~hopeless]
            leading = itertools.compress(still, ~beaten(least, least))
            by_group: dict[int, list[tuple[int, str, int]]] = {}
            for offer, count in leading:
                of_group = by_group.setdefault(offer.group.place, [])
                of_group.append((offer.hardware.devices * count, offer.hardware.entry.id, count))
            # Between two known numbers of machines the bounds are close, so the middle comes first.
            ranked = list(map(sorted, by_group.values()))
            chosen = {each[1:] for same in ranked for each in (same[len(same) // 2], same[-1])}
            self._search(sorted(chosen))
            still = [each for each in still if (each[0].hardware.entry.id, each[1]) not in chosen]

    def _least(self, candidates: Sequence[tuple[Offer, int]]) -> Floats:
        """Return the least that candidates take, as rows of :class:`Rival`."""
        rows = np.array([offer.least(count) for offer, count in candidates])
        rows = rows.reshape(-1, len(Rival._fields))
        groups = np.array([offer.group.place for offer, _ in candidates])
        known: dict[int, list[SampledOption]] = {}
        for option in self.options:
            if option.document.system in self._systems:
                _, group = self._systems[option.document.system]
                known.setdefault(group.place, []).append(option)
        for place in np.unique(groups):
            mine = np.flatnonzero(groups == place)
            rows[mine, SECONDS] = self._groups[place].least(rows[mine, ACCELERATORS], known.get(place, []))
        paid = np.array([offer.by_time for offer, _ in candidates])
        rows[paid, MONEY] *= rows[paid, SECONDS] / HOUR
        rows[:, SECONDS] += [offer.startup for offer, _ in candidates]
        return rows

    def _rival(self, option: SampledOption) -> Rival:
        ipu = self.context.catalog.system(option.document.system).machine.chip.kind is ChipKind.IPU
        return rival_of(option.alternative, option.document.accelerators, ipu=ipu)

    @property
    def term(self) -> float:
        """Term of options without a price. [s]"""
        return usual_term(self.request.assumptions, self.context.catalog)

    def _on_front(self) -> list[str]:
        front = fronts(weighing_of(self.options, self.request, self.term))
        return sorted({self.options[index].document.system for index in front})

    def _finer(self, system: str) -> list[int]:
        """Return the counts to try between a lattice point that misses and the next, which meets."""
        if self.context.catalog.system(system).machine.chip.kind is ChipKind.IPU:
            return []
        known = by_count(self.options, system)
        weighing = weighing_of(list(known.values()), self.request, self.term)
        meets = dict(zip(known, weighing.meets, strict=True))
        return [
            count
            for low, high in pairwise(known)
            if not meets[low] and meets[high]
            for count in between(low, high)
        ]

    def _search(self, wanted: Iterable[tuple[str, int]]) -> None:
        """Append an option for each system and count, or an entry of what was left out."""
        wanted = list(wanted)
        self.left_out = [each for each in self.left_out if (each.system, each.count) not in wanted]
        candidates = [self.candidate(system, count) for system, count in wanted]
        fresh: dict[Group, dict[int, Hardware]] = {}
        for candidate in candidates:
            machines = candidate.hardware.machines
            if machines not in candidate.group.findings:
                fresh.setdefault(candidate.group, {}).setdefault(machines, candidate.hardware)
        total, done = sum(len(by_machines) for by_machines in fresh.values()), 0
        for group, by_machines in fresh.items():
            decided: dict[int, PlanDecision | None] = {}
            for machines, hardware in by_machines.items():
                self._watch(done, total, hardware.entry.name)
                decided[machines] = self._decide(group, hardware)
                done += 1
            legal = {machines: decision for machines, decision in decided.items() if decision is not None}
            group.findings |= dict.fromkeys(decided)
            group.findings |= zip(legal, self._findings(group, list(legal.values())), strict=True)
        for candidate in candidates:
            hardware = candidate.hardware
            finding = candidate.group.findings[hardware.machines]
            if finding is None:
                self.left_out.append(
                    Omission(system=hardware.entry.id, count=hardware.count, reason="no_plan")
                )
                continue
            self.first = self.first or finding.plan
            self.options.append(self._option(candidate, finding))

    def _offer(self, system: str) -> Offer:
        if system not in self._offers:
            request, catalog, family = self.request, self.context.catalog, self.profile.family
            one = self.candidate(system, 1)
            kind, hour = one.hardware.entry.machine.chip.kind, (HOUR, np.array([HOUR]))
            option = sized_alternative(request, one.hardware, one.charges, hour, [], catalog, family)
            self._offers[system] = Offer(
                one.hardware,
                one.group,
                rival_of(option, one.hardware.devices, ipu=kind is ChipKind.IPU),
                by_time=not option.owned and not (option.outlay is not None and option.outlay.commitment),
                startup=catalog.reliability_defaults(kind).startup.si,
            )
        return self._offers[system]

    def candidate(self, system: str, count: int) -> Candidate:
        if system not in self._systems:
            smallest = self.context.hardware.system(system, 1)
            self._systems[system] = smallest, self._group(smallest)
        (smallest, group), warnings = self._systems[system], list[CheckWarning]()
        hardware = replace(smallest, count=count)
        charges = charges_of(
            hardware, self.request.assumptions, self.request.currency, self.context.catalog,
            self.profile.family, warnings,
        )  # fmt: skip
        return Candidate(group, hardware, charges, warnings)

    def _group(self, hardware: Hardware) -> Group:
        catalog, assumptions = self.context.catalog, self.request.assumptions
        assumed = reliability(
            catalog.reliability_defaults(hardware.entry.machine.chip.kind),
            assumptions,
            spot_interruptions(hardware, assumptions, catalog),
        )
        for group in self._groups:
            if group.reliability == assumed and _alike(group.hardware, hardware):
                return group
        software = self.request.software
        if software is not None:
            profile = self.context.software_profile(software)
            software = software if profile.kind == hardware.entry.machine.chip.kind.value else None
        system = SystemInput(id=hardware.entry.id, count=hardware.count)
        estimate_request = EstimateRequest(**{**self.request.asked, "software": software}, system=system)
        question = question_of(estimate_request, self.profile, hardware, self.context)
        group = Group(hardware, question, assumed, len(self._groups), self.context)
        self._groups.append(group)
        return group

    def _decide(self, group: Group, hardware: Hardware) -> PlanDecision | None:
        try:
            evaluator, known = group.evaluator, group.plans
            return choose(
                group.question, hardware, self.context, evaluator=evaluator, known=known, least=group.least_on
            )
        except AppError as error:
            # An error of one count alone: no plan divides it. Others concern the whole request.
            names = {entry.field for entry in error.errors}
            if not (isinstance(error, BadInput) and names and names <= {"plan", "workload.global_batch"}):
                raise
            self.refusal = error
            return None

    def _findings(self, group: Group, decisions: Sequence[PlanDecision]) -> list[TimedPlan]:
        # The estimate of an option states its plan.
        stated = [replace(decision, scenario=decision.scenario.of_stated_plan) for decision in decisions]
        timed = [TimedPlan(decision, group.reliability, self.context) for decision in stated]
        run_together(timed)
        for each in timed:
            each.family_error = timed[0].family_error
        return timed

    def _option(self, candidate: Candidate, timed: TimedPlan) -> SampledOption:
        """Return an option with its limit-dependent fields as they are without limits."""
        group, decision, catalog = candidate.group, timed.plan, self.context.catalog
        hardware = replace(candidate.hardware, idle_machines=decision.idle_machines)
        charges = candidate.charges and candidate.charges.of(hardware)
        run = timed.run if timed.fits else None
        entry, choice, currency = hardware.entry, decision.choice, self.request.currency
        plan = plan_input(decision)
        estimate: dict[str, JsonValue] = {**group.request_fields}
        workload = _as_stated(group.question.request.workload)
        estimate["workload"] = {**workload, "global_batch": decision.batch}
        estimate |= {"plan": _as_stated(plan), "system": {"id": entry.id, "count": hardware.count}}
        hourly = capex = None
        if charges is not None:
            hourly = quantity(charges.hourly, charges.hourly_samples, currency)
            capex = quantity(*charges.capital, currency) if charges.found.terms.owned else None
        time = None if run is None else (run.time.total, run.total_samples)
        alternative = sized_alternative(
            self.request,
            hardware,
            charges,
            time,
            self._codes(candidate, timed),
            catalog,
            self.profile.family,
            None if run is None else timed.time,
        )
        purchase = run_cost = None
        if alternative.purchase is not None:
            purchase = quantity(*alternative.purchase, currency)
        if alternative.run is not None:
            run_cost = quantity(*alternative.run, currency)
        document = SizingOption(
            id=f"{entry.id}-x{hardware.count}",
            system=entry.id,
            name=entry.name,
            count=hardware.count,
            machines=hardware.machines,
            idle_machines=hardware.idle_machines,
            accelerators=hardware.devices,
            chip=entry.machine.chip.id,
            fits=run is not None,
            plan=plan,
            global_batch=decision.batch,
            batch_searched=decision.batch_searched,
            software=decision.scenario.software.id,
            precision=decision.scenario.precision.value,
            memory_share=float(np.ravel(choice.memory.total)[0]) / memory_of(decision.scenario.chip),
            step_time=timed.figures.get("step_time_s"),
            time_to_train=None if run is None else timed.time,
            cost=run_cost,
            hourly=hourly,
            capex=capex,
            costs=OptionCosts(purchase=purchase, run=run_cost),
            acquisition="own" if alternative.owned else "rent",
            term_years=None if charges is None else charges.found.lifetime,
            price=alternative.price,
            power=spread_quantity(system_power(hardware, 1.0, catalog, self.profile.family)),
            rack_units=entry.rack_units * hardware.count,
            probability=None,
            meets=run is not None,
            on_front=False,
            status=timed.status,
            warnings=list(alternative.doubts),
            estimate=estimate,
        )
        return SampledOption(document, alternative, time)

    def _codes(self, candidate: Candidate, timed: TimedPlan) -> list[str]:
        """Return the codes of the warnings that the option's own estimate carries."""
        found = timed.warnings(stated=True)
        if not timed.fits:
            return ["does_not_fit", *(warning.code for warning in found)]
        charges = candidate.charges
        term = None if charges is None or not charges.found.terms.owned else charges.found.lifetime * YEAR
        long = time_checks(timed.run.time.total, candidate.hardware, term, lambda: None)
        return [warning.code for warning in (*found, *candidate.warnings, *long)]


def sized_alternative(
    request: SizingRequest,
    hardware: Hardware,
    charges: Charges | None,
    time: Uncertain | None,
    codes: Sequence[str],
    catalog: Catalog,
    family: str | None,
    stated: Quantity | None = None,
) -> Alternative:
    """Return a system at one count as an option of a sizing's decision."""
    entry = hardware.entry
    return alternative_of(
        f"{entry.id}-x{hardware.count}",
        Message("{count} × {system}", {"count": hardware.count, "system": entry.name}),
        hardware,
        charges,
        time,
        assumptions=request.assumptions,
        catalog=catalog,
        family=family,
        named=request.systems is not None,
        doubts=tuple(dict.fromkeys(codes)),
        stated=stated,
    )


def sampled_options(
    options: Sequence[SizingOption],
    family: str,
    samples: Mapping[str, Floats],
    request: SizingRequest,
    context: SizingContext,
) -> list[SampledOption]:
    """Return the options of a stored sizing at the prices of its request."""
    context = context.at_prices(request.assumptions)
    smallest: dict[str, Hardware] = {}
    sampled = []
    for option in options:
        if option.system not in smallest:
            smallest[option.system] = context.hardware.system(option.system, 1)
        hardware = replace(smallest[option.system], count=option.count, idle_machines=option.idle_machines)
        charges = charges_of(
            hardware, request.assumptions, request.currency, context.catalog, family or None, []
        )
        time = None
        if option.time_to_train is not None and option.id in samples:
            time = option.time_to_train.value, samples[option.id]
        alternative = sized_alternative(
            request, hardware, charges, time, option.warnings, context.catalog, family or None,
            option.time_to_train,
        )  # fmt: skip
        sampled.append(SampledOption(option, alternative, time))
    return sampled


def _as_stated(part: PlanInput | WorkloadInput) -> dict[str, JsonValue]:
    return part.model_dump(mode="json", exclude_none=True, exclude_defaults=True)


GPU_FIELDS = ("interleave", "sharding_ranks", "context")

IPU_FIELDS = ("rts", "rts_optimizer", "phases")


def plan_input(decision: PlanDecision) -> PlanInput:
    """Return the chosen plan in the form of a request."""
    scenario = decision.scenario
    plans, is_ipu = as_stated(decision.choice.plans), scenario.is_ipu
    others = IPU_FIELDS if is_ipu else GPU_FIELDS
    whole = ("tensor", "pipeline", "data", "micro_batch", "accumulation", *others)
    values: dict[str, Any] = {name: int(np.ravel(getattr(plans, name))[0]) for name in whole}
    recompute = float(np.ravel(plans.recompute)[0])
    values["recompute"] = recompute_name(recompute)
    values["recompute_layers"] = recomputed_layers(recompute, scenario.table.depth)
    values |= offloaded(float(np.ravel(plans.offload)[0]))
    if not is_ipu:
        values["sequence_parallel"] = bool(np.ravel(plans.sequence_parallel)[0] > 0)
        values["sharding"] = sharding_name(float(np.ravel(plans.sharding)[0]))
    return PlanInput.model_construct(**values)


def lattice(entry: SystemEntry, most: int) -> list[int]:
    """Return the counts of a system to consider, in ascending order.

    IPU systems are sold and partitioned by powers of two; nodes by powers of two and in units of twenty.
    For pods of several nodes, powers of two of pods are included too. One order on demand limits what is
    rented.
    """
    counts = range(1, min(most // entry.devices, entry.most_rented or most) + 1)
    if entry.machine.chip.kind is ChipKind.IPU:
        return [count for count in counts if is_power_of_two(count)]
    return [
        count
        for count in counts
        if is_power_of_two(count)
        or is_power_of_two(count * entry.machines)
        or count * entry.machines % SCALABLE_UNIT == 0
    ]


def is_power_of_two(number: int) -> bool:
    return number & (number - 1) == 0


def between(low: int, high: int) -> list[int]:
    """Return a few evenly dividing counts between two."""
    step = 1 << max(((high - low) // TRIED_BETWEEN).bit_length() - 1, 0)
    first = (low // step + 1) * step
    return list(range(first, high, step))


def _alike(hardware: Hardware, other: Hardware) -> bool:
    """Tell whether two systems have the same chip, node, host memory and fabric.

    Host memory matters because an offloaded optimizer must fit, and take equally long, on both.
    """
    if (
        hardware.entry.machine.chip.id != other.entry.machine.chip.id
        or hardware.entry.machine.devices != other.entry.machine.devices
    ):
        return False
    mine, theirs = hardware.engine, other.engine
    if isinstance(mine, IpuChip) or isinstance(theirs, IpuChip):
        return True
    pairs = [
        (mine.host_memory, theirs.host_memory),
        (mine.host_memory_bandwidth, theirs.host_memory_bandwidth),
    ]
    pairs += [
        (getattr(own, entry.name), getattr(others, entry.name))
        for own, others in ((mine.machine, theirs.machine), (mine.fabric, theirs.fabric))
        for entry in fields(own)
        if entry.name != "name"
    ]
    return all(np.array_equal(value, another) for value, another in pairs)
