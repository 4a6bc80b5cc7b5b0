"""Sweeps in a browser: followed while they are computed, on a phone and without scripts."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Page, expect

from app.platform.web.examples import FLEET_PLAN, PRICE_BOOK
from tests.support.windows import Seat

pytestmark = pytest.mark.browser

AXE = next((Path(__file__).parent / "vendor").glob("axe-core-*.min.js"))

SECONDS = 240_000
"""How long a sweep may take on a busy machine. [ms]"""

LONG = {
    **FLEET_PLAN,
    "systems": [
        {"id": name, "counts": list(range(1, 33))}
        for name in ("dgx-a100-640gb", "dgx-a100-320gb", "dgx1-v100", "big-basin-p100")
    ],
}

MIXED = {**PRICE_BOOK, "systems": [*PRICE_BOOK["systems"], {"id": "nosuch"}]}


def start(seat: Seat, body: Any) -> Page:
    """Ask for a sweep and open it."""
    made = httpx.post(f"{seat.server}/api/v1/sweeps", json=body, timeout=60)
    assert made.status_code == 201, made.text
    # Whoever waits for the network to fall silent waits for the end of the events.
    seat.page.goto(f"{seat.server}/sweeps/{made.json()['id']}")
    return seat.page


def test_a_study_tries_many_and_takes_one(window: Seat) -> None:
    body = {
        "name": "Many",
        "base": {"model": {"preset": "bert-large"}, "workload": {"target": "mlperf-bert"}},
        "options": [{"system": {"id": "dgx-a100-640gb"}}],
        "views": {"systems": {"system": "dgx-a100-640gb"}},
    }
    study = httpx.post(f"{window.server}/api/v1/studies", json=body, timeout=60).json()["id"]
    page = window.open(f"/studies/{study}/systems")
    expect(page.locator("#options")).to_be_visible(timeout=SECONDS)
    page.get_by_role("link", name="Try many").click()
    page.get_by_label("Counts").first.fill("1, 2")
    page.get_by_label("Global batch sizes").fill("256, 512")
    page.get_by_role("button", name="Try all").click()
    expect(page.locator("#points tbody tr")).to_have_count(4, timeout=SECONDS)
    page.get_by_role("link", name=re.compile("2 × DGX A100 640GB · 512")).click()
    expect(page.locator("#column-b [name='batch.b']")).to_have_value("512")
    assert window.complaints == []
    assert window.strays == []


def test_a_sweep_is_followed_to_its_end(window: Seat) -> None:
    page = start(window, MIXED)
    expect(page.locator("#state")).to_contain_text("complete", timeout=SECONDS)
    expect(page.get_by_role("button", name="Stop")).to_have_count(0)
    expect(page.locator("#points tbody tr")).to_have_count(20)
    expect(page.locator("[data-figure] .trace path").first).to_be_attached()
    expect(page.locator("#results")).to_contain_text("4 points could not be estimated")
    page.get_by_label("System").select_option("IPU-POD")
    page.get_by_label("Sort by").select_option("cost")
    page.get_by_role("button", name="Apply").click()
    expect(page.locator("#points tbody tr")).to_have_count(4)
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    assert [(fault["id"], fault["nodes"][0]["target"]) for fault in found["violations"]] == []
    assert window.complaints == []
    assert window.strays == []


def test_a_sweep_is_stopped_and_goes_on(window: Seat) -> None:
    page = start(window, LONG)
    expect(page.locator("#points")).to_be_visible(timeout=SECONDS)
    expect(page.locator("#state")).to_contain_text("running")
    page.get_by_role("button", name="Stop").click()
    expect(page.locator("#state")).to_contain_text("stopped")
    kept = page.locator("#state .figure").inner_text()
    assert kept not in {"0 of 384 points", "384 of 384 points"}
    page.get_by_role("button", name="Resume").click()
    expect(page.locator("#state")).to_contain_text("384 of 384 points", timeout=SECONDS)
    expect(page.locator(".pages")).to_contain_text("1–50 of 384")
    assert window.complaints == []


def test_a_sweep_works_without_scripts(plain_window: Seat) -> None:
    page = start(plain_window, FLEET_PLAN)
    for _ in range(200):
        if page.locator("#state .sweep-done").count():
            break
        page.wait_for_timeout(200)
        page.reload()
    expect(page.locator("#points tbody tr")).to_have_count(18)
    with page.expect_download() as saved:
        page.get_by_role("link", name="Download CSV").click()
    assert saved.value.suggested_filename.endswith(".csv")


def test_sweeps_fit_a_phone(phone: Seat) -> None:
    page = start(phone, MIXED)
    expect(page.locator("#state .sweep-done")).to_be_attached(timeout=SECONDS)
    expect(page.locator("#points tbody tr")).to_have_count(20)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
