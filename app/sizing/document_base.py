"""What every answer is made of: documents, quantities and references to sources."""

from __future__ import annotations

from pydantic import ConfigDict

from app.sizing.field_texts import Described


class Document(Described):
    """Base of every answer."""

    model_config = ConfigDict(frozen=True, ser_json_inf_nan="null", defer_build=True)


class Quantity(Document):
    """A value with its 80 % range and its unit; low and high equal it where it is exact."""

    value: float
    """Central value."""
    low: float
    """10th percentile."""
    high: float
    """90th percentile."""
    unit: str
    """SI unit, or a currency's code."""

    @classmethod
    def exact(cls, value: float, unit: str) -> Quantity:
        """Return a quantity without a range."""
        return cls(value=value, low=value, high=value, unit=unit)


class SourceRef(Document):
    """Where a figure comes from."""

    id: str
    """Identifier."""
    kind: str
    """How far it may be trusted: datasheet, benchmark, paper, press, vendor, customer or estimate."""
    title: str
    """Title."""
    publisher: str
    """Publisher."""
    published: str
    """Date of publication; may be empty."""
    url: str
    """Address; may be empty."""
