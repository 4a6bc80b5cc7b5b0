"""The catalogue: figures, entries, engine records, defaults and derived figures behind one object."""

from __future__ import annotations

from dataclasses import dataclass, replace

from app.catalog import entries, records
from app.catalog.books import PriceBook, overlay
from app.catalog.defaults import (
    ConvergenceTarget,
    CostDefaults,
    ReliabilityDefaults,
    convergence_target,
    cost_defaults,
    reliability_defaults,
    tariffs,
)
from app.catalog.entries import ChipEntry, ChipKind, FabricEntry, MachineEntry, SystemEntry
from app.catalog.figures import Derived, Figure
from app.catalog.lookup import Lookup
from app.engine.records import Fabric, GpuChip, IpuChip, Machine
from app.errors import NotFound


@dataclass(frozen=True)
class Catalog(Lookup):
    """All of data/, checked. Build one with :func:`app.catalog.load_catalog` and keep it."""

    book: PriceBook | None = None
    """The price book that is laid over it."""
    prices_on: str | None = None
    """Day as of which it shows what varies; None for the newest."""

    def chips(self) -> tuple[ChipEntry, ...]:
        """Return every chip the engine can time."""
        return tuple(entries.chip_entry(self, name) for name in self.names("chip"))

    def chip(self, chip_id: str) -> ChipEntry:
        """Return one chip."""
        return entries.chip_entry(self, self.item("chip", chip_id).id)

    def machines(self) -> tuple[MachineEntry, ...]:
        """Return every machine."""
        return tuple(entries.machine_entry(self, name) for name in self.names("machine"))

    def machine_entry(self, machine_id: str) -> MachineEntry:
        """Return one machine with its figures; :meth:`machine` is the engine's record."""
        return entries.machine_entry(self, self.item("machine", machine_id).id)

    def systems(self) -> tuple[SystemEntry, ...]:
        """Return every system."""
        return tuple(entries.system_entry(self, name) for name in self.names("system"))

    def system(self, system_id: str) -> SystemEntry:
        """Return one system."""
        return entries.system_entry(self, self.item("system", system_id).id)

    def fabrics(self) -> tuple[FabricEntry, ...]:
        """Return every fabric."""
        return tuple(entries.fabric_entry(self, name) for name in self.names("fabric"))

    def fabric_entry(self, fabric_id: str) -> FabricEntry:
        """Return one fabric with its figures; :meth:`fabric` is the engine's record."""
        return entries.fabric_entry(self, self.item("fabric", fabric_id).id)

    def gpu_chip(self, chip_id: str) -> GpuChip:
        """Return the engine's record of a GPU."""
        return records.gpu_chip(self, chip_id)

    def ipu_chip(self, chip_id: str, streaming_memory: float | None = None) -> IpuChip:
        """Return the engine's record of an IPU; ``streaming_memory`` is that of its machine in bytes."""
        return records.ipu_chip(self, chip_id, streaming_memory)

    def machine(self, name: str, devices: int | None = None, bridged: bool = False) -> Machine:
        """Return the engine's record of a node, of a system or machine, perhaps with fewer devices."""
        return records.machine(self, name, devices, bridged)

    def host_memory(self, name: str) -> float:
        """Return the memory of a machine's host, of a system or machine; 0 where it is not known. [B]"""
        return records.host_memory(self, name)

    def host_memory_bandwidth(self, name: str) -> float:
        """Return the bandwidth of that memory; infinite where it is not known. [B/s]"""
        return records.host_memory_bandwidth(self, name)

    def fabric(self, fabric_id: str, ports_per_node: int, oversubscription: float = 1.0) -> Fabric:
        """Return the engine's record of a fabric."""
        return records.fabric(self, fabric_id, ports_per_node, oversubscription)

    def chip_figures(self, chip_id: str) -> records.Figures:
        """Return the figure behind each field of a chip's record."""
        if self.chip(chip_id).kind is ChipKind.IPU:
            return records.ipu_figures(self, chip_id)
        return records.gpu_figures(self, chip_id)

    def machine_figures(self, name: str, devices: int | None = None) -> records.Figures:
        """Return the figure behind each field of a machine's record."""
        return records.machine_figures(self, name, devices)

    def fabric_figures(self, fabric_id: str) -> records.Figures:
        """Return the figure behind each field of a fabric's record."""
        return records.fabric_figures(self, fabric_id)

    def derived(self, system_id: str) -> tuple[Derived, ...]:
        """Return the figures that follow for a system, with formula and inputs."""
        return entries.system_derived(self, self.item("system", system_id).id)

    def chip_derived(self, chip_id: str) -> tuple[Derived, ...]:
        """Return the figures that follow for a chip, with formula and inputs."""
        return entries.chip_derived(self, self.item("chip", chip_id).id)

    def peak(self, chip_id: str, name: str, field: str = "") -> Derived:
        """Return a peak of a chip by name: ``fp16_dense``, ``fp16_sparse``, ``tf32_dense``, ``fp32`` …"""
        peaks = {peak.name: peak for peak in entries.chip_peaks(self, self.item("chip", chip_id).id)}
        if name not in peaks:
            raise NotFound.named("peak", name, peaks, field)
        return peaks[name]

    def convergence(self, target_id: str) -> ConvergenceTarget:
        """Return a convergence target."""
        return convergence_target(self, target_id)

    def cost_defaults(
        self, chip_kind: ChipKind, region: str = "korea", tier: str | None = None, operator: str = ""
    ) -> CostDefaults:
        """Return the defaults of the cost model in a region, on a tier of its tariff, at a site."""
        return cost_defaults(self, chip_kind, region, tier, operator)

    def tariffs(self, region: str) -> tuple[str, ...]:
        """Return the tiers of a region's electricity tariff, the usual one first."""
        return tariffs(self, region)

    def reliability_defaults(self, chip_kind: ChipKind) -> ReliabilityDefaults:
        """Return the defaults of the reliability model."""
        return reliability_defaults(self, chip_kind)

    def rents(self, system_id: str, condition: str = "") -> tuple[Figure, ...]:
        """Return the dated hourly rents of a system under a condition ("", "spot", …), oldest first."""
        return self.series(self.item("system", system_id).id, "price_hour", condition)

    def dated(self, on: str) -> Catalog:
        """Return the catalogue with what varies as it was known on a day.

        Of each figure that varies with time the newest stated on or before that day stays, else the oldest.
        """
        kept = {}
        for key, series in self.accepted.items():
            if len(series) > 1 and self.fields[key[1]].varies:
                known = [figure for figure in series if figure.as_of <= on]
                kept[key] = (known[-1] if known else series[0],)
        return replace(self, accepted={**self.accepted, **kept}, prices_on=on)

    def overlaid(self, book: PriceBook) -> Catalog:
        """Return the catalogue with the prices, discounts and rates of a price book laid over it."""
        return replace(self, accepted={**self.accepted, **overlay(self, book)}, book=book)
