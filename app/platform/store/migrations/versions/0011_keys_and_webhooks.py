"""API keys, counted requests, webhooks and their messages."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

from app.platform.store.queries import UtcDateTime

revision = "0011"

down_revision = "0010"

DOCUMENT = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")


def upgrade() -> None:
    op.create_table(
        "api_key",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("workspace_id", sa.String(length=40), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("prefix", sa.String(length=20), nullable=False),
        sa.Column("secret_sha256", sa.String(length=64), nullable=False),
        sa.Column("scopes", DOCUMENT, nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("expires_at", UtcDateTime(), nullable=True),
        sa.Column("last_used_at", UtcDateTime(), nullable=True),
        sa.Column("revoked_at", UtcDateTime(), nullable=True),
        sa.Column("successor_id", sa.String(length=40), nullable=True),
        sa.Column("grace_ends_at", UtcDateTime(), nullable=True),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspace.id"]),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("prefix"),
    )
    op.create_index("ix_api_key_listing", "api_key", ["workspace_id", "created_at", "id"])
    op.create_table(
        "rate_window",
        sa.Column("workspace_id", sa.String(length=40), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("position", sa.BigInteger(), nullable=False),
        sa.Column("hits", sa.Integer(), nullable=False),
        sa.Column("ends_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspace.id"]),
        sa.PrimaryKeyConstraint("workspace_id", "name", "position"),
    )
    op.create_index("ix_rate_window_ends", "rate_window", ["ends_at"])
    op.create_table(
        "webhook",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("workspace_id", sa.String(length=40), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("url", sa.String(length=500), nullable=False),
        sa.Column("events", DOCUMENT, nullable=False),
        sa.Column("sealed_secret", sa.String(length=400), nullable=False),
        sa.Column("previous_sealed", sa.String(length=400), nullable=True),
        sa.Column("previous_until", UtcDateTime(), nullable=True),
        sa.Column("active", sa.Boolean(), nullable=False),
        sa.Column("disabled", DOCUMENT, nullable=True),
        sa.Column("succeeded_at", UtcDateTime(), nullable=True),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("updated_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspace.id"]),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("workspace_id", "id"),
    )
    op.create_index("ix_webhook_listing", "webhook", ["workspace_id", "created_at", "id"])
    op.create_table(
        "webhook_delivery",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("workspace_id", sa.String(length=40), nullable=False),
        sa.Column("webhook_id", sa.String(length=40), nullable=False),
        sa.Column("event", sa.String(length=40), nullable=False),
        sa.Column("body", sa.String(), nullable=False),
        sa.Column("status", sa.String(length=20), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("next_try_at", UtcDateTime(), nullable=True),
        sa.Column("leased_until", UtcDateTime(), nullable=True),
        sa.Column("tried_at", UtcDateTime(), nullable=True),
        sa.Column("response_status", sa.Integer(), nullable=True),
        sa.Column("response_text", sa.String(length=1000), nullable=False),
        sa.Column("reason", DOCUMENT, nullable=True),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspace.id"]),
        sa.ForeignKeyConstraint(["workspace_id", "webhook_id"], ["webhook.workspace_id", "webhook.id"]),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index(
        "ix_webhook_delivery_listing", "webhook_delivery", ["workspace_id", "webhook_id", "created_at", "id"]
    )
    op.create_index("ix_webhook_delivery_due", "webhook_delivery", ["status", "next_try_at"])


def downgrade() -> None:
    op.drop_table("webhook_delivery")
    op.drop_table("webhook")
    op.drop_table("rate_window")
    op.drop_table("api_key")
