"""Everything a study takes for granted: each default with its reason, each statement, and what changes it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import JsonValue

from app.sizing.questions import PublishedFigure
from app.sizing.request import EstimateRequest
from app.sizing.study.documents import AssumedValue, AssumptionRow, StudyOptionAnswer
from app.sizing.study.knobs import KNOBS

UNSHOWN = ("model.", "label")
"""What is shown elsewhere: the model has a page of its own."""


def assumption_rows(
    requests: Mapping[str, EstimateRequest | PublishedFigure], options: Sequence[StudyOptionAnswer]
) -> list[AssumptionRow]:
    """Return every field that an estimate of the study rests on, those with a default first."""
    taken: dict[str, dict[str, AssumedValue]] = {}
    for option in options:
        asked = requests[option.key]
        if option.estimate is None or isinstance(asked, PublishedFigure):
            continue
        for one in option.estimate.defaults:
            values = taken.setdefault(one.field, {})
            values[option.key] = AssumedValue(value=one.value, default=True, text=one.text)
        for field, value in _stated(asked.model_dump(mode="json", exclude_unset=True)):
            values = taken.setdefault(field, {})
            values.setdefault(option.key, AssumedValue(value=value, default=False, text=None))
    rows = [AssumptionRow(field=field, knob=_knob(field), values=values) for field, values in taken.items()]
    return sorted(rows, key=lambda row: not any(value.default for value in row.values.values()))


def _stated(tree: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, JsonValue]]:
    for name, value in tree.items():
        path = f"{above}{name}"
        if path.startswith(UNSHOWN) or value is None:
            continue
        if isinstance(value, Mapping):
            yield from _stated(value, f"{path}.")
        else:
            yield path, value


def _knob(field: str) -> str | None:
    """Return the knob of a field of an estimate request, of the base where there is one."""
    return next((name for name, knob in KNOBS.items() if field in {knob.base, knob.option}), None)
