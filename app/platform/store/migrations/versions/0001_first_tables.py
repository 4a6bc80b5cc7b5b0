"""The first tables."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

from app.platform.store.queries import UtcDateTime

revision = "0001"

down_revision = None

DOCUMENT = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")


def upgrade() -> None:
    op.create_table(
        "workspace",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_table(
        "comparison",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("workspace_id", sa.String(length=40), nullable=False),
        sa.Column("title", sa.String(length=300), nullable=False),
        sa.Column("locale", sa.String(length=20), nullable=False),
        sa.Column("currency", sa.String(length=3), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("updated_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspace.id"]),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("workspace_id", "id"),
    )
    op.create_index("ix_comparison_listing", "comparison", ["workspace_id", "created_at", "id"])

    op.create_table(
        "estimate",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("workspace_id", sa.String(length=40), nullable=False),
        sa.Column("label", sa.String(length=300), nullable=False),
        sa.Column("request", DOCUMENT, nullable=False),
        sa.Column("document", DOCUMENT, nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspace.id"]),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("workspace_id", "id"),
    )
    op.create_index("ix_estimate_listing", "estimate", ["workspace_id", "created_at", "id"])

    op.create_table(
        "idempotency_key",
        sa.Column("workspace_id", sa.String(length=40), nullable=False),
        sa.Column("endpoint", sa.String(length=100), nullable=False),
        sa.Column("key", sa.String(length=200), nullable=False),
        sa.Column("body_sha256", sa.String(length=64), nullable=False),
        sa.Column("answer", DOCUMENT, nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspace.id"]),
        sa.PrimaryKeyConstraint("workspace_id", "endpoint", "key"),
    )
    op.create_table(
        "profile",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("workspace_id", sa.String(length=40), nullable=False),
        sa.Column("name", sa.String(length=300), nullable=False),
        sa.Column("kind", sa.String(length=40), nullable=False),
        sa.Column("document", DOCUMENT, nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspace.id"]),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_profile_listing", "profile", ["workspace_id", "created_at", "id"])

    op.create_table(
        "workload_sample",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("workspace_id", sa.String(length=40), nullable=False),
        sa.Column("name", sa.String(length=300), nullable=False),
        sa.Column("document", DOCUMENT, nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspace.id"]),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_workload_sample_listing", "workload_sample", ["workspace_id", "created_at", "id"])

    op.create_table(
        "comparison_option",
        sa.Column("comparison_id", sa.String(length=40), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("workspace_id", sa.String(length=40), nullable=False),
        sa.Column("request", DOCUMENT, nullable=False),
        sa.Column("estimate_id", sa.String(length=40), nullable=True),
        sa.ForeignKeyConstraint(
            ["workspace_id", "comparison_id"], ["comparison.workspace_id", "comparison.id"]
        ),
        sa.ForeignKeyConstraint(["workspace_id", "estimate_id"], ["estimate.workspace_id", "estimate.id"]),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspace.id"]),
        sa.PrimaryKeyConstraint("comparison_id", "position"),
    )


def downgrade() -> None:
    op.drop_table("comparison_option")
    op.drop_index("ix_workload_sample_listing", "workload_sample")
    op.drop_table("workload_sample")
    op.drop_index("ix_profile_listing", "profile")
    op.drop_table("profile")
    op.drop_table("idempotency_key")
    op.drop_index("ix_estimate_listing", "estimate")
    op.drop_table("estimate")
    op.drop_index("ix_comparison_listing", "comparison")
    op.drop_table("comparison")
    op.drop_table("workspace")
