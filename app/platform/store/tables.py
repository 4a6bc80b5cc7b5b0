"""The tables. Every row belongs to a workspace, but for the turns of the server's own chores.

A ``table=True`` class does not validate; what goes in has passed the schemas of
:mod:`app.estimating.request` and :mod:`app.estimating.documents`.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKeyConstraint, Index, UniqueConstraint, text
from sqlmodel import Field, SQLModel

from app.platform.store.queries import DOCUMENT, UtcDateTime, now


def naming_own(table: str, column: str) -> str:
    """Return the condition that a document may name an accelerator of a workspace, as its index states it."""
    return f"CAST({table}.{column} AS TEXT) LIKE '%own-%'"


def own_index(table: str, column: str) -> Index:
    """Return the index of the few documents that name accelerators of a workspace."""
    condition = text(naming_own(table, column))
    return Index(f"ix_{table}_own", "workspace_id", sqlite_where=condition, postgresql_where=condition)


class WorkspaceRow(SQLModel, table=True):
    """Whose rows they are."""

    __tablename__ = "workspace"

    id: str = Field(primary_key=True, max_length=40)
    name: str = Field(max_length=200)
    created_at: datetime = Field(default_factory=now, sa_type=UtcDateTime)
    last_proposal: str | None = Field(default=None, max_length=20)
    """Number of the newest proposal, such as 2026-0012; the next one continues from it."""
    second_approval: bool = False
    """Whether a proposal is approved by another person or key than its author."""
    price_columns: dict[str, dict[str, str]] = Field(default_factory=dict, sa_type=DOCUMENT)
    """Columns that were chosen for tables of prices, by the key of their heading."""


class OwnedRow(SQLModel):
    """A row with an identifier of its own that belongs to a workspace."""

    id: str = Field(primary_key=True, max_length=40)
    workspace_id: str = Field(default="", foreign_key="workspace.id", max_length=40)
    created_at: datetime = Field(default_factory=now, sa_type=UtcDateTime)


class Profile(OwnedRow, table=True):
    """An uploaded model."""

    __table_args__ = (
        Index("ix_profile_listing", "workspace_id", "created_at", "id"),
        Index("ix_profile_customer", "workspace_id", "customer", "created_at", "id"),
        Index("ux_profile_workspace", "workspace_id", "id", unique=True),
    )

    name: str = Field(max_length=300)
    customer: str = Field(default="", max_length=200)
    kind: str = Field(max_length=40)
    document: dict[str, Any] = Field(sa_type=DOCUMENT)


class UploadFile(SQLModel, table=True):
    """The file that an uploaded model was read from; what the file is kept for is the rows that name it."""

    __tablename__ = "upload_file"
    __table_args__ = (
        # The key carries the workspace: a row cannot name a file for another's upload.
        ForeignKeyConstraint(["workspace_id", "profile_id"], ["profile.workspace_id", "profile.id"]),
        Index("ix_upload_file_address", "workspace_id", "sha256"),
    )

    profile_id: str = Field(primary_key=True, max_length=40)
    workspace_id: str = Field(default="", foreign_key="workspace.id", max_length=40)
    sha256: str = Field(max_length=64)
    name: str = Field(max_length=300)
    """Name of the file as it came."""
    size: int
    """Its size. [B]"""
    created_at: datetime = Field(default_factory=now, sa_type=UtcDateTime)


class WorkloadSample(OwnedRow, table=True):
    """What was counted in an uploaded sample of the data: lengths, never the text."""

    __tablename__ = "workload_sample"
    __table_args__ = (
        Index("ix_workload_sample_listing", "workspace_id", "created_at", "id"),
        Index("ix_workload_sample_customer", "workspace_id", "customer", "created_at", "id"),
    )

    name: str = Field(max_length=300)
    customer: str = Field(default="", max_length=200)
    document: dict[str, Any] = Field(sa_type=DOCUMENT)


class EstimateRow(OwnedRow, table=True):
    """An estimate as it was answered, with what was asked."""

    __tablename__ = "estimate"
    __table_args__ = (
        UniqueConstraint("workspace_id", "id"),
        Index("ix_estimate_listing", "workspace_id", "created_at", "id"),
        Index("ix_estimate_model", "workspace_id", "model", "created_at", "id"),
        own_index("estimate", "request"),
    )

    label: str = Field(max_length=300)
    model: str = Field(default="", max_length=200)
    """Identifier of the preset or the uploaded model; empty where the model stands in the request."""
    request: dict[str, Any] = Field(sa_type=DOCUMENT)
    document: dict[str, Any] = Field(sa_type=DOCUMENT)


class CalibrationRow(OwnedRow, table=True):
    """A calibration as it was answered, with what was asked and the fitted profile."""

    __tablename__ = "calibration"
    __table_args__ = (
        Index("ix_calibration_listing", "workspace_id", "created_at", "id"),
        own_index("calibration", "request"),
    )

    label: str = Field(max_length=300)
    request: dict[str, Any] = Field(sa_type=DOCUMENT)
    document: dict[str, Any] = Field(sa_type=DOCUMENT)
    profile: dict[str, Any] | None = Field(sa_type=DOCUMENT)
    """The software profile; null where runs were only held against each other."""


class JobRecord(OwnedRow, table=True):
    """Long work: what kind, how far it is, and who does it. Its identifier is that of what it makes."""

    __tablename__ = "job"
    __table_args__ = (
        UniqueConstraint("workspace_id", "id"),
        Index("ix_job_status", "status", "created_at"),
    )

    kind: str = Field(max_length=20)
    status: str = Field(max_length=20)
    """queued, running, done, cancelled or failed."""
    message: dict[str, Any] | None = Field(default=None, sa_type=DOCUMENT)
    """Why it failed, as a sentence with what a translation needs."""
    total: int
    """Total number of steps."""
    done: int = 0
    """Number of steps completed."""
    fence: int = 0
    """Counts the claims and what takes the job from its runner; only the newest number may write."""
    beat: int = 0
    """Counts the signs of life of the runner."""
    attempts: int = 0
    """Claims since a step was last done."""
    runner: str | None = Field(default=None, max_length=80)
    """Who does it, for people to find; none while it waits and when it has ended."""
    updated_at: datetime = Field(default_factory=now, sa_type=UtcDateTime)


class ChoreRecord(SQLModel, table=True):
    """When a recurring chore of the server itself was last begun, by whichever server."""

    __tablename__ = "chore"

    name: str = Field(primary_key=True, max_length=40)
    turn_at: datetime = Field(sa_type=UtcDateTime)


class SweepRecord(OwnedRow, table=True):
    """A sweep: what was asked. How far it is says the :class:`JobRecord` of the same identifier."""

    __tablename__ = "sweep"
    __table_args__ = (
        UniqueConstraint("workspace_id", "id"),
        Index("ix_sweep_listing", "workspace_id", "created_at", "id"),
        own_index("sweep", "request"),
    )

    title: str = Field(max_length=300)
    request: dict[str, Any] = Field(sa_type=DOCUMENT)


class SweepRowRecord(SQLModel, table=True):
    """One row of a sweep; what lists are sorted and narrowed by stands beside the document."""

    __tablename__ = "sweep_row"
    __table_args__ = (
        # The key carries the workspace: a row cannot belong to another's sweep.
        ForeignKeyConstraint(["workspace_id", "sweep_id"], ["sweep.workspace_id", "sweep.id"]),
    )

    sweep_id: str = Field(primary_key=True, max_length=40)
    position: int = Field(primary_key=True)
    workspace_id: str = Field(default="", foreign_key="workspace.id", max_length=40)
    key: str = Field(max_length=40)
    model: str = Field(max_length=200)
    system: str = Field(max_length=200)
    price: str = Field(max_length=200)
    scenario: str = Field(max_length=200)
    refused: bool
    time_to_train: float | None
    cost: float | None
    document: dict[str, Any] = Field(sa_type=DOCUMENT)


class SizingRow(OwnedRow, table=True):
    """A sizing as it was answered, with what was asked and the samples behind its options."""

    __tablename__ = "sizing"
    __table_args__ = (
        Index("ix_sizing_listing", "workspace_id", "created_at", "id"),
        Index("ix_sizing_model", "workspace_id", "model", "created_at", "id"),
        own_index("sizing", "document"),
    )

    label: str = Field(max_length=300)
    model: str = Field(default="", max_length=200)
    """As of an estimate."""
    request: dict[str, Any] = Field(sa_type=DOCUMENT)
    document: dict[str, Any] = Field(sa_type=DOCUMENT)
    samples: dict[str, Any] = Field(sa_type=DOCUMENT)
    """Time to train and cost by option, so that other limits can be judged without a search."""


class PriceBookRecord(OwnedRow, table=True):
    """A price book: its newest version; every version is a :class:`PriceBookVersion`."""

    __tablename__ = "price_book"
    __table_args__ = (
        UniqueConstraint("workspace_id", "id"),
        Index("ix_price_book_listing", "workspace_id", "created_at", "id"),
        Index("ix_price_book_changes", "workspace_id", "updated_at", "id"),
    )

    name: str = Field(max_length=200)
    version: int
    """Newest version; an edit that builds on another is refused."""
    row_count: int
    updated_at: datetime = Field(default_factory=now, sa_type=UtcDateTime)


class PriceBookVersion(SQLModel, table=True):
    """One version of a price book; it never changes."""

    __tablename__ = "price_book_version"
    __table_args__ = (
        # The key carries the workspace: a version cannot belong to another's book.
        ForeignKeyConstraint(["workspace_id", "book_id"], ["price_book.workspace_id", "price_book.id"]),
        own_index("price_book_version", "rows"),
    )

    book_id: str = Field(primary_key=True, max_length=40)
    version: int = Field(primary_key=True)
    workspace_id: str = Field(default="", foreign_key="workspace.id", max_length=40)
    name: str = Field(max_length=200)
    comment: str = Field(max_length=300)
    rows: list[dict[str, Any]] = Field(sa_type=DOCUMENT)
    created_at: datetime = Field(default_factory=now, sa_type=UtcDateTime)


class AcceleratorRecord(OwnedRow, table=True):
    """An accelerator of a workspace: its newest version; every version is an :class:`AcceleratorVersion`."""

    __tablename__ = "accelerator"
    __table_args__ = (
        UniqueConstraint("workspace_id", "id"),
        Index("ix_accelerator_listing", "workspace_id", "created_at", "id"),
        Index("ix_accelerator_changes", "workspace_id", "updated_at", "id"),
    )

    name: str = Field(max_length=100)
    version: int
    """Newest version; an edit that builds on another is refused."""
    updated_at: datetime = Field(default_factory=now, sa_type=UtcDateTime)
    deleted_at: datetime | None = Field(default=None, sa_type=UtcDateTime, nullable=True)
    """When it was deleted; its figures stay for what was made with them."""


class AcceleratorVersion(SQLModel, table=True):
    """One version of an accelerator as it was stated; it never changes."""

    __tablename__ = "accelerator_version"
    __table_args__ = (
        # The key carries the workspace: a version cannot belong to another's accelerator.
        ForeignKeyConstraint(
            ["workspace_id", "accelerator_id"], ["accelerator.workspace_id", "accelerator.id"]
        ),
    )

    accelerator_id: str = Field(primary_key=True, max_length=40)
    version: int = Field(primary_key=True)
    workspace_id: str = Field(default="", foreign_key="workspace.id", max_length=40)
    stated_by: str = Field(max_length=200)
    document: dict[str, Any] = Field(sa_type=DOCUMENT)
    created_at: datetime = Field(default_factory=now, sa_type=UtcDateTime)


class BillRow(OwnedRow, table=True):
    """A bill of materials as it was answered, with what was asked."""

    __tablename__ = "bill"
    __table_args__ = (
        Index("ix_bill_listing", "workspace_id", "created_at", "id"),
        own_index("bill", "request"),
    )

    label: str = Field(max_length=300)
    request: dict[str, Any] = Field(sa_type=DOCUMENT)
    document: dict[str, Any] = Field(sa_type=DOCUMENT)


class StudyRecord(OwnedRow, table=True):
    """A study, or a comparison, which is one; what it states is in its versions."""

    __tablename__ = "study"
    __table_args__ = (
        UniqueConstraint("workspace_id", "id"),
        Index("ix_study_listing", "workspace_id", "kind", "archived", "saved", "created_at", "id"),
        Index("ix_study_customer", "workspace_id", "customer", "created_at", "id"),
        Index("ix_study_changes", "workspace_id", "updated_at", "id"),
    )

    name: str = Field(max_length=300)
    sought: str = Field(max_length=600)
    """The name as it is searched: without case, which databases fold each in their own way."""
    options: int
    """Options of the newest version."""
    version: int
    """Newest version."""
    archived: bool
    saved: bool = True
    """Whether somebody has kept it; an answer that was only looked at goes after a while."""
    customer: str = Field(default="", max_length=200)
    updated_at: datetime = Field(default_factory=now, sa_type=UtcDateTime)
    kind: str = Field(default="study", max_length=20)
    """study or comparison: in which list it is."""


class StudyVersionRecord(SQLModel, table=True):
    """One version of a study and what changed with it; written once."""

    __tablename__ = "study_version"
    __table_args__ = (
        # The key carries the workspace: a version cannot belong to another's study.
        ForeignKeyConstraint(["workspace_id", "study_id"], ["study.workspace_id", "study.id"]),
        own_index("study_version", "content"),
    )

    study_id: str = Field(primary_key=True, max_length=40)
    version: int = Field(primary_key=True)
    workspace_id: str = Field(default="", foreign_key="workspace.id", max_length=40)
    content: dict[str, Any] = Field(sa_type=DOCUMENT)
    changes: list[dict[str, Any]] = Field(sa_type=DOCUMENT)
    created_at: datetime = Field(default_factory=now, sa_type=UtcDateTime)
    estimates: dict[str, str] = Field(default_factory=dict, sa_type=DOCUMENT)
    """Key of an option of a comparison → its estimate, which is kept with it."""


class StudyStateRecord(SQLModel, table=True):
    """A state of a study under a short name, so that its address stays short; written once."""

    __tablename__ = "study_state"
    __table_args__ = (
        # The key carries the workspace: a state cannot belong to another's study.
        ForeignKeyConstraint(["workspace_id", "study_id"], ["study.workspace_id", "study.id"]),
    )

    study_id: str = Field(primary_key=True, max_length=40)
    token: str = Field(primary_key=True, max_length=16)
    """Made of what it holds: the same state always has the same."""
    workspace_id: str = Field(default="", foreign_key="workspace.id", max_length=40)
    document: dict[str, Any] = Field(sa_type=DOCUMENT)
    created_at: datetime = Field(default_factory=now, sa_type=UtcDateTime)


class ProposalRecord(OwnedRow, table=True):
    """A proposal: what was asked and everything it says; frozen, it never changes again."""

    __tablename__ = "proposal"
    __table_args__ = (
        UniqueConstraint("workspace_id", "id"),
        Index("ix_proposal_listing", "workspace_id", "created_at", "id"),
        Index("ix_proposal_customer", "workspace_id", "customer", "created_at", "id"),
        Index("ix_proposal_changes", "workspace_id", "updated_at", "id"),
        Index("ix_proposal_number", "workspace_id", "number", unique=True),
        own_index("proposal", "content"),
    )

    title: str = Field(max_length=300)
    customer: str = Field(max_length=300)
    request: dict[str, Any] = Field(sa_type=DOCUMENT)
    content: dict[str, Any] = Field(sa_type=DOCUMENT)
    valid_until: str | None = Field(max_length=10)
    """Last day on which it holds, as an ISO date."""
    version: int
    """Counts the edits, so that two people's edits cannot overwrite each other unseen."""
    sha256: str | None = Field(max_length=64)
    """Hash of the canonical JSON of the content; none for a draft."""
    frozen_at: datetime | None = Field(sa_type=UtcDateTime)
    updated_at: datetime = Field(default_factory=now, sa_type=UtcDateTime)
    number: str | None = Field(default=None, max_length=20)
    """Reference number, such as 2026-0012; none where it was made before there were numbers."""
    review: str = Field(default="draft", max_length=12)
    """How far it has come with its reviewers and its customer."""
    opened: int = 0
    """Number of times its page was opened through links."""
    first_opened_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    last_opened_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    amount: float | None = None
    """What the recommended option costs to buy, or over the term where it is rented."""
    currency: str = Field(default="", max_length=3)
    author: str = Field(default="", max_length=60)
    """Person or key that changed what it says last."""


class ProposalEventRecord(SQLModel, table=True):
    """An event in the history of a proposal."""

    __tablename__ = "proposal_event"
    __table_args__ = (
        ForeignKeyConstraint(["workspace_id", "proposal_id"], ["proposal.workspace_id", "proposal.id"]),
    )

    proposal_id: str = Field(primary_key=True, max_length=40)
    position: int = Field(primary_key=True)
    workspace_id: str = Field(default="", foreign_key="workspace.id", max_length=40)
    kind: str = Field(max_length=20)
    at: datetime = Field(sa_type=UtcDateTime)
    detail: dict[str, Any] = Field(sa_type=DOCUMENT)


class ProposalArtifact(SQLModel, table=True):
    """A file of a frozen proposal, rendered once and given out ever after."""

    __tablename__ = "proposal_artifact"
    __table_args__ = (
        ForeignKeyConstraint(["workspace_id", "proposal_id"], ["proposal.workspace_id", "proposal.id"]),
    )

    proposal_id: str = Field(primary_key=True, max_length=40)
    kind: str = Field(primary_key=True, max_length=20)
    workspace_id: str = Field(default="", foreign_key="workspace.id", max_length=40)
    sha256: str = Field(max_length=64)
    data: bytes


class ProposalShare(SQLModel, table=True):
    """A link to a frozen proposal; of its token and its passphrase only hashes are kept."""

    __tablename__ = "proposal_share"
    __table_args__ = (
        ForeignKeyConstraint(["workspace_id", "proposal_id"], ["proposal.workspace_id", "proposal.id"]),
        Index("ix_proposal_share_proposal", "workspace_id", "proposal_id", "created_at"),
    )

    token_sha256: str = Field(primary_key=True, max_length=64)
    workspace_id: str = Field(default="", foreign_key="workspace.id", max_length=40)
    proposal_id: str = Field(max_length=40)
    passphrase_salt: str | None = Field(max_length=64)
    passphrase_hash: str | None = Field(max_length=128)
    created_at: datetime = Field(sa_type=UtcDateTime)
    expires_at: datetime = Field(sa_type=UtcDateTime)
    revoked_at: datetime | None = Field(sa_type=UtcDateTime)
    opened: int
    """Number of times the link was opened."""
    noted_at: datetime | None = Field(sa_type=UtcDateTime)
    """When an opening was last written down as an event."""
    failures: int
    """Wrong passphrases since the last right one."""
    failed_at: datetime | None = Field(sa_type=UtcDateTime)


class IdempotencyKey(SQLModel, table=True):
    """The first answer to a request that carried a key, to give the same one again."""

    __tablename__ = "idempotency_key"
    __table_args__ = (Index("ix_idempotency_key_age", "workspace_id", "created_at"),)

    workspace_id: str = Field(foreign_key="workspace.id", primary_key=True, max_length=40)
    endpoint: str = Field(primary_key=True, max_length=100)
    key: str = Field(primary_key=True, max_length=200)
    body_sha256: str = Field(max_length=64)
    answer: dict[str, Any] = Field(sa_type=DOCUMENT)
    created_at: datetime = Field(default_factory=now, sa_type=UtcDateTime)


class AuditEvent(SQLModel, table=True):
    """Something that somebody did; the database refuses to change or drop it."""

    __tablename__ = "audit_event"
    __table_args__ = (
        Index("ix_audit_event_listing", "workspace_id", "at", "id"),
        *(
            Index(f"ix_audit_event_{column}", "workspace_id", column, "at", "id")
            for column in ("action", "actor_kind", "actor_id", "object_kind", "object_id")
        ),
    )

    id: str = Field(primary_key=True, max_length=40)
    workspace_id: str = Field(default="", foreign_key="workspace.id", max_length=40)
    at: datetime = Field(sa_type=UtcDateTime)
    action: str = Field(max_length=60)
    """What was done, such as ``study.changed``."""
    actor_kind: str = Field(max_length=20)
    """person, key, local, link, operator or system."""
    actor_id: str = Field(max_length=80)
    actor_name: str = Field(max_length=200)
    object_kind: str = Field(max_length=40)
    object_id: str = Field(max_length=80)
    address: str = Field(max_length=64)
    """Network address it was asked from; empty where nobody asked."""
    request_id: str = Field(max_length=64)
    detail: dict[str, Any] = Field(sa_type=DOCUMENT)


class RetentionClock(SQLModel, table=True):
    """How the clock has gone since retention last looked, so that a clock that jumps deletes nothing."""

    __tablename__ = "retention_clock"

    workspace_id: str = Field(foreign_key="workspace.id", primary_key=True, max_length=40)
    seen_at: datetime = Field(sa_type=UtcDateTime)
    """When retention last looked."""
    steady_since: datetime = Field(sa_type=UtcDateTime)
    """Since when the clock has neither been put back nor leapt forward."""
