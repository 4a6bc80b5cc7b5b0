"""What a browser is shown when something cannot be shown."""

from __future__ import annotations

from fastapi import Request
from fastapi.responses import Response

from app.errors import AppError
from app.web.contexts import ProblemPage
from app.web.pages.documents import available
from app.web.rendering import render


def problem_page(request: Request, error: AppError) -> Response:
    """Return an error as a page: what happened, what is near it, where to go."""
    page = ProblemPage(
        documents=available(),
        status=error.status,
        title=error.title,
        message=error.message,
        errors=error.errors,
        request_id=getattr(request.state, "request_id", ""),
    )
    return render(request, "problem.html", page, status=error.status)
