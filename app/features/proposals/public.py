"""What a customer may read of a content: nothing of the workspace in which it was made."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, TypeVar

from pydantic import BaseModel

from app.estimating.money import CostFigure
from app.estimating.schema import SourceRef
from app.platform.wording.voice import voice

IDENTIFIER = re.compile(
    r"\b(acc|bom|cal|cmp|est|own|pbk|prf|siz|stu|swp|wkl)_[a-z2-7]{16}(@\d+)?(?![a-z0-9])"
)
"""An identifier of an object of the workspace, whose letters before the underscore say its kind."""

OWN_SOURCE = re.compile(r"(pbk_|own-)[a-z2-7]{16}@\d+")
"""The source of prices of a price book, or of figures of an own accelerator."""

TITLES = {"pbk_": "Prices of this proposal", "own-": "Data sheet"}

FILE_NAME = re.compile(r"\.[A-Za-z]\w{1,7}$")

PRIVATE_SOURCES = frozenset({"dutch-hpc-prices-2023"})
"""Sources of the catalogue whose publisher is not told to customers; their titles are labels."""

BOOK_NAME = "price_book"

Node = TypeVar("Node")


def public(value: Node) -> Node:
    """Return a part of a content without names and notes of price books, data sheets and their authors."""
    found: Any = value
    if isinstance(found, SourceRef):
        found = public_source(found)
    elif isinstance(found, CostFigure) and found.status == "book" and found.note:
        found = found.model_copy(update={"note": "", "source": public(found.source)})
    elif isinstance(found, BaseModel):
        before = {name: getattr(found, name) for name in type(found).model_fields}
        changes = {name: new for name, old in before.items() if (new := public(old)) is not old}
        found = found.model_copy(update=changes) if changes else found
    elif isinstance(found, dict):
        changes = {name: None if name == BOOK_NAME else public(old) for name, old in found.items()}
        found = changes if any(changes[name] is not old for name, old in found.items()) else found
    elif isinstance(found, list):
        items = [public(item) for item in found]
        found = items if any(new is not old for new, old in zip(items, found, strict=True)) else found
    return found  # type: ignore[no-any-return]


def public_source(source: SourceRef) -> SourceRef:
    """Return a source for customers: what the workspace keeps has its kind only."""
    if source.id in PRIVATE_SOURCES:
        return source.model_copy(update={"publisher": ""})
    kind = OWN_SOURCE.fullmatch(source.id)
    if kind is None:
        return source
    return source.model_copy(update={"id": kind[1], "title": TITLES[kind[1]], "url": ""})


def without_identifiers(stored: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON of a content without names of files; identifiers of the workspace say their kind only.

    >>> without_identifiers({"model": {"id": "prf_abcdefgh23456777"}, "id": "bert-large"})
    {'model': {'id': 'prf_'}, 'id': 'bert-large'}
    """
    text = IDENTIFIER.sub(r"\1_", json.dumps(stored, ensure_ascii=False))
    files = {name for name in model_names(stored) if FILE_NAME.search(name)}
    for name in sorted(files, key=len, reverse=True):
        model = voice(stored["locale"]).gettext("Uploaded model")
        text = text.replace(written(name), written(model))
    cleared: dict[str, Any] = json.loads(text)
    return cleared


def model_names(stored: dict[str, Any]) -> Iterator[str]:
    """Return the names of the models that are trained, of which those of uploads are names of files."""
    for row in stored.get("comparison", {}).get("rows", ()):
        if row["estimate"] is not None:
            yield row["estimate"]["model"]["name"]


def written(text: str) -> str:
    """Return a text as it stands within a JSON string."""
    return json.dumps(text, ensure_ascii=False)[1:-1]
