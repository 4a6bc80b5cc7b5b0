"""Answers kept with a version: what damaged figures or formulas change is seen."""

import json
from pathlib import Path

import pytest

from app.estimating.context import SizingContext
from app.estimating.golden import GOLDEN, disagreement
from tests.conftest import DATA


def test_the_kept_answers_are_those_of_this_version(context: SizingContext) -> None:
    assert disagreement(context, DATA) is None


@pytest.mark.parametrize("place", [0, 1])
def test_another_answer_is_named_with_both_figures(
    place: int, context: SizingContext, tmp_path: Path
) -> None:
    kept = json.loads((DATA / GOLDEN).read_text(encoding="utf-8"))
    found = kept[place]["time_to_train_s"]
    kept[place]["time_to_train_s"] = found * (1 + 1e-6)
    (tmp_path / GOLDEN).write_text(json.dumps(kept), encoding="utf-8")
    message = disagreement(context, tmp_path)
    assert message is not None
    assert message.values == {"found": f"{found:.6g}", "expected": f"{found * (1 + 1e-6):.6g}"}
