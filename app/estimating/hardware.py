"""Hardware of a scenario from the catalogue, and its reliability."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from app.catalog.catalog import Catalog
from app.catalog.defaults import ReliabilityDefaults
from app.catalog.entries import ChipKind, SystemEntry
from app.catalog.figures import Figure
from app.catalog.records import known_figure
from app.catalog.software import SoftwareCatalog
from app.engine.gpu.case import MASTER_BYTES, STATE_BYTES
from app.engine.plans import Plans
from app.engine.records import Floats, GpuSystem, Intra, IpuChip, ScaleOutFabric
from app.engine.units import DAY, GIGABYTE, MINUTE, TERABYTE
from app.errors import BadInput, Conflict, NotFound
from app.estimating.naming import finder
from app.estimating.request import AssumptionsInput, SystemInput
from app.estimating.validation.cases import MeasuredNetwork

DECILES = 2.0 * 1.2816
"""Standard deviations between the 10th and the 90th percentile of a normal distribution."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reliability:
    """Failures and checkpoints of a run on some machines."""

    rate: float
    """Of a job on one machine. [1/s]"""
    rate_deviation: float
    """Log-deviation of the rate."""
    growth: float
    """Exponent of the number of machines by which the rate of one of them grows."""
    taken_back: float
    """Share of the rate from machines that the provider takes back, which does not grow."""
    restart: float
    """From a failure until training resumes. [s]"""
    interval: float | None
    """Between checkpoints; the optimum after Daly where None. [s]"""
    bandwidth: float
    """From one machine to storage. [B/s]"""
    storage: float
    """Write bandwidth of shared storage of a stated size. [B/s]"""
    storage_per_machine: float
    """Write bandwidth per machine of shared storage that grows with the machines. [B/s]"""


def reliability(
    defaults: ReliabilityDefaults, assumptions: AssumptionsInput, interruptions: Figure | float = 0.0
) -> Reliability:
    """Return the requested failures and checkpoints, else the catalogue's."""
    for name in ("failures_per_1000_node_days", "restart_minutes", "checkpoint_minutes"):
        value = getattr(assumptions, name)
        least = 0.0 if name != "checkpoint_minutes" else 1e-3
        if value is not None and not least <= value <= 1e6:
            raise BadInput.at(
                f"assumptions.{name}",
                "must be between {least} and 1,000,000, not {value}",
                value=value,
                least=least,
            )
    figure = defaults.failure_rate
    deviation = log_deviation(figure)
    stated = assumptions.failures_per_1000_node_days
    failures = figure.si if stated is None else stated / (1000.0 * DAY)
    interrupted = interruptions if isinstance(interruptions, float) else interruptions.si
    spread = failures * (deviation if stated is None else 0.0)
    if not isinstance(interruptions, float):
        spread = math.hypot(spread, interrupted * log_deviation(interruptions))
    rate = failures + interrupted
    storage, storage_per_machine = storage_bandwidth(defaults, assumptions)
    return Reliability(
        rate=rate,
        rate_deviation=spread / rate if rate > 0 else 0.0,
        restart=defaults.restart.si
        if assumptions.restart_minutes is None
        else assumptions.restart_minutes * MINUTE,
        interval=None if assumptions.checkpoint_minutes is None else assumptions.checkpoint_minutes * MINUTE,
        growth=defaults.failure_growth.si if stated is None else 0.0,
        taken_back=interrupted / rate if rate > 0 else 0.0,
        bandwidth=defaults.checkpoint_bandwidth.si,
        storage=storage,
        storage_per_machine=storage_per_machine,
    )


def storage_bandwidth(defaults: ReliabilityDefaults, assumptions: AssumptionsInput) -> tuple[float, float]:
    """Return the write bandwidth of shared storage: in total if its size is stated, else per machine. [B/s]

    Storage that is counted has the bandwidth of its size; without any, that of a reference architecture.
    """
    if assumptions.storage_tb:
        return assumptions.storage_tb * TERABYTE * defaults.storage_write_rate.si, 0.0
    if assumptions.include is not None and "storage" in assumptions.include:
        return 0.0, defaults.storage_per_node.si * defaults.storage_write_rate.si
    return 0.0, defaults.storage_bandwidth.si


def log_deviation(figure: Figure) -> float:
    """Return the log-deviation of a figure whose low and high are its 10th and 90th percentile."""
    return math.log(figure.si_high / figure.si_low) / DECILES


def checkpointed_bytes(optimizer: str) -> float:
    """Return the bytes of a checkpoint per parameter: half-precision and master weights, and the state."""
    return 2.0 + MASTER_BYTES + STATE_BYTES[optimizer]


BRIDGE = "BRIDGE"
"""Marks the interconnect of PCIe machines whose GPUs are joined in pairs."""


def known_id(catalog: Catalog, kind: str, name: str, field: str) -> str:
    """Return an identifier of the catalogue; else raise NotFound with close ones at ``field``."""
    item = catalog.items.get(name)
    if item is None or kind not in item.kinds:
        meant = finder(kind).find(name) if kind in {"system", "fabric"} else ()
        raise NotFound.named(kind, name, catalog.names(kind), field, meant)
    return name


@dataclass(frozen=True, slots=True)
class Hardware:
    """A system as it is bought, with its engine record."""

    entry: SystemEntry
    count: int
    engine: GpuSystem | IpuChip
    fabric: str
    ports_per_node: int
    accelerators: int | None = None
    """Those used, where they are fewer than the machines hold."""
    idle_machines: int = 0
    """Machines that the plan leaves idle: a run is charged for what it occupies."""

    @property
    def occupied(self) -> int:
        """Systems of which a machine at least has work."""
        return -(-(self.machines - self.idle_machines) // self.entry.machines)

    @property
    def devices_nearby(self) -> int:
        """Devices joined by fast links, across machines too."""
        if isinstance(self.engine, IpuChip):
            return self.entry.machine.devices
        return min(self.engine.machine.devices, self.devices)

    def machines_used(self, plans: Plans) -> Floats:
        """Return the machines that the devices of each plan fill."""
        return np.ceil(plans.devices / self.entry.machine.devices)

    @property
    def machines(self) -> int:
        return self.count * self.entry.machines

    @property
    def devices(self) -> int:
        return self.accelerators or self.machines * self.entry.machine.devices

    def using(self, accelerators: int | None) -> Hardware:
        """Return the system with so many accelerators in use; refuse more than there are, or none."""
        held = self.machines * self.entry.machine.devices
        if accelerators is None:
            return self
        if not held - self.entry.devices < accelerators <= held:
            raise Conflict.at(
                "system.accelerators",
                "{count} × {system} holds {held} accelerators, not {given}; enter at most as many, and some "
                "of every system",
                count=self.count,
                system=self.entry.name,
                held=held,
                given=accelerators,
            )
        return replace(self, accelerators=accelerators)


@dataclass(frozen=True, slots=True)
class HardwareFinder:
    catalog: Catalog
    software: SoftwareCatalog

    @lru_cache(maxsize=512)  # noqa: B019  (a finder is a value: what it finds is of its catalogue)
    def system(
        self,
        system_id: str,
        count: int,
        fabric: str | None = None,
        ports_per_node: int | None = None,
        streaming_memory_gb: float | None = None,
    ) -> Hardware:
        """Return ``count`` systems of the catalogue, on their own fabric or another."""
        entry = self.catalog.system(known_id(self.catalog, "system", system_id, "system.id"))
        if count < 1:
            raise BadInput.at("system.count", "there must be at least 1 system, not {count}", count=count)
        if count * entry.machines * entry.machine.devices > MOST_DEVICES:
            raise BadInput.at(
                "system.count",
                "{count} × {system} exceeds {most} accelerators; reduce the count",
                count=count,
                system=entry.name,
                most=MOST_DEVICES,
            )
        memory = None if streaming_memory_gb is None else streaming_memory_gb * GIGABYTE
        if memory is not None and memory <= 0:
            raise BadInput.at(
                "system.streaming_memory_gb", "must be above 0 GB, not {value} GB", value=streaming_memory_gb
            )
        if entry.machine.chip.kind is ChipKind.IPU:
            if fabric not in (None, entry.fabric):
                raise Conflict.at(
                    "system.fabric",
                    "{system} is connected by IPU-Links and GW-Links; leave the fabric empty or use {fabric}",
                    system=entry.name,
                    fabric=entry.fabric,
                )
            return Hardware(entry, count, self._ipu(entry, memory), entry.fabric, entry.ports_per_node)
        name = entry.fabric if fabric is None else known_id(self.catalog, "fabric", fabric, "system.fabric")
        if name == "ipu-fabric":
            raise Conflict.at("system.fabric", "{fabric} connects IPUs only", fabric=name)
        ports = entry.ports_per_node if ports_per_node is None else ports_per_node
        if ports < 1:
            raise BadInput.at(
                "system.ports_per_node", "there must be at least 1 port, not {ports}", ports=ports
            )
        if ports > MOST_PORTS:
            raise BadInput.at(
                "system.ports_per_node",
                "a machine takes at most {most} ports, not {ports}",
                ports=ports,
                most=MOST_PORTS,
            )
        nearby = self.catalog.domain_devices(entry.id)
        gpu = self._gpu(entry, nearby, self.network(entry, name, ports))
        if memory is not None:
            gpu = replace(gpu, host_memory=memory / entry.machine.devices)
        return Hardware(entry, count, gpu, name, ports)

    def asked(self, system: SystemInput) -> Hardware:
        """Return the systems of a request, with as many accelerators as it uses."""
        hardware = self.system(
            system.id, system.count, system.fabric, system.ports_per_node, system.streaming_memory_gb
        )
        return hardware.using(system.accelerators)

    def measured(
        self,
        system_id: str,
        devices: int,
        devices_per_node: int,
        network: MeasuredNetwork | None,
        interconnect: str,
    ) -> GpuSystem | IpuChip:
        """Return the hardware of a measured run, with as many devices per machine as it had."""
        entry = self.catalog.system(system_id)
        if entry.machine.chip.kind is ChipKind.IPU:
            return self._ipu(entry)
        fabric, ports = entry.fabric, entry.ports_per_node
        if network is not None:
            fabric, ports = network.fabric, network.ports or ports
        bridged = BRIDGE in interconnect.upper()
        nearby = self.catalog.domain_devices(entry.id)
        if nearby > entry.machine.devices:
            devices_per_node = min(nearby, devices)
        elif self.catalog.machine(entry.id, None).intra is not Intra.PCIE:
            # More than a machine holds were several, whatever the row calls a node.
            devices_per_node = min(devices_per_node, entry.machine.devices)
        return self._gpu(entry, devices_per_node, self.catalog.fabric(fabric, ports), bridged=bridged)

    def network(
        self, entry: SystemEntry, fabric: str, ports: int, oversubscription: float = 1.0
    ) -> ScaleOutFabric:
        """Return a fabric with its ports limited to the slots of a machine's adapters."""
        fabric_record = self.catalog.fabric(fabric, ports, oversubscription)
        return replace(
            fabric_record, port_bandwidth=min(float(fabric_record.port_bandwidth), self.slot(entry, fabric))
        )

    def slot(self, entry: SystemEntry, fabric: str) -> float:
        """Return the bandwidth of a machine's slots per port of a fabric. [B/s]"""
        adapters = self.catalog.find(fabric, "adapters")
        return self.host_bandwidth(entry) * (adapters.si if adapters else 1.0)

    def host_bandwidth(self, entry: SystemEntry) -> float:
        """Return the bandwidth of a machine's slots, over which a device reaches its host. [B/s]"""
        link = known_figure(self.catalog, "machine", entry.machine.id, "adapter_slot")
        return self.catalog.figure(link.text, "best_bus_bandwidth").si

    def _ipu(self, entry: SystemEntry, streaming_memory: float | None = None) -> IpuChip:
        chip = self.catalog.ipu_chip(entry.machine.chip.id, streaming_memory)
        return chip._replace(host_devices=entry.devices / entry.hosts)

    def _gpu(
        self, entry: SystemEntry, devices: int, fabric: ScaleOutFabric, *, bridged: bool = False
    ) -> GpuSystem:
        fitted = entry.machine.devices
        usual = self.catalog.machine(entry.id, None, bridged)
        if devices > fitted and usual.intra is Intra.PCIE:
            # More boards behind the same root share its bandwidth.
            machine = replace(usual, devices=devices, bus_bandwidth=usual.bus_bandwidth * fitted / devices)
        else:
            machine = self.catalog.machine(entry.id, devices, bridged)
        if usual.devices > fitted:
            # All machines that the fast links join bring their ports.
            fabric = replace(fabric, ports_per_node=fabric.ports_per_node * max(devices / fitted, 1.0))
        return GpuSystem(
            chip=self.catalog.gpu_chip(entry.machine.chip.id),
            kernels=self.software.kernels,
            machine=machine,
            fabric=fabric,
            host_devices=float(min(devices, fitted) if usual.devices > fitted else devices),
            host_memory=self.catalog.host_memory(entry.id) / fitted,
            host_bandwidth=self.host_bandwidth(entry),
            host_memory_bandwidth=self.catalog.host_memory_bandwidth(entry.id) / fitted,
        )


MOST_DEVICES = 65_536
"""Largest number of accelerators; that of the largest IPU system Graphcore describes."""
MOST_PORTS = 32
"""Ports of a machine's fabric; eight accelerators with three on the chip have 24."""
