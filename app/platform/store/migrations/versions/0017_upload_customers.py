"""Customers of uploaded models and samples."""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"

TABLES = ("profile", "workload_sample")


def upgrade() -> None:
    for table in TABLES:
        op.add_column(table, sa.Column("customer", sa.String(length=200), nullable=False, server_default=""))


def downgrade() -> None:
    for table in TABLES:
        op.drop_column(table, "customer")
