"""Invitations, roles, and the owner who cannot be lost; on each database."""

from __future__ import annotations

import re
import threading
from dataclasses import replace
from email import message_from_bytes
from pathlib import Path

import pytest

from app.errors import BadInput, Conflict, NotFound
from app.features.accounts import people
from app.features.accounts import service as accounts
from app.features.accounts.mailing import CommandMailer
from app.features.accounts.service import SignInRefusal, sign_in
from app.platform import sessions
from app.platform.admission import Credentials, Principal, Role
from app.platform.identity import Identity, Visitor
from app.platform.sessions import AccountsAdmission
from app.platform.store.queries import now
from tests.features.accounts.conftest import PASSWORD, HandClock

HOME = Visitor("192.0.2.1")


@pytest.fixture
def ann(identity: Identity) -> Principal:
    made = accounts.add_account(identity, "ann@example.com", "Ann", password=PASSWORD)
    return Principal("ws_local", "Ann", Role.OWNER, made.account.id)


def token_of(sent: people.NewInvitation) -> str:
    return sent.link.rpartition("/")[2]


def role_of(identity: Identity, token: str) -> Role | None:
    found = AccountsAdmission(identity).principal(Credentials(session=token))
    return None if found is None else found.role


def links_mailed(identity: Identity, *emails: str) -> list[str]:
    """Ask for links to set a password, and return the tokens of those that are mailed."""
    texts: list[str] = []
    mailing = replace(identity, mail=lambda _, __, text: not texts.append(text))
    for email in emails:
        accounts.send_reset(mailing, email, "en")
    return [re.findall(r"/password/(\S+)", text)[0] for text in texts]


def newcomer(identity: Identity, email: str) -> Role | None:
    """Set a password by a mailed link, and return the role that its owner then has."""
    (token,) = links_mailed(identity, email)
    started = accounts.set_password(identity, token, PASSWORD, HOME, None)
    return None if started is None else role_of(identity, started.token)


def test_who_is_invited_joins_once_by_a_link_that_reaches_the_address(
    identity: Identity, ann: Principal
) -> None:
    sent = people.invite(identity, ann, "Bob@example.com", Role.VIEWER, "en")
    assert not sent.mailed and sent.link.startswith("http://localhost:8000/invitations/")
    assert newcomer(identity, " bob@EXAMPLE.com") is Role.VIEWER
    with pytest.raises(NotFound):
        people.open_invitation(identity, token_of(sent))
    assert links_mailed(identity, "eve@example.com") == []
    assert [one.email for one in people.list_people(identity, "ws_local").members] == [
        "ann@example.com",
        "Bob@example.com",
    ]


def test_an_invitation_does_not_tell_whether_its_address_has_an_account(
    identity: Identity, ann: Principal
) -> None:
    accounts.add_workspace(identity, "Other")
    accounts.add_account(identity, "bob@example.com", "Bob", password=PASSWORD, workspace="Other")
    known, unknown = (
        people.open_invitation(
            identity, token_of(people.invite(identity, ann, f"{name}@example.com", Role.VIEWER, "en"))
        )
        for name in ("bob", "new")
    )
    assert replace(known, email="") == replace(unknown, email="")


def test_an_invitation_is_of_its_mailbox_alone(identity: Identity, ann: Principal) -> None:
    people.invite(identity, ann, "stra\u00dfe@example.com", Role.OWNER, "en")
    assert links_mailed(identity, "strasse@example.com") == []


def test_invitations_end(identity: Identity, ann: Principal, clock: HandClock) -> None:
    replaced = people.invite(identity, ann, "bob@example.com", Role.VIEWER, "en")
    late = people.invite(identity, ann, "BOB@example.com", Role.VIEWER, "en")
    taken = people.invite(identity, ann, "eve@example.com", Role.VIEWER, "en")
    waiting = people.list_people(identity, "ws_local").invitations
    assert {one.email for one in waiting} == {"BOB@example.com", "eve@example.com"}
    people.withdraw(identity, "ws_local", next(one.id for one in waiting if one.email == "eve@example.com"))
    clock.wait(days=7, seconds=1)
    for sent in (replaced, late, taken):
        with pytest.raises(NotFound):
            people.open_invitation(identity, token_of(sent))


def test_an_account_joins_by_signing_in(identity: Identity, ann: Principal) -> None:
    other = accounts.add_workspace(identity, "Other")
    bob = accounts.add_account(identity, "bob@example.com", "Bob", password=PASSWORD, workspace="Other")
    eve = accounts.add_account(identity, "eve@example.com", "Eve", password=PASSWORD, workspace="Other")
    token = token_of(people.invite(identity, ann, "Bob@example.com", Role.CONSULTANT, "en"))
    hers = sign_in(identity, "eve@example.com", PASSWORD, HOME).token
    with pytest.raises(NotFound):
        people.join_by(identity, token, eve.account.id, hers)
    his = sign_in(identity, "bob@example.com", PASSWORD, HOME).token
    assert role_of(identity, his) is Role.OWNER
    people.join_by(identity, token, bob.account.id, his)
    assert role_of(identity, his) is Role.CONSULTANT
    sessions.switch_workspace(identity, bob.account.id, his, other.id)
    assert role_of(identity, his) is Role.OWNER
    for entered in ("ws_local", other.id):
        with identity.store.transaction(entered) as repository:
            assert "session.moved" in repository.trail.actions(), "a workspace knows who came into it"
    with pytest.raises(NotFound):
        sessions.switch_workspace(identity, eve.account.id, hers, "ws_local")


def test_a_link_asked_for_twice_at_once_makes_one_account(identity: Identity, ann: Principal) -> None:
    people.invite(identity, ann, "bob@example.com", Role.VIEWER, "en")
    together, mailed = threading.Barrier(2), list[str]()

    def ask() -> None:
        together.wait(10)
        mailed.extend(links_mailed(identity, "bob@example.com"))

    threads = [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(mailed) == 1
    assert len(accounts.list_accounts(identity)) == 2


def test_a_member_is_not_invited_again(identity: Identity, ann: Principal) -> None:
    with pytest.raises(Conflict) as caught:
        people.invite(identity, ann, "ANN@example.com", Role.VIEWER, "en")
    assert caught.value.errors[0].field == "email"


def test_the_last_owner_stays(identity: Identity, ann: Principal) -> None:
    assert ann.account_id is not None
    bob = accounts.add_account(identity, "bob@example.com", "Bob", password=PASSWORD, workspace="Local")
    for change in (
        lambda: people.remove(identity, "ws_local", str(ann.account_id)),
        lambda: people.change_role(identity, "ws_local", str(ann.account_id), Role.VIEWER),
    ):
        with pytest.raises(Conflict):
            change()
    people.change_role(identity, "ws_local", bob.account.id, Role.OWNER)
    accounts.set_disabled(identity, "bob@example.com", disabled=True)
    with pytest.raises(Conflict):
        people.remove(identity, "ws_local", ann.account_id)
    accounts.set_disabled(identity, "bob@example.com", disabled=False)
    people.remove(identity, "ws_local", ann.account_id)
    with pytest.raises(SignInRefusal):
        sign_in(identity, "ann@example.com", PASSWORD, HOME)


def test_two_owners_cannot_take_leave_at_the_same_time(identity: Identity, ann: Principal) -> None:
    bob = accounts.add_account(
        identity, "bob@example.com", "Bob", role=Role.OWNER, password=PASSWORD, workspace="Local"
    )
    refused: list[Conflict] = []

    def leave(account_id: str) -> None:
        try:
            people.remove(identity, "ws_local", account_id)
        except Conflict as error:
            refused.append(error)

    threads = [threading.Thread(target=leave, args=(one,)) for one in (str(ann.account_id), bob.account.id)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(refused) == 1
    assert len(people.list_people(identity, "ws_local").members) == 1


def test_who_is_removed_is_out_at_once(identity: Identity, ann: Principal) -> None:
    bob = accounts.add_account(identity, "bob@example.com", "Bob", password=PASSWORD, workspace="Local")
    token = sign_in(identity, "bob@example.com", PASSWORD, HOME).token
    assert role_of(identity, token) is Role.CONSULTANT
    people.change_role(identity, "ws_local", bob.account.id, Role.VIEWER)
    assert role_of(identity, token) is Role.VIEWER
    people.remove(identity, "ws_local", bob.account.id)
    assert role_of(identity, token) is None


@pytest.mark.parametrize("change", ["removed", "demoted", "disabled", "late"])
def test_no_owner_comes_back_by_an_invitation_of_their_own(
    identity: Identity, ann: Principal, change: str
) -> None:
    made = accounts.add_account(
        identity, "bob@example.com", "Bob", role=Role.OWNER, password=PASSWORD, workspace="Local"
    )
    bob = Principal("ws_local", "Bob", Role.OWNER, made.account.id)
    hers = people.invite(identity, ann, "eve@example.com", Role.VIEWER, "en")
    his = people.invite(identity, bob, "bob2@example.com", Role.OWNER, "en")
    if change == "demoted":
        people.change_role(identity, "ws_local", made.account.id, Role.CONSULTANT)
    elif change == "disabled":
        accounts.set_disabled(identity, "bob@example.com", disabled=True)
    else:
        people.remove(identity, "ws_local", made.account.id)
    if change == "late":
        # Asked for while he was an owner, written down after that.
        his = people.invite(identity, bob, "bob2@example.com", Role.OWNER, "en")
    with pytest.raises(NotFound):
        people.open_invitation(identity, token_of(his))
    assert links_mailed(identity, "bob2@example.com") == []
    with identity.store.identity() as queries:
        assert queries.external.invitation_for("bob2@example.com", now()) is None
    waiting = [one.email for one in people.list_people(identity, "ws_local").invitations]
    assert ("bob2@example.com" in waiting) == (change in {"disabled", "late"})
    people.open_invitation(identity, token_of(hers))
    assert newcomer(identity, "eve@example.com") is Role.VIEWER


def test_an_invitation_of_nobody_known_stays_valid(identity: Identity, ann: Principal) -> None:
    people.invite(identity, Principal("ws_local", "?", Role.OWNER), "eve@example.com", Role.OWNER, "en")
    assert newcomer(identity, "eve@example.com") is Role.OWNER


def test_people_of_another_workspace_are_out_of_reach(identity: Identity, ann: Principal) -> None:
    other = accounts.add_workspace(identity, "Other")
    bob = accounts.add_account(identity, "bob@example.com", "Bob", password=PASSWORD, workspace="Other")
    there = Principal(other.id, "Bob", Role.OWNER, bob.account.id)
    people.invite(identity, there, "new@example.com", Role.VIEWER, "en")
    waiting = people.list_people(identity, other.id).invitations[0].id
    for change in (
        lambda: people.remove(identity, "ws_local", bob.account.id),
        lambda: people.change_role(identity, "ws_local", bob.account.id, Role.VIEWER),
        lambda: people.withdraw(identity, "ws_local", waiting),
    ):
        with pytest.raises(NotFound):
            change()
    seen = people.list_people(identity, "ws_local").model_dump_json()
    assert "bob@example.com" not in seen and "new@example.com" not in seen


def test_an_invitation_is_mailed_by_a_command(identity: Identity, ann: Principal, tmp_path: Path) -> None:
    box = tmp_path / "box"
    mail = CommandMailer(["/bin/sh", "-c", 'cat > "$0"', str(box)], "rackline@example.com")
    mailing = Identity(identity.store, identity.sealer, mail=mail, public_url="https://rackline.example")
    sent = people.invite(mailing, ann, "bob@example.com", Role.VIEWER, "ko", "http://evil.example/")
    assert sent.mailed
    text = box.read_bytes()
    assert b"To: bob@example.com" in text and b"From: rackline@example.com" in text
    assert people.open_invitation(mailing, token_of(sent)).email == "bob@example.com"
    assert "evil" not in sent.link


def test_a_name_that_looks_like_an_encoded_word_adds_nothing_to_a_mail(
    identity: Identity, ann: Principal, tmp_path: Path
) -> None:
    box = tmp_path / "box"
    mail = CommandMailer(["/bin/sh", "-c", 'cat > "$0"', str(box)])
    mailing = Identity(identity.store, identity.sealer, mail=mail)
    name = "=?utf-8?q?x=0d=0aBcc:=20evil@example.com=0d=0a=0d=0aBody?= Two"
    people.change_workspace(mailing, "ws_local", name, False)
    assert people.invite(mailing, ann, "bob@example.com", Role.VIEWER, "en").mailed
    message = message_from_bytes(box.read_bytes())
    assert message["Bcc"] is None and "invites you" in message.get_payload()
    assert set(message) == {
        "To", "Subject", "Auto-Submitted", "Content-Type", "Content-Transfer-Encoding", "MIME-Version"
    }  # fmt: skip


@pytest.mark.parametrize("email", ["\ufdfa" * 64 + "@example.com", "x@evil\uff20example.com"])
def test_an_address_that_folding_makes_another_is_refused(
    identity: Identity, ann: Principal, email: str
) -> None:
    with pytest.raises(BadInput):
        people.invite(identity, ann, email, Role.VIEWER, "en")


def test_a_mail_that_cannot_be_sent_shows_the_link(identity: Identity, ann: Principal) -> None:
    failing = Identity(identity.store, identity.sealer, mail=CommandMailer(["/bin/false"]))
    sent = people.invite(failing, ann, "bob@example.com", Role.VIEWER, "en")
    assert not sent.mailed and people.open_invitation(failing, token_of(sent)).role is Role.VIEWER


def test_a_mail_that_cannot_be_written_shows_the_link(
    identity: Identity, ann: Principal, tmp_path: Path
) -> None:
    mail = CommandMailer(["/bin/sh", "-c", 'cat > "$0"', str(tmp_path / "box")], "a\r\nBcc: b@example.com")
    failing = Identity(identity.store, identity.sealer, mail=mail)
    sent = people.invite(failing, ann, "bob@example.com", Role.VIEWER, "en")
    assert not sent.mailed and people.open_invitation(failing, token_of(sent)).role is Role.VIEWER
    assert not (tmp_path / "box").exists()


def test_a_workspace_has_its_bound(
    identity: Identity, ann: Principal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(accounts, "MOST_MEMBERS", 2)
    for name in ("bob", "eve"):
        people.invite(identity, ann, f"{name}@example.com", Role.VIEWER, "en")
    hers, his = links_mailed(identity, "eve@example.com", "bob@example.com")
    accounts.set_password(identity, his, PASSWORD, HOME, None)
    with pytest.raises(Conflict, match="2 members"):
        people.invite(identity, ann, "more@example.com", Role.VIEWER, "en")
    with pytest.raises(Conflict, match="2 members"):
        accounts.set_password(identity, hers, PASSWORD, HOME, None)
    bob_member = people.list_people(identity, "ws_local").members[1]
    people.remove(identity, "ws_local", bob_member.id)
    # What was refused has used up neither the invitation nor the link.
    started = accounts.set_password(identity, hers, PASSWORD, HOME, None)
    assert started is not None and role_of(identity, started.token) is Role.VIEWER


@pytest.mark.parametrize(
    "email",
    [
        "",
        "nobody",
        "@example.com",
        "a b@example.com",
        "a@b\r\nBcc: c@d",
        "a@b,c@d",
        "<a@b>",
        "a@" + "b" * 300,
        "=?utf-8?q?a=0d=0aBcc=3a_v?=@x.com",
        "=?utf-8?q?a=40b=2Ccom?=@x.com",
    ],
)
def test_what_cannot_be_written_to_is_refused(identity: Identity, ann: Principal, email: str) -> None:
    with pytest.raises(BadInput):
        people.invite(identity, ann, email, Role.VIEWER, "en")
