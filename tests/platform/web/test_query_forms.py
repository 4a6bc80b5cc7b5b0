"""Forms from the schema of a request: names, percentages, rows, and errors where they were typed."""

from collections.abc import Callable
from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field
from starlette.datastructures import QueryParams

from app.errors import BadInput
from app.estimating.numbers import DURATIONS, MONEY, PERCENT, PLAIN, WHOLE
from app.estimating.request import Number, Schema, Share, Whole
from app.platform.web.query_forms import FormOutcome, QueryForm, leaves


class FormPart(Schema):
    system: str
    count: Whole = Field(1, ge=1)


class Team(Schema):
    team: str
    devices: Whole = Field(ge=1)


class FormQuestion(Schema):
    capex: Number = Field(description="Price. [currency]")
    currency: Literal["USD", "KRW"] = "USD"
    discount_rate: Share = Field(0.0, ge=0, le=1)
    growth: Share | None = Field(None, gt=-1)
    demand: list[Share] | None = None
    horizon: Number | None = Field(None, description="Term. [month]")
    hours_per_month: Number | None = Field(None, description="Hours of use. [h/month]")
    part: FormPart | None = None
    teams: list[Team] | None = None


FORM = QueryForm(FormQuestion, rows=("teams", "team", 3))


def asked(query: str) -> FormQuestion:
    return FORM.request(FORM.values(QueryParams(query)))


def test_names_are_paths_and_say_what_is_typed_in_percent() -> None:
    names = {leaf.name: leaf.kind for leaf in leaves(FormQuestion)}
    assert names == {
        "capex": MONEY,
        "discount_percent": PERCENT,
        "growth_percent": PERCENT,
        "currency": None,
        "demand": PERCENT,
        "horizon": DURATIONS["month"],
        "hours_per_month": PLAIN,
        "part.system": None,
        "part.count": WHOLE,
        "teams.*.team": None,
        "teams.*.devices": WHOLE,
    }


def test_numbers_are_read_as_people_write_them() -> None:
    found = asked("capex=43.78억&discount_percent=8%25&demand=20, 50;120&part.system=dgx&part.count=1,000")
    assert found.capex == 4_378_000_000
    assert found.discount_rate == pytest.approx(0.08)
    assert found.demand == pytest.approx([0.2, 0.5, 1.2])
    assert found.part == FormPart(system="dgx", count=1000)


def test_the_unit_of_a_field_says_what_is_read() -> None:
    found = asked("capex=₩5bn&currency=KRW&horizon=2 years&hours_per_month=720")
    assert (found.capex, found.horizon, found.hours_per_month) == (5e9, 24, 720)


@pytest.mark.parametrize(
    ("query", "field"),
    [("capex=₩5bn", "capex"), ("capex=5 days", "capex"), ("capex=1&horizon=$5", "horizon")],
)
def test_another_currency_or_dimension_is_refused_at_its_field(query: str, field: str) -> None:
    assert [error.field for error in refused(query).form.errors] == [field]


def test_a_row_without_a_name_is_called_after_its_place() -> None:
    assert asked("capex=5&teams.2.devices=4").teams == [Team(team="#3", devices=4)]
    assert asked("capex=5&teams.7.devices=4").teams == []


def answered(query: str, before: str, answer: Callable[[FormQuestion], Any]) -> FormOutcome[Any]:
    earlier = FORM.values(QueryParams(before)) if before else None
    return FORM.answer(FORM.values(QueryParams(query)), earlier, answer)


def refused(query: str) -> Any:
    def never(wanted: BaseModel) -> None:
        raise AssertionError(wanted)

    return answered(query, "", never)


def test_errors_stand_where_they_were_typed() -> None:
    found = refused("capex=many&teams.2.devices=0")
    assert found.status == 422 and found.answer is None and found.stale
    assert {error.field for error in found.form.errors} == {"capex", "teams.2.devices"}
    assert found.form.get("capex") == "many"
    assert FORM.general_errors(found.form) == []


def test_limits_are_in_percent_where_the_field_is() -> None:
    (error,) = refused("capex=1&discount_percent=130").form.errors
    assert error.field == "discount_percent"
    assert "at most 100" in str(error.message)


def test_a_refused_question_stands_beside_the_last_that_was_possible() -> None:
    def answer(wanted: FormQuestion) -> float:
        if wanted.capex < 0:
            raise BadInput.at("capex", "{value} is below 0", value=wanted.capex)
        return 2.0 * wanted.capex

    found = answered("capex=-1", "capex=3", answer)
    assert (found.answer, found.stale, found.status) == (6.0, True, 400)
    assert found.query == "capex=3"
    assert found.message is not None and "below 0" in str(found.message)
    assert answered("capex=-1", "capex=-2", answer).answer is None
    fresh = answered("capex=4", "", answer)
    assert (fresh.answer, fresh.stale, fresh.status) == (8.0, False, 200)
    assert "capex=4" in fresh.query
