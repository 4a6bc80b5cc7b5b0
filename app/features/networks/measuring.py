"""Measured runs per network: what they say instead of the model, and of the software."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from app.catalog.software import SoftwareProfile
from app.engine.comparison import student_t_probability, welch_degrees
from app.errors import AppError, FieldError
from app.estimating.calibrated import NOISE
from app.estimating.context import SizingContext
from app.estimating.documents import PlanSummary
from app.estimating.request import EstimateRequest, PlanInput
from app.estimating.schema import Quantity
from app.features.calibration.fitting import calibrate
from app.features.calibration.gain import gain_deviation, gain_option
from app.features.calibration.model import (
    MOST_RUNS,
    CalibrationAnswer,
    CalibrationRequest,
    CalibrationRun,
    GainOption,
    RunSystem,
)
from app.features.networks.options import ONE_SIDED, NetworkOption

CALIBRATED = "measured-on-networks"
"""Identifier of the profile that is fitted for the answer alone; nothing of it is kept."""

SPAN = 12.0
"""Standard errors on either side within which the ends of a measured gain are looked for."""

FINELY = 4801

MANY_DEGREES = 1000.0


@dataclass(frozen=True, slots=True)
class NetworkRuns:
    """Runs on one network."""

    option: GainOption

    @property
    def error(self) -> float | None:
        """Log-deviation of the mean; None for a single run."""
        if self.option.deviation is None:
            return None
        return self.option.deviation / self.option.mean / math.sqrt(len(self.option.runs))

    def throughput(self, noise: float) -> Quantity:
        """Return the mean with the range that single runs scatter over."""
        mean, deviation = self.option.mean, self.option.deviation
        reach = ONE_SIDED * (noise * mean if deviation is None else deviation)
        # Scatter may reach below zero, a throughput cannot: then the slowest run stands for the low end.
        low = mean - reach if mean > reach else min(self.option.runs)
        return Quantity(value=mean, low=low, high=mean + reach, unit="samples/s")


def measured_on(runs: Mapping[str, Sequence[float]]) -> dict[str, NetworkRuns]:
    """Return runs by network with their means and scatter."""
    return {name: NetworkRuns(gain_option(name, values, 1.0)) for name, values in runs.items()}


@dataclass(frozen=True, slots=True)
class MeasuredGain:
    """Gain of one mean over another, and how sure it is."""

    gain: float
    deviation: float
    degrees: int

    def probability_above(self, limit: float) -> float:
        """Return the probability that the true gain is above a limit."""
        if self.deviation == 0:
            return float(self.gain > limit)
        return float(student_t_probability((self.gain - limit) / self.deviation, self.degrees))

    @property
    def quantity(self) -> Quantity:
        """The gain with its 10th and 90th percentile."""
        places = np.linspace(-SPAN, SPAN, FINELY)
        low, high = np.interp((0.1, 0.9), student_t_probability(places, self.degrees), places)
        ends = (self.gain + float(end) * self.deviation for end in (low, high))
        return Quantity(value=self.gain, low=next(ends), high=next(ends), unit="1")


def measured_gain(option: NetworkRuns, reference: NetworkRuns, noise: float) -> MeasuredGain:
    """Return the gain of measured runs over others."""
    gain = option.option.mean / reference.option.mean - 1.0
    known = gain_deviation(
        option.option.model_copy(update={"gain": gain}), reference.option.model_copy(update={"gain": 0.0})
    )
    if known is not None:
        counts = [len(one.option.runs) for one in (option, reference)]
        degrees = welch_degrees(option.error or 0.0, reference.error or 0.0, *counts)
        return MeasuredGain(gain, known, max(int(degrees), 1))
    errors = [noise if one.error is None else one.error for one in (option, reference)]
    return MeasuredGain(gain, (1.0 + gain) * math.hypot(*errors), int(MANY_DEGREES))


def noise_of(context: SizingContext) -> float:
    """Return the log-deviation of repeated runs of one configuration."""
    return context.residuals[NOISE]


@dataclass(frozen=True, slots=True)
class SoftwareFit:
    """What measured runs say of the software."""

    answer: CalibrationAnswer
    profile: SoftwareProfile
    request: EstimateRequest
    """The estimate with the fitted profile."""
    context: SizingContext
    """Knows the fitted profile."""


def fitted_to(
    request: EstimateRequest,
    context: SizingContext,
    networks: Mapping[str, NetworkOption],
    runs: Mapping[str, Sequence[float]],
    plans: Mapping[str, PlanSummary],
) -> SoftwareFit | None:
    """Return the software profile that runs on all networks make; None where none can be fitted."""
    # A network of fewer uplinks than a calibration knows tells nothing of the software.
    known = [name for name in runs if networks[name].oversubscription == 1.0]
    if not known:
        return None
    most = max(MOST_RUNS // len(known), 1)
    asked = [
        CalibrationRun(
            samples_per_s=rate,
            system=RunSystem(fabric=networks[name].fabric, ports_per_node=networks[name].ports),
            plan=plan_input(plans[name]),
        )
        for name in known[:MOST_RUNS]
        for rate in runs[name][:most]
    ]
    own = [name for name in known for _ in runs[name][:most]]
    try:
        found = calibrate(CalibrationRequest(estimate=request, runs=asked), context, CALIBRATED)
    except AppError as error:
        if any(one.field == "estimate.software" for one in error.errors):
            # The software is a calibration already.
            return None
        error.errors = tuple(_placed(one, own) for one in error.errors)
        raise
    wider = replace(
        context,
        find_calibration=lambda name: found.profile if name == CALIBRATED else context.find_calibration(name),
    )
    return SoftwareFit(
        found.answer, found.profile, request.model_copy(update={"software": CALIBRATED}), wider
    )


def _placed(error: FieldError, names: Sequence[str]) -> FieldError:
    """Return an error at the runs of the network whose run it names."""
    head, _, rest = error.field.partition(".")
    number = rest.partition(".")[0]
    if head != "runs" or not number.isdigit():
        return error
    return FieldError(f"measured.{names[int(number)]}", error.message)


def plan_input(plan: PlanSummary) -> PlanInput:
    """Return the plan of an answer as it is asked for on GPUs."""
    fields = (
        *("tensor", "pipeline", "data", "micro_batch", "accumulation", "interleave", "recompute"),
        *("sequence_parallel", "sharding", "sharding_ranks", "expert", "offload"),
    )
    return PlanInput(**{name: getattr(plan, name) for name in fields})
