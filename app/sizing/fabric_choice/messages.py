"""What travels in one step, message by message, and how much of it is hidden."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from app.engine.collectives import Links, Network, all_to_all_time, collective_time, takes_tree
from app.engine.gpu.case import Case, Plan, Software, plan_at
from app.engine.gpu.exchanges import MessageGroup, message_group
from app.engine.gpu.step import row_exchange_time, stage_message_size
from app.engine.gpu.weights import device_weights
from app.engine.plans import Plans, Recompute, Sharding
from app.engine.records import Floats
from app.sizing.fabric_choice.documents import Collective, Exposed, Kind, NetworkMessage
from app.sizing.scenario import Scenario

PARTS: Mapping[Kind, str] = {"tensor": "tensor_comm", "pipeline": "pipeline_comm", "data": "data_comm"}
"""Kind of communication → part of a step."""

PASSES: Mapping[Collective, float] = {"all_reduce": 2.0, "reduce_scatter": 1.0, "all_gather": 1.0}


def exposed_of(parts: Mapping[str, Floats], place: int = 0) -> Exposed:
    """Return the communication that is not hidden in a step."""
    sizes = np.broadcast_shapes(*(np.shape(value) for value in parts.values()))
    flat = {name: float(np.ravel(np.broadcast_to(value, sizes))[place]) for name, value in parts.items()}
    found = {kind: flat.get(part, 0.0) for kind, part in PARTS.items()}
    return Exposed(**found, share=sum(found.values()) / sum(flat.values()))


@dataclass(frozen=True, slots=True)
class CollectiveTimer:
    """Machine and network that messages go over."""

    case: Case
    software: Software

    def sent(
        self, kind: Kind, collective: Collective, size: float, count: float, ranks: float, inside: float
    ) -> NetworkMessage:
        """Return a collective over so many ranks, of which some are in one machine, nothing hidden."""
        inside = min(inside, ranks)
        links: Links = self.case.links
        network: Network = self.software.network
        if collective == "all_to_all":
            seconds = all_to_all_time(size, ranks, inside, links, network)
        else:
            seconds = collective_time(size, ranks, inside, links, network, PASSES[collective])
        tree = collective == "all_reduce" and takes_tree(size, ranks, inside, links, network)
        return NetworkMessage(
            kind=kind,
            collective=collective,
            bytes=size,
            count=count,
            ranks=int(ranks),
            algorithm="in_machine"
            if ranks <= inside
            else "pairs"
            if collective == "all_to_all"
            else "tree"
            if tree
            else "ring",
            seconds=seconds,
            hidden=0.0,
        )


def messages_of(scenario: Scenario, plans: Plans) -> list[NetworkMessage]:
    """Return the messages of one step of a plan on the fullest device, the largest kinds first."""
    case = scenario.gpu_case()
    post = CollectiveTimer(case.case(), case.stack())
    plan = plan_at(plans.rows, 0)
    found = [
        *_of_gradients(scenario, plans, plan, post),
        *_of_tensors(plan, post),
        *_of_stages(scenario, plans, plan, post),
    ]
    return [message for message in found if message.count > 0 and message.ranks > 1 and message.bytes > 0]


def _of_gradients(
    scenario: Scenario, plans: Plans, plan: Plan, post: CollectiveTimer
) -> list[NetworkMessage]:
    weights = device_weights(post.case, plan)
    groups = [message_group(post.case, plan, weights, False)]
    if plan.expert > 1:
        groups.append(message_group(post.case, plan, weights, True))
    sharding, accumulation = Sharding(int(plan.sharding)), plan.accumulation
    layers = max(post.case.depth, 1.0) * weights.share
    found = [
        message for group in groups for message in _of_group(group, sharding, accumulation, layers, post)
    ]
    if sharding in (Sharding.OPTIMIZER, Sharding.GRADIENTS):
        # Gathered weights hide by the share that the software overlaps; what is left hides the reduction.
        overlap = post.software.overlap
        gathered = [one for one in found if one.collective == "all_gather"]
        reduced = [one for one in found if one.collective != "all_gather"]
        open_gathered = sum(one.count * one.seconds for one in gathered) * (1.0 - overlap)
        hidden = _hidden(scenario, plans, plan, post, reduced, open_gathered)
        return [
            *(one.model_copy(update={"hidden": hidden}) for one in reduced),
            *(one.model_copy(update={"hidden": overlap}) for one in gathered),
        ]
    hidden = _hidden(scenario, plans, plan, post, found, 0.0)
    return [one.model_copy(update={"hidden": hidden}) for one in found]


def _of_group(
    group: MessageGroup, sharding: Sharding, accumulation: float, layers: float, post: CollectiveTimer
) -> list[NetworkMessage]:
    """Return the messages of weights that are copied over the same ranks."""
    gradients, copied, stored, buckets, ranks, shards, inside = group
    if sharding is Sharding.NONE:
        return [post.sent("data", "all_reduce", gradients / buckets, buckets, ranks, inside)]
    gathered = post.sent("data", "all_gather", copied, 1.0, shards, inside)
    if sharding is Sharding.OPTIMIZER:
        if shards < ranks:
            return [post.sent("data", "all_reduce", gradients, 1.0, ranks, inside), gathered]
        return [post.sent("data", "reduce_scatter", gradients, 1.0, ranks, inside), gathered]
    between = post.sent("data", "all_reduce", gradients / shards, 1.0, ranks / shards, 1.0)
    if sharding is Sharding.GRADIENTS:
        scattered = post.sent("data", "reduce_scatter", gradients, accumulation, shards, inside)
        return [scattered, gathered, between]
    return [
        post.sent("data", "all_gather", stored / layers, 2.0 * layers * accumulation, shards, inside),
        post.sent("data", "reduce_scatter", gradients / layers, layers * accumulation, shards, inside),
        between,
    ]


def _hidden(
    scenario: Scenario,
    plans: Plans,
    plan: Plan,
    post: CollectiveTimer,
    messages: list[NetworkMessage],
    other: float,
) -> float:
    """Return the share of messages' time that a step does not show, apart from what else it shows."""
    busy = sum(one.count * one.seconds for one in messages)
    if not busy:
        return 0.0
    rows = row_exchange_time(post.case, plan, post.software)
    step = scenario.step(plans)
    shown = float(np.ravel(step.parts["data_comm"])[0]) / float(np.ravel(scenario.time_factor())[0])
    sharded = plan.sharding == Sharding.OPTIMIZER and plan.data > 1
    each = post.software.broadcast_latency * plan.sharding_ranks if sharded else 0.0
    return float(np.clip(1.0 - (shown - rows - each - other) / busy, 0.0, 1.0))


def _of_tensors(plan: Plan, post: CollectiveTimer) -> list[NetworkMessage]:
    if plan.tensor <= 1:
        return []
    case = post.case
    share = device_weights(case, plan).share
    again = 2.0 if plan.recompute == Recompute.FULL else 1.0
    # Ranks that also split tokens gather them once more on the way back.
    volume = case.sequence_parallel_volume if plan.sequence_parallel > 0 else 1.0
    return [
        post.sent(
            "tensor",
            "all_reduce",
            case.size * elements * plan.micro_batch,
            count * (again + 1.0) * volume * share * plan.accumulation,
            plan.tensor,
            case.links.devices,
        )
        for elements, count in case.messages.T.tolist()
    ]


def _of_stages(scenario: Scenario, plans: Plans, plan: Plan, post: CollectiveTimer) -> list[NetworkMessage]:
    if plan.pipeline <= 1:
        return []
    case = post.case
    size = stage_message_size(case, plan)
    inside = plan.tensor * plan.pipeline * plan.data <= case.links.devices
    blocking = case.blocking_pipeline > 0
    count = 2.0 * plan.accumulation * plan.interleave
    shown = float(np.ravel(scenario.step(plans).parts["pipeline_comm"])[0])
    return [
        NetworkMessage(
            kind="pipeline",
            collective="send",
            bytes=size,
            count=count,
            ranks=2,
            algorithm="in_machine" if inside else "pairs",
            # A step waits for one direction, or for both where the software blocks.
            seconds=2.0 * shown / count / (2.0 if blocking else 1.0),
            hidden=0.0 if blocking else 0.5,
        )
    ]
