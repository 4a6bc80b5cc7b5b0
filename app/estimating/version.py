"""The version of the engine: that of the program, with a hash of all that decides its answers."""

from __future__ import annotations

import functools
from pathlib import Path

import app
from app.catalog.files import hash_files

ROOT = Path(app.__file__).parent

SOURCES = tuple(f"{room}/**/*.py" for room in ("catalog", "engine", "estimating", "profiles"))
"""Files below ``app`` that answers are computed by."""


@functools.cache
def engine_version(figures: str) -> str:
    """Return the version of formulas and figures; the figures are those of a version of the catalogue.

    It is a local version of PEP 440: the program's, and twelve digits that differ where an answer may.
    """
    return f"{app.__version__}+{hash_files(ROOT, *SOURCES, beside=figures)}"
