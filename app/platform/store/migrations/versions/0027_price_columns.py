"""Columns of tables of prices that were chosen, by heading."""

import sqlalchemy as sa
from alembic import op

from app.platform.store.queries import DOCUMENT

revision = "0027"
down_revision = "0026"


def upgrade() -> None:
    op.add_column("workspace", sa.Column("price_columns", DOCUMENT, nullable=False, server_default="{}"))
