"""Answers as aligned lines, for terminals and for pages that show what a terminal prints."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence

from app.estimating.documents import Estimate
from app.platform.wording.voice import MISSING, Voice, written


def estimate_rows(answer: Estimate, speaker: Voice) -> list[tuple[str, str]]:
    """Return what an estimate comes to, a name and a figure each."""
    _ = speaker.gettext
    rows = [
        (_("Model"), answer.model.name),
        (_("System"), f"{answer.system.count} × {answer.system.name}, {answer.system.fabric}"),
        (_("Software"), answer.software or MISSING),
        (_("Precision"), answer.precision_used or MISSING),
        (_("Fits in memory"), written(answer.fits, speaker)),
        (_("Memory per device"), speaker.quantity(answer.memory.per_device if answer.memory else None)),
        (_("Step time"), speaker.quantity(answer.step_time)),
        (_("Steps"), speaker.number(answer.steps)),
        (_("Throughput"), speaker.quantity(answer.throughput)),
        (_("MFU"), speaker.quantity(answer.mfu)),
        (_("Training time"), speaker.quantity(answer.time_to_train)),
        (_("Energy"), speaker.quantity(answer.energy)),
        (_("Cost per run"), speaker.quantity(answer.cost.run if answer.cost else None)),
        (_("Validation"), speaker.label(answer.validation.status)),
    ]
    if answer.validation.basis_text is not None:
        rows.append((_("Basis"), speaker.sentence(answer.validation.basis_text)))
    return rows


def table(rows: Iterable[Sequence[str]]) -> list[str]:
    cells = [list(row) for row in rows]
    widths = [max(map(width, column)) for column in zip(*cells, strict=True)]
    return [
        "  ".join(cell + " " * (most - width(cell)) for cell, most in zip(row, widths, strict=True)).rstrip()
        for row in cells
    ]


def width(text: str) -> int:
    """Return how many places of a terminal a text takes; Hangul and Hanzi take two each."""
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)


def printed(lines: Iterable[str]) -> str:
    """Return lines for a terminal, which must not take a name in them for an order of its own."""
    return "\n".join("".join(letter if letter.isprintable() else "�" for letter in line) for line in lines)
