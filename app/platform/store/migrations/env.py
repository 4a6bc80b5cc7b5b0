"""How Alembic runs: on the connection that :mod:`app.platform.store.migrate` hands over."""

from alembic import context
from sqlmodel import SQLModel

import app.platform.store.account_tables
import app.platform.store.tables  # noqa: F401 - declare the tables
from app.platform.store.migrate import WORDS

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=SQLModel.metadata,
    render_as_batch=True,
    # Neither is the name of its index declared.
    include_name=lambda name, kind, parents: not str(name).startswith((WORDS, f"ix_{WORDS}")),
)

with context.begin_transaction():
    context.run_migrations()
