"""Sweeps in a browser: followed while they are computed, on a phone and without scripts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from app.platform.web.examples import FLEET_PLAN, PRICE_BOOK
from tests.windows import Seat

pytestmark = pytest.mark.browser

AXE = next((Path(__file__).parent / "vendor").glob("axe-core-*.min.js"))

SECONDS = 60_000
"""How long a sweep may take on a busy machine. [ms]"""

LONG = {**FLEET_PLAN, "systems": [{"id": "dgx-a100-640gb", "counts": list(range(1, 65))}]}

MIXED = {**PRICE_BOOK, "systems": [*PRICE_BOOK["systems"], {"id": "nosuch"}]}


def start(page: Page, body: Any) -> None:
    """Fill in the form and send it."""
    page.locator("#request").fill(json.dumps(body))
    page.locator("button.primary").click()
    page.wait_for_url("**/sweeps/swp_*")


def test_a_sweep_is_followed_to_its_end(window: Seat) -> None:
    page = window.open("/sweeps")
    start(page, MIXED)
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
    page = window.open("/sweeps?example=fleet")
    start(page, LONG)
    expect(page.locator("#points")).to_be_visible(timeout=SECONDS)
    expect(page.locator("#state")).to_contain_text("running")
    page.get_by_role("button", name="Stop").click()
    expect(page.locator("#state")).to_contain_text("stopped")
    kept = page.locator("#state .figure").inner_text()
    assert kept not in {"0 of 192 points", "192 of 192 points"}
    page.get_by_role("button", name="Resume").click()
    expect(page.locator("#state")).to_contain_text("192 of 192 points", timeout=SECONDS)
    expect(page.locator(".pages")).to_contain_text("1–50 of 192")
    assert window.complaints == []


def test_a_sweep_works_without_scripts(plain_window: Seat) -> None:
    page = plain_window.open("/sweeps?example=fleet")
    page.get_by_role("button", name="Start sweep").click()
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
    page = phone.open("/sweeps")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    start(page, MIXED)
    expect(page.locator("#state .sweep-done")).to_be_attached(timeout=SECONDS)
    expect(page.locator("#points tbody tr")).to_have_count(20)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
