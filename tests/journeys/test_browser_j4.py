"""Journey 4 on the page of vendor claims: hours, imperfect scaling, Bow's ceiling, equal price and power."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.support.windows import Seat

pytestmark = pytest.mark.browser


def test_a_reseller_looks_behind_the_claim(seat: Seat) -> None:
    page = seat.open("/claims")
    hours = page.locator("#hours")
    for shown in ("69.5", "23.2", "13.2", "9.43", "5.3×", "1.8×"):
        expect(hours).to_contain_text(shown)
    page.evaluate("window.sameDocument = true")
    page.locator("#scaling_efficiency").fill("85")
    expect(hours).to_contain_text("27.3")
    expect(hours).to_contain_text("2.1×")
    expect(page).to_have_url(f"{seat.server}/claims?scaling_efficiency=0.85")
    expect(page.locator("#row-bert-large-3-dgx")).to_contain_text("2.1×")
    assert page.evaluate("window.sameDocument"), "the page was loaded anew"
    page.reload()
    expect(hours).to_contain_text("27.3")
    page.go_back()
    expect(hours).to_contain_text("23.2")

    elsewhere = page.context.new_page()
    elsewhere.goto(f"{seat.server}/claims?scaling_efficiency=0.85")
    expect(elsewhere.locator("#hours")).to_contain_text("27.3")
    elsewhere.locator("form[action='/claims/published'] button").click()
    expect(elsewhere.locator("#options")).to_contain_text("27.3")
    expect(elsewhere).to_have_url(
        f"{seat.server}{elsewhere.evaluate('location.pathname')}?scaling_efficiency=0.85"
    )
    assert seat.strays == []


def test_equal_price_and_power_can_be_assumed_and_overwritten(seat: Seat) -> None:
    page = seat.open("/claims")
    prices = page.locator("#parity tbody tr").first
    expect(prices).to_contain_text("1.1×")
    page.locator("#assumptions .hint a").first.click()
    expect(page).to_have_url(f"{seat.server}/claims?dgx_per_pod64=3")
    expect(prices).to_contain_text("1.00×")
    expect(page.locator("#dgx_per_pod64")).to_have_value("3")
    page.locator("#dgx_per_pod64").fill("")
    page.locator("#pod64_price").fill("300,000")
    expect(page).to_have_url(f"{seat.server}/claims?pod64_price=300%2C000")
    expect(prices).to_contain_text("0.50×")
    page.locator("#row-bert-large-3-dgx a").click()
    expect(page).to_have_url(f"{seat.server}/claims/bert-large-3-dgx?pod64_price=300%2C000")
    expect(page.locator("#footings")).to_contain_text("1.8×")
    page.locator("form[action*='/comparison'] button").first.click()
    expect(page.locator("#options")).to_contain_text("poplar-2.1-popart")
    assert seat.strays == []
