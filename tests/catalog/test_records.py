"""Engine records from figures."""

import math
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from app.catalog.catalog import Catalog, load_catalog
from app.catalog.entries import ChipKind
from app.engine.records import GpuChip, Intra, IpuChip, Precision
from app.errors import BadInput, Conflict, NotFound
from tests.conftest import DATA


def chip_record(catalog: Catalog, name: str) -> GpuChip | IpuChip:
    return catalog.ipu_chip(name) if catalog.chip(name).kind is ChipKind.IPU else catalog.gpu_chip(name)


def names_of(record: object) -> list[str]:
    """Return the fields of a chip, machine or fabric."""
    return list(record._fields) if isinstance(record, IpuChip) else [field.name for field in fields(record)]


def test_records_build_for_every_system(catalog: Catalog) -> None:
    for system in catalog.systems():
        chip = chip_record(catalog, system.machine.chip.id)
        machine = catalog.machine(system.id)
        fabric = catalog.fabric(system.fabric, system.ports_per_node)
        assert machine.devices >= system.machine.devices, "fast links may join more than one machine"
        for record in (chip, machine, fabric):
            for name in names_of(record):
                value = getattr(record, name)
                if isinstance(value, float):
                    assert math.isfinite(value)
                    hops = name == "hop_latency" and not machine.torus_axes
                    assert value > 0 or hops, (record.name, name)


def test_every_field_of_a_record_has_its_figure(catalog: Catalog) -> None:
    for chip in catalog.chips():
        record = chip_record(catalog, chip.id)
        figures = catalog.chip_figures(chip.id)
        for name in names_of(record):
            # How many devices a host feeds is a fact of the system, not of its chip.
            if name in ("name", "matrix_peak", "streaming_capacity", "host_devices"):
                continue
            assert float(getattr(record, name)) == pytest.approx(figures[name].si)
        if isinstance(record, GpuChip):
            for precision, peak in record.matrix_peak.items():
                assert figures[f"matrix_peak.{precision}"].si == peak
    assert catalog.fabric_figures("hdr-infiniband")["port_bandwidth"].source.id == "nvidia-gtc24-collectives"
    assert catalog.machine_figures("ipu-pod64")["devices"].item == "ipu-m2000"


def test_precisions_of_older_chips(catalog: Catalog) -> None:
    assert set(catalog.gpu_chip("v100").matrix_peak) == {Precision.FP16, Precision.FP32}
    assert catalog.gpu_chip("v100").matrix_units
    assert not catalog.gpu_chip("p100").matrix_units
    assert catalog.gpu_chip("p100").matrix_peak[Precision.FP16] == 21.2e12


def test_chips_are_not_mistaken(catalog: Catalog) -> None:
    with pytest.raises(NotFound):
        catalog.gpu_chip("bow")
    with pytest.raises(NotFound):
        catalog.ipu_chip("v100")


def test_streaming_memory_is_shared_by_the_ipus_of_a_machine(catalog: Catalog) -> None:
    assert catalog.ipu_chip("gc200").streaming_capacity == 32e9
    assert catalog.ipu_chip("gc200", streaming_memory=256e9).streaming_capacity == 64e9


def test_a_smaller_node_moves_less_in_an_allreduce(catalog: Catalog) -> None:
    whole, half = catalog.machine("dgx-a100-640gb"), catalog.machine("dgx-a100-640gb", devices=4)
    assert whole.intra is Intra.NVSWITCH
    assert whole.allreduce_seconds[-1] == pytest.approx(0.127997)
    assert np.allclose(half.allreduce_seconds / whole.allreduce_seconds, (3 / 4) / (7 / 8))
    assert np.all(np.diff(whole.allreduce_seconds) >= 0)
    assert half.devices == 4


def test_bus_bandwidth_of_pcie_nodes(catalog: Catalog) -> None:
    assert catalog.machine("a100-pcie-80gb").bus_bandwidth == 16e9
    assert catalog.machine("a100-pcie-80gb", devices=4).bus_bandwidth == 18e9
    assert catalog.machine("a100-pcie-80gb", devices=5).bus_bandwidth == 16e9
    bridged = catalog.machine("a100-pcie-80gb", devices=4, bridged=True)
    assert bridged.bus_bandwidth == pytest.approx(18e9 * 1.35)


def test_impossible_nodes_are_refused(catalog: Catalog) -> None:
    with pytest.raises(Conflict, match=r"9 .* 8"):
        catalog.machine("dgx-a100-320gb", devices=9)
    with pytest.raises(BadInput):
        catalog.machine("dgx-a100-320gb", devices=0)
    with pytest.raises(NotFound):
        catalog.machine("dgx-a100")
    with pytest.raises(BadInput):
        catalog.fabric("hdr-infiniband", 0)
    with pytest.raises(BadInput):
        catalog.fabric("hdr-infiniband", 8, oversubscription=float("nan"))


def test_hdr_node_reaches_what_was_measured(catalog: Catalog) -> None:
    fabric = catalog.fabric("hdr-infiniband", ports_per_node=8)
    measured = catalog.figure("dgx-a100-320gb", "inter_node_bus_bandwidth")
    assert fabric.port_bandwidth * fabric.ports_per_node == measured.si


def test_version_follows_the_files(copied: Path) -> None:
    version = load_catalog(DATA).version
    unchanged = load_catalog(copied).version
    path = copied / "tco.csv"
    path.write_text(path.read_text(encoding="utf-8").replace("0.08,1/year", "0.09,1/year"), encoding="utf-8")
    assert load_catalog(copied).version != unchanged
    assert len(version) == 12
