"""Answers of studies: deltas, contests, why and tornados, held to the estimates they come from."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache
from typing import Any

import pytest

from app.errors import AppError, BadInput, NotFound, Unprocessable
from app.estimating.estimate import estimate
from app.features.comparisons.model import PublishedFigure
from app.features.studies.answering import Outcomes, State, study_answer
from app.features.studies.explaining import parts_across
from app.features.studies.knobs import StudyVariant, check, check_labels, request_of
from app.features.studies.model import Study, StudyAnswer, StudyContent, StudyLimits
from tests.conftest import sizing_context
from tests.features.studies.conftest import study


def answer_of(content: StudyContent, pair: list[str] | None = None) -> StudyAnswer:
    context = sizing_context()
    check(content, context.catalog)
    requests = {option.key: request_of(content, option) for option in content.options}
    made: Outcomes = {
        key: None if isinstance(asked, PublishedFigure) else estimate(asked, context)
        for key, asked in requests.items()
    }
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    kept = Study(
        id="", version=1, latest=1, archived=False, created_at=moment, updated_at=moment, content=content
    )
    return study_answer(State(kept, StudyVariant(content, {})), requests, made, context, pair)


@cache
def usual() -> StudyAnswer:
    return answer_of(study())


def option(found: StudyAnswer, key: str) -> Any:
    return next(one for one in found.options if one.key == key)


def test_the_fastest_is_the_measure_of_all_others() -> None:
    found = usual()
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


def said(found: StudyAnswer) -> list[str]:
    return [text.message for text in found.conclusion]


def test_the_conclusion_names_the_cheapest_and_the_fastest() -> None:
    found = usual()
    first = said(found)[0]
    best = {found.cheapest, found.fastest, *found.cheapest_tied, *found.fastest_tied} - {None}
    assert best and all(option(found, key).label in first for key in best)
    alone = answer_of(study([{"system": {"id": "bow-pod16"}}]))
    assert said(alone)[0].startswith("Bow Pod16 takes ")
    assert "tie in both" in said(answer_of(study([{"system": {"id": "bow-pod16"}}] * 2)))[0]


def test_nothing_that_fits_is_said_to_be_best() -> None:
    large = study([{"system": {"id": "ipu-m2000"}}], model={"preset": "gpt3-175b"}, workload={"tokens": 3e11})
    found = answer_of(large)
    assert (found.cheapest, found.fastest) == (None, None)
    assert [text.values for text in found.conclusion] == [{}]


def test_limits_are_counted_on_the_samples() -> None:
    content = study()
    time = option(usual(), "a").time
    limits = {"deadline_s": time.value, "probability": 0.5}
    limited = StudyContent.model_validate({**content.model_dump(exclude_unset=True), "limits": limits})
    meets = {one.key: one.meets for one in answer_of(limited).options}
    assert 0.1 < meets["a"] < 0.9 and meets["p"] == float(time.value >= 2.0 * 3600)
    assert {one.meets for one in usual().options} == {None}
    poor = content.model_copy(update={"limits": limited.limits.model_copy(update={"budget": 1.0})})
    assert all(one.meets == 0 for one in answer_of(poor).options)


def test_an_option_that_misses_a_limit_is_named_with_the_limit() -> None:
    content = study([{"system": {"id": "bow-pod16"}}, {"system": {"id": "dgx-a100-640gb"}}])
    slow, fast = sorted(answer_of(content).options, key=lambda one: -one.time.value)
    between = {"deadline_s": (slow.time.value + fast.time.value) / 2.0}
    late = answer_of(content.model_copy(update={"limits": StudyLimits.model_validate(between)})).conclusion
    assert [one.values["option"] for one in late if "deadline" in one.values] == [slow.label]
    poor = {"budget": 200_000, "budget_kind": "purchase"}
    dear = answer_of(content.model_copy(update={"limits": StudyLimits.model_validate(poor)})).conclusion
    assert [one.values["option"] for one in dear if "budget" in one.values] == [fast.label]


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
