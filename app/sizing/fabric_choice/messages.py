"""What travels in one step, message by message, and how much of it is hidden."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from app.engine.collectives import all_to_all_time, collective_time, takes_tree
from app.engine.gpu.exchanges import MessageGroup, message_groups
from app.engine.gpu.operators import element_bytes
from app.engine.gpu.step import row_exchange_time, stage_message_size
from app.engine.gpu.weights import device_weights
from app.engine.gpu.work import tensor_messages
from app.engine.plans import Plans, Recompute, Sharding
from app.engine.records import Floats, GpuSystem
from app.sizing.fabric_choice.documents import Collective, Exposed, Kind, NetworkMessage
from app.sizing.scenario import Scenario

PARTS: Mapping[Kind, str] = {"tensor": "tensor_comm", "pipeline": "pipeline_comm", "data": "data_comm"}
"""Kind of communication → part of a step."""

PASSES: Mapping[Collective, float] = {"all_reduce": 2.0, "reduce_scatter": 1.0, "all_gather": 1.0}


def exposed_of(parts: Mapping[str, Floats], place: int = 0) -> Exposed:
    """Return the communication that is not hidden in a step.

    Parameters
    ----------
    parts : mapping
        Seconds by part of a step; one of them may stand for several networks. [s]
    place : int
        Which of these. [-]
    """
    sizes = np.broadcast_shapes(*(np.shape(value) for value in parts.values()))
    flat = {name: float(np.ravel(np.broadcast_to(value, sizes))[place]) for name, value in parts.items()}
    found = {kind: flat.get(part, 0.0) for kind, part in PARTS.items()}
    return Exposed(**found, share=sum(found.values()) / sum(flat.values()))


@dataclass(frozen=True, slots=True)
class _Post:
    """Machine and network that messages go over."""

    system: GpuSystem
    efficiency: float

    def sent(
        self, kind: Kind, collective: Collective, size: float, count: float, ranks: float, inside: float
    ) -> NetworkMessage:
        """Return a collective over so many ranks, of which some are in one machine, nothing hidden."""
        inside = min(inside, ranks)
        machine, fabric = self.system.machine, self.system.fabric
        if collective == "all_to_all":
            seconds = all_to_all_time(size, ranks, inside, machine, fabric, self.efficiency)
        else:
            passes = PASSES[collective]
            seconds = collective_time(size, ranks, inside, machine, fabric, self.efficiency, passes)
        tree = collective == "all_reduce" and takes_tree(
            size, ranks, inside, machine, fabric, self.efficiency
        )
        return NetworkMessage(
            kind=kind,
            collective=collective,
            bytes=float(size),
            count=float(count),
            ranks=int(ranks),
            algorithm="in_machine"
            if ranks <= inside
            else "pairs"
            if collective == "all_to_all"
            else "tree"
            if tree
            else "ring",
            seconds=float(seconds),
            hidden=0.0,
        )


def messages_of(scenario: Scenario, plans: Plans) -> list[NetworkMessage]:
    """Return the messages of one step of a plan on the fullest device, the largest kinds first.

    Parameters
    ----------
    scenario : Scenario
        Model, machines, network and software. [-]
    plans : Plans
        One plan. [-]
    """
    assert isinstance(scenario.hardware, GpuSystem)
    software = scenario.gpu_software()
    post = _Post(scenario.hardware, float(np.ravel(software.network_efficiency)[0]))
    found = [
        *_of_gradients(scenario, plans, post),
        *_of_tensors(scenario, plans, post),
        *_of_stages(scenario, plans),
    ]
    return [message for message in found if message.count > 0 and message.ranks > 1 and message.bytes > 0]


def _of_gradients(scenario: Scenario, plans: Plans, post: _Post) -> list[NetworkMessage]:
    software, system = scenario.gpu_software(), post.system
    weights = device_weights(scenario.table, plans)
    groups = message_groups(scenario.table, plans, system, software, scenario.precision, weights)
    sharding, accumulation = Sharding(int(plans.sharding[0])), float(plans.accumulation[0])
    layers = float(np.ravel(max(scenario.table.depth, 1) * weights.share)[0])
    found = [
        message for group in groups for message in _of_group(group, sharding, accumulation, layers, post)
    ]
    if sharding in (Sharding.OPTIMIZER, Sharding.GRADIENTS):
        # Gathered weights hide by the share that the software overlaps; what is left hides the reduction.
        overlap = float(np.ravel(software.overlap)[0])
        gathered = [one for one in found if one.collective == "all_gather"]
        reduced = [one for one in found if one.collective != "all_gather"]
        open_gathered = sum(one.count * one.seconds for one in gathered) * (1.0 - overlap)
        hidden = _hidden(scenario, plans, reduced, open_gathered)
        return [
            *(one.model_copy(update={"hidden": hidden}) for one in reduced),
            *(one.model_copy(update={"hidden": overlap}) for one in gathered),
        ]
    hidden = _hidden(scenario, plans, found, 0.0)
    return [one.model_copy(update={"hidden": hidden}) for one in found]


def _of_group(
    group: MessageGroup, sharding: Sharding, accumulation: float, layers: float, post: _Post
) -> list[NetworkMessage]:
    """Return the messages of weights that are copied over the same ranks."""
    gradients, copied, stored, buckets, ranks, shards, inside = (
        float(np.ravel(getattr(group, name))[0])
        for name in ("gradients", "copied", "stored", "buckets", "ranks", "shards", "inside")
    )
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


def _hidden(scenario: Scenario, plans: Plans, messages: list[NetworkMessage], other: float) -> float:
    """Return the share of messages' time that a step does not show, apart from what else it shows. [-]"""
    assert isinstance(scenario.hardware, GpuSystem)
    software = scenario.gpu_software()
    busy = sum(one.count * one.seconds for one in messages)
    if not busy:
        return 0.0
    size = element_bytes(scenario.precision)
    rows = float(np.ravel(row_exchange_time(scenario.table, plans, scenario.hardware, software, size))[0])
    step = scenario.step(plans)
    shown = float(np.ravel(step.parts["data_comm"])[0]) / float(np.ravel(scenario.time_factor())[0])
    sharded = plans.sharding[0] == Sharding.OPTIMIZER and plans.data[0] > 1
    each = float(np.ravel(software.broadcast_latency)[0]) * float(plans.sharding_ranks[0]) if sharded else 0.0
    return float(np.clip(1.0 - (shown - rows - each - other) / busy, 0.0, 1.0))


def _of_tensors(scenario: Scenario, plans: Plans, post: _Post) -> list[NetworkMessage]:
    tensor, accumulation = float(plans.tensor[0]), float(plans.accumulation[0])
    if tensor <= 1:
        return []
    share = float(np.ravel(device_weights(scenario.table, plans).share)[0])
    again = 2.0 if plans.recompute[0] == Recompute.FULL else 1.0
    # Ranks that also split tokens gather them once more on the way back.
    volume = post.system.kernels.sequence_parallel_volume if plans.sequence_parallel[0] > 0 else 1.0
    sizes, counts = tensor_messages(scenario.table, element_bytes(scenario.precision))
    machine = post.system.machine.devices
    return [
        post.sent(
            "tensor",
            "all_reduce",
            float(size * plans.micro_batch[0]),
            float(count) * (again + 1.0) * volume * share * accumulation,
            tensor,
            machine,
        )
        for size, count in zip(sizes, counts, strict=True)
    ]


def _of_stages(scenario: Scenario, plans: Plans) -> list[NetworkMessage]:
    stages = float(plans.pipeline[0])
    if stages <= 1:
        return []
    assert isinstance(scenario.hardware, GpuSystem)
    system, software = scenario.hardware, scenario.gpu_software()
    message = stage_message_size(scenario.table, plans, software, element_bytes(scenario.precision))
    size = float(np.ravel(message)[0])
    inside = float(np.ravel(plans.devices)[0]) <= system.machine.devices
    count = 2.0 * float(plans.accumulation[0] * plans.interleave[0])
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
            seconds=2.0 * shown / count / (2.0 if software.blocking_pipeline else 1.0),
            hidden=0.0 if software.blocking_pipeline else 0.5,
        )
    ]
