"""Asking before something is deleted for good."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fastapi import Request
from fastapi.responses import RedirectResponse, Response

from app.errors import AppError, Conflict, Message
from app.platform.web.rendering import render


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletePage:
    """The question whether something is really to be deleted."""

    title: Message
    name: str
    consequences: Sequence[Message]
    action: str
    """Where the answer goes."""
    back: str
    """Where somebody goes who thinks better of it."""
    refused: Message | None = None
    """Why it was not deleted."""


def deleted(
    request: Request, delete: Callable[[], object], ask: Callable[[AppError], DeletePage], onward: str
) -> Response:
    """Delete and go on; what cannot be deleted now is asked about again, with the reason."""
    try:
        delete()
    except Conflict as error:
        return render(request, "delete.html", ask(error), status=error.status)
    return RedirectResponse(onward, 303)


FOR_GOOD = Message("This cannot be undone.")
