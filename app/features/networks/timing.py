"""One workload timed on each network: plans, runs and their samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from app.engine.collectives import node_bandwidth
from app.engine.plans import Plans
from app.engine.records import Floats, GpuSystem
from app.estimating.context import SizingContext
from app.estimating.deciding import Decision, decide
from app.estimating.hardware import Hardware, Reliability
from app.estimating.ranges import own_column, residual_samples, scatter_of
from app.estimating.regimes import regimes
from app.estimating.request import EstimateRequest
from app.estimating.runtime import Run, runs_of
from app.estimating.scenario import Scenario
from app.features.networks.options import (
    NetworkOption,
    built_oversubscription,
    residual_normals,
    sampled_fabric,
)
from app.profiles.model import ModelProfile


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """What all networks share: workload, machines, assumptions and random numbers."""

    request: EstimateRequest
    profile: ModelProfile
    hardware: Hardware
    context: SizingContext
    assumed: Reliability
    normals: Mapping[str, Floats]

    @property
    def system(self) -> GpuSystem:
        """The machine with the network of the estimate."""
        engine = self.hardware.engine
        assert isinstance(engine, GpuSystem)
        return engine

    def on(self, network: NetworkOption) -> Hardware:
        """Return the machines on a network, as far oversubscribed as its switches make it."""
        entry = self.hardware.entry
        built = built_oversubscription(self.context.catalog, entry, self.hardware.machines, network)
        fabric = self.context.hardware.network(entry, network.fabric, network.ports, built)
        return replace(
            self.hardware,
            engine=replace(self.system, fabric=fabric),
            fabric=network.fabric,
            ports_per_node=network.ports,
        )

    def decided(self, network: NetworkOption) -> Decision:
        """Return the workload with its best plan on a network; a plan that was given stays."""
        system = self.request.system.model_copy(
            update={"fabric": network.fabric, "ports_per_node": network.ports}
        )
        request = self.request.model_copy(update={"system": system})
        sizing = decide(request, self.profile, self.on(network), self.context)
        return replace(sizing, scenario=self.sampled(sizing.scenario, network))

    def sampled(self, scenario: Scenario, network: NetworkOption) -> Scenario:
        """Return a scenario on a network with samples of what is uncertain of it."""
        engine = self.on(network).engine
        assert isinstance(engine, GpuSystem)
        slot = self.context.hardware.slot(self.hardware.entry, network.fabric)
        drawn = sampled_fabric(self.context.catalog, engine.fabric, slot, self.normals)
        return replace(scenario, hardware=engine, sampled=replace(engine, fabric=drawn))


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
    """A workload on one network."""

    network: NetworkOption
    sizing: Decision
    """With the plan that is best here, or that was given."""
    run: Run
    same_plan: Run
    """With the plan of the reference."""

    @property
    def plans(self) -> Plans:
        """The plan."""
        return self.sizing.choice.plans

    @property
    def batch(self) -> float:
        """Samples per step."""
        return float(self.plans.global_batch[0])


def run_on(cluster: Cluster, sizing: Decision, plans: Plans, reference: Plans) -> Run:
    """Return the run of a plan on the network of a sizing, central and as samples.

    What the software's figures do not explain is that of the reference's plan on every network: each of them
    could run it, so the doubt about a plan says nothing about a network. What is uncertain of a network is
    its own.
    """
    scenario, training, context = sizing.scenario, sizing.training, cluster.context
    names = regimes(scenario, reference, cluster.profile.family, context.measured)
    column = own_column(scenario.chip.name, reference)
    normals = residual_normals(context.catalog, sizing.hardware.fabric, column, cluster.normals)
    factors = residual_samples(names, context.residuals, normals, column, scatter_of(scenario.software))
    (run,) = runs_of(
        scenario,
        plans,
        training,
        machines=sizing.machines_used,
        assumed=cluster.assumed,
        input_rate=cluster.request.assumptions.input_samples_per_second,
        factors=factors,
        normals=cluster.normals,
        run_deviation=training.target.scatter if training.target else 0.0,
    )
    return run


def timed(cluster: Cluster, networks: Sequence[NetworkOption], reference: Plans) -> list[Timed]:
    """Return the workload on each network, with its own best plan and with that of the reference."""
    found = []
    for network in networks:
        sizing = cluster.decided(network)
        plans = sizing.choice.plans
        run = run_on(cluster, sizing, plans, reference)
        same = run if same_plans(plans, reference) else run_on(cluster, sizing, reference, reference)
        found.append(Timed(network=network, sizing=sizing, run=run, same_plan=same))
    return found


def same_plans(first: Plans, second: Plans) -> bool:
    """Tell whether two plans are one."""
    return all(np.array_equal(getattr(first, name), getattr(second, name)) for name in Plans.__slots__)


def bandwidth_of(scenario: Scenario) -> tuple[float, Floats]:
    """Return what one machine reaches into its network, central and as samples. [B/s]"""
    assert isinstance(scenario.hardware, GpuSystem) and scenario.sampled is not None
    return float(node_bandwidth(scenario.hardware.fabric)), node_bandwidth(scenario.sampled.fabric)
