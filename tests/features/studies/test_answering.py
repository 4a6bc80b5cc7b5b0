"""Answers of studies: deltas, contests, why and tornados, held to the estimates they come from."""

from __future__ import annotations

import itertools
from functools import cache
from typing import Any

import pytest

from app.errors import AppError, BadInput, NotFound, Unprocessable
from app.estimating.request import Limits
from app.features.studies.explaining import parts_across
from app.features.studies.knobs import check_labels
from app.features.studies.model import StudyAnswer, StudyContent
from tests.features.studies.conftest import OPTIONS, answer_of, study


@cache
def usual() -> StudyAnswer:
    return answer_of(study())


def option(found: StudyAnswer, key: str) -> Any:
    return next(one for one in found.options if one.key == key)


def test_the_fastest_is_the_measure_of_all_others() -> None:
    # Without named software the range of the first option holds the published figure.
    found = answer_of(study([OPTIONS[0] | {"software": "ngc-pytorch"}, *OPTIONS[1:]]))
    best = option(found, found.fastest)
    assert best.time_against_best.best and best.time_against_best.ratio == 1
    for one in found.options:
        delta = one.time_against_best
        assert delta.ratio == pytest.approx(one.time.value / best.time.value)
        assert delta.difference.value == pytest.approx(one.time.value - best.time.value)
        assert delta.ratio >= 1
    assert option(found, "p").cost_against_best is None


def test_a_linear_figure_loses_what_scaling_loses() -> None:
    assert option(usual(), "q").time.value == pytest.approx(1800)
    lossy = answer_of(study(scaling_efficiency=0.8))
    assert option(lossy, "q").time.value == pytest.approx(1800 / 0.8)
    assert option(lossy, "p").time.value == option(usual(), "p").time.value


def test_two_directions_of_a_contest_add_up_to_one() -> None:
    found = {(one.metric, one.first, one.second): one.probability for one in usual().contests}
    assert found[("time", "p", "q")] is None
    for (metric, first, second), probability in found.items():
        if probability is not None:
            assert probability + found[(metric, second, first)] == pytest.approx(1.0)
    assert {metric for metric, *_ in found} == {"time", "cost"}


def test_an_option_ties_with_its_like() -> None:
    twins = answer_of(study([{"system": {"id": "bow-pod16"}}, {"system": {"id": "bow-pod16"}}]))
    assert {one.probability for one in twins.contests} == {0.5}
    assert [one.label for one in twins.options] == ["Bow Pod16", "Bow Pod16 (b)"]
    assert twins.why is not None and twins.why.parts == [] and twins.why.difference == 0


def test_common_samples_keep_the_order_of_what_differs_in_count_alone() -> None:
    """Ranges of one and two machines overlap less than their samples are sure of their order."""
    found = answer_of(study([{"system": {"id": "dgx-a100-640gb", "count": count}} for count in (1, 2)]))
    sure = {(one.first, one.second): one.probability for one in found.contests if one.metric == "time"}
    assert sure["b", "a"] > 0.99


def test_the_parts_of_why_add_up_to_the_difference() -> None:
    why = answer_of(study(), ["a", "b"]).why
    assert why is not None and (why.first, why.second) == ("a", "b")
    assert sum(part.difference for part in why.parts) == pytest.approx(why.difference, rel=1e-6)
    sizes = [abs(part.difference) for part in why.parts]
    assert sizes == sorted(sizes, reverse=True)
    assert "times as long" in why.sentences[0].message
    stated = answer_of(study(), ["a", "p"]).why
    assert stated is not None and stated.parts == []
    assert any("without a breakdown" in text.message for text in stated.sentences)


def test_parts_over_the_options_fill_each_time() -> None:
    rows = parts_across(usual().options)
    for key in ("a", "b"):
        assert sum(row.seconds[key] for row in rows) == pytest.approx(option(usual(), key).time.value)
        assert sum(row.share[key] for row in rows) == pytest.approx(1.0)


def test_a_tornado_turns_where_the_lead_is_less_than_the_error() -> None:
    """Of two stated figures 20 % apart the second overtakes when the first is 30 % slower, and not else."""
    close = answer_of(study([stated("a", 10.0), stated("b", 12.0)])).tornados[0]
    assert (close.best, close.runner_up) == ("a", "b")
    assert close.lead == pytest.approx(1.2)
    swings = {swing.option: swing for swing in close.swings}
    assert swings["a"].high == pytest.approx(1.2 / 1.3) and swings["a"].overtaken_by == "b"
    assert swings["b"].low == pytest.approx(1.2 * 0.7)
    far = answer_of(study([stated("a", 10.0), stated("b", 20.0)])).tornados[0]
    assert all(swing.overtaken_by is None for swing in far.swings)
    assert all("stays the best" in swing.text.message for swing in far.swings)


def test_what_is_scaled_from_a_figure_moves_with_it() -> None:
    found = answer_of(study([stated("a", 10.0), *linear("b", "a", 2)])).tornados[0]
    assert {swing.input for swing in found.swings} == {"scaling_efficiency", "time_to_train"}
    own = next(swing for swing in found.swings if swing.option == "b")
    assert own.high == pytest.approx(2 / 1.3)
    assert not any(swing.option == "a" for swing in found.swings), "both move alike: the lead stays"


def test_costs_swing_with_prices_and_utilisation() -> None:
    costs = next(one for one in usual().tornados if one.metric == "cost")
    inputs = {swing.input for swing in costs.swings}
    assert {"price", "residual"} <= inputs
    higher = next(one for one in costs.swings if one.input == "price" and one.option == costs.best)
    assert higher.high < costs.lead < higher.low


@pytest.mark.parametrize(
    ("options", "kind", "field"),
    [
        ([{"key": "a", "system": {"id": "bow-pod16"}}] * 2, BadInput, "options.1.key"),
        ([{"system": {"id": "bow-pod17"}}], NotFound, "options.0.system.id"),
        ([{"label": "x"}], Unprocessable, "options.0"),
        ([{"figure": {"kind": "vendor"}}], Unprocessable, "options.0.figure.hours"),
        (
            [{"figure": {"kind": "linear", "scaled_from": "z", "factor": 2}}],
            NotFound,
            "options.0.figure.scaled_from",
        ),
        ([{"figure": {"kind": "vendor", "hours": 1}, "software": "gpu-flash"}], BadInput, "options.0"),
    ],
)
def test_contradictions_are_named(options: list[dict[str, Any]], kind: type[AppError], field: str) -> None:
    with pytest.raises(kind) as caught:
        answer_of(study(options))
    assert caught.value.errors[0].field == field


def test_options_of_one_label_are_refused_when_they_are_stated() -> None:
    with pytest.raises(BadInput, match="different labels"):
        check_labels(study([{"key": key, "label": "x", "system": {"id": "bow-pod16"}} for key in "ab"]))


def test_a_circle_of_scaled_figures_is_refused() -> None:
    with pytest.raises(BadInput) as caught:
        answer_of(study([*linear("a", "b", 2), *linear("b", "a", 2)]))
    assert caught.value.errors[0].field == "options.0.figure.scaled_from"


def stated(key: str, hours: float) -> dict[str, Any]:
    return {"key": key, "label": key.upper(), "figure": {"hours": hours, "kind": "published"}}


def linear(key: str, base: str, factor: float) -> list[dict[str, Any]]:
    figure = {"kind": "linear", "scaled_from": base, "factor": factor}
    return [{"key": key, "label": key.upper(), "figure": figure}]


def limited(content: StudyContent, **limits: Any) -> StudyContent:
    return content.model_copy(update={"limits": Limits.model_validate(limits)})


def why_not(found: StudyAnswer) -> dict[str, str | None]:
    return {one.id: one.why_not for one in found.decision.options}


def test_a_decision_takes_time_and_cost_of_the_estimates() -> None:
    found = usual()
    assert [one.id for one in found.decision.options] == [one.key for one in found.options]
    for one in found.decision.options:
        time = option(found, one.id).time
        # A run begins with its start-up, which a decision counts.
        assert one.time is not None and time.value <= one.time.value < time.value + 3600.0
        made = option(found, one.id).estimate
        if made is not None:
            assert one.run is not None and one.run.value == pytest.approx(made.cost.run.value)
            assert one.purchase is not None and one.outlay is not None
            assert one.outlay.value > one.purchase.value


def test_a_published_figure_is_never_recommended() -> None:
    assert {key: why for key, why in why_not(usual()).items() if key in "pq"} == {
        "p": "published",
        "q": "published",
    }
    alone = answer_of(study([stated("a", 10.0), stated("b", 12.0)])).decision
    assert alone.recommended is None and alone.nearest is not None


def test_nothing_that_fits_is_recommended() -> None:
    large = study([{"system": {"id": "ipu-m2000"}}], model={"preset": "gpt3-175b"}, workload={"tokens": 3e11})
    found = answer_of(large)
    assert found.decision.recommended is None and why_not(found) == {"a": "does_not_fit"}


def test_limits_are_counted_on_the_samples() -> None:
    time = option(usual(), "a").time
    found = answer_of(limited(study(), deadline_s=time.value, probability=0.5)).decision
    kept = {one.id: one.probability for one in found.options}
    assert 0.0 < kept["a"] < 0.9 and kept["p"] == float(time.value >= 2.0 * 3600)
    assert {one.probability for one in usual().decision.options} == {None}
    poor = answer_of(limited(study(), deadline_s=time.value, budget=1.0)).decision
    assert all(one.probability == 0 for one in poor.options)


def test_an_option_that_misses_a_limit_is_named_with_the_limit() -> None:
    named = {"system": {"id": "dgx-a100-640gb"}, "software": "ngc-pytorch"}
    content = study([{"system": {"id": "bow-pod16"}}, named])
    times = {one.key: one.time.value for one in answer_of(content).options}
    slow, fast = sorted(times, key=lambda key: -times[key])
    late = answer_of(limited(content, deadline_s=sum(times.values()) / 2))
    assert why_not(late) == {slow: "too_late", fast: None}
    dear = answer_of(limited(content, budget=200_000, budget_kind="purchase"))
    assert "over_budget" in why_not(dear).values()
    dark = answer_of(limited(content, power_w=1000.0))
    assert set(why_not(dark).values()) == {"over_power"}


@pytest.mark.parametrize("limits", [{"deadline_s": 0}, {"budget": -1}, {"power_w": 0}, {"probability": 1}])
def test_limits_that_can_never_be_right_are_refused_by_name(limits: dict[str, float]) -> None:
    with pytest.raises(BadInput) as caught:
        answer_of(limited(study(), **limits))
    assert caught.value.errors[0].field == f"limits.{next(iter(limits))}"


@pytest.mark.parametrize(
    ("demand", "kind"),
    [({"runs": 1.5}, Unprocessable), ({"runs": 0}, BadInput), ({"utilisation": 1.1}, BadInput)],
)
def test_a_demand_that_can_never_be_right_is_refused_by_name(
    demand: dict[str, float], kind: type[AppError]
) -> None:
    with pytest.raises(kind) as caught:
        answer_of(study(assumptions={"demand": demand}))
    assert caught.value.errors[0].field == f"base.assumptions.demand.{next(iter(demand))}"


def test_two_demands_are_refused() -> None:
    both = {"runs": 1, "runs_per_year": 2}
    with pytest.raises(BadInput):
        answer_of(study(assumptions={"demand": both}))
    options = [{"system": {"id": "bow-pod16"}, "assumptions": {"demand": {"runs": runs}}} for runs in (1, 2)]
    with pytest.raises(BadInput) as caught:
        answer_of(study(options))
    assert caught.value.errors[0].field == "options.1.assumptions.demand"


def test_more_runs_cost_more_and_leave_less_time_idle() -> None:
    asked = [answer_of(study(assumptions={"demand": {"runs": runs}})).decision for runs in (1, 10, 100)]
    outlays = [[one.outlay.value for one in found.options if one.outlay] for found in asked]
    assert all(
        less < more
        for first, second in itertools.pairwise(outlays)
        for less, more in zip(first, second, strict=True)
    )
    assert [found.runs for found in asked] == [1, 10, 100]


def test_options_are_paid_over_one_term() -> None:
    options = [
        {"system": {"id": "dgx-h100"}, "assumptions": {"amortisation_years": years}} for years in (4, 2)
    ]
    first, second = answer_of(study(options)).decision.options
    assert first.outlay == second.outlay and first.run != second.run


def test_what_only_the_bill_counts_is_said_beside_the_costs() -> None:
    content = study([{"system": {"id": "dgx-a100-640gb"}}])
    more = content.model_copy(update={"views": {"bill": {"storage_tb": "200"}}})
    codes = [{one.code for one in answer_of(asked).warnings} for asked in (content, more)]
    assert codes[1] - codes[0] == {"bill_extras_not_counted"}


def test_a_baseline_is_compared_with_in_either_direction() -> None:
    content = study().model_copy(update={"baseline": "b"})
    found = answer_of(content)
    ratios = {one.key: one.time_against_baseline.ratio for one in found.options}
    assert ratios["b"] == 1 and ratios["a"] == pytest.approx(
        option(found, "a").time.value / option(found, "b").time.value
    )
    with pytest.raises(NotFound):
        answer_of(study().model_copy(update={"baseline": "z"}))
