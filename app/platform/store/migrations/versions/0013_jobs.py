"""Jobs: long work of any kind, fenced; what sweeps said of it moves there."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

from app.platform.store.queries import UtcDateTime

revision = "0013"

down_revision = "0012"

DOCUMENT = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")

MOVED = ("status", "message", "total", "done", "runner", "heartbeat", "updated_at")


def upgrade() -> None:
    op.create_table(
        "job",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("workspace_id", sa.String(length=40), nullable=False),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("status", sa.String(length=20), nullable=False),
        sa.Column("message", DOCUMENT, nullable=True),
        sa.Column("total", sa.Integer(), nullable=False),
        sa.Column("done", sa.Integer(), nullable=False),
        sa.Column("fence", sa.Integer(), nullable=False),
        sa.Column("beat", sa.Integer(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("runner", sa.String(length=80), nullable=True),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("updated_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspace.id"]),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("workspace_id", "id"),
    )
    op.create_index("ix_job_status", "job", ["status", "created_at"])
    op.create_table(
        "chore",
        sa.Column("name", sa.String(length=40), nullable=False),
        sa.Column("turn_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("name"),
    )
    # What was running waits again: its runner belonged to the version before.
    op.execute(
        "INSERT INTO job (id, workspace_id, kind, status, message, total, done, fence, beat, attempts, "
        "created_at, updated_at) SELECT id, workspace_id, 'sweep', "
        "CASE status WHEN 'running' THEN 'queued' ELSE status END, message, total, done, 0, 0, 0, "
        "created_at, updated_at FROM sweep"
    )
    op.drop_index("ix_sweep_status", "sweep")
    for name in MOVED:
        op.drop_column("sweep", name)


def downgrade() -> None:
    op.add_column("sweep", sa.Column("status", sa.String(length=20), nullable=False, server_default="queued"))
    op.add_column("sweep", sa.Column("message", DOCUMENT, nullable=True))
    op.add_column("sweep", sa.Column("total", sa.Integer(), nullable=False, server_default="0"))
    op.add_column("sweep", sa.Column("done", sa.Integer(), nullable=False, server_default="0"))
    op.add_column("sweep", sa.Column("runner", sa.String(length=40), nullable=True))
    op.add_column("sweep", sa.Column("heartbeat", UtcDateTime(), nullable=True))
    op.add_column(
        "sweep", sa.Column("updated_at", UtcDateTime(), nullable=False, server_default="2026-01-01 00:00:00")
    )
    for name in ("status", "message", "total", "done", "updated_at"):
        op.execute(f"UPDATE sweep SET {name} = (SELECT job.{name} FROM job WHERE job.id = sweep.id)")
    op.execute("UPDATE sweep SET status = 'queued' WHERE status = 'running'")
    op.create_index("ix_sweep_status", "sweep", ["status", "created_at"])
    op.drop_table("chore")
    op.drop_index("ix_job_status", "job")
    op.drop_table("job")
