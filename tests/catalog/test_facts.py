"""Published facts that a sharp customer would check, and the claims that are not used."""

import pytest

from app.catalog.catalog import Catalog
from app.catalog.check import REQUIRED
from app.catalog.entries import ChipKind
from app.catalog.figures import FigureStatus, SourceKind
from app.errors import CatalogError, NotFound, Unprocessable


def derived(catalog: Catalog, system: str, name: str) -> float:
    return next(part.value for part in catalog.derived(system) if part.name == name)


@pytest.mark.parametrize(
    ("kind", "name"), [(kind, name) for kind, names in REQUIRED.items() for name in names]
)
def test_every_identifier_other_tools_rely_on_is_there(catalog: Catalog, kind: str, name: str) -> None:
    assert catalog.item(kind, name).name


def test_the_cluster_of_the_seed_has_25_petaflops_in_dense_tf32(catalog: Catalog) -> None:
    assert derived(catalog, "dgx-superpod-a100", "accelerators") == 160
    assert derived(catalog, "dgx-superpod-a100", "peak_tf32_dense") == pytest.approx(24.96e15)


def test_five_petaflops_of_a_dgx_are_sparse(catalog: Catalog) -> None:
    assert derived(catalog, "dgx-a100-320gb", "peak_fp16_dense") == pytest.approx(2.496e15)
    assert derived(catalog, "dgx-a100-320gb", "peak_fp16_sparse") == pytest.approx(4.992e15)


def test_gpt3_on_one_dgx_takes_four_years_at_the_dense_peak(catalog: Catalog) -> None:
    work = catalog.figure("gpt3-175b", "training_compute").si
    days = work / derived(catalog, "dgx-a100-320gb", "peak_fp16_dense") / 86400
    assert days == pytest.approx(1456, abs=1)


def test_pod64_peak_follows_from_tiles_and_clock_as_the_data_sheet_prints_it(catalog: Catalog) -> None:
    assert derived(catalog, "ipu-pod64", "peak_fp16_dense") == pytest.approx(15.978e15, rel=1e-4)
    assert derived(catalog, "ipu-pod64", "peak_fp32") == pytest.approx(3.994e15, rel=2e-4)
    assert derived(catalog, "bow-pod256", "peak_fp16_dense") == pytest.approx(89.23e15, rel=2e-4)


def test_every_published_peak_agrees_with_the_computed_one(catalog: Catalog) -> None:
    compared = 0
    for system in catalog.systems():
        published = catalog.find(system.id, "published_peak_fp16")
        if published is not None:
            assert derived(catalog, system.id, "peak_fp16_dense") == pytest.approx(published.si, rel=0.005)
            compared += 1
    assert compared >= 5


def test_sram_of_one_ipu_is_940_megabytes(catalog: Catalog) -> None:
    for chip in ("gc200", "bow"):
        sram = next(part for part in catalog.chip_derived(chip) if part.name == "sram")
        assert sram.value == pytest.approx(940.57e6, abs=5e3)
        assert {figure.parameter for figure in sram.inputs} == {"tiles", "sram_per_tile"}


@pytest.mark.parametrize(("chip", "ridge"), [("a100-sxm-80gb", 153), ("a100-sxm-40gb", 201)])
def test_ridge_point(catalog: Catalog, chip: str, ridge: float) -> None:
    part = next(part for part in catalog.chip_derived(chip) if part.name == "ridge_fp16_dense")
    assert part.value == pytest.approx(ridge, abs=0.5)
    assert part.unit == "FLOP/B"


def test_ridge_points_of_an_ipu(catalog: Catalog) -> None:
    assert derived(catalog, "ipu-pod64", "ridge_sram") == pytest.approx(5.3, abs=0.05)
    assert derived(catalog, "ipu-pod64", "ridge_streaming") == pytest.approx(26005, abs=1)
    assert derived(catalog, "bow-pod64", "ridge_streaming") == pytest.approx(36302, abs=100)


def test_16_terabytes_of_pod256_are_the_256_gb_option(catalog: Catalog) -> None:
    assert derived(catalog, "ipu-pod256", "streaming_memory (256 GB option)") == pytest.approx(16.384e12)
    assert derived(catalog, "ipu-pod256", "streaming_memory") == pytest.approx(8.192e12)
    said = catalog.figure("ipu-pod256", "published_streaming_memory", "256 GB option")
    assert said.si == 16e12
    assert "256 GB" in said.note


@pytest.mark.parametrize(
    ("item", "parameter", "value", "reason"),
    [
        ("dgx-a100-320gb", "published_peak_fp16_dense", 5, "sparsity"),
        ("dgx-a100-640gb", "published_peak_fp16_dense", 5, "sparsity"),
        ("a100-sxm-80gb", "nvlink_bandwidth", 600, "both directions"),
        ("gc200", "clock", 1.33, "15.978"),
        ("gc200", "clock", 1.35, "15.978"),
        ("gc200", "published_peak_fp16", 250, "249.65"),
        ("bow", "published_peak_fp16", 350, "348.6"),
        ("bow", "exchange_bandwidth", 11, "roles swapped"),
        ("bow", "ipu_link_bandwidth_total", 320, "roles swapped"),
        ("bow-2000", "scale_out", None, "no InfiniBand"),
        ("dgx-a100-320gb", "price", 199999, "199,000"),
        ("dgx-superpod-a100", "compute_switches", 14, "12 switches"),
        ("ipu-pod64", "scaling_limit", 64000, "65,536"),
    ],
)
def test_a_competing_claim_stays_with_its_reason(
    catalog: Catalog, item: str, parameter: str, value: float | None, reason: str
) -> None:
    claims = [claim for claim in catalog.rejected(item, parameter) if claim.value == value]
    assert any(reason in claim.note for claim in claims)
    for claim in claims:
        accepted = catalog.find(item, parameter, claim.condition)
        assert accepted is None or accepted.text != claim.text


def test_claims_of_the_customers_documents_carry_verdicts(catalog: Catalog) -> None:
    assert catalog.claim("seed-dgx-5pflops").status is FigureStatus.REJECTED
    assert catalog.claim("seed-pod256-memory").status is FigureStatus.ACCEPTED
    one, three = catalog.claim("seed-bert-ratio-1"), catalog.claim("seed-bert-ratio-3")
    dgx, pod = catalog.claim("seed-bert-dgx-hours"), catalog.claim("seed-bert-pod64-hours")
    assert dgx.value is not None
    assert pod.value is not None
    assert one.value == pytest.approx(dgx.value / pod.value, abs=0.05)
    assert three.value == pytest.approx(dgx.value / 3 / pod.value, abs=0.05)
    assert three.warning == "linear_scaling_assumed"
    seeds = {claim.source.id for claim in catalog.claims() if claim.id.startswith("seed-")}
    assert len(seeds) == 5


def test_rents_are_a_dated_series_and_the_newest_counts(catalog: Catalog) -> None:
    values = [figure.value for figure in catalog.rents("aws-p4d")]
    assert values == [32.77, pytest.approx(21.957642)]
    newest = catalog.system("aws-p4d").price_hour
    assert newest is not None
    assert newest.value == pytest.approx(21.957642)
    assert catalog.figure("aws-p4d", "price_hour", on="2024-06-01").value == 32.77
    assert catalog.find("aws-p4d", "price_hour", on="2019") is None
    assert catalog.figure("aws-p4d", "price_hour", "spot").value == 16.298


def test_prices_are_added_from_the_parts(catalog: Catalog) -> None:
    price = catalog.system("ipu-pod64").price
    assert price is not None
    assert price.value == 16 * 32450 + 4 * 25000 + 20000 + 5000
    assert price.low < price.value < price.high
    assert catalog.system("big-basin-p100").price is None
    bare = catalog.system("ipu-m2000").price
    assert bare is not None
    assert bare.value == 32450 + 25000


def test_power_of_a_pod(catalog: Catalog) -> None:
    pod = catalog.system("ipu-pod64")
    assert pod.power_typical.value == pytest.approx(21.7e3, rel=0.02)
    assert pod.power_max.value > pod.power_typical.value
    assert catalog.system("dgx-a100-320gb").power_max.value == 6500


def test_what_nobody_checked_is_marked(catalog: Catalog) -> None:
    for figure in catalog.all_figures():
        if figure.source.id.startswith("rackline") or figure.recalled:
            assert figure.estimated
            assert figure.source.kind is SourceKind.ESTIMATE
        if figure.recalled and figure.status is FigureStatus.ACCEPTED:
            assert "recalled, unverified" in figure.note
    assert catalog.figure("gc200", "exchange_multiplier").fitted


def test_units_become_si(catalog: Catalog) -> None:
    assert catalog.figure("hdr-infiniband", "line_rate").si == 25e9
    assert catalog.figure("korea-industrial-large", "tariff").si * 3.6e6 == pytest.approx(150.8)
    failures = catalog.figure("reliability-gpu-node", "failure_rate")
    assert failures.si * 86400 * 1000 == pytest.approx(22.0)
    assert failures.si_unit == "1/s"
    assert failures.si_low < failures.si < failures.si_high
    with pytest.raises(CatalogError, match="no number"):
        _ = catalog.figure("dgx-a100-320gb", "chip").si


def test_unknown_names_offer_close_ones(catalog: Catalog) -> None:
    with pytest.raises(NotFound, match="dgx-a100-640gb"):
        catalog.system("dgx-a100-64gb")
    with pytest.raises(NotFound, match="hdr-infiniband"):
        catalog.fabric_entry("hdr-infinband")
    with pytest.raises(NotFound, match="memory_bandwidth"):
        catalog.figure("a100-sxm-80gb", "memory_bandwith")
    with pytest.raises(NotFound):
        catalog.chip("h100-sxm")
    with pytest.raises(NotFound):
        catalog.source("rumour")
    with pytest.raises(Unprocessable, match="fp16_dense"):
        catalog.peak("gc200", "tf32_dense")


def test_convergence_points_are_samples(catalog: Catalog) -> None:
    bert = catalog.convergence("mlperf-bert")
    assert bert.samples[0] == 2552704
    assert bert.seq_len == 512
    resnet = catalog.convergence("mlperf-resnet50")
    assert resnet.samples[1] == pytest.approx(35.2 * 1281167)
    assert resnet.image_size == 224
    gpt = catalog.convergence("mlperf-gpt3")
    assert gpt.samples[0] * 2048 == pytest.approx(1199570944)
    for target in (bert, resnet, gpt):
        law = target.law_samples * (1 + (target.batches / target.law_batch) ** target.law_exponent)
        assert abs(law / target.samples - 1).max() < 0.15
        assert target.points_source.id == "mlperf-reference-points"


def test_defaults_have_sources(catalog: Catalog) -> None:
    costs = catalog.cost_defaults(ChipKind.IPU)
    assert costs.residual.value == 0
    assert costs.tariff.unit.name == "KRW/kWh"
    assert catalog.cost_defaults(ChipKind.GPU, "us").tariff.unit.name == "USD/kWh"
    assert costs.amortisation.si == pytest.approx(4 * 365.25 * 86400)
    assert catalog.reliability_defaults(ChipKind.GPU).restart.si == 600
    assert catalog.reliability_defaults(ChipKind.IPU).checkpoint_interval is None
