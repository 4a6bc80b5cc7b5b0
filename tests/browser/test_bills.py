"""Networks and bills in a browser: drawings are seen, nothing is refused by the content policy."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.test_pages import AXE
from tests.windows import Seat

pytestmark = pytest.mark.browser


def test_a_network_is_asked_and_drawn(window: Seat) -> None:
    page = window.open("/fabrics")
    expect(page.locator("#result")).to_contain_text("12")
    expect(page.locator("svg.drawing .box-leaf")).to_have_count(8)
    page.get_by_label("Nodes", exact=True).fill("40")
    page.get_by_label("Declared switches").fill("")
    page.get_by_role("button", name="Calculate").click()
    expect(page.get_by_label("Nodes", exact=True)).to_have_value("40")
    expect(page.locator("svg.drawing .box-spine")).to_have_count(10)
    page.reload()
    expect(page.locator("svg.drawing .box-spine")).to_have_count(10)
    assert window.complaints == [] and window.strays == []


def test_a_bill_is_made_saved_and_compared(window: Seat) -> None:
    page = window.open("/boms/new")
    page.get_by_label("System").select_option("ipu-pod64")
    page.get_by_role("button", name="Create BOM").click()
    expect(page).to_have_url(re.compile("/boms/bom_"))
    page.goto(page.url.split("/boms/")[0] + "/boms/new")
    page.get_by_label("System").select_option("dgx-a100-320gb")
    page.get_by_label("Count").fill("3")
    page.get_by_role("button", name="Create BOM").click()
    expect(page.locator("#racks tbody tr")).to_have_count(1)
    box = page.locator("svg.drawing .box-machine").first.bounding_box()
    assert box is not None and box["width"] > 60 and box["height"] > 30
    with page.expect_download() as saved:
        page.get_by_role("link", name="Workbook (XLSX)").click()
    assert saved.value.suggested_filename.endswith(".xlsx")
    page.get_by_label("Other BOM", exact=True).select_option(label="1 × IPU-POD64")
    page.get_by_role("button", name="Compare").click()
    expect(page.locator("#package")).to_contain_text("about equal")
    expect(page.locator(".warnings")).to_contain_text("on the same basis")
    assert window.complaints == [] and window.strays == []


def test_bills_are_accessible(window: Seat) -> None:
    page = window.open("/boms/new")
    page.get_by_label("Count").fill("20")
    page.get_by_role("button", name="Create BOM").click()
    expect(page.locator("#lines")).to_be_visible()
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("axe.run()")
    assert [one["id"] for one in found["violations"]] == []
