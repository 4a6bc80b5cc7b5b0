"""The advice in sentences."""

from __future__ import annotations

from collections.abc import Sequence

from app.errors import Message
from app.sizing.document import Quantity, Text
from app.sizing.fabric_choice.deciding import GainOver, NetworkAlternatives, NetworkVerdict
from app.sizing.fabric_choice.documents import DecidedBy, NetworkMessage, NetworkPrice, Term, TermShare
from app.sizing.fabric_choice.terms import Counterfactual
from app.sizing.quantities import chance, money, significant


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
        return Message("{taken} is the only network weighed", {"taken": taken})
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
            "Not recommended: {against} gains {gain} % over {taken}, under the threshold of {threshold} %",
            values,
        )
    values |= {
        "money": money(saved.value, saved.unit),
        "switches": other.switches,
        "cables": other.cables,
    }
    if other.switches == 1:
        return Message(
            "Not recommended: {against} gains {gain} % over {taken}, under the threshold of {threshold} %; "
            "{taken} saves {money}, and one switch and {cables} cables are not bought",
            values,
        )
    return Message(
        "Not recommended: {against} gains {gain} % over {taken}, under the threshold of {threshold} %; "
        "{taken} saves {money}, and {switches} switches and {cables} cables are not bought",
        values,
    )


def alone() -> Message:
    """Return the advice for one machine."""
    return Message("No network is needed: one machine trains alone")


def more_sentences(
    field: NetworkAlternatives, found: NetworkVerdict, gain: GainOver | None, run: Quantity | None
) -> list[Message]:
    """Return what else the advice says: how sure it is, and what the run costs."""
    sentences = []
    if gain is not None:
        sentences.append(
            Message(
                "The gain is real with a probability of {real}, and above the threshold with one of {above}",
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
        text = Message(
            "the measured runs decide; the model alone would predict a gain of {predicted} %", values
        )
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
        "the volume of gradients and weights turns it: {megabytes} MB a step and device, of which the slower "
        "network leaves {exposed} % of a step exposed"
    ),
    "data_latency": "the number of steps of a collective turns it: latency, not bandwidth",
    "tensor_across_machines": "the exchange inside layers across machines turns it; nothing hides it",
    "pipeline_across_machines": "the transfers between pipeline stages turn it; nothing hides them",
}
"""Term → what is said where a faster network is worth it."""

ALIKE = "both networks have the same bandwidth in the model; only their scatter sets them apart"
ACCUMULATED = (
    "accumulation turns it: gradients travel once a step of several micro-batches; with one micro-batch a "
    "step the gain would be {once} %"
)
OVERLAPPED = (
    "overlap turns it: most of the exchange hides under computation; with nothing hidden the gain would be "
    "{without} %"
)
LITTLE = (
    "little travels against what is computed: {megabytes} MB a step and device leave {exposed} % of a step "
    "exposed on the cheaper network, hidden or not"
)
