"""One workload timed on each network: plans, runs and their samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from app.engine.arrays import first_seen
from app.engine.plans import PLAN_FIELDS, Plans
from app.engine.records import Floats, GpuSystem, ScaleOutFabric
from app.estimating.deciding import PlanDecision, decide, risk_of
from app.estimating.estimate import Answer
from app.estimating.hardware import Hardware
from app.estimating.plan_search import margin_price, memory_of
from app.estimating.ranges import common_normals, own_column, quantity, residual_factors
from app.estimating.regimes import regimes
from app.estimating.runtime import Run, run_figures, runs_of
from app.estimating.schema import Quantity
from app.features.networks.options import (
    NetworkOption,
    built_oversubscription,
    residual_normals,
    sampled_fabric,
)


def gpu_system(hardware: Hardware) -> GpuSystem:
    assert isinstance(hardware.engine, GpuSystem), "pods have no network to choose"
    return hardware.engine


def hardware_on(answer: Answer, network: NetworkOption) -> Hardware:
    """Return the machines on a network with its oversubscription as built."""
    ways = {"fabric": network.fabric, "ports_per_node": network.ports}
    hardware = answer.context.hardware.asked(answer.request.system.model_copy(update=ways))
    built = built_oversubscription(answer.context.catalog, answer.hardware, network)
    engine = gpu_system(hardware)
    return replace(hardware, engine=replace(engine, fabric=replace(engine.fabric, oversubscription=built)))


def decided(answer: Answer, network: NetworkOption) -> PlanDecision:
    """Return the workload with its requested or best plan on a network, and samples of the network."""
    hardware, context = hardware_on(answer, network), answer.context
    ports = {"fabric": network.fabric, "ports_per_node": network.ports}
    system = answer.request.system.model_copy(update=ports)
    request = answer.request.model_copy(update={"system": system})
    decision = decide(request, answer.profile, hardware, context)
    slot = context.hardware.slot(hardware.entry, network.fabric)
    engine = gpu_system(hardware)
    fabric = sampled_fabric(context.catalog, engine.fabric, slot, common_normals())
    return replace(decision, scenario=replace(decision.scenario, sampled=replace(engine, fabric=fabric)))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NetworkTiming:
    """A workload on one network."""

    network: NetworkOption
    decision: PlanDecision
    """With the requested plan, or the best on this network."""
    run: Run
    same_plan: Run
    """With the plan of the reference."""

    @property
    def plans(self) -> Plans:
        return self.decision.choice.plans

    @property
    def hardware(self) -> Hardware:
        """The system, with the machines that the plan leaves idle."""
        return replace(self.decision.hardware, idle_machines=self.decision.idle_machines)

    @property
    def fabric(self) -> ScaleOutFabric:
        """The central record of the network."""
        return gpu_system(self.decision.hardware).fabric

    @property
    def batch(self) -> float:
        """Samples per step."""
        return float(self.plans.global_batch[0])

    @property
    def throughput(self) -> Quantity:
        return quantity(self.batch / self.run.step_seconds, self.batch / self.run.step_samples, "samples/s")


def timed(answer: Answer, networks: Sequence[NetworkOption], own: NetworkOption) -> dict[str, NetworkTiming]:
    """Return the workload on each network by identifier, with its best plan and that of the own network."""
    decisions = with_best_plans(answer, [decided(answer, network) for network in networks])
    reference = decisions[networks.index(own)].choice.plans
    timings = {}
    for network, decision in zip(networks, decisions, strict=True):
        plans = decision.choice.plans
        run = _run_on(answer, decision, plans, reference)
        same = run if same_plans(plans, reference) else _run_on(answer, decision, reference, reference)
        timings[network.id] = NetworkTiming(network=network, decision=decision, run=run, same_plan=same)
    return timings


def with_best_plans(answer: Answer, decisions: Sequence[PlanDecision]) -> list[PlanDecision]:
    """Return the decisions on all networks, each with the best of the plans that were chosen on any of them.

    A plan of another network takes the place of the own if it is faster here and ranks better with its risk,
    or is at least as fast here as there: so a faster network never loses to a slower one.
    """
    own = Plans.joined([decision.choice.plans for decision in decisions])
    plans = own.take(first_seen(np.empty((0, len(PLAN_FIELDS))), own.rows))
    places = [int(np.flatnonzero((plans.rows == row).all(axis=1))[0]) for row in own.rows]
    seconds = np.array([_totals(answer, decision, plans) for decision in decisions])
    first = decisions[0]
    memory = np.ravel(first.scenario.memory(plans).total)
    price = margin_price(memory, memory_of(first.scenario.chip))
    rank = seconds * price * risk_of(first.scenario, answer.profile.family, answer.context)(plans)
    # The least time that each plan takes on the networks that chose it.
    there = np.full(len(plans.rows), -np.inf)
    for index, place in enumerate(places):
        there[place] = max(there[place], seconds[index, place])
    best = []
    for index, (decision, place) in enumerate(zip(decisions, places, strict=True)):
        mine, ranked = seconds[index], rank[index]
        better = (mine < mine[place]) & ((ranked < ranked[place]) | (mine <= there))
        chosen = int(np.argmin(np.where(better, mine, np.inf))) if better.any() else place
        taken = plans.take(np.array([chosen]))
        choice = replace(decision.choice, plans=taken, memory=decision.scenario.memory(taken))
        best.append(decision if chosen == place else replace(decision, choice=choice))
    return best


def _totals(answer: Answer, decision: PlanDecision, plans: Plans) -> Floats:
    """Return the times of whole runs of plans on the network of a decision. [s]"""
    figures = run_figures(
        decision.scenario,
        decision.training,
        answer.assumed,
        input_rate=answer.request.assumptions.input_samples_per_second,
        devices_per_machine=decision.hardware.entry.machine.devices,
    )
    step = decision.scenario.step(plans).total
    return figures.totals(plans, np.ascontiguousarray(np.broadcast_to(step, plans.tensor.shape)))


def _run_on(answer: Answer, decision: PlanDecision, plans: Plans, reference: Plans) -> Run:
    """Return the run of a plan on the network of a decision, central and as samples.

    Residual errors are those of the reference's plan on every network: each network could run that plan, so
    doubt about a plan says nothing about a network. The uncertainty of each network is its own.
    """
    scenario, training, context = decision.scenario, decision.training, answer.context
    names = regimes(scenario, reference, answer.profile.family, context.measured)
    column = own_column(scenario.chip, reference)
    normals = residual_normals(context.catalog, decision.hardware.fabric, column, common_normals())
    (run,) = runs_of(
        scenario,
        plans,
        training,
        machines=decision.machines_used,
        assumed=answer.assumed,
        input_rate=answer.request.assumptions.input_samples_per_second,
        factors=residual_factors(names, context.residuals, normals, scenario, reference),
        normals=common_normals(),
        run_deviation=training.target.scatter if training.target else 0.0,
    )
    return run


def same_plans(first: Plans, second: Plans) -> bool:
    return all(np.array_equal(getattr(first, name), getattr(second, name)) for name in Plans.__slots__)
