"""The first page: model, workload, systems; and the comparison that comes of it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import Depends, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from pydantic import ValidationError
from starlette.datastructures import FormData

from app.errors import AppError, Message, NotFound
from app.services.comparisons import create_comparison, list_comparisons
from app.services.workbench import Workbench
from app.sizing.catalogue.documents import Model, System
from app.sizing.document import Document
from app.sizing.questions import ComparisonRequest
from app.web.contexts import StartPage
from app.web.deps import BenchDep, WorkspaceDep
from app.web.locale import voice_of
from app.web.pages import choices, examples, filling
from app.web.pages.documents import available
from app.web.pages.drafts import Draft, filled_draft, read_draft
from app.web.pages.forms import typed
from app.web.problems import UnsupportedMediaType
from app.web.rendering import render
from app.web.routers import page_router

router = page_router()

FIELDS = "application/x-www-form-urlencoded"
"""Kind of a form without files."""


class Offer(Document):
    """What can be asked for."""

    models: list[Model]
    systems: list[System]


async def read_form(request: Request) -> AsyncIterator[FormData]:
    """Return a form with its files, which are let go once the answer is made."""
    async with request.form() as form:
        yield form


async def read_fields(request: Request) -> FormData:
    """Return a form without files, which alone is read of somebody who is not known."""
    kind = request.headers.get("content-type", "").split(";")[0].strip().lower()
    if kind not in {"", FIELDS}:
        raise UnsupportedMediaType(Message("send the form as {kind}", {"kind": FIELDS}))
    return await request.form()


FormDep = Annotated[FormData, Depends(read_form)]


RECENT = 5
"""Comparisons that the page leads back to."""


def start_page(request: Request, bench: Workbench, workspace: str, draft: Draft) -> StartPage:
    """Return the form with what has been typed into it."""
    voice = voice_of(request)
    return StartPage(
        data_url="/index.json",
        documents=available(),
        form=draft.form,
        message=draft.message,
        models=choices.models(bench.catalogue, voice),
        filled=draft.filled,
        targets=filling.targets(bench, workspace, draft.form.values),
        softwares=choices.softwares(bench, voice),
        systems=choices.systems(bench.catalogue),
        examples=examples.shown(),
        recent=list_comparisons(bench, workspace, RECENT, None).items,
        profile=draft.profile,
        sample=draft.sample,
    )


@router.get("/index.json")
def show_offer(bench: BenchDep) -> Offer:
    """Return what the form offers."""
    shelf = bench.catalogue
    return Offer(models=list(shelf.models.documents.values()), systems=list(shelf.systems.documents.values()))


@router.get("/", response_class=HTMLResponse)
def show_start(request: Request, bench: BenchDep, workspace: WorkspaceDep) -> Response:
    """Show the form; what the address names is filled in, with the training of its model."""
    draft = filled_draft(bench, workspace, typed(request.query_params))
    return render(request, "start.html", start_page(request, bench, workspace, draft))


@router.post("/", response_class=HTMLResponse)
def compare(request: Request, bench: BenchDep, workspace: WorkspaceDep, form: FormDep) -> Response:
    """Make a comparison of what was asked, or return the form with its errors beside the fields."""
    draft = read_draft(bench, workspace, form)
    try:
        asked = draft.request(voice_of(request).language)
        made = create_comparison(bench, workspace, asked)
    except (AppError, ValidationError) as error:
        page = start_page(request, bench, workspace, draft.refused(error))
        return render(
            request, "start.html", page, status=error.status if isinstance(error, AppError) else 422
        )
    return RedirectResponse(f"/comparisons/{made.id}", 303)


@router.post("/examples/{identifier}", response_class=HTMLResponse)
def open_example(request: Request, bench: BenchDep, workspace: WorkspaceDep, identifier: str) -> Response:
    """Make the comparison of an example and go there."""
    found = examples.rows_of(identifier)
    if found is None:
        raise NotFound.named("example", identifier, [example.id for example in examples.shown()])
    example, rows = found
    voice = voice_of(request)
    asked = ComparisonRequest.model_validate(
        {
            "title": voice.gettext(example.title),
            "locale": voice.language,
            "currency": "KRW" if voice.language == "ko" else "USD",
            "rows": rows,
        }
    )
    return RedirectResponse(f"/comparisons/{create_comparison(bench, workspace, asked).id}", 303)
