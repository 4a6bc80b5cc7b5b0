"""Everything that is known of the networks once they are timed and priced."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from app.engine.records import Floats
from app.sizing.document import CheckWarning, Quantity
from app.sizing.fabric_choice.deciding import GainOver, NetworkAlternatives, NetworkVerdict, verdict
from app.sizing.fabric_choice.documents import NetworkPrice
from app.sizing.fabric_choice.measuring import SoftwareFit
from app.sizing.fabric_choice.options import NetworkOption
from app.sizing.fabric_choice.purchase import RunCost, cost_of_run
from app.sizing.fabric_choice.request import FabricChoiceRequest
from app.sizing.fabric_choice.spread import own_normals
from app.sizing.fabric_choice.timing import Cluster, Timed
from app.sizing.quantities import quantity


@dataclass(frozen=True, slots=True)
class Priced:
    """What a network comes to, measured where runs say so."""

    step: Quantity
    throughput: Quantity
    time: Quantity
    cost: RunCost | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """Networks timed, priced and judged."""

    request: FabricChoiceRequest
    cluster: Cluster
    field: NetworkAlternatives
    predicted: Mapping[str, Timed]
    """As predicted before measured runs were fitted."""
    fitted: SoftwareFit | None
    own: NetworkOption
    """Network of the estimate."""
    verdict: NetworkVerdict
    reference: str
    """Network that gains are stated over."""
    priced: Mapping[str, Priced]
    cost_warnings: tuple[CheckWarning, ...]

    @property
    def several(self) -> bool:
        """True where machines exchange anything over a network."""
        return self.cluster.hardware.machines > 1

    @property
    def base(self) -> Timed:
        """The workload on the network of the estimate, whose plan the terms are told apart with."""
        return self.field.timed[self.own.id]

    @property
    def pair(self) -> tuple[str, str] | None:
        """The cheaper and the dearer of the two networks of the advice; None where there is one."""
        found = self.verdict
        if found.against is None:
            return None
        return (found.against, found.taken) if found.worth else (found.taken, found.against)

    @property
    def gain(self) -> GainOver | None:
        """Gain of the dearer over the cheaper of the two; None on one machine or with one network."""
        pair = self.pair
        return None if pair is None or not self.several else self.field.over(pair[1], pair[0])

    @property
    def run_difference(self) -> Quantity | None:
        """Cost of the run on the network taken over that on the other. [currency]"""
        found = self.verdict
        if found.against is None:
            return None
        one, other = self.priced[found.taken].cost, self.priced[found.against].cost
        if one is None or other is None:
            return None
        return quantity(one.value - other.value, one.samples - other.samples, one.currency)

    def price(self, name: str) -> NetworkPrice | None:
        """Return the price of a network; None where nobody sells it by the switch."""
        bought = self.field.bought[name]
        return None if bought is None else bought.price


def weigh(
    request: FabricChoiceRequest,
    cluster: Cluster,
    field: NetworkAlternatives,
    predicted: Mapping[str, Timed],
    fitted: SoftwareFit | None,
    own: NetworkOption,
    named: NetworkOption | None,
) -> Evaluation:
    """Return networks judged and priced."""
    found = verdict(field, own.id, None if named is None else named.id)
    warnings: list[CheckWarning] = []
    priced = {name: _priced(cluster, field, one, warnings) for name, one in field.timed.items()}
    return Evaluation(
        request=request,
        cluster=cluster,
        field=field,
        predicted=predicted,
        fitted=fitted,
        own=own,
        verdict=found,
        # Without a reference that was named, gains are stated over the network taken.
        reference=found.taken if named is None else named.id,
        priced=priced,
        cost_warnings=tuple({one.code: one for one in warnings}.values()),
    )


def _priced(cluster: Cluster, field: NetworkAlternatives, one: Timed, warnings: list[CheckWarning]) -> Priced:
    run, name = one.run, one.network.id
    seconds, samples = run.total, run.total_samples
    step = quantity(run.step_seconds, run.step_samples, "s")
    rate = quantity(one.batch / run.step_seconds, one.batch / run.step_samples, "samples/s")
    if name in field.measured:
        rate = field.measured[name].throughput(field.noise)
        ends = (one.batch / rate.high, one.batch / rate.low)
        step = Quantity(value=one.batch / rate.value, low=ends[0], high=ends[1], unit="s")
        seconds = run.total * step.value / run.step_seconds
        samples = _measured_samples(cluster, field, one, seconds)
    cost = cost_of_run(cluster, one.network, field.bought[name], seconds, samples, warnings)
    return Priced(step, rate, quantity(seconds, samples, "s"), cost)


def _measured_samples(cluster: Cluster, field: NetworkAlternatives, one: Timed, seconds: float) -> Floats:
    """Return samples of the time of a run whose throughput was measured."""
    measured = field.measured[one.network.id]
    error = field.noise if measured.error is None else measured.error
    column = own_normals(cluster.context.catalog, one.network.fabric, "bandwidth", cluster.normals)
    return np.asarray(seconds * np.exp(error * column))
