"""What large workspaces need: indexes of what narrows lists."""

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"

OF_TRAIL = ("action", "actor_kind", "actor_id", "object_kind", "object_id")

NAMING = {
    "estimate": "request", "sizing": "document", "sweep": "request", "bill": "request",
    "calibration": "request", "proposal": "content", "study_version": "content",
    "comparison_option": "request", "price_book_version": "rows",
}  # fmt: skip
"""Table → its column that may name an accelerator of a workspace."""


def upgrade() -> None:
    for column in OF_TRAIL:
        op.create_index(f"ix_audit_event_{column}", "audit_event", ["workspace_id", column, "at", "id"])
    for table, column in NAMING.items():
        few = sa.text(f"CAST({column} AS TEXT) LIKE '%own-%'")
        op.create_index(f"ix_{table}_own", table, ["workspace_id"], sqlite_where=few, postgresql_where=few)


def downgrade() -> None:
    for table in NAMING:
        op.drop_index(f"ix_{table}_own", table)
    for column in OF_TRAIL:
        op.drop_index(f"ix_audit_event_{column}", "audit_event")
