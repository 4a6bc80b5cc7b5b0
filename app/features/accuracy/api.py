"""How well measured runs are predicted, as data."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Annotated

from fastapi import Query

from app.estimating.schema import Document, filled
from app.features.accuracy.agreement import ErrorCell, ErrorSummary, RunChoice, agreement, counted
from app.features.accuracy.predictions import Prediction
from app.features.accuracy.service import choice_of, errors_of, predictions
from app.platform.web.api import LIST, api_router

router = api_router("catalogue", "/accuracy")


class Accuracy(Document):
    """How well measured runs are predicted."""

    family: str
    """Families of the runs: one family, “all”, “core” (those with the most runs) or “other”."""
    chip: str
    """Chip of the runs; empty for all."""
    scale: str
    """Class of size of the runs; empty for all."""
    errors: str
    """What was left out of the fit for “headline”, “families” and “chips”, such as group_left_out."""
    measured: int
    """Number of measured runs in all, whatever is chosen."""
    headline: ErrorSummary
    """Errors of the chosen runs."""
    kinds: dict[str, ErrorSummary]
    """Errors of the chosen runs by what was left out of the fit."""
    families: dict[str, ErrorSummary]
    """Errors of the chosen runs by model family."""
    chips: dict[str, ErrorSummary]
    """Errors of the chosen runs by chip."""
    cells: list[ErrorCell]
    """Errors of the chosen runs by family, chip and size."""


def filter_query(description: str, example: str) -> object:
    return Query(max_length=100, description=description, examples=[example])


@router.get("", summary="Retrieve the accuracy", responses=LIST)
def get_accuracy(
    family: Annotated[str, filter_query("Model family, “core” or “other”; if omitted, all.", "core")] = "",
    chip: Annotated[str, filter_query("Chip; if omitted, all.", "a100-sxm-80gb")] = "",
    scale: Annotated[str, filter_query("Class of size; if omitted, all.", "9-64")] = "",
    errors: Annotated[
        str,
        filter_query(
            "What is left out of the fit; if omitted, the group of each run.", "laboratory_left_out"
        ),
    ] = "",
) -> Accuracy:
    """Return the errors of predictions of measured runs, by family, chip, size and by what was left out."""
    return accuracy_of(choice_of(family=family, chip=chip, scale=scale, errors=errors))


@functools.lru_cache(maxsize=64)
def accuracy_of(choice: RunChoice) -> Accuracy:
    errors, runs = errors_of(choice), counted(filter(choice.holds, predictions()))

    def by(key: Callable[[Prediction], str]) -> dict[str, ErrorSummary]:
        return {
            name: agreement([run for run in runs if key(run) == name], choice.errors)
            for name in sorted({key(run) for run in runs})
        }

    return filled(
        Accuracy,
        choice,
        measured=len(predictions()),
        headline=errors["headline"],
        kinds=errors["kinds"],
        families=by(lambda run: run.family),
        chips=by(lambda run: run.chip),
        cells=errors["cells"],
    )
