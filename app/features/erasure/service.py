"""Erase a customer's name everywhere it stands, and write down that it was done."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from enum import Enum
from typing import Any, Literal, TypeVar, get_args, get_origin

from app.errors import BadInput, NotFound
from app.estimating.schema import Described
from app.features.erasure.model import Erasure, ErasureRequest
from app.features.proposals import service as proposals
from app.platform.store.erasure_queries import pattern_of
from app.platform.store.queries import new_id, now
from app.platform.store.tables import AuditEvent
from app.platform.store.trail import TrailFilter
from app.platform.wording.voice import LABELS
from app.platform.workbench import Workbench, no_such

ERASED = "customer.erased"

Kind = TypeVar("Kind")


def erase_customer(bench: Workbench, workspace_id: str, request: ErasureRequest) -> Erasure:
    """Put a text in the place of a customer's name.

    Files as uploaded and archives made before are beyond it.
    """
    name, replacement = " ".join(request.customer.split()), " ".join(request.replacement.split())
    check(bench, name, replacement)
    moment = now()
    with bench.store.identity() as queries:
        workspace = queries.people.workspace(workspace_id)
    # A workspace may be called after its customer; its name stays, the certificate goes without.
    place = pattern_of(name).sub(lambda _: replacement, workspace.name if workspace else "")
    with bench.store.transaction(workspace_id) as repository:
        found = repository.erasure.erase(name, replacement, dry_run=request.dry_run, words=own_words())
        if not found:
            raise NotFound.named("customer", name, repository.erasure.customers(), "customer")
        rows = {kind: len(keys) for kind, keys in found.items()}
        if request.dry_run:
            return Erasure(
                id=None,
                workspace=place,
                erased_by=None,
                erased_at=None,
                replacement=replacement,
                rows=rows,
                proposals=[],
            )
        changed = proposals.hash_anew(repository, found.get("proposal", []), replacement, moment)
        stated = {"workspace": place, "replacement": replacement, "rows": rows, "proposals": changed}
        total = sum(rows.values())
        event = repository.trail.note(ERASED, "customer", new_id("ers"), rows=total, certificate=stated)
        done = certified(event)
    proposals.render_missing(bench)
    bench.forget_uploads()
    bench.sizings.clear()
    bench.pages.clear()
    return done


def get_erasure(bench: Workbench, workspace_id: str, identifier: str) -> Erasure:
    """Return an erasure as the audit trail has it."""
    with bench.store.transaction(workspace_id) as repository:
        wanted = TrailFilter({"action": ERASED, "object_id": identifier})
        events, _ = repository.trail.listing(wanted, 1, None)
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
    """Return the words by which documents say what they mean: choices of fields, members, labelled codes."""
    found = {part for key in LABELS for part in key.split(".")}
    for kind in below(Enum):
        if kind.__module__.startswith("app."):
            found |= {name.lower() for name in kind.__members__}
    for document in below(Described):
        for field in document.model_fields.values():
            found |= set(choices(field.annotation))
    return frozenset(found)


def below(kind: type[Kind]) -> Iterator[type[Kind]]:
    for one in kind.__subclasses__():
        yield one
        yield from below(one)


def choices(annotation: Any) -> Iterator[str]:
    """Give the words that a field of a type chooses from."""
    for part in get_args(annotation):
        if get_origin(annotation) is not Literal:
            yield from choices(part)
        elif isinstance(part, str):
            yield part


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
