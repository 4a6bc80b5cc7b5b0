"""Proposals with a number, a state of review, and how often customers opened them."""

import sqlalchemy as sa
from alembic import op

from app.platform.store.queries import UtcDateTime

revision = "0016"
down_revision = "0015"

MOMENTS = ("first_opened_at", "last_opened_at")


def upgrade() -> None:
    op.add_column("workspace", sa.Column("last_proposal", sa.String(20)))
    op.add_column("proposal", sa.Column("number", sa.String(20)))
    op.add_column("proposal", sa.Column("review", sa.String(12), nullable=False, server_default="draft"))
    op.add_column("proposal", sa.Column("opened", sa.Integer(), nullable=False, server_default="0"))
    for column in MOMENTS:
        op.add_column("proposal", sa.Column(column, UtcDateTime()))
    op.add_column("proposal", sa.Column("amount", sa.Float()))
    op.add_column("proposal", sa.Column("currency", sa.String(3), nullable=False, server_default=""))
    op.create_index("ix_proposal_number", "proposal", ["workspace_id", "number"], unique=True)
    op.execute("UPDATE proposal SET review = 'approved' WHERE frozen_at IS NOT NULL")


def downgrade() -> None:
    op.drop_index("ix_proposal_number", "proposal")
    for column in ("currency", "amount", *MOMENTS, "opened", "review", "number"):
        op.drop_column("proposal", column)
    op.drop_column("workspace", "last_proposal")
