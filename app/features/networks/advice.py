"""The recommended network in sentences, and what decides."""

from __future__ import annotations

from app.errors import Message
from app.estimating.documents import Text
from app.estimating.ranges import chance, money, significant
from app.features.networks.evaluation import Evaluation, NetworkVerdict
from app.features.networks.explaining import counterfactual, exposed_of, messages_of, terms_between
from app.features.networks.measuring import NetworkGain
from app.features.networks.model import DecidingFactor, NetworkAdvice, Term

SENTENCES: dict[Term, str] = {
    "data_volume": (
        "the volume of gradients and weights decides: {megabytes} MB per step and device, of "
        "which the slower network leaves {exposed} % of a step exposed"
    ),
    "data_latency": "the number of steps per collective decides: latency, not bandwidth",
    "tensor_across_machines": "communication inside layers across machines decides; nothing hides it",
    "pipeline_across_machines": "the transfers between pipeline stages decide; nothing hides them",
}
"""By deciding term, if a faster network is worth its price."""

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


def percent(share: float) -> float:
    """Return a share rounded for a sentence. [%]"""
    return significant(100.0 * share, 2) if abs(share) >= 0.0005 else 0.0


def advice_of(evaluation: Evaluation) -> NetworkAdvice:
    if not evaluation.several:
        message = Message("No network is needed: training runs on one machine")
        return _no_network(Text.of(message), "one_machine", not_worth_it=True)
    verdict, gain = evaluation.verdict, evaluation.pair_gain
    if verdict is None:
        return _no_network(evaluation.decision.sentences[0], "limits", not_worth_it=False)
    recommended, against = verdict.recommended, verdict.against
    bought = None if recommended.network.installed else recommended.price
    left = None if against is None else against.price
    return NetworkAdvice(
        recommendation=recommended.network.id,
        against=None if against is None else against.network.id,
        not_worth_it=against is not None and not verdict.dearer,
        sentence=Text.of(_sentence(verdict, gain, evaluation.threshold)),
        more=[Text.of(message) for message in _more_sentences(evaluation, verdict)],
        gain=None if gain is None else gain.quantity,
        probability_real=None if gain is None else gain.probability_real,
        probability_above_threshold=None if gain is None else gain.probability_above,
        money_saved=verdict.money_saved,
        run_cost_difference=evaluation.run_difference,
        not_bought=[] if left is None else left.lines,
        instead=[] if bought is None else bought.lines,
        decided_by=_decided_by(evaluation, verdict),
    )


def _no_network(sentence: Text, term: Term, *, not_worth_it: bool) -> NetworkAdvice:
    return NetworkAdvice(
        recommendation=None,
        against=None,
        not_worth_it=not_worth_it,
        sentence=sentence,
        more=[],
        gain=None,
        probability_real=None,
        probability_above_threshold=None,
        money_saved=None,
        run_cost_difference=None,
        not_bought=[],
        instead=[],
        decided_by=_undecided(term, sentence),
    )


def _sentence(verdict: NetworkVerdict, gain: NetworkGain | None, threshold: float) -> Message:
    if verdict.against is None or gain is None:
        return Message("{taken} is the only network evaluated", {"taken": verdict.recommended.label})
    values: dict[str, object] = {
        "taken": verdict.recommended.label,
        "against": verdict.against.label,
        "gain": percent(gain.quantity.value),
        "threshold": percent(threshold),
    }
    saved, left = verdict.money_saved, verdict.against.price
    if verdict.dearer and gain.quantity.value < threshold:
        return Message(
            "Recommended: {taken} gains {gain} % over {against}, which does not meet what is asked", values
        )
    if verdict.dearer:
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
    if saved is None or left is None or saved.value <= 0:
        return Message(
            "Not recommended: {against} gains {gain} % over {taken}, below the threshold of {threshold} %",
            values,
        )
    values |= {"money": money(saved.value, saved.unit), "switches": left.switches, "cables": left.cables}
    template = (
        "Not recommended: {against} gains {gain} % over {taken}, below the threshold of {threshold} %; "
        "{taken} saves {money}, and one switch and {cables} cables of {against} are not bought"
        if left.switches == 1
        else "Not recommended: {against} gains {gain} % over {taken}, below the threshold of {threshold} %; "
        "{taken} saves {money}, and {switches} switches and {cables} cables of {against} are not bought"
    )
    return Message(template, values)


def _more_sentences(evaluation: Evaluation, verdict: NetworkVerdict) -> list[Message]:
    """Return sentences on the probability of the gain and the cost of the run."""
    sentences, gain, run = [], evaluation.pair_gain, evaluation.run_difference
    if gain is not None:
        sentences.append(
            Message(
                "The probability of a real gain is {real}; of a gain above the threshold, {above}",
                {"real": chance(gain.probability_real), "above": chance(gain.probability_above)},
            )
        )
    if run is not None and abs(run.value) > 0:
        template = (
            "The run itself costs {money} less on {taken}"
            if run.value < 0
            else "The run itself costs {money} more on {taken}"
            if verdict.dearer
            else "The run itself costs {money} more on {taken}, as long as the machines are always in use; a "
            "gain below the threshold does not decide against the lower purchase price"
        )
        values = {"money": money(abs(run.value), run.unit), "taken": verdict.recommended.label}
        sentences.append(Message(template, values))
    return sentences


def _undecided(term: Term, explanation: Text) -> DecidingFactor:
    return DecidingFactor(
        term=term, explanation=explanation, gain_without_overlap=None, gain_without_accumulation=None
    )


def _decided_by(evaluation: Evaluation, verdict: NetworkVerdict) -> DecidingFactor:
    """Return the term that decides between the two networks of the advice."""
    pair, gain, threshold = verdict.pair, evaluation.pair_gain, evaluation.threshold
    if pair is None or gain is None:
        return _undecided("same_network", Text.of(Message(ALIKE)))
    base, slower = evaluation.own.timing, pair[0].timing
    fabrics = (slower.fabric, pair[1].timing.fabric)
    terms = terms_between(base, *fabrics)
    otherwise = counterfactual(evaluation.answer, base, *fabrics)
    volume = sum(message.bytes * message.count for message in messages_of(slower) if message.kind == "data")
    values: dict[str, object] = {
        "without": percent(otherwise.without_overlap),
        "once": percent(otherwise.without_accumulation),
        "exposed": percent(exposed_of(slower.run.step.parts).share),
        "megabytes": significant(volume / 1e6),
        "predicted": percent(otherwise.gain),
    }
    worth = gain.quantity.value >= threshold
    term: Term
    if gain.measured and (otherwise.gain >= threshold) != worth:
        term = "measured"
        text = Message("the measured runs decide; the model alone predicts a gain of {predicted} %", values)
    elif worth:
        term = terms[0].term if terms else "data_volume"
        text = Message(SENTENCES[term], values)
    elif otherwise.alike:
        term, text = "same_network", Message(ALIKE)
    elif otherwise.without_accumulation >= threshold:
        term, text = "accumulation", Message(ACCUMULATED, values)
    elif otherwise.without_overlap >= threshold:
        term, text = "overlap", Message(OVERLAPPED, values)
    else:
        term, text = "data_volume", Message(LITTLE, values)
    return DecidingFactor(
        term=term,
        explanation=Text.of(text),
        gain_without_overlap=otherwise.without_overlap,
        gain_without_accumulation=otherwise.without_accumulation,
    )
