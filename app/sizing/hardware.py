"""Hardware of a scenario from the catalogue: chip, machine and fabric of a system."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from app.catalog import Catalog, ChipKind, SystemEntry
from app.catalog.software import SoftwareCatalog
from app.engine.plans import Plans
from app.engine.records import Fabric, Floats, GpuSystem, Intra, IpuChip
from app.engine.units import GIGABYTE
from app.errors import BadInput, Conflict, NotFound

BRIDGE = "BRIDGE"
"""Word in the description of a PCIe machine whose GPUs are joined in pairs."""


def known_id(catalog: Catalog, kind: str, name: str, field: str) -> str:
    """Return an identifier of the catalogue, or name its close relatives at the field it came in."""
    known = catalog.names(kind)
    if name not in known:
        raise NotFound.named(kind, name, known, field)
    return name


@dataclass(frozen=True, slots=True, kw_only=True)
class Hardware:
    """A system as it is bought, and what the engine needs of it."""

    entry: SystemEntry
    count: int
    engine: GpuSystem | IpuChip
    fabric: str
    ports_per_node: int
    devices_per_machine: int

    def machines_used(self, plans: Plans) -> Floats:
        """Return the machines that the devices of each plan fill."""
        return np.ceil(plans.devices / self.devices_per_machine)

    @property
    def machines(self) -> int:
        """Accelerated machines in all."""
        return self.count * self.entry.machines

    @property
    def devices(self) -> int:
        """Accelerators in all."""
        return self.machines * self.devices_per_machine


@dataclass(frozen=True, slots=True)
class HardwareFinder:
    """Finds hardware in the catalogue."""

    catalog: Catalog
    software: SoftwareCatalog

    def system(
        self,
        system_id: str,
        count: int,
        fabric: str | None = None,
        ports_per_node: int | None = None,
        streaming_memory_gb: float | None = None,
    ) -> Hardware:
        """Return ``count`` systems of the catalogue, on its fabric or another."""
        entry = self.catalog.system(known_id(self.catalog, "system", system_id, "system.id"))
        if count < 1:
            raise BadInput.at("system.count", "{count} systems: at least 1 is needed", count=count)
        if count * entry.machines * entry.devices_per_machine > MOST_DEVICES:
            raise BadInput.at(
                "system.count",
                "{count} × {system} are more than {most} accelerators; ask for fewer",
                count=count,
                system=entry.name,
                most=MOST_DEVICES,
            )
        if entry.chip_kind is ChipKind.IPU:
            if fabric not in (None, entry.fabric):
                raise Conflict.at(
                    "system.fabric",
                    "{system} is joined by IPU-Links and GW-Links; leave the fabric out or give {fabric}",
                    system=entry.name,
                    fabric=entry.fabric,
                )
            memory = None if streaming_memory_gb is None else streaming_memory_gb * GIGABYTE
            if memory is not None and memory <= 0:
                raise BadInput.at(
                    "system.streaming_memory_gb",
                    "{value} GB: more than 0 is needed",
                    value=streaming_memory_gb,
                )
            return Hardware(
                entry=entry,
                count=count,
                engine=self.catalog.ipu_chip(entry.chip, memory),
                fabric=entry.fabric,
                ports_per_node=entry.ports_per_node,
                devices_per_machine=entry.devices_per_machine,
            )
        if streaming_memory_gb is not None:
            raise BadInput.at(
                "system.streaming_memory_gb",
                "{system} has no streaming memory, which is that of IPU systems; leave it out",
                system=entry.name,
            )
        name = entry.fabric if fabric is None else known_id(self.catalog, "fabric", fabric, "system.fabric")
        if name == "ipu-fabric":
            raise Conflict.at("system.fabric", "{fabric} joins IPUs only", fabric=name)
        ports = entry.ports_per_node if ports_per_node is None else ports_per_node
        if ports < 1:
            raise BadInput.at("system.ports_per_node", "{ports} ports: at least 1 is needed", ports=ports)
        if ports > MOST_PORTS:
            raise BadInput.at(
                "system.ports_per_node",
                "{ports} ports: at most {most} fit a machine",
                ports=ports,
                most=MOST_PORTS,
            )
        return Hardware(
            entry=entry,
            count=count,
            engine=self._gpu(entry, entry.devices_per_machine, self.network(entry, name, ports)),
            fabric=name,
            ports_per_node=ports,
            devices_per_machine=entry.devices_per_machine,
        )

    def measured(
        self, system_id: str, devices_per_node: int, network: Mapping[str, str] | None, interconnect: str
    ) -> GpuSystem | IpuChip:
        """Return the hardware a measured run names, with as many devices in a machine as it had."""
        entry = self.catalog.system(system_id)
        if entry.chip_kind is ChipKind.IPU:
            return self.catalog.ipu_chip(entry.chip)
        fabric, ports = entry.fabric, entry.ports_per_node
        if network is not None:
            fabric, ports = network["fabric"], int(network["ports"])
        bridged = BRIDGE in interconnect.upper()
        return self._gpu(entry, devices_per_node, self.catalog.fabric(fabric, ports), bridged=bridged)

    def network(self, entry: SystemEntry, fabric: str, ports: int, oversubscription: float = 1.0) -> Fabric:
        """Return a fabric as a machine sees it: a port is no faster than the slot of its adapters."""
        found = self.catalog.fabric(fabric, ports, oversubscription)
        return replace(found, port_bandwidth=min(float(found.port_bandwidth), self.slot(entry, fabric)))

    def slot(self, entry: SystemEntry, fabric: str) -> float:
        """Return what a machine's slots carry for a port of a fabric; infinite where not known. [B/s]"""
        link = self.catalog.find(entry.machine, "adapter_slot")
        adapters = self.catalog.find(fabric, "adapters")
        if link is None:
            return math.inf
        return self.catalog.figure(link.text, "best_bus_bandwidth").si * (adapters.si if adapters else 1.0)

    def _gpu(self, entry: SystemEntry, devices: int, fabric: Fabric, *, bridged: bool = False) -> GpuSystem:
        fitted = entry.devices_per_machine
        usual = self.catalog.machine(entry.id, fitted, bridged)
        if devices > fitted and usual.intra is Intra.PCIE:
            # More boards behind the same root share its bandwidth.
            machine = replace(usual, devices=devices, bus_bandwidth=usual.bus_bandwidth * fitted / devices)
        else:
            machine = self.catalog.machine(entry.id, devices, bridged)
        return GpuSystem(
            chip=self.catalog.gpu_chip(entry.chip),
            kernels=self.software.kernels,
            machine=machine,
            fabric=fabric,
            host_memory=self.catalog.host_memory(entry.id) / fitted,
            host_memory_bandwidth=self.catalog.host_memory_bandwidth(entry.id) / fitted,
        )


MOST_DEVICES = 65_536
"""Accelerators beyond which no estimate is given; the largest IPU system Graphcore describes."""

MOST_PORTS = 16
"""Ports of one machine."""
