"""Wrong passwords and codes: counted for the account, told with its next sign-in."""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"

COLUMNS = (("account", "untold_failures"), ("account_session", "failures"))


def upgrade() -> None:
    for table, column in COLUMNS:
        op.add_column(table, sa.Column(column, sa.Integer(), nullable=False, server_default="0"))


def downgrade() -> None:
    for table, column in COLUMNS:
        op.drop_column(table, column)
