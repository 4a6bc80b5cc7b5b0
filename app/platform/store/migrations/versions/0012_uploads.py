"""Files of uploads, and the clock that retention goes by."""

import sqlalchemy as sa
from alembic import op

from app.platform.store.queries import UtcDateTime

revision = "0012"

down_revision = "0011"


def upgrade() -> None:
    op.create_index("ux_profile_workspace", "profile", ["workspace_id", "id"], unique=True)
    op.create_index("ix_idempotency_key_age", "idempotency_key", ["workspace_id", "created_at"])
    op.create_table(
        "upload_file",
        sa.Column("profile_id", sa.String(length=40), nullable=False),
        sa.Column("workspace_id", sa.String(length=40), nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("name", sa.String(length=300), nullable=False),
        sa.Column("size", sa.Integer(), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspace.id"]),
        sa.ForeignKeyConstraint(["workspace_id", "profile_id"], ["profile.workspace_id", "profile.id"]),
        sa.PrimaryKeyConstraint("profile_id"),
    )
    op.create_index("ix_upload_file_address", "upload_file", ["workspace_id", "sha256"])
    op.create_table(
        "retention_clock",
        sa.Column("workspace_id", sa.String(length=40), nullable=False),
        sa.Column("seen_at", UtcDateTime(), nullable=False),
        sa.Column("steady_since", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspace.id"]),
        sa.PrimaryKeyConstraint("workspace_id"),
    )


def downgrade() -> None:
    op.drop_table("retention_clock")
    op.drop_index("ix_upload_file_address", "upload_file")
    op.drop_table("upload_file")
    op.drop_index("ix_idempotency_key_age", "idempotency_key")
    op.drop_index("ux_profile_workspace", "profile")
