"""PostgreSQL guards the trail without being told to look away by a change of the table, which locks it."""

from alembic import op

revision = "0023"
down_revision = "0022"

REFUSE = "RAISE EXCEPTION 'the audit trail only grows';"

ERASING = "IF TG_OP = 'UPDATE' AND current_setting('rackline.erasing', true) = 'on' THEN RETURN NEW; END IF;"


def upgrade() -> None:
    guard(f"{ERASING} {REFUSE}")


def downgrade() -> None:
    guard(REFUSE)


def guard(body: str) -> None:
    if op.get_bind().dialect.name == "postgresql":
        op.execute(
            "CREATE OR REPLACE FUNCTION audit_event_kept() RETURNS trigger LANGUAGE plpgsql AS "
            f"$$ BEGIN {body} END $$"
        )
