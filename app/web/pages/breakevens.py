"""Build or rent as a form: the address is its state, with or without JavaScript."""

from __future__ import annotations

from urllib.parse import urlencode

from fastapi import Request, Response
from fastapi.responses import HTMLResponse

from app.services.break_evens import break_even, cash_flow_csv
from app.services.price_books import list_books
from app.services.workbench import Workbench
from app.sizing.break_even.documents import BreakEven
from app.web.breakeven_contexts import BreakEvenPage
from app.web.contexts import Choice
from app.web.deps import ALL, BenchDep, WorkspaceDep
from app.web.locale import voice_of
from app.web.pages import breakeven_forms as forms
from app.web.pages.breakeven_forms import FORM
from app.web.pages.breakevens_views import answer_view
from app.web.pages.choices import RENTED, system_names
from app.web.pages.documents import available
from app.web.pages.query_forms import Answered
from app.web.rendering import render
from app.web.routers import page_router

router = page_router()


def answered(request: Request, bench: Workbench, workspace: str) -> BreakEven:
    """Return the answer to an address."""
    return break_even(bench, workspace, FORM.request(FORM.values(request.query_params)))


@router.get("/breakevens.json")
def show_break_even_data(request: Request, bench: BenchDep, workspace: WorkspaceDep) -> BreakEven:
    """Return the answer of the page of the same address."""
    return answered(request, bench, workspace)


@router.get("/breakevens.csv")
def show_break_even_csv(request: Request, bench: BenchDep, workspace: WorkspaceDep) -> Response:
    """Return the months of the page of the same address."""
    lines = cash_flow_csv(answered(request, bench, workspace))
    headers = {"Content-Disposition": 'attachment; filename="build-or-rent.csv"'}
    return Response(lines, media_type="text/csv; charset=utf-8", headers=headers)


@router.get("/breakevens", response_class=HTMLResponse)
def show_break_even(
    request: Request, bench: BenchDep, workspace: WorkspaceDep, previous: str = ""
) -> Response:
    """Show a break-even; a refused question beside the last that was possible."""
    found = FORM.ask(request.query_params, previous, lambda wanted: break_even(bench, workspace, wanted))
    return render(request, "breakeven.html", page_of(request, bench, workspace, found), status=found.status)


def page_of(request: Request, bench: Workbench, workspace: str, found: Answered[BreakEven]) -> BreakEvenPage:
    """Return the page of an answer, of an earlier one where this question is refused."""
    form, answer, query, stale = found.form, found.answer, found.query, found.stale
    voice = voice_of(request)
    groups = system_names(bench.catalogue)
    return BreakEvenPage(
        data_url="" if stale else f"/breakevens.json?{query}",
        documents=available(),
        form=form,
        general=FORM.unplaced(form),
        systems=[group for group in groups if group.name != RENTED],
        clouds=[group for group in groups if group.name == RENTED],
        books=[Choice(one.id, one.name) for one in list_books(bench, workspace, ALL, None).items],
        rentals=[Choice(one, voice.label(one)) for one in forms.RENTALS],
        currencies=[Choice(one, one) for one in forms.CURRENCIES],
        examples=[Choice(urlencode(fields), str(name)) for name, fields in forms.EXAMPLES],
        hints=[name for name, value in forms.ARTICLE.items() if form.get(name) == value],
        currency=form.get("currency", "KRW"),
        view=None if answer is None else answer_view(answer, voice),
        stale=stale,
        previous=query,
        csv_url="" if stale or answer is None else f"/breakevens.csv?{query}",
        folds=forms.open_folds(form),
    )
