"""Sizing by deadline and budget."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.errors import AppError, BadInput, NotFound, Unprocessable
from app.estimating.estimate import estimate
from app.estimating.request import EstimateRequest
from app.features.sizings.answering import SizingSamples, restated, scaling, size
from app.features.sizings.judging import sampled_option
from app.features.sizings.model import Sizing, SizingRequest
from app.features.sizings.words import sentences
from tests.conftest import codes, sizing_context
from tests.features.sizings.conftest import DAY, MODELS, SYSTEMS, asked, at_random, sized


@pytest.fixture(scope="module")
def whole() -> SizingSamples:
    """A sizing without limits, every candidate searched."""
    return size(asked(systems=SYSTEMS[:1] + SYSTEMS[6:8]), sizing_context())


def under(whole: SizingSamples, **limits: Any) -> Sizing:
    """Return a sizing judged under limits."""
    options = [sampled_option(one, whole.samples.get(one.id)) for one in whole.document.options]
    return restated(whole.document, options, whole.document.request.model_copy(update=limits))


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
    assert found.outcome == "met"
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
        # What three measured steps would tell is asked of an estimate alone.
        assert set(option.warnings) == codes(whole) - {"measure_three_steps"}


def test_hosts_of_unknown_memory_share_no_plan_with_those_of_known_memory() -> None:
    """The chips, nodes and fabrics are alike: only one of the two can say where an optimizer would lie."""
    model = {"model": {"preset": "gpt3-175b"}, "workload": {"tokens": 1e9, "global_batch": 1536}}
    names = ["dgx-a100-320gb", "azure-nd96asr"]
    found = sized(**model, systems=names, counts=[8, 12])
    by_id = {option.id: option for option in found.options}
    assert by_id["dgx-a100-320gb-x8"].fits and not by_id["azure-nd96asr-x8"].fits
    for option in found.options:
        whole = estimate(EstimateRequest.model_validate(option.estimate), sizing_context())
        assert option.fits == (whole.time_to_train is not None)
        if option.time_to_train is not None and whole.time_to_train is not None:
            assert option.time_to_train.value == pytest.approx(whole.time_to_train.value)


@pytest.mark.parametrize("order", [1, -1])
def test_what_one_system_cannot_hold_rules_out_no_other(order: int) -> None:
    model = {"model": {"preset": "gpt3-175b"}, "workload": {"tokens": 1e9, "global_batch": 1536}}
    names = ["dgx-a100-320gb", "azure-nd96asr", "aws-p4d"][::order]
    found = sized(**model, systems=names, counts=[6, 8], deadline_s=30 * 86_400.0)
    assert {option.system for option in found.options if option.fits} == {"dgx-a100-320gb"}


def test_the_probability_is_counted_on_the_samples() -> None:
    deadline = 4 * 3600.0
    found = size(asked(deadline_s=deadline), sizing_context())
    for option in found.document.options:
        times = found.samples[option.id][0]
        assert option.probability == pytest.approx(float(np.mean(times <= deadline)))
        assert option.meets == (option.probability >= 0.8)


def test_the_cheapest_and_the_fastest_are_so_among_those_that_meet(whole: SizingSamples) -> None:
    found = under(whole, deadline_s=2 * 3600.0, budget=1500.0, budget_kind="run")
    meeting = [option for option in found.options if option.meets]
    by_id = {option.id: option for option in meeting}
    assert found.cheapest and found.fastest
    costs = [option.cost.value for option in meeting if option.cost]
    times = [option.time_to_train.value for option in meeting if option.time_to_train]
    cheapest, fastest = by_id[found.cheapest], by_id[found.fastest]
    assert cheapest.cost and cheapest.cost.value == min(costs)
    assert fastest.time_to_train and fastest.time_to_train.value == min(times)
    for option in meeting:
        assert option.probability is not None and option.probability >= 0.8
        assert option.probability <= min(option.probability_deadline or 1, option.probability_budget or 1)


@settings(max_examples=30, deadline=None)
@given(st.floats(1e2, 1e7), st.floats(1.0, 10.0))
def test_more_time_never_leaves_fewer_options(whole: SizingSamples, deadline: float, more: float) -> None:
    short, long = under(whole, deadline_s=deadline), under(whole, deadline_s=deadline * more)
    before = {option.id: option for option in short.options}
    for option in long.options:
        assert (option.probability or 0) >= (before[option.id].probability or 0)
        assert option.meets >= before[option.id].meets


def test_the_front_has_no_dominated_point(whole: SizingSamples) -> None:
    points = [(point.time_to_train.value, point.cost.value) for point in whole.document.pareto if point.cost]
    assert points == sorted(points)
    assert [cost for _, cost in points] == sorted((cost for _, cost in points), reverse=True)
    for option in whole.document.options:
        if option.time_to_train and option.cost and not option.on_front:
            assert any(
                time <= option.time_to_train.value and cost <= option.cost.value for time, cost in points
            )


def test_where_none_meets_the_changes_named_do_suffice() -> None:
    request = asked(deadline_s=60.0, budget=50.0)
    found = size(request, sizing_context()).document
    assert found.outcome == "not_met" and found.nearest is not None and found.nearest.option
    assert found.cheapest is None and found.fastest is None
    assert "no system meets" in str(sentences(found)[0]).lower()
    (both,) = found.nearest.changes
    kept = asked(deadline_s=both.value, **both.also)
    assert size(kept, sizing_context()).document.outcome == "met"
    alone = size(asked(deadline_s=60.0), sizing_context()).document
    assert alone.nearest is not None
    changes = {change.field: change for change in alone.nearest.changes}
    assert {"deadline_s", "workload.samples"} <= changes.keys()
    longer = changes["deadline_s"].value
    assert longer is not None
    again = size(asked(deadline_s=longer), sizing_context()).document
    assert again.outcome == "met"
    assert changes["deadline_s"].option in {option.id for option in again.options if option.meets}
    assert size(asked(deadline_s=longer * 0.98), sizing_context()).document.outcome == "not_met"
    fewer = {"samples": changes["workload.samples"].value, "global_batch": 4096, "seq_len": 128}
    assert size(asked(deadline_s=60.0, workload=fewer), sizing_context()).document.outcome == "met"


def test_a_budget_that_would_suffice_is_named() -> None:
    found = sized(budget=1.0)
    assert found.nearest is not None
    enough = next(change.value for change in found.nearest.changes if change.field == "budget")
    assert sized(budget=enough).outcome == "met"


def test_a_model_no_system_holds_says_so() -> None:
    found = sized(
        model={"preset": "gpt3-175b"}, workload={"tokens": 1e9}, systems=["dgx-a100-320gb"], counts=[1]
    )
    assert found.outcome == "not_met" and found.nearest is not None
    assert found.nearest.option is None and found.nearest.changes[0].field == "model"
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
    assert found.nearest is not None
    assert [change.field for change in found.nearest.changes] == ["assumptions.system_price"]
    assert sized(systems=["big-basin-p100"], counts=[1], deadline_s=1e10).outcome == "met"


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
