"""Large files: how far the upload is can be seen, it can be stopped, and nothing typed is lost."""

from __future__ import annotations

import json
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import CDPSession, Page, expect

from tests.support.windows import Seat

pytestmark = pytest.mark.browser

SIZE = 25_000_000
SLOW = 12_000_000.0
"""Rate of the line to the server. [B/s]"""
CRAWL = 400_000.0


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Texts of 25 MB."""
    path = tmp_path_factory.mktemp("files") / "texts.jsonl"
    line = json.dumps({"text": "word " * 4000}) + "\n"
    path.write_text(line * (SIZE // len(line) + 1))
    assert path.stat().st_size >= SIZE
    return path


def line(page: Page, rate: float, session: CDPSession | None = None) -> CDPSession:
    """Let the window send at a rate; below zero as fast as it can. [B/s]"""
    session = session or page.context.new_cdp_session(page)
    session.send("Network.enable")
    speed = {"offline": False, "latency": 0, "downloadThroughput": -1, "uploadThroughput": rate}
    session.send("Network.emulateNetworkConditions", speed)
    return session


def filled(seat: Seat, file: Path) -> Page:
    """Return the start form with everything a study needs."""
    page = seat.open("/?model.preset=bert-large&system=dgx-a100-640gb")
    page.set_default_timeout(12_000)
    page.locator("#workload summary").click()
    page.locator("[name='workload.samples']").fill("1000000")
    page.locator("#workload-file").set_input_files(file)
    return page


def stored(server: str) -> int:
    return len(httpx.get(f"{server}/api/v1/workloads", params={"limit": 100}).json()["items"])


def test_a_large_file_is_seen_to_arrive(window: Seat, sample: Path) -> None:
    page = filled(window, sample)
    line(page, SLOW)
    page.evaluate(
        """() => {
          window.seen = [];
          const said = document.querySelector("#compare .upload [role=status]");
          new MutationObserver(() => window.seen.push(said.textContent)).observe(said, {childList: true});
        }"""
    )
    before = stored(window.server)
    page.locator("#compare .submit-row button").click()
    expect(page.locator("#compare .upload progress")).to_be_visible()
    expect(page.locator("#compare .upload [role=status]")).to_contain_text("of 25.0 MB sent")
    with page.expect_navigation(url="**/studies/stu_*", timeout=60_000):
        pass
    expect(page.locator(".study-option")).to_have_count(1)
    assert stored(window.server) == before + 1
    assert window.strays == [] and window.complaints == []


def test_an_upload_that_is_stopped_leaves_nothing(
    korean_window: Seat, sample: Path, caplog: pytest.LogCaptureFixture
) -> None:
    seat = korean_window
    page = filled(seat, sample)
    slow = line(page, CRAWL)
    before = stored(seat.server)
    page.locator("#compare .submit-row button").click()
    expect(page.locator("#compare .upload [role=status]")).to_contain_text("25.0 MB 중")
    page.locator("#compare").get_by_role("button", name="취소").click()
    expect(page.locator("#compare .upload [role=status]")).to_contain_text("취소했습니다")
    expect(page.locator("[name='workload.samples']")).to_have_value("1000000")
    assert page.locator("#workload-file").evaluate("input => input.files.length") == 1
    assert page.locator("#compare").get_attribute("aria-busy") is None
    assert stored(seat.server) == before
    assert "failed" not in caplog.text
    # It can be sent again from where it is.
    line(page, -1, slow)
    page.locator("#compare .submit-row button").click()
    page.wait_for_url("**/studies/stu_*", timeout=60_000)


def test_a_line_that_breaks_keeps_what_was_typed(window: Seat, sample: Path) -> None:
    page = filled(window, sample)
    page.route("**/", lambda route: route.abort() if route.request.method == "POST" else route.continue_())
    page.locator("#compare .submit-row button").click()
    expect(page.locator("#compare .upload [role=status]")).to_contain_text("Your input is still here")
    expect(page.locator("[name='workload.samples']")).to_have_value("1000000")
    assert page.locator("#workload-file").evaluate("input => input.files[0].name") == sample.name


def test_a_refused_file_says_why_and_keeps_the_form(window: Seat, tmp_path: Path) -> None:
    broken = tmp_path / "broken.jsonl"
    broken.write_text('{"text": 1}\n' * 120_000)
    page = filled(window, broken)
    page.evaluate("window.sameDocument = true")
    page.locator("#compare .submit-row button").click()
    expect(page.locator("#workload-file-error-1")).to_be_visible()
    assert page.evaluate("window.sameDocument"), "the page was loaded anew"
    expect(page.locator("[name='workload.samples']")).to_have_value("1000000")
    expect(page.locator("#count-dgx-a100-640gb")).to_be_visible()
    assert page.locator("#workload-file").evaluate("input => input.files[0].name") == broken.name


def test_without_scripts_the_form_posts(plain_window: Seat, tmp_path: Path) -> None:
    small = tmp_path / "lengths.jsonl"
    small.write_text('{"length": 100}\n' * 50)
    page = filled(plain_window, small)
    assert page.locator("#compare .upload").is_hidden()
    page.locator("#compare .submit-row button").click()
    page.wait_for_url("**/studies/stu_*")
