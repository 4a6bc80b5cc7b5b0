"""English words for the identifiers of the schema; their translations stand in the catalogues.

A page says “tensor communication”, JSON says ``tensor_comm``. An identifier that means different
things in different places is listed with its place: ``memory.optimizer``, ``part.optimizer``.
"""

from __future__ import annotations

import csv
import importlib.util
from pathlib import Path

LOCALE_FOLDER = "data/locale"


def folder() -> Path:
    """Return the folder of labels and catalogues: in the repository, or inside the installed package."""
    found = importlib.util.find_spec("app")
    assert found is not None and found.submodule_search_locations is not None
    package = Path(next(iter(found.submodule_search_locations)))
    bundled = package / "_bundled" / LOCALE_FOLDER
    return bundled if bundled.is_dir() else package.parent / LOCALE_FOLDER


def _read() -> dict[str, str]:
    with (folder() / "labels.csv").open(encoding="utf-8", newline="") as file:
        return {row["key"]: row["text"] for row in csv.DictReader(file)}


LABELS = _read()
STEP = "step."
SOFTWARE = "software."


def words(code: str, place: str = "") -> str:
    """Return English words for an identifier; unknown ones with spaces for underscores.

    A step of the trace is named after its part of the time, a sensitivity after its figure.

    >>> words("optimizer", "memory"), words("tensor_comm"), words("rank_count")
    ('Optimizer state', 'Tensor-parallel communication', 'rank count')
    """
    if code.startswith(STEP):
        code, place = code.removeprefix(STEP), "part"
    if code not in LABELS and code.startswith(SOFTWARE):
        code = code.removeprefix(SOFTWARE)
    return LABELS.get(f"{place}.{code}") or LABELS.get(code) or code.replace("_", " ")
