"""The scaling curve of a system: time, cost and efficiency over counts, and where it stops paying."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from app.catalog.entries import ChipKind
from app.catalog.software import SoftwareProfile
from app.engine.comparison import scaling_knee
from app.engine.cost.hours import run_cost
from app.engine.plans import Plans
from app.engine.records import Floats
from app.engine.search.evaluate import GpuEvaluator
from app.errors import AppError, Message
from app.estimating.checks import model_checks, plan_checks, run_checks, validation_checks
from app.estimating.context import SizingContext, critical_batch_checks
from app.estimating.deciding import Decision, choose
from app.estimating.documents import CheckWarning
from app.estimating.nearest import Status, distance, outside_checks, runs_of_kind, status_of
from app.estimating.ranges import common_normals, own_column, quantity, residual_samples, scatter_of
from app.estimating.regimes import regimes
from app.estimating.runtime import Run, runs_of
from app.estimating.summaries import family_error_of, measurable, validation_summary
from app.features.sizings.candidates import Candidate, Candidates, Group, allowed, between
from app.features.sizings.judging import SizingLimits, judge
from app.features.sizings.model import BudgetKind, ScalingCurve, ScalingPoint, SizingRequest
from app.profiles.model import ModelProfile

TOGETHER = 64
"""Runs that one call of the engine computes; more take more memory and no less time."""

Key = tuple[int, int]


@dataclass(frozen=True, slots=True, eq=False)
class GroupFinding:
    """What a search found for so many machines of a group."""

    sizing: Decision
    run: Run | None
    """None where the model does not fit."""
    status: Status
    codes: tuple[str, ...]
    """Codes of the warnings that any system of the group carries."""


@dataclass(frozen=True, slots=True, eq=False)
class CandidateResult:
    """A candidate with what was found for it."""

    candidate: Candidate
    found: GroupFinding

    @property
    def fits(self) -> bool:
        """True where the model fits."""
        return self.found.run is not None

    @property
    def seconds(self) -> float:
        """Time to train; infinite where the model does not fit. [s]"""
        return self.found.run.total if self.found.run is not None else float("inf")

    @property
    def cost(self) -> float:
        """Cost of the run; infinite where it does not fit or has no price. [currency]"""
        return float(run_cost(self.candidate.hourly[0], self.seconds)) if self.fits else float("inf")

    @property
    def seconds_samples(self) -> Floats:
        """Samples of the time to train. [s]"""
        run = self.found.run
        return np.full_like(self.candidate.hourly[1], np.inf) if run is None else run.total_samples

    @property
    def cost_samples(self) -> Floats:
        """Samples of the cost of the run. [currency]"""
        return run_cost(self.candidate.hourly[1], self.seconds_samples)

    @property
    def owned(self) -> bool:
        """True where the system is bought."""
        return self.candidate.owned

    def money(self, kind: BudgetKind) -> tuple[float, Floats]:
        """Return one kind of cost, central and as samples; infinite where there is none. [currency]"""
        hourly, samples = self.candidate.hourly
        charges = self.candidate.charges
        unknown = float("inf"), np.full_like(samples, np.inf)
        if charges is None or not self.fits:
            return unknown
        if kind == "run":
            return self.cost, self.cost_samples
        if kind == "purchase":
            return charges.purchase or unknown
        return hourly * charges.term_hours, samples * charges.term_hours


class Searcher:
    """Searches plans for candidates and remembers them by hardware and number of machines."""

    def __init__(
        self,
        request: SizingRequest,
        profile: ModelProfile,
        context: SizingContext,
    ) -> None:
        self.request = request
        self.profile = profile
        self.context = context
        self._evaluators: dict[Group, GpuEvaluator] = {}
        self._found: dict[Key, GroupFinding | None] = {}
        self._distances: dict[tuple[str, str], Floats] = {}
        self.refusal: AppError | None = None
        """The last reason for which a count has no plan."""

    @property
    def searches(self) -> int:
        """Searches made so far."""
        return len(self._found)

    def options(self, candidates: Iterable[Candidate]) -> list[CandidateResult | None]:
        """Return the option of each candidate; None where no plan is legal."""
        wanted = list(candidates)
        fresh: dict[Group, dict[Key, Candidate]] = {}
        for candidate in wanted:
            if _key(candidate) not in self._found:
                fresh.setdefault(candidate.group, {}).setdefault(_key(candidate), candidate)
        for group, of_group in fresh.items():
            self._found |= dict.fromkeys(of_group)
            decided = {key: self._decide(candidate) for key, candidate in of_group.items()}
            sizings = {key: sizing for key, sizing in decided.items() if sizing is not None}
            self._found |= dict(zip(sizings, self._run(group, list(sizings.values())), strict=True))
        answers = ((candidate, self._found[_key(candidate)]) for candidate in wanted)
        return [None if found is None else CandidateResult(candidate, found) for candidate, found in answers]

    def _decide(self, candidate: Candidate) -> Decision | None:
        group = candidate.group
        question = group.question
        if group not in self._evaluators and not question.scenario.is_ipu:
            self._evaluators[group] = GpuEvaluator(question.scenario.gpu_case())
        evaluator = self._evaluators.get(group)
        try:
            return choose(question, candidate.hardware, self.context, evaluator=evaluator)
        except AppError as error:
            if not allowed(error):
                raise
            self.refusal = error
            return None

    def _run(self, group: Group, sizings: Sequence[Decision]) -> list[GroupFinding]:
        if not sizings:
            return []
        names = [self._regimes(sizing) for sizing in sizings]
        fitting = [place for place, sizing in enumerate(sizings) if sizing.choice.fits]
        runs: dict[int, Run] = {}
        for start in range(0, len(fitting), TOGETHER):
            part = fitting[start : start + TOGETHER]
            found = self._runs(group, [sizings[place] for place in part], [names[place] for place in part])
            runs |= dict(zip(part, found, strict=True))
        error = family_error_of(sizings[0], self.context)
        return [
            self._judged(group, sizing, runs.get(place), names[place], error)
            for place, sizing in enumerate(sizings)
        ]

    def _runs(self, group: Group, sizings: Sequence[Decision], names: Sequence[list[str]]) -> list[Run]:
        scenario, training = group.question.scenario, group.question.training
        normals = common_normals()
        plans = Plans.joined([sizing.choice.plans for sizing in sizings])
        factors = [
            residual_samples(
                regimes,
                self.context.residuals,
                normals,
                own_column(scenario.chip.name, sizing.choice.plans),
                scatter_of(scenario.software),
            )
            for sizing, regimes in zip(sizings, names, strict=True)
        ]
        runs = runs_of(
            scenario,
            plans,
            training,
            machines=np.array([float(sizing.machines_used) for sizing in sizings]),
            assumed=group.reliability,
            input_rate=self.request.assumptions.input_samples_per_second,
            factors=np.stack(factors),
            normals=normals,
            run_deviation=training.target.scatter if training.target else 0.0,
        )
        return [runs.one(place) for place in range(len(sizings))]

    def _batch_checks(self, sizing: Decision, run: Run) -> list[CheckWarning]:
        training = sizing.training
        if training.target is not None or training.tokens is None:
            return []
        per_sample = training.tokens.mean
        return critical_batch_checks(
            self.profile.family,
            float(self.profile.parameters),
            run.samples * per_sample,
            float(sizing.choice.plans.global_batch[0]) * per_sample,
            self.context.catalog,
        )

    def _nearest(self, chip: str, software: SoftwareProfile, devices: int) -> float:
        """Return the distance of the nearest measured run of the family on the chip with the software."""
        family, parameters, key = self.profile.family, self.profile.parameters, (chip, software.id)
        if key not in self._distances:
            runs = runs_of_kind(self.context.runs, software, family=family, chip=chip)
            # The distance is a sum, of which only one part depends on the devices of the option.
            at = ((distance(run, family, chip, run.devices, parameters), run.devices) for run in runs)
            self._distances[key] = np.array(list(at), dtype=float).reshape(-1, 2)
        others, counts = self._distances[key].T
        return float(np.min(others + np.abs(np.log(devices / counts)), initial=np.inf))

    def _regimes(self, sizing: Decision) -> list[str]:
        return regimes(sizing.scenario, sizing.choice.plans, self.profile.family, self.context.measured)

    def _judged(
        self, group: Group, sizing: Decision, run: Run | None, names: list[str], error: float | None
    ) -> GroupFinding:
        hardware, context = sizing.hardware, self.context
        devices = int(sizing.choice.plans.devices[0])
        nearest = self._nearest(hardware.entry.chip, sizing.scenario.software, devices)
        status, contradicted = status_of(names, nearest, error), False
        warnings = [
            *sizing.warnings,
            *plan_checks(sizing.scenario, sizing.choice, hardware, hardware.devices),
        ]
        if run is not None:
            warnings += run_checks(run, group.reliability, group.question.training)
            warnings += self._batch_checks(sizing, run)
            if context.measured_rows.cases(self.profile.family, hardware.entry.chip, devices):
                seen = validation_summary(sizing, context, names, measurable(sizing, run))
                status, contradicted = seen.status, seen.contradicted
                warnings += outside_checks(seen)
            warnings += validation_checks(status, error, hardware.entry.chip_kind, contradicted)
            warnings += model_checks(sizing.scenario)
        codes = [warning.code for warning in warnings] + ([] if run is not None else ["does_not_fit"])
        return GroupFinding(sizing=sizing, run=run, status=status, codes=tuple(dict.fromkeys(codes)))


def _key(candidate: Candidate) -> Key:
    return id(candidate.group), candidate.hardware.machines


@dataclass(slots=True)
class Exploration:
    """Options found, and candidates without a legal plan."""

    options: list[CandidateResult] = field(default_factory=list)
    impossible: list[Candidate] = field(default_factory=list)

    def of(self, system: str) -> dict[int, CandidateResult]:
        """Return the options of one system by count."""
        entries = (option for option in self.options if option.candidate.hardware.entry.id == system)
        return {option.candidate.hardware.count: option for option in entries}


class Explorer:
    """Explores the candidates of one request."""

    def __init__(self, candidates: Candidates, searcher: Searcher, limits: SizingLimits) -> None:
        self._candidates = candidates
        self._searcher = searcher
        self._limits = limits
        self.explored = Exploration()

    def explore(self, systems: Mapping[str, Sequence[int]], refine: bool) -> Exploration:
        """Search the lattice, then counts between one that misses and the next that meets."""
        self._search([self._candidates.candidate(name, count) for name in systems for count in systems[name]])
        if refine and self._limits.given:
            self._search([entry for name in self._on_front() for entry in self._finer(name, systems[name])])
        return self.explored

    def _on_front(self) -> list[str]:
        front = judge(self.explored.options, self._limits).front
        pairs = zip(self.explored.options, front, strict=True)
        return sorted({option.candidate.hardware.entry.id for option, on_front in pairs if on_front})

    def _search(self, candidates: Sequence[Candidate]) -> None:
        for candidate, option in zip(candidates, self._searcher.options(candidates), strict=True):
            if option is None:
                self.explored.impossible.append(candidate)
            else:
                self.explored.options.append(option)

    def _finer(self, system: str, counts: Sequence[int]) -> list[Candidate]:
        """Return candidates between a count of the lattice that misses and the next, which meets."""
        known = self.explored.of(system)
        meets = dict(zip(known, judge(list(known.values()), self._limits).meets, strict=True))
        entry = next(iter(known.values())).candidate.hardware.entry
        if entry.chip_kind is ChipKind.IPU:
            return []
        return [
            self._candidates.candidate(system, count)
            for low, high in pairwise(counts)
            if not meets.get(low, False) and meets.get(high, False)
            for count in between(low, high)
        ]


ADJUSTED = "batch_not_divisible"


def curve_of(
    options: Sequence[CandidateResult], impossible: Sequence[Candidate], currency: str
) -> ScalingCurve | None:
    """Return the scaling curve of one system; None where it holds the model at no count."""
    fitting = [option for option in options if option.fits]
    if not fitting:
        return None
    first = fitting[0]
    counts = np.array([float(option.candidate.hardware.count) for option in fitting])
    knee = scaling_knee(counts, np.array([option.seconds for option in fitting]))
    points = [_point(option, first, currency) for option in fitting]
    limit = batch_limit(options, impossible)
    entry = first.candidate.hardware.entry
    return ScalingCurve(
        system=entry.id,
        name=entry.name,
        points=points,
        knee=points[knee].count,
        knee_inside=knee < len(points) - 1,
        batch_limit=limit,
        warnings=[] if limit is None else [_limited(limit, entry.name, fitting[-1])],
    )


def batch_limit(options: Sequence[CandidateResult], impossible: Sequence[Candidate]) -> int | None:
    """Return the smallest count from which on the global batch divides over no count of the lattice."""
    without = {entry.hardware.count for entry in impossible}
    without |= {option.candidate.hardware.count for option in options if ADJUSTED in option.found.codes}
    within = {option.candidate.hardware.count for option in options} - without
    beyond = [count for count in without if count > max(within, default=0)]
    return min(beyond, default=None)


def _point(option: CandidateResult, first: CandidateResult, currency: str) -> ScalingPoint:
    hardware, reference = option.candidate.hardware, first.candidate.hardware
    run = option.found.run
    assert run is not None, "points of a curve fit"
    ratio = reference.count / hardware.count
    cost = None
    if option.candidate.charges is not None:
        cost = quantity(option.cost, option.cost_samples, currency)
    return ScalingPoint(
        count=hardware.count,
        accelerators=hardware.devices,
        time_to_train=quantity(run.total, run.total_samples, "s"),
        cost=cost,
        efficiency=quantity(
            first.seconds / run.total * ratio, first.seconds_samples / run.total_samples * ratio, "1"
        ),
        global_batch=int(option.found.sizing.choice.plans.global_batch[0]),
    )


def _limited(count: int, name: str, largest: CandidateResult) -> CheckWarning:
    return CheckWarning.of(
        "batch_limits_scaling",
        "caution",
        Message(
            "from {count} × {system} on, the global batch size of {batch} no longer divides "
            "over the accelerators: using more of them requires a larger batch",
            {
                "count": count,
                "system": name,
                "batch": int(largest.found.sizing.batch),
            },
        ),
        "workload.global_batch",
    )
