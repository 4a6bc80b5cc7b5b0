"""Identifiers in requests, written as people write names and kept as identifiers."""

from __future__ import annotations

from functools import lru_cache
from typing import Annotated

from pydantic import AfterValidator

from app.catalog.naming import Finder, named_items, read_aliases
from app.profiles.presets import beside, preset_finder


@lru_cache(maxsize=8)
def finder(kind: str) -> Finder:
    """Return the finder of the catalogue's systems, fabrics, software profiles or model presets."""
    if kind == "model preset":
        return preset_finder()
    data = beside("data")
    if kind == "software profile":
        # Titles are sentences, whose words say little.
        texts = named_items(data, "software_profiles.csv", ("profile",))
    else:
        texts = named_items(data, "items.csv", ("item", "name", "maker"), kind)
    return Finder(kind, texts, read_aliases(data))


ModelName = Annotated[str, AfterValidator(lambda name: finder("model preset").resolve(name))]

SystemName = Annotated[str, AfterValidator(lambda name: finder("system").resolve(name))]

FabricName = Annotated[str, AfterValidator(lambda name: finder("fabric").resolve(name))]

SoftwareName = Annotated[str, AfterValidator(lambda name: finder("software profile").resolve(name))]
