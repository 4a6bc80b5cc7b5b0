"""Accounts in a real browser: signing in with a second factor, an invitation, signing out everywhere."""

from __future__ import annotations

import re
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from email import message_from_bytes
from pathlib import Path
from typing import TYPE_CHECKING

import pyotp
import pytest

from app.features.accounts import service as accounts
from app.main import create_app, identity_of
from app.platform.store.database import Store
from app.platform.workspace import LOCAL_WORKSPACE
from app.settings import Settings
from tests.support.windows import Seat, seat

if TYPE_CHECKING:
    from playwright.sync_api import Browser


pytestmark = pytest.mark.browser

PASSWORD = "correct horse battery"


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file that holds the last mail."""
    return tmp_path_factory.mktemp("mails") / "box"


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory, box: Path) -> Iterator[str]:
    """Address of a running server with accounts, which sends mails."""
    import uvicorn

    mail = ("/bin/sh", "-c", 'cat > "$0"', str(box))
    settings = Settings.at(tmp_path_factory.mktemp("guarded"), mail_command=mail)
    store = Store(settings.database_url)
    store.migrate()
    with store.transaction(LOCAL_WORKSPACE) as repository:
        repository.ensure_workspace("Local")
    identity = identity_of(settings, store)
    for name in ("ann", "bob", "cho"):
        workspace = None if name == "ann" else "Local"
        accounts.add_account(
            identity, f"{name}@example.com", name.title(), password=PASSWORD, workspace=workspace
        )
    store.close()
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        config = uvicorn.Config(create_app(settings), log_level="warning", timeout_graceful_shutdown=2)
        running = uvicorn.Server(config)
        thread = threading.Thread(target=running.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        while not running.started:
            time.sleep(0.02)
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        running.should_exit = True
        thread.join()


@pytest.fixture(params=[True, False], ids=["scripts", "no scripts"])
def visitor(request: pytest.FixtureRequest, guarded: str, browser: Browser) -> Iterator[Seat]:
    """A window of somebody who is not signed in, with scripts and without."""
    with closing(browser.new_context(locale="en-US", java_script_enabled=request.param)) as context:
        yield seat(guarded, context, scripts=request.param)


@pytest.fixture
def other(guarded: str, browser: Browser) -> Iterator[Seat]:
    """A second browser."""
    with closing(browser.new_context(locale="ko-KR")) as context:
        yield seat(guarded, context)


def enter(window: Seat, email: str, following: str = "/studies") -> None:
    """Sign in on the way to a page."""
    page = window.open(following)
    page.fill("#email", email)
    page.fill("#password", PASSWORD)
    page.click("main button")
    window.settle()


def test_the_second_factor_is_turned_on_asked_for_and_turned_off(visitor: Seat) -> None:
    enter(visitor, "ann@example.com")
    page = visitor.page
    assert page.url == f"{visitor.server}/studies"
    assert page.inner_text(".reader a") == "Ann"
    visitor.open("/account/second-factor")
    assert page.locator(".qr svg").is_visible()
    secret = page.inner_text("form code").replace(" ", "")
    page.fill("#password", PASSWORD)
    page.fill("#code", "000000")
    page.click("main button")
    assert page.inner_text("form code").replace(" ", "") == secret
    code = pyotp.TOTP(secret).now()
    page.fill("#password", "not the password")
    page.fill("#code", code)
    page.click("main button")
    assert "wrong" in page.inner_text(".field-error")
    page.fill("#password", PASSWORD)
    page.fill("#code", code)
    page.click("main button")
    codes = page.locator(".recovery-codes code").all_inner_texts()
    assert len(codes) == 10
    page.click(".reader button")
    assert page.url == f"{visitor.server}/sign-in"
    enter(visitor, "ann@example.com", "/people")
    assert page.url.startswith(f"{visitor.server}/sign-in/code")
    page.fill("#code", code)
    page.click("main button")
    assert "already used" in page.inner_text(".field-error")
    page.fill("#code", codes[0])
    page.click("main button")
    assert page.url == f"{visitor.server}/people"
    visitor.open("/account")
    page.fill("#factor-password", PASSWORD)
    page.click("text=Turn off")
    assert "Two-factor authentication is off" in page.inner_text(".notice.good")
    assert visitor.strays == []


def mailed(box: Path, kind: str) -> str:
    """Return the path of the link of a kind that was mailed, waiting for it."""
    for _ in range(200):
        content = message_from_bytes(box.read_bytes()).get_payload(decode=True) if box.exists() else b""
        assert isinstance(content, bytes)
        found = re.search(rf"/{kind}/[\w-]{{43}}", content.decode())
        if found:
            return found[0]
        time.sleep(0.05)
    raise AssertionError(f"no link of {kind} was mailed")


def test_an_invitation_is_made_and_accepted(visitor: Seat, other: Seat, box: Path) -> None:
    box.unlink(missing_ok=True)
    enter(visitor, "ann@example.com", "/people")
    email = f"guest{time.monotonic_ns()}@example.com"
    visitor.page.fill("#email", email)
    visitor.page.select_option("#role", "viewer")
    visitor.page.click("form[action='/people/invitations'] button")
    assert visitor.page.locator(".notice.good").count() == 1
    page = other.open(mailed(box, "invitations"))
    assert page.locator(".entrance-facts").inner_text().count(email) == 1
    page.click("form[action='/forgotten'] button")
    assert page.locator(".notice[role=status]").count() == 1
    page = other.open(mailed(box, "password"))
    page.fill("#password", "짧다")
    page.fill("#again", "짧다")
    page.click("main button")
    assert "12자 이상" in page.inner_text("#password-error-1")
    for field in ("#password", "#again"):
        page.fill(field, "긴 비밀번호를 하나 정합니다")
    page.click("main button")
    page.wait_for_url(f"{visitor.server}/")
    assert page.inner_text(".reader a") == email.partition("@")[0]
    assert other.open("/people").locator("h1").count() == 1
    assert other.page.locator("#members").count() == 0
    row = visitor.open("/people").locator("#members tr", has_text=email)
    row.locator("text=Remove").click()
    assert visitor.page.locator("#members tr", has_text=email).count() == 0
    assert re.search(r"/sign-in", other.open("/studies").url)


def test_signing_out_everywhere_ends_the_other_browser_too(visitor: Seat, other: Seat) -> None:
    enter(visitor, "bob@example.com", "/account")
    enter(other, "bob@example.com", "/account")
    assert other.page.locator("#sessions tbody tr").count() == 2
    visitor.open("/account").click("text=Sign out everywhere")
    assert visitor.page.url == f"{visitor.server}/sign-in"
    assert other.open("/studies").url.startswith(f"{visitor.server}/sign-in")


def test_no_script_reads_the_session(guarded: str, browser: Browser) -> None:
    with closing(browser.new_context(locale="en-US")) as context:
        window = seat(guarded, context)
        enter(window, "cho@example.com")
        assert "session" not in window.page.evaluate("document.cookie")
        kept = next(one for one in context.cookies() if one["name"] == "rackline_session")
        assert kept["httpOnly"] and kept["sameSite"] == "Lax"
        assert [one for one in window.complaints if "Content Security Policy" in one] == []


def test_another_site_cannot_post_with_the_readers_session(guarded: str, browser: Browser) -> None:
    with closing(browser.new_context(locale="en-US")) as context:
        window = seat(guarded, context)
        enter(window, "cho@example.com")
        trap = f"<form method=post action='{guarded}/account/sign-out-everywhere'><button>Win</button></form>"
        context.route(
            "http://evil.example/**", lambda route: route.fulfill(body=trap, content_type="text/html")
        )
        evil = context.new_page()
        evil.goto("http://evil.example/")
        with evil.expect_response(f"{guarded}/account/sign-out-everywhere") as answer:
            evil.click("button")
        assert answer.value.status == 403
        assert window.open("/account").url == f"{guarded}/account"
