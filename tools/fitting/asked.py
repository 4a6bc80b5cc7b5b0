r"""What language models take over the time of the usual stack, where an asker names no software.

The runs of language models are predicted as an asker meets them: by model, system, length, batch and format,
with the usual software, once with the plan of a search and once with their own. Published runs are slower in
the median, for their stacks are often others. The factor is the median of

.. math:: \ln (measured / computed)

over both, and a row of data/effects.csv; the deviation of ``gpu_software_unnamed`` holds what remains where
the plan is a search's. Chips with one stack alone have no such factor.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from pydantic import ValidationError

from app.engine.plans import Plans
from app.engine.records import IpuChip
from app.errors import AppError
from app.estimating.context import SizingContext
from app.estimating.deciding import decide
from app.estimating.effects import LANGUAGE_MODELS, ONE_STACK, UNNAMED, Effect
from app.estimating.regimes import regimes
from app.estimating.request import EstimateRequest
from app.estimating.scenario import Scenario
from app.estimating.validation.cases import (
    THROUGHPUT,
    MeasurementCase,
    UnsupportedCase,
    find_model,
    number,
    read_case,
    without_answers,
)
from app.estimating.validation.predict import build, conversion
from tools.fitting.least_squares import Miss, fit_residuals, half_width
from tools.fitting.runs import FitRun, laboratory_of

LARGEST = 1100
"""Devices up to which a run is searched anew."""
FIGURES = 0.03
"""Log-deviation of the figures of a stack, about that of measured rows."""
REGIME = "gpu_software_unnamed"


@dataclass(frozen=True, slots=True)
class AskedFit:
    effect: Effect
    deviation: float
    cells: tuple[tuple[str, ...], ...]
    """Errors with each laboratory left out of factor and deviation, a heading first."""


@dataclass(frozen=True, slots=True)
class AskedRun:
    """A run with the usual software, without the effect of that nobody named it."""

    searched: Miss
    """With the plan of a search."""
    stated: Miss
    """With the plan of the row."""

    @property
    def laboratory(self) -> str:
        return self.searched.run.laboratory


def asked_runs(rows: Sequence[Mapping[str, str]], context: SizingContext) -> list[AskedRun]:
    """Return a run of each group of language models; ``context`` has no effect of unnamed software."""
    by_group = {row["group"] or row["id"]: row for row in reversed(rows) if _counts(row)}
    found = (_asked(row, context) for _, row in sorted(by_group.items()))
    return [run for run in found if run is not None]


def _counts(row: Mapping[str, str]) -> bool:
    adapters = "lora" in row["model_name"].lower()
    return row["family"] in LANGUAGE_MODELS and row["metric"] in THROUGHPUT and not adapters


def _asked(row: Mapping[str, str], context: SizingContext) -> AskedRun | None:
    measured = number(row["value"])
    try:
        case = read_case(without_answers(row), context.rules)
        if not measured or case.profile is None or case.devices > LARGEST:
            return None
        model = find_model(case)
        named, _, stated = build(case, context, context.software.profile(case.profile))
        request = EstimateRequest.model_validate(
            {
                "model": {"preset": "gpt2-124m"},
                "workload": {
                    "tokens": 1e9,
                    "seq_len": case.seq_len,
                    "global_batch": int(stated.global_batch[0]),
                    "precision": case.precision,
                },
                "system": {"id": case.system, "count": case.nodes},
            }
        )
        decision = decide(request, model, context.hardware.system(case.system, case.nodes), context)
    except (UnsupportedCase, AppError, ValidationError):
        return None
    scenario, found = decision.scenario.tuned, decision.choice.plans
    if isinstance(scenario.hardware, IpuChip) or float(found.devices[0]) != case.devices:
        return None
    usual = replace(named, software=scenario.software, overrides={}, effects=scenario.effects)
    return AskedRun(
        _missed(case, scenario, found, measured, row, context),
        _missed(case, usual, stated, measured, row, context),
    )


def _missed(
    case: MeasurementCase,
    scenario: Scenario,
    plans: Plans,
    measured: float,
    row: Mapping[str, str],
    context: SizingContext,
) -> Miss:
    value = float(np.ravel(conversion(case, scenario, plans, context)(scenario.step(plans).total))[0])
    error = math.log(value / measured) * (1.0 if case.metric == "step_time_s" else -1.0)
    run = FitRun(
        id=case.id,
        group=case.group,
        family=case.family,
        chip=case.chip,
        profile=scenario.software.id,
        devices=case.devices,
        regimes=tuple(regimes(scenario, plans, case.family, context.measured)),
        laboratory=laboratory_of(row["source"]),
        assumed=False,
        rests_on_runs=True,
        stack=(),
        keys=(),
        predict=lambda figures: np.zeros(1),
    )
    return Miss(run, error, FIGURES**2)


def fit_asked(runs: Sequence[AskedRun], widths: Mapping[str, float]) -> AskedFit:
    """Return factor and deviation, and how far they miss with each laboratory left out."""
    shift, deviation = _fit(runs, widths)
    without = {
        laboratory: _fit([run for run in runs if run.laboratory != laboratory], widths)
        for laboratory in {run.laboratory for run in runs}
    }
    lines: list[tuple[str, ...]] = [("software unnamed", "runs", "median", "90 %", "in the band")]
    for name, missed in (
        ("plan of a search", [run.searched for run in runs]),
        ("plan of the run", [run.stated for run in runs]),
    ):
        errors = np.array(
            [abs(miss.error + _moved(miss, without[miss.run.laboratory][0])) for miss in missed]
        )
        reach = [half_width(miss, {**widths, REGIME: without[miss.run.laboratory][1]}) for miss in missed]
        shares = (np.median(errors), np.quantile(errors, 0.9), np.mean(errors <= np.array(reach)))
        lines.append((name, str(len(missed)), *(f"{share:.1%}" for share in shares)))
    note = f"{len(runs)} runs in {len(runs)} groups, with the plan of a search and with their own"
    effect = Effect("software", UNNAMED, float(f"{math.exp(shift):.3g}"), FIGURES, note)
    return AskedFit(effect, deviation, tuple(lines))


def _fit(runs: Sequence[AskedRun], widths: Mapping[str, float]) -> tuple[float, float]:
    missed = [miss for run in runs for miss in (run.searched, run.stated)]
    shift = -float(np.median([miss.error for miss in missed if _moved(miss, 1.0)]))
    # Askers leave the plan to the search, so that ranges hold the errors of such runs.
    moved = [replace(run.searched, error=run.searched.error + _moved(run.searched, shift)) for run in runs]
    return shift, fit_residuals(moved, widths, (REGIME,))[REGIME]


def _moved(miss: Miss, shift: float) -> float:
    """Return what unnamed software adds to the error of a run: nothing where a chip has only one stack."""
    return 0.0 if miss.run.chip.startswith(ONE_STACK) else shift
