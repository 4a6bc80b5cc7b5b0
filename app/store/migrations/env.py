"""How Alembic runs: on the connection that :mod:`app.store.migrate` hands over."""

from alembic import context
from sqlmodel import SQLModel

import app.store.external_queries
import app.store.identity_tables
import app.store.integration_tables
import app.store.tables  # noqa: F401 - declare the tables

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=SQLModel.metadata,
    render_as_batch=True,
)
with context.begin_transaction():
    context.run_migrations()
