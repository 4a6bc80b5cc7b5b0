"""A server with accounts, and browsers that keep its cookies."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from bs4 import BeautifulSoup
from fastapi import FastAPI
from pwdlib import PasswordHash
from pwdlib.hashers.argon2 import Argon2Hasher

from app.features.accounts import people, second_factor
from app.features.accounts import service as accounts
from app.main import create_app, identity_of
from app.platform import passwords, sessions
from app.platform.admission import Role
from app.platform.identity import Identity
from app.platform.sealing import Sealer
from app.platform.store.database import Store
from app.platform.store.queries import now
from app.platform.workspace import LOCAL_WORKSPACE
from app.settings import Settings
from tests.conftest import run

PASSWORD = "correct horse battery"


@pytest.fixture(scope="session", autouse=True)
def quick_hashes() -> Iterator[None]:
    """Hashes that cost nothing: what they cost in truth is held by a test of its own."""
    with pytest.MonkeyPatch.context() as patch:
        cheap = PasswordHash((Argon2Hasher(time_cost=1, memory_cost=8, parallelism=1),))
        patch.setattr(passwords, "HASHER", cheap)
        patch.setattr(passwords, "STAND_IN", cheap.hash("nobody has this password"))
        yield


@dataclass
class HandClock:
    """A clock that is put forward by hand."""

    moment: datetime = field(default_factory=now)

    def __call__(self) -> datetime:
        return self.moment

    def wait(self, **time: float) -> None:
        """Let time pass."""
        self.moment += timedelta(**time)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> HandClock:
    made = HandClock()
    for module in (accounts, people, second_factor, sessions, accounts):
        monkeypatch.setattr(module, "now", made)
    return made


@pytest.fixture
def identity(store: Store) -> Identity:
    """Accounts on each database, with the local workspace."""
    with store.transaction(LOCAL_WORKSPACE) as repository:
        repository.ensure_workspace("Local")
    return Identity(store, Sealer(lambda: b"s" * 32))


@dataclass
class Browser:
    """Somebody's browser: it keeps cookies, sends what a browser sends, and follows nothing by itself."""

    app: FastAPI
    base: str = "http://localhost"
    address: str = "192.0.2.1"
    cookies: httpx.Cookies = field(default_factory=httpx.Cookies)

    def ask(self, method: str, path: str, **more: Any) -> httpx.Response:
        """Send a request."""

        async def send() -> httpx.Response:
            transport = httpx.ASGITransport(self.app, client=(self.address, 4711))
            headers = {"accept": "text/html", "accept-language": "en", **more.pop("headers", {})}
            async with httpx.AsyncClient(
                transport=transport, base_url=self.base, cookies=self.cookies
            ) as client:
                answer = await client.request(method, path, headers=headers, **more)
                self.cookies = client.cookies
                return answer

        return run(send())

    def get(self, path: str, **more: Any) -> httpx.Response:
        """Ask for a page."""
        return self.ask("GET", path, **more)

    def page(self, path: str, status: int = 200) -> BeautifulSoup:
        """Return a page, which must have this status."""
        answer = self.get(path)
        assert answer.status_code == status, (answer.status_code, answer.headers.get("location"))
        return BeautifulSoup(answer.text, "lxml")

    def submit(self, path: str, **fields: str) -> httpx.Response:
        """Send a form."""
        return self.ask("POST", path, data=fields)

    def enter(self, email: str, password: str = PASSWORD, following: str = "/") -> httpx.Response:
        """Sign in."""
        return self.submit("/sign-in", email=email, password=password, next=following)

    @property
    def token(self) -> str:
        """Token of its session; empty without one."""
        return next((cookie.value or "" for cookie in self.cookies.jar if "session" in cookie.name), "")

    @token.setter
    def token(self, value: str) -> None:
        self.cookies = httpx.Cookies()
        self.cookies.set("rackline_session", value, domain="localhost.local")

    @property
    def inside(self) -> bool:
        """Whether it is let in."""
        return self.get("/account").status_code == 200


def prepared(settings: Settings) -> FastAPI:
    """Return a server whose first account is there."""
    store = Store(settings.database_url)
    store.migrate()
    with store.transaction(LOCAL_WORKSPACE) as repository:
        repository.ensure_workspace("Local")
    made = identity_of(settings, store)
    accounts.add_account(made, "owner@example.com", "Olga Owner", password=PASSWORD)
    accounts.add_account(made, "reader@example.com", "Vera Viewer", role=Role.VIEWER, password=PASSWORD)
    store.close()
    return create_app(settings)


@pytest.fixture(scope="session")
def server_app(tmp_path_factory: pytest.TempPathFactory) -> FastAPI:
    return prepared(Settings.at(tmp_path_factory.mktemp("accounts")))


@pytest.fixture(scope="session")
def public_app(tmp_path_factory: pytest.TempPathFactory) -> FastAPI:
    """A server that is reached by https through a proxy."""
    directory: Path = tmp_path_factory.mktemp("public")
    return prepared(
        Settings.at(directory, public_url="https://rackline.example", trusted_proxies="10.0.0.2, 10.1.0.0/16")
    )


@pytest.fixture
def visitor(server_app: FastAPI) -> Browser:
    return Browser(server_app)


@pytest.fixture
def owner(server_app: FastAPI) -> Browser:
    """An owner who is signed in."""
    made = Browser(server_app, address="192.0.2.77")
    assert made.enter("owner@example.com").status_code == 303
    return made
