"""``rackline key``: a key on the standard output once, and nothing of it afterwards."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from app.commands.keys import cli
from app.errors import AppError, BadInput, Conflict, NotFound
from app.features.integrations.keys import FORM, principal_of
from app.platform.store.database import Store
from app.platform.store.queries import now
from app.platform.store.trail import TrailFilter
from app.platform.workspace import LOCAL_WORKSPACE

runner = CliRunner()


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RACKLINE_DATA_DIR", str(tmp_path))
    monkeypatch.delenv("RACKLINE_DATABASE_URL", raising=False)
    return tmp_path


def said(*arguments: str) -> str:
    result = runner.invoke(cli, list(arguments), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def refused(*arguments: str) -> AppError:
    result = runner.invoke(cli, list(arguments))
    assert isinstance(result.exception, AppError), result.output
    return result.exception


def test_a_key_is_made_listed_replaced_and_revoked(place: Path) -> None:
    key = said("create", "Robot", "--scope", "read", "--scope", "propose", "--expires-in-days", "0").strip()
    assert FORM.fullmatch(key)
    store = Store(f"sqlite:///{place / 'rackline.sqlite3'}")
    principal = principal_of(store, key, now())
    assert principal is not None and sorted(principal.scopes) == ["propose", "read"]
    listed = said("list")
    assert key not in listed
    assert re.search(r"key_\w+ +rk_\w{8} +Robot +propose read +active", listed)
    new = said("rotate", key[:11], "--grace-hours", "0").strip()
    assert FORM.fullmatch(new)
    assert principal_of(store, key, now()) is None
    assert principal_of(store, new, now()) is not None
    assert "is revoked" in said("revoke", new[:11])
    assert principal_of(store, new, now()) is None
    assert isinstance(refused("rotate", new[:11]), Conflict)
    store.close()


def test_what_is_done_to_keys_is_put_down_to_the_operator(place: Path) -> None:
    key = said("create", "Robot").strip()
    said("revoke", key[:11])
    store = Store(f"sqlite:///{place / 'rackline.sqlite3'}")
    with store.transaction(LOCAL_WORKSPACE) as repository:
        events, _ = repository.trail.listing(TrailFilter(), 10, None)
    store.close()
    assert [(event.action, event.actor_kind, event.actor_name) for event in events] == [
        ("key.changed", "operator", ""),
        ("key.created", "operator", ""),
    ]


def test_without_keys_the_list_says_so() -> None:
    assert "there is no key" in said("list")


def test_what_cannot_be_names_its_field() -> None:
    for arguments, kind in (
        (("create", "x", "--scope", "everything"), BadInput),
        (("create", ""), BadInput),
        (("create", "x", "--workspace", "ws_none"), NotFound),
        (("list", "--workspace", "ws_none"), NotFound),
        (("revoke", "key_none"), NotFound),
        (("revoke", "rk_abcdefgh"), NotFound),
        (("rotate", "key_none", "--grace-hours", "9999"), BadInput),
    ):
        assert isinstance(refused(*arguments), kind), arguments


def test_a_whole_key_is_not_taken_for_a_name() -> None:
    """A key on the command line stands in the shell's history and in the list of processes."""
    key = said("create", "x").strip()
    error = refused("revoke", key)
    assert isinstance(error, BadInput) and key not in str(error)


def test_a_machine_without_data_directory_gets_one(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    missing = place / "not" / "yet"
    monkeypatch.setenv("RACKLINE_DATA_DIR", str(missing))
    assert FORM.fullmatch(said("create", "Robot", "--scope", "read").strip())
    assert (missing / "rackline.sqlite3").exists()
