"""The answers printed in docs/command-line.md."""

from __future__ import annotations

import re

from app.commands import deciding, estimating
from app.commands.asking import QUESTIONS
from app.estimating.context import SizingContext
from app.platform.wording.lines import printed
from app.platform.wording.voice import voice

EXAMPLE = re.compile(
    r"(?P<head>```json\n(?P<request>[^`]*)```\n\n`rackline (?P<command>[\w-]+) [^\n]*\n\n"
    r"<!-- generated: answer -->\n).*?<!-- end -->",
    re.DOTALL,
)
"""A request, its command, and the printed answer."""

LOADED = (deciding, estimating)
"""Modules whose commands may have examples."""


def with_printed(text: str, context: SizingContext) -> str:
    def replaced(example: re.Match[str]) -> str:
        question = QUESTIONS[example["command"]]
        answer = question.compute(question.request.model_validate_json(example["request"]), context)
        text = printed(question.text(answer, voice("en")))
        return f"{example['head']}```text\n{text}\n```\n<!-- end -->"

    return EXAMPLE.sub(replaced, text)
