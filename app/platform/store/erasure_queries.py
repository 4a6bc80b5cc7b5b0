"""Erasing a name: every text and document of a workspace is looked through, the audit trail included."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa
from sqlmodel import SQLModel, col
from sqlmodel.sql.sqltypes import AutoString

from app.platform.store.queries import Queries
from app.platform.store.tables import (
    AuditEvent,
    JobRecord,
    Profile,
    ProposalRecord,
    StudyRecord,
    WorkloadSample,
    Workspace,
)

ERASED = "customer.erased"
"""What the trail calls an erasure."""

TRAIL = "audit_event"

LEAST_LETTERS = 80
"""Columns of fewer letters hold codes, numbers and hashes, no names."""

KEPT = frozenset(
    {"id", "url", "email", "key", "endpoint", "actor_id", "object_id", "actor_name", "runner"}
    | {"sealed_secret", "previous_sealed", "passphrase_hash", "samples", "agent", "user_agent"}
)
"""Columns and fields that hold no name of a customer, or must not change."""

FIXED = KEPT | {
    *("template", "preset", "profile_id", "workload_id", "system", "software", "sha256", "data"),
    *("kind", "family", "unit", "currency"),
}
"""Fields of documents that are left as they are: identifiers, codes, templates of sentences, files."""

FREE = frozenset(
    {"customer", "name", "title", "label", "notes", "comment", "reason", "footer", "tags", "note"}
)
"""Fields of documents that people write."""

IDENTIFIER = re.compile(r"[a-z0-9]+(?:[._@:-][a-z0-9]+)+")


def pattern_of(name: str) -> re.Pattern[str]:
    """Return what finds a name, whatever its case and spaces; not inside of Latin words.

    >>> pattern_of("Customer A").sub("…", "For CUSTOMER  a; Customer AB; 서울 Customer A은")
    'For …; Customer AB; 서울 …은'
    """
    words = r"\s+".join(re.escape(word) for word in name.split())
    return re.compile(rf"(?<![A-Za-z0-9]){words}(?![A-Za-z0-9])", re.IGNORECASE)


Erase = Callable[[str, bool], str]
"""Return a text without a name; told whether people have written it."""


def without(value: Any, erase: Erase, field: str = "") -> Any:
    """Return a JSON value with a name erased from its texts."""
    if isinstance(value, dict):
        return {
            name: part if name in FIXED and not isinstance(part, dict | list) else without(part, erase, name)
            for name, part in value.items()
        }
    if isinstance(value, list):
        return [without(part, erase, field) for part in value]
    if isinstance(value, str) and (field in FREE or not IDENTIFIER.fullmatch(value)):
        return erase(value, field in FREE)
    return value


class ErasureQueries(Queries):
    """Every text of a workspace."""

    def count(self) -> int:
        """Return how many names were erased, as the index of actions knows without a row."""
        return self.count_rows(AuditEvent, action=ERASED)

    def customers(self) -> list[str]:
        """Return the names of customers that studies, proposals and uploads state."""
        tables = (StudyRecord, ProposalRecord, Profile, WorkloadSample)
        return sorted({name for table in tables for name in self.values(table, table.customer) if name})

    def erase(
        self, name: str, replacement: str, *, dry_run: bool, words: Collection[str] = ()
    ) -> dict[str, list[str]]:
        """Put something in the place of a name wherever it stands; return the keys of the rows by table.

        ``dry_run`` only finds them. Words by which documents say what they mean stay where nobody has written
        them: a customer may be called as an optimizer is.
        """
        self._session.flush()
        if not dry_run:
            self._take_back_jobs()
        pattern = pattern_of(name)

        def erased(text: str, of_people: bool) -> str:
            if not of_people and text in words:
                return text
            # As it is: in a template a backslash would mean something.
            return pattern.sub(lambda _: replacement, text)

        found: dict[str, list[str]] = {}
        with self._open_trail(dry_run):
            for table in SQLModel.metadata.sorted_tables:
                if "workspace_id" in table.c:
                    found[table.name] = self._erase_in(table, name, erased, dry_run)
        return {kind: rows for kind, rows in sorted(found.items()) if rows}

    def _take_back_jobs(self) -> None:
        """Take running jobs from whoever does them: they work on what was read before, and begin anew.

        What they keep at the same moment is there before anything is looked through.
        """
        fresh = {"status": "queued", "runner": None, "fence": JobRecord.fence + 1}
        self.update_rows(JobRecord, fresh, status="running")

    def _erase_in(self, table: sa.Table, name: str, erase: Erase, dry_run: bool) -> list[str]:
        columns = [column for column in table.c if may_name(column)]
        if not columns:
            return []
        connection = self._session.connection()
        keys = list(table.primary_key.columns)
        mine = table.c.workspace_id == self._workspace_id
        rows = connection.execute(
            sa.select(*keys, *columns).where(mine, sa.or_(*(tells_of(column, name) for column in columns)))
        ).all()
        changed: list[str] = []
        for row in rows:
            before = dict(zip([column.name for column in columns], row[len(keys) :], strict=True))
            after = {
                column: without(value, erase, FREE_TEXT if isinstance(value, str) else column)
                for column, value in before.items()
            }
            values = {
                table.c[column]: value[: limit(table.c[column])] if isinstance(value, str) else value
                for column, value in after.items()
                if value != before[column]
            }
            if values:
                changed.append(str(row[0]))
                if not dry_run:
                    row_key = (key == value for key, value in zip(keys, row, strict=False))
                    connection.execute(sa.update(table).where(mine, *row_key).values(values))
        return changed

    @contextmanager
    def _open_trail(self, dry_run: bool) -> Iterator[None]:
        """Let events of the trail be changed, within this transaction and nowhere else."""
        connection = self._session.connection()
        # SQLite's driver begins a transaction with the first change of a row: what follows is taken back
        # with it.
        this = col(Workspace.id) == self._workspace_id
        connection.execute(sa.update(Workspace).where(this).values(name=Workspace.name))
        opening, closing = GUARDS[connection.dialect.name]
        for statement in () if dry_run else opening:
            connection.exec_driver_sql(statement)
        yield
        for statement in () if dry_run else closing:
            connection.exec_driver_sql(statement)


FREE_TEXT = "name"
"""Field as which a column of text counts: people write it."""

GUARDS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "sqlite": (
        (f"DROP TRIGGER {TRAIL}_update",),
        (
            f"CREATE TRIGGER {TRAIL}_update BEFORE UPDATE ON {TRAIL} "
            "BEGIN SELECT RAISE(ABORT, 'the audit trail only grows'); END",
        ),
    ),
    "postgresql": (
        (f"ALTER TABLE {TRAIL} DISABLE TRIGGER {TRAIL}_kept",),
        (f"ALTER TABLE {TRAIL} ENABLE TRIGGER {TRAIL}_kept",),
    ),
}
"""What takes the guard of the trail away and puts it back, by database."""


def may_name(column: sa.Column[Any]) -> bool:
    """Tell whether a column may hold a customer's name."""
    if column.name in KEPT or column.primary_key or column.name.endswith(("_id", "sha256")):
        return False
    if isinstance(column.type, sa.JSON):
        return True
    length = limit(column)
    return isinstance(column.type, AutoString | sa.String) and (length is None or length >= LEAST_LETTERS)


def limit(column: sa.Column[Any]) -> int | None:
    """Return the most letters that a column of text takes."""
    length: int | None = getattr(column.type, "length", None)
    return length


def tells_of(column: sa.Column[Any], name: str) -> sa.ColumnElement[bool]:
    """Return the condition that a column may hold the first word of a name, as text or as escaped in JSON."""
    word = name.split()[0]
    text = sa.func.lower(sa.cast(column, sa.Text))
    spelled = {
        word.lower(),
        *(json.dumps(spelling)[1:-1].lower() for spelling in (word, word.lower(), word.upper())),
    }
    return sa.or_(*(text.contains(spelling, autoescape=True, escape="\\") for spelling in sorted(spelled)))
