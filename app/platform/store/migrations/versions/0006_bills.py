"""Bills of materials: what was asked and the answer."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

from app.platform.store.queries import UtcDateTime

revision = "0006"

down_revision = "0005"

DOCUMENT = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")


def upgrade() -> None:
    op.create_table(
        "bill",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("workspace_id", sa.String(length=40), nullable=False),
        sa.Column("label", sa.String(length=300), nullable=False),
        sa.Column("request", DOCUMENT, nullable=False),
        sa.Column("document", DOCUMENT, nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspace.id"]),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_bill_listing", "bill", ["workspace_id", "created_at", "id"])


def downgrade() -> None:
    op.drop_index("ix_bill_listing", "bill")
    op.drop_table("bill")
