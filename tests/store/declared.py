"""Tables as they are against their declaration."""

from alembic import command
from sqlalchemy import Engine

from app.platform.store.migrate import configuration


def compare_with_declaration(engine: Engine) -> None:
    with engine.begin() as connection:
        config = configuration()
        config.attributes["connection"] = connection
        command.check(config)
