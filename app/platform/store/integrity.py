"""Whether a database is whole, as far as it can tell of itself, and the queries of what was frozen."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Engine
from sqlmodel import col

from app.platform.store.migrate import is_current, without_limits
from app.platform.store.tables import ProposalArtifact, ProposalRecord
from app.platform.store.types import Queries

Said = tuple[str, dict[str, object]]

MOST = 20
"""Faults of one kind that are told."""


def database_faults(engine: Engine) -> Iterator[Said]:
    """Return what is wrong with the tables: pages, indexes and references."""
    with engine.connect() as connection:
        without_limits(connection)
        if not is_current(connection):
            yield ("the database tables do not match this version of Rackline; start the server once"), {}
            return
        if connection.dialect.name == "sqlite":
            yield from sqlite_faults(connection)
        else:
            yield from broken_references(connection)


def sqlite_faults(connection: sa.Connection) -> Iterator[Said]:
    """Return what SQLite's own checks find."""
    for (said,) in connection.exec_driver_sql(f"PRAGMA integrity_check({MOST})"):
        if said != "ok":
            yield "SQLite finds fault with its file: {said}", {"said": str(said)}
    for number, (table, row, parent, _) in enumerate(connection.exec_driver_sql("PRAGMA foreign_key_check")):
        if number < MOST:
            values = {"table": table, "row": str(row), "parent": parent}
            yield "row {row} of {table} refers to a row of {parent} that is not there", values


def broken_references(connection: sa.Connection) -> Iterator[Said]:
    """Return references that lead nowhere; each reads a table and so finds pages that cannot be read."""
    metadata = sa.MetaData()
    metadata.reflect(connection)
    for table in metadata.sorted_tables:
        for key in table.foreign_key_constraints:
            parent = key.referred_table.alias()
            pairs = [(element.parent, parent.c[element.column.name]) for element in key.elements]
            joined = sa.and_(*(own == other for own, other in pairs))
            stated = [own.is_not(None) for own, _ in pairs]
            query = sa.select(sa.func.count()).select_from(table.outerjoin(parent, joined))
            count = connection.scalar(query.where(pairs[0][1].is_(None), *stated))
            if count:
                values: dict[str, Any] = {
                    "count": count,
                    "table": table.name,
                    "parent": key.referred_table.name,
                }
                yield "{count} rows of {table} refer to rows of {parent} that are not there", values


class IntegrityQueries(Queries):
    """The queries of what was frozen in one workspace."""

    def frozen(self) -> list[str]:
        """Return the identifiers of frozen proposals."""
        query = sa.select(col(ProposalRecord.id)).where(
            col(ProposalRecord.workspace_id) == self._workspace_id, col(ProposalRecord.frozen_at).is_not(None)
        )
        return list(self._session.connection().scalars(query))

    def artifacts(self, proposal_id: str) -> list[tuple[str, str, bytes]]:
        """Return kind, SHA-256 and content of the files of a proposal."""
        query = sa.select(
            col(ProposalArtifact.kind), col(ProposalArtifact.sha256), col(ProposalArtifact.data)
        ).where(
            col(ProposalArtifact.workspace_id) == self._workspace_id,
            col(ProposalArtifact.proposal_id) == proposal_id,
        )
        return [(kind, sha256, data) for kind, sha256, data in self._session.connection().execute(query)]
