"""Every kind of page, in a browser: the content policy is kept, nothing leaves the host."""

import threading
import time
from collections.abc import Iterator
from urllib.parse import urlencode

import pytest
import uvicorn

from app.main import create_app
from app.platform.web.security import BOUNDS
from app.settings import Settings
from tests.conftest import run
from tests.endurance.request_seeds import seeds
from tests.support.windows import Seat

pytestmark = [pytest.mark.browser, pytest.mark.endurance]

FILES = (".json", ".csv", ".xlsx", ".pdf", ".parquet", ".svg", ".png")


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, list[str]]]:
    """A server of its own, with the addresses of its pages."""
    import socket

    app = create_app(Settings.at(tmp_path_factory.mktemp("policy")))
    found = run(seeds(app))
    addresses = [
        f"{seed.path}?{urlencode(seed.query)}"
        for seed in found
        if seed.kind == "page" and not seed.path.endswith(FILES) and "chart" not in dict(seed.query)
    ]
    server = uvicorn.Server(uvicorn.Config(app, **BOUNDS, log_level="critical", timeout_graceful_shutdown=2))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.02)
        yield f"http://127.0.0.1:{listener.getsockname()[1]}", addresses
        server.should_exit = True
        thread.join()


def test_every_kind_of_page_keeps_the_policy(window: Seat, pages: tuple[str, list[str]]) -> None:
    address, paths = pages
    inside = Seat(address, window.page, complaints=window.complaints, requests=window.requests)
    wrong: list[str] = []
    for path in paths:
        before = len(inside.complaints)
        answer = inside.page.goto(address + path)
        inside.page.wait_for_load_state("load")
        # Some addresses are guessed from those of the API; of a page that is not there the browser complains.
        if answer is not None and answer.status != 404:
            wrong += [f"{path}: {said}" for said in inside.complaints[before:]]
    assert wrong == [], "\n".join(wrong)
    assert inside.strays == []
    assert len(paths) > 50
