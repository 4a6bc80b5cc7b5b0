"""A server in this process, asked through its API, and a reader who asks it for pages.

What they need is imported when a test asks for them: most tests do without.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from bs4 import BeautifulSoup, NavigableString

from tests.conftest import run
from tests.support.views import comparison_of, view_of

if TYPE_CHECKING:
    from fastapi import FastAPI

    from app.platform.rates import ClientKind, CostClass


@dataclass(frozen=True)
class Reader:
    """Somebody with a browser without JavaScript."""

    app: FastAPI
    language: str = "en"

    def ask(self, method: str, path: str, **more: Any) -> httpx.Response:
        """Send a request as a browser would."""

        async def send() -> httpx.Response:
            transport = httpx.ASGITransport(app=self.app, raise_app_exceptions=False)
            headers = {"accept": "text/html", "accept-language": self.language, **more.pop("headers", {})}
            async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
                return await client.request(method, path, headers=headers, **more)

        return run(send())

    def get(self, path: str, **more: Any) -> httpx.Response:
        """Ask for a page."""
        return self.ask("GET", path, **more)

    def arrive(self, path: str) -> httpx.Response:
        """Ask for a page and go where it sends."""
        response = self.get(path)
        while response.status_code == 303:
            response = self.get(response.headers["location"])
        return response

    def page(self, path: str, status: int = 200) -> BeautifulSoup:
        """Return a page, which must have this status, wherever its address leads."""
        response = self.arrive(path)
        assert response.status_code == status, response.text
        return BeautifulSoup(response.text, "lxml")

    def landed(self, path: str) -> str:
        """Return where the redirects of an address lead."""
        answer = self.get(path)
        while answer.is_redirect:
            path = str(answer.headers["location"])
            answer = self.get(path.partition("#")[0])
        return path.partition("#")[0]

    def data(self, path: str) -> Any:
        """Return the JSON of an address."""
        response = self.arrive(path)
        assert response.status_code == 200, response.text
        return response.json()

    def submit(
        self, path: str, fields: Mapping[str, Any], files: Mapping[str, Any] | None = None
    ) -> httpx.Response:
        """Send a form."""
        return self.ask("POST", path, data=dict(fields), files=files)

    def view(self, name: str, fields: Mapping[str, str] | None = None) -> str:
        """Keep the study of a view; return the address of the view with its fields, or with others."""
        return view_of(lambda path, body: self.ask("POST", path, json=body), name, fields)

    def study(self, *systems: Mapping[str, Any], currency: str = "USD", **assumptions: Any) -> str:
        """Keep a study of systems that train BERT-Large; return its address."""
        base = {
            "model": {"preset": "bert-large"},
            "workload": {"target": "mlperf-bert"},
            "assumptions": assumptions,
            "currency": currency,
        }
        body = {"name": "BERT", "base": base, "options": [{"system": one} for one in systems]}
        made = self.ask("POST", "/api/v1/studies", json=body)
        assert made.status_code == 201, made.text
        return f"/studies/{made.json()['id']}"

    def example(self, identifier: str) -> str:
        """Make a comparison of a ready-made study and return its address."""
        body = comparison_of(identifier, self.language[:2])
        response = self.ask("POST", "/api/v1/comparisons", json=body)
        assert response.status_code == 201, response.text
        return f"/comparisons/{response.json()['id']}"


def application_at(directory: Path, **settings: Any) -> FastAPI:
    from app.main import create_app
    from app.settings import Settings

    return create_app(Settings.at(directory, **settings))


@pytest.fixture(scope="session")
def app(tmp_path_factory: pytest.TempPathFactory) -> FastAPI:
    return application_at(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="session")
def reader(app: FastAPI) -> Reader:
    return Reader(app)


@pytest.fixture(scope="session")
def korean(app: FastAPI) -> Reader:
    return Reader(app, "ko-KR,ko;q=0.9")


@pytest.fixture(scope="session")
def modelled(reader: Reader) -> str:
    """Address of a comparison of estimates."""
    return reader.example("bert-large")


@pytest.fixture(scope="session")
def claimed(reader: Reader) -> str:
    """Address of a comparison of published figures, one of them scaled."""
    return reader.example("vendor-claim")


@contextmanager
def allowed(app: FastAPI, quotas: Mapping[ClientKind, Mapping[CostClass, int]]) -> Iterator[None]:
    """Let an application grant so many requests a minute, counted anew."""
    before = app.state.rates
    from app.platform.rates import Rates

    app.state.rates = Rates(quotas)
    try:
        yield
    finally:
        app.state.rates = before


Ask = Callable[..., httpx.Response]


def asking(app: FastAPI) -> Ask:
    """Return a function that sends one request, without a network, and waits for its answer."""

    async def send(method: str, path: str, **values: Any) -> httpx.Response:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return await client.request(method, path, **values)

    return lambda method, path, **values: run(send(method, path, **values))


@pytest.fixture(scope="session")
def application(tmp_path_factory: pytest.TempPathFactory) -> FastAPI:
    return application_at(tmp_path_factory.mktemp("api"), max_body_bytes=200_000, max_upload_bytes=400_000)


@pytest.fixture(scope="session")
def ask(application: FastAPI) -> Ask:
    """Return a function that sends one request and waits for its answer."""
    return asking(application)


ENGLISH = re.compile(r"[A-Za-z][a-z]+(?:[ ,;:]+[a-z]+){3,}")
"""Four words of English in a row, of which the last three begin small: a sentence, not a name."""


def sentences(page: BeautifulSoup) -> Iterator[str]:
    """Return English sentences outside of what is marked as being in another language."""
    for text in page.find_all(string=ENGLISH):
        parents = list(text.parents)
        marked = any(parent.get("lang") not in {None, "ko"} for parent in parents)
        hidden = any(parent.name in {"script", "style", "code", "[document]"} for parent in parents[:1])
        if type(text) is NavigableString and not marked and not hidden:
            yield str(text).strip()


def narrowed(reader: Reader, address: str) -> BeautifulSoup:
    """Follow the way from fields that were chosen to the state that keeps them."""
    answer = reader.get(address.partition("#")[0])
    assert answer.status_code == 303, answer.text[:1000]
    return reader.page(str(answer.headers["location"]))
