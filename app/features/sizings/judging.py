"""Options under a deadline and a budget: which meet them, and which changes would help if none does."""

from __future__ import annotations

import math
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.engine.comparison import pareto_front
from app.engine.records import Floats
from app.errors import Message
from app.estimating.documents import Text
from app.estimating.ranges import duration, money, significant
from app.features.sizings.model import BudgetKind, LimitChange, Nearest, SizingOption, SizingRequest
from app.features.sizings.words import paid, priced

Samples = tuple[Floats, Floats, Floats]
"""Time to train, cost of the run and purchase of one option. [s] [currency] [currency]"""

STORED = np.dtype("<f4")
"""Type of stored samples: seven digits, infinite for an unknown cost."""


def stored_samples(samples: Mapping[str, Samples]) -> dict[str, str]:
    return {
        option: b64encode(np.stack(parts).astype(STORED).tobytes()).decode("ascii")
        for option, parts in samples.items()
    }


def samples_of(stored: Mapping[str, object]) -> dict[str, Samples]:
    """Return stored samples as arrays; anything but text is left out."""
    samples: dict[str, Samples] = {}
    for option, text in stored.items():
        if isinstance(text, str):
            seconds, run, purchase = np.frombuffer(b64decode(text), STORED).astype(float).reshape(3, -1)
            samples[option] = seconds, run, purchase
    return samples


@dataclass(frozen=True, slots=True)
class SampledOption:
    """The document of an option with its samples."""

    document: SizingOption
    seconds_samples: Floats
    run_samples: Floats
    purchase_samples: Floats

    @property
    def seconds(self) -> float:
        """Time to train; infinite where the model does not fit. [s]"""
        time = self.document.time_to_train
        return math.inf if time is None else time.value

    def money(self, kind: BudgetKind) -> tuple[float, Floats]:
        """Return one kind of cost, central and as samples; infinite if unknown. [currency]"""
        costs = self.document.costs
        central = getattr(costs, kind)
        if central is None or not self.document.fits:
            return math.inf, np.full_like(self.seconds_samples, np.inf)
        if kind == "purchase":
            return central.value, self.purchase_samples
        if kind == "run":
            return central.value, self.run_samples
        # In every sample an hour costs the same during the run and the term.
        assert costs.run is not None, "an option with a cost over the term that fits has one of the run"
        hourly = self.run_samples / self.seconds_samples
        return central.value, hourly * self.seconds * (central.value / costs.run.value)


def sampled_option(document: SizingOption, samples: Samples | None) -> SampledOption:
    """Return an option with its samples, infinite if the model does not fit."""
    none = np.full(1, np.inf)
    return SampledOption(document, *(samples if samples is not None else (none, none, none)))


@dataclass(frozen=True, slots=True, eq=False)
class Verdict:
    """Result of options under the limits of a request; arrays have one entry per option."""

    request: SizingRequest
    options: Sequence[SampledOption]
    ranked_by: BudgetKind
    seconds: Floats
    costs: Floats
    """Costs of the kind by which options are ranked. [currency]"""
    probability: Floats
    in_time: Floats
    """Share of samples that meet the deadline."""
    in_budget: Floats
    """Share of samples that keep the budget."""
    meets: NDArray[np.bool_]
    front: NDArray[np.bool_]

    @property
    def by_time(self) -> bool:
        """Whether options are ranked by time, as they are if only a budget is given."""
        return self.request.deadline_s is None and self.request.budget is not None

    @property
    def cheapest(self) -> int | None:
        """Cheapest option that meets the limits; the fastest if no price is known."""
        return _least(self.meets, self.costs, self.seconds)

    @property
    def fastest(self) -> int | None:
        return _least(self.meets, self.seconds, self.costs)

    @property
    def nearest(self) -> int | None:
        """Option that fits with the highest probability, then with the least excess over the limits."""
        request, excess = self.request, np.ones_like(self.seconds)
        if request.deadline_s is not None:
            excess = np.maximum(excess, self.seconds / request.deadline_s)
        if request.budget is not None:
            amounts = np.array([option.money(budgeted_kind(option, request))[0] for option in self.options])
            excess = np.maximum(excess, amounts / request.budget)
        return _least(np.isfinite(self.seconds), -self.probability, excess, self.seconds)


def _least(chosen: NDArray[np.bool_], *values: Floats) -> int | None:
    """Return the chosen option with the least first value; the next values break ties."""
    indices = np.flatnonzero(chosen)
    if not indices.size:
        return None
    return int(indices[np.lexsort([column[indices] for column in reversed(values)])[0]])


def budgeted_kind(option: SampledOption, request: SizingRequest) -> BudgetKind:
    """Return the kind of an option's cost that the budget limits."""
    return request.budget_kind or ("purchase" if option.document.acquisition == "own" else "run")


def ranking(options: Sequence[SampledOption], request: SizingRequest) -> BudgetKind:
    """Return the kind of cost by which options are ranked.

    The requested kind; otherwise the kind that the budget limits, if it is the same for all options;
    otherwise the run, which owned and rented systems have in common.
    """
    if request.budget_kind is not None or request.budget is None:
        return request.budget_kind or "run"
    kinds = {budgeted_kind(option, request) for option in options}
    return kinds.pop() if len(kinds) == 1 else "run"


def judge(options: Sequence[SampledOption], request: SizingRequest) -> Verdict:
    """Judge options against deadline and budget.

    The probability is the share of samples in which the run meets both. An option without a known price is
    within no budget, and a rented one within no budget for a purchase.
    """
    seconds = np.array([option.seconds for option in options], dtype=float)
    ranked_by = ranking(options, request)
    costs = np.array([option.money(ranked_by)[0] for option in options], dtype=float)
    shares = np.array([_shares(option, request) for option in options], dtype=float).reshape(-1, 3)
    probability, in_time, in_budget = shares.T
    fits = np.isfinite(seconds)
    return Verdict(
        request=request,
        options=options,
        ranked_by=ranked_by,
        seconds=seconds,
        costs=costs,
        probability=probability,
        in_time=in_time,
        in_budget=in_budget,
        meets=fits & (probability >= request.probability) if request.limited else fits,
        front=pareto_front(seconds, costs),
    )


def _shares(option: SampledOption, request: SizingRequest) -> tuple[float, float, float]:
    """Return the share of samples that keep both limits, the deadline, and the budget."""
    in_time = in_budget = np.ones(1, dtype=bool)
    if request.deadline_s is not None:
        in_time = option.seconds_samples <= request.deadline_s
    if request.budget is not None:
        in_budget = option.money(budgeted_kind(option, request))[1] <= request.budget
    return float(np.mean(in_time & in_budget)), float(np.mean(in_time)), float(np.mean(in_budget))


WORK = ("tokens", "samples", "epochs")
"""Fields that say how long to train, to which the time is proportional."""

LIKELY = 0.5
"""Least probability that is suggested as a lower confidence."""

PAYS: Mapping[tuple[BudgetKind, str], str] = {
    ("purchase", "own"): "{cost} would buy {count} × {system}",
    ("run", "own"): "{cost} would pay for the run on {count} × {system} ({purchase})",
    ("run", "rent"): "{cost} would rent {count} × {system} for the run",
    ("term", "own"): "{cost} would buy and run {count} × {system} for {years} years",
    ("term", "rent"): "{cost} would rent {count} × {system} for {years} years",
}
"""What a budget pays for: kind and acquisition → sentence."""


def nearest_of(verdict: Verdict) -> Nearest:
    """Return the nearest option, and changes each of which alone would let an option meet the limits."""
    if verdict.nearest is None:
        return Nearest(option=None, changes=[_memory_change(verdict)])
    kinds = dict.fromkeys(budgeted_kind(option, verdict.request) for option in verdict.options)
    budgets = [change for kind in kinds if (change := least_budget(verdict, kind)) is not None]
    changes = [
        *_time_changes(verdict),
        *sorted(budgets, key=lambda change: change.value or 0.0),
        *_probability_changes(verdict),
    ]
    nearest = verdict.options[verdict.nearest]
    return Nearest(option=nearest.document.id, changes=changes or [_both_limits(nearest, verdict.request)])


def _name_values(option: SizingOption) -> dict[str, object]:
    return {"count": option.count, "system": option.name}


def _change(
    field: str,
    value: float | None,
    option: SizingOption,
    message: Message,
    kind: BudgetKind | None = None,
    also: dict[str, float] | None = None,
) -> LimitChange:
    text = Text.of(message)
    return LimitChange(field=field, value=value, also=also or {}, kind=kind, option=option.id, text=text)


def _time_changes(verdict: Verdict) -> list[LimitChange]:
    """Return the deadline that would suffice, and the share of the work done by the requested one."""
    request = verdict.request
    if request.deadline_s is None:
        return []
    deadlines = [_least_deadline(option, request) for option in verdict.options]
    index = int(np.argmin(deadlines))
    option, changes = verdict.options[index].document, []
    if math.isfinite(deadlines[index]):
        longer = _up(deadlines[index])
        text = Message(
            "with a deadline of {time}, {count} × {system} would be on time",
            {"time": duration(longer), **_name_values(option)},
        )
        changes.append(_change("deadline_s", longer, option, text))
    share = _down(request.deadline_s / deadlines[index])
    work = next((name for name in WORK if getattr(request.workload, name) is not None), None)
    if work is not None and 0 < share < 1:
        field, value = f"workload.{work}", getattr(request.workload, work) * share
        text = Message(
            "{count} × {system} would finish {share} % of the work ({field} {value}) on time",
            {"share": significant(100.0 * share), "field": field, "value": value, **_name_values(option)},
        )
        changes.append(_change(field, value, option, text))
    return changes


def _probability_changes(verdict: Verdict) -> list[LimitChange]:
    """Return the highest probability with which an option meets the limits, if it is likely enough."""
    probability = np.where(verdict.seconds < np.inf, verdict.probability, -1.0)
    index = int(np.argmax(probability))
    if probability[index] < LIKELY:
        return []
    option, share = verdict.options[index].document, math.floor(1000.0 * float(probability[index])) / 1000.0
    text = Message(
        "at a confidence of {share} % instead, {count} × {system} would be enough",
        {"share": significant(100.0 * share), **_name_values(option)},
    )
    return [_change("probability", share, option, text)]


def least_budget(verdict: Verdict, kind: BudgetKind) -> LimitChange | None:
    """Return the least budget of a kind with which an option meets the limits, and what it pays for."""
    request = verdict.request
    if request.budget is None:
        return None
    budgets = [
        enough_budget(option, request) if budgeted_kind(option, request) == kind else math.inf
        for option in verdict.options
    ]
    index = int(np.argmin(budgets))
    if not math.isfinite(budgets[index]):
        return None
    amount, option = _up(budgets[index]), verdict.options[index].document
    values = {
        "cost": money(amount, request.currency),
        **_name_values(option),
        "purchase": priced(option, "purchase"),
        "years": significant(option.term_years or 0.0),
    }
    return _change("budget", amount, option, Message(PAYS[kind, option.acquisition], values), kind)


def purchase_needed(verdict: Verdict) -> LimitChange | None:
    """Return the least budget that buys an option, if only rented ones keep the budget."""
    owned = [option.document.acquisition == "own" for option in verdict.options]
    if verdict.request.budget_kind is not None or np.any(verdict.meets & owned):
        return None
    return least_budget(verdict, "purchase")


PRICE_FIELDS = {"own": "assumptions.system_price", "rent": "assumptions.hourly_price"}
"""Acquisition → field that takes a price where none is published."""


def _both_limits(nearest: SampledOption, request: SizingRequest) -> LimitChange:
    """Return the deadline and budget that the nearest option meets together, if neither alone suffices."""
    option, kind = nearest.document, budgeted_kind(nearest, request)
    seconds, costs = nearest.seconds_samples, nearest.money(kind)[1]
    known = np.isfinite(costs)
    if not known.any():
        if kind == "purchase" and option.acquisition == "rent":
            text = Message(
                "{system} is rented, so a purchase budget does not apply; set budget_kind to run or term",
                {"system": option.name},
            )
            return _change("budget_kind", None, option, text)
        text = Message(
            "{system} has no published purchase price, so its cost is unknown; enter the system price from a "
            "quote"
            if option.acquisition == "own"
            else "{system} has no published rent, so its cost is unknown; enter the rent per hour from a "
            "quote",
            {"system": option.name},
        )
        return _change(PRICE_FIELDS[option.acquisition], None, option, text)
    longer = _up(least_limit(seconds, known, (1.0 + request.probability) / 2.0))
    amount = _up(least_limit(costs, seconds <= longer, request.probability))
    text = Message(
        "with a deadline of {time} and a budget of {cost}, {count} × {system} would be enough",
        {
            "time": duration(longer),
            "cost": paid(amount, request.currency, option, kind),
            **_name_values(option),
        },
    )
    return _change("deadline_s", longer, option, text, kind, {"budget": amount})


def _memory_change(verdict: Verdict) -> LimitChange:
    leanest = min((option.document for option in verdict.options), key=lambda option: option.memory_share)
    text = Message(
        "the model fits on no option: the leanest plan fills {share} % of a device on "
        "{count} × {system}; use more accelerators, a smaller model or shorter samples",
        {"share": significant(100.0 * leanest.memory_share), **_name_values(leanest)},
    )
    return _change("model", None, leanest, text)


def least_limit(values: Floats, allowed: NDArray[np.bool_], probability: float) -> float:
    """Return the least limit that enough of the allowed samples keep; infinite if too few are allowed."""
    needed = math.ceil(probability * values.size - 1e-9)
    ordered = np.sort(values[allowed])
    return float(ordered[needed - 1]) if 0 < needed <= ordered.size else math.inf


def enough_budget(option: SampledOption, request: SizingRequest) -> float:
    """Return the least budget that an option keeps with the requested probability. [currency]"""
    seconds, costs = option.seconds_samples, option.money(budgeted_kind(option, request))[1]
    in_time = np.isfinite(seconds) if request.deadline_s is None else seconds <= request.deadline_s
    return least_limit(costs, in_time, request.probability)


def _least_deadline(option: SampledOption, request: SizingRequest) -> float:
    """Return the least deadline that an option keeps, budget included, with the requested probability. [s]"""
    seconds, in_budget = option.seconds_samples, np.ones_like(option.seconds_samples, dtype=bool)
    if request.budget is not None:
        in_budget = option.money(budgeted_kind(option, request))[1] <= request.budget
    return least_limit(seconds, in_budget, request.probability)


def _up(value: float) -> float:
    """Round a limit up to three significant digits, so that it still suffices."""
    if not 0 < value < math.inf:
        return value
    unit = 10.0 ** (math.floor(math.log10(value)) - 2)
    return significant(math.ceil(value / unit - 1e-9) * unit, 6)


def _down(value: float) -> float:
    """Round a share down to two significant digits."""
    if not 0 < value < math.inf:
        return 0.0
    unit = 10.0 ** (math.floor(math.log10(value)) - 1)
    return significant(math.floor(value / unit) * unit, 6)
