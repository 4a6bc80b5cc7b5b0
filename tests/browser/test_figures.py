"""Figures in a browser: keys, movement, dark ground, paper, narrow screens."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Route, expect

from tests.browser.conftest import AXE, charts_drawn
from tests.support.views import served_view
from tests.support.windows import Seat

pytestmark = pytest.mark.browser

PAPER = 690
"""Width of A4 between its margins. [px]"""

LETTERS_STAND = """async () => {
  const some = () => [...document.fonts].some(face => face.status === "loaded");
  while (!some()) await new Promise(done => setTimeout(done, 20));
  await document.fonts.ready;
}"""


def test_arrow_keys_go_through_the_values_and_tab_goes_on(window: Seat) -> None:
    page = window.open("/accuracy")
    charts_drawn(page)
    chart = page.locator("#figure-ratios")
    chart.focus()
    said = page.locator("#figure-ratios-value")
    page.keyboard.press("ArrowRight")
    expect(said).to_have_text(re.compile(r"^1 / \d+: .+"))
    first = said.inner_text()
    expect(said).to_be_visible()
    page.keyboard.press("ArrowRight")
    expect(said).to_have_text(re.compile(r"^2 / \d+: .+"))
    page.keyboard.press("Home")
    expect(said).to_have_text(first)
    page.keyboard.press("ArrowDown")
    expect(said).not_to_have_text(first)
    page.keyboard.press("End")
    last, whole = said.inner_text().partition(":")[0].split(" / ")
    assert last == whole
    page.keyboard.press("Escape")
    expect(said).to_have_text("")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") != "figure-ratios"
    assert window.complaints == []


def test_every_chart_of_a_page_is_on_the_way_of_the_tab_key(window: Seat, modelled: str) -> None:
    page = window.open(modelled)
    charts_drawn(page)
    wanted = set(page.locator("[data-figure]").evaluate_all("found => found.map(one => one.id)"))
    reached: set[str] = set()
    for _ in range(120):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.id"))
    assert wanted <= reached


def test_a_row_of_bars_is_named_when_it_is_reached(window: Seat, modelled: str) -> None:
    page = window.open(modelled)
    charts_drawn(page)
    page.locator("#figure-parts").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#figure-parts-value")).to_contain_text(
        "DGX A100 640GB: Matrix multiplication (GEMM)"
    )


@pytest.mark.parametrize("which", ["options", "accuracy", "scaling", "estimate", "pipeline", "claims"])
def test_nothing_moves_while_charts_are_drawn(
    window: Seat, modelled: str, scaling: str, estimated: str, pipelined: list[str], which: str
) -> None:
    paths = {
        "options": modelled,
        "accuracy": "/accuracy",
        "scaling": scaling,
        "estimate": estimated,
        "pipeline": pipelined[0],
        "claims": "/claims",
    }
    page = window.page
    page.add_init_script(
        "window.moved = 0; new PerformanceObserver(list => list.getEntries().forEach(entry => "
        "{ window.moved += entry.value })).observe({type: 'layout-shift', buffered: true});"
    )
    held: list[Route] = []
    # The web font may move lines when it comes late; charts wait for it, and so does this.
    page.route("**/js/charts.js*", lambda route: held.append(route))
    page.goto(f"{window.server}{paths[which]}", wait_until="commit")
    page.wait_for_selector("footer")
    page.evaluate(LETTERS_STAND)
    page.wait_for_timeout(300)
    page.evaluate("window.moved = 0")
    held[0].continue_()
    charts_drawn(page)
    assert page.evaluate("window.moved") < 0.01


def test_a_schedule_is_seen_with_its_bubble(window: Seat, pipelined: list[str]) -> None:
    for path in pipelined:
        page = window.open(path)
        drawing = page.locator("figure.drawn .scroll svg")
        expect(drawing).to_be_visible()
        expect(drawing.locator(".box-forward").first).to_be_attached()
        page.get_by_text("Stage timing").first.click()
        expect(page.locator("#stages tbody tr").first).to_be_visible()
    expect(page.locator("#superstep tbody tr").first).to_be_visible()
    assert window.complaints == []


def test_pages_print_without_controls_and_within_the_paper(
    window: Seat, modelled: str, scaling: str, pipelined: list[str]
) -> None:
    window.page.set_viewport_size({"width": PAPER, "height": 1000})
    for path in (modelled, scaling, *pipelined):
        page = window.open(path)
        charts_drawn(page)
        page.emulate_media(media="print")
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        expect(page.locator("nav.menu")).to_be_hidden()
        expect(page.locator(".chart-head summary").first).to_be_hidden()
        assert page.evaluate("document.documentElement.scrollWidth") <= PAPER
        # What is folded away is not printed, and is measured as it stood when it was last seen.
        cut = page.locator(".scroll:not(details:not([open]) *)").evaluate_all(
            "found => found.filter(one => one.getBoundingClientRect().right < "
            "one.firstElementChild.getBoundingClientRect().right - 1).length"
        )
        assert cut == 0, path
        expect(page.locator("[data-figure] .main-svg").first).to_be_visible()
        page.emulate_media(media="screen")


def test_pictures_without_scripts_take_the_ground_of_the_page(plain_window: Seat, modelled: str) -> None:
    plain_window.page.emulate_media(color_scheme="dark")
    page = plain_window.open(modelled)
    picture = page.locator(".chart-box:has(#figure-parts) img.still")
    picture.scroll_into_view_if_needed()
    expect(picture).to_have_js_property("complete", True)
    assert "figure-parts.dark.svg" in picture.evaluate("picture => picture.currentSrc")
    assert picture.evaluate("picture => picture.naturalWidth") > 500


def test_dark_figures_have_contrast(window: Seat, modelled: str, pipelined: list[str]) -> None:
    window.page.emulate_media(color_scheme="dark")
    for path in (modelled, *pipelined):
        page = window.open(path)
        page.evaluate(AXE.read_text(encoding="utf-8"))
        found = page.evaluate("axe.run(document, {runOnly: ['color-contrast']})")
        assert [fault["id"] for fault in found["violations"]] == []


def test_a_chart_is_drawn_when_it_is_scrolled_to_and_on_paper(window: Seat, modelled: str) -> None:
    window.page.set_viewport_size({"width": 390, "height": 500})
    page = window.open(modelled)
    drawn = page.locator("[data-drawn]")
    charts = page.locator("[data-figure]")
    charts.first.scroll_into_view_if_needed()
    expect(charts.first).to_have_attribute("data-drawn", "yes")
    assert drawn.count() < charts.count()
    charts.last.scroll_into_view_if_needed()
    expect(charts.last).to_have_attribute("data-drawn", "yes")
    page.reload()
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    expect(drawn).to_have_count(charts.count())


def test_a_chart_out_of_sight_is_drawn_when_the_keys_reach_it(window: Seat, modelled: str) -> None:
    window.page.set_viewport_size({"width": 1280, "height": 500})
    page = window.open(modelled)
    page.get_by_role("heading", name="What if the inputs are wrong?").click()
    page.evaluate("scrollTo(0, 0)")
    chart = page.locator("[data-figure]").last
    expect(chart).to_have_attribute("tabindex", "0")
    chart.evaluate("chart => chart.focus({preventScroll: true})")
    page.keyboard.press("ArrowRight")
    expect(page.locator(f"#{chart.get_attribute('id')}-value")).to_have_text(re.compile(r"^1 / \d+: .+"))
    assert window.complaints == []


def test_pointing_at_an_option_emphasises_it_in_every_chart_and_covers_none(
    window: Seat, scaling: str
) -> None:
    page = window.open(scaling)
    charts_drawn(page)
    page.locator("#figure-scaling").scroll_into_view_if_needed()
    point = page.locator("#figure-scaling .point").first.bounding_box()
    assert point is not None
    page.mouse.move(point["x"] + point["width"] / 2, point["y"] + point["height"] / 2)
    for name in ("scaling", "scaling-cost", "efficiency"):
        expect(page.locator(f"#figure-{name}-value")).to_have_text(re.compile(r"^DGX A100 640GB.+"))
        expect(page.locator(f"#figure-{name} .faded").first).to_be_attached()
    expect(page.locator(".hovertext")).to_have_count(0)
    page.mouse.move(1, 1)
    expect(page.locator(".faded")).to_have_count(0)
    assert window.complaints == []


@pytest.mark.parametrize("scripts", [True, False])
def test_a_button_switches_the_picture_for_its_table(
    window: Seat, plain_window: Seat, modelled: str, scripts: bool
) -> None:
    page = (window if scripts else plain_window).open(modelled)
    page.get_by_role("heading", name="Where does the time go?").click()
    box = page.locator(".chart-box:has(#figure-parts)")
    expect(box.locator(".chart-picture")).to_be_visible()
    expect(box.locator("table")).to_be_hidden()
    box.get_by_label("Table").focus()
    page.keyboard.press("Space")
    expect(box.locator("table")).to_contain_text("Matrix multiplication (GEMM)")
    expect(box.locator(".chart-picture")).to_be_hidden()
    box.locator("summary").click()
    expect(box.get_by_role("link", name="CSV")).to_be_visible()


@pytest.mark.parametrize("width", [1280, 390])
def test_no_chart_has_an_empty_place_or_labels_over_each_other(
    window: Seat, modelled: str, scaling: str, width: int
) -> None:
    window.page.set_viewport_size({"width": width, "height": 900})
    for path in (modelled, scaling, "/accuracy", served_view(window.server, "queues"), "/claims"):
        page = window.open(path)
        charts_drawn(page)
        faults = page.evaluate(
            """() => [...document.querySelectorAll("[data-figure]")].flatMap((box) => {
              const place = (one) => one.getBoundingClientRect();
              const over = { xtick: (a, b) => b.left < a.right && b.right > a.left,
                             ytick: (a, b) => b.top < a.bottom - 2 && b.bottom > a.top + 2 };
              const found = Object.entries(over).flatMap(([axis, clash]) => {
                const labels = [...box.querySelectorAll(`.${axis} text`)].map(place);
                return labels.slice(1).filter((one, index) => clash(labels[index], one));
              });
              const rest = place(box.parentElement).height - place(box.querySelector(".main-svg")).height;
              return Math.abs(rest) > 2 || found.length ? [`${box.id} ${rest} ${found.length}`] : [];
            })"""
        )
        assert faults == [], path
