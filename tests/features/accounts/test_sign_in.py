"""Signing in on each database: who gets in, how long, and what all failures have in common."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import pyotp
import pytest
from sqlalchemy import text

from app import errors
from app.errors import BadInput, TooMany
from app.features.accounts import people, second_factor
from app.features.accounts import service as accounts
from app.features.accounts.service import SignInRefusal, give_code, sign_in
from app.features.operation.chores import HOUSEKEEPING
from app.main import make_installation
from app.platform import passwords, sessions
from app.platform.admission import Credentials, Principal, Role
from app.platform.identity import Identity, SessionTimes, Visitor, token_hash
from app.platform.sessions import AccountsAdmission
from app.platform.store.trail import TrailFilter
from app.platform.workspace import LOCAL_WORKSPACE, Installation
from app.settings import Settings
from tests.features.accounts.conftest import PASSWORD, HandClock
from tests.support.objects import only_read

HOME = Visitor("192.0.2.1", "Firefox/140")

ELSEWHERE = Visitor("198.51.100.9", "curl/8")


@pytest.fixture
def ann(identity: Identity) -> str:
    """Identifier of an account that can sign in."""
    return accounts.add_account(identity, "Ann@Example.com", "Ann", password=PASSWORD).account.id


def asks(identity: Identity, token: str | None) -> Principal | None:
    """Return who asks with a token."""
    return AccountsAdmission(identity).principal(Credentials(session=token))


def test_the_first_account_is_given_the_local_workspace(identity: Identity) -> None:
    first = accounts.add_account(identity, "a@example.com", "A", password=PASSWORD)
    second = accounts.add_account(identity, "b@example.com", "B", password=PASSWORD, workspace="Local")
    assert (first.workspace.id, first.role) == ("ws_local", Role.OWNER)
    assert (second.workspace.id, second.role) == ("ws_local", Role.CONSULTANT)


def test_an_address_is_found_in_any_case(identity: Identity, ann: str) -> None:
    started = sign_in(identity, " ANN@example.COM", PASSWORD, HOME)
    found = asks(identity, started.token)
    assert found is not None
    assert (found.account_id, found.name, found.role, found.workspace_id, found.workspace_name) == (
        ann, "Ann", Role.OWNER, "ws_local", "Local",
    )  # fmt: skip


def test_who_is_signed_in_goes_on_reading_where_nothing_can_be_written(
    identity: Identity, ann: str, clock: HandClock
) -> None:
    token = sign_in(identity, "ann@example.com", PASSWORD, HOME).token
    clock.wait(minutes=2)
    with only_read(identity.store):
        assert asks(identity, token) is not None
    assert asks(identity, token) is not None
    clock.wait(hours=11, minutes=59)
    assert asks(identity, token) is not None, "its use is written down once it can be"


def test_an_address_has_one_account(identity: Identity, ann: str) -> None:
    with pytest.raises(errors.Conflict) as caught:
        accounts.add_account(identity, "ann@EXAMPLE.com", "Other", workspace="Local")
    assert caught.value.errors[0].field == "email"


@pytest.mark.parametrize("token", [None, "", "x", "x" * 5000, "ü", "'; --"])
def test_nobody_knows_these(identity: Identity, ann: str, token: str | None) -> None:
    assert asks(identity, token) is None


def test_failures_look_alike(identity: Identity, ann: str, clock: HandClock) -> None:
    accounts.add_account(identity, "off@example.com", "Off", password=PASSWORD, workspace="Local")
    accounts.set_disabled(identity, "off@example.com", disabled=True)
    accounts.add_account(identity, "new@example.com", "No password yet", workspace="Local")
    said = set()
    for email, password in [
        ("nobody@example.com", PASSWORD),
        ("ann@example.com", "another password"),
        ("ann@example.com", ""),
        ("off@example.com", PASSWORD),
        ("new@example.com", ""),
        ("new@example.com", "nobody has this password"),
    ]:
        with pytest.raises(SignInRefusal) as caught:
            sign_in(identity, email, password, HOME)
        said.add(str(caught.value.message))
    assert len(said) == 1


def test_an_unknown_account_costs_a_hash_as_well(
    identity: Identity, ann: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What takes time is the hash: it is computed once whoever is named."""
    computed: list[str] = []
    verify = passwords.HASHER.verify

    def counted(password: str, kept: str) -> bool:
        computed.append(kept)
        return verify(password, kept)

    monkeypatch.setattr(passwords.HASHER, "verify", counted)
    for email in ("ann@example.com", "nobody@example.com"):
        with pytest.raises(SignInRefusal):
            sign_in(identity, email, "wrong password", HOME)
    assert len(computed) == 2


def test_a_session_ends_when_it_is_not_used(identity: Identity, ann: str, clock: HandClock) -> None:
    token = sign_in(identity, "ann@example.com", PASSWORD, HOME).token
    for _ in range(3):
        clock.wait(hours=11)
        assert asks(identity, token) is not None
    clock.wait(hours=12, seconds=1)
    assert asks(identity, token) is None


def test_a_session_ends_although_it_is_used(identity: Identity, ann: str, clock: HandClock) -> None:
    token = sign_in(identity, "ann@example.com", PASSWORD, HOME).token
    for _ in range(33):
        clock.wait(hours=10)
        assert asks(identity, token) is not None
    clock.wait(hours=7)
    assert asks(identity, token) is None


def test_times_of_sessions_are_settings(identity: Identity, ann: str, clock: HandClock) -> None:
    short = Identity(identity.store, identity.sealer, SessionTimes(timedelta(minutes=5), timedelta(hours=1)))
    started = sign_in(short, "ann@example.com", PASSWORD, HOME)
    assert started.seconds == 3600
    clock.wait(minutes=6)
    assert asks(short, started.token) is None


def test_use_is_written_down_once_a_minute(identity: Identity, ann: str, clock: HandClock) -> None:
    def seen() -> object:
        with identity.store.engine.connect() as connection:
            return connection.execute(text("SELECT seen_at FROM account_session")).scalar_one()

    token = sign_in(identity, "ann@example.com", PASSWORD, HOME).token
    began = seen()
    clock.wait(seconds=59)
    asks(identity, token)
    assert seen() == began
    clock.wait(seconds=2)
    asks(identity, token)
    assert seen() != began


def test_the_database_holds_no_secret_as_it_is(identity: Identity, ann: str) -> None:
    token = sign_in(identity, "ann@example.com", PASSWORD, HOME).token
    link = accounts.reset_password(identity, "ann@example.com").rpartition("/")[2]
    offered = second_factor.offer(identity, second_factor.existing_of(identity, ann))
    codes = second_factor.turn_on(identity, ann, PASSWORD, offered.sealed, pyotp.TOTP(offered.secret).now())
    kept = ""
    with identity.store.engine.connect() as connection:
        for table in ("account", "account_session", "password_link", "recovery_code", "login_attempt"):
            kept += repr(connection.execute(text(f"SELECT * FROM {table}")).all())
    assert token_hash(token) in kept and "$argon2id$" in kept
    for secret in (token, link, PASSWORD, offered.secret, *codes, codes[0].replace("-", "")):
        assert secret not in kept


def test_disabling_ends_sessions_at_once(identity: Identity, ann: str) -> None:
    token = sign_in(identity, "ann@example.com", PASSWORD, HOME).token
    accounts.set_disabled(identity, "ann@example.com", disabled=True)
    assert asks(identity, token) is None
    accounts.set_disabled(identity, "ann@example.com", disabled=False)
    assert asks(identity, token) is None
    assert asks(identity, sign_in(identity, "ann@example.com", PASSWORD, HOME).token) is not None


def test_signing_out_everywhere_ends_every_session(identity: Identity, ann: str) -> None:
    tokens = [sign_in(identity, "ann@example.com", PASSWORD, HOME).token for _ in range(3)]
    assert sessions.sign_out_everywhere(identity, ann) == 3
    assert [asks(identity, token) for token in tokens] == [None] * 3


def test_the_fifth_failure_makes_the_next_one_wait(identity: Identity, ann: str, clock: HandClock) -> None:
    for _ in range(5):
        with pytest.raises(SignInRefusal):
            sign_in(identity, "ann@example.com", "wrong password", HOME)
    waits = []
    for _ in range(12):
        with pytest.raises(TooMany) as caught:
            sign_in(identity, "ann@example.com", PASSWORD, HOME)
        waits.append(caught.value.retry_after)
        clock.wait(seconds=caught.value.retry_after)
        with pytest.raises(SignInRefusal):
            sign_in(identity, "ann@example.com", "wrong password", HOME)
    assert waits == [2, 3, 5, 9, 17, 33, 65, 129, 257, 513, 901, 901]
    clock.wait(minutes=15, seconds=1)
    assert sign_in(identity, "ann@example.com", PASSWORD, HOME).complete
    with pytest.raises(SignInRefusal):
        sign_in(identity, "ann@example.com", "wrong password", HOME)


def told(identity: Identity, ann: str) -> list[int]:
    """Return what each sign-in told of failures before it, the first first."""
    found = people.get_account(identity, ann, "").sessions
    return [one.failures for one in sorted(found, key=lambda one: one.created_at)]


def test_a_sign_in_tells_what_failed_before_it(identity: Identity, ann: str, clock: HandClock) -> None:
    _, codes = protected(identity, ann, clock)
    for _ in range(3):
        with pytest.raises(SignInRefusal):
            sign_in(identity, "ann@example.com", "wrong password", ELSEWHERE)
    owed = sign_in(identity, "ann@example.com", PASSWORD, HOME)
    for _ in range(2):
        with pytest.raises(BadInput):
            give_code(identity, owed.token, "000000", HOME)
    give_code(identity, owed.token, codes[0], HOME)
    clock.wait(minutes=1)
    give_code(identity, sign_in(identity, "ann@example.com", PASSWORD, HOME).token, codes[1], HOME)
    assert told(identity, ann) == [5, 0]
    with identity.store.transaction(LOCAL_WORKSPACE) as repository:
        events, _ = repository.trail.listing(TrailFilter({"action": "session.started"}), 10, None)
    assert [event.detail.get("failures") for event in events][:2] == [None, 5]
    assert {event.actor_name for event in events} == {"Ann"}


def test_whoever_signs_out_is_in_the_audit_log(identity: Identity, ann: str) -> None:
    here, there = (sign_in(identity, "ann@example.com", PASSWORD, HOME) for _ in range(2))
    for _ in range(2):
        sessions.sign_out(identity, here.token)
    assert sessions.sign_out_everywhere(identity, ann) == 1
    assert asks(identity, there.token) is None
    with identity.store.transaction(LOCAL_WORKSPACE) as repository:
        events, _ = repository.trail.listing(TrailFilter({"action": "session.ended"}), 10, None)
    assert [(event.actor_name, event.object_kind) for event in events] == [("Ann", "session")] * 2
    assert events[0].object_id != events[1].object_id


def test_a_password_that_was_guessed_is_told_to_its_owner(
    identity: Identity, ann: str, clock: HandClock
) -> None:
    _, codes = protected(identity, ann, clock)
    for _ in range(2):
        with pytest.raises(SignInRefusal):
            sign_in(identity, "ann@example.com", "wrong password", ELSEWHERE)
    # The guesser finds the password and stops at the second factor; the throttle has long forgotten.
    assert not sign_in(identity, "ann@example.com", PASSWORD, ELSEWHERE).complete
    clock.wait(days=10)
    give_code(identity, sign_in(identity, "ann@example.com", PASSWORD, HOME).token, codes[0], HOME)
    assert told(identity, ann) == [2]


def test_a_password_that_is_wrong_within_a_session_is_told_by_the_next(
    identity: Identity, ann: str, clock: HandClock
) -> None:
    here = sign_in(identity, "ann@example.com", PASSWORD, HOME).token
    with pytest.raises(BadInput):
        accounts.change_password(identity, ann, "not the password", "another password", ELSEWHERE, here)
    clock.wait(minutes=1)
    sign_in(identity, "ann@example.com", PASSWORD, HOME)
    assert told(identity, ann) == [0, 1]


def test_who_is_not_looked_at_does_not_wait_for_it(
    identity: Identity, ann: str, clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crowd(*_: object) -> bool:
        raise passwords.crowded()

    with monkeypatch.context() as patch:
        patch.setattr(passwords, "matches", crowd)
        for _ in range(12):
            with pytest.raises(TooMany, match="too many people"):
                sign_in(identity, "ann@example.com", PASSWORD, HOME)
    assert sign_in(identity, "ann@example.com", PASSWORD, HOME).complete
    assert told(identity, ann) == [0]


def test_unknown_accounts_are_made_to_wait_as_known_ones(
    identity: Identity, ann: str, clock: HandClock
) -> None:
    for email in ("ann@example.com", "nobody@example.com"):
        for _ in range(5):
            with pytest.raises(SignInRefusal):
                sign_in(identity, email, "wrong password", HOME)
        with pytest.raises(TooMany):
            sign_in(identity, email, "wrong password", HOME)


def test_an_address_that_tries_many_accounts_has_to_wait(
    identity: Identity, ann: str, clock: HandClock
) -> None:
    for number in range(30):
        with pytest.raises(SignInRefusal):
            sign_in(identity, f"guess{number}@example.com", "wrong password", HOME)
    with pytest.raises(TooMany):
        sign_in(identity, "ann@example.com", PASSWORD, HOME)
    assert sign_in(identity, "ann@example.com", PASSWORD, Visitor("192.0.2.2")).complete


def test_guesses_at_the_same_time_are_counted_each(identity: Identity, ann: str, clock: HandClock) -> None:
    outcomes: list[type[Exception]] = []

    def guess() -> None:
        try:
            sign_in(identity, "ann@example.com", "wrong password", HOME)
        except (SignInRefusal, TooMany) as error:
            outcomes.append(type(error))

    threads = [threading.Thread(target=guess) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(outcomes) == 16
    assert outcomes.count(SignInRefusal) <= 5


def test_a_link_to_set_a_password_works_once_and_ends_sessions(identity: Identity, ann: str) -> None:
    token = sign_in(identity, "ann@example.com", PASSWORD, HOME).token
    first = accounts.reset_password(identity, "ann@example.com").rpartition("/")[2]
    link = accounts.reset_password(identity, "ann@example.com").rpartition("/")[2]
    with pytest.raises(errors.NotFound):
        accounts.set_password(identity, first, "a second password", HOME, None)
    assert asks(identity, token) is not None
    started = accounts.set_password(identity, link, "a second password", HOME, None)
    assert started is not None and asks(identity, started.token) is not None
    assert asks(identity, token) is None
    with pytest.raises(errors.NotFound):
        accounts.set_password(identity, link, "a third password", HOME, None)
    with pytest.raises(SignInRefusal):
        sign_in(identity, "ann@example.com", PASSWORD, HOME)
    assert sign_in(identity, "ann@example.com", "a second password", HOME).complete


def test_a_link_to_set_a_password_has_its_time(identity: Identity, ann: str, clock: HandClock) -> None:
    link = accounts.reset_password(identity, "ann@example.com").rpartition("/")[2]
    clock.wait(days=2, seconds=1)
    with pytest.raises(errors.NotFound):
        accounts.led_to(identity, link)


@pytest.mark.parametrize(
    "password",
    [
        "",
        "short",
        "eleven char",
        " " * 12,
        "\u3000a1b2c3d" + " " * 9,
        "aaaaaaaaaaaaaaa",
        "ann@example.com",
        "x" * 201,
    ],
)
def test_these_passwords_are_refused(identity: Identity, ann: str, password: str) -> None:
    with pytest.raises(BadInput) as caught:
        accounts.change_password(identity, ann, PASSWORD, password, HOME, "")
    assert [error.field for error in caught.value.errors] == ["password"]


def test_a_password_is_the_same_however_it_is_composed(identity: Identity) -> None:
    accounts.add_account(identity, "k@example.com", "K", password="비밀번호는 열두 자 이상입니다")
    decomposed = "비밀번호는 열두 자 이상입니다"
    assert sign_in(identity, "k@example.com", decomposed, HOME).complete


def test_what_has_had_its_time_is_deleted(identity: Identity, ann: str, clock: HandClock) -> None:
    sign_in(identity, "ann@example.com", PASSWORD, HOME)
    accounts.reset_password(identity, "ann@example.com")
    with pytest.raises(SignInRefusal):
        sign_in(identity, "ann@example.com", "wrong password", HOME)
    people.invite(identity, Principal("ws_local", "Ann", Role.OWNER, ann), "b@example.com", Role.VIEWER, "en")
    with identity.store.identity() as queries:
        assert (
            queries.sessions.purge(clock(), clock() - timedelta(hours=1), clock() - timedelta(hours=1)) == 0
        )
    clock.wait(days=15)
    # Nobody signs in by a password: the server sees to it by itself.
    (chore,) = (chore for chore in HOUSEKEEPING if chore.name == "sign-ins")
    chore.run(Installation(cast(Any, None), identity.store))
    with identity.store.engine.connect() as connection:
        left = {
            table: connection.scalar(text(f"SELECT count(*) FROM {table}"))
            for table in ("account_session", "invitation", "password_link", "login_attempt")
        }
    assert set(left.values()) == {0}, left


def test_the_server_knows_how_long_its_sessions_work(tmp_path: Path) -> None:
    installation = make_installation(Settings.at(tmp_path, session_idle_minutes=5))
    installation.store.close()
    assert installation.session_times.idle == timedelta(minutes=5)


def test_a_second_factor_is_asked_for(identity: Identity, ann: str, clock: HandClock) -> None:
    secret, codes = protected(identity, ann, clock)
    owed = sign_in(identity, "ann@example.com", PASSWORD, HOME)
    assert not owed.complete and asks(identity, owed.token) is None
    with pytest.raises(BadInput):
        give_code(identity, owed.token, pyotp.TOTP(secret).at(clock()), HOME)
    clock.wait(seconds=30)
    code = pyotp.TOTP(secret).at(clock())
    done = give_code(identity, owed.token, f" {code[:3]} {code[3:]} ", HOME)
    assert done.complete and done.token != owed.token
    assert asks(identity, done.token) is not None and asks(identity, owed.token) is None
    again = sign_in(identity, "ann@example.com", PASSWORD, HOME)
    with pytest.raises(BadInput):
        give_code(identity, again.token, code, HOME)
    assert asks(identity, give_code(identity, again.token, codes[3].upper(), HOME).token) is not None
    third = sign_in(identity, "ann@example.com", PASSWORD, HOME)
    with pytest.raises(BadInput):
        give_code(identity, third.token, codes[3], HOME)


def test_a_code_is_taken_once_also_at_the_same_time(identity: Identity, ann: str, clock: HandClock) -> None:
    secret, _ = protected(identity, ann, clock)
    clock.wait(seconds=30)
    code, account = pyotp.TOTP(secret).at(clock()), second_factor.existing_of(identity, ann)
    together, taken = threading.Barrier(6), list[bool]()

    def take() -> None:
        together.wait(10)
        taken.append(second_factor.takes(identity, account, code))

    threads = [threading.Thread(target=take) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(taken) == [False] * 5 + [True]
    clock.wait(seconds=-30)
    earlier = pyotp.TOTP(secret).at(clock())
    assert not second_factor.takes(identity, account, earlier), "a clock that is put back opens none again"
    for days in (1, 365):
        clock.wait(days=days)
        assert second_factor.takes(identity, account, pyotp.TOTP(secret).at(clock()))
        clock.wait(days=-days, seconds=60)
        now_right = pyotp.TOTP(secret).at(clock())
        assert second_factor.takes(identity, account, now_right), "a clock that was ahead shuts nobody out"
        assert not second_factor.takes(identity, account, now_right)


def protected(identity: Identity, account_id: str, clock: HandClock) -> tuple[str, list[str]]:
    """Turn the second factor of an account on."""
    offered = second_factor.offer(identity, second_factor.existing_of(identity, account_id))
    code = pyotp.TOTP(offered.secret).at(clock())
    return offered.secret, second_factor.turn_on(identity, account_id, PASSWORD, offered.sealed, code)


def test_a_code_has_its_time(identity: Identity, ann: str, clock: HandClock) -> None:
    secret, _ = protected(identity, ann, clock)
    for late in (90, -90):
        owed = sign_in(identity, "ann@example.com", PASSWORD, HOME)
        with pytest.raises(BadInput):
            give_code(identity, owed.token, pyotp.TOTP(secret).at(clock() - timedelta(seconds=late)), HOME)
    owed = sign_in(identity, "ann@example.com", PASSWORD, HOME)
    clock.wait(minutes=10, seconds=1)
    with pytest.raises(SignInRefusal):
        give_code(identity, owed.token, pyotp.TOTP(secret).at(clock()), HOME)


def test_codes_cannot_be_guessed_on_and_on(identity: Identity, ann: str, clock: HandClock) -> None:
    secret, _ = protected(identity, ann, clock)
    clock.wait(seconds=60)
    for _ in range(5):
        owed = sign_in(identity, "ann@example.com", PASSWORD, HOME)
        with pytest.raises(BadInput):
            give_code(identity, owed.token, "000000", HOME)
    owed = sign_in(identity, "ann@example.com", PASSWORD, HOME)
    with pytest.raises(TooMany):
        give_code(identity, owed.token, pyotp.TOTP(secret).at(clock()), HOME)


def test_a_sealed_secret_opens_for_its_account_alone(identity: Identity, ann: str, clock: HandClock) -> None:
    bob = accounts.add_account(identity, "bob@example.com", "Bob", password=PASSWORD, workspace="Local")
    secret, _ = protected(identity, ann, clock)
    with identity.store.identity() as queries:
        mine, his = queries.people.account(ann), queries.people.account(bob.account.id)
        assert mine is not None and his is not None
        his.totp_sealed = mine.totp_sealed
    clock.wait(seconds=60)
    owed = sign_in(identity, "bob@example.com", PASSWORD, HOME)
    with pytest.raises(BadInput):
        give_code(identity, owed.token, pyotp.TOTP(secret).at(clock()), HOME)


def test_the_operator_takes_a_lost_second_factor_away(identity: Identity, ann: str, clock: HandClock) -> None:
    protected(identity, ann, clock)
    accounts.reset_second_factor(identity, "ann@example.com")
    assert sign_in(identity, "ann@example.com", PASSWORD, HOME).complete


def test_a_link_for_a_password_does_not_stand_in_for_the_second_factor(
    identity: Identity, ann: str, clock: HandClock
) -> None:
    protected(identity, ann, clock)
    link = accounts.reset_password(identity, "ann@example.com").rpartition("/")[2]
    assert accounts.set_password(identity, link, "a second password", HOME, None) is None
    assert not sign_in(identity, "ann@example.com", "a second password", HOME).complete


def test_a_second_factor_is_taken_once_however_often_it_is_asked_for_at_once(
    identity: Identity, ann: str, clock: HandClock
) -> None:
    offered = second_factor.offer(identity, second_factor.existing_of(identity, ann))
    code = pyotp.TOTP(offered.secret).at(clock())
    together, given = threading.Barrier(4), list[list[str]]()

    def ask() -> None:
        together.wait()
        with contextlib.suppress(errors.Conflict):
            given.append(second_factor.turn_on(identity, ann, PASSWORD, offered.sealed, code))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (codes,) = given
    clock.wait(seconds=60)
    owed = sign_in(identity, "ann@example.com", PASSWORD, HOME)
    assert give_code(identity, owed.token, codes[0], HOME).complete, (
        "the codes that were shown are the ones kept"
    )


def meanwhile(patch: pytest.MonkeyPatch, module: Any, name: str, happens: Callable[[], object]) -> None:
    """Let something happen once, right after a function of a module has answered."""
    answers = getattr(module, name)

    def slow(*values: Any) -> Any:
        answer = answers(*values)
        patch.setattr(module, name, answers)
        happens()
        return answer

    patch.setattr(module, name, slow)


OTHER = "a second password"


@pytest.mark.parametrize("change", ["password", "disabled"])
def test_a_sign_in_under_way_does_not_outlive_its_password(
    identity: Identity, ann: str, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    def happens() -> None:
        if change == "password":
            accounts.change_password(identity, ann, PASSWORD, OTHER, HOME, "")
        else:
            accounts.set_disabled(identity, "ann@example.com", disabled=True)

    meanwhile(monkeypatch, passwords, "matches", happens)
    with pytest.raises(SignInRefusal):
        sign_in(identity, "ann@example.com", PASSWORD, ELSEWHERE)
    sessions_left = people.get_account(identity, ann, "").sessions
    assert all(session.address == HOME.address for session in sessions_left)


@pytest.mark.parametrize("door", ["password", "link"])
def test_a_second_factor_is_owed_by_who_was_signing_in_when_it_was_turned_on(
    identity: Identity, ann: str, clock: HandClock, monkeypatch: pytest.MonkeyPatch, door: str
) -> None:
    link = accounts.reset_password(identity, "ann@example.com").rpartition("/")[2]
    if door == "password":
        meanwhile(monkeypatch, passwords, "matches", lambda: protected(identity, ann, clock))
        assert not sign_in(identity, "ann@example.com", PASSWORD, HOME).complete
    else:
        meanwhile(monkeypatch, accounts, "hashed", lambda: protected(identity, ann, clock))
        assert accounts.set_password(identity, link, OTHER, HOME, None) is None


@pytest.mark.parametrize("change", ["password", "second factor", "sign-out"])
def test_a_code_completes_no_session_that_has_ended_meanwhile(
    identity: Identity, ann: str, clock: HandClock, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    _, codes = protected(identity, ann, clock)
    owed = sign_in(identity, "ann@example.com", PASSWORD, ELSEWHERE).token

    def happens() -> None:
        if change == "password":
            accounts.change_password(identity, ann, PASSWORD, OTHER, HOME, "")
        elif change == "second factor":
            second_factor.turn_off(identity, ann, PASSWORD)
            protected(identity, ann, clock)
        else:
            sessions.sign_out(identity, owed)

    meanwhile(monkeypatch, second_factor, "takes", happens)
    with pytest.raises(SignInRefusal, match="too late"):
        give_code(identity, owed, codes[0], ELSEWHERE)


@pytest.mark.parametrize("attempt", ["password", "second factor", "recovery codes"])
def test_a_password_that_was_changed_confirms_nothing_any_more(
    identity: Identity, ann: str, clock: HandClock, monkeypatch: pytest.MonkeyPatch, attempt: str
) -> None:
    _, codes = protected(identity, ann, clock)

    def happens() -> None:
        accounts.change_password(identity, ann, PASSWORD, OTHER, HOME, "")

    meanwhile(monkeypatch, passwords, "matches", happens)
    with pytest.raises(BadInput) as refused:
        if attempt == "password":
            accounts.change_password(identity, ann, PASSWORD, "a third password", ELSEWHERE, "")
        elif attempt == "second factor":
            second_factor.turn_off(identity, ann, PASSWORD)
        else:
            second_factor.other_recovery_codes(identity, ann, PASSWORD)
    assert refused.value.errors[0].field == ("present" if attempt == "password" else "password")
    owed = sign_in(identity, "ann@example.com", OTHER, HOME)
    assert give_code(identity, owed.token, codes[0], HOME).complete


def test_the_trail_says_what_protects_an_account(identity: Identity, ann: str, clock: HandClock) -> None:
    protected(identity, ann, clock)
    second_factor.other_recovery_codes(identity, ann, PASSWORD)
    second_factor.turn_off(identity, ann, PASSWORD)
    accounts.change_password(identity, ann, PASSWORD, "a second password", HOME, "")
    people.change_workspace(identity, LOCAL_WORKSPACE, "Alpha", False)
    with identity.store.transaction(LOCAL_WORKSPACE) as repository:
        events, _ = repository.trail.listing(TrailFilter(), 20, None)
    changed = [event.detail for event in events if event.action == "account.changed"]
    assert len(changed) == 4
    for detail in (
        {"fields": ["second_factor"], "active": True},
        {"fields": ["recovery_codes"]},
        {"fields": ["second_factor"], "active": False},
        {"fields": ["password"]},
    ):
        assert detail in changed
    assert [event.detail for event in events if event.action == "workspace.changed"] == [
        {"name": "Alpha", "second_approval": False}
    ]
