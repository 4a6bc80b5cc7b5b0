"""Erase a customer's name everywhere, and record it."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from enum import Enum
from typing import Any, Literal, TypeVar, get_args, get_origin

from app.errors import BadInput, NotFound
from app.estimating.schema import Described
from app.features.erasure.model import Erasure, ErasureRequest
from app.features.proposals import service as proposals
from app.platform.catalogue import Shelf
from app.platform.store.erasure_queries import ERASED, erased_from, folded, pattern_of
from app.platform.store.queries import new_id, now
from app.platform.store.tables import AuditEvent
from app.platform.store.trail import TrailFilter
from app.platform.wording.voice import LABELS
from app.platform.workbench import Workbench, no_such

Kind = TypeVar("Kind")


def erase_customer(bench: Workbench, workspace_id: str, request: ErasureRequest) -> Erasure:
    """Replace a customer's name; uploaded files and earlier archives are not changed."""
    name, replacement = " ".join(request.customer.split()), " ".join(request.replacement.split())
    check(bench, name, replacement)
    moment = now()
    with bench.store.identity() as queries:
        workspace = queries.people.workspace(workspace_id)
    # A workspace may be named after its customer: the name stays, but not in the certificate.
    workspace_name = erased_from(workspace.name if workspace else "", pattern_of(name), replacement)
    with bench.store.transaction(workspace_id) as repository:
        words = own_words().union(*(shelf.documents for shelf in shelves(bench)))
        changed_keys = repository.erasure.erase(name, replacement, dry_run=request.dry_run, words=words)
        if not changed_keys:
            raise NotFound.named("customer", name, repository.erasure.customers(), "customer")
        rows = {kind: len(keys) for kind, keys in changed_keys.items()}
        if request.dry_run:
            return Erasure(
                id=None,
                workspace=workspace_name,
                erased_by=None,
                erased_at=None,
                replacement=replacement,
                rows=rows,
                proposals=[],
            )
        rehashed = proposals.hash_anew(repository, changed_keys.get("proposal", []), replacement, moment)
        certificate = {
            "workspace": workspace_name, "replacement": replacement, "rows": rows, "proposals": rehashed,
        }  # fmt: skip
        total = sum(rows.values())
        event = repository.trail.note(ERASED, "customer", new_id("ers"), rows=total, certificate=certificate)
        erasure = certified(event)
    proposals.render_missing(bench)
    bench.forget_rows()
    return erasure


def get_erasure(bench: Workbench, workspace_id: str, identifier: str) -> Erasure:
    with bench.store.transaction(workspace_id) as repository:
        erasures = TrailFilter({"action": ERASED, "object_id": identifier})
        events, _ = repository.trail.listing(erasures, 1, None)
    if not identifier or not events:
        raise no_such("certificate of erasure", identifier)
    return certified(events[0])


def certified(event: AuditEvent) -> Erasure:
    return Erasure(
        id=event.object_id,
        erased_by=event.actor_name or event.actor_kind,
        erased_at=event.at,
        **event.detail["certificate"],
    )


@functools.cache
def own_words() -> frozenset[str]:
    """Return the words of our own documents: choices of fields, enum members, labelled codes."""
    words = {part for key in LABELS for part in key.split(".")}
    for kind in below(Enum):
        if kind.__module__.startswith("app."):
            words |= {name.lower() for name in kind.__members__}
    for document in below(Described):
        for field in document.model_fields.values():
            words |= set(choices(field.annotation))
    return frozenset(words)


def below(kind: type[Kind]) -> Iterator[type[Kind]]:
    for subclass in kind.__subclasses__():
        yield subclass
        yield from below(subclass)


def choices(annotation: Any) -> Iterator[str]:
    for part in get_args(annotation):
        if get_origin(annotation) is not Literal:
            yield from choices(part)
        elif isinstance(part, str):
            yield part


def shelves(bench: Workbench) -> Sequence[Shelf[Any]]:
    found = bench.catalogue
    return found.chips, found.machines, found.systems, found.fabrics, found.models


def check(bench: Workbench, name: str, replacement: str) -> None:
    """Refuse a name that is in the catalogue, and a replacement that contains the name."""
    if len(name) < 2 or not name.isprintable() or not replacement.isprintable() or not replacement:
        raise BadInput.at("customer", "enter the name of a customer")
    known = {
        text.casefold()
        for shelf in shelves(bench)
        for identifier, document in shelf.documents.items()
        for text in (identifier, document.name)
    }
    if name.casefold() in known:
        raise BadInput.at("customer", "{name} is an entry of the catalogue, not a customer", name=name)
    if pattern_of(name).search(folded(replacement)):
        raise BadInput.at("replacement", "must not contain the name that is erased")
