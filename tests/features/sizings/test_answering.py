"""Sizing by deadline and budget."""

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.errors import AppError, BadInput, NotFound, Unprocessable
from app.estimating.estimate import estimate
from app.estimating.request import EstimateRequest
from app.features.sizings.answering import SizingSamples, scaling, size
from app.features.sizings.model import SizingRequest
from tests.conftest import codes, sizing_context
from tests.features.sizings.conftest import DAY, MODELS, SYSTEMS, asked, at_random, sized, under


@pytest.fixture(scope="module")
def whole() -> SizingSamples:
    """A sizing without limits, every candidate searched."""
    return size(asked(systems=SYSTEMS[:1] + SYSTEMS[6:8]), sizing_context())


@pytest.mark.parametrize("name", MODELS)
def test_models_customers_name_are_sized(name: str) -> None:
    found = size(
        SizingRequest.model_validate(
            {
                **MODELS[name],
                "systems": ["dgx-a100-640gb", "bow-pod64"],
                "counts": [1, 4, 16, 64],
                "deadline_s": 1e10,
            }
        ),
        sizing_context(),
    ).document
    assert found.recommended is not None
    assert {option.system for option in found.options} == {"dgx-a100-640gb", "bow-pod64"}
    for option in found.options:
        assert option.fits == (option.time_to_train is not None)
        assert option.rack_units > 0 and option.power.value > 0


def test_an_option_is_what_its_estimate_says() -> None:
    found = sized(systems=["dgx-a100-640gb", "bow-pod16", "aws-p4d"], counts=[1, 4])
    for option in found.options:
        whole = estimate(EstimateRequest.model_validate(option.estimate), sizing_context())
        assert whole.plan is not None and whole.cost is not None and option.cost is not None
        for mine, theirs in (
            (option.time_to_train, whole.time_to_train),
            (option.step_time, whole.step_time),
            (option.cost, whole.cost.run),
            (option.power, whole.system.power),
        ):
            assert mine is not None and theirs is not None
            assert (mine.value, mine.low, mine.high) == pytest.approx((theirs.value, theirs.low, theirs.high))
        assert option.status == whole.validation.status
        assert option.global_batch == whole.plan.global_batch
        assert option.rack_units == whole.system.rack_units
        assert option.software == whole.software
        assert set(option.warnings) == codes(whole)


def test_hosts_of_unknown_memory_share_no_plan_with_those_of_known_memory() -> None:
    """The chips, nodes and fabrics are alike: only one of the two can say where an optimizer would lie."""
    model = {"model": {"preset": "gpt3-175b"}, "workload": {"tokens": 1e9, "global_batch": 1536}}
    names = ["dgx-a100-320gb", "a100-pcie-40gb"]
    found = sized(**model, systems=names, counts=[4, 16])
    by_id = {option.id: option for option in found.options}
    assert by_id["dgx-a100-320gb-x4"].fits and not by_id["a100-pcie-40gb-x4"].fits
    for option in found.options:
        whole = estimate(EstimateRequest.model_validate(option.estimate), sizing_context())
        assert option.fits == (whole.time_to_train is not None)
        if option.time_to_train is not None and whole.time_to_train is not None:
            assert option.time_to_train.value == pytest.approx(whole.time_to_train.value)


@pytest.mark.parametrize("seed", range(12))
def test_drawn_options_carry_the_figures_and_warnings_of_their_estimates(seed: int) -> None:
    found = size(at_random(seed), sizing_context()).document
    for option in random.Random(seed).sample(found.options, min(len(found.options), 5)):
        whole = estimate(EstimateRequest.model_validate(option.estimate), sizing_context())
        assert set(option.warnings) == codes(whole), option.id
        assert option.fits == whole.fits and option.status == whole.validation.status
        for mine, theirs in (
            (option.time_to_train, whole.time_to_train),
            (option.cost, whole.cost and whole.cost.run),
            (option.capex, whole.cost and whole.cost.capex),
            (option.hourly, whole.cost and whole.cost.hourly),
        ):
            if not option.fits:
                continue
            assert (mine is None) == (theirs is None)
            if mine is not None and theirs is not None:
                assert (mine.value, mine.low, mine.high) == pytest.approx(
                    (theirs.value, theirs.low, theirs.high)
                )


def test_a_run_longer_than_a_year_is_never_recommended_without_a_word() -> None:
    """GPT-3 on four Bow Pod64 takes 386 days."""
    found = sized(
        model={"preset": "gpt3-175b"}, workload={"tokens": 300e9}, systems=["bow-pod64"], counts=[4]
    )
    assert {"longer_than_a_year", "longer_than_amortisation"} & set(found.options[0].warnings)


@pytest.mark.parametrize("order", [1, -1])
def test_what_one_system_cannot_hold_rules_out_no_other(order: int) -> None:
    model = {"model": {"preset": "gpt3-175b"}, "workload": {"tokens": 1e9, "global_batch": 1536}}
    names = ["dgx-a100-320gb", "a100-pcie-40gb"][::order]
    found = sized(**model, systems=names, counts=[2, 4], deadline_s=30 * 86_400.0)
    assert {option.system for option in found.options if option.fits} == {"dgx-a100-320gb"}


def test_the_probability_is_counted_on_the_samples() -> None:
    deadline = 4 * 3600.0
    found = size(asked(deadline_s=deadline), sizing_context())
    for option in found.document.options:
        times = next(one.alternative.time for one in found.options if one.document.id == option.id)
        assert times is not None
        assert option.probability == pytest.approx(float(np.mean(times[1] <= deadline)))
        assert option.meets == (option.probability >= 0.8)


def test_the_recommended_option_meets_and_costs_least_or_ties(whole: SizingSamples) -> None:
    found = under(whole, deadline_s=2 * 3600.0, budget=1500.0, budget_kind="run")
    by_id = {option.id: option for option in found.options}
    meeting = [option for option in found.options if option.meets]
    assert found.recommended is not None and found.options[0].id == found.recommended
    outlays = [option.costs.term.value for option in meeting if option.costs.term]
    own = by_id[found.recommended].costs.term
    assert own is not None and own.value <= 1.25 * min(outlays)
    for option in meeting:
        assert option.probability is not None and option.probability >= 0.8
        assert (option.why_not is None) == (option.id in (found.recommended, *found.decision.tied))


@settings(max_examples=30, deadline=None)
@given(st.floats(1e2, 1e7), st.floats(1.0, 10.0))
def test_more_time_never_leaves_fewer_options(whole: SizingSamples, deadline: float, more: float) -> None:
    short, long = under(whole, deadline_s=deadline), under(whole, deadline_s=deadline * more)
    before = {option.id: option for option in short.options}
    for option in long.options:
        assert (option.probability or 0) >= (before[option.id].probability or 0)
        assert option.meets >= before[option.id].meets


def test_the_front_has_no_dominated_point(whole: SizingSamples) -> None:
    points = [
        (point.time_to_train.value, point.costs.term.value)
        for point in whole.document.pareto
        if point.costs.term
    ]
    assert points == sorted(points)
    assert [outlay for _, outlay in points] == sorted((outlay for _, outlay in points), reverse=True)
    for option in whole.document.options:
        time, outlay = option.time_to_train, option.costs.term
        if time and outlay and not option.on_front:
            assert any(other <= time.value and less <= outlay.value for other, less in points)


def test_the_least_deadline_and_the_least_budget_suffice() -> None:
    late = sized(deadline_s=60.0)
    assert late.recommended is None and late.decision.nearest is not None
    date = late.decision.nearest.date
    assert date is not None
    again = sized(deadline_s=date.deadline_s)
    assert date.id in {option.id for option in again.options if option.meets}
    assert sized(deadline_s=date.deadline_s * 0.98).recommended is None
    poor = sized(budget=1.0)
    assert poor.decision.nearest is not None and poor.decision.nearest.money is not None
    assert sized(budget=poor.decision.nearest.money.budget).recommended is not None


def test_where_no_single_change_helps_none_is_named() -> None:
    nearest = sized(deadline_s=60.0, budget=50.0).decision.nearest
    assert nearest is not None
    assert (nearest.date, nearest.money, nearest.work) == (None, None, None)


def test_a_model_no_system_holds_says_so() -> None:
    found = sized(
        model={"preset": "gpt3-175b"}, workload={"tokens": 1e9}, systems=["dgx-a100-320gb"], counts=[1]
    )
    assert found.recommended is None and found.decision.nearest is None
    assert found.options[0].why_not == "does_not_fit"
    assert not found.options[0].fits and found.options[0].probability is None
    assert "does_not_fit" in found.options[0].warnings


def test_counts_around_the_deadline_are_refined() -> None:
    coarse = sized(systems=["dgx-a100-640gb"], deadline_s=3600.0, counts=[1, 2, 4, 8, 16, 20, 32])
    fine = sized(systems=["dgx-a100-640gb"], deadline_s=3600.0)
    assert {option.count for option in fine.options} - {option.count for option in coarse.options}
    counts = [min(option.count for option in found.options if option.meets) for found in (fine, coarse)]
    assert counts[0] <= counts[1]


@pytest.mark.parametrize("seed", [2, 5, 7])
def test_every_candidate_is_an_option_or_named_as_impossible(seed: int) -> None:
    found = size(at_random(seed), sizing_context()).document
    assert found.considered == len(found.options) + len(found.left_out)


def test_a_restated_sizing_is_that_of_the_other_limits() -> None:
    found = size(asked(deadline_s=DAY), sizing_context())
    stated = under(found, deadline_s=None, budget=2000.0, budget_kind="run")
    again = size(asked(budget=2000.0, budget_kind="run"), sizing_context()).document
    meets = {option.id: option.meets for option in again.options}
    assert all(meets[option.id] == option.meets for option in stated.options if option.id in meets)


def test_an_unknown_price_is_named_and_keeps_no_budget() -> None:
    found = sized(systems=["big-basin-p100"], counts=[1], budget=1e9)
    (option,) = found.options
    assert option.cost is None and option.capex is None and "price_unknown" in option.warnings
    assert option.probability == 0.0 and not option.meets
    assert option.why_not == "no_price" and found.recommended is None
    timely = sized(systems=["big-basin-p100"], counts=[1], deadline_s=1e10)
    assert timely.options[0].meets and timely.options[0].why_not == "no_price"


def test_software_holds_for_systems_of_its_kind() -> None:
    found = sized(systems=["dgx-a100-640gb", "bow-pod16"], counts=[1], software="megatron-2022")
    assert {option.system: option.software == "megatron-2022" for option in found.options} == {
        "dgx-a100-640gb": True,
        "bow-pod16": False,
    }


def test_the_scaling_curve_shows_where_the_batch_ends_it() -> None:
    found = scaling(
        asked(model={"preset": "resnet50"}, workload={"samples": 1e8, "global_batch": 256}),
        "dgx-a100-640gb",
        sizing_context(),
    )
    assert found.batch_limit is not None and found.batch_limit * 8 > 256
    assert [warning.code for warning in found.warnings] == ["batch_limits_scaling"]
    assert found.points[0].efficiency.value == pytest.approx(1.0)
    assert found.knee in {point.count for point in found.points}


@pytest.mark.parametrize(
    ("parts", "kind", "field"),
    [
        ({"deadline_s": -1.0}, BadInput, "deadline_s"),
        ({"deadline_s": 0.0}, BadInput, "deadline_s"),
        ({"budget": 0.0}, BadInput, "budget"),
        ({"probability": 1.5}, BadInput, "probability"),
        ({"most_accelerators": 0}, BadInput, "most_accelerators"),
        ({"counts": [0]}, BadInput, "counts.0"),
        ({"counts": []}, Unprocessable, "counts"),
        ({"systems": []}, Unprocessable, "systems"),
        ({"systems": ["dgx-a100-640g"]}, NotFound, "systems.0"),
        ({"model": {"total_flop": 1e23}}, BadInput, "model.total_flop"),
        ({"model": {}}, Unprocessable, "model"),
        ({"workload": {}}, Unprocessable, "workload"),
        ({"workload": {"samples": 1e6, "global_batch": 0}}, BadInput, "workload.global_batch"),
        ({"workload": {"samples": -1}}, BadInput, "workload.samples"),
        ({"assumptions": {"memory_margin": 2.0}}, BadInput, "assumptions.memory_margin"),
        ({"assumptions": {"input_samples_per_second": 0}}, BadInput, "assumptions.input_samples_per_second"),
        ({"software": "none-such"}, NotFound, "software"),
    ],
)
def test_what_can_never_be_right_is_refused_at_its_field(
    parts: dict[str, Any], kind: type[AppError], field: str
) -> None:
    with pytest.raises(kind) as caught:
        sized(**parts)
    assert caught.value.errors[0].field == field


def test_a_long_layer_table_is_sent_to_the_profiles() -> None:
    """Each option repeats its model: what is long is uploaded once and named."""
    row = {"name": "product", "kind": "gemm", "count": 1, "rows": 8, "inner": 8, "columns": 8}
    request = SizingRequest.model_validate({"model": {"layers": [row] * 501}, "workload": {"samples": 1e6}})
    with pytest.raises(BadInput) as refused:
        size(request, sizing_context())
    assert [entry.field for entry in refused.value.errors] == ["model.layers"]
    assert "profile_id" in str(refused.value)


def test_no_more_is_rented_than_one_order_holds_unless_the_count_is_stated() -> None:
    found = sized(systems=["tpu-v6e"], workload={"samples": 1e8, "global_batch": 4096})
    assert max(option.count for option in found.options) == 32
    assert not any("beyond_one_order" in option.warnings for option in found.options)
    stated = sized(systems=["tpu-v6e"], workload={"samples": 1e8, "global_batch": 4096}, counts=[32, 64])
    beyond = {option.count: "beyond_one_order" in option.warnings for option in stated.options}
    assert beyond == {32: False, 64: True}


def test_where_nothing_is_fast_enough_larger_systems_are_named() -> None:
    late = sized(systems=["dgx-a100-640gb"], deadline_s=1.0, most_accelerators=64)
    assert late.recommended is None
    assert [warning.code for warning in late.warnings if warning.code == "larger_not_considered"]
    enough = sized(systems=["dgx-a100-640gb"], deadline_s=1e9, most_accelerators=64)
    assert not [warning.code for warning in enough.warnings if warning.code == "larger_not_considered"]
