"""Names in place of the identifiers of systems, networks and software, for readers of a document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import JsonValue

from app.catalog.catalog import Catalog
from app.errors import Message
from app.estimating.documents import Text
from app.estimating.schema import SourceRef
from app.features.comparisons.model import ComparisonRow
from app.platform.wording.voice import LABELS, Voice, written

KINDS = ("fabric", "stack", "optimizer")
"""Prefixes of the labels of networks, software profiles and optimizers."""


def names_of(rows: Sequence[ComparisonRow], catalog: Catalog) -> dict[str, str]:
    """Return the names of the systems that options and their nearest measured runs refer to."""
    runs = (row.estimate.validation.nearest_measured for row in rows if row.estimate is not None)
    identifiers = {run.system for found in runs for run in found} | {row.system for row in rows if row.system}
    known = sorted(one for one in identifiers & set(catalog.items) if "system" in catalog.items[one].kinds)
    return {one: catalog.system(one).name for one in known}


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
    "usual for {models} on this chip since {since}; choose your own software for a narrower range": (
        "usual for {models} on this chip since {since}"
    ),
}
"""Sentence that tells the author what to do → the same as a customer is told it."""


def in_words(text: Text) -> Text:
    """Return a sentence for customers, with the names of networks and software instead of identifiers."""
    return Text.of(_said(text.template, text.values))


def _said(template: str, values: Mapping[str, Any]) -> Message:
    return Message(
        FOR_CUSTOMERS.get(template, template), {name: _named(value) for name, value in values.items()}
    )


def _named(value: Any) -> Any:
    if isinstance(value, Mapping):
        return _said(value["template"], value["values"])
    if not isinstance(value, str):
        return value
    return ", ".join(LABELS.get(key, one) for one in value.split(", ") for key in [key_of(one)])


def key_of(identifier: str) -> str:
    """Return the label of a network or a software profile; an identifier of anything else is its own."""
    return next((key for kind in KINDS if (key := f"{kind}.{identifier}") in LABELS), identifier)


def named(value: JsonValue, voice: Voice, place: str = "") -> str:
    """Write a value, networks and software by their names; profiles fitted to runs have none."""
    if isinstance(value, str) and value.startswith("cal_"):
        return voice.gettext("fitted to measured runs")
    known = isinstance(value, str) and key_of(value) != value
    return voice.label(key_of(str(value))) if known else written(value, voice, place)


def source_title(source: SourceRef, voice: Voice) -> str:
    """Return what a source is called; what no publication says is put in words of ours."""
    own = f"source.{source.id}"
    return voice.label(own) if own in LABELS else source.title
