"""Korean letters are put together from parts: nothing is sent before they stand."""

from __future__ import annotations

import re
import time

import httpx
import pytest
from playwright.sync_api import CDPSession, Page, expect

from tests.support.views import PUBLISHED
from tests.support.windows import Seat

pytestmark = pytest.mark.browser

PAUSE = 1.2
"""Longer than the delay after which typing is answered. [s]"""


def composing(page: Page, field: str) -> CDPSession:
    """Begin a letter in a field, as an input method does."""
    page.locator(field).focus()
    session = page.context.new_cdp_session(page)
    for text in ("ㅎ", "하", "한"):
        session.send(
            "Input.imeSetComposition",
            {"text": text, "selectionStart": len(text), "selectionEnd": len(text)},
        )
    return session


def asked(seat: Seat) -> list[str]:
    """Return what was asked for but the page's own files."""
    return [address for address in seat.requests if "/static/" not in address]


def live_fields(seat: Seat) -> list[tuple[str, str]]:
    rows = {"title": "BERT-Large", "rows": PUBLISHED}
    made = httpx.post(f"{seat.server}/api/v1/comparisons", json=rows).json()["id"]
    return [
        (f"/comparisons/{made}", "[name=scaling_efficiency]"),
        ("/claims", "#scaling_efficiency"),
        ("/claims", "#pod64_price"),
    ]


def test_nothing_is_sent_half_composed(korean_window: Seat) -> None:
    seat = korean_window
    for address, field in live_fields(seat):
        page = seat.open(address)
        seat.requests.clear()
        session = composing(page, field)
        time.sleep(PAUSE)
        assert asked(seat) == [], address
        session.send("Input.insertText", {"text": "한"})
        expect(page.locator(field)).to_have_value(re.compile("한"))
        page.wait_for_timeout(1000 * PAUSE)
        assert asked(seat), address
        assert all("%E3%85%8E" not in one and "%ED%95%98" not in one for one in asked(seat)), address


def test_a_question_on_its_way_waits_for_the_letter(korean_window: Seat) -> None:
    """A digit starts the delay; a letter begun within it holds the question back."""
    seat = korean_window
    page = seat.open("/claims")
    seat.requests.clear()
    page.locator("#scaling_efficiency").press_sequentially("8")
    composing(page, "#scaling_efficiency")
    time.sleep(PAUSE)
    assert asked(seat) == []


def test_text_fields_take_composed_names(korean_window: Seat) -> None:
    """Enter that ends a composition sends no form, and the name arrives whole."""
    seat = korean_window
    page = seat.open("/studies")
    field = "input[type=search], form[role=search] input"
    page.locator(field).first.focus()
    session = page.context.new_cdp_session(page)
    for text in ("ㅎ", "하", "하이"):
        session.send("Input.imeSetComposition", {"text": text, "selectionStart": 1, "selectionEnd": 1})
    address = page.url
    session.send(
        "Input.dispatchKeyEvent",
        {"type": "rawKeyDown", "key": "Process", "code": "Enter", "windowsVirtualKeyCode": 229},
    )
    assert page.url == address
    session.send("Input.insertText", {"text": "하이퍼"})
    expect(page.locator(field).first).to_have_value("하이퍼")
