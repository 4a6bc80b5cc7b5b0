"""Journey 5 in a browser, in Korean and in English: a tenancy plan on a Bow Pod64."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from app.platform.wording.voice import Voice, voice
from tests.support.windows import Seat

pytestmark = pytest.mark.browser


def fill(page: Page, spoken: Voice, sizes: list[int]) -> None:
    for at, size in enumerate(sizes, 1):
        page.get_by_label(f"{spoken.gettext('Team')} {at}", exact=True).fill(f"team {at}")
        page.get_by_label(f"{spoken.gettext('Devices')} {at}", exact=True).fill(str(size))


def test_a_platform_owner_shares_a_pod(seat: Seat) -> None:
    page = seat.view("partitions", {"requests.0.devices": "1"})
    spoken = voice(page.evaluate("document.documentElement.lang"))

    def choose(label: str, value: str) -> None:
        page.get_by_label(spoken.gettext(label), exact=True).select_option(value)

    plan = page.get_by_role("button", name=spoken.gettext("Plan partitions"))
    choose("Isolation", "strict")
    choose("Containers launched by", "backend.ai")
    fill(page, spoken, [16, 16, 8, 4])
    plan.click()
    # The form has grown by a row for the fifth team.
    fill(page, spoken, [16, 16, 8, 4, 16])
    plan.click()
    expect(page.locator("#allocated")).to_have_text("60")
    expect(page.locator("#free")).to_have_text("4")
    expect(page.locator(".warning")).to_have_count(0)
    expect(page.locator(".pod-drawing text.team")).to_have_count(5)

    figures = page.locator("#figures")
    for shown in ("16", "348.6 TFLOP/s", "350 TFLOP/s", "900 MB", "64"):
        expect(figures).to_contain_text(shown)
    assert figures.locator("a[href^='/catalog/']").count() >= 8

    twelve = page.get_by_label(f"{spoken.gettext('Devices')} 6", exact=True)
    twelve.fill("12")
    plan.click()
    expect(twelve).to_have_value("12")
    expect(twelve).to_have_attribute("aria-describedby", "requests-5-devices-error-1")
    error = page.locator("#requests-5-devices-error-1")
    expect(error).to_contain_text("8")
    expect(error).to_contain_text("16")
    expect(page.locator("#result")).to_have_class("stale")
    expect(page.locator("#allocated")).to_have_text("60")

    twelve.fill("")
    choose("Containers launched by", "gc-docker")
    plan.click()
    expect(page.locator(".warning.serious")).to_have_attribute("data-code", "gc_docker_host_network")
    choose("Containers launched by", "backend.ai")
    plan.click()
    expect(page.locator(".warning")).to_have_count(0)
    assert seat.strays == []


def test_two_pods_are_one_session(seat: Seat) -> None:
    team = {"requests.0.devices": "128", "orchestrator": "backend.ai"}
    page = seat.view("partitions", {"count": "2", **team})
    expect(page.locator("#allocated")).to_have_text("128")
    expect(page.locator("#placements tbody")).to_contain_text("Pod 1: 0–63", ignore_case=True)
    expect(page.locator(".warning")).to_have_attribute("data-code", "session_spans_pods")


def test_waits_are_drawn_and_told(seat: Seat) -> None:
    page = seat.view("queues")
    page.locator("#figure-teams").scroll_into_view_if_needed()
    expect(page.locator("#figure-teams .main-svg").first).to_be_visible()
    expect(page.locator("#figure-counts .main-svg").first).to_be_visible()
    assert page.locator("#counts tr.chosen").count() == 1
    assert seat.strays == []
