"""Migrations from version 0.1.0 on, with rows in every table; what other versions made is refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from app.errors import Conflict
from app.estimating.names import STORED
from app.estimating.request import Schema
from app.features.studies.model import StudyContent
from app.platform.store import migrate
from app.platform.store.database import Store
from app.platform.store.migrate import database_problems, revision_of
from app.platform.store.queries import DOCUMENT
from tests.platform.store.conftest import (
    compare_with_declaration,
    contents,
    release,
    shared,
)
from tests.support.postgres import PostgresCluster


@pytest.fixture(params=["sqlite", "postgresql"])
def released(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """A database of version 0.1.0, on each database."""
    if request.param == "sqlite":
        store = Store(f"sqlite:///{tmp_path / 'released.sqlite3'}")
    else:
        server: PostgresCluster = request.getfixturevalue("postgres")
        store = Store(server.make())
    release(store)
    yield store
    store.close()
    if request.param == "postgresql":
        server.drop(store.engine.url.render_as_string(hide_password=False))


def test_tables_of_the_first_version_are_brought_up_with_their_rows(released: Store) -> None:
    assert not released.is_ready()
    with released.engine.connect() as connection:
        before = contents(connection)
    released.migrate()
    assert released.is_ready() and list(database_problems(released.engine)) == []
    compare_with_declaration(released.engine)
    with released.engine.connect() as connection:
        after = contents(connection)
        assert list(connection.execute(sa.text("SELECT * FROM alembic_version")).mappings()) == [
            {"version_num": migrate.REVISIONS[-1]}
        ]
    assert [row["events"] for row in after.pop("webhook")] == [["sweep.done"]] * len(before.pop("webhook"))
    before.pop("rackline_queue_task", None)
    moved, options = before.pop("comparison"), before.pop("comparison_option")
    assert moved and options
    after["study"] = [row for row in after["study"] if row["kind"] == "study"]
    after["study_version"] = [row for row in after["study_version"] if "base" not in row["content"]]
    assert set(before) == set(after) and all(len(rows) >= 2 for rows in before.values())
    assert shared(after, before) == shared(before, after)


MODELLED = {
    "model": {"preset": "bert-large"},
    "workload": {"samples": 1e7, "global_batch": 512},
    "system": {"id": "dgx-a100-640gb", "count": 2},
    "assumptions": {"utilisation": 0.5},
    "currency": "KRW",
}

STATED = {"hours": 13.2, "kind": "vendor", "system": "ipu-pod64"}

LIMITS = {"deadline_s": 86_400.0, "probability": 0.9}

ROWS: list[dict[str, Any]] = [
    MODELLED | {"limits": LIMITS},
    MODELLED | {"workload": {"samples": 1e7, "global_batch": 256}, "plan": {"tensor": 2}, "label": "Pod"},
    {"label": "Pod", **STATED},
    {"label": "Half", "kind": "linear", "scaled_from": "Pod", "factor": 0.5},
]


def test_comparisons_become_studies_with_their_estimates(released: Store) -> None:
    metadata = sa.MetaData()
    with released.engine.begin() as connection:
        metadata.reflect(connection)
        comparison, option = metadata.tables["comparison"], metadata.tables["comparison_option"]
        option.c.request.type = DOCUMENT
        row = connection.execute(sa.select(comparison)).mappings().first()
        estimate = connection.execute(sa.select(metadata.tables["estimate"])).mappings().first()
        assert row is not None and estimate is not None
        belongs = {"workspace_id": row["workspace_id"], "comparison_id": row["id"]}
        for number, request in enumerate(ROWS):
            named = {"estimate_id": estimate["id"] if "model" in request else None}
            position = {"position": 10 + number} | belongs
            connection.execute(sa.insert(option).values(request=request, **position, **named))
        kept = option.c.position >= 10
        connection.execute(sa.delete(option).where(option.c.comparison_id == row["id"], ~kept))
        connection.execute(sa.update(option).where(kept).values(position=option.c.position - 10))
        connection.execute(sa.update(comparison).values(title="Head to head", locale="ko", currency="KRW"))
    released.migrate()
    with released.transaction(row["workspace_id"]) as repository:
        ((study, version),) = repository.comparisons.newest([row["id"]]).values()
        assert repository.studies.find(row["id"]) is None
    assert (study.name, study.version, study.options) == ("Head to head", row["version"], 4)
    assert version.estimates == {"a": estimate["id"], "b": estimate["id"]}
    content = StudyContent.model_validate(version.content, context=STORED)
    assert content.limits.model_dump(exclude_none=True) == LIMITS
    assert content.views == {"proposal": {"locale": "ko"}}
    assert [each.label for each in content.options] == [estimate["label"], "Pod", "Pod (2)", "Half"]
    shared = {"model": {"preset": "bert-large"}, "workload": {"samples": 1e7}, "currency": "KRW"}
    assert stated_in(content.base) == {**shared, "assumptions": {"utilisation": 0.5}}
    first, second, third, last = map(stated_in, content.options)
    assert (first["workload"], second["workload"]) == ({"global_batch": 512}, {"global_batch": 256})
    assert second["plan"] == {"tensor": 2} and first["system"] == MODELLED["system"]
    assert third["figure"] == STATED
    assert last["figure"] == {"kind": "linear", "scaled_from": "b", "factor": 0.5}


def stated_in(part: Schema) -> dict[str, Any]:
    return part.model_dump(exclude_unset=True)


@pytest.mark.parametrize("change", ["UPDATE audit_event SET action = 'x'", "DELETE FROM audit_event"])
def test_the_audit_log_only_grows(released: Store, change: str) -> None:
    released.migrate()
    opening = "SELECT 1" if released.engine.dialect.name == "sqlite" else "SET LOCAL rackline.erasing = on"
    with pytest.raises(sa.exc.DBAPIError, match="only grows"), released.engine.begin() as connection:
        connection.exec_driver_sql(opening)
        connection.exec_driver_sql(change)


@pytest.mark.parametrize(
    ("revision", "advice"),
    [("0013", r"start version 0\.1\.0 on it once"), ("9001", "start the newer version")],
)
def test_tables_of_another_version_are_left_alone_and_it_is_said_which_can_go_on(
    store: Store, revision: str, advice: str
) -> None:
    with store.engine.begin() as connection:
        connection.execute(sa.text("UPDATE alembic_version SET version_num = :it").bindparams(it=revision))
    assert not store.is_ready()
    with pytest.raises(Conflict, match=advice):
        store.migrate()
    with store.engine.connect() as connection:
        assert revision_of(connection) == revision
    assert [template for template, _ in database_problems(store.engine)] != []
