"""Make, change, find, freeze and replay proposals."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import UTC, date, datetime
from typing import Any, Literal

from pydantic import TypeAdapter

from app.errors import AppError, BadInput, Conflict, Message, Overtaken
from app.estimating.documents import Text
from app.estimating.request import EstimateRequest
from app.features.comparisons.compare import ComparisonEntry
from app.features.comparisons.model import PublishedFigure, RowRequest
from app.features.comparisons.service import existing as existing_comparison
from app.features.comparisons.service import make_options, stored
from app.features.proposals.branding import read_logo
from app.features.proposals.content import build_content
from app.features.proposals.evidence import Named, at_field, named_evidence
from app.features.proposals.lines import changes_between, content_hash
from app.features.proposals.model import (
    REQUIRED,
    Frozen,
    Logo,
    Proposal,
    ProposalContent,
    ProposalEvent,
    ProposalEvents,
    ProposalPatch,
    ProposalRequest,
    ProposalSummary,
    Refused,
    Replay,
    ReplayChange,
    ShareState,
)
from app.features.proposals.pdf import proposal_pdf
from app.platform.idempotency import IdempotentCall, Save, keep
from app.platform.listing import Page, read_cursor, write_cursor
from app.platform.store.proposal_queries import EXPIRED
from app.platform.store.queries import new_id, now
from app.platform.store.repository import Repository
from app.platform.store.tables import ProposalRecord
from app.platform.workbench import Workbench, no_such
from app.telemetry import RENDERINGS

Standing = Literal["draft", "frozen", "expired"]

PDF = "pdf"

MOST_NOTED = 100
"""Proposals of which is written down at one time that their last day is over."""

ROW: TypeAdapter[EstimateRequest | PublishedFigure] = TypeAdapter(RowRequest)


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
            detail = {"comparison": request.comparison_id}
            repository.of_proposal(record.id).add_event("created", moment, detail)

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
        with at_field("comparison_id"):
            record = existing_comparison(repository, asked.comparison_id)
        options = stored(repository, asked.comparison_id)
    context = bench.context(workspace_id).priced(asked.price_book_id)
    if asked.currency != record.currency or asked.price_book_id is not None:
        requests = [at_prices_of(asked.price_book_id, option.request) for option in options]
        options = make_options(bench, workspace_id, requests, asked.currency)
    named = named_evidence(bench, workspace_id, asked)
    return build_content(
        asked, options, context, title=record.title, today=now().date(), logo=logo, named=named
    )


def at_prices_of(
    book: str | None, request: EstimateRequest | PublishedFigure
) -> EstimateRequest | PublishedFigure:
    """Return what was asked of an option with the prices of a book, where one is named."""
    if book is None or isinstance(request, PublishedFigure):
        return request
    assumptions = request.assumptions.model_copy(update={"price_book_id": book})
    return request.model_copy(update={"assumptions": assumptions})


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
        content=ProposalContent.model_validate(record.content),
    )


def status_of(record: ProposalRecord) -> Standing:
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
    items = [ProposalSummary.model_validate({**dict(row), "status": status_of(row)}) for row in listing.rows]
    return Page(items=items, next=write_cursor(listing.next))


def change_proposal(
    bench: Workbench, workspace_id: str, identifier: str, patch: ProposalPatch, version: int | None = None
) -> Proposal:
    """Change a draft; its figures are put together anew from the comparison as it stands now."""
    with bench.store.transaction(workspace_id) as repository:
        record = existing(repository, identifier)
    check_draft(record)
    if version is not None and version != record.version:
        raise changed_meanwhile(record.version, version)
    check_day(patch.valid_until)
    before = ProposalContent.model_validate(record.content)
    request = patched(record.request, patch)
    content = made_content(bench, workspace_id, request, logo_after(patch, before.branding.logo))
    moment = now()
    values = {**columns_of(request, content), "version": record.version + 1, "updated_at": moment}
    with bench.store.transaction(workspace_id) as repository:
        queries = repository.of_proposal(identifier)
        if not queries.change(record.version, values):
            overtaker = existing(repository, identifier)
            check_draft(overtaker)
            raise changed_meanwhile(overtaker.version, record.version)
        queries.add_event("changed", moment, {"fields": sorted(patch.model_fields_set)})
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
        ProposalEvent(position=row.position, kind=row.kind, at=row.at.astimezone(UTC), detail=row.detail)
        for row in rows
    ]
    return ProposalEvents(items=items)


def existing(repository: Repository, identifier: str) -> ProposalRecord:
    """Return a proposal's record or say that there is none."""
    record = repository.get(ProposalRecord, identifier)
    if record is None:
        raise no_such("proposal", identifier)
    return record


def freeze_proposal(bench: Workbench, workspace_id: str, identifier: str) -> Frozen:
    """Freeze a draft: hash its content, set its document, and keep both for good.

    Freezing what is frozen gives the same answer again.
    """
    with bench.store.transaction(workspace_id) as repository:
        record = existing(repository, identifier)
    if record.frozen_at is None:
        if status_of(record) == "expired":
            raise Conflict.at(
                "valid_until", "the validity date of the proposal has passed; set a new one first"
            )
        moment = now().replace(microsecond=0)
        draft = answered(record, None)
        sha256 = content_hash(draft.content)
        frozen = {"status": "frozen", "sha256": sha256, "frozen_at": moment}
        pdf = proposal_pdf(draft.model_copy(update=frozen))
        RENDERINGS.labels("pdf").inc()
        values = {"sha256": sha256, "frozen_at": moment, "updated_at": moment}
        with bench.store.transaction(workspace_id) as repository:
            queries = repository.of_proposal(identifier)
            if queries.change(record.version, values):
                queries.add_artifact(PDF, file_hash(pdf), pdf)
                queries.add_event("frozen", moment, {"sha256": sha256})
            elif existing(repository, identifier).frozen_at is None:
                raise changed_meanwhile(existing(repository, identifier).version, record.version)
        with bench.store.transaction(workspace_id) as repository:
            record = existing(repository, identifier)
    assert record.sha256 is not None and record.frozen_at is not None, "it is frozen now"
    status: Literal["frozen", "expired"] = "expired" if status_of(record) == "expired" else "frozen"
    return Frozen(id=record.id, status=status, sha256=record.sha256, frozen_at=record.frozen_at)


def file_hash(data: bytes) -> str:
    """Return the SHA-256 of a file."""
    return hashlib.sha256(data).hexdigest()


def pdf_of(bench: Workbench, workspace_id: str, identifier: str) -> bytes:
    """Return the PDF of a proposal: the one kept when it was frozen, or that of the draft as it stands."""
    with bench.store.transaction(workspace_id) as repository:
        existing(repository, identifier)
        kept = repository.of_proposal(identifier).artifact(PDF)
    return kept if kept is not None else proposal_pdf(get_proposal(bench, workspace_id, identifier))


def csv_of(bench: Workbench, workspace_id: str, identifier: str) -> str:
    """Return every line of a proposal as CSV."""
    from app.features.proposals.sheets import proposal_csv

    return proposal_csv(get_proposal(bench, workspace_id, identifier))


def workbook_of(bench: Workbench, workspace_id: str, identifier: str) -> bytes:
    """Return a proposal as a workbook."""
    from app.features.proposals.sheets import proposal_workbook

    return proposal_workbook(get_proposal(bench, workspace_id, identifier))


def note_expired(bench: Workbench, moment: datetime) -> int:
    """Write down of frozen proposals that their last day is over, and return of how many."""
    noted = 0
    for found in bench.store.ended_proposals(moment.date(), MOST_NOTED):
        with bench.store.transaction(found.workspace_id) as repository:
            queries = repository.of_proposal(found.proposal_id)
            queries.hold()
            # Somebody else may have been faster.
            if all(event.kind != EXPIRED for event in queries.events()):
                record = existing(repository, found.proposal_id)
                queries.add_event(EXPIRED, moment, {"valid_until": record.valid_until})
                noted += 1
    return noted


def replay_proposal(
    bench: Workbench, workspace_id: str, identifier: str, key: str | None = None, *, note: bool = True
) -> Replay:
    """Return what today's catalogue would say otherwise; the proposal is left as it is.

    That it was replayed is written down as an event, unless somebody only looks at the page.
    """

    def make() -> tuple[Replay, Save]:
        answer = replayed(bench, workspace_id, identifier)

        def save(repository: Repository) -> None:
            detail = {"changes": len(answer.changes), "refused": len(answer.refused)}
            repository.of_proposal(identifier).add_event("replayed", answer.replayed_at, detail)

        return answer, save

    if not note:
        return replayed(bench, workspace_id, identifier)
    once = IdempotentCall.of(f"proposals/{identifier}/replay", key, b"")
    return keep(bench, workspace_id, once, Replay, make)


def replayed(bench: Workbench, workspace_id: str, identifier: str) -> Replay:
    """Return a proposal compared with what today's catalogue says."""
    with bench.store.transaction(workspace_id) as repository:
        record = existing(repository, identifier)
    then = ProposalContent.model_validate(record.content)
    asked = ProposalRequest.model_validate(record.request)
    context = bench.context(workspace_id).priced(asked.price_book_id)
    options: list[ComparisonEntry] = []
    refused: list[Refused] = []
    for written in then.requests:
        try:
            options += make_options(bench, workspace_id, [ROW.validate_python(written)], then.currency)
        except AppError as error:
            refused.append(Refused(label=str(written["label"]), text=Text.of(error.message)))
    named = Named()
    try:
        named = named_evidence(bench, workspace_id, asked)
    except AppError as error:
        refused.append(Refused(label=error.errors[0].field, text=Text.of(error.message)))
    engine_version, compared = then.engine_version, 0
    changes: list[ReplayChange] = []
    if options and not refused:
        today = build_content(
            asked.model_copy(update={"options": [row.label for row in then.comparison.rows]}),
            options,
            context,
            title=then.title,
            today=now().date(),
            logo=then.branding.logo,
            named=named,
        )
        engine_version = today.engine_version
        compared, changes = changes_between(then, today)
    return Replay(
        id=record.id,
        sha256=record.sha256,
        replayed_at=now(),
        engine_version={"then": then.engine_version, "now": engine_version},
        catalog_version={"then": then.catalog_version, "now": context.catalog.version},
        compared=compared,
        changes=changes,
        refused=refused,
    )
