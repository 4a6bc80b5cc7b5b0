"""Pages and their data in one declaration: a document as HTML, and as JSON under the same address."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, ParamSpec, TypeVar

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response

from app.errors import AppError
from app.platform.rates import CostClass
from app.platform.web.rendering import data_path, render
from app.platform.web.requirements import Right, requires

Given = ParamSpec("Given")
Shown = TypeVar("Shown")


def resource(
    router: APIRouter,
    path: str,
    template: str,
    view: Callable[[Request, Shown], object],
    *,
    right: Right | None = None,
    cost: CostClass | None = None,
    headers: Mapping[str, str] | None = None,
    part: str = "",
    refused: Callable[[Request, AppError], object] | None = None,
) -> Callable[[Callable[Given, Shown]], Callable[Given, Shown]]:
    """Serve the document that a function returns: as it is under the path with ``.json``, and as a page.

    ``view`` makes of it what the template reads as ``page``, or a redirect; ``headers`` are the page's.
    ``part`` is the template without the surrounding page, for htmx. A page with a form shows what was
    ``refused`` beside its fields.
    """

    def register(load: Callable[Given, Shown]) -> Callable[Given, Shown]:
        def page(request: Request, **arguments: Any) -> Response:
            status = 200
            try:
                shown = view(request, load(**arguments))  # type: ignore[call-arg]
            except AppError as error:
                if refused is None:
                    raise
                shown, status = refused(request, error), error.status
            if isinstance(shown, Response):
                return shown
            name = part if part and "HX-Request" in request.headers else template
            return render(request, name, shown, status=status, headers=headers)

        # FastAPI reads from the signature what a route depends on.
        signature = inspect.signature(load, eval_str=True)
        own = inspect.Parameter("request", inspect.Parameter.KEYWORD_ONLY, annotation=Request)
        others = [parameter.replace(kind=own.kind) for parameter in signature.parameters.values()]
        page.__signature__ = inspect.Signature([own, *others])  # type: ignore[attr-defined]
        page.__name__, page.__doc__ = load.__name__, load.__doc__
        mark = requires(right, cost)
        router.add_api_route(data_path(path), mark(load))
        router.add_api_route(path, mark(page), response_class=HTMLResponse)
        return load

    return register
