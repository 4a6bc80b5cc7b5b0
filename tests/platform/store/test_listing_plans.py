"""Lists ask once, walk an index, and leave documents where they are, on both databases."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy import event

from app.platform.store.database import Store
from app.platform.store.document_queries import StudyFilter
from app.platform.store.queries import After, ListFilter, ListOrder, now
from app.platform.store.repository import Repository
from app.platform.store.tables import (
    AcceleratorRecord,
    BillRow,
    CalibrationRow,
    EstimateRow,
    PriceBookRecord,
    ProposalRecord,
    SizingRow,
    SweepRecord,
    WorkloadSample,
)
from tests.platform.store.conftest import value_for

MANY = 3000

PLACE = (now() - timedelta(hours=1), "m")

AFTER = After(*PLACE)

LISTS: dict[str, tuple[str, Callable[[Repository], object]]] = {
    "estimates": ("estimate", lambda one: one.page(EstimateRow, 50, AFTER)),
    "comparisons": ("study", lambda one: one.comparisons.listing(StudyFilter(), 50, PLACE)),
    "calibrations": ("calibration", lambda one: one.page(CalibrationRow, 50, AFTER)),
    "sizings": ("sizing", lambda one: one.page(SizingRow, 50, AFTER)),
    "sweeps": ("sweep", lambda one: one.page(SweepRecord, 50, AFTER)),
    "proposals": ("proposal", lambda one: one.proposals(50, AFTER, None, "2026-11-21")),
    "accelerators": ("accelerator", lambda one: one.page(AcceleratorRecord, 50, AFTER)),
    "price books": ("price_book", lambda one: one.page(PriceBookRecord, 50, AFTER)),
    "bills": ("bill", lambda one: one.page(BillRow, 50, AFTER)),
    "samples": ("workload_sample", lambda one: one.page(WorkloadSample, 50, AFTER)),
    "models": ("profile", lambda one: one.uploads.models(50, PLACE)),
    "studies": ("study", lambda one: one.studies.listing(StudyFilter(), 50, PLACE)),
}


@contextmanager
def statements(store: Store) -> Iterator[list[tuple[str, Any]]]:
    """Give the statements that are sent meanwhile."""
    sent: list[tuple[str, Any]] = []

    def note(connection: Any, cursor: Any, statement: str, parameters: Any, *more: Any) -> None:
        sent.append((statement, parameters))

    event.listen(store.engine, "before_cursor_execute", note)
    try:
        yield sent
    finally:
        event.remove(store.engine, "before_cursor_execute", note)


def many(store: Store, name: str) -> None:
    """Fill a table with rows a minute apart."""
    metadata = sa.MetaData()
    metadata.reflect(store.engine)
    table = metadata.tables[name]
    moment = now()
    rows = []
    for number in range(MANY):
        row = {column.name: value_for(column, number) for column in table.columns}
        row |= {"workspace_id": "ws_one" if number % 2 else "ws_two", "id": f"x_{number}"}
        made = moment - timedelta(minutes=number)
        row["created_at"] = made if table.c.created_at.type.timezone else made.replace(tzinfo=None)
        if "archived" in row:
            row |= {"archived": False, "kind": "study" if number % 3 else "comparison"}
        rows.append(row)
    with store.engine.begin() as connection:
        connection.execute(sa.insert(table), rows)
    with store.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(sa.text(f'ANALYZE "{name}"'))


@pytest.mark.parametrize("kind", LISTS)
def test_a_list_is_one_statement_along_an_index(store: Store, kind: str) -> None:
    name, ask = LISTS[kind]
    many(store, name)
    with statements(store) as sent, store.transaction("ws_one") as repository:
        ask(repository)
    asked = [one for one in sent if one[0].lstrip().upper().startswith("SELECT")]
    assert len(asked) == 1, [text for text, _ in sent]
    text, parameters = asked[0]
    chosen = text[: text.index("FROM")]
    for document in ("request", "document", "samples", "content"):
        assert f".{document} " not in chosen and f".{document}," not in chosen
    walks(store, f"ix_{name}_listing", name, text, parameters)


def walks(store: Store, index: str, name: str, text: str, parameters: Any) -> None:
    """Check that a statement goes along an index, and sorts nothing."""
    with store.engine.connect() as connection:
        if store.engine.dialect.name == "sqlite":
            plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {text}", parameters)
            steps = [str(row[3]) for row in plan]
            assert any(f"USING INDEX {index}" in step for step in steps), steps
            assert not any("TEMP B-TREE" in step for step in steps), steps
        else:
            plan = connection.exec_driver_sql(f"EXPLAIN {text}", parameters)
            steps = [str(row[0]) for row in plan]
            assert any(index in step for step in steps), steps
            assert not any(" on " + name in step and "Seq Scan" in step for step in steps), steps


NARROWED: dict[str, tuple[str, ListFilter, Callable[[Repository, ListFilter], object]]] = {
    "ix_estimate_model": (
        "estimate",
        ListFilter(model="model-7"),
        lambda one, wanted: one.page(EstimateRow, 50, None, wanted=wanted),
    ),
    "ix_proposal_customer": (
        "proposal",
        ListFilter(customer="customer-7"),
        lambda one, wanted: one.page(ProposalRecord, 50, None, wanted=wanted),
    ),
    "ix_price_book_changes": (
        "price_book",
        ListFilter(order="updated", since=now()),
        lambda one, wanted: one.page(PriceBookRecord, 50, None, wanted=wanted),
    ),
}


@pytest.mark.parametrize("index", NARROWED)
def test_a_narrowed_list_walks_an_index_of_its_own(store: Store, index: str) -> None:
    name, wanted, ask = NARROWED[index]
    many(store, name)
    with statements(store) as sent, store.transaction("ws_one") as repository:
        ask(repository, wanted)
    ((text, parameters),) = [one for one in sent if one[0].lstrip().upper().startswith("SELECT")]
    walks(store, index, name, text, parameters)


def test_a_page_of_studies_asks_no_more_for_many_than_for_few(store: Store) -> None:
    counts = []
    for _ in range(2):
        with statements(store) as sent, store.transaction("ws_one") as repository:
            repository.studies.listing(StudyFilter("name"), 50, None)
        counts.append(len(sent))
        if len(counts) == 1:
            many(store, "study")
    assert counts[0] == counts[1]


MODELS = ("gpt3-175b", "울 'm\"")

LABELS = ("GPT-3 175B · Seoul", "BERT-Large 서울", "100 % of_it", 'say "no" \\ x', "ÉCOLE q")


@pytest.mark.parametrize("order", ["newest", "oldest"])
def test_rare_words_are_found_as_common_ones_are(
    store: Store, order: ListOrder, monkeypatch: pytest.MonkeyPatch
) -> None:
    many(store, "estimate")
    with store.engine.begin() as connection:
        for number, label in enumerate(LABELS):
            for place in (2 * number + 1, MANY - 1 - 2 * number):
                row = {"label": f"{label} {place}", "model": MODELS[number % 2], "identifier": f"x_{place}"}
                changed = "UPDATE estimate SET label = :label, model = :model WHERE id = :identifier"
                connection.execute(sa.text(changed), row)
    searches = ["gpt-3 299", "SEOUL", "서울", "울", "100 %", "f_i", '"no" \\', "q", "2999", "label 7"]
    searches.append("nowhere")
    models = ("", *MODELS, "another")
    asked = [ListFilter(search=search, model=model, order=order) for search in searches for model in models]
    found = []
    for scanned in (10, MANY):
        monkeypatch.setattr("app.platform.store.queries.SCANNED", scanned)
        with store.transaction("ws_one") as repository:
            for wanted in asked:
                first = repository.page(EstimateRow, 3, None, wanted=wanted)
                following = repository.page(EstimateRow, 3, first.next, wanted=wanted) if first.next else None
                found.append([row.id for page in (first, following) if page for row in page.rows])
    assert found[: len(asked)] == found[len(asked) :]
    of_any, of_first, of_second, of_none = (found[place : len(asked) : 4] for place in range(4))
    assert [bool(ids) for ids in of_any] == [search != "nowhere" for search in searches]
    seoul = searches.index("SEOUL"), searches.index("서울")
    assert [bool(of_first[place]) for place in seoul] == [True, False]
    assert [bool(of_second[place]) for place in seoul] == [False, True]
    assert not any(of_none)
    monkeypatch.setattr("app.platform.store.queries.SCANNED", 10)
    with store.transaction("ws_one") as repository:
        (row,) = repository.page(EstimateRow, 3, None, wanted=ListFilter(search="x 7")).rows
        repository.deletions.delete(EstimateRow, row.id)
    with statements(store) as sent, store.transaction("ws_one") as repository:
        assert not repository.page(EstimateRow, 3, None, wanted=ListFilter(search="x 7")).rows
    assert len(sent) == 5 and all("estimate_" in sent[step][0].partition("WHERE")[2] for step in (2, 4))
    with statements(store) as sent, store.transaction("ws_one") as repository:
        assert len(repository.page(EstimateRow, 3, None, wanted=ListFilter(search="seoul")).rows) == 2
    assert len(sent) == 4, "few have the pairs of letters, and all of them are compared"
    if store.engine.dialect.name == "sqlite":
        with store.engine.connect() as connection:
            # Neither are the letters of what was deleted or renamed kept.
            kept = "SELECT count(*) FROM estimate_words WHERE estimate_words MATCH :pair"
            pairs = {
                pair: connection.scalar(sa.text(kept), {"pair": pair.encode().hex()})
                for pair in ("\\ ", "울")
            }
        assert pairs == {"\\ ": 1, "울": 2}
