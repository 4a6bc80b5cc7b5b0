"""Comparisons and an estimate to look at."""

from __future__ import annotations

import time
from pathlib import Path

import httpx
import pytest
from bs4 import BeautifulSoup
from playwright.sync_api import Page, expect

from tests.support.views import ARTICLE, VIEWS, comparison_of, served_view

TOOLS = ["/price-books", "/accelerators", "/claims"]


def example(server: str, identifier: str) -> str:
    """Make a comparison of a ready-made study and return its path."""
    answer = httpx.post(f"{server}/api/v1/comparisons", json=comparison_of(identifier), timeout=60)
    assert answer.status_code == 201, answer.text
    return f"/comparisons/{answer.json()['id']}"


@pytest.fixture(scope="session")
def claimed(server: str) -> str:
    """Path of a comparison of a vendor's figures."""
    return example(server, "vendor-claim")


@pytest.fixture(scope="session")
def modelled(server: str) -> str:
    """Path of a comparison of estimates."""
    return example(server, "bert-large")


@pytest.fixture(scope="session")
def scaling(server: str, modelled: str) -> str:
    """Path of the scaling curves of the study that shows the estimates."""
    page = BeautifulSoup(httpx.get(f"{server}{modelled}", timeout=60).text, "lxml")
    return str(page.select_one("#scaling")["hx-get"])


@pytest.fixture(scope="session")
def estimated(server: str, modelled: str) -> str:
    """Path of an estimate."""
    rows = httpx.get(f"{server}{modelled}.json", timeout=60).json()["rows"]
    return f"/estimates/{rows[1]['estimate']['id']}"


@pytest.fixture(scope="session")
def calibrations(server: str) -> list[str]:
    """Paths of a calibration with a warning and of measured alternatives."""
    from app.platform.web.examples import CALIBRATION, FABRIC_GAIN

    slow = {**CALIBRATION, "runs": [{**CALIBRATION["runs"][0], "samples_per_s": 900}]}
    bodies = (slow, FABRIC_GAIN)
    made = [httpx.post(f"{server}/api/v1/calibrations", json=body, timeout=60).json() for body in bodies]
    return [f"/calibrations/{one['id']}" for one in made]


@pytest.fixture(scope="session")
def views(server: str) -> list[str]:
    """Paths of the views of studies."""
    ranges = {"ranges.capex.low": "3e9", "ranges.capex.high": "5e9", "demand": "20,40,100"}
    rent = served_view(server, "rent", {**ARTICLE, **ranges})
    return [*(served_view(server, name) for name in VIEWS), rent]


@pytest.fixture(scope="session")
def pipelined(server: str) -> list[str]:
    """Paths of estimates with a pipeline, interleaved on GPUs and in lockstep on IPUs."""
    asked = (
        {
            "model": {"preset": "gpt3-175b"},
            "workload": {"tokens": 300e9},
            "system": {"id": "dgx-a100-640gb", "count": 128},
        },
        {
            "model": {"preset": "bert-large"},
            "workload": {"samples": 1e6},
            "system": {"id": "bow-pod16", "count": 1},
        },
    )
    made = [httpx.post(f"{server}/api/v1/estimates", json=body, timeout=60).json() for body in asked]
    return [f"/estimates/{one['id']}" for one in made]


@pytest.fixture(scope="session")
def listed(server: str) -> list[str]:
    """Paths that the menu and the foot lead to, and the tools around a study."""
    page = BeautifulSoup(httpx.get(f"{server}/", timeout=60).text, "lxml")
    links = page.select("nav.menu a, .bottom nav a")
    found = dict.fromkeys([link["href"].partition("#")[0] for link in links] + TOOLS)
    known = [path for path in found if path.startswith("/") and not path.endswith(".json")]
    return [path for path in known if httpx.get(f"{server}{path}", timeout=60).status_code == 200]


AXE = next((Path(__file__).parent / "vendor").glob("axe-core-*.min.js"))


def charts_drawn(page: Page) -> None:
    """Wait until every chart has bars, points or lines in it.

    A chart is drawn when it comes into sight, and letters that come late may move it out of sight again.
    """
    page.locator("details.part").evaluate_all("parts => parts.forEach((part) => (part.open = true))")
    for chart in page.locator("[data-figure]").all():
        lines, deadline = chart.locator(".trace path").first, time.monotonic() + 10
        while not lines.count() and time.monotonic() < deadline:
            chart.scroll_into_view_if_needed()
            page.wait_for_timeout(20)
        expect(lines).to_be_attached()
