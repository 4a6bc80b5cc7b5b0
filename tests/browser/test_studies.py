"""Studies in a browser: the guide, knobs without a reload, Back as undo, two tabs, no scripts, a phone."""

from __future__ import annotations

import re
import time
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Page, expect

from app.platform.web.examples import STUDY
from app.platform.wording.voice import voice
from tests.browser.conftest import AXE, charts_drawn
from tests.support.windows import Seat

pytestmark = pytest.mark.browser


@pytest.fixture
def address(server: str) -> str:
    made = httpx.post(f"{server}/api/v1/studies", json=STUDY)
    assert made.status_code == 201, made.text
    return f"/studies/{made.json()['id']}"


def time_of(page: Page, key: str) -> str:
    return page.locator(f"#column-{key} .r-time .study-value").inner_text()


def save(page: Page) -> None:
    """Save the study as it is shown, with the keys."""
    page.locator(".study-actions summary").first.press("Enter")
    page.get_by_role("button", name="Save", exact=True).press("Enter")


def saved_as(page: Page, version: int) -> None:
    """Wait until the page is that of a version that was saved."""
    expect(page.locator("#changes")).to_have_count(0)
    expect(page.locator("#study-form input[name=version]")).to_have_value(str(version))


def test_a_newcomer_is_in_the_workspace_after_two_clicks(korean_window: Seat) -> None:
    spoken = voice("ko")
    page = korean_window.open("/?find=")
    start = time.monotonic()
    page.get_by_role("option", name=re.compile("BERT-Large")).click()
    expect(page.locator("#step-systems")).to_be_visible()
    page.locator("#compare .submit-row").get_by_role("button", name=spoken.gettext("Compare")).click()
    expect(page).to_have_url(re.compile(r"/studies/stu_"))
    expect(page.locator(".study-option")).to_have_count(2)
    charts_drawn(page)
    assert time.monotonic() - start < 60
    assert korean_window.complaints == [] and korean_window.strays == []


def test_a_knob_changes_figures_and_address_without_a_reload_and_back_undoes_it(
    window: Seat, address: str
) -> None:
    page = window.open(address)
    charts_drawn(page)
    before = time_of(page, "a")
    page.evaluate("window.sameDocument = true")
    count = page.locator("#knob-count-a")
    count.fill("4")
    count.press("Tab")
    expect(page).to_have_url(f"{window.server}{address}?count.a=4")
    expect(page.locator("#column-a .r-time .study-value")).not_to_have_text(before)
    expect(page.locator("#changes")).to_contain_text("2 → 4")
    after = time_of(page, "a")
    page.locator("#knob-fabric-a").select_option("roce-100")
    expect(page).to_have_url(f"{window.server}{address}?count.a=4&fabric.a=roce-100")
    charts_drawn(page)
    assert page.evaluate("window.sameDocument"), "the page was loaded anew"
    page.reload()
    expect(page.locator("#knob-fabric-a")).to_have_value("roce-100")
    page.go_back()
    expect(page).to_have_url(f"{window.server}{address}?count.a=4")
    expect(page.locator("#column-a .r-time .study-value")).to_have_text(after)
    page.go_back()
    expect(page.locator("#column-a .r-time .study-value")).to_have_text(before)
    assert window.strays == []


def test_a_wrong_knob_stands_beside_its_field_and_is_mended(window: Seat, address: str) -> None:
    page = window.open(address)
    before = time_of(page, "a")
    count = page.locator("#knob-count-a")
    count.fill("many")
    count.press("Enter")
    expect(page.locator("#knob-count-a-error-1")).to_contain_text("whole number")
    expect(page.locator("#options.outdated #column-a .r-time .study-value")).to_have_text(before)
    page.locator("#knob-count-a").fill("3")
    page.locator("#knob-count-a").press("Enter")
    expect(page).to_have_url(f"{window.server}{address}?count.a=3")
    expect(page.locator("#options.outdated")).to_have_count(0)


def test_the_keyboard_is_enough_and_the_focus_stays(window: Seat, address: str) -> None:
    page = window.open(address)
    page.locator("#knob-count-a").focus()
    page.keyboard.press("Control+A")
    page.keyboard.type("5")
    page.keyboard.press("Tab")
    expect(page).to_have_url(re.compile(r"count\.a=5"))
    page.locator("#changes a").first.focus()
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{window.server}{address}")
    expect(page.locator("#knob-count-a")).to_be_focused()
    page.locator("#column-a .r-time .traced").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#trace .formula").first).to_be_visible()
    expect(page.get_by_role("button", name="Close")).to_be_focused()
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Shift+Tab")
    assert page.evaluate("!document.activeElement.closest('#study')"), "behind the panel"
    page.keyboard.press("Escape")
    expect(page.locator("#trace")).to_be_hidden()
    expect(page.locator("#column-a .r-time .traced")).to_be_focused()
    page.locator("#knob-batch").focus()
    page.keyboard.type("2048")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"batch=2048"))
    expect(page.locator("#changes")).to_be_visible()
    save(page)
    saved_as(page, 2)


def test_who_undoes_with_the_keyboard_goes_on_undoing(window: Seat, address: str) -> None:
    page = window.open(f"{address}?count.a=3&years=5")
    chips = page.locator("#changes a")
    chips.first.focus()
    page.keyboard.press("Enter")
    expect(chips).to_have_count(2)
    expect(chips.first).to_be_focused()
    chips.last.focus()
    page.keyboard.press("Enter")
    expect(page.locator("#answer")).to_be_focused()


def test_an_option_is_added_with_its_button_and_removed_with_the_focus_beside_it(
    window: Seat, address: str
) -> None:
    page = window.open(address)
    page.locator("#knob-add").focus()
    page.keyboard.press("ArrowDown")
    page.locator("#knob-add").evaluate("field => field.dispatchEvent(new Event('change', {bubbles: true}))")
    page.wait_for_timeout(300)
    expect(page).to_have_url(f"{window.server}{address}")
    page.locator("#knob-add").select_option("bow-pod16")
    page.locator("#knob-add-button").press("Enter")
    expect(page.locator("#column-e")).to_contain_text("Bow Pod16")
    page.locator("#column-e .drop").press("Enter")
    expect(page.locator("#column-e")).to_have_count(0)
    expect(page.locator("#column-d .drop")).to_be_focused()


def test_an_option_is_renamed_with_the_keyboard(window: Seat, address: str) -> None:
    page = window.open(address)
    page.locator("#rename-a").press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.type("Our cluster")
    page.keyboard.press("Enter")
    expect(page.locator("#option-a")).to_contain_text("Our cluster")
    expect(page.locator("#rename-a")).to_be_focused()


def test_two_tabs_meet_and_nothing_is_lost(window: Seat, address: str) -> None:
    first, second = window.open(address), window.page.context.new_page()
    second.goto(window.server + address)
    first.locator("#knob-count-a").fill("4")
    first.locator("#knob-count-a").press("Enter")
    expect(first.locator("#changes")).to_be_visible()
    second.locator("#knob-count-b").fill("2")
    second.locator("#knob-count-b").press("Enter")
    expect(second.locator("#changes")).to_be_visible()
    save(first)
    saved_as(first, 2)
    save(second)
    expect(second.locator("#clash")).to_contain_text("2 → 4")
    expect(second.locator("#knob-count-b")).to_have_value("2")
    second.locator("#clash a.button").click()
    expect(second.locator("#knob-count-a")).to_have_value("4")
    expect(second.locator("#knob-count-b")).to_have_value("2")
    save(second)
    saved_as(second, 3)


def test_everything_is_there_without_scripts(plain_window: Seat, address: str) -> None:
    page = plain_window.open(address)
    page.locator("#knob-count-a").fill("4")
    page.get_by_role("button", name="Apply").first.click()
    expect(page).to_have_url(f"{plain_window.server}{address}?count.a=4")
    page.locator("#column-a .r-cost .traced").click()
    expect(page.locator("h1")).to_have_text("Cost per run")
    expect(page.locator("#claims")).to_be_visible()
    page.go_back()
    page.locator("#why-title").click()
    page.locator("#why-second").select_option("c")
    page.locator("#why-second + button").click()
    expect(page.locator("#why")).to_contain_text("Reported")
    save(page)
    saved_as(page, 2)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_fault_of_access(window: Seat, address: str, scheme: str) -> None:
    window.page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    faults = []
    paths = [
        "/studies",
        f"{address}?count.a=4",
        f"{address}?count.a=x",
        f"{address}/assumptions",
        f"{address}/versions",
        f"{address}/trace?option=a&figure=cost",
    ]
    for path in paths:
        page = window.open(path)
        page.evaluate(Path(AXE).read_text(encoding="utf-8"))
        found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        faults += [
            f"{path}: {fault['id']} {[node['target'] for node in fault['nodes']][:3]}"
            for fault in found["violations"]
        ]
    assert faults == []


def test_pages_fit_a_phone(phone: Seat, address: str) -> None:
    for path in ("/studies", address, f"{address}/assumptions",
                 f"{address}/versions", f"{address}/trace?option=a&figure=cost"):  # fmt: skip
        page = phone.open(path)
        assert page.evaluate("document.documentElement.scrollWidth") <= 360, path


def test_charts_say_nothing_while_they_are_pointed_at(window: Seat, address: str) -> None:
    page = window.open(address)
    charts_drawn(page)
    page.evaluate(
        """() => [...document.querySelectorAll("[data-figure]")].forEach((box) =>
          box.data.forEach((trace, curveNumber) => trace.hoverinfo === "skip" ? 0 :
            trace.x.forEach((_, pointNumber) => Plotly.Fx.hover(box, [{curveNumber, pointNumber}]))))"""
    )
    assert window.complaints == []
