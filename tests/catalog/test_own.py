"""Accelerators of a workspace laid over the catalogue: what is stated, what is usual, what looks sparse."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from app.catalog.catalog import Catalog
from app.catalog.own import doubts
from app.engine.records import Intra, Precision
from app.errors import NotFound
from app.estimating.hardware import known_id
from tests.conftest import H200


def test_a_data_sheet_of_a_known_chip_gives_nearly_its_records(catalog: Catalog) -> None:
    laid = catalog.with_own([H200])
    own, known = laid.gpu_chip(H200.id), laid.gpu_chip("h200-sxm-141gb")
    for precision in (Precision.BF16, Precision.TF32, Precision.FP8):
        assert own.matrix_peak[precision] == known.matrix_peak[precision]
    # A data sheet names gigabytes, the driver shows more.
    assert own.memory_capacity == pytest.approx(known.memory_capacity, rel=0.08)
    assert own.multiprocessors == known.multiprocessors
    # What is not stated is what is usual of the maker and of machines with such links, within its range.
    assert own.sustained_clock == pytest.approx(known.sustained_clock, rel=0.1)
    bandwidth = laid.figure(H200.id, "bus_bandwidth")
    assert bandwidth.si_low <= laid.figure("h200-sxm-141gb", "bus_bandwidth").si <= bandwidth.si_high
    machine, twin = laid.system(H200.id), laid.system("dgx-h200")
    assert machine.power_max.value == pytest.approx(twin.power_max.value, rel=0.1)
    assert machine.price is not None and machine.price.value == 300_000
    assert machine.devices == 8 and laid.domain_devices(H200.id) == 8


def test_figures_say_who_stated_them_and_when(catalog: Catalog) -> None:
    laid = catalog.with_own([H200])
    peak, price = laid.figure(H200.id, "peak_bf16_dense"), laid.figure(H200.id, "price")
    assert peak.source.id == f"{H200.id}@3" and laid.source(peak.source.id) == peak.source
    assert "stated by Ann" in peak.source.title and peak.note.startswith("stated by the user")
    assert (peak.as_of, price.as_of) == ("2026-11-23", "2026-11-01")
    assert laid.figure(H200.id, "power_max").estimated and not peak.estimated


def test_the_catalogue_itself_stays_as_it_was(catalog: Catalog) -> None:
    laid = catalog.with_own([H200])
    assert laid.version == catalog.version and H200.id not in catalog.items
    assert set(laid.accepted) - set(catalog.accepted) == {key for key in laid.accepted if key[0] == H200.id}
    with pytest.raises(NotFound):
        catalog.system(H200.id)


def test_peaks_with_sparsity_count_half(catalog: Catalog) -> None:
    doubled = {name: 2.0 * peak for name, peak in H200.peaks.items()}
    sparse = catalog.with_own([replace(H200, peaks=doubled, sparse=True)])
    assert sparse.gpu_chip(H200.id) == catalog.with_own([H200]).gpu_chip(H200.id)
    assert "sparsity" in sparse.figure(H200.id, "peak_fp8_dense").note


@pytest.mark.parametrize("chip", ["h100-sxm-80gb", "h200-sxm-141gb", "b200-sxm-180gb", "mi300x", "mi355x"])
def test_the_sparse_peaks_of_known_chips_are_asked_about(catalog: Catalog, chip: str) -> None:
    peak, memory = catalog.figure(chip, "peak_bf16_dense").si, catalog.figure(chip, "memory_bandwidth").si
    (doubt,) = doubts(catalog, {"bf16_tflops": 2.0 * peak / 1e12}, memory / 1e9)
    assert "sparsity" in str(doubt)


@pytest.mark.parametrize("chip", ["a100-sxm-80gb", "h200-sxm-141gb", "b200-sxm-180gb", "mi300x", "gb300"])
def test_the_dense_peaks_of_known_chips_are_not(catalog: Catalog, chip: str) -> None:
    names = {
        "bf16_tflops": "peak_bf16_dense",
        "fp8_tflops": "peak_fp8_dense",
        "fp4_tflops": "peak_nvfp4_dense",
    }
    found = {name: catalog.find(chip, parameter) for name, parameter in names.items()}
    peaks = {name: figure.si / 1e12 for name, figure in found.items() if figure is not None}
    assert not doubts(catalog, peaks, catalog.figure(chip, "memory_bandwidth").si / 1e9)


def test_one_sparse_format_beside_a_dense_one_is_asked_about(catalog: Catalog) -> None:
    (doubt,) = doubts(catalog, {"bf16_tflops": 989.0, "fp8_tflops": 3958.0}, 4800.0)
    assert "FP8" in str(doubt) and doubt.values["ratio"] == 4.0


@pytest.mark.parametrize("link", [one for one in Intra if one is not Intra.IPU_LINK])
@pytest.mark.parametrize("maker", ["", "AMD", "Nobody"])
def test_every_kind_of_links_makes_a_machine(catalog: Catalog, link: Intra, maker: str) -> None:
    laid = catalog.with_own([replace(H200, link=link, maker=maker, linked_devices=64)])
    machine = laid.machine(H200.id)
    assert machine.devices == 64 and 0.0 < machine.bus_bandwidth <= 450e9
    assert math.isfinite(laid.system(H200.id).power_typical.high)
    assert len(laid.chip(H200.id).figures) > 10


def test_a_price_in_won_is_told_in_dollars_with_what_was_stated(catalog: Catalog) -> None:
    laid = catalog.with_own([replace(H200, machine_price=None, hourly_rent=3000.0, currency="KRW")])
    rate = catalog.figure("cost-defaults", "exchange_rate", "krw").si
    rent = laid.figure(H200.id, "price_hour")
    assert rent.value == pytest.approx(8 * 3000.0 / rate) and "24,000 KRW/h" in rent.note
    assert float(rent.text) == rent.value and laid.system(H200.id).acquisition == "rent"


def test_what_was_deleted_is_found_and_not_offered(catalog: Catalog) -> None:
    laid = catalog.with_own([replace(H200, withdrawn=True)])
    assert known_id(laid, "system", H200.id, "system.id") == H200.id
    assert laid.system(H200.id).availability == "deleted"
    assert H200.id not in {*laid.names("system"), *laid.names("chip"), *laid.names("machine")}
