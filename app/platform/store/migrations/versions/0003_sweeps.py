"""Sweeps: many estimates in one run, row by row as they come."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

from app.platform.store.queries import UtcDateTime

revision = "0003"

down_revision = "0002"

DOCUMENT = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")


def upgrade() -> None:
    op.create_table(
        "sweep",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("workspace_id", sa.String(length=40), nullable=False),
        sa.Column("title", sa.String(length=300), nullable=False),
        sa.Column("request", DOCUMENT, nullable=False),
        sa.Column("status", sa.String(length=20), nullable=False),
        sa.Column("message", DOCUMENT, nullable=True),
        sa.Column("total", sa.Integer(), nullable=False),
        sa.Column("done", sa.Integer(), nullable=False),
        sa.Column("runner", sa.String(length=40), nullable=True),
        sa.Column("heartbeat", UtcDateTime(), nullable=True),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("updated_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspace.id"]),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("workspace_id", "id"),
    )
    op.create_index("ix_sweep_listing", "sweep", ["workspace_id", "created_at", "id"])
    op.create_index("ix_sweep_status", "sweep", ["status", "created_at"])
    op.create_table(
        "sweep_row",
        sa.Column("sweep_id", sa.String(length=40), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("workspace_id", sa.String(length=40), nullable=False),
        sa.Column("key", sa.String(length=40), nullable=False),
        sa.Column("model", sa.String(length=200), nullable=False),
        sa.Column("system", sa.String(length=200), nullable=False),
        sa.Column("price", sa.String(length=200), nullable=False),
        sa.Column("scenario", sa.String(length=200), nullable=False),
        sa.Column("refused", sa.Boolean(), nullable=False),
        sa.Column("time_to_train", sa.Float(), nullable=True),
        sa.Column("cost", sa.Float(), nullable=True),
        sa.Column("document", DOCUMENT, nullable=False),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspace.id"]),
        sa.ForeignKeyConstraint(["workspace_id", "sweep_id"], ["sweep.workspace_id", "sweep.id"]),
        sa.PrimaryKeyConstraint("sweep_id", "position"),
    )


def downgrade() -> None:
    op.drop_table("sweep_row")
    op.drop_index("ix_sweep_status", "sweep")
    op.drop_index("ix_sweep_listing", "sweep")
    op.drop_table("sweep")
