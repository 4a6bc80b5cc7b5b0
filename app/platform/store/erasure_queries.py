"""Erasing a name: every text and document of a workspace is looked through, the audit trail included."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa
from sqlmodel import Session, SQLModel, col
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

IDENTIFYING = frozenset(
    {"basis", "bound", "cheapest", "chip", "chips", "code", "coordinates", "direction", "events", "fabric"}
    | {"fastest", "field", "fields", "figure", "group", "input", "item", "metric", "number", "operator"}
    | {"option", "over", "parameter", "part", "precision", "precision_used", "prefix", "prior", "profile"}
    | {"prior_software", "reasons", "regimes", "searched", "target", "tariff_tier", "type", "use"}
    | {"warnings", "catalog_version", "engine_version"}
)
"""Fields of documents that hold identifiers, codes and paths of fields."""

IDENTIFIER = re.compile(r"[a-z0-9]+(?:[._@:-][a-z0-9]+)+")

COUNT = re.compile(r"-x\d+$")

STRUCTURED = re.compile(r"[+-]?\d[\d.]*(?:e[+-]?\d+)?|[a-z]{3}[_-][a-z2-7]{16}")
"""Numbers and our own identifiers: nobody has written them as a name."""

DATE = re.compile(r"\d{4}-\d{2}-\d{2}(?:t\d{2}:[\d:.]+)?")
"""A day or moment in folded text, of which no part is a name."""

ERASURE_LOCK = 7239543
"""Number of the lock on PostgreSQL between who erases a name and those who write in the same workspace."""

PATIENCE = 30_000
"""How long an erasure waits for who is writing on PostgreSQL. [ms]"""

READ = 200
"""Rows read at once; a document may take a hundred kilobytes."""

MESSAGE = "body"
"""Column of text that holds a document: the message of a webhook."""


def folded(text: str) -> str:
    """Return a text as names are compared: composed, and without case."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())


def pattern_of(name: str) -> re.Pattern[str]:
    """Return what finds a name in folded text, whatever its spaces; not inside of Latin words."""
    words = r"\s+".join(re.escape(word) for word in folded(name).split())
    return re.compile(rf"(?<![a-z0-9]){words}(?![a-z0-9])")


def erased_from(text: str, pattern: re.Pattern[str], replacement: str) -> str:
    """Return a text with something in the place of a name, whatever its case, spaces and composition.

    >>> erased_from("For CUSTOMER  a; Customer AB; 서울 Customer A은", pattern_of("Customer A"), "…")
    'For …; Customer AB; 서울 …은'
    >>> erased_from("Since 2026-11-28: 2026 GmbH", pattern_of("2026"), "…")
    'Since 2026-11-28: … GmbH'
    """
    if pattern.search(folded(text)) is None:
        return text
    # Letters fold and compose by themselves, together with the marks behind them.
    starts = [place for place, letter in enumerate(text) if not (place and continues(letter))]
    spans = list(zip(starts, [*starts[1:], len(text)], strict=True))
    parts = [folded(text[start:end]) for start, end in spans]
    origin = [span for span, part in zip(spans, parts, strict=True) for _ in part]
    plain = "".join(parts)
    dates = [date.span() for date in DATE.finditer(plain)]
    kept, behind = [], 0
    for start, end in (match.span() for match in pattern.finditer(plain)):
        if not any(first <= start and end <= last and end - start < last - first for first, last in dates):
            kept += [text[behind : origin[start][0]], replacement]
            behind = origin[end - 1][1]
    return "".join([*kept, text[behind:]])


def continues(letter: str) -> bool:
    """Tell whether a letter may compose with the one before: a mark, or a vowel or final of Hangul."""
    return unicodedata.category(letter).startswith("M") or "\u1160" <= letter <= "\u11ff"


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
    if isinstance(value, str) and (field in FREE or not is_fixed(value, field)):
        return erase(value, field in FREE)
    return value


def is_fixed(value: str, field: str) -> bool:
    """Tell whether a text that nobody has written freely is a number or an identifier."""
    identifies = field in IDENTIFYING or field.endswith("_id")
    return bool(STRUCTURED.fullmatch(value) or (identifies and IDENTIFIER.fullmatch(value)))


def hold(session: Session, lock: Callable[..., sa.ColumnElement[Any]], workspace_id: str) -> None:
    """Hold the lock of a workspace until the transaction ends; SQLite has one writer at a time."""
    connection = session.connection()
    if connection.dialect.name != "sqlite":
        connection.execute(sa.select(lock(ERASURE_LOCK, sa.func.hashtext(workspace_id))))


def hold_off_erasing(session: Session, workspace_id: str) -> None:
    """Let this transaction go on only while no name is erased, and none be erased until it ends."""
    if not session.info.get(HELD):
        hold(session, sa.func.pg_advisory_xact_lock_shared, workspace_id)
        session.info[HELD] = True


HELD = "erasing_held_off"


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
            self._shut_out_writers()
            self._take_back_jobs()
        pattern = pattern_of(name)

        def erased(text: str, of_people: bool) -> str:
            # So many of a system, as sizings name it, mean no less than the system.
            if not of_people and (text in words or COUNT.sub("", text) in words):
                return text
            return erased_from(text, pattern, replacement)

        found: dict[str, list[str]] = {}
        with self._open_trail(dry_run):
            for table in SQLModel.metadata.sorted_tables:
                if "workspace_id" in table.c:
                    found[table.name] = self._erase_in(table, name, erased, dry_run)
        return {kind: rows for kind, rows in sorted(found.items()) if rows}

    def _shut_out_writers(self) -> None:
        """Let nobody write in the workspace until the transaction ends, however long that takes."""
        connection = self._session.connection()
        if connection.dialect.name != "sqlite":
            # Not by the session, which would hold the lock as a writer first: two would wait in a circle.
            connection.exec_driver_sql(f"SET LOCAL lock_timeout = {PATIENCE}")
            connection.exec_driver_sql("SET LOCAL statement_timeout = 0")
        hold(self._session, sa.func.pg_advisory_xact_lock, self._workspace_id)

    def _take_back_jobs(self) -> None:
        """Take running jobs from whoever does them: they work on what was read before, and begin anew.

        Those that wait are held as well, so that nobody begins one meanwhile.
        """
        fresh = {"status": "queued", "runner": None, "fence": JobRecord.fence + 1}
        self.update_rows(JobRecord, fresh, col(JobRecord.status).in_(("queued", "running")))

    def _erase_in(self, table: sa.Table, name: str, erase: Erase, dry_run: bool) -> list[str]:
        columns = [column for column in table.c if may_name(column)]
        if not columns:
            return []
        connection = self._session.connection()
        keys = list(table.primary_key.columns)
        mine = table.c.workspace_id == self._workspace_id
        keyed = table.name == KEYED
        searched = columns + keys if keyed else columns
        sqlite = connection.dialect.name == "sqlite"
        told = sa.or_(*(tells_of(column, name, sqlite) for column in searched))
        changed: list[str] = []
        for row in self._batches(sa.select(*keys, *columns).where(mine, told), keys):
            if keyed and erase(row.key, True) != row.key:
                # A key that was given cannot change; without its row, it is free again.
                changed.append(str(row[0]))
                if not dry_run:
                    named = (key == value for key, value in zip(keys, row, strict=False))
                    connection.execute(sa.delete(table).where(*named))
                continue
            before = dict(zip([column.name for column in columns], row[len(keys) :], strict=True))
            after = {column: column_without(value, erase, column) for column, value in before.items()}
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

    def _batches(self, query: Any, keys: list[sa.Column[Any]]) -> Iterator[sa.Row[Any]]:
        """Return what a query finds in the order of its keys, so many rows at once."""
        ordered = query.order_by(*keys).limit(READ)
        rows = self._session.connection().execute(ordered).all()
        while rows:
            yield from rows
            behind = sa.tuple_(*keys) > sa.tuple_(*rows[-1][: len(keys)])
            rows = self._session.connection().execute(ordered.where(behind)).all()

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


KEYED = "idempotency_key"
"""Table whose keys callers choose, and may name a customer in."""

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
    # Others go on writing their trails meanwhile.
    "postgresql": (("SET LOCAL rackline.erasing = on",), ("SET LOCAL rackline.erasing = off",)),
}
"""What takes the guard of the trail away and puts it back, by database."""


def column_without(value: Any, erase: Erase, column: str) -> Any:
    """Return the value of a column with a name erased."""
    if isinstance(value, str) and column == MESSAGE:
        # Written as messages are when they are made.
        return json.dumps(without(json.loads(value), erase), ensure_ascii=False, separators=(",", ":"))
    return without(value, erase, FREE_TEXT if isinstance(value, str) else column)


def may_name(column: sa.Column[Any]) -> bool:
    """Tell whether a column may hold a customer's name."""
    if column.name in KEPT or column.primary_key or column.name.endswith(("_id", "sha256")):
        return False
    if column.name == "sought" and "email" in column.table.c:
        # The address as it is looked up is that which is kept.
        return False
    if isinstance(column.type, sa.JSON):
        return True
    length = limit(column)
    return isinstance(column.type, AutoString | sa.String) and (length is None or length >= LEAST_LETTERS)


def limit(column: sa.Column[Any]) -> int | None:
    """Return the most letters that a column of text takes."""
    length: int | None = getattr(column.type, "length", None)
    return length


def tells_of(column: sa.Column[Any], name: str, sqlite: bool) -> sa.ColumnElement[bool]:
    """Return the condition that a column may hold a name, however it is spelled.

    The longest run of letters is looked for that only rare letters fold to as well, and those letters.
    A name without such a run may be anywhere.
    """
    runs = RUN.findall(folded(name))
    if not runs:
        return sa.true()
    run, text = max(runs, key=len), sa.cast(column, sa.Text)
    # SQLite keeps documents in ASCII.
    escaped = sqlite and isinstance(column.type, sa.JSON)
    found = sa.func.lower(text).contains(json.dumps(run)[1:-1] if escaped else run)
    return sa.or_(found, text.regexp_match(RARE_ESCAPED if escaped else RARE))


RUN = re.compile(r"[a-z0-9]{2,}|[가-힣]{2,}|[一-鿿]{2,}")
"""Letters that databases find: of those with cases they know ASCII alone."""

RARE = "[ßİŉſẚẞ\u1100-\u11ff\u212a\uf900-\ufad9\ufb00-\ufb06\U0002f800-\U0002fa1c]"
"""Other letters that fold to those, the Kelvin sign and ligatures too: Hangul may be written in parts, and
Chinese letters in their compatible forms."""

RARE_ESCAPED = r"\\u(?:00df|0130|0149|017f|1e9[ae]|11[0-9a-f]{2}|212a|f[9a][0-9a-f]{2}|fb0[0-6]|d87e)"
