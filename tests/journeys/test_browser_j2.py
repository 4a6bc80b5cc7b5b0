"""Journey 2 in a browser: build or cloud, with JavaScript and without, in Korean and in English."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, Page, expect

from app.platform.wording.voice import Voice, voice
from tests.support.views import served_view
from tests.support.windows import Seat

pytestmark = pytest.mark.browser


def spoken(page: Page) -> Voice:
    """The language a page is in."""
    return voice(page.locator("html").get_attribute("lang") or "")


def bill(page: Page) -> str:
    """What the cloud bill is called in the language of the page."""
    return spoken(page).gettext("Cloud bill per month")


def first_input(page: Page) -> str:
    return page.locator("#tornado tbody th").first.inner_text()


def asks_what_if_the_bill_doubles(page: Page) -> None:
    """The page opens on the article; the bill is doubled, the answer turns from 17.5 to 8.0 months."""
    words = spoken(page)
    expect(page.locator("#months")).to_have_text("17.5")
    expect(page.locator("#result")).to_contain_text("₩4,378,000,000")
    assert bill(page) in first_input(page)
    field = page.get_by_label(bill(page))
    expect(field).to_have_value("300,000,000")
    field.fill("600,000,000")
    page.get_by_role("button", name=words.gettext("Calculate")).click()
    expect(page.locator("#months")).to_have_text("8.0")
    assert "state=" in page.url, "what was typed is in the address"
    assert bill(page) in first_input(page)
    expect(page.locator("#result")).to_contain_text("₩600,000,000")
    assert "." not in page.locator("#result .facts").inner_text(), "won have no decimals"


def test_a_platform_lead_asks_whether_to_build(seat: Seat) -> None:
    page = seat.view("rent")
    asks_what_if_the_bill_doubles(page)
    expect(page.locator("#figure-cash")).to_have_attribute("data-drawn", "yes")
    page.locator("#figure-tornado").scroll_into_view_if_needed()
    expect(page.locator("#figure-tornado")).to_have_attribute("data-drawn", "yes")
    words = spoken(page)
    page.get_by_label(bill(page)).fill("40,000,000")
    page.get_by_role("button", name=words.gettext("Calculate")).click()
    expect(page.locator("#months")).to_have_text(words.gettext("never"))
    page.go_back()
    expect(page.locator("#months")).to_have_text("8.0")
    page.get_by_label(bill(page)).fill("-5")
    page.get_by_role("button", name=words.gettext("Calculate")).click()
    expect(page.locator("#cloud_monthly-error-1")).to_be_visible()
    expect(page.locator("#months")).to_have_text("8.0")
    expect(page.locator("#result")).to_have_class("stale")
    assert seat.strays == []


@pytest.mark.parametrize("locale", ["en-US", "ko-KR"])
def test_the_same_without_scripts(browser: Browser, server: str, locale: str) -> None:
    context = browser.new_context(java_script_enabled=False, locale=locale)
    page = context.new_page()
    page.goto(f"{server}{served_view(server, 'rent')}")
    asks_what_if_the_bill_doubles(page)
    expect(page.locator("#demand-cases")).to_contain_text("₩1,200,000,000")
    context.close()
