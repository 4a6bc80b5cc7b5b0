"""The advice: which network to take, held against which, and what decides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from app.engine.gains import relative_gain, sufficient_rung
from app.engine.records import Floats
from app.engine.uncertainty import probability_below
from app.sizing.document import Quantity
from app.sizing.fabric_choice.measuring import NetworkRuns, measured_gain
from app.sizing.fabric_choice.options import NetworkOption
from app.sizing.fabric_choice.purchase import Purchase
from app.sizing.fabric_choice.timing import Timed
from app.sizing.quantities import quantity

UNKNOWN = float("inf")
FEWEST_MEASURED = 2
"""Networks with measured runs from which the advice rests on those alone."""


@dataclass(frozen=True, slots=True)
class GainOver:
    """Gain of one network over another."""

    gain: Quantity
    real: float
    """Probability that it is above zero."""
    above: float
    """Probability that it is above the threshold."""
    measured: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkAlternatives:
    """All networks with what they gain and cost."""

    timed: Mapping[str, Timed]
    """By identifier, in the order asked."""
    measured: Mapping[str, NetworkRuns]
    bought: Mapping[str, Purchase | None]
    threshold: float
    noise: float
    """Log-deviation of repeated runs."""

    def network(self, name: str) -> NetworkOption:
        """Return a network by its identifier."""
        return self.timed[name].network

    @property
    def cheapest_first(self) -> list[str]:
        """Identifiers by price; those nobody sells last, the faster of two as dear first."""
        order = list(self.timed)
        return sorted(order, key=lambda name: (self.dollars(name), self.timed[name].run.step_seconds))

    def dollars(self, name: str) -> float:
        """Return the price of a network; infinite where it is not known. [USD]"""
        bought = self.bought[name]
        if self.network(name).installed:
            return 0.0
        return UNKNOWN if bought is None else bought.dollars

    @property
    def contenders(self) -> list[str]:
        """Networks between which the advice chooses, the cheapest first: the measured where several are."""
        order = self.cheapest_first
        known = [name for name in order if name in self.measured]
        return known if len(known) >= FEWEST_MEASURED else order

    def seconds(self, name: str) -> float:
        """Return the time of one step that the advice goes by, measured where contenders are. [s]"""
        one = self.timed[name]
        if name in self.measured and len(self.measured) >= FEWEST_MEASURED:
            return one.batch / self.measured[name].option.mean
        return one.run.step_seconds

    def over(self, option: str, reference: str) -> GainOver:
        """Return the gain of one network over another, measured where both are.

        Samples are paired: whatever both networks share moves both alike and cancels.
        """
        if option in self.measured and reference in self.measured:
            found = measured_gain(self.measured[option], self.measured[reference], self.noise)
            return GainOver(
                found.quantity,
                found.probability_above(0.0),
                found.probability_above(self.threshold),
                measured=True,
            )
        one, base = self.timed[option].run, self.timed[reference].run
        central = float(relative_gain(base.step_seconds, one.step_seconds))
        return modelled(central, relative_gain(base.step_samples, one.step_samples), self.threshold)


def modelled(central: float, samples: Floats, threshold: float) -> GainOver:
    """Return a gain from its central value and its samples."""
    return GainOver(
        quantity(central, samples, "1"),
        1.0 - float(probability_below(samples, 0.0)),
        1.0 - float(probability_below(samples, threshold)),
        measured=False,
    )


@dataclass(frozen=True, slots=True)
class NetworkVerdict:
    """The network taken, and that it is held against."""

    taken: str
    against: str | None
    worth: bool
    """True where the network taken is the dearer one and worth it."""


def verdict(field: NetworkAlternatives, own: str, reference: str | None) -> NetworkVerdict:
    """Return which network to take.

    Without a reference it is the cheapest from which no dearer one gains the threshold. A reference that was
    named is taken unless another gains the threshold over it; then it is the cheapest of those that do, from
    which no dearer one gains it again.
    """
    order = field.contenders
    if reference is None or reference not in order:
        taken = _sufficient(field, order)
    else:
        # As the gain is stated, so that the sentence and the rule cannot disagree.
        better = [
            name
            for name in order
            if name != reference and field.over(name, reference).gain.value >= field.threshold
        ]
        taken = _sufficient(field, better) if better else reference
    return _held_against(field, taken, own, order, reference)


def _sufficient(field: NetworkAlternatives, order: Sequence[str]) -> str:
    seconds = np.array([field.seconds(name) for name in order])
    return order[int(sufficient_rung(seconds, field.threshold))]


def _held_against(
    field: NetworkAlternatives, taken: str, own: str, order: Sequence[str], reference: str | None
) -> NetworkVerdict:
    place = order.index(taken)
    dearer, cheaper = order[place + 1 :], order[:place]
    if dearer and reference in (None, taken):
        fastest = min(dearer, key=field.seconds)
        return NetworkVerdict(taken, own if own in dearer else fastest, worth=False)
    if reference is not None and reference != taken:
        return NetworkVerdict(taken, reference, worth=True)
    if cheaper:
        fastest = min(cheaper, key=field.seconds)
        # A reference that was named stands although a cheaper network may be enough.
        return NetworkVerdict(taken, fastest, worth=field.over(taken, fastest).gain.value >= field.threshold)
    return NetworkVerdict(taken, None, worth=False)
