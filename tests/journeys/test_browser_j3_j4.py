"""Journeys 3 and 4 in a browser, in Korean and in English."""

from __future__ import annotations

import re

import httpx
import pytest
from playwright.sync_api import Page, expect

from app.platform.wording.voice import Voice, voice
from tests.support.windows import Seat

pytestmark = pytest.mark.browser

PUBLISHED = [
    {"label": "1 × DGX A100", "hours": 69.5, "kind": "vendor", "system": "dgx-a100-320gb"},
    {"label": "3 × DGX A100", "kind": "linear", "scaled_from": "1 × DGX A100", "factor": 3},
    {"label": "1 × IPU-POD64", "hours": 13.2, "kind": "vendor", "system": "ipu-pod64"},
]


@pytest.fixture
def spoken(seat: Seat) -> Voice:
    """The language the window is in."""
    return voice(seat.open("/catalog").evaluate("document.documentElement.lang"))


def table_row(page: Page, table: str, name: str) -> str:
    return page.locator(f"#{table} tr", has=page.get_by_role("rowheader", name=name, exact=True)).inner_text()


def test_a_field_engineer_maps_gpt3_on_a_pod256(seat: Seat, spoken: Voice) -> None:
    page = seat.view("mapping")
    expect(page.locator(".study-question")).to_contain_text("GPT-3 175B")
    expect(page.locator("#result .headline")).to_contain_text("/ 256")

    def control(label: str, letter: str) -> str:
        return f"{spoken.gettext(label)} {letter}"

    for label, letter, count in (
        ("Tensor parallel", "t", 8),
        ("Pipeline stages", "p", 8),
        ("Replicas", "r", 4),
    ):
        page.get_by_label(control(label, letter), exact=True).fill(str(count))
    calculate = page.get_by_role("button", name=spoken.gettext("Calculate"))
    calculate.click()
    expect(page.locator("#result .headline")).to_contain_text("256")
    for name, value in (
        ("IPUs per replica", "64"),
        ("Layers per stage", "12"),
        ("Share of the weights each IPU works on", "1/64"),
        ("Share of the weights each IPU keeps", "1/256"),
        ("Minimum phases for the weights alone", "7"),
    ):
        assert table_row(page, "mapping", spoken.gettext(name)).endswith(value)

    replicas = page.get_by_label(control("Replicas", "r"), exact=True)
    replicas.fill("5")
    calculate.click()
    expect(replicas).to_have_value("5")
    expect(replicas).to_have_attribute("aria-describedby", "replicas-error-1")
    error = page.locator("#replicas-error-1")
    expect(error).to_contain_text("320")
    expect(error).to_contain_text("256")
    field, told = replicas.bounding_box(), error.bounding_box()
    assert field is not None and told is not None
    assert 0 <= told["y"] - (field["y"] + field["height"]) < 20
    expect(page.locator("#result")).to_contain_text("5.47 GB")
    style = page.locator("#result").evaluate(
        "box => [getComputedStyle(box).filter, getComputedStyle(box).opacity]"
    )
    assert style[0] == "grayscale(1)" and float(style[1]) < 1


def test_a_reseller_asks_what_if_scaling_is_not_linear(seat: Seat, spoken: Voice) -> None:
    rows = {"title": "BERT-Large", "rows": PUBLISHED}
    stored = httpx.post(f"{seat.server}/api/v1/comparisons", json=rows)
    assert stored.status_code == 201, stored.text
    address = f"/comparisons/{stored.json()['id']}"
    page = seat.open(address)
    options = page.locator("#options")
    for shown in ("69.5", "23.2", "13.2", "5.3×", "1.8×"):
        expect(options).to_contain_text(shown)
    before = bar_of(page)
    page.evaluate("window.sameDocument = true")
    page.get_by_label("scaling efficiency").fill("85")
    expect(options).to_contain_text("27.3")
    expect(options).to_contain_text("2.1×")
    expect(page).to_have_url(re.compile(r"/studies/stu_\w+\?scaling_efficiency=0\.85$"))
    assert page.evaluate("window.sameDocument"), "the page was loaded anew"
    assert bar_of(page) > before
    page.reload()
    expect(options).to_contain_text("27.3")
    page.go_back()
    expect(options).to_contain_text("23.2")
    expect(page).to_have_url(seat.server + address)
    elsewhere = page.context.new_page()
    elsewhere.goto(f"{seat.server}{address}?scaling_efficiency=0.85")
    expect(elsewhere.locator("#options")).to_contain_text("27.3")
    assert seat.strays == []


def bar_of(page: Page) -> float:
    """Width of the bar of the row that is scaled up."""
    bar = page.locator("#options section", has_text="3 × DGX A100").locator(".rangebar .fill-linear")
    return float(bar.get_attribute("width") or 0)
