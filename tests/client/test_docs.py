"""The examples for sales tooling run as they stand."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI
from rackline_client import clients

from tests.client.conftest import Bridge
from tests.conftest import ROOT
from tests.support.jobs import do_all
from tests.support.sweeping import Threads

PAGE = ROOT / "docs" / "client.md"
SAID = (
    " h, between ",
    "dgx-a100-640gb 8 {'value': ",
    " 1549.33",
    "1 × IPU-POD64: 5.3 × as fast as 1 × DGX A100",
    "needs 320 IPUs",
    "somebody else was faster",
    "done 3 of 3",
    "128\n128\n256",
)
"""What each example prints, in the order of the page."""

EXAMPLES = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


@pytest.fixture
def connected(application: FastAPI, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Make every client ask the application; compute its sweeps beside it."""

    class Connection:
        """httpx with both kinds of client connected to the application."""

        RequestError = httpx.RequestError

        def __init__(self) -> None:
            self.Client = lambda **values: httpx.Client(**{**values, "transport": Bridge(application)})
            asgi = httpx.ASGITransport(application)
            self.AsyncClient = lambda **values: httpx.AsyncClient(**{**values, "transport": asgi})

    monkeypatch.setattr(clients, "httpx", Connection())
    stop = threading.Event()

    def compute() -> None:
        while not stop.wait(0.1):
            do_all(application.state.installation, Threads)

    worker = threading.Thread(target=compute)
    worker.start()
    yield
    stop.set()
    worker.join()


@pytest.mark.parametrize("example", EXAMPLES, ids=range(1, len(EXAMPLES) + 1))
@pytest.mark.usefixtures("connected")
def test_an_example_runs(
    example: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with ThreadPoolExecutor(max_workers=1) as pool:
        pool.submit(exec, compile(example, str(PAGE), "exec"), {"__name__": "example"}).result()
    said = capsys.readouterr().out
    assert SAID[EXAMPLES.index(example)] in said
