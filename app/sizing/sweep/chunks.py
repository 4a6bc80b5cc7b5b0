"""What a worker is sent and what it sends back; the function here runs in the workers."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from app import __version__
from app.errors import AppError, Message
from app.profiles.presets import models_directory
from app.sizing.context import SizingContext, load_context
from app.sizing.estimate import estimate
from app.sizing.sweep.points import SweepPoint
from app.sizing.sweep.rows import SweepRow, problem_row, refused_row, row_of
from app.sizing.sweep.uploads import UploadSet

logger = logging.getLogger("rackline.sweep")

ContextMaker = Callable[[], SizingContext]
"""Returns the catalogue where it is called; importable by name, so that a worker can call it."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """A few points that one worker computes in one go."""

    points: tuple[SweepPoint, ...]
    uploads: UploadSet
    losses: int = 0
    """How often it was lost with its worker."""


@dataclass(frozen=True, slots=True)
class Computed:
    """The rows of a chunk, and what they were computed with."""

    rows: list[SweepRow]
    versions: tuple[str, str]
    """Versions of formulas and figures at the worker."""


@functools.lru_cache(maxsize=1)
def context_of(directory: Path) -> SizingContext:
    """Return the catalogue of a directory, read once per process."""
    return load_context(directory)


def installed_context() -> SizingContext:
    """Return the catalogue of this installation."""
    return context_of(models_directory().parent)


def versions_of(context: SizingContext) -> tuple[str, str]:
    """Return the versions of formulas and figures."""
    return __version__, context.catalog.version


def compute(chunk: Chunk, make_context: ContextMaker) -> Computed:
    """Return the rows of a chunk."""
    own = make_context()
    context = chunk.uploads.within(own)
    return Computed([row_at(point, context) for point in chunk.points], versions_of(own))


def row_at(point: SweepPoint, context: SizingContext) -> SweepRow:
    """Return the row of a point; a refusal, or a fault of ours, is a row as well."""
    try:
        return row_of(point, estimate(point.request, context))
    except AppError as error:
        return refused_row(point, error, context.catalog.version)
    except Exception:
        logger.exception("point %s of a sweep failed", point.key)
        message = Message("something went wrong in computing this point; it is in the worker's log")
        return problem_row(point, "", message, context.catalog.version)
