"""How Alembic runs: on the connection that :mod:`app.store.migrate` hands over."""

from alembic import context
from sqlmodel import SQLModel

import app.store.external_queries
import app.store.identity_tables
import app.store.integration_tables
import app.store.tables  # noqa: F401 - declare the tables
from app.store.migrate import QUEUE_TABLES

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=SQLModel.metadata,
    render_as_batch=True,
    include_name=lambda name, kind, parents: kind != "table" or not str(name).startswith(QUEUE_TABLES),
)
with context.begin_transaction():
    context.run_migrations()
