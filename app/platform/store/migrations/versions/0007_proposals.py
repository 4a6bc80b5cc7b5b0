"""Proposals: what they say, what happened to them, their files and the links they are shared by."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

from app.platform.store.queries import UtcDateTime

revision = "0007"

down_revision = "0006"

DOCUMENT = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")


def upgrade() -> None:
    op.create_table(
        "proposal",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("workspace_id", sa.String(length=40), nullable=False),
        sa.Column("title", sa.String(length=300), nullable=False),
        sa.Column("customer", sa.String(length=300), nullable=False),
        sa.Column("request", DOCUMENT, nullable=False),
        sa.Column("content", DOCUMENT, nullable=False),
        sa.Column("valid_until", sa.String(length=10), nullable=True),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=True),
        sa.Column("frozen_at", UtcDateTime(), nullable=True),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("updated_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspace.id"]),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("workspace_id", "id"),
    )
    op.create_index("ix_proposal_listing", "proposal", ["workspace_id", "created_at", "id"])
    op.create_table(
        "proposal_event",
        sa.Column("proposal_id", sa.String(length=40), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("workspace_id", sa.String(length=40), nullable=False),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("at", UtcDateTime(), nullable=False),
        sa.Column("detail", DOCUMENT, nullable=False),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspace.id"]),
        sa.ForeignKeyConstraint(["workspace_id", "proposal_id"], ["proposal.workspace_id", "proposal.id"]),
        sa.PrimaryKeyConstraint("proposal_id", "position"),
    )
    op.create_table(
        "proposal_artifact",
        sa.Column("proposal_id", sa.String(length=40), nullable=False),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("workspace_id", sa.String(length=40), nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspace.id"]),
        sa.ForeignKeyConstraint(["workspace_id", "proposal_id"], ["proposal.workspace_id", "proposal.id"]),
        sa.PrimaryKeyConstraint("proposal_id", "kind"),
    )
    op.create_table(
        "proposal_share",
        sa.Column("token_sha256", sa.String(length=64), nullable=False),
        sa.Column("workspace_id", sa.String(length=40), nullable=False),
        sa.Column("proposal_id", sa.String(length=40), nullable=False),
        sa.Column("passphrase_salt", sa.String(length=64), nullable=True),
        sa.Column("passphrase_hash", sa.String(length=128), nullable=True),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("expires_at", UtcDateTime(), nullable=False),
        sa.Column("revoked_at", UtcDateTime(), nullable=True),
        sa.Column("opened", sa.Integer(), nullable=False),
        sa.Column("noted_at", UtcDateTime(), nullable=True),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("failed_at", UtcDateTime(), nullable=True),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspace.id"]),
        sa.ForeignKeyConstraint(["workspace_id", "proposal_id"], ["proposal.workspace_id", "proposal.id"]),
        sa.PrimaryKeyConstraint("token_sha256"),
    )
    op.create_index(
        "ix_proposal_share_proposal", "proposal_share", ["workspace_id", "proposal_id", "created_at"]
    )


def downgrade() -> None:
    op.drop_index("ix_proposal_share_proposal", "proposal_share")
    op.drop_table("proposal_share")
    op.drop_table("proposal_artifact")
    op.drop_table("proposal_event")
    op.drop_index("ix_proposal_listing", "proposal")
    op.drop_table("proposal")
