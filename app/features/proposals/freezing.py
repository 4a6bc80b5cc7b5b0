"""Freeze proposals, and hand them over as files."""

from __future__ import annotations

import hashlib
from datetime import datetime

from app.errors import Conflict
from app.features.proposals.lines import content_hash
from app.features.proposals.model import Frozen, ProposalContent
from app.features.proposals.pdf import proposal_pdf
from app.features.proposals.service import answered, changed_meanwhile, existing, get_proposal, status_of
from app.platform.store.proposal_queries import EXPIRED
from app.platform.store.types import now
from app.platform.workbench import Workbench
from app.telemetry import RENDERINGS

PDF = "pdf"

MOST_NOTED = 100
"""Proposals of which is written down at one time that their last day is over."""


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
        sha256 = content_hash(ProposalContent.model_validate(record.content))
        proposal = answered(record, None).model_copy(
            update={"status": "frozen", "sha256": sha256, "frozen_at": moment}
        )
        pdf = proposal_pdf(proposal)
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
    status = "expired" if status_of(record) == "expired" else "frozen"
    return Frozen(id=record.id, status=status, sha256=record.sha256, frozen_at=record.frozen_at)


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


def file_hash(data: bytes) -> str:
    """Return the SHA-256 of a file."""
    return hashlib.sha256(data).hexdigest()
