"""Networks and bills in a browser: drawings are seen, nothing is refused by the content policy."""

from __future__ import annotations

import httpx
import pytest
from playwright.sync_api import expect

from tests.browser.conftest import AXE
from tests.support.windows import Seat

pytestmark = pytest.mark.browser


def test_a_network_is_asked_and_drawn(window: Seat) -> None:
    page = window.view("switches")
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


@pytest.fixture
def bill(server: str) -> str:
    """Address of the bill of three machines, in a study with a pod."""
    body = {
        "name": "Pod or machines",
        "base": {"model": {"preset": "bert-large"}, "workload": {"target": "mlperf-bert"}},
        "options": [{"system": {"id": "dgx-a100-320gb", "count": 3}}, {"system": {"id": "ipu-pod64"}}],
    }
    made = httpx.post(f"{server}/api/v1/studies", json=body, timeout=60)
    return f"/studies/{made.json()['id']}/bill"


def test_a_bill_is_changed_saved_and_compared(window: Seat, bill: str) -> None:
    page = window.open(bill)
    # The machines and their network, and the login and management nodes.
    expect(page.locator("#racks tbody tr")).to_have_count(2)
    box = page.locator("svg.drawing .box-machine").first.bounding_box()
    assert box is not None and box["width"] > 60 and box["height"] > 30
    with page.expect_download() as saved:
        page.get_by_role("link", name="Workbook (XLSX)").click()
    assert saved.value.suggested_filename.endswith(".xlsx")
    page.get_by_label("Compare with the bill of").select_option(label="IPU-POD64")
    page.get_by_role("button", name="Compare").click()
    expect(page.locator("#package")).to_contain_text("about equal")
    expect(page.locator(".warnings").first).to_contain_text("on the same basis")
    expect(page.locator("#lines")).not_to_contain_text("storage server")
    page.get_by_text("Change ports, storage, spares and racks").click()
    page.get_by_label("Usable shared storage").fill("500")
    page.get_by_role("button", name="Recalculate").click()
    expect(page.locator("#lines")).to_contain_text("storage server")
    expect(page.locator("#package")).to_contain_text("about equal")
    page.get_by_role("link", name="IPU-POD64", exact=True).click()
    expect(page.locator("#lines")).to_contain_text("IPU-M2000")
    assert window.complaints == [] and window.strays == []


def test_bills_are_accessible(window: Seat, bill: str) -> None:
    page = window.open(f"{bill}?other=b&storage_tb=500")
    expect(page.locator("#lines")).to_be_visible()
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("axe.run()")
    assert [one["id"] for one in found["violations"]] == []
