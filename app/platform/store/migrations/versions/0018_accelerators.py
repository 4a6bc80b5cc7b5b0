"""Accelerators of a workspace with every version of what their data sheets say."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

from app.platform.store.queries import UtcDateTime

revision = "0018"

down_revision = "0017"

DOCUMENT = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")


def upgrade() -> None:
    op.create_table(
        "accelerator",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("workspace_id", sa.String(length=40), nullable=False),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("updated_at", UtcDateTime(), nullable=False),
        sa.Column("deleted_at", UtcDateTime(), nullable=True),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspace.id"]),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("workspace_id", "id"),
    )
    op.create_index("ix_accelerator_listing", "accelerator", ["workspace_id", "created_at", "id"])
    op.create_table(
        "accelerator_version",
        sa.Column("accelerator_id", sa.String(length=40), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("workspace_id", sa.String(length=40), nullable=False),
        sa.Column("stated_by", sa.String(length=200), nullable=False),
        sa.Column("document", DOCUMENT, nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspace.id"]),
        sa.ForeignKeyConstraint(
            ["workspace_id", "accelerator_id"], ["accelerator.workspace_id", "accelerator.id"]
        ),
        sa.PrimaryKeyConstraint("accelerator_id", "version"),
    )


def downgrade() -> None:
    op.drop_table("accelerator_version")
    op.drop_index("ix_accelerator_listing", "accelerator")
    op.drop_table("accelerator")
