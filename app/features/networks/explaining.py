"""Messages of a step, terms of the difference between two networks, and where the advice changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from app.engine.collectives import all_to_all_time, allreduce_algorithm, collective_time, node_bandwidth
from app.engine.comparison import relative_gain, sufficient_rung
from app.engine.compiled import record
from app.engine.gpu.case import Case, SoftwareStack
from app.engine.gpu.collectives import MessageGroup, device_weights, message_group
from app.engine.gpu.step import row_exchange_time, stage_message_size
from app.engine.plans import Plan, Plans, Recompute, Sharding, StepTime
from app.engine.records import Floats, GpuSystem, ScaleOutFabric
from app.estimating.estimate import Answer
from app.estimating.scenario import Scenario
from app.features.networks.model import (
    EXPOSED,
    AccumulationPoint,
    Algorithm,
    Collective,
    ExposedTime,
    Kind,
    NetworkMessage,
    Rung,
    Term,
    TermShare,
    TurningPoint,
)
from app.features.networks.options import NetworkOption
from app.features.networks.timing import NetworkTiming, gpu_system, hardware_on

ALGORITHMS: tuple[Algorithm, ...] = ("ring", "tree", "in_network")

PASSES: Mapping[Collective, float] = {"all_reduce": 2.0, "reduce_scatter": 1.0, "all_gather": 1.0}
"""Collective → passes of its data over a ring."""

ACCUMULATIONS = (1, 2, 4, 8, 16, 32, 64)
"""Micro-batches per step for which the advice is computed."""

SAME = 1e-3
"""Relative difference of two bandwidths below which networks are alike."""


def exposed_of(parts: Mapping[str, Floats], index: int = 0) -> ExposedTime:
    """Return the exposed communication of a step."""
    sizes = np.broadcast_shapes(*(np.shape(value) for value in parts.values()))
    flat = {name: float(np.ravel(np.broadcast_to(value, sizes))[index]) for name, value in parts.items()}
    seconds = {kind: flat.get(part, 0.0) for kind, part in EXPOSED.items()}
    return ExposedTime(**seconds, share=sum(seconds.values()) / sum(flat.values()))


@dataclass(frozen=True, slots=True)
class CollectiveTimer:
    """Times collectives on one machine and network."""

    case: Case
    stack: SoftwareStack

    def message(
        self, kind: Kind, collective: Collective, size: float, count: float, ranks: float, inside: float
    ) -> NetworkMessage:
        """Return a collective over ranks of which ``inside`` share a machine, without overlap."""
        inside = min(inside, ranks)
        links, network = self.case.links, self.stack.network
        algorithm: Algorithm
        if collective == "all_to_all":
            seconds = all_to_all_time(size, ranks, inside, links, network)
            algorithm = "pairs"
        else:
            seconds = collective_time(size, ranks, inside, links, network, PASSES[collective])
            algorithm = "ring"
            if collective == "all_reduce":
                algorithm = ALGORITHMS[int(allreduce_algorithm(size, ranks, inside, links, network))]
        return NetworkMessage(
            kind=kind,
            collective=collective,
            bytes=size,
            count=count,
            ranks=int(ranks),
            algorithm="in_machine" if ranks <= inside else algorithm,
            seconds=seconds,
            hidden=0.0,
        )


def messages_of(timing: NetworkTiming) -> list[NetworkMessage]:
    """Return the messages of one step of a plan on the fullest device, the largest kinds first."""
    scenario, plans = timing.decision.scenario, timing.plans
    gpu = scenario.gpu_case()
    timer = CollectiveTimer(gpu.case, gpu.stack)
    plan = record(Plan, plans.rows, 0)
    parts = {name: float(np.ravel(part)[0]) for name, part in scenario.step(plans).parts.items()}
    factor = float(np.ravel(scenario.time_factor())[0])
    messages = _gradient_messages(plan, timer, parts["data_comm"] / factor)
    if plan.tensor > 1:
        messages += _tensor_messages(plan, timer)
    # The parts of a step hold what was measured beside the model; so must the messages that they consist of.
    messages = [message.model_copy(update={"seconds": factor * message.seconds}) for message in messages]
    if plan.pipeline > 1:
        messages.append(_stage_message(plan, timer.case, parts["pipeline_comm"]))
    return [message for message in messages if message.count > 0 and message.ranks > 1 and message.bytes > 0]


def _gradient_messages(plan: Plan, timer: CollectiveTimer, exposed: float) -> list[NetworkMessage]:
    """Return the messages of gradients and weights, of which ``exposed`` seconds are not hidden."""
    weights = device_weights(timer.case, plan)
    layers = max(timer.case.depth, 1.0) * weights.share
    groups = [message_group(timer.case, plan, weights, False)]
    if plan.expert > 1:
        groups.append(message_group(timer.case, plan, weights, True))
    messages = [message for group in groups for message in _group_messages(group, plan, layers, timer)]
    sharding = Sharding(int(plan.sharding))
    exposed -= row_exchange_time(timer.case, plan, timer.stack)
    if sharding is Sharding.OPTIMIZER and plan.data > 1:
        exposed -= timer.stack.software.broadcast_latency * plan.sharding_ranks
    if sharding not in (Sharding.OPTIMIZER, Sharding.GRADIENTS):
        return _hiding(messages, _hidden_share(messages, exposed))
    # The software overlaps a fixed share of gathered weights; the rest of what is hidden is the reduction.
    overlap = timer.stack.software.overlap
    gathered = [message for message in messages if message.collective == "all_gather"]
    reduced = [message for message in messages if message.collective != "all_gather"]
    exposed -= _busy_seconds(gathered) * (1.0 - overlap)
    return [*_hiding(reduced, _hidden_share(reduced, exposed)), *_hiding(gathered, overlap)]


def _hiding(messages: Sequence[NetworkMessage], share: float) -> list[NetworkMessage]:
    return [message.model_copy(update={"hidden": share}) for message in messages]


def _busy_seconds(messages: Sequence[NetworkMessage]) -> float:
    return sum(message.count * message.seconds for message in messages)


def _hidden_share(messages: Sequence[NetworkMessage], exposed: float) -> float:
    busy = _busy_seconds(messages)
    return float(np.clip(1.0 - exposed / busy, 0.0, 1.0)) if busy else 0.0


def _group_messages(
    group: MessageGroup, plan: Plan, layers: float, timer: CollectiveTimer
) -> list[NetworkMessage]:
    """Return the messages of weights that are copied over the same ranks."""
    gradients, copied, stored, buckets, ranks, shards, inside = group
    sharding, accumulation = Sharding(int(plan.sharding)), plan.accumulation
    if sharding is Sharding.NONE:
        return [timer.message("data", "all_reduce", gradients / buckets, buckets, ranks, inside)]
    gathered = timer.message("data", "all_gather", copied, 1.0, shards, inside)
    if sharding is Sharding.OPTIMIZER:
        reduction: Collective = "all_reduce" if shards < ranks else "reduce_scatter"
        return [timer.message("data", reduction, gradients, 1.0, ranks, inside), gathered]
    between = timer.message("data", "all_reduce", gradients / shards, 1.0, ranks / shards, 1.0)
    if sharding is Sharding.GRADIENTS:
        scattered = timer.message("data", "reduce_scatter", gradients, accumulation, shards, inside)
        return [scattered, gathered, between]
    return [
        timer.message("data", "all_gather", stored / layers, 2.0 * layers * accumulation, shards, inside),
        timer.message("data", "reduce_scatter", gradients / layers, layers * accumulation, shards, inside),
        between,
    ]


def _tensor_messages(plan: Plan, timer: CollectiveTimer) -> list[NetworkMessage]:
    case = timer.case
    recompute = 2.0 if plan.recompute == Recompute.FULL else 1.0
    # Ranks that also split tokens gather them once more on the way back.
    volume = case.kernels.sequence_parallel_volume if plan.sequence_parallel > 0 else 1.0
    share = device_weights(case, plan).share
    return [
        timer.message(
            "tensor",
            "all_reduce",
            case.size * elements * plan.micro_batch,
            count * (recompute + 1.0) * volume * share * plan.accumulation,
            plan.tensor,
            case.links.devices,
        )
        for elements, count in case.messages.T.tolist()
    ]


def _stage_message(plan: Plan, case: Case, exposed: float) -> NetworkMessage:
    """Return the transfers between stages, of which ``exposed`` seconds are not hidden."""
    inside = plan.tensor * plan.pipeline * plan.data <= case.links.devices
    blocking = case.blocking_pipeline > 0
    count = 2.0 * plan.accumulation * plan.interleave
    return NetworkMessage(
        kind="pipeline",
        collective="send",
        bytes=stage_message_size(case, plan),
        count=count,
        ranks=2,
        algorithm="in_machine" if inside else "pairs",
        # A step waits for one direction, or for both where the software blocks.
        seconds=2.0 * exposed / count / (2.0 if blocking else 1.0),
        hidden=0.0 if blocking else 0.5,
    )


def on_fabrics(scenario: Scenario, fabrics: Sequence[ScaleOutFabric]) -> Scenario:
    """Return a scenario on several networks at once, along a first axis before that of plans."""
    assert isinstance(scenario.hardware, GpuSystem)
    names = ("port_bandwidth", "ports_per_node", "oversubscription")
    columns = {
        name: np.array([[float(getattr(fabric, name))] for fabric in fabrics])
        for name in (*names, "hop_latency", "tree_latency", "message_latency")
    }
    stacked = replace(fabrics[0], **columns)  # type: ignore[arg-type]
    return replace(scenario, hardware=replace(scenario.hardware, fabric=stacked), sampled=None)


def along(plans: Plans, accumulation: Sequence[float] | None = None) -> Plans:
    """Return a plan along a second axis, once or with several accumulations in place of its own."""
    row = {name: np.reshape(getattr(plans, name), (1, -1)) for name in Plans.__slots__}
    if accumulation is not None:
        row["accumulation"] = np.asarray(accumulation, dtype=float)[np.newaxis, :]
    return Plans(**row)


def step_seconds(answer: Answer, step: StepTime, plans: Plans) -> Floats:
    """Return step times of plans along a second axis on networks along the first, waits included. [s]"""
    total = np.asarray(step.total)
    rate = answer.request.assumptions.input_samples_per_second
    return np.maximum(total, plans.global_batch / (rate * answer.hardware.machines)) if rate else total


def terms_between(base: NetworkTiming, before: ScaleOutFabric, after: ScaleOutFabric) -> list[TermShare]:
    """Return the terms of the difference between two networks with one plan, the largest first.

    The bandwidth is changed first and then the latencies, so that the terms add up.
    """
    between = replace(
        before,
        port_bandwidth=after.port_bandwidth,
        ports_per_node=after.ports_per_node,
        oversubscription=after.oversubscription,
    )
    step = on_fabrics(base.decision.scenario, [before, between, after]).step(along(base.plans))
    parts = {name: np.broadcast_to(value, (3, 1))[:, 0] for name, value in step.parts.items()}
    data, tensor = parts["data_comm"], parts.get("tensor_comm", np.zeros(3))
    total = np.sum(list(parts.values()), axis=0)
    terms: dict[Term, float] = {
        "data_volume": float(data[0] - data[1]),
        "data_latency": float(data[1] - data[2]),
        "tensor_across_machines": float(tensor[0] - tensor[2]),
    }
    # Transfers between stages lengthen the slots of the bubble too.
    terms["pipeline_across_machines"] = float(total[0] - total[2]) - sum(terms.values())
    shares = [TermShare(term=term, seconds=saved) for term, saved in terms.items() if abs(saved) > 1e-12]
    return sorted(shares, key=lambda share: -abs(share.seconds))


@dataclass(frozen=True, slots=True)
class Counterfactual:
    """Gain of a faster network, and what it would be under other conditions."""

    gain: float
    without_overlap: float
    without_accumulation: float
    alike: bool
    """Whether both networks have the same bandwidth."""


def counterfactual(
    answer: Answer, base: NetworkTiming, slower: ScaleOutFabric, faster: ScaleOutFabric
) -> Counterfactual:
    """Return the gain of the faster network, also without overlap and without accumulation."""
    pair = on_fabrics(base.decision.scenario, [slower, faster])

    def gains(scenario: Scenario, plans: Plans) -> list[float]:
        seconds = step_seconds(answer, scenario.step(plans), plans)
        return [float(gain) for gain in np.ravel(relative_gain(seconds[0], seconds[1]))]

    once, usual = gains(pair, along(base.plans, [1.0, float(base.plans.accumulation[0])]))
    nothing_hidden = replace(pair, overrides={**pair.overrides, "overlap": 0.0})
    ratio = float(node_bandwidth(slower)) / float(node_bandwidth(faster))
    return Counterfactual(
        gain=usual,
        without_overlap=gains(nothing_hidden, along(base.plans))[0],
        without_accumulation=once,
        alike=abs(ratio - 1.0) < SAME,
    )


def turning_of(
    answer: Answer,
    base: NetworkTiming,
    rungs: Sequence[NetworkOption],
    threshold: float,
    pair: Sequence[ScaleOutFabric],
) -> TurningPoint:
    """Return where the advice changes along a ladder of networks and along accumulation.

    ``pair`` is the cheaper and the dearer network of the advice; empty if there is only one.
    """
    built = [(rung, gpu_system(hardware_on(answer, rung)).fabric) for rung in rungs]
    built.sort(key=lambda rung: (float(node_bandwidth(rung[1])), -rung[0].ports))
    fabrics = [fabric for _, fabric in built]
    plans = along(base.plans)
    step = on_fabrics(base.decision.scenario, fabrics).step(plans)
    seconds = step_seconds(answer, step, plans)[:, 0]
    enough = int(sufficient_rung(seconds, threshold))
    left = relative_gain(seconds, np.min(seconds))
    points = _along_accumulation(answer, base, fabrics, threshold, pair)
    return TurningPoint(
        rungs=[
            Rung(
                label=rung.label,
                fabric=rung.fabric,
                ports_per_node=rung.ports,
                node_bandwidth=float(node_bandwidth(fabric)),
                step_time=float(seconds[index]),
                exposed=exposed_of(step.parts, index),
                left_to_gain=float(left[index]),
                enough=index >= enough,
            )
            for index, (rung, fabric) in enumerate(built)
        ],
        turns_at=built[enough][0].label,
        accumulation=points,
        slowest_enough_from=next((point.accumulation for point in points if point.enough), None),
    )


def _along_accumulation(
    answer: Answer,
    base: NetworkTiming,
    ladder: Sequence[ScaleOutFabric],
    threshold: float,
    pair: Sequence[ScaleOutFabric],
) -> list[AccumulationPoint]:
    accumulations = sorted({*ACCUMULATIONS, int(base.plans.accumulation[0])})
    plans = along(base.plans, [float(count) for count in accumulations])
    step = on_fabrics(base.decision.scenario, [*ladder, *pair]).step(plans)
    seconds = step_seconds(answer, step, plans)
    gains = relative_gain(seconds[0], np.min(seconds[: len(ladder)], axis=0))
    paired = relative_gain(*seconds[len(ladder) :]) if pair else None
    return [
        AccumulationPoint(
            accumulation=accumulation,
            global_batch=int(np.ravel(plans.global_batch)[index]),
            # Networks come first: the slowest of them takes the first places.
            exposed_share=exposed_of(step.parts, index).share,
            ladder_gain=float(gains[index]),
            pair_gain=None if paired is None else float(paired[index]),
            enough=bool(gains[index] < threshold),
        )
        for index, accumulation in enumerate(accumulations)
    ]
