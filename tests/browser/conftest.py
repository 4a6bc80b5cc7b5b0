"""A real server on a port of its own, and a real browser."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import httpx
import pytest
import uvicorn
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from app.main import create_app
from app.settings import Settings


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of a running server."""
    app = create_app(Settings.at(tmp_path_factory.mktemp("data")))
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        running = uvicorn.Server(uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=2))
        thread = threading.Thread(target=running.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        while not running.started:
            time.sleep(0.02)
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        running.should_exit = True
        thread.join()


@pytest.fixture(scope="session")
def browser(browser_path: str) -> Iterator[Browser]:
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=browser_path, args=["--no-sandbox"])
        yield opened
        opened.close()


@dataclass
class Seat:
    """A browser window on the server, and everything it complained of or asked for."""

    server: str
    page: Page
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def open(self, path: str) -> Page:
        """Go to a page and wait until nothing is under way."""
        self.page.goto(self.server + path)
        self.page.wait_for_load_state("networkidle")
        return self.page

    @property
    def strays(self) -> list[str]:
        """Requests that left the host."""
        inside = (self.server, "data:", "blob:")
        return [address for address in self.requests if not address.startswith(inside)]


def seat(server: str, context: BrowserContext) -> Seat:
    """Return a window whose console and requests are written down."""
    found = Seat(server, context.new_page())
    found.page.on(
        "console", lambda said: found.complaints.append(said.text) if said.type == "error" else None
    )
    found.page.on("pageerror", lambda error: found.complaints.append(str(error)))
    context.on("request", lambda request: found.requests.append(request.url))
    return found


@pytest.fixture
def window(server: str, browser: Browser) -> Iterator[Seat]:
    """A window of usual size, in English."""
    context = browser.new_context(locale="en-US", viewport={"width": 1280, "height": 900})
    yield seat(server, context)
    context.close()


@pytest.fixture
def plain_window(server: str, browser: Browser) -> Iterator[Seat]:
    """A window that runs no scripts."""
    context = browser.new_context(locale="en-US", java_script_enabled=False)
    yield seat(server, context)
    context.close()


@pytest.fixture
def phone(server: str, browser: Browser) -> Iterator[Seat]:
    """A narrow window, in Korean."""
    context = browser.new_context(locale="ko-KR", viewport={"width": 360, "height": 740})
    yield seat(server, context)
    context.close()


def example(server: str, identifier: str) -> str:
    """Open a ready-made comparison and return its path."""
    answer = httpx.post(f"{server}/examples/{identifier}", headers={"accept-language": "en"})
    assert answer.status_code == 303, answer.text
    return str(answer.headers["location"])


@pytest.fixture(scope="session")
def claimed(server: str) -> str:
    """Path of a comparison of a vendor's figures."""
    return example(server, "vendor-claim")


@pytest.fixture(scope="session")
def modelled(server: str) -> str:
    """Path of a comparison of estimates."""
    return example(server, "bert-large")


@pytest.fixture(scope="session")
def estimated(server: str, modelled: str) -> str:
    """Path of an estimate."""
    rows = httpx.get(f"{server}{modelled}.json").json()["rows"]
    return f"/estimates/{rows[1]['estimate']['id']}"
