"""Erase a customer's name everywhere it stands, and write down that it was done."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel

from app.errors import BadInput, NotFound
from app.estimating.request import Schema
from app.estimating.schema import Document
from app.features.erasure.model import Erasure, ErasureRequest
from app.features.proposals import service as proposals
from app.platform.store.erasure_queries import pattern_of
from app.platform.store.queries import now
from app.platform.workbench import Workbench


def erase_customer(bench: Workbench, workspace_id: str, request: ErasureRequest) -> Erasure:
    """Put a text in the place of a customer's name.

    Files as uploaded and archives made before are beyond it.
    """
    name, replacement = " ".join(request.customer.split()), " ".join(request.replacement.split())
    check(bench, name, replacement)
    moment = now()
    with bench.store.transaction(workspace_id) as repository:
        found = repository.erasure.erase(name, replacement, dry_run=request.dry_run, codes=codes())
        if not found:
            raise NotFound.named("customer", name, repository.erasure.customers(), "customer")
        rows, changed = {kind: len(keys) for kind, keys in found.items()}, list[str]()
        if not request.dry_run:
            changed = proposals.hash_anew(repository, found.get("proposal", []), replacement, moment)
            repository.trail.note("customer.erased", "customer", "", rows=sum(rows.values()))
    if not request.dry_run:
        proposals.render_missing(bench)
        bench.forget_uploads()
        bench.sizings.clear()
        bench.pages.clear()
    erased_at = None if request.dry_run else moment
    return Erasure(erased_at=erased_at, replacement=replacement, rows=rows, proposals=changed)


def check(bench: Workbench, name: str, replacement: str) -> None:
    """Refuse a name that stands for something else as well, and one that its replacement would bring back."""
    if len(name) < 2 or not name.isprintable() or not replacement.isprintable() or not replacement:
        raise BadInput.at("customer", "enter the name of a customer")
    shelves = bench.catalogue
    known = {
        text.casefold()
        for shelf in (shelves.chips, shelves.machines, shelves.systems, shelves.fabrics, shelves.models)
        for identifier, document in shelf.documents.items()
        for text in (identifier, document.name)
    }
    if name.casefold() in known:
        raise BadInput.at("customer", "{name} is an entry of the catalogue, not a customer", name=name)
    if pattern_of(name).search(replacement):
        raise BadInput.at("replacement", "must not contain the name that is erased")


@cache
def codes() -> frozenset[str]:
    """Return the words that fields of requests and documents take from a list, such as adam, rent and USD."""
    found, waiting = set[str](), list[type[BaseModel]]([Schema, Document])
    while waiting:
        kind = waiting.pop()
        waiting += kind.__subclasses__()
        found.update(word for field in kind.model_fields.values() for word in listed(field.annotation))
    return frozenset(found)


def listed(annotation: Any) -> Iterator[str]:
    """Give the words that a type lists."""
    for part in get_args(annotation):
        if get_origin(annotation) is not Literal:
            yield from listed(part)
        elif isinstance(part, str):
            yield part
