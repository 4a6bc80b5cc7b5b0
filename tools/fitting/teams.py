r"""What runs of ordinary teams take over tuned ones, by kind of stack: data/teams.csv.

The logarithm of a public run's time over the tuned time is taken as

.. math:: e = \ln f_k + \sqrt{\sigma_k^2 + \tau^2}\, t_4

with a factor and a deviation of its kind of stack, and what is uncertain of the tuned time itself,
:math:`\tau`. Both are the most probable values under wide priors; runs of one thread count once.

Reference: A. Gelman et al., "Bayesian data analysis," 3rd ed., CRC Press, 2013, chapter 5.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from app.estimating.context import SizingContext
from app.estimating.documents import Estimate
from app.estimating.effects import UNNAMED
from app.estimating.estimate import Answer
from app.estimating.expectation import KINDS, TeamTerm
from app.estimating.ranges import TAILS
from app.estimating.request import EstimateRequest
from app.estimating.validation.run import group_weights
from tools.fitting.least_squares import NINETIETH, Miss
from tools.fitting.runs import FitRun

FILE = "validation/public-cases.json"
EXPECTED, EXPECTED_WIDTH = math.log(1.3), 0.4
"""Factor expected of any kind: public runs are 1.3 to 1.7 times as slow as records. What the tuned time takes
longer for software that nobody names is part of it."""
USUAL, USUAL_WIDTH = 0.25, 0.35
"""Deviation expected of any kind, and the log-deviation of that."""
ASSUMED = "gpu_profile_assumed"
OTHER = 0.9
"""Log-error beyond which a public run did something else."""
FIGURES = 0.03
"""Log-deviation of the figures of a named stack, about that of measured rows."""
FACTORS = np.linspace(0.0, 1.6, 161)
"""Ordinary teams are not faster than published runs."""
DEVIATIONS = np.exp(np.linspace(math.log(0.05), math.log(1.0), 61))


@dataclass(frozen=True, slots=True)
class PublicRun:
    """A run that somebody reports in public, beside its tuned time."""

    id: str
    thread: str
    kind: str
    """Kind of stack; empty where the time of a tuned run stands alone."""
    named: bool
    error: float
    """ln(reported time / tuned time)."""
    own: float
    """Log-deviation of the tuned time."""
    unnamed: float
    """Of it, what the tuned time takes longer because no software is named, as a logarithm."""
    low: float
    """ln of the least tuned time over the tuned time."""
    inside: bool
    """Whether it lies in the range of its estimate as it stands."""
    width: float
    """High over low of that range."""
    regimes: tuple[str, ...]
    chip: str
    family: str


def public_runs(context: SizingContext, directory: Path) -> list[PublicRun]:
    """Return the times that are reported in public and can be estimated."""
    cases = json.loads((directory / FILE).read_text(encoding="utf-8"))
    return [_public_run(case, context) for case in cases]


def _public_run(case: Mapping[str, Any], context: SizingContext) -> PublicRun:
    request = EstimateRequest.model_validate(case["body"])
    answer = Answer(request, context)
    shown, timed = answer.document, answer.timed
    tuned, team = timed.tuned, timed.plan.scenario.team
    slower = 1.0 if case["metric"] in {"step", "h"} else -1.0
    truth = float(case["truth"]) * {"h": 3600.0, "tok/s/dev": float(timed.plan.choice.plans.devices[0])}.get(
        case["metric"], 1.0
    )
    name = {"step": "step_time_s", "h": "time_to_train_min", "img/s": "samples_per_s"}
    metric = name.get(case["metric"], "tokens_per_s")
    truth /= 60.0 if case["metric"] == "h" else 1.0
    figure, here = tuned.figures[metric], _shown(shown, metric)
    ends = [slower * math.log(end / figure.value) for end in (figure.low, figure.high)]
    return PublicRun(
        id=case["id"],
        thread=case["source"],
        kind="" if team is None else team.kind,
        named=request.software is not None,
        error=slower * math.log(truth / figure.value),
        own=(max(ends) - min(ends)) / (2.0 * NINETIETH),
        unnamed=sum(math.log(one.factor) for one in tuned.plan.scenario.effects if one.name == UNNAMED),
        low=min(ends),
        inside=here.low <= truth <= here.high,
        width=here.high / here.low,
        regimes=tuple(tuned.regimes),
        chip=timed.plan.hardware.entry.machine.chip.id,
        family=timed.plan.profile.family,
    )


def fit_teams(runs: Sequence[PublicRun]) -> dict[str, TeamTerm]:
    """Return factor and deviation of each kind of stack."""
    return {kind: fit_team(kind, [run for run in runs if run.kind == kind]) for kind in KINDS}


def fit_team(kind: Any, runs: Sequence[PublicRun]) -> TeamTerm:
    errors, own = np.array([run.error for run in runs]), np.array([run.own for run in runs])
    weights = group_weights([run.thread for run in runs])
    factor, deviation = np.meshgrid(FACTORS, DEVIATIONS, indexing="ij")
    degrees = float(len(TAILS))
    variance = np.square(deviation)[..., np.newaxis] + np.square(own)
    reduced = np.square(errors - factor[..., np.newaxis]) / ((degrees - 2.0) * variance)
    likelihood = (-0.5 * np.log(variance) - 0.5 * (degrees + 1.0) * np.log1p(reduced)) @ weights
    expected = EXPECTED - sum(run.unnamed for run in runs) / max(len(runs), 1)
    prior = -0.5 * np.square((factor - expected) / EXPECTED_WIDTH)
    prior -= 0.5 * np.square(np.log(deviation / USUAL) / USUAL_WIDTH)
    best = np.unravel_index(int(np.argmax(likelihood + prior)), factor.shape)
    value, width = float(np.exp(factor[best])), float(deviation[best])
    return TeamTerm(
        kind, float(f"{value:.3g}"), float(f"{width:.2g}"), len(runs), headline=kind != "plan_left_open"
    )


def misses_of(runs: Sequence[PublicRun]) -> list[Miss]:
    """Return public runs of named software without a fitted figure, as runs of strangers that ranges hold.

    A run that took far longer than computed did something else than it states.
    """
    return [
        Miss(
            FitRun(
                id=run.id,
                group=run.thread,
                family=run.family,
                chip=run.chip,
                profile="",
                devices=1,
                regimes=run.regimes,
                laboratory=run.thread,
                assumed=True,
                rests_on_runs=False,
                stack=(),
                keys=(),
                predict=lambda figures: np.zeros(1),
            ),
            -run.error,
            FIGURES**2,
        )
        for run in runs
        if run.named and not run.kind and ASSUMED in run.regimes and abs(run.error) < OTHER
    ]


def left_out_inside(runs: Sequence[PublicRun]) -> dict[str, bool]:
    """Return whether each run of a kind lies in the range of both times when its thread is left out."""
    inside = {}
    for run in runs:
        if not run.kind:
            inside[run.id] = run.inside
            continue
        others = [other for other in runs if other.kind == run.kind and other.thread != run.thread]
        team = fit_team(run.kind, others)
        reach = NINETIETH * math.hypot(team.deviation, run.own)
        middle = math.log(team.factor)
        inside[run.id] = min(run.low, middle - reach) <= run.error <= middle + reach
    return inside


def team_cells(runs: Sequence[PublicRun]) -> list[tuple[str, ...]]:
    """Return what the ranges hold of public runs, a heading first."""
    left_out = left_out_inside(runs)
    lines: list[tuple[str, ...]] = [("public runs", "runs", "inside", "left out", "high / low")]
    for name, chosen in (
        ("software named", [run for run in runs if run.named]),
        ("software unnamed", [run for run in runs if not run.named]),
        ("all", list(runs)),
    ):
        lines.append(
            (
                name,
                str(len(chosen)),
                f"{np.mean([run.inside for run in chosen]):.0%}",
                f"{np.mean([left_out[run.id] for run in chosen]):.0%}",
                f"{np.median([run.width for run in chosen]):.2f}",
            )
        )
    return lines


def teams_text(text: str, teams: Mapping[str, TeamTerm]) -> str:
    """Return data/teams.csv with fitted factors and deviations."""
    rows = list(csv.DictReader(io.StringIO(text)))
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    for row in rows:
        team = teams[row["kind"]]
        fitted = {"factor": f"{team.factor:g}", "deviation": f"{team.deviation:g}", "runs": str(team.runs)}
        writer.writerow(row | fitted)
    return out.getvalue()


def _shown(document: Estimate, metric: str) -> Any:
    figures = {
        "step_time_s": document.step_time,
        "samples_per_s": document.throughput,
        "tokens_per_s": document.tokens_per_second,
    }
    if metric in figures:
        return figures[metric]
    time = document.time_to_train
    assert time is not None
    return time.model_copy(update={"low": time.low / 60.0, "high": time.high / 60.0})
