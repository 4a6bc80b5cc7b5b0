"""Which term makes the difference of two networks, and where along bandwidth and accumulation it turns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from app.engine.collectives import node_bandwidth
from app.engine.gains import relative_gain, sufficient_rung
from app.engine.plans import Plans
from app.engine.records import Fabric, Floats, GpuSystem
from app.sizing.fabric_choice.documents import AccumulationPoint, Rung, Term, TermShare, Turning
from app.sizing.fabric_choice.messages import exposed_of
from app.sizing.fabric_choice.options import NetworkOption
from app.sizing.fabric_choice.timing import Cluster
from app.sizing.scenario import Scenario

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
