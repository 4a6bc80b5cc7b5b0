"""Journey 6 in a browser: from a comparison to a frozen proposal, its link, and a price that changed."""

from __future__ import annotations

from pathlib import Path

import httpx
import pypdf
import pytest
from playwright.sync_api import Page, expect

from app.platform.wording.voice import Voice, voice
from tests.support.views import PUBLISHED
from tests.support.windows import Seat

pytestmark = pytest.mark.browser

BERT = {
    "model": {"preset": "bert-large"},
    "workload": {"target": "mlperf-bert"},
    "system": {"id": "dgx-a100-640gb"},
    "label": "1 × DGX A100",
}


@pytest.fixture
def spoken(korean_window: Seat) -> Voice:
    """The language the window is in."""
    return voice(korean_window.open("/proposals").evaluate("document.documentElement.lang"))


def compared(seat: Seat, rows: list[dict[str, object]]) -> str:
    body = {"title": "BERT-Large", "locale": "ko", "rows": rows, "currency": "KRW"}
    stored = httpx.post(f"{seat.server}/api/v1/comparisons", json=body, timeout=30)
    assert stored.status_code == 201, stored.text
    return f"/comparisons/{stored.json()['id']}"


def filled(page: Page, spoken: Voice, address: str) -> None:
    """Go from a comparison to a draft."""
    page.goto(address.replace("/comparisons/", "/proposals/new?comparison="))
    page.get_by_label(spoken.gettext("Customer"), exact=True).fill("하이퍼커넥트")
    page.get_by_label(spoken.gettext("Why this choice")).fill("전력이 먼저입니다.")
    page.get_by_label(spoken.gettext("Valid until")).fill("2099-03-31")
    page.get_by_role("button", name=spoken.gettext("Save draft")).click()


def test_a_consultant_makes_freezes_and_shares_a_proposal(
    korean_window: Seat, plain_window: Seat, spoken: Voice, tmp_path: Path
) -> None:
    seat = korean_window
    page = seat.page
    filled(page, spoken, seat.server + compared(seat, list(PUBLISHED)))
    article = page.locator("article.proposal")
    for said in ("하이퍼커넥트", "69.5", "13.2", "가정", "출처"):
        expect(article).to_contain_text(said)
    page.locator("#approve summary").click()
    page.get_by_role("button", name=spoken.gettext("Approve without a supplier")).click()
    expect(page.locator(".proposal-facts")).not_to_contain_text(spoken.gettext("not frozen yet"))
    fingerprint = page.locator(".proposal-facts dd").last.inner_text()
    assert len(fingerprint) == 12

    saved = []
    for name in ("first.pdf", "second.pdf"):
        with page.expect_download() as waiting:
            page.get_by_role("link", name="PDF", exact=True).click()
        waiting.value.save_as(tmp_path / name)
        saved.append((tmp_path / name).read_bytes())
    assert saved[0] == saved[1]
    assert fingerprint in pypdf.PdfReader(tmp_path / "first.pdf").pages[0].extract_text()

    page.get_by_role("button", name=spoken.gettext("Create link")).click()
    link = page.locator("#link").input_value()
    reader = plain_window.page
    answer = reader.goto(link)
    assert answer is not None and "noindex" in answer.headers["x-robots-tag"]
    expect(reader.locator("article.proposal")).to_contain_text("13.2")
    expect(reader.locator(".menu")).to_have_count(0)
    page.get_by_role("button", name=spoken.gettext("Revoke link")).click()
    gone = reader.goto(link)
    assert gone is not None and gone.status == 404
    assert seat.strays == [] and plain_window.strays == []
    assert seat.complaints == []


def test_three_months_later_a_price_has_changed(korean_window: Seat, spoken: Voice) -> None:
    seat = korean_window
    page = seat.page
    row = {"item": "dgx-a100-640gb", "parameter": "price", "value": 300_000, "unit": "USD"}
    body = {"name": "prices", "rows": [row]}
    book = httpx.post(f"{seat.server}/api/v1/price-books", json=body, timeout=30)
    assert book.status_code == 201, book.text
    comparison = compared(seat, [BERT])
    made = httpx.post(
        f"{seat.server}/api/v1/proposals",
        json={
            "comparison_id": comparison.rpartition("/")[2],
            "customer": "하이퍼커넥트",
            "locale": "ko",
            "currency": "KRW",
            "price_book_id": book.json()["id"],
        },
        timeout=30,
    ).json()
    address = f"{seat.server}/proposals/{made['id']}"
    page.goto(address)
    page.locator("#approve summary").click()
    page.get_by_role("button", name=spoken.gettext("Approve without a supplier")).click()
    kept = httpx.get(f"{address}.pdf", timeout=30).content

    row["value"] = 360_000
    changed = httpx.put(f"{seat.server}/api/v1/price-books/{book.json()['id']}", json=body, timeout=30)
    assert changed.is_success, changed.text
    page.get_by_role("link", name=spoken.gettext("Compare with current prices")).click()
    changes = page.locator("#changes")
    expect(changes).to_contain_text("+20%")
    expect(changes).to_contain_text(spoken.gettext("Purchase with freight and installation"))
    assert httpx.get(f"{address}.pdf", timeout=30).content == kept
    assert seat.complaints == []
