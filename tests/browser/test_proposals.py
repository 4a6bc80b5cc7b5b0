"""Pages of proposals in a real browser: axe-core, a phone, keys alone, no scripts."""

from __future__ import annotations

import httpx
import pytest
from playwright.sync_api import expect

from tests.browser.conftest import AXE, charts_drawn
from tests.support.views import PUBLISHED
from tests.support.windows import Seat

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def made(server: str) -> dict[str, str]:
    """Addresses of a draft, of a frozen proposal and of its link."""
    with httpx.Client(base_url=f"{server}/api/v1", timeout=30) as client:
        rows = [
            *PUBLISHED,
            {
                "model": {"preset": "bert-large"},
                "system": {"id": "dgx-a100-640gb"},
                "workload": {"target": "mlperf-bert"},
                "label": "DGX",
            },
        ]
        comparison = client.post("/comparisons", json={"title": "BERT", "rows": rows}).json()["id"]
        body = {"comparison_id": comparison, "customer": "하이퍼커넥트", "locale": "ko", "currency": "KRW"}
        draft, frozen = (client.post("/proposals", json=body).json()["id"] for _ in range(2))
        assert client.post(f"/proposals/{frozen}/freeze").is_success
        link = client.post(f"/proposals/{frozen}/share", json={}).json()["path"]
    return {
        "draft": f"/proposals/{draft}",
        "frozen": f"/proposals/{frozen}",
        "link": link,
        "form": f"/proposals/new?comparison={comparison}",
        "list": "/proposals",
        "replay": f"/proposals/{draft}/replay",
    }


@pytest.mark.parametrize("name", ["draft", "frozen", "link", "form", "list", "replay"])
def test_pages_are_accessible(korean_window: Seat, made: dict[str, str], name: str) -> None:
    page = korean_window.open(made[name])
    # A link folds the sections; what is folded is to be right, too.
    page.evaluate("document.querySelectorAll('details').forEach((one) => one.open = true)")
    charts_drawn(page)
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    assert [(one["id"], [node["target"] for node in one["nodes"]][:3]) for one in found["violations"]] == []
    assert korean_window.complaints == []


@pytest.mark.parametrize("name", ["draft", "link", "form"])
def test_a_phone_shows_all_of_it(phone: Seat, made: dict[str, str], name: str) -> None:
    page = phone.open(made[name])
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


def test_without_scripts_everything_is_there(plain_window: Seat, made: dict[str, str]) -> None:
    page = plain_window.open(made["draft"])
    for said in ("792", "18.0", "하이퍼커넥트"):
        expect(page.locator("article.proposal")).to_contain_text(said)
    page.get_by_role("link", name="Edit draft").click()
    page.get_by_label("Customer", exact=True).fill("")
    page.get_by_role("button", name="Save draft").click()
    expect(page.locator("#customer")).to_have_attribute("aria-invalid", "true")
    expect(page.locator("#title")).to_have_value("BERT")


def test_the_page_of_a_link_takes_at_most_six_screens_of_a_phone(phone: Seat, made: dict[str, str]) -> None:
    phone.page.set_viewport_size({"width": 390, "height": 844})
    page = phone.open(made["link"])
    assert page.evaluate("document.documentElement.scrollHeight") <= 6 * 844
    page.get_by_text("문의하기").first.click()
    page.get_by_label("문의", exact=True).fill("설치가 포함됩니까?")
    page.get_by_role("button", name="문의 보내기").click()
    expect(page.locator("#conversation")).to_contain_text("설치가 포함됩니까?")
    page.reload()
    expect(page.locator("#conversation")).to_contain_text("설치가 포함됩니까?")
