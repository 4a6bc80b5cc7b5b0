"""Wrong passwords and codes: counted for the account, told with its next sign-in."""

import sqlalchemy as sa
from alembic import op

revision = "0014"

down_revision = "0013"

branch_labels = None

depends_on = None

COLUMNS = (("account", "untold_failures"), ("account_session", "failures"))


def upgrade() -> None:
    """Apply."""
    for table, column in COLUMNS:
        op.add_column(table, sa.Column(column, sa.Integer(), nullable=False, server_default="0"))


def downgrade() -> None:
    """Take back."""
    for table, column in COLUMNS:
        op.drop_column(table, column)
