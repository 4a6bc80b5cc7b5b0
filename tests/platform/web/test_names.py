"""Names through the API: what cannot be seen is refused wherever a name is given, at its field."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel, ValidationError, field_validator

from app.estimating.names import name_error
from app.estimating.request import EstimateRequest
from app.platform.json_bodies import as_app_error
from app.platform.web import examples
from tests.support.application import Ask

GIVEN: list[tuple[str, dict[str, Any], str]] = [
    ("estimates", examples.RESNET, "label"),
    ("comparisons", examples.MODELLED, "title"),
    ("comparisons", {"rows": [examples.RESNET, examples.BARE_FIGURE]}, "rows.1.label"),
    ("studies", examples.STUDY, "name"),
    ("studies", examples.STUDY, "customer"),
    ("studies", examples.STUDY, "options.0.label"),
    ("proposals", examples.PROPOSAL, "customer"),
    ("proposals", examples.PROPOSAL, "title"),
    ("price-books", examples.BOOK, "name"),
    ("accelerators", examples.ACCELERATOR, "name"),
    ("accelerators", examples.ACCELERATOR, "maker"),
    ("profiles", examples.TRANSFORMER, "name"),
    ("sweeps", examples.FLEET_PLAN, "title"),
    ("sizings", examples.SIZING, "label"),
    ("boms", examples.BILL, "label"),
    ("calibrations", examples.CALIBRATION, "label"),
    ("keys", examples.KEY, "name"),
    ("webhooks", examples.WEBHOOK, "name"),
]


def named(body: Any, path: str, name: str) -> Any:
    """Return a body with a name at a place in it."""
    first, _, rest = path.partition(".")
    if isinstance(body, list):
        return [named(item, rest, name) if index == int(first) else item for index, item in enumerate(body)]
    return {**body, first: named(body[first], rest, name) if rest else name}


@pytest.mark.parametrize("name", ["a\u200bb", "\u202egnp.exe", "a\u0007b", "\u3164", "   "], ids=ascii)
@pytest.mark.parametrize(("collection", "body", "field"), GIVEN, ids=[f"{c} {f}" for c, _, f in GIVEN])
def test_a_name_that_cannot_be_seen_is_refused_at_its_field(
    ask: Ask, collection: str, body: dict[str, Any], field: str, name: str
) -> None:
    answer = ask("POST", f"/api/v1/{collection}", json=named(body, field, name))
    assert answer.status_code == 400, answer.text
    assert [error["field"] for error in answer.json()["errors"]] == [
        field.replace(".0.", "[0].").replace(".1.", "[1].")
    ]
    assert "visible" in answer.json()["detail"] and "Value error" not in answer.text


@pytest.mark.parametrize(
    "name",
    [
        "한빛 AI",
        "김\u3000민지",
        "\u1112\u1161",
        "👩🏽\u200d💻",
        "❤\ufe0f\u200d🔥",
        "می\u200cخواهم",
        "क्\u200dष",
        "مرحبا",
    ],
)
def test_what_languages_write_is_a_name(name: str) -> None:
    assert name_error(name) is None


@pytest.mark.parametrize(
    "name", ["a\u200db", "\u200d💻", "💻\u200d", "한\u200d빛", "a\u00adb", "\ufe0f", "\u2800", "a\nb"]
)
def test_what_cannot_be_seen_is_none(name: str) -> None:
    assert name_error(name) is not None


class Even(BaseModel):
    """A number that a check of ours refuses."""

    number: int

    @field_validator("number")
    @classmethod
    def even(cls, number: int) -> int:
        if number % 2:
            raise ValueError("must be {even}")
        return number


def test_the_reason_of_a_check_stands_alone() -> None:
    with pytest.raises(ValidationError) as caught:
        Even(number=1)
    (error,) = as_app_error(caught.value).errors
    assert (error.field, str(error.message)) == ("number", "must be {even}")


def test_what_was_stored_before_is_read() -> None:
    body = {**examples.RESNET, "label": "a\u200bb"}
    assert EstimateRequest.model_validate(body, context="stored").label == "a\u200bb"


@pytest.mark.parametrize(
    ("collection", "body"),
    [
        ("accelerators", {**examples.ACCELERATOR, "name": '"id":"own-x"', "maker": "x" * 100}),
        ("estimates", examples.RESNET),
        ("comparisons", examples.MODELLED),
        ("studies", examples.STUDY),
        ("price-books", examples.BOOK),
        ("profiles", examples.TRANSFORMER),
        ("sizings", examples.SIZING),
        ("boms", examples.BILL),
        ("calibrations", examples.CALIBRATION),
        ("webhooks", examples.WEBHOOK),
    ],
)
def test_what_is_created_is_found_where_the_answer_says(
    ask: Ask, collection: str, body: dict[str, Any]
) -> None:
    made = ask("POST", f"/api/v1/{collection}", json=body)
    assert made.status_code == 201, made.text
    found = ask("GET", made.headers["location"])
    assert found.status_code == 200 and found.json()["id"] == made.json()["id"]
