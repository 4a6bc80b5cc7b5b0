"""Which term makes the difference of two networks, and where along bandwidth and accumulation it turns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from app.compiled import record
from app.engine.collectives import (
    Links,
    Network,
    all_to_all_time,
    collective_time,
    node_bandwidth,
    takes_tree,
)
from app.engine.comparison import relative_gain, sufficient_rung
from app.engine.gpu.case import Case, Software
from app.engine.gpu.collectives import MessageGroup, device_weights, message_group
from app.engine.gpu.step import row_exchange_time, stage_message_size
from app.engine.plans import Plan, Plans, Recompute, Sharding
from app.engine.records import Fabric, Floats, GpuSystem
from app.estimating.scenario import Scenario
from app.features.networks.model import (
    AccumulationPoint,
    Collective,
    Exposed,
    Kind,
    NetworkMessage,
    Rung,
    Term,
    TermShare,
    Turning,
)
from app.features.networks.options import NetworkOption
from app.features.networks.timing import Cluster

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
    post = CollectiveTimer(case.case, case.software)
    plan = record(Plan, plans.rows, 0)
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


ACCUMULATIONS = (1, 2, 4, 8, 16, 32, 64)
"""Micro-batches per step along which the advice is followed."""

SAME = 1e-3
"""Relative difference of two bandwidths below which networks are alike."""


def stacked(fabrics: Sequence[Fabric]) -> Fabric:
    """Return several networks as one record, along a first axis before that of plans."""

    def column(name: str) -> Floats:
        return np.array([[float(getattr(fabric, name))] for fabric in fabrics])

    names = ("port_bandwidth", "ports_per_node", "hop_latency", "tree_latency", "message_latency")
    return replace(
        fabrics[0],
        **{name: column(name) for name in (*names, "oversubscription")},  # type: ignore[arg-type]
    )


def on_fabrics(scenario: Scenario, fabrics: Sequence[Fabric]) -> Scenario:
    """Return a scenario on several networks at once."""
    assert isinstance(scenario.hardware, GpuSystem)
    return replace(scenario, hardware=replace(scenario.hardware, fabric=stacked(fabrics)), sampled=None)


def fabric_of(cluster: Cluster, network: NetworkOption) -> Fabric:
    """Return the central record of a network."""
    engine = cluster.on(network).engine
    assert isinstance(engine, GpuSystem)
    return engine.fabric


def along(plans: Plans, accumulation: Sequence[float] | None = None) -> Plans:
    """Return a plan along a second axis, once or with several accumulations in place of its own."""
    row = {name: np.reshape(getattr(plans, name), (1, -1)) for name in Plans.__slots__}
    if accumulation is not None:
        row["accumulation"] = np.asarray(accumulation, dtype=float)[np.newaxis, :]
    return Plans(**row)


def step_seconds(cluster: Cluster, scenario: Scenario, plans: Plans) -> Floats:
    """Return step times of plans along a second axis on networks along the first, waits included. [s]"""
    total = np.asarray(scenario.step(plans).total)
    rate = cluster.request.assumptions.input_samples_per_second
    if not rate:
        return total
    return np.maximum(total, plans.global_batch / (rate * cluster.hardware.machines))


def terms_between(
    cluster: Cluster, scenario: Scenario, plans: Plans, slower: NetworkOption, faster: NetworkOption
) -> list[TermShare]:
    """Return what the difference of two networks consists of with one plan, the largest first.

    The bandwidth is changed first and the latencies after it, so that the two add up.
    """
    before, after = fabric_of(cluster, slower), fabric_of(cluster, faster)
    between = replace(
        before,
        port_bandwidth=after.port_bandwidth,
        ports_per_node=after.ports_per_node,
        oversubscription=after.oversubscription,
    )
    step = on_fabrics(scenario, [before, between, after]).step(along(plans))
    shape = (3, 1)
    parts = {name: np.broadcast_to(value, shape)[:, 0] for name, value in step.parts.items()}
    data = parts["data_comm"]
    tensor = parts.get("tensor_comm", np.zeros(3))
    total = np.sum(list(parts.values()), axis=0)
    found: dict[Term, float] = {
        "data_volume": float(data[0] - data[1]),
        "data_latency": float(data[1] - data[2]),
        "tensor_across_machines": float(tensor[0] - tensor[2]),
    }
    # Transfers between stages lengthen the slots of the bubble too.
    found["pipeline_across_machines"] = float(total[0] - total[2]) - sum(found.values())
    shares = [
        TermShare(term=term, seconds=seconds) for term, seconds in found.items() if abs(seconds) > 1e-12
    ]
    return sorted(shares, key=lambda one: -abs(one.seconds))


@dataclass(frozen=True, slots=True)
class Counterfactual:
    """What a faster network would gain otherwise."""

    gain: float
    without_overlap: float
    without_accumulation: float
    alike: bool
    """True where both networks have the same bandwidth."""


def counterfactuals(
    cluster: Cluster, scenario: Scenario, plans: Plans, slower: NetworkOption, faster: NetworkOption
) -> Counterfactual:
    """Return what the faster network gains, and would gain with nothing hidden and nothing accumulated."""
    fabrics = [fabric_of(cluster, slower), fabric_of(cluster, faster)]
    pair = on_fabrics(scenario, fabrics)
    accumulated = along(plans, [1.0, float(plans.accumulation[0])])
    once, usual = _gains(cluster, pair, accumulated)
    shown = replace(pair, overrides={**pair.overrides, "overlap": 0.0})
    bandwidths = [float(node_bandwidth(fabric)) for fabric in fabrics]
    return Counterfactual(
        gain=usual,
        without_overlap=_gains(cluster, shown, along(plans))[0],
        without_accumulation=once,
        alike=abs(bandwidths[0] / bandwidths[1] - 1.0) < SAME,
    )


def _gains(cluster: Cluster, pair: Scenario, plans: Plans) -> list[float]:
    seconds = step_seconds(cluster, pair, plans)
    return [float(gain) for gain in np.ravel(relative_gain(seconds[0], seconds[1]))]


def turning_of(
    cluster: Cluster,
    scenario: Scenario,
    plans: Plans,
    rungs: Sequence[NetworkOption],
    threshold: float,
    pair: tuple[NetworkOption, NetworkOption] | None,
) -> Turning:
    """Return where the advice turns along a ladder of networks and along accumulation."""
    known = {rung: fabric_of(cluster, rung) for rung in rungs}
    order = sorted(rungs, key=lambda rung: (float(node_bandwidth(known[rung])), -rung.ports))
    fabrics = [known[rung] for rung in order]
    step = on_fabrics(scenario, fabrics).step(along(plans))
    seconds = step_seconds(cluster, on_fabrics(scenario, fabrics), along(plans))[:, 0]
    enough = int(sufficient_rung(seconds, threshold))
    left = relative_gain(seconds, np.min(seconds))
    found = [
        Rung(
            label=rung.label,
            fabric=rung.fabric,
            ports_per_node=rung.ports,
            node_bandwidth=float(node_bandwidth(fabrics[place])),
            step_time=float(seconds[place]),
            exposed=exposed_of(step.parts, place),
            left_to_gain=float(left[place]),
            enough=place >= enough,
        )
        for place, rung in enumerate(order)
    ]
    points = _along_accumulation(cluster, scenario, plans, fabrics, threshold, pair)
    return Turning(
        rungs=found,
        turns_at=found[enough].label,
        accumulation=points,
        slowest_enough_from=next((one.accumulation for one in points if one.enough), None),
    )


def _along_accumulation(
    cluster: Cluster,
    scenario: Scenario,
    plans: Plans,
    fabrics: Sequence[Fabric],
    threshold: float,
    pair: tuple[NetworkOption, NetworkOption] | None,
) -> list[AccumulationPoint]:
    own = int(plans.accumulation[0])
    accumulations = sorted({*ACCUMULATIONS, own})
    row = along(plans, [float(count) for count in accumulations])
    chosen = [] if pair is None else [fabric_of(cluster, network) for network in pair]
    several = on_fabrics(scenario, [*fabrics, *chosen])
    step = several.step(row)
    seconds = step_seconds(cluster, several, row)
    count = len(fabrics)
    gains = relative_gain(seconds[0], np.min(seconds[:count], axis=0))
    paired = relative_gain(seconds[count], seconds[count + 1]) if chosen else None
    return [
        AccumulationPoint(
            accumulation=accumulation,
            global_batch=int(np.ravel(row.global_batch)[place]),
            # Networks come first: the slowest of them takes the first places.
            exposed_share=exposed_of(step.parts, place).share,
            ladder_gain=float(gains[place]),
            pair_gain=None if paired is None else float(paired[place]),
            enough=bool(gains[place] < threshold),
        )
        for place, accumulation in enumerate(accumulations)
    ]
