"""Pages and their data in one declaration: a document as HTML, and as JSON under the same address."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, ParamSpec, TypeVar

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response
from pydantic import BaseModel

from app.platform.rates import CostClass
from app.platform.web.deps import BenchDep, WorkspaceDep
from app.platform.web.needs import Right, needs
from app.platform.web.query_forms import Answered, QueryForm
from app.platform.web.rendering import data_path, render
from app.platform.workbench import Workbench

Given = ParamSpec("Given")
Shown = TypeVar("Shown")
Asked = TypeVar("Asked", bound=BaseModel)


def resource(
    router: APIRouter,
    path: str,
    template: str,
    view: Callable[[Request, Shown], object],
    *,
    right: Right | None = None,
    cost: CostClass | None = None,
    headers: Mapping[str, str] | None = None,
) -> Callable[[Callable[Given, Shown]], Callable[Given, Shown]]:
    """Serve the document that a function returns: as it is under the path with ``.json``, and as a page.

    ``view`` makes of it what the template reads as ``page``; ``headers`` are the page's.
    """

    def register(load: Callable[Given, Shown]) -> Callable[Given, Shown]:
        def page(request: Request, **given: Any) -> Response:
            document = load(**given)  # type: ignore[call-arg]
            return render(request, template, view(request, document), headers=headers)

        # FastAPI reads from the signature what a route depends on.
        signature = inspect.signature(load, eval_str=True)
        own = inspect.Parameter("request", inspect.Parameter.KEYWORD_ONLY, annotation=Request)
        others = [one.replace(kind=own.kind) for one in signature.parameters.values()]
        page.__signature__ = inspect.Signature([own, *others])  # type: ignore[attr-defined]
        page.__name__, page.__doc__ = load.__name__, load.__doc__
        mark = needs(right, cost)
        router.add_api_route(data_path(path), mark(load))
        router.add_api_route(path, mark(page), response_class=HTMLResponse)
        return load

    return register


def question(
    router: APIRouter,
    path: str,
    template: str,
    form: QueryForm[Asked],
    document: type[Shown],
    answer: Callable[[Workbench, str, Asked], Shown],
    view: Callable[[Request, Workbench, str, Answered[Shown]], object],
    *,
    cost: CostClass | None = None,
) -> None:
    """Serve what is asked for in the address: the answer as JSON, and a page with the form.

    A refused question is shown beside the last that was possible, which the form keeps as ``previous``.
    """

    def show_data(request: Request, bench: BenchDep, workspace: WorkspaceDep) -> Any:
        return answer(bench, workspace, form.request(form.values(request.query_params)))

    def show(request: Request, bench: BenchDep, workspace: WorkspaceDep, previous: str = "") -> Response:
        found = form.ask(request.query_params, previous, lambda asked: answer(bench, workspace, asked))
        return render(request, template, view(request, bench, workspace, found), status=found.status)

    mark = needs(cost=cost)
    router.add_api_route(data_path(path), mark(show_data), response_model=document)
    router.add_api_route(path, mark(show), response_class=HTMLResponse)
