"""Modelled and measured gains of one network over another, and software fitted to measured runs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from app.engine.comparison import relative_gain, student_t_probability, welch_degrees
from app.engine.uncertainty import probability_below
from app.errors import AppError, FieldError
from app.estimating.calibrated import NOISE
from app.estimating.context import SizingContext
from app.estimating.documents import PlanSummary
from app.estimating.estimate import Answer
from app.estimating.ranges import quantity
from app.estimating.request import PlanInput
from app.estimating.runtime import Run
from app.estimating.schema import Quantity
from app.estimating.summaries import plan_summary
from app.features.calibration.fitting import calibrate
from app.features.calibration.gain import gain_deviation
from app.features.calibration.model import (
    MOST_RUNS,
    CalibrationAnswer,
    CalibrationRequest,
    CalibrationRun,
    GainOption,
    RunSystem,
)
from app.features.networks.options import ONE_SIDED
from app.features.networks.timing import NetworkTiming

CALIBRATED = "measured-on-networks"
"""Identifier of the fitted profile, which exists for one answer only."""

SPAN = 12.0
"""Standard errors on either side between which the ends of a measured gain are interpolated."""

FINELY = 4801

MANY_DEGREES = 1000


@dataclass(frozen=True, slots=True)
class NetworkGain:
    """Throughput of one network over that of another, minus one."""

    quantity: Quantity
    probability_real: float
    """Probability that it is above zero."""
    probability_above: float
    """Probability that the gain is above the threshold."""
    measured: bool


def modelled_gain(run: Run, reference: Run, threshold: float) -> NetworkGain:
    """Return the gain of one run over another from their paired samples.

    Errors that both networks share cancel.
    """
    central = float(relative_gain(reference.time.training, run.time.training))
    samples = relative_gain(reference.training_samples, run.training_samples)
    real, above = (1.0 - float(probability_below(samples, limit)) for limit in (0.0, threshold))
    return NetworkGain(quantity(central, samples, "1"), real, above, measured=False)


def measured_gain(runs: GainOption, reference: GainOption, noise: float, threshold: float) -> NetworkGain:
    """Return the gain between the means of measured runs, with Student's t distribution.

    A single run has the usual log-deviation of repeated runs, ``noise``.
    """
    gain = runs.mean / reference.mean - 1.0
    deviation = gain_deviation(
        runs.model_copy(update={"gain": gain}), reference.model_copy(update={"gain": 0.0})
    )
    if deviation is None:
        deviation = (1.0 + gain) * math.hypot(mean_error(runs, noise), mean_error(reference, noise))
        degrees = MANY_DEGREES
    else:
        errors = mean_error(runs, 0.0), mean_error(reference, 0.0)
        degrees = max(int(welch_degrees(*errors, len(runs.runs), len(reference.runs))), 1)

    def probability_above(limit: float) -> float:
        if deviation == 0:
            return float(gain > limit)
        return float(student_t_probability((gain - limit) / deviation, degrees))

    places = np.linspace(-SPAN, SPAN, FINELY)
    low, high = np.interp((0.1, 0.9), student_t_probability(places, degrees), places).tolist()
    return NetworkGain(
        Quantity(value=gain, low=gain + low * deviation, high=gain + high * deviation, unit="1"),
        probability_above(0.0),
        probability_above(threshold),
        measured=True,
    )


def noise_of(context: SizingContext) -> float:
    """Return the log-deviation of repeated runs of one configuration."""
    return context.residuals[NOISE]


def mean_error(runs: GainOption, noise: float) -> float:
    """Return the log-deviation of the mean; for a single run, that of repeated runs."""
    return noise if runs.deviation is None else runs.deviation / runs.mean / math.sqrt(len(runs.runs))


def measured_throughput(runs: GainOption, noise: float) -> Quantity:
    """Return the mean with the 80 % range of single runs."""
    reach = ONE_SIDED * (noise * runs.mean if runs.deviation is None else runs.deviation)
    # The range may reach below zero, a throughput cannot: then the slowest run is the low end.
    low = runs.mean - reach if runs.mean > reach else min(runs.runs)
    return Quantity(value=runs.mean, low=low, high=runs.mean + reach, unit="samples/s")


def fitted_to_runs(
    answer: Answer, timings: Mapping[str, NetworkTiming], runs: Mapping[str, Sequence[float]]
) -> tuple[CalibrationAnswer, Answer] | None:
    """Return the calibration by runs on all networks and the answer with the fitted profile.

    None if nothing can be fitted.
    """
    # A calibration knows no oversubscribed network, so runs on one say nothing about the software.
    known = [name for name in runs if timings[name].network.oversubscription == 1.0]
    if not known:
        return None
    most = max(MOST_RUNS // len(known), 1)
    listed = [(name, rate) for name in known[:MOST_RUNS] for rate in runs[name][:most]]
    systems, plans = {}, {}
    for name in known:
        timing = timings[name]
        systems[name] = RunSystem(fabric=timing.network.fabric, ports_per_node=timing.network.ports)
        plans[name] = plan_input(plan_summary(timing.decision, timing.plans))
    measured_runs = [
        CalibrationRun(samples_per_s=rate, system=systems[name], plan=plans[name]) for name, rate in listed
    ]
    request, context = answer.request, answer.context
    try:
        fit = calibrate(CalibrationRequest(estimate=request, runs=measured_runs), context, CALIBRATED)
    except AppError as error:
        if any(entry.field == "estimate.software" for entry in error.errors):
            # The software is a calibration already.
            return None
        error.errors = tuple(_at_network(entry, [name for name, _ in listed]) for entry in error.errors)
        raise

    wider = replace(
        context,
        find_calibration=lambda name: fit.profile if name == CALIBRATED else context.find_calibration(name),
    )
    changed = request.model_copy(update={"software": CALIBRATED})
    return fit.answer, Answer(changed, wider, remembered=False)


def _at_network(error: FieldError, names: Sequence[str]) -> FieldError:
    """Return an error of a calibration run as one of its network's runs."""
    head, _, rest = error.field.partition(".")
    number = rest.partition(".")[0]
    if head != "runs" or not number.isdigit():
        return error
    return FieldError(f"measured.{names[int(number)]}", error.message)


def plan_input(plan: PlanSummary) -> PlanInput:
    """Return the plan of an answer as a request for GPUs."""
    of_ipus = {"rts", "rts_optimizer", "phases"}
    return PlanInput(**{name: getattr(plan, name) for name in PlanInput.model_fields.keys() - of_ipus})
