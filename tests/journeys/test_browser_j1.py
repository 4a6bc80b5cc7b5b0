"""Journey 1 in a browser, in Korean and in English: measured on both networks, do not sell InfiniBand."""

from __future__ import annotations

import json
import re
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import expect

from app.platform.wording.voice import Voice, voice
from tests.support.renderings import squeezed, text_of
from tests.support.windows import Seat

pytestmark = pytest.mark.browser

CONFIG = {
    "model_type": "gpt2",
    "n_layer": 24,
    "n_embd": 1024,
    "n_head": 16,
    "n_positions": 1024,
    "vocab_size": 50257,
}


@pytest.fixture
def spoken(seat: Seat) -> Voice:
    """The language the window is in."""
    return voice(seat.open("/catalog").evaluate("document.documentElement.lang"))


@pytest.fixture(scope="module")
def estimate(server: str) -> str:
    """Identifier of an estimate of the customer's model and data."""
    with httpx.Client(base_url=f"{server}/api/v1", trust_env=False) as client:
        profile = client.post("/profiles", json={"name": "customer", "config": CONFIG}).json()
        lines = "\n".join(json.dumps({"length": 1024}) for _ in range(200))
        files = {"file": ("lengths.jsonl", lines)}
        sample = client.post("/workloads", files=files, data={"seq_len": "1024"}).json()
        made = client.post(
            "/estimates",
            json={
                "model": {"profile_id": profile["id"]},
                "workload": {
                    "workload_id": sample["id"],
                    "samples": 1e8,
                    "global_batch": 512,
                    "precision": "bf16",
                },
                "system": {"id": "dgx-a100-640gb", "count": 2},
            },
        )
        return str(made.json()["id"])


def test_a_consultant_does_not_sell_infiniband(seat: Seat, spoken: Voice, estimate: str) -> None:
    page = seat.open(f"/estimates/{estimate}")
    networks = page.get_by_role("link", name=spoken.gettext("Which network is worth paying for?"))
    networks.first.click()
    table = page.locator("#networks")
    for network in ("hdr-infiniband-8", "roce-100-8"):
        expect(table.locator(f"#{network}")).to_contain_text("ms")
    expect(table.locator("#roce-100-8")).to_contain_text(spoken.label("unvalidated"))

    page.get_by_text(spoken.gettext("Measured runs by network"), exact=True).click()
    page.get_by_label("8 × HDR InfiniBand, 200 Gb/s", exact=True).fill("1003, 998, 999")
    page.get_by_label("8 × RoCE, 100 Gb/s", exact=True).fill("985, 990, 980")
    apply = page.get_by_role("button", name=spoken.gettext("Apply"))
    apply.click()
    verdict = page.locator("#advice .answer-first")
    refused = "Not recommended" if spoken.language == "en" else "권장하지 않음"
    expect(verdict).to_contain_text(refused)
    expect(verdict).to_contain_text("1.5")
    expect(verdict).to_contain_text("8 × RoCE, 100 Gb/s")
    expect(verdict).to_contain_text("16")
    expect(page.locator("#measured")).to_contain_text("985")
    expect(page.locator("#measured")).to_contain_text("1,000")
    expect(page.locator("#fitted tbody tr").first).to_be_visible()
    expect(page.locator("#not-bought")).to_contain_text(spoken.gettext("QM8790 HDR switch"))
    runs = page.get_by_label("8 × RoCE, 100 Gb/s", exact=True)
    expect(runs).to_have_value("985, 990, 980")
    page.reload()
    expect(runs).to_have_value("985, 990, 980")

    runs.fill("700, 701, 699")
    apply.click()
    expect(verdict).not_to_contain_text(refused)
    expect(verdict).to_contain_text("43")
    page.go_back()
    expect(verdict).to_contain_text(refused)

    page.get_by_role("link", name=f"{spoken.gettext('Create proposal')}: 8 × RoCE, 100 Gb/s").click()
    expect(page).to_have_url(re.compile(r"/studies/stu_\w+/proposal\?state="))
    advised = page.get_by_label(spoken.gettext("Advice on the network of"))
    expect(advised).to_be_visible()
    expect(advised).to_have_value("a")
    page.get_by_label(spoken.gettext("Customer"), exact=True).fill("TEN")
    page.get_by_role("button", name=spoken.gettext("Save draft")).click()
    against = page.locator("ul.against")
    expect(against).to_contain_text(refused)
    expect(against).to_contain_text("8 × HDR InfiniBand, 200 Gb/s")
    expect(page.locator("#acceptance")).to_contain_text("RoCE")
    expect(page.locator("#bill")).not_to_contain_text(spoken.gettext("QM8790 HDR switch"))
    content = page.request.get(f"{page.url}.json").json()["content"]
    assert [row["estimate"]["system"]["fabric"] for row in content["comparison"]["rows"]] == ["roce-100"]
    measured = page.locator("#measured")
    for mean in ("1,000", "985"):
        expect(measured).to_contain_text(mean)
    with page.expect_download() as waiting:
        page.get_by_role("link", name="PDF", exact=True).click()
    text = text_of(Path(waiting.value.path()).read_bytes())
    for said in (refused, "1.5", "5%" if spoken.language == "ko" else "5 %", "1,000", "985"):
        assert squeezed(said) in squeezed(text)
    assert seat.strays == []


def test_the_page_is_whole_without_scripts_and_in_a_phone(seat: Seat) -> None:
    page = seat.view("network")
    page.set_viewport_size({"width": 390, "height": 900})
    expect(page.locator("#advice .answer-first")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    for chart in ("figure-gains", "figure-exposed", "figure-ladder", "figure-accumulation"):
        if chart == "figure-ladder":
            page.locator("summary:has(#turning-title)").click()
        page.locator(f"#{chart}").scroll_into_view_if_needed()
        expect(page.locator(f"#{chart} .main-svg").first).to_be_visible()
