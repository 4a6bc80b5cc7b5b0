"""The log on the error output: one line for each event, to read or as JSON.

Everything that logs comes out in one form, libraries included. What is logged are identifiers, templates
of addresses and figures: no address as it was asked for, no body, no token, no name of a customer.
"""

from __future__ import annotations

import logging
import sys
import traceback
from collections.abc import Iterator, Sequence
from types import TracebackType

import structlog
from pydantic import ValidationError
from structlog.typing import EventDict, Processor, WrappedLogger

QUIET = ("alembic", "distributed", "fontTools", "httpx", "huey", "matplotlib", "sqlalchemy")
"""Libraries that speak up only when something is wrong."""

EXTRAS = ("attempts", "chore", "code", "file", "job", "method", "route", "seconds", "threads")
"""What an event may bring along beside its words."""


def set_up_logs(form: str, level: str) -> None:
    """Send every log of this process to the error output."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[structlog.stdlib.ExtraAdder(EXTRAS), *SHARED], processors=finish(form)
        )
    )
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(level.upper())
    for name in QUIET:
        logging.getLogger(name).setLevel(max(logging.WARNING, root.level))


def finish(form: str) -> Sequence[Processor]:
    """Return what turns an event into its line."""
    last: Processor = structlog.processors.JSONRenderer(ensure_ascii=False)
    if form == "console":
        last = structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty(), pad_event_to=0)
    return [structlog.stdlib.ProcessorFormatter.remove_processors_meta, with_traceback, last]


def with_traceback(logger: WrappedLogger, name: str, event: EventDict) -> EventDict:
    """Turn the exception of an event into text that shows where, and nothing of what was sent."""
    found = event.pop("exc_info", None)
    if found is True:
        found = sys.exc_info()
    if isinstance(found, BaseException):
        found = (type(found), found, found.__traceback__)
    if found and found[1] is not None:
        event["exception"] = traceback_text(found)
    return event


def traceback_text(found: tuple[type[BaseException], BaseException, TracebackType | None]) -> str:
    """Return a traceback; a refused document is named by its fields, not by their values."""
    text = "".join(traceback.format_exception(*found)).rstrip()
    for error in chain(found[1]):
        if isinstance(error, ValidationError):
            places = [
                f"{'.'.join(map(str, item['loc']))} ({item['type']})"
                for item in error.errors(include_input=False, include_url=False, include_context=False)
            ]
            text = text.replace(str(error), f"{error.title}: {', '.join(places)}")
    return text


def chain(error: BaseException | None) -> Iterator[BaseException]:
    """Return an exception and those it came from."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


SHARED: tuple[Processor, ...] = (
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_log_level,
    structlog.stdlib.add_logger_name,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
)
"""What happens to every event, whoever logs it."""
