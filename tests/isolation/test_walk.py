"""As another tenant and as nobody through every address: nothing of a workspace is seen, told or changed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import sqlalchemy as sa
from fastapi import FastAPI
from sqlmodel import Session, col, select

from app.errors import NotFound
from app.platform.store.tables import EstimateRow, ProposalRecord, SweepRecord
from tests.conftest import run
from tests.isolation.doors import doors
from tests.isolation.statements import listening, unbound
from tests.isolation.tenants import ONE, TABLES, BearerKind, Tenant, filled, tenants
from tests.isolation.walking import Walker
from tests.support.postgres import PostgresCluster


async def through(app: FastAPI, *, thorough: bool = False) -> Walker:
    """Walk through everything."""
    walker = Walker(app, thorough=thorough)
    await walker.all()
    await walker.ask.client.aclose()
    return walker


@pytest.fixture(scope="module")
def walked(tmp_path_factory: pytest.TempPathFactory) -> Walker:
    return run(through(tenants(tmp_path_factory.mktemp("walk"))))


@pytest.mark.endurance
def test_every_address_is_asked_for_objects_of_every_kind(tmp_path: Path) -> None:
    found = run(through(tenants(tmp_path), thorough=True)).walk
    print(f"{found.doors} routes × {found.objects} objects, {found.tried} requests")
    assert found.findings() == [] and found.unbound == []


def test_nothing_of_another_workspace_is_seen(walked: Walker) -> None:
    assert walked.walk.leaks == []


def test_nothing_tells_what_is_there_from_what_never_was(walked: Walker) -> None:
    assert walked.walk.told == []


def test_nobody_is_let_in(walked: Walker) -> None:
    assert walked.walk.let_in == []


def test_nobody_else_has_changed_anything(walked: Walker) -> None:
    assert walked.walk.changed == []


def test_every_address_finds_its_owners_object(walked: Walker) -> None:
    assert walked.walk.unreached == []


def test_every_change_is_in_the_audit_trail(walked: Walker) -> None:
    assert walked.walk.untold == []


def test_every_statement_names_the_workspace(walked: Walker) -> None:
    assert walked.walk.unbound == []


def test_the_walk_went_everywhere(walked: Walker, record_property: Callable[[str, object], None]) -> None:
    walk = walked.walk
    record_property("routes", walk.doors)
    record_property("objects", walk.objects)
    record_property("requests", walk.tried)
    print(f"{walk.doors} routes × {walk.objects} objects, {walk.tried} requests, no leak")
    assert walk.doors == len([one for one in doors(walked.app) if not one.path.startswith("/static")])
    assert walk.tried > 5 * walk.doors


def test_every_table_with_rows_is_known_to_the_walk(walked: Walker) -> None:
    filled = walked.filled
    assert filled - set(TABLES) == set(), "say in TABLES how these rows are asked for, and make some"
    assert set(TABLES) - filled == set(), "make one of each in filled()"


def test_statements_without_a_workspace_are_found() -> None:
    bare = sa.select(EstimateRow).where(col(EstimateRow.id) == "est_a")
    assert unbound(bare) == ["estimate"]
    assert unbound(bare.where(col(EstimateRow.workspace_id) == ONE)) == []
    assert unbound(sa.update(SweepRecord).values(status="done", workspace_id=ONE)) == ["sweep"]
    assert unbound(sa.delete(SweepRecord).where(col(SweepRecord.workspace_id) == ONE)) == []
    inside = sa.select(EstimateRow.id).where(
        col(EstimateRow.workspace_id) == ONE, col(EstimateRow.id).in_(select(SweepRecord.id))
    )
    assert unbound(inside) == ["sweep"]
    assert unbound(Session) == []


@pytest.fixture(scope="module")
def two_tenants(tmp_path_factory: pytest.TempPathFactory) -> FastAPI:
    """An application with two empty workspaces."""
    return tenants(tmp_path_factory.mktemp("tenants"))


def test_a_new_route_cannot_be_forgotten(two_tenants: FastAPI) -> None:
    """The walk goes through what the application serves: it finds a hole that nobody has told it of."""
    store, known = two_tenants.state.installation.store, set(doors(two_tenants))
    kept = Tenant("zqmark", ids={"prp": "prp_hole"}, everything={"prp_hole"})
    with store.transaction(ONE) as repository:
        row = {"title": "t", "customer": kept.mark, "request": {}, "content": {}, "version": 1}
        repository.add(ProposalRecord(id="prp_hole", workspace_id="", valid_until=None, **row))

    async def raw(identifier: str) -> list[str]:
        with Session(store.engine) as session:
            found = session.get(ProposalRecord, identifier)
        if found is None:
            raise NotFound.named("proposal", identifier, [])
        return [found.customer]

    async def names() -> list[str]:
        with Session(store.engine) as session:
            return list(session.exec(select(ProposalRecord.customer)))

    added = {"proposals/{identifier}/raw": raw, "gadgets/{identifier}": raw, "names": names}
    for path, answer in added.items():
        two_tenants.add_api_route(f"/api/v1/{path}", answer, include_in_schema=False)

    async def walk() -> Walker:
        walker = Walker(two_tenants)
        walker.one = kept
        walker.doors = [door for door in walker.doors if door not in known]
        assert len(walker.doors) == len(added)
        with pytest.raises(AssertionError, match="/api/v1/gadgets"):
            await walker.paths("two", ["prp_hole"])
        walker.doors = [door for door in walker.doors if "gadgets" not in door.path]
        await walker.paths("two", ["prp_hole"])
        await walker.lists()
        await walker.ask.client.aclose()
        return walker

    with listening(store.engine) as statements:
        found = run(walk()).walk
    assert {leak.split()[2] for leak in found.leaks} >= {"/api/v1/proposals/prp_hole/raw", "/api/v1/names"}
    assert found.told and found.let_in, "asked for by another, and by nobody"
    assert any(statement.startswith("proposal by") for statement in statements)


def asked(
    app: FastAPI, *requests: tuple[str, str, str, dict[str, object]]
) -> list[tuple[int, dict[str, object]]]:
    """Return status and document of requests, one after the other."""

    async def send() -> list[tuple[int, dict[str, object]]]:
        ask = BearerKind(app)
        found = []
        for who, method, path, more in requests:
            answer = await ask(who, method, f"/api/v1{path}", **more)
            found.append((answer.status_code, answer.json()))
        await ask.client.aclose()
        return found

    return run(send())


def test_a_key_for_repeated_requests_is_its_workspaces_own(two_tenants: FastAPI) -> None:
    body = {"json": {"system": "ipu-pod64"}, "headers": {"idempotency-key": "the same"}}
    first, again, other = asked(two_tenants, *[(who, "POST", "/boms", body) for who in ("one", "one", "two")])
    assert first == again
    assert other[0] == 201
    assert other[1]["id"] != first[1]["id"]
    changed = {"json": {"system": "ipu-pod16"}, "headers": {"idempotency-key": "the same"}}
    assert [one[0] for one in asked(two_tenants, ("one", "POST", "/boms", changed))] == [409]


def test_what_is_kept_in_memory_is_its_workspaces_own(two_tenants: FastAPI) -> None:
    model = {"transformer": {"layers": 2, "hidden": 64, "heads": 2, "vocab": 100, "seq_len": 32}}
    [(_, profile)] = asked(two_tenants, ("one", "POST", "/profiles", {"json": {"name": "ours", **model}}))
    option = {"key": "a", "system": {"id": "dgx-a100-640gb"}}
    base = {"model": {"profile_id": profile["id"]}, "workload": {"samples": 1e4, "global_batch": 64}}
    study = {"json": {"name": "ours", "base": base, "options": [option]}}
    answers = asked(
        two_tenants,
        # The first fills the caches of profiles and of studies' estimates; the second asks the same.
        ("one", "POST", "/studies", study),
        ("two", "POST", "/studies", study),
        ("two", "GET", f"/profiles/{profile['id']}", {}),
        ("one", "GET", f"/profiles/{profile['id']}", {}),
    )
    assert [status for status, _ in answers] == [201, 404, 404, 200]


def test_a_cursor_of_another_workspace_leads_nowhere_else(two_tenants: FastAPI) -> None:
    made = [("one", "POST", "/boms", {"json": {"system": "ipu-pod64", "label": f"{n}"}}) for n in range(3)]
    asked(two_tenants, *made, ("two", "POST", "/boms", {"json": {"system": "ipu-pod64", "label": "two's"}}))
    [(_, page)] = asked(two_tenants, ("one", "GET", "/boms", {"params": {"limit": 1}}))
    [(status, found)] = asked(two_tenants, ("two", "GET", "/boms", {"params": {"cursor": page["next"]}}))
    items = found["items"]
    assert status == 200
    assert isinstance(items, list)
    own = asked(two_tenants, ("two", "GET", "/boms", {}))[0][1]["items"]
    assert isinstance(own, list)
    assert {one["id"] for one in items} <= {one["id"] for one in own}


def test_on_postgresql_too(tmp_path: Path, postgres: PostgresCluster) -> None:
    url = postgres.make()
    app = tenants(tmp_path, database_url=url)

    async def sample() -> Walker:
        walker = Walker(app)
        walker.doors = [door for door in walker.doors if door.api and "/catalog/" not in door.path]
        # What a body names is looked up as what an address names is.
        walker.one = await filled(app, walker.ask, "one", ONE)
        await walker.paths("two", [*walker.one.ids.values()])
        await walker.reach()
        await walker.ask.client.aclose()
        return walker

    walker = run(sample())
    app.state.installation.store.close()
    postgres.drop(url)
    assert walker.walk.findings() == []
    assert walker.walk.tried > 400
