"""Model presets: published models by identifier, read from data/models."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from app.catalog.catalog import load_training
from app.catalog.naming import Finder, read_aliases
from app.errors import CatalogError, Message, NotFound
from app.profiles.model import ModelProfile


def beside(folder: str) -> Path:
    """Return a file or folder beside the ``app`` package."""
    return Path(__file__).resolve().parents[2] / folder


def data_directory() -> Path:
    return beside("data")


@lru_cache(maxsize=1)
def presets() -> dict[str, ModelProfile]:
    profiles: dict[str, ModelProfile] = {}
    training = load_training(data_directory())
    for path in sorted((data_directory() / "models").glob("*.json")):
        for entry in json.loads(path.read_text(encoding="utf-8"))["models"]:
            try:
                profile = ModelProfile.from_json({"origin": "preset", **entry})
            except (KeyError, TypeError, ValueError) as error:
                raise CatalogError(
                    Message(
                        "{file}: model {id} is invalid: {reason}",
                        {"file": path.name, "id": str(entry.get("id")), "reason": str(error)},
                    )
                ) from error
            if profile.source is None or profile.id in profiles:
                raise CatalogError(
                    Message(
                        "{file}: model {id} has no source or appears twice",
                        {"file": path.name, "id": profile.id},
                    )
                )
            published = replace(profile.published, training=training.get(profile.id, ()))
            profiles[profile.id] = replace(profile, published=published)
    return profiles


@lru_cache(maxsize=1)
def preset_finder() -> Finder:
    texts = {profile.id: (profile.name, *profile.hugging_face) for profile in presets().values()}
    return Finder("model preset", texts, read_aliases(data_directory()))


def preset(identifier: str) -> ModelProfile:
    """Return a preset; raise NotFound with those that the name can mean, or with close identifiers."""
    profiles = presets()
    if identifier not in profiles:
        found = preset_finder().find(identifier)
        raise NotFound.named("model preset", identifier, profiles, "model.preset", found)
    return profiles[identifier]
