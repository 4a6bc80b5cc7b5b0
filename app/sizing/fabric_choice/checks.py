"""What has to be known to read a choice of networks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from app.engine.gains import relative_gain
from app.errors import Message
from app.sizing.document import CheckWarning, Quantity
from app.sizing.fabric_choice.evaluation import Evaluation
from app.sizing.fabric_choice.known_runs import validation_of_fabric
from app.sizing.fabric_choice.options import NetworkOption
from app.sizing.fabric_choice.sentences import percent
from app.sizing.fabric_choice.trees import built_oversubscription
from app.sizing.gain import gain_deviation, gain_warnings
from app.sizing.quantities import chance, money, quantity

UNSURE = (0.2, 0.8)
"""Probabilities between which a gain is neither above the threshold nor below it."""


def fabric_checks(weighed: Evaluation) -> list[CheckWarning]:
    """Return every warning of a choice, the most general first."""
    found = list(_of_networks(weighed))
    if weighed.several:
        found += _of_advice(weighed)
    if weighed.fitted is not None:
        found += [one.model_copy(update={"fields": ["measured"]}) for one in weighed.fitted.answer.warnings]
    known = {warning.code for warning in found}
    return [*found, *(one for one in weighed.cost_warnings if one.code not in known)]


def _listed(labels: Iterable[str]) -> str:
    return " · ".join(dict.fromkeys(labels))


def _of_networks(weighed: Evaluation) -> Iterator[CheckWarning]:
    """Give what has to be said of single networks."""
    field, cluster = weighed.field, weighed.cluster
    networks = [one.network for one in field.timed.values()]
    unvalidated = _unvalidated(weighed) if weighed.several else ""
    if unvalidated:
        unseen = Message(
            "{networks}: modelled only; no measured run of the family {family} over such a network between "
            "machines of this chip is known. Measure before relying on it",
            {"networks": unvalidated, "family": cluster.profile.family},
        )
        yield CheckWarning.of("fabric_unvalidated", "caution", unseen, "options")
    slow = [one.label for one in networks if _outruns_slot(weighed, one)]
    if slow:
        outrun = Message(
            "{networks}: a port is faster than the slot of its adapter in this machine, which is counted "
            "instead",
            {"networks": _listed(slow)},
        )
        yield CheckWarning.of("port_faster_than_slot", "caution", outrun, "options")
    flat = [one.label for one in networks if one.oversubscription > 1.0 and _flat(weighed, one)]
    if len(flat) == len(networks) and weighed.several:
        no_uplinks = Message(
            "one switch holds all ports of every network: there are no uplinks to save, and nothing is "
            "oversubscribed"
        )
        yield CheckWarning.of("oversubscription_no_effect", "info", no_uplinks, "oversubscription")
    elif flat and weighed.several:
        no_uplinks = Message(
            "{networks}: one switch holds all ports, so that there are no uplinks to save and nothing is "
            "oversubscribed",
            {"networks": _listed(flat)},
        )
        yield CheckWarning.of("oversubscription_no_effect", "info", no_uplinks, "oversubscription")
    unpriced = [one.label for one in networks if field.bought[one.id] is None]
    if unpriced:
        unknown = Message(
            "{networks}: no price is known, so that nothing is said of its money",
            {"networks": _listed(unpriced)},
        )
        yield CheckWarning.of("network_price_unknown", "info", unknown, "options")
    prices = [(one.label, weighed.price(one.id)) for one in networks]
    incomplete = [label for label, price in prices if price is not None and not price.complete]
    if incomplete:
        partial = Message(
            "{networks}: a part has no price, so that the price is a lower bound",
            {"networks": _listed(incomplete)},
        )
        yield CheckWarning.of("network_price_incomplete", "caution", partial, "options")


def _unvalidated(weighed: Evaluation) -> str:
    """Return the names of fabrics without a run of the family, once each."""
    cluster, names = weighed.cluster, []
    for one in weighed.field.timed.values():
        runs = validation_of_fabric(
            cluster.context.runs,
            one.network.fabric,
            cluster.profile.family,
            cluster.hardware.entry.chip,
            measured=one.network.id in weighed.field.measured,
            regimes=(),
        )
        if runs.status == "unvalidated":
            names.append(cluster.context.catalog.items[one.network.fabric].name)
    return _listed(names)


def _outruns_slot(weighed: Evaluation, network: NetworkOption) -> bool:
    cluster = weighed.cluster
    port = cluster.context.catalog.fabric(network.fabric, network.ports).port_bandwidth
    slot = cluster.context.hardware.slot(cluster.hardware.entry, network.fabric)
    return float(np.ravel(port)[0]) > slot


def _flat(weighed: Evaluation, network: NetworkOption) -> bool:
    cluster = weighed.cluster
    hardware = cluster.hardware
    return built_oversubscription(cluster.context.catalog, hardware.entry, hardware.machines, network) == 1.0


def _of_advice(weighed: Evaluation) -> Iterator[CheckWarning]:
    """Give what has to be said of the advice."""
    field, found, gain = weighed.field, weighed.verdict, weighed.gain
    if gain is not None and not gain.measured and UNSURE[0] < gain.above < UNSURE[1]:
        unsure = Message(
            "the gain is above the threshold with a probability of {above}: too near to tell from a model; "
            "measure both networks",
            {"above": chance(gain.above)},
        )
        yield CheckWarning.of("fabric_gain_uncertain", "caution", unsure, "threshold")
    if found.against is not None and not found.worth:
        labels = {
            "taken": field.network(found.taken).label,
            "against": field.network(found.against).label,
        }
        if field.dollars(found.against) < field.dollars(found.taken) < float("inf"):
            dearer = Message(
                "{taken} is taken as the reference that was named, although by these prices {against} costs "
                "less",
                labels,
            )
            yield CheckWarning.of("reference_dearer", "caution", dearer, "reference")
        run = weighed.run_difference
        if run is not None and run.low > 0:
            disagrees = Message(
                "with machines, network and time counted, a run costs {money} less on {against}: there its "
                "gain outweighs its price, if the machines are kept as busy as the cost assumes",
                {**labels, "money": money(run.value, run.unit)},
            )
            yield CheckWarning.of("run_cost_disagrees", "caution", disagrees, "threshold")
    if len(field.contenders) < len(field.timed):
        apart = Message(
            "the advice rests on the networks with measured runs; the others are shown as the model has them"
        )
        yield CheckWarning.of("unmeasured_left_out", "info", apart, "measured")
    if gain is not None and gain.measured:
        yield from _of_measured(weighed)


def _of_measured(weighed: Evaluation) -> Iterator[CheckWarning]:
    """Give what has to be said of a measured gain, and whether the model agrees with it."""
    field, pair = weighed.field, weighed.pair
    assert pair is not None, "a gain is of a pair"
    slower, faster = (field.measured[name] for name in pair)
    labels = [field.network(name).label for name in pair]
    base = slower.option.model_copy(update={"gain": 0.0, "label": labels[0]})
    gained = faster.option.mean / slower.option.mean - 1.0
    best = faster.option.model_copy(update={"gain": gained, "label": labels[1]})
    yield from gain_warnings(best, base, gain_deviation(best, base), field.threshold, "measured")
    runs = [weighed.predicted[name].run for name in pair]
    predicted = quantity(
        float(relative_gain(runs[0].step_seconds, runs[1].step_seconds)),
        relative_gain(runs[0].step_samples, runs[1].step_samples),
        "1",
    )
    if not predicted.low - field.threshold <= gained <= predicted.high + field.threshold:
        yield contradiction(labels[1], gained, predicted)


def contradiction(label: str, measured: float, predicted: Quantity) -> CheckWarning:
    """Return the warning that measured runs lie beyond what the model makes possible."""
    message = Message(
        "{network} gains {measured} % in the runs and {predicted} % in the model: look for what holds one of "
        "the networks back (settings of congestion control, adapters that bypass the host) before buying",
        {"network": label, "measured": percent(measured), "predicted": percent(predicted.value)},
    )
    return CheckWarning.of("measured_contradicts_model", "caution", message, "measured")
