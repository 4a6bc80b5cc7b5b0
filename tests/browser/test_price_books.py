"""A price is edited on the page of its book, and an estimate costs something else."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.support.windows import Seat

pytestmark = pytest.mark.browser


def amount(text: str) -> float:
    """Return the number of an amount of money."""
    return float(re.sub(r"[^\d.]", "", text))


def test_a_price_edited_on_the_page_changes_an_estimate(window: Seat, estimated: str) -> None:
    page = window.open("/price-books")
    page.get_by_label("Name").fill("Browser offers")
    page.get_by_role("button", name="Create").click()
    page.wait_for_url("**/price-books/pbk_*")
    system = page.request.get(f"{window.server}{estimated}.json").json()["system"]["id"]

    def save(value: str) -> None:
        row = page.locator("#rows tbody tr").first
        row.locator("input[name=item]").fill(system)
        row.locator("input[name=value]").fill(value)
        row.locator("input[name=unit]").fill("USD")
        page.get_by_label("What changed").fill(f"to {value}")
        page.get_by_role("button", name="Save as new version").click()

    save("100000")
    expect(page.locator(".book-versions")).to_contain_text("to 100000")
    page.goto(f"{window.server}{estimated}/costs?price_book_id={page.url.rsplit('/', 1)[1]}")
    cheap = amount(page.locator("#cost tfoot td").first.inner_text())
    page.get_by_role("link", name="price book").first.click()
    page.get_by_role("link", name="Open the latest version").or_(page.locator("#rows input")).first.wait_for()
    save("400,000")
    expect(page.locator(".book-versions li").first).to_contain_text("400,000")
    page.goto(f"{window.server}{estimated}/costs?price_book_id={page.url.rsplit('/', 1)[1]}")
    dear = amount(page.locator("#cost tfoot td").first.inner_text())
    assert dear > 1.5 * cheap
    page.get_by_label("Region").select_option("us")
    page.get_by_role("button", name="Calculate").click()
    expect(page).to_have_url(re.compile("region=us"))
    expect(page.locator(".facts")).to_contain_text("United States")
    page.go_back()
    expect(page.locator(".facts")).to_contain_text("Korea")
    assert window.complaints == [] and window.strays == []


def test_a_wrong_price_stays_in_its_field(window: Seat) -> None:
    page = window.open("/price-books")
    page.get_by_label("Name").fill("Wrong")
    page.get_by_role("button", name="Create").click()
    page.wait_for_url("**/price-books/pbk_*")
    row = page.locator("#rows tbody tr").first
    row.locator("input[name=item]").fill("dgx-a100-640gb")
    row.locator("input[name=value]").fill("-5")
    row.locator("input[name=unit]").fill("USD")
    page.get_by_role("button", name="Save as new version").click()
    expect(page.locator("#rows .field-error")).to_contain_text("Row 1, value")
    expect(page.locator("#rows input[name=value]").first).to_have_value("-5")
