"""The distance of an estimate from measured runs, and the measured runs of the same case."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from app.catalog.software import SoftwareProfile
from app.engine.records import Floats
from app.errors import Message
from app.estimating.basis import basis_error, basis_of, basis_sentence, chip_set, family_set
from app.estimating.context import SizingContext, default_software
from app.estimating.deciding import PlanDecision
from app.estimating.documents import CheckWarning, OutsideRun, Text, Validation
from app.estimating.nearest import SHOWN, UNTOLD, FamilyError, Status, family_error, nearest_runs
from app.estimating.ranges import quantity, significant
from app.estimating.runtime import Run
from app.estimating.schema import Quantity, filled
from app.estimating.validation.cases import THROUGHPUT, MeasurementCase
from app.estimating.workload import is_convolutional

ONE_IN = 5
"""One in so many measured runs may lie outside an 80 % range."""
ALIKE = 0.1
"""Relative difference in tokens per sample up to which samples count as the same."""
SAME_SIZE = 0.02
"""Relative difference in parameters up to which models of a family count as the same."""
OTHER_BATCH = 1.5
"""Ratio of global batches from which they count as different."""
WIDE_FORMATS = frozenset({"tf32", "fp32"})


def family_error_of(decision: PlanDecision, context: SizingContext) -> FamilyError | None:
    """Return the error of measured runs of the family on the chip with the software."""
    entry = decision.hardware.entry
    usual = default_software(
        decision.profile.family,
        is_convolutional(decision.scenario.table),
        entry.machine.chip.id,
        entry.machine.chip.kind,
        context.catalog,
        context.software,
    )
    return family_error(
        context.family_errors,
        context.runs,
        decision.scenario.software,
        family=decision.profile.family,
        chip=entry.machine.chip.id,
        usual=usual.profile,
    )


def gaps_of(decision: PlanDecision, context: SizingContext) -> Floats:
    """Return the distances of the measured runs from a case."""
    return context.runs.distances(
        decision.profile.family,
        decision.hardware.entry.machine.chip.id,
        int(decision.choice.plans.devices[0]),
        decision.profile.parameters,
        context.effects.architectures,
    )


def reach_of(decision: PlanDecision, context: SizingContext, gaps: Floats) -> float:
    """Return the distance of the nearest measured run of the family on the chip with the software."""
    software, chip = decision.scenario.software, decision.hardware.entry.machine.chip.id
    alike = context.runs.of_kind(software, family=decision.profile.family, chip=chip)
    return float(np.min(gaps[alike], initial=np.inf))


def measurable(decision: PlanDecision, run: Run) -> dict[str, Quantity]:
    """Return the ranges of an estimate by metric of measured runs."""
    training, batch = decision.training, float(decision.choice.plans.global_batch[0])
    step = run.step_samples
    ranges = {
        "samples_per_s": quantity(batch / run.step_seconds, batch / step, "samples/s"),
        "step_time_s": quantity(run.step_seconds, step, "s"),
        "time_to_train_min": quantity(run.time.total / 60.0, run.total_samples / 60.0, "min"),
    }
    if training.tokens is not None:
        tokens = batch * training.tokens.mean
        ranges["tokens_per_s"] = quantity(tokens / run.step_seconds, tokens / step, "tokens/s")
    return ranges


@dataclass(frozen=True, slots=True)
class SameRuns:
    """Measured runs of the same case, beside what is estimated."""

    compared: int = 0
    outside_count: int = 0
    contradicted: bool = False
    """Whether more of them lie outside the range than an 80 % range allows."""
    outside: Sequence[OutsideRun] = ()
    """Clearest run outside the range of each software."""


def same_work(decision: PlanDecision, context: SizingContext) -> list[MeasurementCase]:
    """Return the measured runs of the same model and work, however long."""
    chip, devices = decision.hardware.entry.machine.chip.id, int(decision.choice.plans.devices[0])
    return [
        case
        for case in context.measured_rows.cases(decision.profile.family, chip, devices)
        if _same_model(case, decision) and _same_work(case, decision)
    ]


def same_runs(
    decision: PlanDecision,
    context: SizingContext,
    cases: Sequence[MeasurementCase],
    figures: Mapping[str, Quantity],
) -> SameRuns:
    """Return how the measured runs of the same work lie beside the ranges of an estimate by metric."""
    software = decision.scenario.software
    same = {software.id} if software.calibration is None else {software.id, software.calibration.prior}
    compared = outside_count = own = own_outside = 0
    outside: dict[str, list[OutsideRun]] = {}
    by_length = decision.training.target is None
    for case in cases:
        timed = case.metric == "time_to_train_min" and by_length
        if case.metric not in figures or (timed and not _same_length(case, decision)):
            continue
        measured, figure = context.outcomes.get(case.id, UNTOLD).measured, figures[case.metric]
        if not measured or not figure.value:
            continue
        counts = software.presumed or case.profile in same
        compared += 1
        own += counts
        if figure.low <= measured <= figure.high:
            continue
        outside_count += 1
        case_profile = context.software.profiles.get(case.profile or "")
        other = (
            case_profile
            if case_profile is not None and case_profile.complete and case_profile.id not in same
            else None
        )
        reasons = _reasons(case, decision, other)
        own_outside += counts and "global_batch" not in reasons
        run = filled(
            OutsideRun,
            case,
            profile=other.id if other else None,
            title=other.title if other else "",
            measured=measured,
            range=figure,
            reasons=reasons,
        )
        outside.setdefault(case.profile or "", []).append(run)
    # A run with fewer differences tells more about its software.
    clearest = sorted((min(runs, key=_telling) for runs in outside.values()), key=_telling)
    return SameRuns(compared, outside_count, ONE_IN * own_outside > own, clearest[:SHOWN])


def validation_of_step(
    decision: PlanDecision,
    context: SizingContext,
    regimes: list[str],
    gaps: Floats,
    error: FamilyError | None,
    status: Status,
) -> Validation:
    """Return the validation of a plan from the error of its family, without measured runs of its case."""
    software, family = decision.scenario.software, decision.profile.family
    chip = decision.hardware.entry.machine.chip.id
    basis = basis_of(context.runs, gaps, software, regimes, family=family, chip=chip)
    left_out = basis_error(basis, context.left_out, family_set(family), chip_set(chip, context.measured))
    if left_out is not None and error is not None and basis != "data_sheet":
        # One accuracy for an estimate: that of the runs closest to it.
        left_out = left_out.model_copy(
            update={name: getattr(error, name) for name in ("runs", "groups", "median", "ninetieth")}
        )
    sentence = basis_sentence(basis, left_out, software)
    return Validation(
        nearest_measured=nearest_runs(context.runs, context.outcomes, gaps, chip),
        family_error=None if left_out is None else left_out.median,
        status=status,
        basis=basis,
        basis_text=None if sentence is None else Text.of(sentence),
        basis_error=left_out,
        software_presumed=software.presumed,
    )


def _same_model(case: MeasurementCase, decision: PlanDecision) -> bool:
    profile = decision.profile
    if case.preset is not None and case.preset == profile.id:
        return True
    if case.parameters is None or not profile.parameters:
        return False
    return abs(case.parameters / profile.parameters - 1.0) <= SAME_SIZE


def _same_work(case: MeasurementCase, decision: PlanDecision) -> bool:
    training, precision = decision.training, decision.scenario.precision.value
    if case.metric in THROUGHPUT and case.includes_evaluation:
        return False
    target = training.target.id if training.target else None
    if case.metric == "time_to_train_min" and case.completed.get("target") != target:
        return False
    if case.metric == "step_time_s" and case.global_batch != decision.batch:
        return False
    if case.seq_len is not None and case.seq_len != training.seq_len:
        return False
    if case.image_size is not None and case.image_size != training.image_size:
        return False
    if _format_width(case.precision) != _format_width(precision):
        return False
    if training.tokens is None or case.metric != "samples_per_s":
        return True
    tokens = case.completed.get("mean_tokens") or (case.seq_len or 0.0) / float(
        case.completed.get("packing", 1)
    )
    return abs(float(tokens) / training.tokens.mean - 1.0) <= ALIKE


def _format_width(precision: str) -> str:
    """Return the width of the numbers that products take.

    >>> _format_width("bf16") == _format_width("fp16.16"), _format_width("mxfp8"), _format_width("tf32")
    (True, '8', 'wide')
    """
    if precision in WIDE_FORMATS:
        return "wide"
    return next((width for width in ("8", "4") if precision.endswith(f"fp{width}")), "16")


def _same_length(case: MeasurementCase, decision: PlanDecision) -> bool:
    """Return whether a whole run trains on as many samples; False where it does not say on how many."""
    total = case.total or float(case.completed.get("total", 0.0))
    samples = decision.training.samples
    if not total or not samples:
        return False
    tokens = decision.training.tokens
    lengths = (1.0,) if tokens is None else (1.0, tokens.mean, float(case.seq_len or tokens.mean))
    return any(abs(total / length / samples - 1.0) <= ALIKE for length in lengths)


def _reasons(case: MeasurementCase, decision: PlanDecision, other: SoftwareProfile | None) -> list[Apart]:
    plans, batch = decision.choice.plans, case.global_batch
    reasons: dict[Apart, bool] = {
        "software": other is not None,
        "global_batch": batch is not None
        and max(batch / decision.batch, decision.batch / batch) >= OTHER_BATCH,
        "plan": (case.tensor, case.pipeline) != (plans.tensor[0], plans.pipeline[0])
        or case.micro_batch not in (None, float(plans.micro_batch[0]))
        or case.recompute not in (None, float(plans.recompute[0])),
    }
    return [reason for reason, differs in reasons.items() if differs]


def _telling(run: OutsideRun) -> tuple[bool, int, float, str]:
    far = abs(math.log(run.measured / run.range.value))
    return run.profile is None, len(run.reasons), -far, run.id


Apart = Literal["software", "global_batch", "plan"]
"""How a run differs from an estimate."""

UNITS = {
    "samples_per_s": "samples/s",
    "tokens_per_s": "tokens/s",
    "step_time_s": "s",
    "time_to_train_min": "min",
}
"""Unit of each metric of an estimate; a key of the translation catalogues."""

SENTENCES: Mapping[tuple[Apart, ...], str] = {
    ("software",): "software differs",
    ("software", "global_batch"): "software and batch size differ",
    ("software", "plan"): "software and plan differ",
    ("software", "global_batch", "plan"): "software, batch size and plan differ",
    ("global_batch",): "batch size differs",
    ("plan",): "plan differs",
    ("global_batch", "plan"): "batch size and plan differ",
}
"""Wording of the differences."""


def outside_checks(same: SameRuns) -> Iterator[CheckWarning]:
    """Yield the warning of measured runs of the same case outside the range."""
    if not same.outside:
        return
    first = same.outside[0]
    values: dict[str, object] = {
        "outside": same.outside_count,
        "compared": same.compared,
        "measured": significant(first.measured),
        "unit": Message(UNITS[first.metric]),
        "low": significant(first.range.low),
        "high": significant(first.range.high),
    }
    if first.profile:
        values["profile"] = first.profile
    if first.reasons:
        values["reasons"] = Message(SENTENCES[tuple(first.reasons)])
    if first.profile:
        template = (
            "{outside} of {compared} measured runs of this model on the same number of accelerators are "
            "outside the range: {measured} {unit} with {profile}, where {low} to {high} is estimated "
            "({reasons})"
        )
    elif first.reasons:
        template = (
            "{outside} of {compared} measured runs of this model on the same number of accelerators are "
            "outside the range: {measured} {unit}, where {low} to {high} is estimated ({reasons})"
        )
    else:
        template = (
            "{outside} of {compared} measured runs of this model on the same number of accelerators are "
            "outside the range: {measured} {unit}, where {low} to {high} is estimated; the range is an 80 % "
            "interval"
        )
    yield CheckWarning.of(
        "measured_run_outside_range",
        "caution" if same.contradicted else "info",
        Message(template, values),
        *(first.reasons or ["software"]),
    )
