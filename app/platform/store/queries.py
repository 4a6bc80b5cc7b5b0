"""The statements that every query is made of; those of a workspace are bound to it here, in one place."""

from __future__ import annotations

import base64
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, Generic, Literal, NamedTuple, TypeVar

import sqlalchemy as sa
from sqlalchemy import JSON, DateTime, Dialect
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.exc import IntegrityError
from sqlalchemy.types import TypeDecorator
from sqlmodel import Session, SQLModel, col, select, tuple_
from sqlmodel.sql.expression import SelectOfScalar

CHANGED_COLUMNS = "columns"
"""Execution option of a statement that changes rows: the columns it sets."""
DOCUMENT = JSON().with_variant(JSONB(), "postgresql")
"""A JSON document."""


class UtcDateTime(TypeDecorator[datetime]):
    """A moment in UTC; SQLite gives back naive ones, which this makes aware again.

    To store a naive one is refused: its meaning depends on the machine.
    """

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("moments are stored with their time zone")
        return value.astimezone(UTC)

    def process_result_value(self, value: Any | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        moment: datetime = value
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


class Clock:
    """What time it is; another one can be put in its place to see what a clock that is moved does."""

    def __init__(self) -> None:
        self.read: Callable[[], datetime] = partial(datetime.now, UTC)


CLOCK = Clock()


def now() -> datetime:
    return CLOCK.read()


def new_id(prefix: str) -> str:
    """Return a readable random identifier: ``est_`` and 16 letters and digits (80 bits)."""
    return f"{prefix}_{base64.b32encode(secrets.token_bytes(10)).decode().lower()}"


Row = TypeVar("Row", bound=SQLModel)

Item = TypeVar("Item")


ListOrder = Literal["newest", "oldest", "updated"]
"""Order of a list: by creation, newest or oldest first, or by the last change, newest first."""


@dataclass(frozen=True, slots=True)
class ListFilter:
    """Which rows of a list are meant, and in which order; what is empty narrows nothing."""

    search: str = ""
    """Words of the name or the customer's."""
    since: datetime | None = None
    """Created or changed at this moment or later."""
    order: ListOrder = "newest"
    customer: str = ""
    model: str = ""
    """Identifier of a preset or an uploaded model."""


EVERYTHING = ListFilter()

NAME_COLUMNS = ("sought", "name", "title", "label")
"""Columns by which rows are searched: the first that a table has, and the customer's name."""


def chosen(table: Any, wanted: ListFilter) -> list[Any]:
    """Return the criteria of the rows that are meant, of columns that their table has."""
    criteria = containing(table, wanted.search)
    if wanted.since is not None:
        criteria.append(col(getattr(table, moment_of(table, "updated"))) >= wanted.since)
    if wanted.customer:
        criteria.append(col(table.customer) == wanted.customer)
    if wanted.model:
        criteria.append(col(table.model) == wanted.model)
    return criteria


def containing(table: Any, search: str) -> list[Any]:
    """Return the criteria of rows whose name, or customer, contains every word."""
    names = [name for name in NAME_COLUMNS if name in table.model_fields][:1]
    columns = [getattr(table, name) for name in (*names, "customer") if names and name in table.model_fields]
    return [sa.or_(*(contains(column, word) for column in columns)) for word in search.split() if columns]


def contains(column: Any, word: str) -> Any:
    """Return the condition that a text contains a word, whatever the case."""
    return sa.func.lower(col(column)).contains(word.lower(), autoescape=True, escape="\\")


SCANNED = 5_000
"""Rows of a table with an index of words that are looked through before: common words are found by then."""

WORDED = "estimate"
"""Table with an index of the words of its labels."""

WITH_WORDS = {
    "sqlite": "estimate.rowid IN (SELECT rowid FROM estimate_words WHERE estimate_words MATCH :words)",
    "postgresql": "estimate_pairs(estimate.label) @> CAST(:words AS text[])",
}
"""The condition that a label has all of some pairs of letters."""

OF_MODEL = "ARRAY[CAST(estimate.model AS text)] @> ARRAY[CAST(:model AS text)]"
"""The condition that an estimate is of a model, as the index of words on PostgreSQL knows it."""


def indexed(wanted: ListFilter, dialect: str) -> list[Any]:
    """Return the conditions of the index of words: the model, and all pairs of letters of one word.

    It is the word that is likely the rarest: those with digits or of other scripts are rarer than words of
    letters, long ones rarer than short ones.
    """
    words = wanted.search.lower().split()
    word = max(words, key=lambda word_: (not (word_.isascii() and word_.isalpha()), len(word_)))
    pairs = sorted({word[start : start + 2] for start in range(max(len(word) - 1, 1))})
    with_words = sa.text(WITH_WORDS[dialect])
    if dialect == "sqlite":
        model = f"m{wanted.model.encode().hex()} AND " if wanted.model else ""
        return [with_words.bindparams(words=model + " AND ".join(pair.encode().hex() for pair in pairs))]
    of_model = [sa.text(OF_MODEL).bindparams(model=wanted.model)] if wanted.model else []
    return [with_words.bindparams(words=pairs), *of_model]


def moment_of(table: Any, order: ListOrder) -> str:
    """Return the column that a list is ordered by; what never changes was changed when it was made."""
    return "updated_at" if order == "updated" and "updated_at" in table.model_fields else "created_at"


class After(NamedTuple):
    """Where a listing goes on: behind the row made at this moment with this identifier."""

    created_at: datetime
    id: str


@dataclass(frozen=True, slots=True)
class Listing(Generic[Item]):
    """A stretch of rows, newest first, and where the next one begins."""

    rows: Sequence[Item]
    next: After | None


class Statements:
    """Statements of one transaction, by the columns that their rows must have: ``name=value``.

    A value of None is that of an empty column; other criteria are given as expressions.
    """

    def __init__(self, session: Session) -> None:
        self._session = session

    def criteria(self, table: type[SQLModel], *criteria: Any, **equal: Any) -> list[Any]:
        return [*criteria, *(getattr(table, name) == value for name, value in equal.items())]

    def first(self, table: type[Row], *criteria: Any, order: Sequence[Any] = (), **equal: Any) -> Row | None:
        return self._session.exec(self._query(table, criteria, order, equal)).first()

    def every(
        self,
        table: type[Row],
        *criteria: Any,
        order: Sequence[Any] = (),
        limit: int | None = None,
        **equal: Any,
    ) -> Sequence[Row]:
        return self._session.exec(self._query(table, criteria, order, equal).limit(limit)).all()

    def _query(
        self, table: type[Row], criteria: Sequence[Any], order: Sequence[Any], equal: Mapping[str, Any]
    ) -> SelectOfScalar[Row]:
        return select(table).where(*self.criteria(table, *criteria, **equal)).order_by(*order)

    def values(self, table: type[SQLModel], column: Any, *criteria: Any, **equal: Any) -> list[Any]:
        """Return one column of rows, or what it comes to."""
        query = sa.select(column).where(*self.criteria(table, *criteria, **equal))
        return list(self._session.scalars(query))

    def count_rows(self, table: type[SQLModel], *criteria: Any, **equal: Any) -> int:
        query = sa.select(sa.func.count()).select_from(table)
        return int(self._session.scalar(query.where(*self.criteria(table, *criteria, **equal))) or 0)

    def exists(self, table: type[SQLModel], *criteria: Any, **equal: Any) -> bool:
        query = sa.select(sa.literal(1)).select_from(table).where(*self.criteria(table, *criteria, **equal))
        return self._session.execute(query.limit(1)).first() is not None

    def update_rows(
        self, table: type[SQLModel], values: Mapping[str, Any], *criteria: Any, **equal: Any
    ) -> int:
        """Change rows and return how many; a value may be an expression of what they held before."""
        statement = sa.update(table).where(*self.criteria(table, *criteria, **equal)).values(**values)
        result = self._session.execute(statement, execution_options={CHANGED_COLUMNS: tuple(values)})
        return int(result.rowcount)  # type: ignore[attr-defined]

    def delete_rows(self, table: type[SQLModel], *criteria: Any, **equal: Any) -> int:
        statement = sa.delete(table).where(*self.criteria(table, *criteria, **equal))
        return int(self._session.execute(statement).rowcount)  # type: ignore[attr-defined]

    def keep(self, row: SQLModel) -> None:
        """Keep a new row, which others may refer to from now on."""
        self._session.add(row)
        self._session.flush()

    def is_first(self, row: SQLModel) -> bool:
        """Keep a new row; tell whether there was none like it, not even since a moment ago.

        Where there was one, the transaction can only be rolled back.
        """
        try:
            self.keep(row)
        except IntegrityError:
            return False
        return True

    def insert(self, table: type[SQLModel]) -> Any:
        """Return an insertion that knows ON CONFLICT, which each database writes in its own dialect."""
        dialect = self._session.get_bind().dialect.name
        return (sqlite if dialect == "sqlite" else postgresql).insert(table)


class Queries(Statements):
    """Statements of one transaction about the rows of one workspace, and no others."""

    def __init__(self, session: Session, workspace_id: str) -> None:
        super().__init__(session)
        self._workspace_id = workspace_id

    def criteria(self, table: type[SQLModel], *criteria: Any, **equal: Any) -> list[Any]:
        return super().criteria(table, *criteria, workspace_id=self._workspace_id, **equal)

    def _add(self, *rows: Any) -> None:
        for row in rows:
            row.workspace_id = self._workspace_id
            self._session.add(row)

    def stretch(
        self,
        query: Any,
        table: Any,
        limit: int,
        after: tuple[datetime, str] | None,
        moment: str = "",
        wanted: ListFilter = EVERYTHING,
    ) -> tuple[Any, After | None]:
        """Return a stretch of what a query finds in its order, and behind which the next one begins."""
        moment = moment or moment_of(table, wanted.order)
        at = col(getattr(table, moment))
        row_key, oldest = tuple_(at, col(table.id)), wanted.order == "oldest"
        behind = [] if after is None else [row_key > tuple_(*after) if oldest else row_key < tuple_(*after)]
        rest = self.criteria(table, *chosen(table, replace(wanted, search="")), *behind)

        def in_order(base: Any, at: Any = at) -> Any:
            ends = (at, col(table.id))
            return base.order_by(*(end.asc() if oldest else end.desc() for end in ends))

        words, edge = containing(table, wanted.search), None
        query = query.where(*words).limit(limit + 1)
        walk = in_order(query.where(*rest))
        if words and table.__tablename__ == WORDED:
            edge = self._session.scalar(in_order(sa.select(at).where(*rest)).offset(SCANNED).limit(1))
        if edge is not None:
            # PostgreSQL misjudges how many rows are behind a moment and identifier; the moment alone helps.
            near = [at <= edge if oldest else at >= edge]
            if after is not None:
                near.append(at >= after[0] if oldest else at <= after[0])
            rows = self._session.exec(walk.where(*near)).all()
            if len(rows) > limit:
                walk = None
            else:
                # In an order that no index has: it begins with the words, and sorts what they leave.
                narrowed = indexed(wanted, self._session.get_bind().dialect.name)

                def sought(base: Any) -> Any:
                    return in_order(base.where(*rest, *narrowed), sa.func.coalesce(at, at))

                # Most of what has the pairs of letters has the word: to compare a few is enough then. The
                # label is in no index: SQLite would walk one that has all it needs.
                columns = sa.select(col(table.id), col(table.label))
                likely = [row[0] for row in self._session.execute(sought(columns).limit(2 * limit))]
                few = self.criteria(table, col(table.id).in_(likely))
                rows = self._session.exec(in_order(query.where(*few))).all()
                walk = None if len(rows) > limit or len(likely) < 2 * limit else sought(query)
        if walk is not None:
            rows = self._session.exec(walk).all()
        more, rows = len(rows) > limit, rows[:limit]
        return rows, After(getattr(rows[-1], moment), rows[-1].id) if more else None


MOST_COUNTED = 2**31 - 1
"""Largest number of a version; a database may not even be asked for a larger one."""


def countable(version: int) -> bool:
    """Tell whether a number can be that of a version: others are not looked up."""
    return 0 < version <= MOST_COUNTED
