"""What a request or document names: found, or said to be missing; and kept while something is made of it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from pydantic import JsonValue

from app.catalog.own import PREFIX
from app.errors import Message, NotFound
from app.platform.store.repository import Listed, Repository


def no_such(kind: str, identifier: str) -> NotFound:
    """Return the error for an identifier of ours; random ones have no close relatives to offer."""
    return NotFound(Message("there is no {kind} “{name}”", {"kind": Message(kind), "name": identifier[:80]}))


def existing(
    repository: Repository,
    table: type[Listed],
    identifier: str,
    kind: str,
    *,
    whole: bool = False,
    lock: bool = False,
) -> Listed:
    """Return a row of the workspace, or say that there is none of this kind."""
    row = repository.get(table, identifier, whole=whole, lock=lock)
    if row is None:
        raise no_such(kind, identifier)
    return row


NAMED_BY: Mapping[str, str] = {
    "profile_id": "uploaded profile",
    "workload_id": "uploaded sample",
    "price_book_id": "price book",
    "comparison_id": "comparison",
    "estimate_id": "estimate",
    "study_id": "study",
}
"""Field of a request → what it names, which must still be there when what is made from it is kept."""

OWN = re.compile(PREFIX + "[a-z2-7]{16}")
"""An accelerator of a workspace, which many fields may name."""


def hold_named(repository: Repository, document: JsonValue) -> None:
    """Keep what a document names where it is until the document is kept too, or say what is gone.

    Whoever deletes holds the workspace as well before they look at what stands on it.
    """
    named = sorted(set(named_in(document)))
    if named:
        repository.hold()
    for kind, name in named:
        # A price book may be named with its version.
        if repository.holds(name.partition("@")[0]) is False:
            raise no_such(kind, name)


def named_in(document: JsonValue) -> Iterator[tuple[str, str]]:
    """Return kind and identifier of what a document names."""
    if isinstance(document, str):
        if OWN.fullmatch(document):
            yield "accelerator", document
    elif isinstance(document, list):
        for part in document:
            yield from named_in(part)
    elif isinstance(document, dict):
        for field, part in document.items():
            if field in NAMED_BY and isinstance(part, str):
                yield NAMED_BY[field], part
            else:
                yield from named_in(part)
