"""The pictures of the README files, taken from the product itself: an answer, and page 1 of its proposal."""

from __future__ import annotations

import json
import socket
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import typst
import uvicorn
from playwright.sync_api import sync_playwright

from app.features.proposals.model import Proposal
from app.features.proposals.pdf import payload, template, written_payload
from app.features.proposals.writing.proposal import write_proposal
from app.main import create_app
from app.platform.fonts import font_folder
from app.platform.wording.voice import voice
from app.settings import Settings

FOLDER = Path("docs/img")

QUESTIONS = {
    "en": "7B, 2T tokens, 60 days, $3M: buy or rent?",
    "ko": "70억 파라미터, 2조 토큰, 60일, 50억 원: 구매 또는 임대?",
}
"""Language → the question that its pictures answer."""

CURRENCY = {"en": "USD", "ko": "KRW"}

LOCALES = {"en": "en-US", "ko": "ko-KR"}

WIDE, HIGH = 1280, 860

DOTS_PER_INCH = 80.0


def take(browser: str) -> None:
    """Write the pictures of every language."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as data, served(Path(data)) as server:
        for language, question in QUESTIONS.items():
            study = asked(server, question, language)
            (FOLDER / f"answer-{language}.png").write_bytes(seen(browser, f"{server}{study}", language))
            (FOLDER / f"proposal-{language}.png").write_bytes(first_page(server, study, language))


@contextmanager
def served(data: Path) -> Iterator[str]:
    """Serve the product from an empty folder."""
    app = create_app(Settings.at(data, niceness=0))
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        running = uvicorn.Server(uvicorn.Config(app, log_level="warning"))
        thread = threading.Thread(target=running.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        while not running.started:
            time.sleep(0.02)
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        running.should_exit = True
        thread.join()


def asked(server: str, question: str, language: str) -> str:
    """Return the address of the study that answers a question."""
    headers = {"Accept-Language": LOCALES[language]}
    answer = httpx.get(f"{server}/ask", params={"ask": question}, headers=headers, timeout=120.0)
    return str(answer.headers["location"])


def seen(browser: str, address: str, language: str) -> bytes:
    """Return what a reader sees of a page."""
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        page = opened.new_page(locale=LOCALES[language], viewport={"width": WIDE, "height": HIGH})
        page.goto(address, timeout=120_000)
        page.locator("#figure-map[data-drawn]").wait_for()
        picture = page.screenshot()
        opened.close()
    return picture


def first_page(server: str, study: str, language: str) -> bytes:
    """Return page 1 of the proposal of a study."""
    body = {
        "study_id": study.rpartition("/")[2],
        "locale": language,
        "customer": {"en": "Customer", "ko": "고객사"}[language],
        "currency": CURRENCY[language],
    }
    with httpx.Client(base_url=f"{server}/api/v1", timeout=120.0) as client:
        made = client.post("/proposals", json=body).json()
        proposal = Proposal.model_validate(client.get(f"/proposals/{made['id']}").json())
    speaker = voice(language)
    view = write_proposal(proposal, speaker)
    data: dict[str, Any] = {
        **written_payload(view, speaker, proposal.updated_at),
        **payload(proposal, speaker),
    }
    pages: Any = typst.compile(  # type: ignore[call-overload]
        template(),
        font_paths=[str(font_folder())],
        ignore_system_fonts=True,
        sys_inputs={"data": json.dumps(data, ensure_ascii=False), "content": ""},
        format="png",
        ppi=DOTS_PER_INCH,
    )
    return bytes(pages[0] if isinstance(pages, list) else pages)
