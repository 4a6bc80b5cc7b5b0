"""Search among models and systems: by name, size, family, chip or the name on Hugging Face."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pydantic import Field

from app.catalog.own import PREFIX
from app.estimating.schema import Document
from app.features.studies.service import Recent
from app.features.uploads.service import list_profiles
from app.platform.catalogue_model import System
from app.platform.web.choices import COMMON
from app.platform.workbench import Workbench

MOST_FOUND = 12

MOST_SHOWN = 6
"""Models that are shown before anything is sought."""

FEATURED = ("bert-large", "resnet50", "gpt3-175b", "llama2-7b", "llama2-70b", "vit-large")
"""Models shown where nothing is sought and few were used."""

SIZE = re.compile(r"(\d+(?:\.\d+)?)([mbt])")

UNITS = {"m": 1e6, "b": 1e9, "t": 1e12}

NEAR = 0.08
"""Share by which a model may differ from the size that is sought: models are named after rounded sizes."""

PUBLISHED_NAME = re.compile(r"[\w.-]+/[\w.-]+")
"""A name on Hugging Face: publisher, slash, model."""


class FoundModel(Document):
    """A model that matches a search."""

    id: str = Field(description="Identifier of a preset or of an upload.")
    kind: str = Field(description="preset or profile, as a request names it.")
    name: str = Field(description="Name.")
    family: str = Field(description="Model family; empty for an upload.")
    parameters: float | None = Field(description="Parameter count; null for an upload.")
    hugging_face: str = Field(description="Name on Hugging Face that was sought; can be empty.")
    customer: str = Field("", description="Customer of an upload; can be empty.")
    used: bool = Field(description="Whether a recent study of the workspace uses it.")

    @property
    def field(self) -> str:
        """Field of a form that names it."""
        return "model.profile_id" if self.kind == "profile" else "model.preset"


class FoundSystem(Document):
    """A system that matches a search."""

    id: str = Field(description="Identifier.")
    name: str = Field(description="Name.")
    chips: str = Field(description="Count and name of its chips.")
    rented: bool = Field(description="Whether it is rented.")
    favourite: bool = Field(description="Whether the reader marked it.")


class Found(Document):
    """What a search finds."""

    models: list[FoundModel] = Field(description="Models, those used last first.")
    systems: list[FoundSystem] = Field(description="Systems, favourites first.")
    more: int = Field(description="Number of further matches that are not listed.")
    published_name: bool = Field(
        description="Whether the search is a name on Hugging Face that no preset has."
    )


def plain(text: str) -> str:
    """Return a text without what people write differently.

    >>> plain("Llama-2 7B"), plain("bert_large_uncased")
    ('llama27b', 'bertlargeuncased')
    """
    return re.sub(r"[\s_/()-]+", "", text.casefold())


@dataclass(frozen=True, slots=True)
class Target:
    """What words are looked for in."""

    texts: Sequence[str]
    parameters: float | None = None

    def names(self, word: str) -> bool:
        """Tell whether a word is a word of a name, and no part of one."""
        return any(word in re.split(r"[^a-z0-9.]+", text.casefold()) for text in self.texts)

    def has(self, word: str) -> bool:
        size = SIZE.fullmatch(word)
        if size and self.parameters is not None:
            wanted = float(size[1]) * UNITS[size[2]]
            return self.names(word) or abs(self.parameters - wanted) <= NEAR * wanted
        return any(plain(word) in plain(text) for text in self.texts)

    def matches(self, sought: str) -> bool:
        """Tell whether each word, or the whole, is found."""
        whole, words = plain(sought), sought.casefold().split()
        if all(map(self.has, words)):
            return True
        return not SIZE.fullmatch(whole) and any(whole in plain(text) for text in self.texts)


def find_models(bench: Workbench, workspace: str, sought: str, recent: Sequence[Recent]) -> Found:
    """Return models that match; without words, those used last and those shown first."""
    used = {name: place for place, name in enumerate(dict.fromkeys(one.model for one in recent))}
    uploads = list_profiles(bench, workspace, 100, None).items
    found = [
        FoundModel(
            id=one.id,
            kind="profile",
            name=one.name,
            family="",
            parameters=None,
            hugging_face="",
            customer=one.customer,
            used=one.id in used,
        )
        for one in uploads
        if Target([one.name, one.customer]).matches(sought)
    ]
    for model in bench.catalogue.models.documents.values():
        target = Target([model.name, model.id, model.family, *model.hugging_face], model.parameters.value)
        if target.matches(sought):
            names = [name for name in model.hugging_face if sought and plain(sought) in plain(name)]
            found.append(
                FoundModel(
                    id=model.id,
                    kind="preset",
                    name=model.name,
                    family=model.family,
                    parameters=model.parameters.value,
                    hugging_face=next(iter(names), ""),
                    used=model.id in used,
                )
            )
    last = len(used)
    words = sought.casefold().split()

    def rank(model: FoundModel) -> tuple[bool, int, bool]:
        named = Target([model.name, model.id]).names
        return plain(sought) not in exact(model), used.get(model.id, last), not all(map(named, words))

    found.sort(key=rank)
    if not sought:
        found = [one for one in found if one.used or one.kind == "profile" or one.id in FEATURED][:MOST_SHOWN]
    return Found(
        models=found[:MOST_FOUND],
        systems=[],
        more=max(len(found) - MOST_FOUND, 0) if sought else 0,
        published_name=not found and PUBLISHED_NAME.fullmatch(sought) is not None,
    )


def exact(model: FoundModel) -> set[str]:
    """Return the names by which nothing else can be meant."""
    return {plain(name) for name in (model.name, model.id, model.hugging_face) if name}


def find_systems(bench: Workbench, sought: str, taken: Iterable[str], favourites: Iterable[str]) -> Found:
    """Return further systems that match: favourites, then those customers ask about, then the others."""
    chips = bench.catalogue.chips.documents
    chosen, liked = set(taken), set(favourites)

    def of(system: System) -> FoundSystem:
        return FoundSystem(
            id=system.id,
            name=system.name,
            chips=f"{system.devices} × {chips[system.chip].name}",
            rented=system.acquisition == "rent",
            favourite=system.id in liked,
        )

    found = [
        of(system)
        for system in bench.catalogue.systems.listed
        if system.id not in chosen
        and Target(
            [
                system.name,
                system.id,
                system.maker,
                system.chip_kind,
                chips[system.chip].name,
                system.acquisition,
            ]
        ).matches(sought)
    ]
    found.sort(key=lambda one: (not one.favourite, not one.id.startswith(PREFIX), one.id not in COMMON))
    return Found(
        models=[], systems=found[:MOST_FOUND], more=max(len(found) - MOST_FOUND, 0), published_name=False
    )
