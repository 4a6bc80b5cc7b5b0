"""Texts below fields as descriptions of schemas."""

from __future__ import annotations

from pydantic import Field

from app.estimating.schema import DocumentedModel, field_texts


class Wheel(DocumentedModel):
    """A wheel."""

    size: float
    """Diameter. [m]"""
    spokes: int = Field(36, description="Said here.")
    """Not said here."""
    hub: str = Field("", alias="axle")
    """What it turns
    about."""
    plain: int = 0


class Tyred(Wheel):
    """A wheel with a tyre."""

    size: float
    width: float
    """Of the tyre. [m]"""


def test_texts_are_those_below_the_fields() -> None:
    assert field_texts(Wheel) == {
        "size": "Diameter. [m]",
        "spokes": "Not said here.",
        "hub": "What it turns about.",
    }


def test_a_field_that_is_stated_anew_has_its_own_text_or_none() -> None:
    assert field_texts(Tyred) == {
        "spokes": "Not said here.",
        "hub": "What it turns about.",
        "width": "Of the tyre. [m]",
    }


def test_schemas_have_them_where_a_field_says_nothing_itself() -> None:
    described = {
        name: field.get("description") for name, field in Wheel.model_json_schema()["properties"].items()
    }
    assert described == {
        "size": "Diameter. [m]",
        "spokes": "Said here.",
        "axle": "What it turns about.",
        "plain": None,
    }
