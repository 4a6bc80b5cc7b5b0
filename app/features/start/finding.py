"""Search among models and systems: by name, size, family, chip or the name on Hugging Face."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pydantic import Field

from app.catalog.own import PREFIX
from app.estimating.naming import finder
from app.estimating.schema import Document
from app.features.studies.service import Recent
from app.features.uploads.service import list_profiles
from app.platform.web.choices import COMMON
from app.platform.workspace import Workspace

MOST_FOUND = 12

MOST_SHOWN = 6
"""Models shown without a search."""

FEATURED = ("bert-large", "resnet50", "gpt3-175b", "llama2-7b", "llama2-70b", "vit-large")
"""Models shown without a search where few were used."""

SIZE = re.compile(r"(\d+(?:\.\d+)?)([mbt])")

UNITS = {"m": 1e6, "b": 1e9, "t": 1e12}

NEAR = 0.08
"""Relative tolerance of a searched size: models are named after rounded sizes."""

PUBLISHED_NAME = re.compile(r"[\w.-]+/[\w.-]+")
"""A name on Hugging Face: publisher, slash, model."""


class FoundModel(Document):
    """A model that matches a search."""

    id: str = Field(description="Identifier of a preset or of an upload.")
    kind: str = Field(description="preset or profile, as a request names it.")
    name: str = Field(description="Name.")
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


class SearchResults(Document):
    """What a search finds."""

    models: list[FoundModel] = Field(description="Models, those used last first.")
    systems: list[FoundSystem] = Field(description="Systems, favourites first.")
    more: int = Field(description="Number of further matches that are not listed.")
    published_name: bool
    """Whether the search is a name on Hugging Face that no preset has."""


def plain(text: str) -> str:
    """Normalize case and separators of a name.

    >>> plain("Llama-2 7B"), plain("bert_large_uncased")
    ('llama27b', 'bertlargeuncased')
    """
    return re.sub(r"[\s_/()-]+", "", text.casefold())


@dataclass(frozen=True, slots=True)
class Target:
    """Texts and size of an entry to match."""

    texts: Sequence[str]
    parameters: float | None = None

    def names(self, word: str) -> bool:
        """Tell whether a word is a whole word of a name."""
        return any(word in re.split(r"[^a-z0-9.]+", text.casefold()) for text in self.texts)

    def has(self, word: str) -> bool:
        size = SIZE.fullmatch(word)
        if size and self.parameters is not None:
            parameters = float(size[1]) * UNITS[size[2]]
            return self.names(word) or abs(self.parameters - parameters) <= NEAR * parameters
        return any(plain(word) in plain(text) for text in self.texts)

    def matches(self, sought: str) -> bool:
        """Tell whether each word, or the whole text, is found."""
        whole, words = plain(sought), sought.casefold().split()
        if all(map(self.has, words)):
            return True
        return not SIZE.fullmatch(whole) and any(whole in plain(text) for text in self.texts)


def find_models(workspace: Workspace, sought: str, recent: Sequence[Recent]) -> SearchResults:
    """Return matching models; without a search, recent and featured ones."""
    used = {name: rank for rank, name in enumerate(dict.fromkeys(study.model for study in recent))}
    meant = finder("model preset")
    named, sought = set(meant.find(sought)), meant.aliases.translated(sought)
    models = [
        FoundModel(
            id=upload.id,
            kind="profile",
            name=upload.name,
            parameters=None,
            hugging_face="",
            customer=upload.customer,
            used=upload.id in used,
        )
        for upload in list_profiles(workspace, 100, None).items
        if Target([upload.name, upload.customer]).matches(sought)
    ]
    for model in workspace.catalogue.models.documents.values():
        target = Target([model.name, model.id, *model.hugging_face], model.parameters.value)
        if model.id in named or target.matches(sought):
            names = [name for name in model.hugging_face if sought and plain(sought) in plain(name)]
            models.append(
                FoundModel(
                    id=model.id,
                    kind="preset",
                    name=model.name,
                    parameters=model.parameters.value,
                    hugging_face=next(iter(names), ""),
                    used=model.id in used,
                )
            )
    words = sought.casefold().split()

    def order(model: FoundModel) -> tuple[bool, int, bool]:
        has_word = Target([model.name, model.id]).names
        return (
            plain(sought) not in exact(model) and named != {model.id},
            used.get(model.id, len(used)),
            not all(map(has_word, words)),
        )

    models.sort(key=order)
    if not sought:
        models = [model for model in models if model.used or model.kind == "profile" or model.id in FEATURED]
        models = models[:MOST_SHOWN]
    return SearchResults(
        models=models[:MOST_FOUND],
        systems=[],
        more=max(len(models) - MOST_FOUND, 0) if sought else 0,
        published_name=not models and PUBLISHED_NAME.fullmatch(sought) is not None,
    )


def exact(model: FoundModel) -> set[str]:
    """Return the normalized names that mean this model alone."""
    return {plain(name) for name in (model.name, model.id, model.hugging_face) if name}


def find_systems(
    workspace: Workspace, sought: str, excluded: Iterable[str], favourites: Iterable[str]
) -> SearchResults:
    """Return matching systems: favourites, then own, then common ones, then the others."""
    chips = workspace.catalogue.chips.documents
    chosen, marked = set(excluded), set(favourites)
    meant = finder("system")
    named, sought = set(meant.find(sought)), meant.aliases.translated(sought)

    systems = [
        FoundSystem(
            id=system.id,
            name=system.name,
            chips=f"{system.devices} × {chips[system.chip].name}",
            rented=system.acquisition == "rent",
            favourite=system.id in marked,
        )
        for system in workspace.catalogue.systems.listed
        if system.id not in chosen
        and (
            system.id in named
            or Target(
                [
                    system.name,
                    system.id,
                    system.maker,
                    system.chip_kind,
                    chips[system.chip].name,
                    system.acquisition,
                ]
            ).matches(sought)
        )
    ]
    systems.sort(
        key=lambda system: (not system.favourite, not system.id.startswith(PREFIX), system.id not in COMMON)
    )
    return SearchResults(
        models=[], systems=systems[:MOST_FOUND], more=max(len(systems) - MOST_FOUND, 0), published_name=False
    )
