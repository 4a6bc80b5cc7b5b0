"""Studies: a customer's question with its options, every version kept."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

from app.platform.store.queries import UtcDateTime

revision = "0008"

down_revision = "0007"

DOCUMENT = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")


def upgrade() -> None:
    op.create_table(
        "study",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("workspace_id", sa.String(length=40), nullable=False),
        sa.Column("name", sa.String(length=300), nullable=False),
        sa.Column("sought", sa.String(length=600), nullable=False),
        sa.Column("options", sa.Integer(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("archived", sa.Boolean(), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("updated_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspace.id"]),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("workspace_id", "id"),
    )
    op.create_index("ix_study_listing", "study", ["workspace_id", "archived", "created_at", "id"])
    op.create_table(
        "study_version",
        sa.Column("study_id", sa.String(length=40), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("workspace_id", sa.String(length=40), nullable=False),
        sa.Column("content", DOCUMENT, nullable=False),
        sa.Column("changes", DOCUMENT, nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspace.id"]),
        sa.ForeignKeyConstraint(["workspace_id", "study_id"], ["study.workspace_id", "study.id"]),
        sa.PrimaryKeyConstraint("study_id", "version"),
    )


def downgrade() -> None:
    op.drop_table("study_version")
    op.drop_index("ix_study_listing", "study")
    op.drop_table("study")
