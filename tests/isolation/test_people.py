"""People: an owner decides on those of the own workspace, a person on the own sessions."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest
from fastapi import FastAPI

from app.features.accounts.service import join, new_account
from app.platform.admission import Principal, Role
from app.platform.identity import Visitor, new_token, token_hash
from app.platform.sessions import start
from app.platform.store.account_tables import Invitation
from app.platform.store.queries import new_id, now
from tests.conftest import run
from tests.isolation.tenants import ONE, TWO, BearerKind, KnownBearers, tenants


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FastAPI]:
    """A server on which each workspace has an owner, and the first a member, a session, an invitation."""
    made = tenants(tmp_path_factory.mktemp("people"))
    identity = made.state.identity
    with identity.store.identity() as queries:
        one = new_account(queries, "one@example.com", "Zqpersonone", None)
        two = new_account(queries, "two@example.com", "Second", None)
        member = new_account(queries, "member@example.com", "Zqpersonmember", None)
        for account, workspace in ((one, ONE), (two, TWO), (member, ONE)):
            join(queries, account, workspace, Role.CONSULTANT if account is member else Role.OWNER)
        start(queries, identity, one, ONE, Visitor("192.0.2.7", "Zqpersonbrowser"))
        invitation = Invitation(
            token_sha256=token_hash(new_token()), id=new_id("inv"), workspace_id=ONE,
            email="zqpersonguest@example.com", sought="zqpersonguest@example.com", role="viewer",
            created_at=now(), expires_at=now() + timedelta(days=1), used_at=None,
        )  # fmt: skip
        queries.people.add_invitation(invitation)
        made.state.ids = {
            "member": member.id,
            "invitation": invitation.id,
            "session": queries.sessions.of_account(one.id, now(), now() - timedelta(hours=1))[0].id,
        }
    made.state.admission = KnownBearers(
        one=Principal(ONE, "Zqpersonone", Role.OWNER, account_id=one.id),
        two=Principal(TWO, "Second", Role.OWNER, account_id=two.id),
    )
    yield made
    made.state.installation.store.close()


PLACES = [
    ("/people/members/{}", "member"),
    ("/people/members/{}/remove", "member"),
    ("/people/invitations/{}/withdraw", "invitation"),
    ("/account/sessions/{}/end", "session"),
]


@pytest.mark.parametrize(("place", "kind"), PLACES)
def test_nobody_decides_on_another_workspaces_people(app: FastAPI, place: str, kind: str) -> None:
    identifier = app.state.ids[kind]
    nothing = f"{identifier[:4]}aaaaaaaaaaaaaaa{identifier[-1]}"

    async def answers() -> list[tuple[int, str]]:
        ask, found = BearerKind(app), []
        for one in (identifier, nothing):
            answer = await ask("two", "POST", place.format(one), page=True, data={"role": "viewer"})
            found.append((answer.status_code, answer.text.replace(one, "…")))
        await ask.client.aclose()
        return found

    foreign, none = run(answers())
    assert foreign == none
    assert foreign[0] == 404
    assert "zqperson" not in foreign[1].lower()


@pytest.mark.parametrize("path", ["/people", "/people.json", "/account", "/account.json", "/audit.json"])
def test_nobody_sees_another_workspaces_people(app: FastAPI, path: str) -> None:
    async def seen(who: str) -> str:
        ask = BearerKind(app)
        answer = await ask(who, "GET", path, page=True)
        await ask.client.aclose()
        assert answer.status_code == 200, answer.text
        return answer.text.lower()

    assert "zqperson" not in run(seen("two"))
    assert "zqperson" in run(seen("one")) or path == "/audit.json"
