"""What the version after 0.1.0 no longer has."""

import sqlalchemy as sa
from alembic import op

from app.platform.store.queries import DOCUMENT

revision = "0024"
down_revision = "0023"


def upgrade() -> None:
    forget_erasures()
    drop_queue()
    forget_older_programs()


def forget_erasures() -> None:
    """Take the exception for erased names from the guard of the audit log, and their event from webhooks."""
    connection = op.get_bind()
    if connection.dialect.name == "postgresql":
        op.execute(
            "CREATE OR REPLACE FUNCTION audit_event_kept() RETURNS trigger LANGUAGE plpgsql AS "
            "$$ BEGIN RAISE EXCEPTION 'the audit trail only grows'; END $$"
        )
    webhook = sa.table("webhook", sa.column("id"), sa.column("events", DOCUMENT))
    for identifier, events in connection.execute(sa.select(webhook.c.id, webhook.c.events)).all():
        told = [event for event in events if event != "proposal.erased"]
        if told != events:
            connection.execute(sa.update(webhook).where(webhook.c.id == identifier).values(events=told))


def drop_queue() -> None:
    """Drop the tables that the job queue of before made on PostgreSQL itself."""
    for table in sa.inspect(op.get_bind()).get_table_names():
        if table.startswith("rackline_queue"):
            op.drop_table(table)


def forget_older_programs() -> None:
    """Drop what told programs of before since which revision they work with the tables."""
    columns = sa.inspect(op.get_bind()).get_columns("alembic_version")
    if "works_from" in {column["name"] for column in columns}:
        op.drop_column("alembic_version", "works_from")
