"""What nobody states of a chip, a machine or a system is usual, and shown as such."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from app.catalog.catalog import Catalog, load_catalog
from app.catalog.check import check_directory
from app.catalog.entries import Acquisition, ChipKind
from app.catalog.records import USUAL_ENTRY, idle_power, known_figure
from app.engine.records import Intra, Precision
from tests.conftest import DATA

DOCS = DATA.parent / "docs" / "catalogue.md"

PEAK_OF_A100, BEST_OF_A100 = 312.0, 271.2


def test_a_chip_of_few_rows_takes_what_is_usual_of_its_maker(catalog: Catalog) -> None:
    figures = catalog.chip_figures("mi350x")
    for name in ("sustained_clock", "kernel_overhead", "achieved_bandwidth", "matrix_units"):
        assert figures[name].item == "usual-accelerator"
        assert figures[name].source.id
        assert figures[name].note.startswith("usual of")
    assert figures["sustained_clock"].condition == "AMD"
    assert catalog.gpu_chip("mi350x").sustained_clock == pytest.approx(0.65, abs=0.05)
    assert catalog.gpu_chip("tpu-v5p").sustained_clock < catalog.gpu_chip("l4").sustained_clock


def test_a_figure_of_its_own_goes_before_what_is_usual(catalog: Catalog) -> None:
    assert catalog.chip_figures("a100-sxm-40gb")["achieved_bandwidth"].si == 0.9
    assert catalog.chip_figures("mi300x")["sustained_clock"].item == "mi300x"
    assert catalog.gpu_chip("p100").matrix_units is False


def test_what_is_usual_stands_on_the_page_of_a_chip_and_of_its_machine(catalog: Catalog) -> None:
    shown = {figure.parameter: figure for figure in catalog.chip("mi350x").figures}
    assert shown["kernel_overhead"].item == USUAL_ENTRY["chip"]
    assert "collective_latency" not in shown, "the page of a chip does not show what is usual of a machine"
    machine = {figure.parameter: figure.item for figure in catalog.machine_entry("dgx-h100").figures}
    assert machine["collective_latency"] == USUAL_ENTRY["machine"]
    assert machine["weight"] == "dgx-h100"
    assert USUAL_ENTRY["chip"] not in {figure.item for figure in catalog.chip("gc200").figures}


def test_latency_of_a_collective_follows_the_links(catalog: Catalog) -> None:
    assert catalog.machine("dgx-h100").latency == pytest.approx(3.4e-6)
    assert catalog.machine("l40s-8").latency == pytest.approx(30e-6)
    assert catalog.machine("tpu-v5p").latency < catalog.machine("mi300x-8").latency


def test_idle_power_is_the_usual_share_of_the_typical(catalog: Catalog) -> None:
    known = idle_power(catalog, "dgx-h100")
    assert known is not None
    assert known[0] == pytest.approx(0.36 * 6600)
    own = idle_power(catalog, "dgx-a100-640gb")
    assert own is not None
    assert own[0] == 1500
    assert idle_power(catalog, "qm9700") is None


def test_a_machine_sold_alone_is_the_system_of_its_name(catalog: Catalog) -> None:
    system = catalog.system("mi300x-8")
    assert (system.machine.id, system.machines, system.hosts) == ("mi300x-8", 1, 0)
    assert system.acquisition is Acquisition.OWN
    assert known_figure(catalog, "system", "mi300x-8", "machines").item == USUAL_ENTRY["system"]


def test_the_sustained_clock_is_derived_from_the_best_measured_shape(catalog: Catalog) -> None:
    compared = 0
    for chip in catalog.chips():
        for condition, form in (("", "bf16"), ("fp8", "fp8")):
            clock = catalog.find(chip.id, "sustained_clock", condition)
            best = catalog.find(chip.id, f"matrix_rate_{form}_measured")
            peak = catalog.find(chip.id, f"peak_{form}_dense")
            if clock is None or best is None or peak is None or clock.source.id != "rackline-regression":
                continue
            share = best.si / peak.si / (BEST_OF_A100 / PEAK_OF_A100)
            assert clock.si == pytest.approx(share, abs=1e-4), chip.id
            compared += 1
    assert compared >= 18
    assert catalog.figure("gaudi2", "sustained_clock").si == pytest.approx(1.115, abs=1e-3)


def test_chips_without_fp16_are_measured_by_their_bf16_peak(catalog: Catalog) -> None:
    only = set(catalog.gpu_chip("tpu-v5p").matrix_peak) - {Precision.INT8}
    assert only == {Precision.BF16}, "8 bit at the rate of 16 is no format of its own"
    assert catalog.usual_peak("tpu-v5p").name == "bf16_dense"
    assert catalog.usual_peak("h100-sxm-80gb").name == "fp16_dense"
    assert catalog.usual_peak("gc200").name == "fp16_dense"
    assert "ridge_bf16_dense" in {part.name for part in catalog.chip_derived("tpu-v5p")}


def test_sparse_peaks_are_never_taken(catalog: Catalog) -> None:
    for chip in catalog.chips():
        if chip.kind is ChipKind.IPU:
            continue
        eight, half = catalog.find(chip.id, "peak_fp8_dense"), catalog.usual_peak(chip.id)
        assert eight is None or eight.si <= 2.03 * half.value, chip.id
    assert {figure.value for figure in catalog.rejected("h100-sxm-80gb", "peak_fp8_dense")} == {3958}


@pytest.mark.parametrize(
    ("machine", "devices", "domain"),
    [
        ("gb200-tray", 4, 72),
        ("gb300-tray", 4, 72),
        ("tpu-v3", 4, 1024),
        ("tpu-v4", 4, 4096),
        ("tpu-v5e", 8, 256),
        ("tpu-v5p", 4, 8960),
        ("tpu-v6e", 8, 256),
        ("tpu-v7-ironwood", 4, 9216),
    ],
)
def test_fast_links_join_more_than_one_machine(
    catalog: Catalog, machine: str, devices: int, domain: int
) -> None:
    assert catalog.machine_entry(machine).devices == devices
    assert catalog.machine(machine).devices == catalog.domain_devices(machine) == domain


def test_machines_of_one_switch_or_board_have_no_wider_domain(catalog: Catalog) -> None:
    wider = {name for name in catalog.names("machine") if catalog.find(name, "domain_devices")}
    assert all(name.startswith(("gb", "tpu")) for name in wider)
    assert catalog.machine("mi300x-8").intra is Intra.MESH
    assert catalog.machine("trn1").intra is Intra.TORUS


def test_no_server_is_named_like_its_chip_and_nothing_stands_twice(catalog: Catalog) -> None:
    chips = {chip.name for chip in catalog.chips()}
    names = [system.name for system in catalog.systems()]
    assert not chips & set(names)
    assert len(names) == len(set(names))
    assert len(chips) == len(catalog.chips())
    assert catalog.names("reference-chip") == ("gc2",)


def test_a_rack_of_72_gpus_has_one_price_and_its_switches_power(catalog: Catalog) -> None:
    rack = catalog.system("gb200-nvl72")
    assert (rack.devices, rack.machines) == (72, 18)
    assert rack.price is not None
    assert rack.price.low < rack.price.value < rack.price.high
    assert rack.power_max.value == pytest.approx(120e3, rel=0.01)


def test_a_price_nobody_knows_is_left_out(catalog: Catalog) -> None:
    assert catalog.system("h800-sxm-80gb").price is None
    assert catalog.system("aws-p5en").price_hour is None
    assert [figure.value for figure in catalog.rents("aws-p5")] == [98.32, 55.04]


def test_a_chip_without_what_the_engine_needs_is_named(copied: Path) -> None:
    path = copied / "chips.csv"
    lines = path.read_text(encoding="utf-8").splitlines()
    gone = ("mi350x,multiprocessors,", "mi350x,peak_bf16_dense,", "mi350x,peak_fp16_dense,")
    path.write_text("\n".join(line for line in lines if not line.startswith(gone)) + "\n", encoding="utf-8")
    said = [problem.message for problem in check_directory(copied) if "mi350x" in problem.message]
    for name in ("multiprocessors", "peak_bf16_dense"):
        assert any(name in one for one in said), said


def test_the_example_of_the_guide_makes_a_chip_and_a_server(copied: Path) -> None:
    """The rows of the guide stand in the files, and they are enough."""
    shown = re.findall(r"^ *(mi350x,.*)$", DOCS.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(shown) == 18
    for name in ("items", "chips", "machines", "systems"):
        path = copied / f"{name}.csv"
        lines = path.read_text(encoding="utf-8").splitlines()
        kept = [line for line in lines if not line.startswith("mi350x,") or line in shown]
        shown = [line for line in shown if line not in lines]
        path.write_text("\n".join(kept) + "\n", encoding="utf-8")
    assert shown == []
    catalog = load_catalog(copied)
    assert catalog.system("mi350x").name == "MI350X server (8 GPUs)"
    assert catalog.gpu_chip(catalog.system("mi350x").machine.chip.id).memory_capacity == 294896 * 2**20
