"""Generated documents: the pages about the API, the command line and the settings."""

import re
from collections.abc import Iterator
from pathlib import Path

from app.catalog.books import LIMITS
from app.commands.asking import QUESTIONS
from app.errors import AppError
from app.main import create_app
from app.platform.web.problems import MEANINGS
from app.settings import VARIABLES, Settings
from tests.conftest import run, sizing_context
from tools.api_reference import failures, shortened, warnings, with_answers
from tools.command_line import EXAMPLE, with_printed
from tools.documents import API, COMMANDS, ROOT, SETTINGS
from tools.settings import settings_table


def test_the_page_about_the_command_line_shows_what_is_printed() -> None:
    text = (ROOT / COMMANDS).read_text(encoding="utf-8")
    assert len(EXAMPLE.findall(text)) == text.count("<!-- generated: answer -->") >= 3
    assert with_printed(text, sizing_context()) == text, "run “python -m tools documents”"
    assert all(f"`rackline {name} " in text for name in QUESTIONS)


def test_every_setting_is_explained() -> None:
    page = (ROOT / SETTINGS).read_text(encoding="utf-8")
    assert settings_table() in page, "run “python -m tools documents”"
    rows = re.findall(r"^\| `(RACKLINE_\w+)` \| ([^|]*) \| ([^|]+) \|$", page, re.M)
    assert [name for name, _, _ in rows] == list(VARIABLES)
    assert all(
        (len(meaning) > 10 and meaning.endswith(".")) or meaning.endswith("]") for _, _, meaning in rows
    )


def test_the_page_about_the_api_has_the_warnings_of_estimates_and_comparisons() -> None:
    listed = {code.strip("`") for code, *_ in warnings()[1:]}
    assert listed > {"price_unknown", "memory_margin_thin", "does_not_fit", "not_sold_new"}


def test_the_page_about_the_api_has_every_status_that_is_answered() -> None:
    listed = {int(status) for _, status, _ in failures()[1:]}
    raised = {
        kind.status
        for kind in kinds(AppError)
        if kind.__module__ in {"app.errors", "app.platform.web.problems"}
    }
    assert listed == raised
    assert listed >= {*MEANINGS, 429, 431}


def kinds(parent: type[AppError]) -> Iterator[type[AppError]]:
    """Yield every kind of failure below one."""
    for kind in parent.__subclasses__():
        yield kind
        yield from kinds(kind)


def test_printed_answers_are_those_of_the_server(tmp_path: Path) -> None:
    """The page is held against them where it is made; here is how they are found and written."""
    request = """```json\n{"devices": 160, "global_batch": 8192}\n```\n"""
    marked = "<!-- answer: POST /checks suggested_devices,warnings.code -->\n{}<!-- end -->\n"
    answer = '{"warnings": [{"code": "batch_not_divisible"}],\n "suggested_devices": 128}'
    written = run(with_answers(create_app(Settings.at(tmp_path)), request + marked.format("old\n")))
    assert written == request + marked.format(f"```text\n{answer}\n```\n")


def test_figures_of_printed_answers_have_four_digits() -> None:
    assert shortened({"value": 1911565.2, "unit": "s"}) == '{"value": 1912000, "unit": "s"}'
    assert shortened([1, 0.015625, "가", None, True]) == '[1, 0.01562, "가", …]'


def test_the_page_about_the_api_names_every_parameter_of_a_price_book() -> None:
    page = (ROOT / API).read_text(encoding="utf-8")
    assert all(f"| `{parameter}` |" in page for parameter in LIMITS)
