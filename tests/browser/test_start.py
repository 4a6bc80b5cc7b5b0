"""The first page with a keyboard, a mouse, a phone, and without scripts."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.support.views import QWEN2_7B
from tests.support.windows import Seat

pytestmark = pytest.mark.browser

STUDY = re.compile(r"/studies/stu_")


def systems(page: Page) -> list[str]:
    return page.locator(".chosen-system strong").all_inner_texts()


def offered(page: Page) -> Locator:
    return page.locator("#system-results").get_by_role("option")


def test_a_study_is_made_with_the_keyboard_alone(window: Seat) -> None:
    page = window.open("/?find=")
    page.locator("#find").focus()
    page.keyboard.type("meta-llama/Llama-2-7b-hf")
    page.keyboard.press("Enter")
    expect(page.locator("#model .chosen")).to_have_text("Llama 2 7B")
    page.locator("#find_system").focus()
    expect(offered(page).first).to_be_visible()
    page.keyboard.press("Escape")
    expect(offered(page)).to_have_count(0)
    page.keyboard.type("hgx a100")
    expect(offered(page)).to_have_count(2)
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    expect(offered(page).and_(page.locator("[aria-selected=true]"))).to_contain_text("HGX A100 40GB")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    expect(page.locator(".chosen-system")).to_have_count(3)
    expect(page.locator("#find_system")).to_be_focused()
    expect(page.locator("#find_system")).to_have_value("")
    expect(offered(page)).to_have_count(0)
    assert systems(page)[2] == "HGX A100 80GB (8 GPUs)"
    more = page.locator("#more-a100-sxm-80gb")
    before = int(page.locator("#count-a100-sxm-80gb").input_value())
    more.press("Enter")
    expect(page.locator("#count-a100-sxm-80gb")).to_have_value(str(before + 1))
    expect(more).to_be_focused()
    page.locator("#compare .submit-row button").press("Enter")
    expect(page).to_have_url(STUDY)
    expect(page.locator(".study-option")).to_have_count(3)
    assert window.complaints == [] and window.strays == []


def test_a_line_is_understood_while_it_is_typed_and_answered_by_enter(window: Seat) -> None:
    page = window.open("/")
    expect(page.locator("#ask")).to_be_focused()
    page.keyboard.type("BERT-Large on 2 dgx a100 vs bow pod16, 3 days")
    expect(page.locator("#understood .chip")).to_have_count(4)
    page.keyboard.press("Enter")
    expect(page).to_have_url(STUDY)
    expect(page.locator(".study-option")).to_have_count(2)
    assert window.complaints == [] and window.strays == []


def test_fields_left_as_they_are_do_not_override_the_line(window: Seat) -> None:
    page = window.open("/")
    page.locator("#ask").fill("BERT-Large on 2 dgx a100 vs bow pod16, ₩5bn, 10 a year")
    page.keyboard.press("Enter")
    expect(page).to_have_url(STUDY)
    base = page.request.get(f"{page.url}.json").json()["content"]["base"]
    assert base["currency"] == "KRW" and base["assumptions"]["demand"]["runs_per_year"] == 10


def test_systems_are_marked_removed_and_counted(window: Seat) -> None:
    page = window.open("/?model.preset=bert-large")
    page.locator("#star-aws-p5").click()
    expect(page.locator("#unstar-aws-p5")).to_have_attribute("aria-pressed", "true")
    page.locator("#remove-aws-p5").click()
    expect(page.locator(".chosen-system")).to_have_count(1)
    expect(page.locator("[data-removes]")).to_be_focused()
    page.locator("#find_system").fill("nothing like it")
    expect(page.locator("#system-results")).to_contain_text("No system matches")
    missed = page.locator("#system-results > p").bounding_box()
    button = page.locator("#compare .submit-row button").bounding_box()
    assert missed is not None and button is not None and missed["y"] + missed["height"] <= button["y"]
    page.locator("#find_system").fill("")
    page.locator("#find_system").click()
    expect(offered(page).first).to_contain_text("AWS p5")
    offered(page).first.click()
    expect(page.locator(".chosen-system")).to_have_count(2)
    page.locator("#unstar-aws-p5").click()
    expect(page.locator("#star-aws-p5")).to_be_visible()
    assert window.complaints == []


def test_the_least_count_follows_the_training(window: Seat) -> None:
    page = window.open("/?model.preset=llama2-7b")
    before = page.locator("#least").inner_text()
    page.locator("#workload summary").click()
    page.locator("#workload-seq_len").fill("262,144")
    page.locator("#workload-seq_len").press("Tab")
    expect(page.locator("#least")).not_to_have_text(before)


def test_a_default_that_is_typed_over_is_not_called_one(window: Seat) -> None:
    page = window.open("/?model.preset=llama2-7b")
    page.locator("#workload summary").click()
    tag = page.locator(".field:has(#workload-seq_len) .tag.default")
    expect(tag).to_be_visible()
    page.locator("#workload-seq_len").fill("2048")
    expect(tag).to_be_hidden()


def test_an_uploaded_model_is_read_at_once(window: Seat, tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    file.write_text(json.dumps(QWEN2_7B))
    page = window.open("/?find=")
    expect(page.locator("#model-file ~ button")).to_be_hidden()
    page.locator("#model-file").set_input_files(file)
    expect(page.locator("#model .chosen")).to_have_text("qwen2")
    page.locator("#compare .submit-row button").click()
    expect(page).to_have_url(STUDY)


def test_the_page_works_without_scripts(plain_window: Seat) -> None:
    page = plain_window.open("/?find=")
    expect(page.locator("#model-file ~ button")).to_be_visible()
    page.locator("#find").fill("bert large")
    page.get_by_role("button", name="Find").first.click()
    page.locator("#model-results").get_by_role("link", name=re.compile("BERT-Large")).click()
    page.locator("#find_system").fill("bow-pod16")
    page.locator("#find_system").press("Enter")
    page.get_by_role("button", name=re.compile("Bow Pod16")).click()
    page.locator("#more-bow-pod16").click()
    expect(page.locator("#count-bow-pod16")).to_have_value("2")
    page.locator("#workload summary").click()
    page.locator("#workload-tokens").fill("a lot")
    page.locator("#compare .submit-row button").click()
    expect(page.locator("#workload-tokens")).to_have_attribute("aria-invalid", "true")
    page.locator("#workload-tokens").fill("1e9")
    page.locator("#compare .submit-row button").click()
    expect(page).to_have_url(STUDY)
    expect(page.locator(".study-option")).to_have_count(3)


def test_nothing_is_scrolled_before_a_model_is_chosen(window: Seat) -> None:
    page = window.page
    page.set_viewport_size({"width": 1440, "height": 900})
    window.open("/")
    assert page.evaluate("document.documentElement.scrollHeight") <= 900
    window.open("/?model.preset=bert-large")
    button = page.locator("#compare .submit-row button").bounding_box()
    assert button is not None and button["y"] + button["height"] <= 900


def test_it_fits_a_phone(phone: Seat) -> None:
    for path in ("/", "/?find=7b", "/?model.preset=gpt3-175b", "/?model.preset=gpt3-175b&find_system=a100",
                 "/uploads"):  # fmt: skip
        page = phone.open(path)
        assert page.evaluate("document.documentElement.scrollWidth") <= 360, path
