"""Make, change and find proposals."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date
from typing import Any, Literal

from app.errors import AppError, BadInput, Conflict, FieldError, Message, Overtaken
from app.features.comparisons.compare import ComparisonEntry
from app.features.comparisons.model import PublishedFigure
from app.features.comparisons.service import existing as existing_comparison
from app.features.comparisons.service import of_row, stored
from app.features.estimates.service import make_estimate
from app.features.proposals.content import build_content
from app.features.proposals.evidence import named_evidence
from app.features.proposals.logo import read_logo
from app.features.proposals.model import (
    REQUIRED,
    Logo,
    Proposal,
    ProposalContent,
    ProposalEvent,
    ProposalEvents,
    ProposalPatch,
    ProposalRequest,
    ProposalSummary,
    ShareState,
)
from app.platform.idempotency import IdempotentCall, Save, keep
from app.platform.listing import Page, read_cursor, write_cursor
from app.platform.store.repository import Repository
from app.platform.store.tables import ProposalRecord
from app.platform.store.types import new_id, now
from app.platform.workbench import Workbench, no_such

Standing = Literal["draft", "frozen", "expired"]


def create_proposal(
    bench: Workbench, workspace_id: str, request: ProposalRequest, key: str | None = None
) -> Proposal:
    """Make a proposal of a comparison and keep it as a draft."""

    def make() -> tuple[Proposal, Save]:
        check_day(request.valid_until)
        logo = read_logo(request.branding.logo) if request.branding.logo is not None else None
        content = made_content(bench, workspace_id, request, logo)
        moment = now()
        record = ProposalRecord(
            id=new_id("prp"),
            workspace_id=workspace_id,
            version=1,
            sha256=None,
            frozen_at=None,
            created_at=moment,
            updated_at=moment,
            **columns_of(request, content),
        )

        def save(repository: Repository) -> None:
            repository.add(record)
            repository.of_proposal(record.id).add_event(
                "created", moment, {"comparison": request.comparison_id}
            )

        return answered(record, None), save

    return keep(bench, workspace_id, IdempotentCall.of("proposals", key, request), Proposal, make)


def columns_of(request: ProposalRequest, content: ProposalContent) -> dict[str, Any]:
    """Return what a record keeps of a draft; the logo is kept as it was drawn anew, in the content."""
    asked = request.model_dump(mode="json", exclude_unset=True)
    asked.get("branding", {}).pop("logo", None)
    return {
        "title": content.title[:300],
        "customer": content.customer[:300],
        "request": asked,
        "content": content.model_dump(mode="json"),
        "valid_until": None if content.valid_until is None else content.valid_until.isoformat(),
    }


def check_day(day: date | None) -> None:
    """Refuse a last day that is over."""
    if day is not None and day < now().date():
        raise BadInput.at(
            "valid_until", "{day} is in the past; enter today's date or a later one", day=day.isoformat()
        )


def made_content(
    bench: Workbench, workspace_id: str, asked: ProposalRequest, logo: Logo | None
) -> ProposalContent:
    """Return what a proposal says, from the rows of its comparison as they stand."""
    with bench.store.transaction(workspace_id) as repository:
        record = named_comparison(repository, asked.comparison_id)
        options = stored(repository, asked.comparison_id)
    context = bench.context(workspace_id).priced(asked.price_book_id)
    if asked.currency != record.currency or asked.price_book_id is not None:
        options = [
            priced_anew(bench, workspace_id, asked, position, option)
            for position, option in enumerate(options)
        ]
    named = named_evidence(bench, workspace_id, asked)
    return build_content(
        asked, options, context, title=record.title, today=now().date(), logo=logo, named=named
    )


def named_comparison(repository: Repository, identifier: str) -> Any:
    """Return the comparison a proposal is made of, or say at its field that there is none."""
    try:
        return existing_comparison(repository, identifier)
    except AppError as error:
        error.errors = (FieldError("comparison_id", error.message),)
        raise


def priced_anew(
    bench: Workbench, workspace_id: str, asked: ProposalRequest, position: int, option: ComparisonEntry
) -> ComparisonEntry:
    """Return an option in the currency and at the prices of a proposal."""
    if isinstance(option.request, PublishedFigure):
        return option
    taken: dict[str, Any] = {"currency": asked.currency}
    if asked.price_book_id is not None:
        book = {"price_book_id": asked.price_book_id}
        taken["assumptions"] = option.request.assumptions.model_copy(update=book)
    request = option.request.model_copy(update=taken)
    with of_row(position):
        return ComparisonEntry(request, make_estimate(bench, workspace_id, request))


def get_proposal(bench: Workbench, workspace_id: str, identifier: str) -> Proposal:
    """Return a proposal as it stands."""
    with bench.store.transaction(workspace_id) as repository:
        record = existing(repository, identifier)
        share = repository.of_proposal(identifier).share(now())
    state = None
    if share is not None:
        state = ShareState(
            created_at=share.created_at,
            expires_at=share.expires_at,
            passphrase=share.passphrase_hash is not None,
            opened=share.opened,
        )
    return answered(record, state)


def answered(record: ProposalRecord, share: ShareState | None) -> Proposal:
    """Return a record as an answer."""
    content = ProposalContent.model_validate(record.content)
    return Proposal(
        id=record.id,
        comparison_id=str(record.request["comparison_id"]),
        status=status_of(record),
        version=record.version,
        sha256=record.sha256,
        frozen_at=record.frozen_at,
        created_at=record.created_at,
        updated_at=record.updated_at,
        share=share,
        content=content,
    )


def status_of(record: ProposalRecord) -> Any:
    """Return how a proposal stands today: a last day that is over ends it, whether frozen or not."""
    if record.valid_until is not None and date.fromisoformat(record.valid_until) < now().date():
        return "expired"
    return "draft" if record.frozen_at is None else "frozen"


def list_proposals(
    bench: Workbench, workspace_id: str, limit: int, cursor: str | None, status: Standing | None = None
) -> Page[ProposalSummary]:
    """Return proposals, those that stand so today where a status is named, newest first."""
    with bench.store.transaction(workspace_id) as repository:
        listing = repository.proposals(limit, read_cursor(cursor), status, now().date().isoformat())
    items = [
        ProposalSummary(
            id=row.id,
            title=row.title,
            customer=row.customer,
            status=status_of(row),
            sha256=row.sha256,
            valid_until=None if row.valid_until is None else date.fromisoformat(row.valid_until),
            created_at=row.created_at,
            updated_at=row.updated_at,
        )
        for row in listing.rows
    ]
    return Page(items=items, next=write_cursor(listing.next))


def change_proposal(
    bench: Workbench,
    workspace_id: str,
    identifier: str,
    patch: ProposalPatch,
    version: int | None = None,
) -> Proposal:
    """Change a draft; its figures are put together anew from the comparison as it stands now."""
    with bench.store.transaction(workspace_id) as repository:
        record = existing(repository, identifier)
    check_draft(record)
    if version is not None and version != record.version:
        raise changed_meanwhile(record.version, version)
    given = patch.model_dump(exclude_unset=True)
    check_day(given.get("valid_until"))
    before = ProposalContent.model_validate(record.content)
    request = patched(record.request, patch)
    content = made_content(bench, workspace_id, request, logo_after(patch, before.branding.logo))
    moment = now()
    values = {
        **columns_of(request, content),
        "version": record.version + 1,
        "updated_at": moment,
    }
    with bench.store.transaction(workspace_id) as repository:
        queries = repository.of_proposal(identifier)
        if not queries.change(record.version, values):
            check_draft(existing(repository, identifier))
            raise changed_meanwhile(existing(repository, identifier).version, record.version)
        queries.add_event("changed", moment, {"fields": sorted(given)})
    return get_proposal(bench, workspace_id, identifier)


def patched(request: Mapping[str, Any], patch: ProposalPatch) -> ProposalRequest:
    """Return a request with what a patch changes of it."""
    given = patch.model_dump(mode="json", exclude_unset=True)
    kept = {name: value for name, value in given.items() if value is not None or name not in REQUIRED}
    branding = {**request.get("branding", {}), **(kept.pop("branding", None) or {})}
    branding.pop("logo", None)
    return ProposalRequest.model_validate({**request, **kept, "branding": branding})


def logo_after(patch: ProposalPatch, before: Logo | None) -> Logo | None:
    """Return the logo after a patch: a new one, none where it is taken away, else the one there was."""
    branding = patch.branding
    if branding is None or "logo" not in branding.model_fields_set:
        return before
    return None if branding.logo is None else read_logo(branding.logo)


def check_draft(record: ProposalRecord) -> None:
    """Refuse to change what is frozen."""
    if record.frozen_at is not None:
        raise Conflict(
            Message(
                "the proposal was frozen on {day} and cannot be changed; create a new one from "
                "its comparison",
                {"day": record.frozen_at.date().isoformat()},
            )
        )


def changed_meanwhile(found: int, expected: int) -> Overtaken:
    """Return the error for an edit that would overwrite one its author has not seen."""
    return Overtaken.at(
        "If-Match",
        "the proposal has changed in the meantime (version {found}, not {expected}); reload it",
        found=found,
        expected=expected,
    )


def list_events(bench: Workbench, workspace_id: str, identifier: str) -> ProposalEvents:
    """Return what happened to a proposal."""
    with bench.store.transaction(workspace_id) as repository:
        existing(repository, identifier)
        rows = repository.of_proposal(identifier).events()
    items = [
        ProposalEvent(
            position=row.position,
            kind=row.kind,
            at=row.at.astimezone(UTC),
            detail=row.detail,
        )
        for row in rows
    ]
    return ProposalEvents(items=items)


def existing(repository: Repository, identifier: str) -> ProposalRecord:
    """Return a proposal's record or say that there is none."""
    record = repository.get(ProposalRecord, identifier)
    if record is None:
        raise no_such("proposal", identifier)
    return record
