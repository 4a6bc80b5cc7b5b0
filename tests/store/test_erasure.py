"""Erasing a name, on both databases: rows of one workspace, the trail included, whose guard comes back."""

from __future__ import annotations

import pytest
import sqlalchemy as sa

from app.platform.store.database import Store
from app.platform.store.tables import AuditEvent, Profile


def names(store: Store, workspace: str) -> list[str]:
    with store.transaction(workspace) as repository:
        profiles = repository.values(Profile, Profile.name)
        details = repository.values(AuditEvent, AuditEvent.detail)
    return [*profiles, *(detail["name"] for detail in details if "name" in detail)]


def test_a_name_goes_from_one_workspace_and_its_trail(store: Store) -> None:
    store.migrate()
    for workspace in ("ws_one", "ws_two"):
        with store.transaction(workspace) as repository:
            repository.ensure_workspace(workspace)
        with store.transaction(workspace) as repository:
            document = {"assumptions": ["for 서울은행"], "preset": "x-1"}
            repository.add(
                Profile(id=f"prf_{workspace}", name="Model of 서울은행", kind="config", document=document)
            )
    with store.transaction("ws_one") as repository:
        found = repository.erasure.erase("서울은행", "[erased]", dry_run=True)
    assert found.keys() == {"profile", "audit_event"} and names(store, "ws_one") == ["Model of 서울은행"] * 2
    with pytest.raises(RuntimeError), store.transaction("ws_one") as repository:
        repository.erasure.erase("서울은행", "[erased]", dry_run=False)
        raise RuntimeError
    assert names(store, "ws_one") == ["Model of 서울은행"] * 2
    with store.transaction("ws_one") as repository:
        repository.erasure.erase("서울은행", "[erased]", dry_run=False)
    assert names(store, "ws_one") == ["Model of [erased]"] * 2
    assert names(store, "ws_two") == ["Model of 서울은행"] * 2
    with store.transaction("ws_one") as repository:
        assert repository.get(Profile, "prf_ws_one").document["assumptions"] == ["for [erased]"]  # type: ignore[union-attr]
    with pytest.raises(sa.exc.DatabaseError), store.engine.begin() as connection:
        connection.execute(sa.text("UPDATE audit_event SET action = 'x'"))
