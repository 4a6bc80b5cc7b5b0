"""What a sweep combines: order, keys, what goes before what, limits."""

from __future__ import annotations

import itertools

import pytest
from pydantic import ValidationError

from app.errors import AppError, NotFound
from app.estimating.estimate import estimate
from app.features.sweeps.model import MOST_POINTS, SweepRequest
from app.features.sweeps.points import Sweep, SweepPoint, UploadSet
from app.features.sweeps.rows import cells, columns
from app.features.sweeps.run import row_at
from tests.conftest import sizing_context
from tests.support.sweeping import BASE, BERT, sweep

RESNET = {"model": {"preset": "resnet50"}, "workload": {"target": "mlperf-resnet50"}}

LISTS = {
    "models": [BERT, RESNET],
    "systems": [{"id": "dgx-a100-640gb", "counts": [1, 2]}, {"label": "pod", "id": "ipu-pod16"}],
    "prices": [{"label": "list"}, {"label": "ours", "electricity_per_kwh": 0.05}],
    "scenarios": [
        {"label": "usual"},
        {"label": "fragile", "assumptions": {"failures_per_1000_node_days": 50}},
    ],
}


def only(asked: Sweep) -> SweepPoint:
    (point,) = asked.points()
    return point


def test_every_combination_is_there_once_in_the_order_of_the_lists() -> None:
    asked = sweep(**LISTS)
    found = [(p.model, p.system, p.request.system.count, p.price, p.scenario) for p in asked.points()]
    systems = [("dgx-a100-640gb", 1), ("dgx-a100-640gb", 2), ("pod", 1)]
    expected = [
        (model, *system, price, scenario)
        for model, system, price, scenario in itertools.product(
            ["bert-large", "resnet50"], systems, ["list", "ours"], ["usual", "fragile"]
        )
    ]
    assert found == expected
    assert asked.total == len(expected) == 24
    assert [point.position for point in asked.points()] == list(range(24))


def test_keys_follow_from_what_is_asked_and_nothing_else() -> None:
    keys = [point.key for point in sweep(**LISTS).points()]
    assert len(set(keys)) == len(keys)
    again = SweepRequest.model_validate_json(SweepRequest.model_validate(BASE | LISTS).model_dump_json())
    assert [point.key for point in Sweep.of(again).points()] == keys
    turned = sweep(**LISTS | {"models": [RESNET, BERT]})
    assert {point.key for point in turned.points()} == set(keys)
    dearer = {**LISTS, "prices": [{"label": "list"}, {"label": "ours", "electricity_per_kwh": 0.06}]}
    assert len({point.key for point in sweep(**dearer).points()} & set(keys)) == 12
    assert len({point.key for point in sweep(**LISTS, currency="KRW").points()} & set(keys)) == 0


def test_a_sweep_of_one_point_is_the_estimate() -> None:
    point = only(sweep())
    answer = estimate(point.request, sizing_context())
    row = row_at(point, sizing_context())
    assert answer.time_to_train is not None and answer.cost is not None and answer.plan is not None
    assert (row.time_to_train, row.time_to_train_low) == (
        answer.time_to_train.value,
        answer.time_to_train.low,
    )
    assert (row.cost, row.cost_high) == (answer.cost.run.value, answer.cost.run.high)
    assert row.global_batch == answer.plan.global_batch
    assert row.fits and row.problem is None


def test_what_is_nearer_to_the_point_goes_before() -> None:
    prices = [
        {
            "label": "ours",
            "electricity_per_kwh": 0.05,
            "amortisation_years": 4,
            "by_system": {"dgx-a100-640gb": {"system_price": 150000, "amortisation_years": 5}},
        }
    ]
    scenario = {"label": "crisis", "assumptions": {"electricity_per_kwh": 0.5}, "software": "gpu-tuned"}
    systems = [{"id": "dgx-a100-640gb", "software": "gpu-flash"}]
    found = only(sweep(prices=prices, scenarios=[scenario], systems=systems)).request
    assert found.assumptions.electricity_per_kwh == 0.5
    assert found.assumptions.amortisation_years == 5
    assert found.assumptions.system_price == 150000
    assert found.software == "gpu-tuned"
    without = only(sweep(prices=prices, systems=systems)).request
    assert (without.assumptions.electricity_per_kwh, without.software) == (0.05, "gpu-flash")


def test_prices_of_another_system_do_not_reach_it() -> None:
    prices = [{"label": "ours", "by_system": {"ipu-pod16": {"system_price": 1}}}]
    systems = [{"id": "dgx-a100-640gb"}, {"id": "ipu-pod16"}]
    found = [
        point.request.assumptions.system_price for point in sweep(prices=prices, systems=systems).points()
    ]
    assert found == [None, 1]


def test_a_scenario_that_says_how_long_replaces_what_the_model_says() -> None:
    scenarios = [
        {"label": "tokens", "workload": {"tokens": 1e9}},
        {"label": "longer", "workload": {"seq_len": 512}},
    ]
    tokens, longer = [point.request.workload for point in sweep(scenarios=scenarios).points()]
    assert (tokens.tokens, tokens.samples, tokens.global_batch) == (1e9, None, 1024)
    assert (longer.samples, longer.seq_len) == (1e6, 512)


def test_epochs_of_a_scenario_keep_the_data_set_of_the_model() -> None:
    model = {"model": {"preset": "resnet50"}, "workload": {"epochs": 10, "dataset_samples": 1e6}}
    found = only(sweep(models=[model], scenarios=[{"label": "short", "workload": {"epochs": 2}}])).request
    assert (found.workload.epochs, found.workload.dataset_samples) == (2, 1e6)


def test_a_refused_point_is_a_row_that_names_field_and_reason() -> None:
    row = row_at(only(sweep(systems=[{"id": "dgx-a100-640gb", "count": 0}])), sizing_context())
    assert row.problem is not None
    assert row.problem.field == "system.count" and "at least 1" in row.problem.message
    assert row.fits is None and row.time_to_train is None and row.count == 0


def test_a_point_that_does_not_fit_has_memory_but_no_time() -> None:
    model = {"model": {"preset": "llama3-405b"}, "workload": {"tokens": 1e9, "global_batch": 64}}
    row = row_at(only(sweep(models=[model])), sizing_context())
    assert row.fits is False and row.time_to_train is None and row.problem is None
    assert row.memory_share is not None and row.memory_share > 1
    assert "does_not_fit" in row.warnings


def test_a_bare_division_has_a_row_as_well() -> None:
    models = [{"model": {"total_flop": 1e20}}]
    scenarios = [{"label": "bare", "assumptions": {"peak_flops": 5e15, "utilization": 0.5}}]
    row = row_at(only(sweep(models=models, scenarios=scenarios)), sizing_context())
    assert row.time_to_train == pytest.approx(1e20 / 2.5e15)
    assert row.tensor is None


def test_a_fault_of_ours_ends_one_point_only(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*given: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("app.features.sweeps.run.estimate", fail)
    row = row_at(only(sweep()), sizing_context())
    assert row.problem is not None and row.problem.field == ""


@pytest.mark.parametrize(
    ("lists", "field", "said"),
    [
        ({"systems": [{"id": "a", "count": 1, "counts": [2]}]}, "systems.0.counts", "not both"),
        ({"systems": [{"id": "a"}, {"id": "a", "counts": [2, 1]}]}, "systems.1", "1 × “a”"),
        ({"models": [BERT, BERT]}, "models.1.label", "“bert-large” appears twice"),
        ({"prices": [{"label": "x"}, {"label": "x"}]}, "prices.1.label", "twice"),
        ({"scenarios": [{"label": "x"}, {"label": "x"}]}, "scenarios.1.label", "twice"),
        ({"prices": [{"label": "x", "by_system": {"b": {}}}]}, "prices.0.by_system", "“b” is not a system"),
    ],
)
def test_contradictions_name_their_field(lists: dict[str, object], field: str, said: str) -> None:
    with pytest.raises(AppError) as caught:
        sweep(**lists)
    assert caught.value.status == 400
    assert caught.value.errors[0].field == field
    assert said in str(caught.value.message)


def test_too_many_points_are_refused_with_the_sum() -> None:
    systems = [
        {"label": str(place), "id": "dgx-a100-640gb", "counts": list(range(1, 51))} for place in range(20)
    ]
    prices = [{"label": str(place)} for place in range(21)]
    with pytest.raises(AppError) as caught:
        sweep(systems=systems, prices=prices)
    said = str(caught.value.message)
    assert all(number in said for number in ("1,000", "21", "21,000"))
    assert f"at most {MOST_POINTS:,}" in said


@pytest.mark.parametrize(
    "lists", [{"models": []}, {"systems": []}, {"unknown": 1}, {"systems": [{"id": "a", "counts": []}]}]
)
def test_the_schema_refuses_what_no_sweep_can_be(lists: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        sweep(**lists)


@pytest.mark.parametrize(
    ("lists", "field"),
    [
        (
            {"models": [BERT | {"label": "ours"}, {"model": {"profile_id": "prf_x"}}]},
            "models.1.model.profile_id",
        ),
        ({"models": [{**BERT, "workload": {"workload_id": "wkl_x"}}]}, "models.0.workload.workload_id"),
        (
            {"scenarios": [{"label": "s", "workload": {"workload_id": "w"}}]},
            "scenarios.0.workload.workload_id",
        ),
        ({"systems": [{"id": "dgx-a100-640gb", "software": "cal_x"}]}, "systems.0.software"),
        ({"scenarios": [{"label": "s", "software": "cal_x"}]}, "scenarios.0.software"),
    ],
)
def test_an_upload_that_is_not_there_is_refused_at_its_field(lists: dict[str, object], field: str) -> None:
    asked = sweep(**lists)
    with pytest.raises(NotFound) as caught:
        UploadSet.of(asked.request, sizing_context())
    assert [error.field for error in caught.value.errors] == [field]


def test_every_row_has_a_cell_for_every_column() -> None:
    kinds = columns()
    for lists in ({}, {"systems": [{"id": "nosuch"}]}):
        row = row_at(only(sweep(**lists)), sizing_context())
        values = list(cells(row))
        assert len(values) == len(kinds)
        for value, (name, kind) in zip(values, kinds.items(), strict=True):
            assert value is None or type(value) is kind, name
