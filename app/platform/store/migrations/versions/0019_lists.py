"""Models of estimates and sizings, and indexes of lists by model, customer and last change."""

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"

OF_MODEL = ("estimate", "sizing")

OF_CUSTOMER = ("study", "proposal", "profile", "workload_sample")

CHANGING = ("comparison", "price_book", "accelerator", "study", "proposal")


def upgrade() -> None:
    sqlite = op.get_bind().dialect.name == "sqlite"
    preset, upload = (
        f"json_extract(request, '$.model.{name}')" if sqlite else f"request #>> '{{model,{name}}}'"
        for name in ("preset", "profile_id")
    )
    for table in OF_MODEL:
        op.add_column(table, sa.Column("model", sa.String(200), nullable=False, server_default=""))
        op.execute(f"UPDATE {table} SET model = coalesce({preset}, {upload}, '')")
        op.create_index(f"ix_{table}_model", table, ["workspace_id", "model", "created_at", "id"])
    for table in OF_CUSTOMER:
        op.create_index(f"ix_{table}_customer", table, ["workspace_id", "customer", "created_at", "id"])
    for table in CHANGING:
        op.create_index(f"ix_{table}_changes", table, ["workspace_id", "updated_at", "id"])


def downgrade() -> None:
    for table in CHANGING:
        op.drop_index(f"ix_{table}_changes", table)
    for table in OF_CUSTOMER:
        op.drop_index(f"ix_{table}_customer", table)
    for table in OF_MODEL:
        op.drop_index(f"ix_{table}_model", table)
        op.drop_column(table, "model")
