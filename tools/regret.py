"""Regret: what it would have cost to run the plan that the engine picks among plans that were measured."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from app.features.accuracy.agreement import ChainPoint, Ranking, point_of, ranked, repeat_deviation
from app.features.accuracy.predictions import GROUP_LEFT_OUT, IN_SAMPLE, Pattern, Prediction
from tools.markdown import percent, table, whole_percent

SETTING = (
    *("family", "model_name", "hidden", "layers", "heads", "seq_len", "image_size", "precision"),
    *("system", "accelerators", "nodes", "interconnect", "global_batch", "metric", "software"),
)
"""Columns of a measured row that two runs of a set have in common; they differ in their plans alone."""

KINDS = (IN_SAMPLE, GROUP_LEFT_OUT, "software_unknown")
ALIKE = 2e-4
"""Share by which predictions differ that are written with four decimals of a log-error."""
SMALL = 0.03
"""Regret up to which a pick counts as good as the best."""

REGRET = """## Regret of the plan search

A set holds runs of one model on the same devices with one software at one global batch that differ in their
plan alone; repeats of a plan count as one, at the mean of their logarithms. The engine picks the plan that it
predicts to be fastest, and of those it cannot tell apart the slowest. Its regret is the measured time of the
pick over that of the best plan, less one. Plans that were never run are in no set: a regret says how well
the measured ones are told apart, not how good the best of all plans is. Central times rank them here, without
the risk that a search weighs in. With its group left out or its software unknown a run is predicted from
figures that were fitted without it. Clear pairs differ by more than three repeat deviations."""


@dataclass(frozen=True, slots=True)
class PlanOutcome:
    plan: str
    runs: int
    measured: float
    """Throughput of one device, the geometric mean of the plan's runs."""
    predicted: float


@dataclass(frozen=True, slots=True)
class PlanSet:
    """Measured plans of one model on the same devices, with one software at one global batch."""

    model: str
    shape: str
    """Hidden size, layers and heads, where the rows state them."""
    software: str
    chip: str
    devices: int
    batch: float
    plans: tuple[PlanOutcome, ...]
    repeat_deviation: float
    """What repeats of a run differ by, as a logarithm."""

    @property
    def best(self) -> PlanOutcome:
        return max(self.plans, key=lambda plan: plan.measured)

    @property
    def pick(self) -> PlanOutcome:
        """The plan predicted to be fastest; of equal predictions, the slowest."""
        most = max(plan.predicted for plan in self.plans) * (1.0 - ALIKE)
        return min((plan for plan in self.plans if plan.predicted >= most), key=lambda plan: plan.measured)

    @property
    def regret(self) -> float:
        """Measured time of the pick over that of the best, less one."""
        return self.best.measured / self.pick.measured - 1.0


def plan_sets(
    predictions: Iterable[Prediction],
    configurations: Mapping[str, Mapping[str, str]],
    kind: str,
    repeats: Sequence[Pattern],
) -> list[PlanSet]:
    """Return the sets of two plans at least, those of most plans first."""
    members: dict[tuple[str, ...], list[Prediction]] = {}
    for run in predictions:
        if run.is_throughput and run.batch and run.error(kind) is not None:
            row = configurations[run.id]
            members.setdefault(tuple(row.get(name, "") for name in SETTING), []).append(run)
    sets = [
        _set(dict(zip(SETTING, setting, strict=True)), runs, kind, repeats)
        for setting, runs in members.items()
        if len({run.plan for run in runs}) > 1
    ]
    return sorted(
        sets,
        key=lambda plan_set: (
            -len(plan_set.plans),
            plan_set.model,
            plan_set.shape,
            plan_set.devices,
            plan_set.batch,
        ),
    )


def _set(
    setting: Mapping[str, str], members: Sequence[Prediction], kind: str, repeats: Sequence[Pattern]
) -> PlanSet:
    head = members[0]
    points = [point_of(run, kind, whole=True) for run in members]
    facts = {"software": head.software, "family": head.family, "metric": head.metric}
    size = [setting[name] for name in ("hidden", "layers", "heads")]
    return PlanSet(
        model=head.model,
        shape="×".join(size) if all(size) else "",
        software=head.software,
        chip=head.chip,
        devices=head.devices,
        batch=head.batch or math.nan,
        plans=tuple(
            _outcome(plan, [point for point in points if point.plan == plan])
            for plan in sorted({point.plan for point in points})
        ),
        repeat_deviation=repeat_deviation(points, facts, head.devices, repeats),
    )


def _outcome(plan: str, points: Sequence[ChainPoint]) -> PlanOutcome:
    return PlanOutcome(
        plan,
        len(points),
        math.exp(float(np.mean([math.log(point.measured) for point in points]))),
        math.exp(float(np.mean([math.log(point.predicted) for point in points]))),
    )


def pairs_of_plans(sets: Iterable[PlanSet]) -> Ranking:
    return ranked((plan_set.plans, plan_set.repeat_deviation) for plan_set in sets)


def regret_section(
    predictions: Sequence[Prediction],
    configurations: Mapping[str, Mapping[str, str]],
    repeats: Sequence[Pattern],
) -> str:
    by_kind = {kind: plan_sets(predictions, configurations, kind, repeats) for kind in KINDS}
    totals = table(
        (
            *("the fit knew", "sets:", "best picked:", f"regret up to {whole_percent(SMALL)}:"),
            *("mean regret:", "largest:", "clear pairs:", "in order:"),
        ),
        [_total(kind, sets) for kind, sets in by_kind.items() if sets],
    )
    every_set = table(
        (
            *("model", "software", "devices:", "batch:", "plans:", "runs:", "best measured", "pick"),
            *("regret:", "clear pairs:", "in order:"),
        ),
        map(_line, by_kind[IN_SAMPLE]),
    )
    return "\n\n".join((REGRET, totals, "Every set, in sample:", every_set))


def _total(kind: str, sets: Sequence[PlanSet]) -> list[str]:
    regrets = [plan_set.regret for plan_set in sets]
    pairs = pairs_of_plans(sets)
    return [
        kind.replace("_", " "),
        str(len(sets)),
        str(sum(plan_set.pick == plan_set.best for plan_set in sets)),
        str(sum(regret <= SMALL for regret in regrets)),
        percent(sum(regrets) / len(regrets)),
        percent(max(regrets)),
        str(pairs.pairs),
        whole_percent(pairs.share),
    ]


def _line(plan_set: PlanSet) -> list[str]:
    pairs = pairs_of_plans([plan_set])
    return [
        f"{plan_set.model}, {plan_set.shape}" if plan_set.shape else plan_set.model,
        plan_set.software,
        f"{plan_set.devices:,}",
        f"{plan_set.batch:,.0f}",
        str(len(plan_set.plans)),
        str(sum(plan.runs for plan in plan_set.plans)),
        plan_set.best.plan,
        "the same" if plan_set.pick == plan_set.best else plan_set.pick.plan,
        percent(plan_set.regret),
        str(pairs.pairs),
        str(pairs.right),
    ]
