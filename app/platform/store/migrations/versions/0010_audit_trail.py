"""The audit trail, whose rows the database refuses to change or drop; accounts at a sign-in provider."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

from app.platform.store.queries import UtcDateTime

revision = "0010"

down_revision = "0009"

DOCUMENT = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")

REFUSAL = "the audit trail only grows"

SQLITE = [
    f"CREATE TRIGGER audit_event_{verb.lower()} BEFORE {verb} ON audit_event "
    f"BEGIN SELECT RAISE(ABORT, '{REFUSAL}'); END"
    for verb in ("UPDATE", "DELETE")
]

POSTGRESQL = [
    f"CREATE FUNCTION audit_event_kept() RETURNS trigger LANGUAGE plpgsql AS "
    f"$$ BEGIN RAISE EXCEPTION '{REFUSAL}'; END $$",
    "CREATE TRIGGER audit_event_kept BEFORE UPDATE OR DELETE ON audit_event "
    "FOR EACH ROW EXECUTE FUNCTION audit_event_kept()",
    "CREATE TRIGGER audit_event_whole BEFORE TRUNCATE ON audit_event "
    "FOR EACH STATEMENT EXECUTE FUNCTION audit_event_kept()",
]


def upgrade() -> None:
    op.create_table(
        "audit_event",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("workspace_id", sa.String(length=40), nullable=False),
        sa.Column("at", UtcDateTime(), nullable=False),
        sa.Column("action", sa.String(length=60), nullable=False),
        sa.Column("actor_kind", sa.String(length=20), nullable=False),
        sa.Column("actor_id", sa.String(length=80), nullable=False),
        sa.Column("actor_name", sa.String(length=200), nullable=False),
        sa.Column("object_kind", sa.String(length=40), nullable=False),
        sa.Column("object_id", sa.String(length=80), nullable=False),
        sa.Column("address", sa.String(length=64), nullable=False),
        sa.Column("request_id", sa.String(length=64), nullable=False),
        sa.Column("detail", DOCUMENT, nullable=False),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspace.id"]),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_audit_event_listing", "audit_event", ["workspace_id", "at", "id"])
    op.create_table(
        "external_identity",
        sa.Column("issuer", sa.String(length=500), nullable=False),
        sa.Column("subject", sa.String(length=255), nullable=False),
        sa.Column("account_id", sa.String(length=40), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(["account_id"], ["account.id"]),
        sa.PrimaryKeyConstraint("issuer", "subject"),
    )
    op.create_index("ix_external_identity_account_id", "external_identity", ["account_id"])
    for statement in SQLITE if op.get_bind().dialect.name == "sqlite" else POSTGRESQL:
        op.execute(statement)


def downgrade() -> None:
    op.drop_index("ix_external_identity_account_id", "external_identity")
    op.drop_table("external_identity")
    op.drop_table("audit_event")
    if op.get_bind().dialect.name == "postgresql":
        op.execute("DROP FUNCTION audit_event_kept()")
