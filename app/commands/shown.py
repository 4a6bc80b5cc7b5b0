"""The page about the command line: what its examples print, from the commands themselves."""

from __future__ import annotations

import re

from app.commands import deciding, estimating
from app.commands.asking import QUESTIONS
from app.estimating.context import SizingContext
from app.platform.wording.lines import printed
from app.platform.wording.voice import voice

PAGE = "docs/command-line.md"

EXAMPLE = re.compile(
    r"(?P<head>```json\n(?P<request>[^`]*)```\n\n`rackline (?P<command>[\w-]+) [^\n]*\n\n"
    r"<!-- generated: answer -->\n).*?<!-- end -->",
    re.DOTALL,
)
"""A request, the command that it is given to, and what that prints."""

LOADED = (deciding, estimating)
"""Modules whose commands may have examples."""


def with_printed(text: str, context: SizingContext) -> str:
    """Return the page with what its examples print brought up to date."""

    def shown(example: re.Match[str]) -> str:
        question = QUESTIONS[example["command"]]
        answer = question.compute(question.asked.model_validate_json(example["request"]), context)
        said = printed(question.text(answer, voice("en")))
        return f"{example['head']}```text\n{said}\n```\n<!-- end -->"

    return EXAMPLE.sub(shown, text)
