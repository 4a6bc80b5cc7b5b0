"""What has to be known to read a choice of networks."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Literal

import numpy as np

from app.engine.comparison import relative_gain
from app.errors import Message
from app.estimating.documents import CheckWarning, Text
from app.estimating.nearest import MeasuredRun, status_of
from app.estimating.ranges import chance, money, quantity, significant
from app.estimating.regimes import chip_series
from app.estimating.schema import Quantity
from app.features.calibration.gain import gain_deviation, gain_warnings
from app.features.networks.evaluation import Evaluation, GainOver, NetworkAlternatives, NetworkVerdict
from app.features.networks.model import (
    DecidedBy,
    FabricValidation,
    NetworkMessage,
    NetworkPrice,
    Term,
    TermShare,
)
from app.features.networks.options import NetworkOption, built_oversubscription
from app.features.networks.terms import Counterfactual


def validation_of_fabric(
    runs: Iterable[MeasuredRun],
    fabric: str,
    family: str,
    chip: str,
    *,
    measured: bool,
    regimes: Collection[str],
) -> FabricValidation:
    """Return how far the answer for a network rests on runs over such a network.

    Runs count that name the fabric themselves; those whose network the catalogue's only stands in for do not.
    """
    over = [run for run in runs if run.fabric == fabric]
    series = chip_series(chip)
    counted = sum(run.family == family and chip_series(run.chip) == series for run in over)
    status: Literal["measured", "validated", "extrapolated", "unvalidated"] = "unvalidated"
    if measured:
        status = "measured"
    elif counted:
        status = status_of(regimes, 0.0)
    return FabricValidation(
        status=status, runs=counted, families=sorted({run.family for run in over if run.family})
    )


def percent(share: float) -> float:
    """Return a share in per cent as a sentence shows it. [%]"""
    return significant(100.0 * share, 2) if abs(share) >= 0.0005 else 0.0


def advice_sentence(
    field: NetworkAlternatives,
    found: NetworkVerdict,
    gain: GainOver | None,
    saved: Quantity | None,
    other: NetworkPrice | None,
) -> Message:
    """Return the advice in one sentence."""
    taken = field.network(found.taken).label
    if found.against is None or gain is None:
        return Message("{taken} is the only network evaluated", {"taken": taken})
    against = field.network(found.against).label
    values: dict[str, object] = {
        "taken": taken,
        "against": against,
        "gain": percent(gain.gain.value),
        "threshold": percent(field.threshold),
    }
    if found.worth:
        if saved is None or saved.value >= 0:
            return Message(
                "Recommended: {taken} gains {gain} % over {against}, above the threshold of {threshold} %",
                values,
            )
        return Message(
            "Recommended: {taken} gains {gain} % over {against}, above the threshold of {threshold} %; its "
            "network costs {money} more",
            {**values, "money": money(-saved.value, saved.unit)},
        )
    if saved is None or other is None or saved.value <= 0:
        return Message(
            "Not recommended: {against} gains {gain} % over {taken}, below the threshold of {threshold} %",
            values,
        )
    values |= {
        "money": money(saved.value, saved.unit),
        "switches": other.switches,
        "cables": other.cables,
    }
    if other.switches == 1:
        return Message(
            "Not recommended: {against} gains {gain} % over {taken}, below the threshold of "
            "{threshold} %; {taken} saves {money}, one switch and {cables} cables",
            values,
        )
    return Message(
        "Not recommended: {against} gains {gain} % over {taken}, below the threshold of "
        "{threshold} %; {taken} saves {money}, {switches} switches and {cables} cables",
        values,
    )


def alone() -> Message:
    """Return the advice for one machine."""
    return Message("No network is needed: training runs on one machine")


def more_sentences(
    field: NetworkAlternatives, found: NetworkVerdict, gain: GainOver | None, run: Quantity | None
) -> list[Message]:
    """Return what else the advice says: how sure it is, and what the run costs."""
    sentences = []
    if gain is not None:
        sentences.append(
            Message(
                "The probability of a real gain is {real}; of a gain above the threshold, {above}",
                {"real": chance(gain.real), "above": chance(gain.above)},
            )
        )
    if run is not None and abs(run.value) > 0:
        template = (
            "The run itself costs {money} more on {taken}"
            if run.value > 0
            else "The run itself costs {money} less on {taken}"
        )
        sentences.append(
            Message(
                template,
                {"money": money(abs(run.value), run.unit), "taken": field.network(found.taken).label},
            )
        )
    return sentences


def decided_by(
    field: NetworkAlternatives,
    gain: GainOver,
    terms: Sequence[TermShare],
    otherwise: Counterfactual,
    messages: Sequence[NetworkMessage],
    exposed: float,
) -> DecidedBy:
    """Return which term decides, in a word and in a sentence."""
    worth = gain.gain.value >= field.threshold
    volume = sum(one.bytes * one.count for one in messages if one.kind == "data")
    values: dict[str, object] = {
        "without": percent(otherwise.without_overlap),
        "once": percent(otherwise.without_accumulation),
        "exposed": percent(exposed),
        "megabytes": significant(volume / 1e6),
        "predicted": percent(otherwise.gain),
    }
    known = {
        "gain_without_overlap": otherwise.without_overlap,
        "gain_without_accumulation": otherwise.without_accumulation,
    }
    if gain.measured and (otherwise.gain >= field.threshold) != worth:
        text = Message("the measured runs decide; the model alone predicts a gain of {predicted} %", values)
        return DecidedBy(term="measured", explanation=Text.of(text), **known)
    if worth:
        largest = terms[0].term if terms else "data_volume"
        return DecidedBy(term=largest, explanation=Text.of(Message(SENTENCES[largest], values)), **known)
    if otherwise.alike:
        return DecidedBy(term="same_network", explanation=Text.of(Message(ALIKE)), **known)
    if otherwise.without_accumulation >= field.threshold:
        return DecidedBy(term="accumulation", explanation=Text.of(Message(ACCUMULATED, values)), **known)
    if otherwise.without_overlap >= field.threshold:
        return DecidedBy(term="overlap", explanation=Text.of(Message(OVERLAPPED, values)), **known)
    return DecidedBy(term="data_volume", explanation=Text.of(Message(LITTLE, values)), **known)


SENTENCES: dict[Term, str] = {
    "data_volume": (
        "the volume of gradients and weights decides: {megabytes} MB per step and device, of "
        "which the slower network leaves {exposed} % of a step exposed"
    ),
    "data_latency": "the number of steps per collective decides: latency, not bandwidth",
    "tensor_across_machines": "communication inside layers across machines decides; nothing hides it",
    "pipeline_across_machines": "the transfers between pipeline stages decide; nothing hides them",
}
"""Term → what is said where a faster network is worth it."""

ALIKE = "both networks have the same modelled bandwidth; only their scatter differs"

ACCUMULATED = (
    "gradient accumulation decides: gradients are sent once per step of several micro-batches; "
    "with one micro-batch per step, the gain would be {once} %"
)

OVERLAPPED = (
    "overlap decides: most communication is hidden behind computation; with nothing hidden, "
    "the gain would be {without} %"
)

LITTLE = (
    "communication is small relative to computation: {megabytes} MB per step and device expose "
    "{exposed} % of a step on the cheaper network; overlap does not change the verdict"
)

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
            "{networks}: the port is faster than its adapter slot in this machine, so the slot speed is used",
            {"networks": _listed(slow)},
        )
        yield CheckWarning.of("port_faster_than_slot", "caution", outrun, "options")
    flat = [one.label for one in networks if one.oversubscription > 1.0 and _flat(weighed, one)]
    if len(flat) == len(networks) and weighed.several:
        no_uplinks = Message(
            "one switch holds all ports of every network, so there are no uplinks to save and "
            "nothing is oversubscribed"
        )
        yield CheckWarning.of("oversubscription_no_effect", "info", no_uplinks, "oversubscription")
    elif flat and weighed.several:
        no_uplinks = Message(
            "{networks}: one switch holds all ports, so there are no uplinks to save and "
            "nothing is oversubscribed",
            {"networks": _listed(flat)},
        )
        yield CheckWarning.of("oversubscription_no_effect", "info", no_uplinks, "oversubscription")
    unpriced = [one.label for one in networks if field.bought[one.id] is None]
    if unpriced:
        unknown = Message(
            "{networks}: no price is known, so the cost is not compared",
            {"networks": _listed(unpriced)},
        )
        yield CheckWarning.of("network_price_unknown", "info", unknown, "options")
    prices = [(one.label, weighed.price(one.id)) for one in networks]
    incomplete = [label for label, price in prices if price is not None and not price.complete]
    if incomplete:
        partial = Message(
            "{networks}: at least one part has no price, so the price is a lower bound",
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
            "the gain exceeds the threshold with a probability of {above}: too close to call "
            "from a model; measure both networks",
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
                "{taken} is used as the specified reference, although {against} costs less at these prices",
                labels,
            )
            yield CheckWarning.of("reference_dearer", "caution", dearer, "reference")
        run = weighed.run_difference
        if run is not None and run.low > 0:
            disagrees = Message(
                "counting machines, network and time, a run costs {money} less on {against}: "
                "its gain outweighs its price if the machines are kept as busy as the cost "
                "assumes",
                {**labels, "money": money(run.value, run.unit)},
            )
            yield CheckWarning.of("run_cost_disagrees", "caution", disagrees, "threshold")
    if len(field.contenders) < len(field.timed):
        apart = Message(
            "the recommendation is based on the networks with measured runs; the others show model results"
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
        "{network} gains {measured} % in measured runs and {predicted} % in the model; before "
        "buying, find what holds one of the networks back (congestion control settings, "
        "adapters that bypass the host)",
        {"network": label, "measured": percent(measured), "predicted": percent(predicted.value)},
    )
    return CheckWarning.of("measured_contradicts_model", "caution", message, "measured")
