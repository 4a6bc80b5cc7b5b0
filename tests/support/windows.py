"""A real server on a port of its own, and a real browser.

What they need is imported when a test asks for a window: most tests do without.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from tests.support.views import served_view

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page, Request


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of a running server."""
    import uvicorn

    from app.main import create_app
    from app.settings import Settings

    app = create_app(Settings.at(tmp_path_factory.mktemp("data"), niceness=0))
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
    """A browser that all windows share."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=browser_path, args=["--no-sandbox"])
        yield opened
        opened.close()


LETTERS_AND_LINES_STAND = """async () => {
  await document.fonts.ready;
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))));
}"""
"""What scripts do once the letters are there, and for what is in sight, has begun by then."""

PATIENCE = 90.0
"""How long a page may be busy by itself. [s]"""


@dataclass
class Seat:
    """A browser window on the server, and everything its console said and it asked for."""

    server: str
    page: Page
    scripts: bool = True
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    waiting: list[Request] = field(default_factory=list)
    """Requests that are under way, but for streams of events, which have no end."""

    def view(self, name: str, fields: Mapping[str, str] | None = None) -> Page:
        """Keep the study of a view and open it with its fields, or with others."""
        return self.open(served_view(self.server, name, fields))

    def open(self, path: str) -> Page:
        """Go to a page and wait until nothing is under way."""
        self.page.goto(self.server + path)
        self.settle()
        return self.page

    def settle(self) -> None:
        """Wait until what the page has begun by itself has ended."""
        self.page.wait_for_load_state()
        if self.scripts:
            self.page.evaluate(LETTERS_AND_LINES_STAND)
        deadline = time.monotonic() + PATIENCE
        while self.waiting:
            assert time.monotonic() < deadline, self.waiting
            self.page.wait_for_timeout(10)

    def begun(self, request: Request) -> None:
        """Note a request."""
        self.requests.append(request.url)
        if request.resource_type != "eventsource":
            self.waiting.append(request)

    def ended(self, request: Request) -> None:
        """Take a request off the list of those under way."""
        if request in self.waiting:
            self.waiting.remove(request)

    @property
    def strays(self) -> list[str]:
        """Requests that left the host."""
        inside = (self.server, "data:", "blob:")
        return [address for address in self.requests if not address.startswith(inside)]


def seat(server: str, context: BrowserContext, *, scripts: bool = True) -> Seat:
    """Return a window whose console and requests are written down."""
    found = Seat(server, context.new_page(), scripts)
    found.page.on("console", lambda said: found.complaints.append(f"{said.type}: {said.text}"))
    found.page.on("pageerror", lambda error: found.complaints.append(str(error)))
    context.on("request", found.begun)
    context.on("requestfinished", found.ended)
    context.on("requestfailed", found.ended)
    return found


def wide_context(browser: Browser, locale: str = "en-US") -> BrowserContext:
    """Return the session of a reader with a window of usual size."""
    return browser.new_context(locale=locale, viewport={"width": 1280, "height": 900})


@pytest.fixture
def window(server: str, browser: Browser) -> Iterator[Seat]:
    """A window of usual size, in English."""
    with closing(wide_context(browser)) as context:
        yield seat(server, context)


@pytest.fixture
def korean_window(server: str, browser: Browser) -> Iterator[Seat]:
    """A window of usual size, in Korean."""
    with closing(wide_context(browser, "ko-KR")) as context:
        yield seat(server, context)


@pytest.fixture
def plain_window(server: str, browser: Browser) -> Iterator[Seat]:
    """A window that runs no scripts."""
    with closing(browser.new_context(locale="en-US", java_script_enabled=False)) as context:
        yield seat(server, context, scripts=False)


@pytest.fixture
def phone(server: str, browser: Browser) -> Iterator[Seat]:
    """A narrow window, in Korean."""
    with closing(browser.new_context(locale="ko-KR", viewport={"width": 360, "height": 740})) as context:
        yield seat(server, context)
