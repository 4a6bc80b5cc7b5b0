from __future__ import annotations

import re
from contextlib import closing
from dataclasses import dataclass, field

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.conftest import AXE, charts_drawn
from tests.support.views import served_view
from tests.support.windows import Seat, seat, wide_context

pytestmark = pytest.mark.browser

STATIC_PAGES = [
    "/",
    "/?find=7b",
    "/?model.preset=bert-large",
    "/?model.preset=bert-large&find_system=a100",
    "/uploads",
    "/catalog",
    "/catalog/systems",
    "/catalog/chips/a100-sxm-80gb",
    "/claims",
    "/claims/bert-large-1-dgx",
    "/methodology",
    "/accuracy",
    "/accuracy?family=other&errors=in_sample",
    "/accuracy/report",
]


AT_85 = re.compile(r"/studies/stu_\w+\?scaling_efficiency=0\.85$")
"""Address of a study whose scaled figures are restated."""


@pytest.fixture(scope="session")
def all_pages(
    modelled: str,
    claimed: str,
    estimated: str,
    calibrations: list[str],
    pipelined: list[str],
    views: list[str],
    listed: list[str],
    scaling: str,
) -> list[str]:
    made = [modelled, claimed, scaling, estimated, *calibrations, *pipelined, *views]
    return list(dict.fromkeys([*STATIC_PAGES, *listed, *made]))


@dataclass
class BrowserWalk:
    """What was found on a way through all pages."""

    faults: list[str] = field(default_factory=list)
    strays: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)


@pytest.fixture(scope="module")
def walked(server: str, browser: Browser, all_pages: list[str]) -> BrowserWalk:
    """Go once through all pages, draw every chart, and look for faults of access on each."""
    found, source = BrowserWalk(), AXE.read_text(encoding="utf-8")
    with closing(wide_context(browser)) as context:
        window = seat(server, context)
        for path in all_pages:
            page = window.open(path)
            charts_drawn(page)
            window.settle()
            page.evaluate(source)
            violations = page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
            for fault in violations:
                targets = [node["target"] for node in fault["nodes"]][:3]
                found.faults.append(f"{path}: {fault['id']} ({fault['impact']}) {targets}")
        found.strays, found.complaints = window.strays, window.complaints
    return found


def test_nothing_leaves_the_host(walked: BrowserWalk) -> None:
    assert walked.strays == []


def test_the_policy_is_kept_and_the_console_is_silent(walked: BrowserWalk) -> None:
    assert walked.complaints == []


def test_pages_are_accessible(walked: BrowserWalk) -> None:
    assert walked.faults == []


def test_charts_say_nothing_while_they_are_pointed_at(
    window: Seat, modelled: str, scaling: str, estimated: str, calibrations: list[str]
) -> None:
    """Plotly complains on the console of what it was given and cannot draw."""
    rent = served_view(window.server, "rent")
    for path in (modelled, scaling, estimated, *calibrations, rent):
        page = window.open(path)
        charts_drawn(page)
        shown = page.evaluate(
            """() => [...document.querySelectorAll("[data-figure]")].flatMap((box) =>
              box.data.flatMap((trace, curveNumber) => trace.hoverinfo === "skip" ? [] :
                trace.x.map((_, pointNumber) => Plotly.Fx.hover(box, [{curveNumber, pointNumber}]))
              )).length"""
        )
        assert shown > 0
    assert window.complaints == []


def test_scaling_efficiency_changes_row_chart_and_address_and_back_undoes_it(
    window: Seat, claimed: str
) -> None:
    page = window.open(claimed)
    row = page.locator("#options section", has_text="3 × DGX A100")
    expect(row).to_contain_text("23.2 h")
    loads = len([address for address in window.requests if address.endswith("rackline.css")])
    control = page.get_by_label("scaling efficiency")
    control.fill("85")
    expect(row).to_contain_text("27.3 h")
    expect(row).to_contain_text("2.1×")
    expect(page).to_have_url(AT_85)
    assert len([address for address in window.requests if address.endswith("rackline.css")]) == loads
    page.reload()
    expect(row).to_contain_text("27.3 h")
    expect(control).to_have_value("85")
    page.go_back()
    expect(row).to_contain_text("23.2 h")
    expect(page).to_have_url(window.server + claimed)


def test_entering_the_efficiency_twice_makes_one_step_of_history(window: Seat, claimed: str) -> None:
    page = window.open(claimed)
    control = page.get_by_label("scaling efficiency")
    control.fill("85")
    expect(page).to_have_url(AT_85)
    control.press("Enter")
    page.wait_for_load_state("networkidle")
    page.go_back()
    expect(page.locator("#options")).to_contain_text("23.2 h")


def test_wrong_efficiency_is_refused_beside_the_field(window: Seat, claimed: str) -> None:
    page = window.open(claimed)
    page.get_by_label("scaling efficiency").fill("850")
    expect(page.locator("#knob-scaling_efficiency-error-1")).to_contain_text("at most 100")
    expect(page.get_by_label("scaling efficiency")).to_have_value("850")


def test_scaling_curve_comes_when_it_is_scrolled_to(window: Seat, modelled: str) -> None:
    page = window.open(modelled)
    page.locator("#scaling-title").scroll_into_view_if_needed()
    page.mouse.wheel(0, 4000)
    # Estimates of every size are made while the page waits.
    expect(page.locator("#figure-scaling")).to_be_visible(timeout=30_000)
    charts_drawn(page)
    assert window.complaints == []


def test_charts_cannot_be_sent_anywhere(window: Seat, modelled: str) -> None:
    page = window.open(modelled)
    charts_drawn(page)
    expect(page.locator(".modebar-btn")).to_have_count(0)


def test_scaling_efficiency_works_without_scripts(plain_window: Seat, claimed: str) -> None:
    page = plain_window.open(claimed)
    page.get_by_label("scaling efficiency").fill("85")
    page.get_by_role("button", name="Apply").first.click()
    expect(page.locator("#options")).to_contain_text("27.3 h")
    expect(page).to_have_url(AT_85)


def test_refused_mapping_keeps_the_previous_result(plain_window: Seat) -> None:
    page = plain_window.view("mapping")
    page.get_by_label("Replicas r").fill("5")
    page.get_by_role("button", name="Calculate").click()
    expect(page.locator("#replicas-error-1")).to_contain_text("320")
    expect(page.locator("#replicas-error-1")).to_contain_text("256")
    expect(page.locator("#result.stale")).to_contain_text("5.47 GB")


def test_measured_runs_are_fitted_without_scripts(plain_window: Seat) -> None:
    page = plain_window.view("runs")
    page.get_by_role("button", name="Calibrate").click()
    expect(page.locator("#runs tbody tr")).to_have_count(3)
    page.get_by_role("link", name="Use in this study").click()
    expect(page.locator("#changes")).to_contain_text("cal_")


def test_no_page_is_wider_than_a_phone(phone: Seat, all_pages: list[str]) -> None:
    for path in all_pages:
        page = phone.open(path)
        # Paper has every chart drawn, in sight or not.
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert page.evaluate("document.documentElement.scrollWidth") <= 360, path


def test_charts_are_pictures_without_scripts(plain_window: Seat, modelled: str) -> None:
    page = plain_window.open(modelled)
    pictures = page.locator("figure.chart-box img.still")
    assert pictures.count() >= 3
    for picture in pictures.all():
        picture.scroll_into_view_if_needed()
        expect(picture).to_have_js_property("complete", True)
        width = picture.evaluate("picture => picture.naturalWidth")
        assert width > 500, picture.get_attribute("src")
