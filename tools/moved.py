"""What a change of the engine or of a figure moved: famous runs and pinned answers, before and after.

Pinned are the answers to requests drawn once from all models, systems and counts; ``--pin`` pins them anew.
"""

from __future__ import annotations

import csv
import io
import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from app.catalog.entries import ChipKind
from app.errors import AppError
from app.estimating.context import SizingContext
from app.estimating.estimate import Answer
from app.estimating.request import EstimateRequest
from app.features.accuracy.predictions import FAMOUS_PREDICTIONS, Prediction, read_predictions
from app.profiles.presets import presets
from tools.famous import famous_predictions
from tools.markdown import percent

PINNED = "tools/pinned.csv"
DRAWN = 2000
COUNTS = (1, 2, 4, 8, 16, 32, 64)
FIGURES = ("seconds", "money")
"""Time to train [s] and cost of the run [USD]; empty where the model does not fit or nothing is priced."""
MOVED = 1e-4
"""Relative change from which an answer has moved."""
WORST = 10
DIGITS = 9
Key = tuple[str, str, int]
"""Model, system and count."""


@dataclass(frozen=True, slots=True)
class Move:
    """An answer that moved."""

    key: Key
    figure: str
    before: float | None
    after: float | None

    @property
    def size(self) -> float:
        """|ln(after / before)|; infinite where it came or went."""
        if not self.before or not self.after:
            return math.inf
        return abs(math.log(self.after / self.before))


def drawn(context: SizingContext) -> list[Key]:
    """Return models, systems and counts, the same at every call while the catalogue is."""
    models = sorted(presets())
    systems = [
        system.id
        for system in context.catalog.systems()
        if system.machine.chip.kind in (ChipKind.GPU, ChipKind.IPU)
    ]
    dice = random.Random(0)
    keys = {(dice.choice(models), dice.choice(systems), dice.choice(COUNTS)) for _ in range(2 * DRAWN)}
    return sorted(keys)[:: max(len(keys) // DRAWN, 1)][:DRAWN]


def answers(context: SizingContext, keys: Sequence[Key]) -> Iterator[tuple[Key, dict[str, float | None]]]:
    """Yield time and cost of every request that is accepted."""
    for key in keys:
        model, system, count = key
        body: Mapping[str, Any] = {
            "model": {"preset": model},
            "workload": {"samples": 1e8},
            "system": {"id": system, "count": count},
        }
        try:
            found = Answer(EstimateRequest.model_validate(body), context).document
        except AppError:
            continue
        time, cost = found.time_to_train, found.cost
        yield (
            key,
            {
                "seconds": None if time is None else time.value,
                "money": None if cost is None else cost.run.value,
            },
        )


def pinned_text(found: Iterator[tuple[Key, dict[str, float | None]]]) -> str:
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow(("model", "system", "count", *FIGURES))
    for key, figures in found:
        cells = ("" if value is None else f"{value:.{DIGITS}g}" for value in figures.values())
        writer.writerow((*key, *cells))
    return written.getvalue()


def pinned(path: Path) -> dict[Key, dict[str, float | None]]:
    with path.open(encoding="utf-8", newline="") as handle:
        return {
            (row["model"], row["system"], int(row["count"])): {
                name: float(row[name]) if row[name] else None for name in FIGURES
            }
            for row in csv.DictReader(handle)
        }


def moves(
    before: Mapping[Key, Mapping[str, float | None]], after: Mapping[Key, Mapping[str, float | None]]
) -> list[Move]:
    """Return what moved, the most first; an answer that is refused now has gone."""
    found = [
        Move(key, name, figures[name], after.get(key, {}).get(name))
        for key, figures in before.items()
        for name in FIGURES
    ]
    return sorted((one for one in found if _moved(one)), key=lambda one: one.size, reverse=True)


def _moved(one: Move) -> bool:
    return (one.before is not None or one.after is not None) and one.size > MOVED


def told(found: Sequence[Move], total: int) -> Iterator[str]:
    """Yield how many answers moved and by how much, and the largest moves."""
    for name in FIGURES:
        mine = [one for one in found if one.figure == name]
        changed = [one.size for one in mine if math.isfinite(one.size)]
        gone = len(mine) - len(changed)
        middle = percent(math.expm1(float(np.median(changed)))) if changed else "–"
        yield f"{name}: {len(mine)} of {total} moved, by {middle} in the median; {gone} came or went"
        for one in mine[:WORST]:
            model, system, count = one.key
            yield f"  {model} on {count} × {system}: {_said(one.before)} → {_said(one.after)}"


def _said(value: float | None) -> str:
    return "–" if value is None else f"{value:.5g}"


def famous_told(context: SizingContext, data: Path) -> Iterator[str]:
    """Yield each famous run whose prediction moved."""
    before = {run.id: run for run in read_predictions(data, FAMOUS_PREDICTIONS)}
    for run in famous_predictions(context, data):
        old = before.get(run.id)
        if old is None or _error(old) != _error(run):
            yield f"  {run.id}: {'–' if old is None else _error(old)} → {_error(run)}"


def _error(run: Prediction) -> str:
    return percent(run.log_error, signed=True)
