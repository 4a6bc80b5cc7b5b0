"""Knobs: what an address turns, what it keeps, and what it refuses by name."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.errors import AppError
from app.features.studies.explaining import changes_between
from app.features.studies.knobs import KNOBS, apply_knobs
from app.features.studies.model import StudyContent, tree_of
from tests.features.studies.conftest import study

OPTIONS: list[dict[str, Any]] = [
    {"system": {"id": "dgx-a100-640gb", "count": 2}},
    {"system": {"id": "bow-pod16"}, "assumptions": {"utilisation": 0.5}},
    {"key": "p", "label": "Reported", "figure": {"hours": 2.0, "kind": "vendor"}},
]

CONTENT = study(OPTIONS)


def refusals(**knobs: Any) -> dict[str, str]:
    named = {name.replace("__", "."): value for name, value in knobs.items()}
    with pytest.raises(AppError) as caught:
        apply_knobs(CONTENT, named)
    return {one.field: str(one.message) for one in caught.value.errors}


def test_what_changes_nothing_is_not_in_the_address() -> None:
    same = apply_knobs(
        CONTENT, {"count.a": "2", "utilisation.b": "50", "batch": "1024", "hours.p": 2, "fabric.a": ""}
    )
    assert same.knobs == {} and same.content == CONTENT


def test_knobs_turn_one_option_or_all() -> None:
    knobs = {"count.a": "4", "batch": 2048, "utilisation.b": "80%", "precision.a": "tf32"}
    variant = apply_knobs(CONTENT, knobs)
    a, b, _ = variant.content.options
    assert a.system is not None and a.system.count == 4 and a.workload.precision == "tf32"
    assert variant.content.base.workload.global_batch == 2048
    assert b.assumptions.utilisation == 0.8
    assert variant.knobs == {"batch": "2048", "count.a": "4", "precision.a": "tf32", "utilisation.b": "0.8"}


def test_numbers_are_read_as_people_write_them() -> None:
    knobs = {"deadline": "2 weeks", "budget": "50억 원", "currency": "KRW", "batch": "2k", "years": "18개월"}
    content = apply_knobs(CONTENT, knobs).content
    assert content.limits is not None
    assert (content.limits.deadline_s, content.limits.budget) == (1_209_600, 5e9)
    assert content.base.workload.global_batch == 2000
    assert content.base.assumptions.amortisation_years == 1.5
    assert apply_knobs(CONTENT, {"deadline": "15,2"}).knobs == {"deadline": "15.2"}
    wrong = refusals(budget="₩5bn", deadline="3m", price__a="5 days", utilisation="$5")
    assert set(wrong) == {"budget", "deadline", "price.a", "utilisation"}


def test_an_empty_knob_takes_back_what_was_stated() -> None:
    variant = apply_knobs(CONTENT, {"utilisation.b": "", "batch": ""})
    assert variant.content.options[1].assumptions.utilisation is None
    assert variant.knobs == {"batch": "", "utilisation.b": ""}


def test_options_are_added_and_left_out() -> None:
    variant = apply_knobs(CONTENT, {"add.d": "ipu-pod16", "count.d": "3", "drop.b": "1"})
    assert [one.key for one in variant.content.options] == ["a", "p", "d"]
    assert variant.content.options[-1].system.count == 3
    assert apply_knobs(variant.content, {}).knobs == {}


@given(
    st.dictionaries(
        st.sampled_from(["count.a", "batch", "utilisation", "count.b", "batch.a"]), st.integers(1, 90)
    )
)
def test_an_address_gives_the_same_state_again(knobs: dict[str, int]) -> None:
    once = apply_knobs(CONTENT, knobs)
    again = apply_knobs(CONTENT, dict(once.knobs))
    assert again.knobs == once.knobs and again.content == once.content


@given(
    st.dictionaries(
        st.one_of(st.sampled_from([*KNOBS, *(f"{name}.a" for name in KNOBS)]), st.text(max_size=12)),
        st.one_of(st.text(max_size=20), st.floats(), st.integers(), st.none()),
        max_size=4,
    )
)
def test_nothing_typed_does_more_than_be_refused(knobs: dict[str, Any]) -> None:
    try:
        variant = apply_knobs(CONTENT, knobs)
    except AppError as error:
        assert error.status in {400, 422} and error.errors
    else:
        assert StudyContent.model_validate(tree_of(variant.content)) == variant.content


def test_refusals_name_the_knob_and_what_is_allowed() -> None:
    assert refusals(count__a="x").keys() == {"count.a"}
    assert "closest" in refusals(counts__a="4")["counts.a"]
    assert "as in count.a" in refusals(count="4")["count"]
    assert refusals(count__z="4").keys() == {"count.z"}
    assert "bf16" in refusals(precision="int8")["precision"]
    assert "drop.p" in refusals(drop__a=1, drop__b=1, drop__p=1)
    assert set(refusals(count__a="x", batch="-1")) == {"count.a", "batch"}
    assert "100" in refusals(utilisation="180")["utilisation"]
    assert "a different kind" in refusals(hours__a="3")["hours.a"]


def test_changes_are_told_by_field_and_come_back_to_nothing() -> None:
    variant = apply_knobs(CONTENT, {"count.a": 4, "batch": 2048, "add.d": "ipu-pod16", "drop.b": 1}).content
    told = {(one.option, one.field): one for one in changes_between(CONTENT, variant)}
    assert told[("a", "system.count")].message == "option “a”, system.count: 2 → 4"
    assert told[(None, "workload.global_batch")].knob == "batch"
    assert told[("b", "options.b")].after is None and told[("d", "options.d")].before is None
    assert changes_between(variant, variant) == []
