"""Erasing a name, on both databases: rows of one workspace, the trail included, whose guard comes back."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st

from app.platform.store.account_tables import Invitation
from app.platform.store.database import Store
from app.platform.store.erasure_queries import erased_from, pattern_of, tells_of
from app.platform.store.tables import AuditEvent, IdempotencyKey, Profile

EPOCH = datetime(2020, 1, 1, tzinfo=UTC)


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


@pytest.mark.parametrize(
    ("stored", "typed"),
    [
        ("Électricité Un", "électricité un"),
        (unicodedata.normalize("NFD", "한빛전자"), "한빛전자"),
        ("한빛전자", unicodedata.normalize("NFD", "한빛전자")),
        ("하\u11ab빛전자", "한빛전자"),
        ("한빛 전자 AI", "한빛 전자 ai"),
        ("北京\uf9ea大學", "北京離大學"),
        ("\U0002f804京", "你京"),
        (unicodedata.normalize("NFD", "Électricité Un"), "ÉLECTRICITÉ\u00a0UN"),
        ("Groß & Söhne", "GROSS & söhne"),
        ("Großbank", "grossbank"),
    ],
)
def test_a_name_is_found_however_it_is_spelled(store: Store, stored: str, typed: str) -> None:
    store.migrate()
    with store.transaction("ws_one") as repository:
        document = {"notes": f"그 {stored} 은", "rows": [stored]}
        repository.add(
            *(
                Profile(id=f"prf_{number}", name=f"é {stored}!", kind="config", document=document)
                for number in range(3)
            )
        )
    with store.transaction("ws_one") as repository:
        found = repository.erasure.erase(typed, "[erased]", dry_run=False)
    assert {kind: len(rows) for kind, rows in found.items()} == {"profile": 3, "audit_event": 3}
    assert names(store, "ws_one") == ["é [erased]!"] * 6
    with store.transaction("ws_one") as repository:
        profile = repository.get(Profile, "prf_2")
        assert profile is not None and profile.document == {"notes": "그 [erased] 은", "rows": ["[erased]"]}


def spelled(letters: str, ways: list[int]) -> str:
    """Return letters, each in one of the ways in which it may be written."""
    forms: tuple[Callable[[str], str], ...] = (
        str,
        str.upper,
        str.lower,
        partial(unicodedata.normalize, "NFD"),
        lambda letter: (
            chr(ord(letter) - (ord(letter) - 0xAC00) % 28) + unicodedata.normalize("NFD", letter)[2:]
            if "가" <= letter <= "힣"
            else letter
        ),
    )
    return "".join(forms[way](letter) for letter, way in zip(letters, ways, strict=True))


@given(data=st.data())
def test_every_spelling_of_a_name_is_searched(data: st.DataObject) -> None:
    letters = st.sampled_from("한빛전자각나ㄱ北京大離\uf9ea你\U0002f804abfiklnstßﬁK\u212aéŉẚİ")
    name = data.draw(st.text(letters, min_size=2, max_size=6))
    ways = st.lists(st.integers(0, 4), min_size=len(name), max_size=len(name))
    stored = f"그 {spelled(name, data.draw(ways))} 은"
    assert erased_from(stored, pattern_of(name), "…") != stored
    table = sa.Table(
        "noted", sa.MetaData(), sa.Column("name", sa.String(300)), sa.Column("document", sa.JSON)
    )
    engine = sa.create_engine("sqlite://")
    with engine.begin() as connection:
        table.create(connection)
        connection.execute(table.insert().values(name=stored, document={"name": stored}))
        for column in table.c:
            found = sa.select(sa.func.count()).select_from(table).where(tells_of(column, name, sqlite=True))
            assert connection.scalar(found) == 1
    engine.dispose()


def test_the_guard_of_the_trail_only_lets_an_erasure_change_events(store: Store) -> None:
    with store.transaction("ws_one") as repository:
        repository.add(Profile(id="prf_a", name="Novak", kind="config", document={}))
    with store.transaction("ws_one") as repository:
        repository.erasure.erase("Novak", "x", dry_run=False)
    refused = ["UPDATE audit_event SET action = 'x'", "DELETE FROM audit_event"]
    if store.engine.dialect.name == "postgresql":
        erasing = "SET LOCAL rackline.erasing = on; "
        refused += [f"{erasing}{change}" for change in ("DELETE FROM audit_event", "TRUNCATE audit_event")]
    for change in refused:
        with pytest.raises(sa.exc.DatabaseError, match="only grows"), store.engine.begin() as connection:
            connection.exec_driver_sql(change)


def test_rows_are_all_reached_in_batches(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.platform.store.erasure_queries.READ", 2)
    store.migrate()
    with store.transaction("ws_one") as repository:
        for number in range(5):
            repository.add(Profile(id=f"prf_{number}", name="é Öl AG", kind="config", document={}))
            repository.add_idempotent_answer(f"e{number % 2}", f"Öl AG {number}", "", {}, EPOCH)
            repository.add_idempotent_answer(f"e{number % 2}", f"é {number}", "", {"name": "Öl AG"}, EPOCH)
    with store.transaction("ws_one") as repository:
        counted = repository.erasure.erase("öl ag", "x", dry_run=True)
        found = repository.erasure.erase("öl ag", "x", dry_run=False)
        assert counted == found and len(found["profile"]) == 5 and len(found["idempotency_key"]) == 10
        kept = sorted(repository.values(IdempotencyKey, IdempotencyKey.key))
    assert kept == [f"é {number}" for number in range(5)]


def test_an_invitation_stays_that_of_its_address(store: Store) -> None:
    store.migrate()
    with store.transaction("ws_one") as repository:
        address = {"email": "kim@Novak.com", "sought": "kim@novak.com", "role": "consultant"}
        moments = {"created_at": EPOCH, "expires_at": EPOCH}
        repository.add(Invitation(token_sha256="0" * 64, id="inv_a", **address, **moments))
        repository.add(Profile(id="prf_a", name="Novak", kind="config", document={}))
    with store.transaction("ws_one") as repository:
        assert "invitation" not in repository.erasure.erase("Novak", "x", dry_run=False)
        (found,) = repository.every(Invitation)
        assert (found.email, found.sought) == ("kim@Novak.com", "kim@novak.com")
