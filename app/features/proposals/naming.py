"""Names of systems, networks and software instead of their identifiers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import JsonValue

from app.catalog.catalog import Catalog
from app.errors import Message
from app.estimating.documents import Text
from app.estimating.schema import SourceRef
from app.features.comparisons.model import ComparisonRow
from app.platform.wording.voice import LABELS, Voice, label_key, written


def names_of(rows: Sequence[ComparisonRow], catalog: Catalog) -> dict[str, str]:
    """Return the names of the systems of options and of their nearest measured runs."""
    identifiers = {row.system for row in rows if row.system}
    for row in rows:
        if row.estimate is not None:
            identifiers |= {run.system for run in row.estimate.validation.nearest_measured}
    return {
        identifier: catalog.system(identifier).name
        for identifier in sorted(identifiers & set(catalog.items))
        if "system" in catalog.items[identifier].kinds
    }


FOR_CUSTOMERS: Mapping[str, str] = {
    "{system} has no published purchase price, so its cost is unknown; enter the system price from a quote": (
        "{system} has no published purchase price, so its cost is unknown"
    ),
    "{system} has no published rent, so its cost is unknown; enter the rent per hour from a quote": (
        "{system} has no published rent, so its cost is unknown"
    ),
    "no {rental} price is published for {system}, only {known}; enter the rent per hour": (
        "no {rental} price is published for {system}, only {known}"
    ),
    "The price of {system} is an estimate: {price} {unit}, from {low} to {high}. Get a quote or enter the "
    "price before deciding.": "The price of {system} is an estimate: {price} {unit}, from {low} to {high}.",
    "The price of {system} is an estimate: {price} {unit}. Get a quote or enter the price before deciding.": (
        "The price of {system} is an estimate: {price} {unit}."
    ),
    "the prices of {estimated} of {lines} lines are estimates; replace them with a quote or a price book": (
        "the prices of {estimated} of {lines} lines are estimates"
    ),
    "shared storage is not included; enter its capacity to include it": "shared storage is not included",
    "the software of the submissions to {target}; choose your own software if it differs": (
        "the software of the submissions to {target}"
    ),
    "usual for {models} on this chip since {since}; choose your own software for a narrower range": (
        "usual for {models} on this chip since {since}"
    ),
}
"""Sentence with advice for the author → the sentence for customers, without it."""


def in_words(text: Text) -> Text:
    """Return a sentence for customers, with the names of networks and software instead of identifiers."""
    return Text.of(_message(text.template, text.values))


def _message(template: str, values: Mapping[str, Any]) -> Message:
    words = {name: _value_in_words(value) for name, value in values.items()}
    return Message(FOR_CUSTOMERS.get(template, template), words)


def _value_in_words(value: Any) -> Any:
    if isinstance(value, Mapping):
        return _message(value["template"], value["values"])
    if not isinstance(value, str):
        return value
    return ", ".join(LABELS.get(label_key(part), part) for part in value.split(", "))


def display_value(value: JsonValue, voice: Voice) -> str:
    """Return a value as text, with the names of networks and software."""
    if not isinstance(value, str):
        return written(value, voice)
    if value.startswith("cal_"):
        return voice.gettext("fitted to measured runs")
    key = label_key(value)
    return written(value, voice) if key == value else voice.label(key)


def source_title(source: SourceRef, voice: Voice) -> str:
    """Return the title of a source; sources of Rackline itself have translated titles."""
    own = f"source.{source.id}"
    return voice.label(own) if own in LABELS else source.title
