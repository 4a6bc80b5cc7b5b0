"""Warnings of a network choice."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Literal

import numpy as np

from app.errors import Message
from app.estimating.chips import chip_series
from app.estimating.documents import CheckWarning
from app.estimating.estimate import Answer
from app.estimating.nearest import status_of
from app.estimating.ranges import chance, money
from app.features.calibration.gain import gain_deviation, gain_warnings
from app.features.networks.advice import percent
from app.features.networks.evaluation import Evaluation, NetworkCandidate
from app.features.networks.measuring import modelled_gain
from app.features.networks.model import FabricValidation
from app.features.networks.options import built_oversubscription

UNSURE = (0.2, 0.8)
"""Probabilities between which a gain is neither above the threshold nor below it."""


def validation_of_fabric(
    answer: Answer, candidate: NetworkCandidate, regimes: Collection[str] = ()
) -> FabricValidation:
    """Return how far the answer for a network is supported by runs over such a network.

    Only runs that name the fabric count, not those for which the catalogue's is a substitute.
    """
    family, series = answer.profile.family, chip_series(answer.hardware.entry.machine.chip.id)
    over = [run for run in answer.context.runs if run.fabric == candidate.network.fabric]
    counted = sum(run.family == family and chip_series(run.chip) == series for run in over)
    status: Literal["measured", "validated", "extrapolated", "unvalidated"] = "unvalidated"
    if candidate.runs is not None:
        status = "measured"
    elif counted:
        status = status_of(regimes, 0.0)
    return FabricValidation(
        status=status, runs=counted, families=sorted({run.family for run in over if run.family})
    )


def fabric_checks(evaluation: Evaluation) -> list[CheckWarning]:
    """Return every warning of a choice, the most general first."""
    warnings = list(_of_networks(evaluation))
    if evaluation.several:
        warnings += _of_advice(evaluation)
    if evaluation.fit is not None:
        warnings += [
            warning.model_copy(update={"fields": ["measured"]}) for warning in evaluation.fit.warnings
        ]
    known = {warning.code for warning in warnings}
    return [*warnings, *(warning for warning in evaluation.cost_warnings if warning.code not in known)]


def _of_networks(evaluation: Evaluation) -> Iterator[CheckWarning]:
    """Yield warnings about single networks."""
    answer, networks = evaluation.answer, list(evaluation.candidates.values())
    catalog, several = answer.context.catalog, evaluation.several
    unvalidated = [
        catalog.items[network.network.fabric].name
        for network in networks
        if validation_of_fabric(answer, network).status == "unvalidated"
    ]
    if unvalidated and several:
        unseen = Message(
            "{networks}: modelled only; no measured run of the family {family} over such a network between "
            "machines of this chip is known. Measure before relying on it",
            {"networks": _listed(unvalidated), "family": answer.profile.family},
        )
        yield CheckWarning.of("fabric_unvalidated", "caution", unseen, "options")
    slow = [network.label for network in networks if _outruns_slot(answer, network)]
    if slow:
        outrun = Message(
            "{networks}: the port is faster than its adapter slot in this machine, so the slot speed is used",
            {"networks": _listed(slow)},
        )
        yield CheckWarning.of("port_faster_than_slot", "caution", outrun, "options")
    flat = [
        network.label
        for network in networks
        if network.network.oversubscription > 1.0
        and built_oversubscription(catalog, answer.hardware, network.network) == 1.0
    ]
    if flat and several:
        everywhere = len(flat) == len(networks)
        no_uplinks = (
            Message(
                "one switch holds all ports of every network, so there are no uplinks to save and "
                "nothing is oversubscribed"
            )
            if everywhere
            else Message(
                "{networks}: one switch holds all ports, so there are no uplinks to save and "
                "nothing is oversubscribed",
                {"networks": _listed(flat)},
            )
        )
        field = "oversubscription"
        yield CheckWarning.of("oversubscription_no_effect", "info", no_uplinks, field)
    unpriced = [network.label for network in networks if network.price is None]
    if unpriced and several:
        unknown = Message(
            "{networks}: no price is known, so the cost is not compared", {"networks": _listed(unpriced)}
        )
        yield CheckWarning.of("network_price_unknown", "info", unknown, "options")
    incomplete = [
        network.label for network in networks if network.price is not None and not network.price.complete
    ]
    if incomplete:
        partial = Message(
            "{networks}: at least one part has no price, so the price is a lower bound",
            {"networks": _listed(incomplete)},
        )
        yield CheckWarning.of("network_price_incomplete", "caution", partial, "options")


def _listed(labels: Iterable[str]) -> str:
    return " · ".join(dict.fromkeys(labels))


def _outruns_slot(answer: Answer, candidate: NetworkCandidate) -> bool:
    network = candidate.network
    port = answer.context.catalog.fabric(network.fabric, network.ports).port_bandwidth
    slot = answer.context.hardware.slot(answer.hardware.entry, network.fabric)
    return float(np.ravel(port)[0]) > slot


def _of_advice(evaluation: Evaluation) -> Iterator[CheckWarning]:
    """Yield warnings about the advice."""
    verdict, gain = evaluation.verdict, evaluation.pair_gain
    if verdict is None:
        return
    recommended, against = verdict.recommended, verdict.against
    if gain is not None and not gain.measured and UNSURE[0] < gain.probability_above < UNSURE[1]:
        unsure = Message(
            "the gain exceeds the threshold with a probability of {above}: too close to call "
            "from a model; measure both networks",
            {"above": chance(gain.probability_above)},
        )
        yield CheckWarning.of("fabric_gain_uncertain", "caution", unsure, "threshold")
    if against is not None and not verdict.dearer:
        labels = {"taken": recommended.label, "against": against.label}
        run = evaluation.run_difference
        if run is not None and run.low > 0:
            disagrees = Message(
                "counting machines, network and time, a run costs {money} less on {against}: "
                "its gain outweighs its price if the machines are kept as busy as the cost "
                "assumes",
                {**labels, "money": money(run.value, run.unit)},
            )
            yield CheckWarning.of("run_cost_disagrees", "caution", disagrees, "threshold")
    if len(evaluation.contenders) < len(evaluation.candidates):
        note = Message(
            "the recommendation is based on the networks with measured runs; the others show model results"
        )
        yield CheckWarning.of("unmeasured_left_out", "info", note, "measured")
    if verdict.pair is not None and gain is not None and gain.measured:
        yield from _of_measured(*verdict.pair, evaluation.threshold)


def _of_measured(
    slower: NetworkCandidate, faster: NetworkCandidate, threshold: float
) -> Iterator[CheckWarning]:
    """Yield warnings about a measured gain, and whether the model agrees with it."""
    assert slower.runs is not None and faster.runs is not None, "the gain is measured"
    gained = faster.runs.mean / slower.runs.mean - 1.0
    base = slower.runs.model_copy(update={"gain": 0.0, "label": slower.label})
    best = faster.runs.model_copy(update={"gain": gained, "label": faster.label})
    yield from gain_warnings(best, base, gain_deviation(best, base), threshold, "measured")
    predicted = modelled_gain(faster.predicted.run, slower.predicted.run, threshold).quantity
    if not predicted.low - threshold <= gained <= predicted.high + threshold:
        message = Message(
            "{network} gains {measured} % in measured runs and {predicted} % in the model; before "
            "buying, find what holds one of the networks back (congestion control settings, "
            "adapters that bypass the host)",
            {"network": faster.label, "measured": percent(gained), "predicted": percent(predicted.value)},
        )
        yield CheckWarning.of("measured_contradicts_model", "caution", message, "measured")
