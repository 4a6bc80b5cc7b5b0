"""Vendor claims: the arithmetic of the source, each base, one rule for verdicts, what carries no number."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.errors import BadInput, CatalogError, NotFound
from app.estimating.context import MEASURED, SizingContext
from app.estimating.nearest import read_measured
from app.estimating.validation.pairs import load_pairs
from app.features.claims.deciding import claim_of, claims_of
from app.features.claims.estimates import Estimates
from app.features.claims.footing import DECIDING, footing_verdict, overall, published
from app.features.claims.model import (
    ClaimsRequest,
    FootingRatio,
    MeasuredRatio,
    VendorClaim,
    VendorClaims,
)
from tests.conftest import DATA, sizing_context

ORDER = ("does_not_survive", "shrinks", "survives")

RATIO = st.floats(0.01, 100.0)


@pytest.fixture(scope="module")
def estimates(context: SizingContext) -> Estimates:
    return Estimates(context)


@pytest.fixture(scope="module")
def found(context: SizingContext, estimates: Estimates) -> VendorClaims:
    return claims_of(context.catalog, estimates, ClaimsRequest())


def by_id(found: VendorClaims, name: str) -> VendorClaim:
    return next(claim for claim in found.items if claim.id == name)


def footing(claim: VendorClaim, name: str, reading: int = 0) -> FootingRatio:
    return next(one for one in claim.readings[reading].footings if one.footing == name)


def test_every_ratio_of_the_article_is_there(found: VendorClaims) -> None:
    ratios = [5.3, 1.8, 4, 5.4, 18, 13, 2.6, 10, 17, 3.4]
    assert [claim.ratio for claim in found.items] == ratios
    assert by_id(found, "deepvoice3-training").also == 13.6
    for claim in found.items:
        assert claim.source.id == "eetimes-china-ipu-2020" and claim.as_of == "2020-12"
        assert claim.unclear.message and claim.quote and claim.software_era == "Poplar SDK 1.4, December 2020"


def test_hours_and_their_ratios_are_those_of_the_article(found: VendorClaims) -> None:
    hours = {one.label: one for one in found.hours}
    one, three = hours["1 × DGX A100 320GB"], hours["3 × DGX A100 320GB"]
    pod, bow = hours["1 × IPU-POD64"], hours["1 × Bow Pod64"]
    assert (one.hours, pod.hours) == (69.5, 13.2)
    assert three.hours == pytest.approx(69.5 / 3) and three.kind == "linear"
    assert (round(one.ratio, 1), round(three.ratio, 1)) == (5.3, 1.8)
    assert round(bow.hours, 1) == 9.4 and bow.ceiling and bow.kind == "vendor" and bow.ours is None


def test_imperfect_scaling_restates_what_was_scaled_up_alone(
    context: SizingContext, estimates: Estimates
) -> None:
    found = claims_of(context.catalog, estimates, ClaimsRequest(scaling_efficiency=0.85))
    hours = {one.label: one.hours for one in found.hours}
    assert round(hours["3 × DGX A100 320GB"], 1) == 27.3
    assert hours["1 × DGX A100 320GB"] == 69.5
    three = by_id(found, "bert-large-3-dgx")
    assert three.restated is not None and round(three.restated, 1) == 2.1
    assert by_id(found, "bert-large-1-dgx").restated is None
    assert "linear_scaling_assumed" not in [warning.code for warning in three.warnings]


def test_the_base_is_taken_as_stated(found: VendorClaims) -> None:
    machine = by_id(found, "resnet50-training")
    sides = machine.readings[0]
    assert (sides.claimed.devices, sides.baseline.devices, sides.whole.devices) == (4, 1, 8)
    assert footing(machine, "per_chip").claimed == pytest.approx(2.6 / 4)
    assert sides.baseline.phases[0].request["plan"] == {"tensor": 1, "pipeline": 1, "data": 1}
    three = by_id(found, "bert-large-3-dgx").readings[0]
    assert (three.claimed.devices, three.baseline.devices, three.baseline.count) == (64, 24, 3)
    assert [phase.global_batch for phase in three.claimed.phases] == [65536, 32768]
    assert sum(phase.samples for phase in three.claimed.phases) == 7038 * 65536 + 1563 * 32768


def test_both_sides_do_the_same_work(found: VendorClaims) -> None:
    for claim in found.items:
        for reading in claim.readings:
            work = [
                [(phase.samples, phase.seq_len) for phase in side.phases]
                for side in (reading.claimed, reading.baseline, reading.whole)
            ]
            assert work[0] == work[1] == work[2]


def test_what_is_not_training_of_a_network_carries_no_number(found: VendorClaims) -> None:
    without = {claim.id: claim.verdict for claim in found.items if not claim.readings}
    assert without == {
        "resnet-throughput": "not_comparable",
        "efficientnet-throughput": "not_comparable",
        "mcmc-training": "not_modelled",
        "bert-large-inference": "not_modelled",
    }
    for name in without:
        assert by_id(found, name).restated is None
    codes = {claim.id: {warning.code for warning in claim.warnings} for claim in found.items}
    assert all({"vendor_figure", "generation_mk2"} <= found for found in codes.values())
    assert (
        "base_not_stated" in codes["resnext-throughput"] and "base_not_stated" in codes["resnet-throughput"]
    )
    assert "linear_scaling_assumed" in codes["bert-large-3-dgx"]


def test_an_estimate_that_nothing_measured_supports_gives_no_verdict(found: VendorClaims) -> None:
    voice = by_id(found, "deepvoice3-training")
    assert voice.readings and voice.verdict == "not_comparable"
    assert "unvalidated" in [warning.code for warning in voice.warnings]


def test_a_later_reading_comes_with_one_claim(context: SizingContext, estimates: Estimates) -> None:
    claim = claim_of("resnet50-training", context.catalog, estimates, ClaimsRequest())
    assert [reading.era for reading in claim.readings] == ["of_the_time", "later"]
    software = [reading.claimed.phases[0].software for reading in claim.readings]
    assert software == ["poplar-2.1-tf1-loop", "poplar-2.5-tf1-loop"]
    with pytest.raises(NotFound, match="resnet50-training"):
        claim_of("resnet50-trainin", context.catalog, estimates, ClaimsRequest())


def test_footings_follow_from_one_another(found: VendorClaims) -> None:
    claim = by_id(found, "bert-large-1-dgx")
    base = footing(claim, "as_claimed").ours.value
    reading = claim.readings[0]
    assert base == pytest.approx(reading.baseline.time.value / reading.claimed.time.value)
    assert footing(claim, "per_chip").ours.value == pytest.approx(base * 8 / 64)
    price = reading.baseline.price.value / reading.claimed.price.value
    assert footing(claim, "per_dollar").ours.value == pytest.approx(base * price)
    assert footing(claim, "per_dollar").claimed == pytest.approx(69.5 / 13.2 * price)
    for one in reading.footings:
        assert one.ours.low <= one.ours.value <= one.ours.high
        assert 0 <= one.reaches_claim <= one.exceeds_one <= 1 or one.claimed < 1


def test_equal_price_and_power_is_an_assumption_that_can_be_overwritten(
    context: SizingContext, estimates: Estimates, found: VendorClaims
) -> None:
    assumed = claims_of(context.catalog, estimates, ClaimsRequest(dgx_per_pod64=3))
    three = by_id(assumed, "bert-large-3-dgx")
    for name in ("per_dollar", "per_watt_typical", "per_watt_maximum"):
        ours, plain = footing(three, name).ours, footing(three, "as_claimed").ours
        assert (ours.low, ours.value, ours.high) == pytest.approx((plain.low, plain.value, plain.high))
        assert footing(three, name).claimed == pytest.approx(69.5 / 3 / 13.2)
    assert assumed.parity.assumed
    for row in assumed.parity.rows[:3]:
        assert row.ratio.value == pytest.approx(1) and row.holds
    cheaper = claims_of(context.catalog, estimates, ClaimsRequest(pod64_price=300_000, dgx_price=200_000))
    one, other = by_id(cheaper, "bert-large-1-dgx"), by_id(found, "bert-large-1-dgx")
    ratio = footing(one, "as_claimed").ours.value
    assert footing(one, "per_dollar").ours.value == pytest.approx(ratio * 200 / 300)
    assert footing(one, "per_watt_typical").ours == footing(other, "per_watt_typical").ours


def test_price_parity_is_reproduced_and_power_parity_qualified(found: VendorClaims) -> None:
    rows = {row.quantity: row for row in found.parity.rows}
    assert rows["price"].holds and rows["price"].baseline.value == 3 * 199_000
    assert not rows["power_typical"].holds and not rows["power_maximum"].holds
    assert rows["power_mixed"].holds
    assert rows["power_typical"].baseline.value == pytest.approx(12_600)
    assert rows["power_maximum"].baseline.value == pytest.approx(19_500)


@given(RATIO, RATIO, st.floats(1.01, 100.0), st.floats(1.0, 5.0))
def test_a_better_range_never_has_a_worse_verdict(
    one: float, other: float, claimed: float, better: float
) -> None:
    low, high = min(one, other), max(one, other)
    before = ORDER.index(footing_verdict(low, high, claimed))
    assert before <= ORDER.index(footing_verdict(low * better, high * better, claimed))
    assert ORDER.index(footing_verdict(low, high, claimed * better)) <= before


@given(RATIO, RATIO, st.floats(1.01, 100.0))
def test_the_verdict_says_what_the_range_says(one: float, other: float, claimed: float) -> None:
    low, high = min(one, other), max(one, other)
    verdict = footing_verdict(low, high, claimed)
    assert (verdict == "does_not_survive") == (low <= 1)
    assert (verdict == "survives") == (low > 1 and high >= claimed)


@given(st.lists(st.sampled_from(ORDER), min_size=1, max_size=6))
def test_the_verdict_of_a_claim_is_that_of_its_footings_where_they_agree(verdicts: list[str]) -> None:
    whole = overall(verdicts)  # type: ignore[arg-type]
    assert whole == (verdicts[0] if len(set(verdicts)) == 1 else "shrinks")
    assert overall(reversed(verdicts)) == whole  # type: ignore[arg-type]


def test_verdicts_follow_the_rule_on_the_deciding_footings(found: VendorClaims) -> None:
    for claim in found.items:
        if not claim.readings or claim.verdict == "not_comparable":
            continue
        for one in claim.readings[0].footings:
            if one.footing in DECIDING:
                assert one.verdict == footing_verdict(one.ours.low, one.ours.high, claim.ratio)
        assert claim.verdict == overall(footing(claim, name).verdict for name in DECIDING)
        assert f"{claim.ratio:g}×" in claim.sentence.message


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        ({"scaling_efficiency": 0}, "scaling_efficiency"),
        ({"scaling_efficiency": 1.2}, "scaling_efficiency"),
        ({"dgx_price": -1}, "dgx_price"),
        ({"m2000_price": 1e13}, "m2000_price"),
        ({"dgx_per_pod64": 0}, "dgx_per_pod64"),
        ({"dgx_per_pod64": 3, "pod64_price": 1e5}, "pod64_price"),
    ],
)
def test_impossible_assumptions_are_refused_at_their_field(
    context: SizingContext, estimates: Estimates, asked: dict[str, float], field: str
) -> None:
    with pytest.raises(BadInput) as refused:
        claims_of(context.catalog, estimates, ClaimsRequest(**asked))
    assert refused.value.errors[0].field == field


def test_claims_decide_nothing_that_is_measured() -> None:
    """Ratios are no measured runs: none of their figures is one of validation, and no estimate uses them."""
    context = sizing_context()
    names = {ratio.id for ratio in context.catalog.vendor_ratios}
    assert not names & {run.id for run in context.runs}
    (ratio,) = (one for one in context.catalog.vendor_ratios if one.id == "bert-large-3-dgx")
    assert published(ratio, 1.0) == pytest.approx(1.755, abs=1e-3)


def test_every_run_names_what_the_catalogue_has() -> None:
    context = sizing_context()
    for ratio in context.catalog.vendor_ratios:
        for run in ratio.runs:
            for name in (run.software, run.software_later):
                assert context.software_profile(name).complete
            assert run.note and run.source.id


def test_documents_hold_finite_numbers(found: VendorClaims) -> None:
    json.loads(found.model_dump_json(), parse_constant=lambda text: pytest.fail(text))
    assert "null" not in json.dumps([one.ours.model_dump() for one in found.items[0].readings[0].footings])


def measured(found: VendorClaims, name: str) -> MeasuredRatio:
    return next(ratio for ratio in found.measured if ratio.id == name)


def test_measured_ratios_are_those_of_both_submissions(found: VendorClaims) -> None:
    """Times as MLCommons publishes them, of the same benchmark on as many accelerators. [min]"""
    published = {
        "h100-a100-bert": (6.378, 16.8821),
        "b200-h100-llama2-70b-lora": (12.7184, 27.9284),
        "gb200-h100-llama3-405b": (105.523, 230.6756),
        "tpu-v5p-h100-gpt3-175b": (114.7939, 50.728),
    }
    for name, (claimed, baseline) in published.items():
        ratio = measured(found, name)
        assert ratio.claimed.measured_s == pytest.approx(claimed * 60)
        assert ratio.baseline.measured_s == pytest.approx(baseline * 60)
        assert ratio.ratio == pytest.approx(baseline / claimed)
        assert "MLCommons" in ratio.claimed.source and "MLCommons" in ratio.baseline.source


def test_the_verdict_says_where_a_measured_ratio_lies(found: VendorClaims) -> None:
    for ratio in found.measured:
        ours = ratio.ours
        assert ours.value == pytest.approx(ratio.baseline.ours.value / ratio.claimed.ours.value)
        inside = ours.low <= ratio.ratio <= ours.high
        assert (ratio.verdict == "within_range") == inside
        assert inside or (ratio.verdict == "above_range") == (ratio.ratio > ours.high)
    shares = [ratio.verdict == "within_range" for ratio in found.measured]
    # Of thirteen ranges that hold in four of five cases, eight or fewer hold one time in ten.
    assert len(shares) == 13 and sum(shares) >= 9


def test_a_ratio_per_dollar_needs_both_prices(found: VendorClaims) -> None:
    unpriced = measured(found, "tpu-v5p-h100-gpt3-175b")
    assert unpriced.per_dollar is None and unpriced.per_watt_typical is not None
    priced = measured(found, "h100-a100-bert")
    assert priced.per_dollar is not None
    # 350,000 and 270,000 dollars in the catalogue.
    assert priced.per_dollar.value == pytest.approx(priced.ours.value * 270 / 350, rel=1e-6)


def test_measured_values_change_no_estimate(context: SizingContext, found: VendorClaims) -> None:
    pair = context.measured_pairs[0]
    slower = replace(pair, claimed={**pair.claimed, "value": "60"})
    assert slower.ratio < pair.ratio
    (again,) = Estimates(replace(context, measured_pairs=(slower,))).pairs
    assert again.claimed.seconds == measured(found, pair.id).claimed.ours.value


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("x,nothing,mlperf-v4.1-nvidia-eos_ngc24.09_nemo-llama2_70b_lora-ttt", "nothing"),
        (
            "x,mlperf-v2.1-nvidia-dgxh100_preview-bert-ttt,"
            "mlperf-v4.1-nvidia-eos_ngc24.09_nemo-llama2_70b_lora-ttt",
            "model_name",
        ),
        (
            "x,mlperf-v0.7-nvidia-dgxa100_ngc20.06_mxnet-resnet-sps-e2e,"
            "mlperf-v0.7-nvidia-dgxa100_ngc20.06_mxnet-resnet-sps-e2e",
            "time to train",
        ),
    ],
)
def test_pairs_of_different_work_are_refused(tmp_path: Path, line: str, said: str) -> None:
    rows = [row for name in MEASURED for row in read_measured(DATA / "validation" / name)]
    table = tmp_path / "ratios.csv"
    table.write_text(f"ratio,claimed,baseline\n{line}\n")
    with pytest.raises(CatalogError, match=said):
        load_pairs(table, rows)
