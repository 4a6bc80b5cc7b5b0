"""How Alembic runs: on the connection that :mod:`app.platform.store.migrate` hands over."""

from alembic import context
from sqlmodel import SQLModel

import app.platform.store.account_tables
import app.platform.store.tables  # noqa: F401 - declare the tables
from app.platform.store.migrate import QUEUE_TABLES

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=SQLModel.metadata,
    render_as_batch=True,
    include_name=lambda name, kind, parents: kind != "table" or not str(name).startswith(QUEUE_TABLES),
)

with context.begin_transaction():
    context.run_migrations()
