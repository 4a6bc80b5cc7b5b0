"""Whether the gain of an alternative over a reference is worth having, from measured runs."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from app.catalog.catalog import Catalog
from app.errors import BadInput
from app.estimating.documents import CheckWarning, caution
from app.estimating.hardware import known_id
from app.estimating.ranges import significant
from app.features.calibration.model import GainAnswer, GainOption, GainRequest

FEW_RUNS = 3
"""Runs below which the scatter is not well known."""


def measured_gain(request: GainRequest, catalog: Catalog, identifier: str) -> GainAnswer:
    """Return the gain of the fastest alternative over the reference, and which of them to take.

    The deviation of the gain is that of a ratio of two independent means (JCGM 100:2008, 5.1.2).
    """
    system = request.system if isinstance(request.system, str) else request.system.id
    field = "system" if isinstance(request.system, str) else "system.id"
    known_id(catalog, "system", system, field)
    if request.reference not in request.runs:
        raise BadInput.at(
            "reference",
            "no runs are labelled “{reference}”; choose one of {labels}",
            reference=request.reference,
            labels=", ".join(request.runs),
        )
    for label in request.runs:
        if not 1 <= len(label) <= 100:
            raise BadInput.at("runs", "a label must have 1 to 100 characters")
    base = float(np.mean(request.runs[request.reference]))
    options = [gain_option(label, runs, base) for label, runs in request.runs.items()]
    reference = next(option for option in options if option.label == request.reference)
    best = max((option for option in options if option is not reference), key=lambda option: option.mean)
    deviation = gain_deviation(best, reference)
    worth = best.gain >= request.threshold
    return GainAnswer(
        id=identifier,
        name=request.label or " · ".join(request.runs),
        system=system,
        reference=reference.label,
        threshold=request.threshold,
        relative_gain=best.gain,
        gain_deviation=deviation,
        recommendation=best.label if worth else reference.label,
        options=options,
        warnings=gain_warnings(best, reference, deviation, request.threshold),
    )


def gain_option(label: str, runs: Sequence[float], base: float) -> GainOption:
    """Return runs with their mean, their scatter and their gain over a mean."""
    return GainOption(
        label=label,
        runs=list(runs),
        mean=float(np.mean(runs)),
        deviation=float(np.std(runs, ddof=1)) if len(runs) > 1 else None,
        gain=float(np.mean(runs)) / base - 1.0,
    )


def gain_deviation(best: GainOption, reference: GainOption) -> float | None:
    """Return the standard deviation of a gain of means; None if one of them is a single run."""
    if best.deviation is None or reference.deviation is None:
        return None
    relative = [mean.deviation / mean.mean / math.sqrt(len(mean.runs)) for mean in (best, reference)]  # type: ignore[operator]
    return (1.0 + best.gain) * math.hypot(*relative)


def gain_warnings(
    best: GainOption, reference: GainOption, deviation: float | None, threshold: float, field: str = "runs"
) -> list[CheckWarning]:
    warnings = []
    few = [option.label for option in (reference, best) if len(option.runs) < FEW_RUNS]
    if few:
        warnings.append(
            caution(
                "gain_few_runs",
                [f"{field}.{name}" for name in few],
                "fewer than {least} runs of {labels}: their scatter is not well known",
                least=FEW_RUNS,
                labels=", ".join(few),
            )
        )
    if deviation is None:
        return warnings
    scatter = max(option.deviation / option.mean for option in (best, reference))  # type: ignore[operator]
    gain = significant(100 * best.gain, 2)
    if scatter > abs(best.gain):
        warnings.append(
            caution(
                "gain_within_scatter",
                field,
                "runs of the same kind differ by {scatter} %, more than the gain of {gain} %",
                scatter=significant(100 * scatter, 2),
                gain=gain,
            )
        )
    if abs(best.gain - threshold) < 2.0 * deviation:
        warnings.append(
            caution(
                "gain_near_threshold",
                (field, "threshold"),
                "the gain of {gain} % is too close to the threshold of {threshold} % to call; measure more "
                "runs",
                gain=gain,
                threshold=significant(100 * threshold, 2),
            )
        )
    return warnings
