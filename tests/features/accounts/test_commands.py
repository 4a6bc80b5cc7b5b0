"""What whoever runs the server does about accounts, its settings, what is kept beside the database."""

from __future__ import annotations

import base64
import importlib.util
import json
import re
import stat
import threading
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pyotp
import pytest
from sqlmodel import SQLModel
from typer.testing import CliRunner, Result

from app.__main__ import command_line
from app.commands.serving import check_reach
from app.errors import AppError, BadInput, TooMany
from app.features.accounts import second_factor
from app.features.operation.secret_rotation import PURPOSES
from app.main import create_app, identity_of, make_installation
from app.platform import passwords
from app.platform.identity import Identity
from app.platform.sealing import Sealer, Unsealable, stored_secret
from app.platform.store.account_queries import SEALED
from app.platform.store.database import Store
from app.platform.store.queries import now
from app.platform.store.trail import TrailFilter
from app.platform.workspace import LOCAL_WORKSPACE
from app.settings import Settings
from tests.features.accounts.conftest import PASSWORD, Browser

Rackline = Callable[..., Result]


@pytest.fixture
def rackline(tmp_path: Path) -> Rackline:
    """Return a function that runs the command on a directory of its own."""

    def call(*arguments: str, typed: str = "", **variables: str) -> Result:
        environment = {"RACKLINE_DATA_DIR": str(tmp_path / "data"), **variables}
        return CliRunner().invoke(command_line(arguments[0]), list(arguments), input=typed, env=environment)

    return call


def refusal(result: Result) -> str:
    assert isinstance(result.exception, AppError), result.output
    return str(result.exception.message)


def test_a_server_is_given_its_accounts(rackline: Rackline, tmp_path: Path) -> None:
    made = rackline(
        "user", "add", "ann@example.com", "--name", "Ann", "--password-stdin", typed=f"{PASSWORD}\n"
    )
    assert made.exit_code == 0 and {"ann@example.com", "owner", "Local"} <= set(made.output.split())
    assert "sign in" in made.output
    linked = rackline("user", "add", "bob@example.com", RACKLINE_PUBLIC_URL="https://rackline.example/")
    assert {"bob@example.com", "consultant", "Local"} <= set(linked.output.split())
    path = linked.output.rpartition("https://rackline.example")[2].strip()
    assert "no password yet" in rackline("user", "list").output
    app = create_app(Settings.at(tmp_path / "data"))
    bob = Browser(app)
    short = bob.submit(path, password="short", again="short")
    assert short.status_code == 400 and "at least 12" in short.text
    assert bob.submit(path, password=PASSWORD, again="another one here").status_code == 400
    assert bob.submit(path, password=PASSWORD, again=PASSWORD).status_code == 303
    assert bob.inside
    assert bob.get(path).status_code == 404
    assert rackline("user", "disable", "bob@example.com").exit_code == 0
    assert not bob.inside
    assert rackline("user", "enable", "BOB@example.com").exit_code == 0
    assert bob.enter("bob@example.com").status_code == 303
    reset = rackline("user", "reset-password", "bob@example.com")
    assert "http://localhost:8000/password/" in reset.output
    assert rackline("user", "reset-second-factor", "bob@example.com").exit_code == 0
    assert not bob.inside


def test_an_account_that_is_not_there_is_told_with_those_that_are(rackline: Rackline) -> None:
    asked = ("user", "reset-password", "ann@example.com")
    assert "ann@example.com" in refusal(rackline(*asked))
    rackline("user", "add", "anna@example.com")
    assert refusal(rackline(*asked)).endswith("anna@example.com")


def test_what_is_done_about_accounts_is_put_down_to_the_operator(rackline: Rackline, tmp_path: Path) -> None:
    rackline("user", "add", "ann@example.com", "--password-stdin", typed=PASSWORD)
    installation = make_installation(Settings.at(tmp_path / "data"))
    with installation.workspace(LOCAL_WORKSPACE).transaction() as repository:
        events, _ = repository.trail.listing(TrailFilter(), 10, None)
    installation.store.close()
    assert [(event.action, event.actor_kind) for event in events] == [("member.created", "operator")]


def test_workspaces_are_made_and_given(rackline: Rackline) -> None:
    assert "first account" in refusal(rackline("workspace", "add", "Lab"))
    rackline("user", "add", "ann@example.com", "--password-stdin", typed=PASSWORD)
    assert rackline("workspace", "add", "Lab").exit_code == 0
    assert "already exists" in refusal(rackline("workspace", "add", "Lab"))
    assert "several workspaces" in refusal(rackline("user", "add", "bob@example.com"))
    assert "no workspace is named" in refusal(rackline("user", "add", "b@example.com", "--workspace", "Labb"))
    first = rackline("user", "add", "bob@example.com", "--workspace", "Lab", "--role", "viewer")
    assert "owner" in refusal(first)
    assert "owner of Lab" in rackline("user", "add", "bob@example.com", "--workspace", "Lab").output
    assert "Lab" in rackline("workspace", "list").output


@pytest.mark.parametrize("password", ["short", "", "bobbobbobbob"])
def test_a_poor_password_is_refused_by_the_command_too(rackline: Rackline, password: str) -> None:
    result = rackline("user", "add", "bob@example.com", "--password-stdin", typed=f"{password}\n")
    refusal(result)
    assert "bob" not in rackline("user", "list").output


def test_without_accounts_a_server_is_not_reached_from_elsewhere(rackline: Rackline) -> None:
    said = refusal(rackline("serve", "--host", "0.0.0.0"))
    assert "rackline user add" in said and "ssh" in said
    rackline("user", "add", "ann@example.com", "--password-stdin", typed=PASSWORD)
    assert "RACKLINE_PUBLIC_URL" in refusal(rackline("serve", "--host", "0.0.0.0"))


def test_with_accounts_and_a_name_it_is(rackline: Rackline, tmp_path: Path) -> None:
    rackline("user", "add", "ann@example.com", "--password-stdin", typed=PASSWORD)
    app = create_app(Settings.at(tmp_path / "data", public_url="https://rackline.example"))
    check_reach("0.0.0.0", app.state.access.now)
    assert Browser(app).get("/studies").status_code == 303


def test_a_loopback_server_with_accounts_asks_as_well(rackline: Rackline, tmp_path: Path) -> None:
    rackline("user", "add", "ann@example.com", "--password-stdin", typed=PASSWORD)
    app = create_app(Settings.at(tmp_path / "data"))
    assert Browser(app, address="127.0.0.1").get("/studies").status_code == 303


def test_the_data_of_before_belongs_to_the_first_account(rackline: Rackline, tmp_path: Path) -> None:
    local = Browser(create_app(Settings.at(tmp_path / "data")), address="127.0.0.1")
    made = local.submit("/price-books", name="Offers of spring")
    assert made.status_code == 303
    rackline("user", "add", "ann@example.com", "--password-stdin", typed=PASSWORD)
    ann = Browser(create_app(Settings.at(tmp_path / "data")))
    ann.enter("ann@example.com")
    assert "Offers of spring" in ann.get("/price-books").text


def test_a_forgotten_password_is_sent(rackline: Rackline, tmp_path: Path) -> None:
    box = tmp_path / "box"
    rackline("user", "add", "ann@example.com", "--password-stdin", typed=PASSWORD)
    command = ["/bin/sh", "-c", 'cat >> "$0"', str(box)]
    app = create_app(Settings.at(tmp_path / "data", mail_command=tuple(command)))
    browser = Browser(app)
    asked = ("nobody@example.com", "ann@example.com", "ann@example.com")
    answers = [browser.submit("/forgotten", email=one) for one in asked]
    assert answers[0].text == answers[1].text and answers[0].status_code == 200
    text = box.read_text(encoding="utf-8")
    assert text.count("To: ") == 1 and "To: ann@example.com" in text
    assert "http://localhost:8000/password/" in text.replace("=\n", "")


def test_a_mail_that_failed_is_sent_when_asked_for_again(rackline: Rackline, tmp_path: Path) -> None:
    box, away = tmp_path / "box", tmp_path / "away"
    away.touch()
    rackline("user", "add", "ann@example.com", "--password-stdin", typed=PASSWORD)
    command = ["/bin/sh", "-c", 'test ! -e "$1" && cat >> "$0"', str(box), str(away)]
    browser = Browser(create_app(Settings.at(tmp_path / "data", mail_command=tuple(command))))
    browser.submit("/forgotten", email="ann@example.com")
    assert not box.exists()
    away.unlink()
    browser.submit("/forgotten", email="ann@example.com")
    assert box.read_text(encoding="utf-8").count("To: ann@example.com") == 1


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("RACKLINE_PUBLIC_URL", "rackline.example"),
        ("RACKLINE_PUBLIC_URL", "https://rackline.example/path"),
        ("RACKLINE_PUBLIC_URL", "https://user@rackline.example"),
        ("RACKLINE_TRUSTED_PROXIES", "proxy.example"),
        ("RACKLINE_TRUSTED_PROXIES", "10.0.0.1/8"),
        ("RACKLINE_SESSION_DAYS", "0"),
        ("RACKLINE_SESSION_IDLE_MINUTES", "soon"),
        ("RACKLINE_SECRET", "too short"),
        ("RACKLINE_SECRET_FALLBACKS", "one-that-is-long-enough-for-anybody too short"),
        ("RACKLINE_MAIL_COMMAND", "sendmail -t"),
        ("RACKLINE_MAIL_COMMAND", "[]"),
        ("RACKLINE_MAIL_FROM", "a@b\nBcc: c@d"),
    ],
)
def test_settings_that_cannot_be_used_are_named(name: str, value: str) -> None:
    with pytest.raises(BadInput) as caught:
        Settings.from_environment({name: value})
    assert [error.field for error in caught.value.errors] == [name]
    assert "too short" not in str(caught.value)


def test_secrets_come_from_files(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text("s" * 40 + "\n", encoding="utf-8")
    found = Settings.from_environment({"RACKLINE_SECRET_FILE": str(file)})
    assert found.secret == "s" * 40
    assert "s" * 40 not in repr(found)
    with pytest.raises(BadInput):
        Settings.from_environment({"RACKLINE_SECRET_FILE": str(file), "RACKLINE_SECRET": "t" * 40})
    with pytest.raises(BadInput) as caught:
        Settings.from_environment({"RACKLINE_SECRET_FILE": str(tmp_path / "missing")})
    assert caught.value.errors[0].field == "RACKLINE_SECRET_FILE"


def test_the_secret_is_made_once_for_its_owner_alone(tmp_path: Path) -> None:
    found: list[bytes] = []
    threads = [threading.Thread(target=lambda: found.append(stored_secret(tmp_path))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8 and len(set(found)) == 1 and len(found[0]) >= 32
    assert stat.S_IMODE((tmp_path / "secret").stat().st_mode) == 0o600
    assert [one.name for one in tmp_path.iterdir()] == ["secret"]


def test_what_is_sealed_opens_with_its_secret_for_its_purpose() -> None:
    sealer = Sealer(lambda: b"a" * 32)
    sealed = sealer.seal("totp:acc_a", "한글 secret")
    assert "secret" not in sealed and sealed != sealer.seal("totp:acc_a", "한글 secret")
    assert sealer.open("totp:acc_a", sealed) == "한글 secret"
    cut = sealed.rpartition(".")
    rest = sealed.partition(".")[2]
    heads = ({"alg": "dir", "enc": []}, {"alg": "dir", "enc": "A256GCM", "crit": 1})
    made_up = [base64.urlsafe_b64encode(json.dumps(one).encode()).rstrip(b"=").decode() for one in heads]
    for other, purpose, text in [
        *((sealer, "totp:acc_a", f"{head}.{rest}") for head in made_up),
        (sealer, "totp:acc_b", sealed),
        (Sealer(lambda: b"b" * 32), "totp:acc_a", sealed),
        (sealer, "totp:acc_a", f"{cut[0]}.{'A' * len(cut[2])}"),
        (sealer, "totp:acc_a", ""),
        (sealer, "totp:acc_a", "not sealed"),
    ]:
        with pytest.raises(Unsealable):
            other.open(purpose, text)


def test_a_second_factor_outlives_the_secret_it_was_sealed_with(rackline: Rackline, tmp_path: Path) -> None:
    old, new = "o" * 40, "n" * 40
    for name in ("ann", "bob"):
        rackline(
            "user", "add", f"{name}@example.com", "--password-stdin", typed=PASSWORD, RACKLINE_SECRET=old
        )
    store = Store(Settings.at(tmp_path / "data").database_url)

    def identity(**secrets: object) -> Identity:
        return identity_of(Settings.at(tmp_path / "data", **secrets), store)

    def code(steps: int) -> str:
        return pyotp.TOTP(offered.secret).at(now() + timedelta(seconds=30 * steps))

    def is_taken(code_at: int, **secrets: object) -> bool:
        made = identity(**secrets)
        account = second_factor.existing_of(made, accounts_of[0])
        return second_factor.takes(made, account, code(code_at))

    with store.identity() as queries:
        accounts_of = [account.id for account in queries.people.accounts()]
    before = identity(secret=old)
    offered = second_factor.offer(before, second_factor.existing_of(before, accounts_of[0]))
    second_factor.turn_on(before, accounts_of[0], PASSWORD, offered.sealed, code(-1))
    assert not is_taken(0, secret=new)
    lost = rackline("rotate-secret", RACKLINE_SECRET=new)
    assert lost.exit_code == 1 and "rackline user reset-second-factor ann@example.com" in lost.output
    assert is_taken(0, secret=new, secret_fallbacks=old)
    both = {"RACKLINE_SECRET": new, "RACKLINE_SECRET_FALLBACKS": f"{'x' * 32}\n{old}"}
    assert "1 secrets would be" in rackline("rotate-secret", "--dry-run", **both).output
    assert re.findall(r"\d+", rackline("rotate-secret", **both).output) == ["1", "0"]
    assert is_taken(1, secret=new)
    store.close()


def test_every_sealed_column_is_sealed_again() -> None:
    columns = {
        f"{table.name}.{column.name}"
        for table in SQLModel.metadata.tables.values()
        for column in table.columns
        if "sealed" in column.name
    }
    assert columns == set(SEALED) == set(PURPOSES)


def test_hashes_cost_what_is_recommended() -> None:
    """OWASP's Password Storage Cheat Sheet: argon2id with 46 MiB, one pass, one lane, or as much."""
    assert passwords.make_hasher().hash("x").startswith("$argon2id$v=19$m=47104,t=1,p=1$")


def test_to_have_no_password_takes_as_long_as_to_have_another() -> None:
    """As it is written: tests have cheaper hashes."""
    spec = importlib.util.find_spec("app.platform.passwords")
    assert spec is not None and spec.loader is not None
    written = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(written)
    kept = written.make_hasher().hash("x")
    assert written.STAND_IN.split("$")[:4] == kept.split("$")[:4]
    assert len(written.STAND_IN) == len(kept)
    assert not written.matches("nobody has this password", None)


def test_hashes_take_few_threads_however_many_sign_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two are computed, six wait, the rest is told to come back at once."""
    free, begun = threading.Event(), threading.Semaphore(0)

    def slow(password: str) -> str:
        begun.release()
        free.wait(20)
        return "hash"

    monkeypatch.setattr(passwords.HASHER, "hash", slow)
    refused: list[TooMany] = []

    def sign_in() -> None:
        try:
            passwords.hashed(PASSWORD)
        except TooMany as error:
            refused.append(error)
            begun.release()

    threads = [threading.Thread(target=sign_in) for _ in range(12)]
    for thread in threads:
        thread.start()
    for _ in range(2 + 4):
        assert begun.acquire(timeout=20)
    assert len(refused) == 4
    free.set()
    for thread in threads:
        thread.join()
    assert len(refused) == 4 and refused[0].retry_after == 5
