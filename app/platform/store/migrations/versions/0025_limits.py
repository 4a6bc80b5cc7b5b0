"""Limits of a comparison in a column of their own, and approval by another than the author."""

import sqlalchemy as sa
from alembic import op

from app.platform.store.queries import DOCUMENT

revision = "0025"
down_revision = "0024"

LIMITS = "limits"


def upgrade() -> None:
    second = sa.Column("second_approval", sa.Boolean, nullable=False, server_default=sa.false())
    op.add_column("workspace", second)
    op.add_column("proposal", sa.Column("author", sa.String(60), nullable=False, server_default=""))
    op.add_column("comparison", sa.Column(LIMITS, DOCUMENT, nullable=False, server_default="{}"))
    move_limits()


def move_limits() -> None:
    """Take the limits of a comparison from the request of its first option."""
    options = sa.table(
        "comparison_option",
        *(sa.column(name) for name in ("workspace_id", "comparison_id", "position")),
        sa.column("request", DOCUMENT),
    )
    comparisons = sa.table(
        "comparison", sa.column("workspace_id"), sa.column("id"), sa.column(LIMITS, DOCUMENT)
    )
    connection = op.get_bind()
    first = sa.select(options).where(options.c.position == 0)
    for option in connection.execute(first).all():
        if LIMITS not in option.request:
            continue
        request = {name: value for name, value in option.request.items() if name != LIMITS}
        of_comparison = [
            comparisons.c.workspace_id == option.workspace_id,
            comparisons.c.id == option.comparison_id,
        ]
        own = [
            options.c.workspace_id == option.workspace_id,
            options.c.comparison_id == option.comparison_id,
            options.c.position == 0,
        ]
        limits = {LIMITS: option.request[LIMITS]}
        connection.execute(sa.update(comparisons).where(*of_comparison).values(**limits))
        connection.execute(sa.update(options).where(*own).values(request=request))
