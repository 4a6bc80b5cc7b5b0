from __future__ import annotations

import re
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import expect

from tests.browser.conftest import AXE, charts_drawn
from tests.support.views import served_view
from tests.support.windows import Seat

pytestmark = pytest.mark.browser


def plans_of(server: str, model: str, batch: int, **system: str | int) -> str:
    """Keep a study of a model on a system; return the path of its plans."""
    base = {"model": {"preset": model}, "workload": {"tokens": 300e9, "global_batch": batch}}
    body = {"name": model, "base": base, "options": [{"system": system}]}
    made = httpx.post(f"{server}/api/v1/studies", json=body, timeout=60)
    return f"/studies/{made.json()['id']}/plan"


@pytest.fixture(scope="module")
def question(server: str) -> str:
    return plans_of(server, "megatron-1.7b", 512, id="dgx-a100-640gb", count=4)


def test_map_is_drawn_and_a_cell_narrows_the_plans(window: Seat, question: str) -> None:
    page = window.open(question)
    charts_drawn(page)
    cells = page.locator("#map td:not(.illegal) a")
    count = cells.count()
    assert count > 4
    grounds = page.locator("#map td[class*=shade-]").evaluate_all(
        "found => found.map(one => getComputedStyle(one).backgroundColor)"
    )
    assert len(set(grounds)) > 1
    cell = page.locator("#map td:not(.unfit):not(.winner) a").first
    degrees = str(cell.get_attribute("title")).split(":")[0]
    cell.click()
    expect(page.locator("#map td.chosen")).to_have_count(1)
    expect(page.locator("#map td:not(.illegal) a")).to_have_count(count)
    expect(page.locator("#plans .degrees").first).to_have_text(re.compile(f"^{degrees} ×"))
    expect(page.locator(".chip")).to_have_count(2)
    page.locator(".chip").first.click()
    expect(page.locator(".chip")).to_have_count(1)
    page.go_back()
    expect(page.locator(".chip")).to_have_count(2)
    charts_drawn(page)
    assert window.complaints == [] and window.strays == []


def test_a_plan_is_taken_over_and_can_be_undone(window: Seat, question: str) -> None:
    page = window.open(question)
    row = page.locator("#plans tbody tr").nth(1)
    time = row.locator("td.number .figure").first.inner_text()
    row.get_by_role("link", name="Use this plan").click()
    expect(page.locator("#changes .chip").first).to_contain_text("plan: the default → data=32")
    page.locator("#options h2 a").click()
    expect(page.locator(".headline", has_text="Step time")).to_contain_text(time)
    page.locator("#plan-title").get_by_role("link", name="Other plans").click()
    expect(page.locator("#plans tbody tr").nth(1)).to_contain_text("this option")
    charts_drawn(page)
    assert window.complaints == []


def test_a_filter_is_chosen_with_the_keyboard(window: Seat, question: str) -> None:
    page = window.open(question)
    page.get_by_label("Recomputation").select_option("full")
    page.get_by_role("button", name="Apply").press("Enter")
    expect(page.locator(".chip")).to_contain_text("full")
    expect(page.locator("#plans .under").first).to_contain_text("full activation recompute")


def test_charts_say_nothing_while_they_are_pointed_at(window: Seat, question: str) -> None:
    page = window.open(question)
    charts_drawn(page)
    page.evaluate(
        """() => [...document.querySelectorAll("[data-figure]")].forEach((box) =>
          box.data.forEach((trace, curveNumber) => trace.hoverinfo === "skip" ? 0 :
            trace.x.forEach((_, pointNumber) => Plotly.Fx.hover(box, [{curveNumber, pointNumber}]))))"""
    )
    assert window.complaints == []


def test_everything_is_there_without_scripts(plain_window: Seat, question: str) -> None:
    page = plain_window.open(question)
    page.locator("#map td:not(.unfit):not(.winner) a").first.click()
    expect(page.locator("#map td.chosen")).to_have_count(1)
    page.get_by_role("link", name="why not? Plan 3").click()
    expect(page.locator("#why-title")).to_have_text("Why the first plan and not plan 3?")
    expect(page.locator(".chart-box:has(#figure-difference) .still")).to_be_visible()
    page.locator("#plans tbody tr").nth(1).get_by_role("link", name="Use this plan").click()
    expect(page.locator("#changes")).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast_and_names(window: Seat, question: str, scheme: str) -> None:
    window.page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    for address in (question, f"{question}?tensor=2&pipeline=2", f"{question}?tensor=x"):
        page = window.open(address)
        page.evaluate(Path(AXE).read_text(encoding="utf-8"))
        found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        faults = [
            f"{fault['id']} {[node['target'] for node in fault['nodes']][:3]}"
            for fault in found["violations"]
        ]
        assert faults == []


def test_the_page_fits_a_phone(phone: Seat, question: str) -> None:
    pod = plans_of(phone.server, "bert-large", 8192, id="bow-pod64")
    for address in (served_view(phone.server, "plan"), question, pod):
        page = phone.open(address)
        assert page.evaluate("document.documentElement.scrollWidth") <= 360, address
