"""One workload timed on each network: plans, runs and their samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from app.engine.plans import Plans
from app.engine.records import Floats, GpuSystem, ScaleOutFabric
from app.estimating.context import SizingContext
from app.estimating.deciding import PlanDecision, decide
from app.estimating.hardware import Hardware, Reliability
from app.estimating.ranges import own_column, quantity, residual_factors
from app.estimating.regimes import regimes
from app.estimating.request import EstimateRequest
from app.estimating.runtime import Run, runs_of
from app.estimating.schema import Quantity
from app.features.networks.options import (
    NetworkOption,
    built_oversubscription,
    residual_normals,
    sampled_fabric,
)
from app.profiles.model import ModelProfile


def gpu_system(hardware: Hardware) -> GpuSystem:
    assert isinstance(hardware.engine, GpuSystem), "pods have no network to choose"
    return hardware.engine


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """What all networks share: workload, machines, assumptions and random numbers."""

    request: EstimateRequest
    profile: ModelProfile
    hardware: Hardware
    context: SizingContext
    assumed: Reliability
    normals: Mapping[str, Floats]

    def on(self, network: NetworkOption) -> Hardware:
        """Return the machines on a network with its oversubscription as built."""
        built = built_oversubscription(self.context.catalog, self.hardware, network)
        fabric = self.context.hardware.network(self.hardware.entry, network.fabric, network.ports, built)
        return replace(
            self.hardware,
            engine=replace(gpu_system(self.hardware), fabric=fabric),
            fabric=network.fabric,
            ports_per_node=network.ports,
        )

    def decided(self, network: NetworkOption) -> PlanDecision:
        """Return the workload with its requested or best plan on a network, and samples of the network."""
        hardware = self.on(network)
        ports = {"fabric": network.fabric, "ports_per_node": network.ports}
        system = self.request.system.model_copy(update=ports)
        request = self.request.model_copy(update={"system": system})
        decision = decide(request, self.profile, hardware, self.context)
        slot = self.context.hardware.slot(hardware.entry, network.fabric)
        engine = gpu_system(hardware)
        fabric = sampled_fabric(self.context.catalog, engine.fabric, slot, self.normals)
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


def timed(cluster: Cluster, networks: Sequence[NetworkOption], reference: Plans) -> dict[str, NetworkTiming]:
    """Return the workload on each network by identifier, with its best plan and the reference's."""
    timings = {}
    for network in networks:
        decision = cluster.decided(network)
        plans = decision.choice.plans
        run = _run_on(cluster, decision, plans, reference)
        same = run if same_plans(plans, reference) else _run_on(cluster, decision, reference, reference)
        timings[network.id] = NetworkTiming(network=network, decision=decision, run=run, same_plan=same)
    return timings


def _run_on(cluster: Cluster, decision: PlanDecision, plans: Plans, reference: Plans) -> Run:
    """Return the run of a plan on the network of a decision, central and as samples.

    Residual errors are those of the reference's plan on every network: each network could run that plan, so
    doubt about a plan says nothing about a network. The uncertainty of each network is its own.
    """
    scenario, training, context = decision.scenario, decision.training, cluster.context
    names = regimes(scenario, reference, cluster.profile.family, context.measured)
    column = own_column(scenario.chip, reference)
    normals = residual_normals(context.catalog, decision.hardware.fabric, column, cluster.normals)
    (run,) = runs_of(
        scenario,
        plans,
        training,
        machines=decision.machines_used,
        assumed=cluster.assumed,
        input_rate=cluster.request.assumptions.input_samples_per_second,
        factors=residual_factors(names, context.residuals, normals, scenario, reference),
        normals=cluster.normals,
        run_deviation=training.target.scatter if training.target else 0.0,
    )
    return run


def same_plans(first: Plans, second: Plans) -> bool:
    return all(np.array_equal(getattr(first, name), getattr(second, name)) for name in Plans.__slots__)
