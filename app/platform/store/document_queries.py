"""Queries of studies, price books, sweeps, and of what lists show of estimates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Literal

import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError
from sqlmodel import Session, SQLModel, col, select

from app.platform.store.queries import EVERYTHING, After, ListFilter, Queries, countable, now
from app.platform.store.tables import (
    AcceleratorRecord,
    AcceleratorVersion,
    BillRow,
    CalibrationRow,
    EstimateRow,
    PriceBookRecord,
    PriceBookVersion,
    Profile,
    ProposalRecord,
    SizingRow,
    StudyRecord,
    StudyStateRecord,
    StudyVersionRecord,
    SweepRecord,
    SweepRowRecord,
    naming_own,
)
from app.platform.store.trail import TrailQueries

ESCAPE = "\\"


def folded(text: str) -> str:
    """Return a text as names are searched.

    >>> folded("BERT-Large  für Seoul")
    'bert-large für seoul'
    """
    return " ".join(text.casefold().split())


def sought(*words: str) -> str:
    """Return what a study is searched by: its name, customer and tags."""
    return folded(" ".join(words))[:600]


@dataclass(frozen=True, slots=True)
class StudyFilter:
    """Which studies are meant."""

    sought: str = ""
    """Part of the name or of the customer's."""
    archived: bool = False
    saved: bool = True


def columns_of(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a study is listed by, from what it states."""
    name, customer = content["name"], content.get("customer", "")
    words = sought(name, customer, *content.get("tags", ()))
    return {"name": name, "customer": customer, "sought": words, "options": len(content["options"])}


NEWEST = sa.and_(
    col(StudyVersionRecord.workspace_id) == col(StudyRecord.workspace_id),
    col(StudyVersionRecord.study_id) == col(StudyRecord.id),
    col(StudyVersionRecord.version) == col(StudyRecord.version),
)
"""The condition that a version is the newest of a study."""

NO_ESTIMATES: Mapping[str, str] = {}


class StudyQueries(Queries):
    """Studies: lists, versions, and edits that cannot overwrite each other unseen."""

    def __init__(self, session: Session, workspace_id: str, kind: Literal["study", "comparison"]) -> None:
        super().__init__(session, workspace_id)
        self._kind = kind

    def criteria(self, table: type[SQLModel], *criteria: Any, **equal: Any) -> list[Any]:
        of_kind = {"kind": self._kind} if table is StudyRecord else {}
        return super().criteria(table, *criteria, **of_kind, **equal)

    def add(
        self,
        identifier: str,
        moment: datetime,
        content: dict[str, Any],
        *,
        saved: bool = True,
        estimates: Mapping[str, str] = NO_ESTIMATES,
    ) -> None:
        columns = {"version": 1, "archived": False, "saved": saved, "kind": self._kind, **columns_of(content)}
        self._add(StudyRecord(id=identifier, created_at=moment, updated_at=moment, **columns))
        self._session.flush()
        self._add_version(identifier, 1, content, [], moment, estimates)

    def find(self, identifier: str) -> StudyRecord | None:
        return self.first(StudyRecord, id=identifier)

    def version(self, identifier: str, version: int) -> StudyVersionRecord | None:
        if not countable(version):
            return None
        return self.first(StudyVersionRecord, study_id=identifier, version=version)

    def versions(self, identifier: str) -> Sequence[StudyVersionRecord]:
        """Return all versions of a study, the newest first."""
        newest_first = [col(StudyVersionRecord.version).desc()]
        return self.every(StudyVersionRecord, order=newest_first, study_id=identifier)

    def add_next(
        self,
        identifier: str,
        expected: int,
        content: dict[str, Any],
        changes: list[dict[str, Any]],
        estimates: Mapping[str, str] = NO_ESTIMATES,
    ) -> bool:
        """Keep the next version; False where another has been kept since the one expected.

        The number is raised in one statement, so that of two who save at once only one succeeds.
        """
        if not countable(expected):
            return False
        moment = now()
        changed = {"version": expected + 1, "updated_at": moment, **columns_of(content)}
        if not self.update_rows(StudyRecord, changed, id=identifier, version=expected, archived=False):
            return False
        self._add_version(identifier, expected + 1, content, changes, moment, estimates)
        return True

    def newest(self, identifiers: Iterable[str]) -> dict[str, tuple[StudyRecord, StudyVersionRecord]]:
        """Return studies with their newest version, by identifier."""
        query = select(StudyRecord, StudyVersionRecord).join(StudyVersionRecord, NEWEST)
        wanted = self.criteria(StudyRecord, col(StudyRecord.id).in_(list(identifiers)))
        return {record.id: (record, version) for record, version in self._session.exec(query.where(*wanted))}

    def forget_before(self, identifier: str, version: int) -> None:
        """Delete the versions of a study that are older."""
        self.delete_rows(StudyVersionRecord, col(StudyVersionRecord.version) < version, study_id=identifier)

    def save(self, identifier: str) -> None:
        """Keep a study that was only looked at until now."""
        if self.update_rows(StudyRecord, {"saved": True}, id=identifier, saved=False):
            trail = TrailQueries(self._session, self._workspace_id)
            trail.note("study.saved", "study", identifier)

    def state(self, identifier: str, token: str) -> StudyStateRecord | None:
        return self.first(StudyStateRecord, study_id=identifier, token=token)

    def keep_state(self, identifier: str, token: str, document: dict[str, Any]) -> None:
        """Keep a state under its name, unless it is there: who only looks again need not wait to write."""
        if self.state(identifier, token) is not None:
            return
        row = {
            "study_id": identifier,
            "token": token,
            "workspace_id": self._workspace_id,
            "document": document,
            "created_at": now(),
        }
        self._session.execute(self.insert(StudyStateRecord).values(**row).on_conflict_do_nothing())

    def hold(self, identifier: str) -> None:
        """Let nobody else change, archive or bring back a study until this transaction ends."""
        self.update_rows(StudyRecord, {"archived": StudyRecord.archived}, id=identifier)

    def put_away(self, identifier: str, archived: bool) -> None:
        """Archive a study, or bring it back; one that is so already stays as it is."""
        if self.update_rows(StudyRecord, {"archived": archived}, id=identifier, archived=not archived):
            trail = TrailQueries(self._session, self._workspace_id)
            trail.note("study.archived" if archived else "study.restored", "study", identifier)

    def listing(
        self,
        chosen: StudyFilter,
        limit: int,
        after: tuple[datetime, str] | None,
        wanted: ListFilter = EVERYTHING,
    ) -> tuple[Sequence[StudyRecord], After | None]:
        query = select(StudyRecord).where(
            col(StudyRecord.archived) == chosen.archived, col(StudyRecord.saved) == chosen.saved
        )
        for word in folded(chosen.sought).split():
            query = query.where(col(StudyRecord.sought).contains(word, autoescape=True, escape=ESCAPE))
        if wanted.model:
            of_model = names_model(StudyVersionRecord.content, wanted.model, "base")
            query = query.where(sa.exists().where(NEWEST, of_model))
        return self.stretch(query, StudyRecord, limit, after, wanted=replace(wanted, model=""))

    def latest(self, limit: int) -> Sequence[tuple[StudyRecord, StudyVersionRecord]]:
        """Return the studies at hand that were changed last, each with its newest version."""
        query = (
            select(StudyRecord, StudyVersionRecord)
            .join(StudyVersionRecord, NEWEST)
            .where(*self.criteria(StudyRecord, archived=False))
            .order_by(col(StudyRecord.updated_at).desc(), col(StudyRecord.id).desc())
        )
        return self._session.exec(query.limit(limit)).all()

    def _add_version(
        self,
        identifier: str,
        version: int,
        content: dict[str, Any],
        changes: list[dict[str, Any]],
        moment: datetime,
        estimates: Mapping[str, str],
    ) -> None:
        self._add(
            StudyVersionRecord(
                study_id=identifier,
                version=version,
                content=content,
                changes=changes,
                created_at=moment,
                estimates=dict(estimates),
            )
        )
        self._session.flush()


class DuplicateVersion(Exception):
    """Somebody else has made this version meanwhile."""


class BookQueries(Queries):
    """Price books and their versions."""

    def add(self, record: PriceBookRecord, version: PriceBookVersion) -> None:
        self._add(record)
        self._session.flush()
        self._add(version)

    def add_version(self, record: PriceBookRecord, version: PriceBookVersion, moment: datetime) -> None:
        """Keep a new version of a price book, which becomes the newest."""
        self._add(version)
        record.name, record.version = version.name, version.version
        record.row_count, record.updated_at = len(version.rows), moment
        try:
            self._session.flush()
        except IntegrityError as error:
            raise DuplicateVersion from error

    def find(self, book_id: str, version: int) -> PriceBookVersion | None:
        return self.first(PriceBookVersion, book_id=book_id, version=version) if countable(version) else None

    def all(self, book_id: str, limit: int) -> Sequence[PriceBookVersion]:
        """Return the versions of a price book, newest first."""
        newest_first = [col(PriceBookVersion.version).desc()]
        return self.every(PriceBookVersion, order=newest_first, limit=limit, book_id=book_id)


USERS: tuple[tuple[str, type[Any], str, str], ...] = (
    ("estimate", EstimateRow, "request", "label"),
    ("sizing", SizingRow, "document", "label"),
    ("sweep", SweepRecord, "request", "title"),
    ("bill", BillRow, "request", "label"),
    ("calibration", CalibrationRow, "request", "label"),
    ("proposal", ProposalRecord, "content", "title"),
)
"""Kind, table, the column that may name an accelerator, and what an object is called."""

USERS_BELOW: tuple[tuple[str, type[Any], type[Any], str, str, str], ...] = (
    ("study", StudyRecord, StudyVersionRecord, "study_id", "content", "name"),
    ("comparison", StudyRecord, StudyVersionRecord, "study_id", "content", "name"),
    ("price-book", PriceBookRecord, PriceBookVersion, "book_id", "rows", "name"),
)
"""Kind, table, the table of its parts, their key, the column that may name one, and what it is called."""


def names(document: Any, identifier: str) -> sa.ColumnElement[bool]:
    """Return the condition that a document names an identifier; ours are long and random."""
    return sa.cast(document, sa.Text).contains(identifier, autoescape=True)


def names_own(table: Any, document: str, identifier: str) -> sa.ColumnElement[bool]:
    """Return the condition that a document names an accelerator; of the few that name any, by their index."""
    few = sa.text(naming_own(table.__tablename__, document))
    return sa.and_(few, names(getattr(table, document), identifier))


def names_model(document: Any, model: str, *path: str) -> sa.ColumnElement[bool]:
    """Return the condition that a request inside a document is of a preset or an uploaded model."""
    field_paths = [(*path, "model", name) for name in ("preset", "profile_id")]
    return sa.or_(*(col(document)[field_path].as_string() == model for field_path in field_paths))


ACCELERATORS = (
    sa.select(col(AcceleratorRecord.id), col(AcceleratorRecord.version), col(AcceleratorRecord.deleted_at))
    .where(col(AcceleratorRecord.workspace_id) == sa.bindparam("workspace"))
    .order_by(col(AcceleratorRecord.id))
)
"""Accelerators of a workspace, with their version and when they were deleted."""


class AcceleratorQueries(Queries):
    """Accelerators of a workspace and their versions."""

    def add(self, record: AcceleratorRecord, version: AcceleratorVersion) -> None:
        self._add(record)
        self._session.flush()
        self._add(version)

    def add_version(self, record: AcceleratorRecord, name: str, version: AcceleratorVersion) -> None:
        """Keep a new version of an accelerator, which becomes the newest."""
        self._add(version)
        record.name, record.version, record.updated_at = name, version.version, version.created_at
        try:
            self._session.flush()
        except IntegrityError as error:
            raise DuplicateVersion from error

    def find(self, identifier: str, version: int) -> AcceleratorVersion | None:
        if not countable(version):
            return None
        return self.first(AcceleratorVersion, accelerator_id=identifier, version=version)

    def versions(self, identifier: str) -> Sequence[AcceleratorVersion]:
        """Return the versions of an accelerator, newest first."""
        newest_first = [col(AcceleratorVersion.version).desc()]
        return self.every(AcceleratorVersion, order=newest_first, accelerator_id=identifier)

    def in_use(self) -> list[Any]:
        """Return the condition that an accelerator was not deleted."""
        return [col(AcceleratorRecord.deleted_at).is_(None)]

    def newest(self) -> Sequence[tuple[AcceleratorRecord, AcceleratorVersion]]:
        """Return all of them, deleted ones too, each in its newest version."""
        newest = sa.and_(
            col(AcceleratorVersion.workspace_id) == col(AcceleratorRecord.workspace_id),
            col(AcceleratorVersion.accelerator_id) == col(AcceleratorRecord.id),
            col(AcceleratorVersion.version) == col(AcceleratorRecord.version),
        )
        query = select(AcceleratorRecord, AcceleratorVersion).join(AcceleratorVersion, newest)
        ordered = (col(AcceleratorRecord.created_at), col(AcceleratorRecord.id))
        return self._session.exec(query.where(*self.criteria(AcceleratorRecord)).order_by(*ordered)).all()

    def users(self, identifier: str, most: int) -> list[tuple[str, str, str]]:
        """Return kind, identifier and name of what names an accelerator, so many of a kind, newest first."""
        users = []
        for kind, table, document, name in USERS:
            query = sa.select(col(table.id), getattr(table, name)).where(
                *self.criteria(table, names_own(table, document, identifier))
            )
            rows = self._session.execute(query.order_by(col(table.created_at).desc()).limit(most))
            users += [(kind, row[0], row[1]) for row in rows]
        for kind, table, below, key, document, name in USERS_BELOW:
            inside = sa.select(getattr(below, key)).where(
                *self.criteria(below, names_own(below, document, identifier))
            )
            of_kind = [col(table.kind) == kind] if table is StudyRecord else []
            query = sa.select(col(table.id), getattr(table, name)).where(
                *self.criteria(table, col(table.id).in_(inside), *of_kind)
            )
            rows = self._session.execute(query.order_by(col(table.created_at).desc()).limit(most))
            users += [(kind, row[0], row[1]) for row in rows]
        return users

    def remove(self, identifier: str) -> None:
        """Delete an accelerator that nothing names, with all its versions."""
        self.delete_rows(AcceleratorVersion, accelerator_id=identifier)
        self.delete_rows(AcceleratorRecord, id=identifier)

    def withdraw(self, identifier: str) -> None:
        """Delete an accelerator; its versions stay for what was made with them."""
        if self.update_rows(AcceleratorRecord, {"deleted_at": now()}, id=identifier, deleted_at=None):
            trail = TrailQueries(self._session, self._workspace_id)
            trail.note("accelerator.deleted", "accelerator", identifier)


@dataclass(frozen=True, slots=True)
class EstimateSubject:
    """What an estimate is of, as its request and the uploads say."""

    preset: str | None
    """Identifier of the preset of the model."""
    upload: str | None
    """Name of the uploaded model; none where it is a preset, stood in the request, or is deleted."""
    system: str
    """Identifier of the system."""
    count: int
    """Number of systems."""


class ListingQueries(Queries):
    """What lists show of estimates, read from a few columns: their documents are large."""

    def subjects(self, identifiers: Iterable[str]) -> dict[str, EstimateSubject]:
        """Return what estimates are of, by identifier, without reading what was answered."""
        request = col(EstimateRow.request)
        of_upload = self.criteria(Profile, col(Profile.id) == request["model", "profile_id"].as_string())
        query = (
            sa.select(
                col(EstimateRow.id),
                request["model", "preset"].as_string(),
                col(Profile.name),
                request["system"],
            )
            .outerjoin(Profile, sa.and_(*of_upload))
            .where(*self.criteria(EstimateRow, col(EstimateRow.id).in_(list(identifiers))))
        )
        return {
            row[0]: EstimateSubject(row[1], row[2], row[3]["id"], row[3].get("count", 1))
            for row in self._session.execute(query)
        }


Order = Literal["position", "time_to_train", "cost"]

Label = Literal["model", "system", "price", "scenario"]


@dataclass(frozen=True, slots=True)
class RowSelection:
    """Which rows of a sweep are meant, and in which order."""

    labels: Mapping[Label, str] = field(default_factory=dict)
    order: Order = "position"
    answered: bool = False
    """Only rows with a time to train."""


@dataclass(frozen=True, slots=True)
class RowPlace:
    """Where a list of rows goes on: behind this row."""

    position: int
    value: float | None = None
    """Figure that rows are sorted by; none where the row has none, or rows stand in their order."""


def behind(order: Order, position: RowPlace) -> sa.ColumnElement[bool]:
    """Return what rows behind a place have in common; rows that come in meanwhile do not move it."""
    later = col(SweepRowRecord.position) > position.position
    if order == "position":
        return later
    column = col(getattr(SweepRowRecord, order))
    if position.value is None:
        return sa.and_(column.is_(None), later)
    return sa.or_(column.is_(None), column > position.value, sa.and_(column == position.value, later))


class SweepQueries(Queries):
    """The rows of one sweep."""

    def __init__(self, session: Session, workspace_id: str, sweep_id: str) -> None:
        super().__init__(session, workspace_id)
        self._sweep_id = sweep_id

    def add(self, rows: Iterable[SweepRowRecord]) -> None:
        self._session.add_all(rows)

    def positions(self) -> set[int]:
        return set(self.values(SweepRowRecord, SweepRowRecord.position, sweep_id=self._sweep_id))

    def refused(self) -> int:
        """Return how many rows have a problem instead of an estimate."""
        return self.count_rows(SweepRowRecord, sweep_id=self._sweep_id, refused=True)

    def count(self, selection: RowSelection) -> int:
        return self.count_rows(SweepRowRecord, *self._selected(selection), sweep_id=self._sweep_id)

    def rows(
        self, selection: RowSelection, limit: int, offset: int = 0, after: RowPlace | None = None
    ) -> list[dict[str, Any]]:
        """Return the documents of rows in their order; those without the figure sorted by come last."""
        criteria = self._selected(selection)
        if after is not None:
            criteria.append(behind(selection.order, after))
        query = self._documents(*criteria)
        if selection.order != "position":
            column = col(getattr(SweepRowRecord, selection.order))
            query = query.order_by(column.is_(None), column)
        query = query.order_by(col(SweepRowRecord.position)).limit(limit).offset(offset)
        return list(self._session.exec(query))

    def rows_after(self, position: int, limit: int) -> list[dict[str, Any]]:
        """Return the documents of rows behind a position, in their order."""
        query = self._documents(col(SweepRowRecord.position) > position)
        return list(self._session.exec(query.order_by(col(SweepRowRecord.position)).limit(limit)))

    def _documents(self, *criteria: Any) -> Any:
        bound = self.criteria(SweepRowRecord, *criteria, sweep_id=self._sweep_id)
        return select(SweepRowRecord.document).where(*bound)

    def _selected(self, selection: RowSelection) -> list[Any]:
        criteria = [getattr(SweepRowRecord, name) == label for name, label in selection.labels.items()]
        return [*criteria, col(SweepRowRecord.time_to_train).is_not(None)] if selection.answered else criteria
