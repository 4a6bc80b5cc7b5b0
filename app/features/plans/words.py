"""Plans in words, and why one is faster than another."""

from __future__ import annotations

from collections.abc import Sequence

from app.errors import Message
from app.estimating.documents import Part, PlanSummary
from app.platform.wording.scales import Scale, scale_of
from app.platform.wording.voice import Voice

MOST_REASONS = 3

LEAST_REASON = 0.05
"""Smallest difference that is given as a reason, as a share of the largest."""

RECOMPUTED = {
    "none": Message("no recompute"),
    "modules": Message("recompute of norms and activation functions"),
    "selective": Message("attention recompute"),
    "full": Message("full activation recompute"),
}

SENTENCES = {
    "optimizer": "optimizer sharded over {count}",
    "gradients": "optimizer and gradients sharded over {count}",
    "parameters": "optimizer, gradients and weights sharded over {count}",
}


def degrees_in_words(plan: PlanSummary) -> list[Message]:
    """Return the parallel degrees of a plan above one."""
    degrees = []
    if plan.tensor > 1:
        degrees.append(Message("tensor parallel over {count}", {"count": plan.tensor}))
    if plan.pipeline > 1:
        degrees.append(Message("{count} pipeline stages", {"count": plan.pipeline}))
    if plan.data > 1:
        degrees.append(Message("{count} replicas", {"count": plan.data}))
    return degrees or [Message("one device")]


def options_in_words(plan: PlanSummary) -> list[Message]:
    """Return the other choices of a plan that have an effect."""
    choices = [Message("micro-batch size {count}", {"count": plan.micro_batch})]
    if plan.interleave > 1:
        choices.append(Message("{count} chunks per stage", {"count": plan.interleave}))
    if plan.phases > 1:
        choices.append(Message("{count} phases per stage", {"count": plan.phases}))
    if plan.expert > 1:
        choices.append(Message("experts distributed over {count}", {"count": plan.expert}))
    if plan.context > 1:
        choices.append(Message("context parallel over {count}", {"count": plan.context}))
    if plan.sequence_parallel:
        choices.append(Message("sequence parallel"))
    if plan.recompute_layers is None:
        choices.append(RECOMPUTED[plan.recompute])
    else:
        choices.append(Message("{count} layers recomputed", {"count": plan.recompute_layers}))
    choices += _shared(plan)
    if plan.offload:
        choices.append(Message("optimizer offload"))
    if plan.offload_parameters:
        choices.append(Message("parameter offload"))
    if plan.offload_activations:
        choices.append(Message("activation offload"))
    return choices


def _shared(plan: PlanSummary) -> list[Message]:
    shares = []
    if plan.sharding != "none":
        shares.append(Message(SENTENCES[plan.sharding], {"count": plan.sharding_ranks}))
    if plan.rts > 1:
        shares.append(Message("weights sharded over {count}", {"count": plan.rts}))
    if plan.rts_optimizer > 1:
        shares.append(Message("optimizer sharded over {count}", {"count": plan.rts_optimizer}))
    return shares


def plan_in_words(plan: PlanSummary, voice: Voice) -> str:
    return ", ".join(voice.say(phrase) for phrase in [*degrees_in_words(plan), *options_in_words(plan)])


def plan_in_short(plan: PlanSummary) -> str:
    """Write the degrees and the micro-batch of a plan as experts do.

    ``t4 p16 d16 b2`` is tensor, pipeline, data and micro-batch.
    """
    return f"t{plan.tensor} p{plan.pipeline} d{plan.data} b{plan.micro_batch}"


def reasons(more: Sequence[Part], rank: int, voice: Voice) -> str:
    """Say in which parts the first plan saves time compared with another, and in which it adds some."""
    largest = max((abs(part.seconds) for part in more), default=0.0)
    scale = scale_of(largest, "s")
    large = [part for part in more if largest and abs(part.seconds) >= LEAST_REASON * largest]
    saves = _listed([part for part in large if part.seconds > 0], scale, voice)
    pays = _listed([part for part in large if part.seconds < 0], scale, voice)
    values = {"place": rank, "saves": saves, "pays": pays}
    if saves and pays:
        return voice.sentence(
            Message("compared with plan {place}, the first plan saves {saves} and adds {pays}", values)
        )
    if saves:
        return voice.sentence(Message("compared with plan {place}, the first plan saves {saves}", values))
    if pays:
        return voice.sentence(Message("compared with plan {place}, the first plan adds {pays}", values))
    return voice.sentence(Message("plan {place} takes the same time in every part", values))


def _listed(parts: Sequence[Part], scale: Scale, voice: Voice) -> str:
    written = []
    for part in parts[:MOST_REASONS]:
        label = voice.label(part.part, "part")
        name = f"{label[:1].lower()}{label[1:]}"
        time = voice.value(abs(part.seconds), "s", scale, exact=False)
        written.append(voice.say(Message("{time} in {part}", {"time": time, "part": name})))
    return ", ".join(written)
