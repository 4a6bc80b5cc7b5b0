"""How Alembic runs: on the connection that :mod:`app.store.migrate` hands over."""

from alembic import context
from sqlmodel import SQLModel

import app.store.tables  # noqa: F401 - declares the tables

QUEUE = "rackline_queue_"
"""What the names of the job queue's tables begin with; it makes them itself."""

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=SQLModel.metadata,
    render_as_batch=True,
    include_name=lambda name, kind, parents: kind != "table" or not str(name).startswith(QUEUE),
)
with context.begin_transaction():
    context.run_migrations()
