"""Keys and webhooks in a real browser: made, copied, gone after reload; axe-core, a phone, no scripts."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import AXE
from tests.support.windows import Seat

pytestmark = pytest.mark.browser


def violations(seat: Seat) -> list[object]:
    seat.page.evaluate(AXE.read_text(encoding="utf-8"))
    found = seat.page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [(one["id"], [node["target"] for node in one["nodes"]][:3]) for one in found["violations"]]


def test_a_key_is_made_copied_and_not_shown_again(window: Seat) -> None:
    page = window.open("/keys")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_label("Purpose").fill("Quotes from the CRM")
    page.get_by_role("checkbox", name="compute").check()
    page.get_by_role("button", name="Create key").click()
    secret = page.locator("#secret").input_value()
    assert secret.startswith("rk_") and len(secret) == 55
    page.get_by_role("button", name="Copy").click()
    expect(page.locator("#secret-said")).to_have_text("Copied.")
    assert page.evaluate("navigator.clipboard.readText()") == secret
    assert secret not in page.url
    assert violations(window) == []
    estimates, bearer = f"{window.server}/api/v1/estimates", {"Authorization": f"Bearer {secret}"}
    answer = page.request.get(estimates, headers=bearer)
    assert answer.ok and answer.headers["ratelimit-policy"] == '"read";q=600;w=60'
    page = window.open("/keys")
    assert secret not in page.content()
    row = page.locator("#keys tbody tr", has_text=secret[:11])
    expect(row).not_to_contain_text("not yet")
    row.get_by_role("button", name="Revoke").click()
    expect(page.locator("#keys tbody tr", has_text=secret[:11])).to_contain_text("revoked")
    assert page.request.get(estimates, headers=bearer).status == 401
    assert window.complaints == [] and window.strays == []


def test_a_webhook_is_made_and_tried(window: Seat) -> None:
    page = window.open("/webhooks")
    page.get_by_label("Address").fill("https://localhost/")
    page.get_by_role("button", name="Create webhook").click()
    expect(page.locator("#url")).to_have_attribute("aria-invalid", "true")
    # A name that leads nowhere (RFC 6761): the log says so, once the machine's resolver has given up.
    page.get_by_label("Address").fill("https://receiver.invalid/hooks")
    page.get_by_role("button", name="Create webhook").click()
    assert page.locator("#secret").input_value().startswith("whsec_")
    assert violations(window) == []
    page.get_by_role("button", name="Send test").click()
    row = page.locator("#deliveries tbody tr").first
    for _ in range(120):
        if "has no address" in row.inner_text():
            break
        page.wait_for_timeout(500)
        page.reload()
    expect(row).to_contain_text("has no address")
    assert violations(window) == []


@pytest.mark.parametrize("path", ["/keys", "/webhooks"])
def test_a_phone_shows_all_of_it(phone: Seat, path: str) -> None:
    page = phone.open(path)
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    assert violations(phone) == []


def test_without_scripts_the_secret_can_be_selected(plain_window: Seat) -> None:
    page = plain_window.open("/keys")
    page.get_by_label("Purpose").fill("plain")
    page.get_by_role("button", name="Create key").click()
    assert page.locator("#secret").input_value().startswith("rk_")
    expect(page.locator("button[data-copy]")).to_be_hidden()
