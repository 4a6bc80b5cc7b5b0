"""Answers that this version gives: what shows that formulas and figures are those it was made with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from app.errors import Message
from app.estimating.context import SizingContext
from app.estimating.estimate import time_to_train
from app.estimating.request import EstimateRequest

GOLDEN = "golden.json"
"""File of the data directory with questions and their times, written with the documents."""
QUESTIONS: tuple[dict[str, Any], ...] = (
    {
        "model": {"preset": "gpt3-175b"},
        "workload": {"tokens": 300e9, "global_batch": 1536},
        "system": {"id": "dgx-a100-640gb", "count": 128},
    },
    {
        "model": {"preset": "bert-large"},
        "workload": {"samples": 20e6},
        "system": {"id": "bow-pod16"},
    },
)
SAME = 1e-9
"""Relative difference of what another processor or library of mathematics rounds otherwise."""


def golden_answers(context: SizingContext) -> str:
    """Return the questions with their times to train, as they are kept. [s]"""
    answers = [{"request": asked, "time_to_train_s": _seconds(asked, context)} for asked in QUESTIONS]
    return json.dumps(answers, indent=1) + "\n"


def disagreement(context: SizingContext, directory: Path) -> Message | None:
    """Return which of the kept times is not what is computed now; None if all are."""
    for kept in json.loads((directory / GOLDEN).read_text(encoding="utf-8")):
        expected, found = kept["time_to_train_s"], _seconds(kept["request"], context)
        if not abs(found - expected) <= SAME * expected:
            return Message(
                "a known answer comes out as {found} s instead of {expected} s: "
                "the engine or its figures are damaged; install this version again",
                {"found": f"{found:.6g}", "expected": f"{expected:.6g}"},
            )
    return None


def _seconds(asked: dict[str, Any], context: SizingContext) -> float:
    timed = time_to_train(EstimateRequest.model_validate(asked), context)
    return float("nan") if timed is None else timed[0]
