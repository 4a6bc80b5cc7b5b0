"""Studies that nobody has saved yet, their customers, and short names for their states."""

import sqlalchemy as sa
from alembic import op

from app.platform.store.queries import DOCUMENT, UtcDateTime

revision = "0015"
down_revision = "0014"

LISTING = "ix_study_listing"


def upgrade() -> None:
    op.add_column("study", sa.Column("saved", sa.Boolean(), nullable=False, server_default=sa.true()))
    op.add_column("study", sa.Column("customer", sa.String(length=200), nullable=False, server_default=""))
    op.drop_index(LISTING, "study")
    op.create_index(LISTING, "study", ["workspace_id", "archived", "saved", "created_at", "id"])
    op.create_table(
        "study_state",
        sa.Column("study_id", sa.String(length=40), nullable=False),
        sa.Column("token", sa.String(length=16), nullable=False),
        sa.Column("workspace_id", sa.String(length=40), nullable=False),
        sa.Column("document", DOCUMENT, nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspace.id"]),
        sa.ForeignKeyConstraint(["workspace_id", "study_id"], ["study.workspace_id", "study.id"]),
        sa.PrimaryKeyConstraint("study_id", "token"),
    )


def downgrade() -> None:
    op.drop_table("study_state")
    op.drop_index(LISTING, "study")
    op.create_index(LISTING, "study", ["workspace_id", "archived", "created_at", "id"])
    op.drop_column("study", "customer")
    op.drop_column("study", "saved")
