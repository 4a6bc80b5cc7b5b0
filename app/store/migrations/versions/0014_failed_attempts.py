"""Sessions: how many attempts failed before."""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.add_column("account_session", sa.Column("failures", sa.Integer(), nullable=False, server_default="0"))


def downgrade() -> None:
    """Take back."""
    op.drop_column("account_session", "failures")
