"""Sizings: what was asked, the answer and the samples behind it."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

from app.platform.store.queries import UtcDateTime

revision = "0004"

down_revision = "0003"

DOCUMENT = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")


def upgrade() -> None:
    op.create_table(
        "sizing",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("workspace_id", sa.String(length=40), nullable=False),
        sa.Column("label", sa.String(length=300), nullable=False),
        sa.Column("request", DOCUMENT, nullable=False),
        sa.Column("document", DOCUMENT, nullable=False),
        sa.Column("samples", DOCUMENT, nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspace.id"]),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_sizing_listing", "sizing", ["workspace_id", "created_at", "id"])


def downgrade() -> None:
    op.drop_index("ix_sizing_listing", "sizing")
    op.drop_table("sizing")
