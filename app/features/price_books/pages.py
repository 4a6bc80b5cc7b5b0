"""An estimate on other terms: what it costs elsewhere, rented otherwise, with own prices."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import Depends, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from pydantic import ValidationError
from starlette.datastructures import FormData, UploadFile

from app.errors import AppError, BadInput, FieldError, Message
from app.estimating.documents import Estimate
from app.estimating.request import EstimateRequest
from app.features.estimates.pages import basis_rows
from app.features.estimates.service import create_estimate, get_estimate, priced_estimate
from app.features.price_books import service as price_books
from app.features.price_books.model import PriceBookDocument, PriceBookRequest, PriceBookSummary
from app.features.price_books.service import list_books
from app.features.price_books.views import EDITED, CostsPage, PriceBooksPage, Typed, book_page
from app.platform.json_bodies import from_validation
from app.platform.listing import Page
from app.platform.web.contexts import REFUSAL, Choice, Form, grouped
from app.platform.web.deps import ALL, BenchDep, WorkspaceDep
from app.platform.web.forms import plain_number, refused, typed, whole
from app.platform.web.locale import voice_of
from app.platform.web.needs import Right, needs
from app.platform.web.rendering import render
from app.platform.web.rights import page_router
from app.platform.wording.voice import Voice
from app.platform.workbench import Workbench

router = page_router()

COLUMNS = ("item", "parameter", "condition", "value", "unit", "note")

MOST_FIELDS = (EDITED + 10) * (len(COLUMNS) + 1) + 20


async def read_rows_form(request: Request) -> AsyncIterator[FormData]:
    """Return a form with one field for each cell of the table, and perhaps a file."""
    async with request.form(max_files=1, max_fields=MOST_FIELDS) as form:
        yield form


RowsForm = Annotated[FormData, Depends(read_rows_form)]


def text_of(form: FormData, name: str) -> str:
    """Return a field that holds text; empty where there is none."""
    value = form.get(name)
    return value.strip()[:400] if isinstance(value, str) else ""


async def content_of(form: FormData) -> tuple[str, bytes] | None:
    """Return the name and content of the file that came along; None without one."""
    file = form.get("file")
    if not isinstance(file, UploadFile) or not file.filename:
        return None
    return file.filename.removesuffix(".csv"), await file.read()


async def upload_of(form: RowsForm) -> tuple[str, bytes] | None:
    """Return the file of a form."""
    return await content_of(form)


FileDep = Annotated[tuple[str, bytes] | None, Depends(upload_of)]


def rows_of(form: FormData) -> list[Typed]:
    """Return the rows that were typed, without empty ones and those ticked to go."""
    cells = {name: [str(one).strip() for one in form.getlist(name)] for name in COLUMNS}
    gone = {str(one) for one in form.getlist("remove")}
    count = min(len(one) for one in cells.values())
    rows = [
        Typed(**{name: cells[name][place] for name in COLUMNS})
        for place in range(count)
        if str(place) not in gone
    ]
    return [row for row in rows if row.item or row.value]


def request_of(name: str, comment: str, rows: Sequence[Typed]) -> PriceBookRequest:
    """Return what was typed as the schema reads it."""
    body: dict[str, Any] = {"name": name, "comment": comment, "rows": []}
    for row in rows:
        body["rows"].append({**row.cells(), "value": plain_number(row.value)})
    return PriceBookRequest.model_validate(body)


def books_page(
    bench: Workbench, workspace: str, form: Form, message: Message | None = None
) -> PriceBooksPage:
    """Return the list of price books."""
    return PriceBooksPage(
        books=price_books.list_books(bench, workspace, ALL, None).items,
        form=form,
        message=message,
    )


@router.get("/price-books.json")
def show_books_data(bench: BenchDep, workspace: WorkspaceDep) -> Page[PriceBookSummary]:
    """Return the price books of the page of the same address."""
    return price_books.list_books(bench, workspace, ALL, None)


@router.get("/price-books", response_class=HTMLResponse)
def show_books(request: Request, bench: BenchDep, workspace: WorkspaceDep) -> Response:
    """Show all price books, and how to make one."""
    return render(request, "price_books/price_books.html", books_page(bench, workspace, Form()))


@router.post("/price-books", response_class=HTMLResponse)
@needs(Right.MAKE)
def make_book(
    request: Request, bench: BenchDep, workspace: WorkspaceDep, form: RowsForm, file: FileDep
) -> Response:
    """Make a price book, empty or of a file, and go there."""
    name = text_of(form, "name")
    try:
        if file is not None:
            made = price_books.read_book(bench, workspace, name or file[0], file[1])
        else:
            made = price_books.create_book(bench, workspace, request_of(name, "", []))
    except (AppError, ValidationError) as error:
        shown = with_errors({"name": [name]}, error)
        page = books_page(bench, workspace, shown, message_of(error))
        return render(request, "price_books/price_books.html", page, status=status_of(error))
    return RedirectResponse(f"/price-books/{made.id}", 303)


@router.get("/price-books/{identifier}.json")
def show_book_data(
    bench: BenchDep, workspace: WorkspaceDep, identifier: str, version: int | None = None
) -> PriceBookDocument:
    """Return the price book of the page of the same address."""
    return price_books.get_book(bench, workspace, identifier, version)


@router.get("/price-books/{identifier}.csv")
def show_book_csv(
    bench: BenchDep, workspace: WorkspaceDep, identifier: str, version: int | None = None
) -> Response:
    """Return the rows as a file."""
    text = price_books.book_csv(bench, workspace, identifier, version)
    headers = {"Content-Disposition": 'attachment; filename="price-book.csv"'}
    return Response(text, media_type="text/csv; charset=utf-8", headers=headers)


@router.get("/price-books/{identifier}", response_class=HTMLResponse)
def show_book(
    request: Request, bench: BenchDep, workspace: WorkspaceDep, identifier: str, version: int | None = None
) -> Response:
    """Show a price book: the newest version to edit, an earlier one to read."""
    found = price_books.get_book(bench, workspace, identifier, version)
    return render(
        request, "price_books/price_book.html", book_page(bench, workspace, found, voice_of(request))
    )


@router.post("/price-books/{identifier}", response_class=HTMLResponse)
@needs(Right.MAKE)
def save_book(
    request: Request,
    bench: BenchDep,
    workspace: WorkspaceDep,
    identifier: str,
    form: RowsForm,
    file: FileDep,
) -> Response:
    """Keep the table, or a file in its place, as a new version; what is wrong stands beside its row."""
    rows, comment = rows_of(form), text_of(form, "comment")
    try:
        expected = version_of(form)
        if file is not None:
            price_books.replace_from_file(bench, workspace, identifier, file[1], expected, comment)
        else:
            asked = request_of(text_of(form, "name"), comment, rows)
            price_books.replace_book(bench, workspace, identifier, asked, expected)
    except (AppError, ValidationError) as error:
        found = price_books.get_book(bench, workspace, identifier)
        values: Mapping[str, Sequence[str]] = {"name": [text_of(form, "name")], "comment": [comment]}
        shown = with_errors(values, error)
        kept = rows if file is None else None
        page = book_page(bench, workspace, found, voice_of(request), shown, message_of(error), kept)
        return render(request, "price_books/price_book.html", page, status=status_of(error))
    return RedirectResponse(f"/price-books/{identifier}", 303)


def version_of(form: FormData) -> int:
    """Return the version that an edit builds on."""
    found = whole(text_of(form, "version"))
    if found is None:
        raise BadInput.at("version", "the form is incomplete; open the price book again")
    return found


def message_of(error: AppError | ValidationError) -> Message:
    """Return what is wrong as a whole."""
    return error.message if isinstance(error, AppError) else Message("some fields are invalid")


def with_errors(values: Mapping[str, Sequence[str]], error: AppError | ValidationError) -> Form:
    """Return a form with what was typed and what is wrong with it, row by row."""
    known = from_validation(error.errors(include_url=False)) if isinstance(error, ValidationError) else error
    return Form(values, known.errors)


def status_of(error: AppError | ValidationError) -> int:
    """Return the status of a refusal."""
    return error.status if isinstance(error, AppError) else 422


WORDS = ("acquisition", "region", "tariff_tier", "rental", "price_date", "price_book_id", "currency")

NUMBERS = (
    "amortisation_years",
    "utilisation",
    "discount_rate",
    "residual_share",
    "electricity_per_kwh",
    "pue",
    "staff",
    "storage_tb",
    "egress_gb",
    "spot_interruptions_per_month",
    "system_price",
    "hourly_price",
)

MOST = 60
"""Characters of a field."""


def asked_terms(values: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Return the terms that an address states, as the schema reads them."""
    first = {name: one[0][:MOST] for name, one in values.items()}
    words = {name: first[name] for name in WORDS if name in first}
    return {**words, **{name: plain_number(first[name]) for name in NUMBERS if name in first}}


def priced(
    bench: Workbench, workspace: str, identifier: str, values: Mapping[str, Sequence[str]]
) -> tuple[EstimateRequest, Estimate]:
    """Return an estimate on the terms of an address, or refuse them as the API does."""
    try:
        return priced_estimate(bench, workspace, identifier, asked_terms(values))
    except ValidationError as error:
        raise from_validation(error.errors(include_url=False)) from None


def terms_in(request: Request) -> dict[str, list[str]]:
    """Return the fields of an address that are terms of a cost."""
    known = {*WORDS, *NUMBERS}
    return {name: value for name, value in typed(request.query_params).items() if name in known}


@router.get("/estimates/{identifier}/costs.json")
def show_costs_data(request: Request, bench: BenchDep, workspace: WorkspaceDep, identifier: str) -> Estimate:
    """Return the estimate of the page of the same address."""
    return priced(bench, workspace, identifier, terms_in(request))[1]


@router.get("/estimates/{identifier}/costs", response_class=HTMLResponse)
def show_costs(request: Request, bench: BenchDep, workspace: WorkspaceDep, identifier: str) -> Response:
    """Show what an estimate costs on the terms of the address; refused ones beside the kept estimate."""
    values = terms_in(request)
    kept = get_estimate(bench, workspace, identifier)
    try:
        shown = priced(bench, workspace, identifier, values)[1]
    except AppError as error:
        form, status = at_fields(refused(values, error, ())), error.status
        page = costs_page(bench, workspace, kept, form, "", voice_of(request), stale=True)
        return render(request, "price_books/costs.html", page, status=status)
    query = urlencode({name: one[0] for name, one in values.items()})
    page = costs_page(bench, workspace, shown, Form(values), query, voice_of(request), stale=False)
    return render(request, "price_books/costs.html", page)


@router.post("/estimates/{identifier}/costs")
@needs(Right.MAKE)
def keep_costs(request: Request, bench: BenchDep, workspace: WorkspaceDep, identifier: str) -> Response:
    """Keep the estimate on the terms of the address as one of its own, and go there."""
    asked, _ = priced(bench, workspace, identifier, terms_in(request))
    return RedirectResponse(f"/estimates/{create_estimate(bench, workspace, asked).id}", 303)


def at_fields(form: Form) -> Form:
    """Return a form whose errors stand at its fields, which are those of the assumptions."""
    errors = [FieldError(one.field.removeprefix("assumptions."), one.message) for one in form.errors]
    return Form(form.values, errors)


def costs_page(
    bench: Workbench, workspace: str, shown: Estimate, form: Form, query: str, voice: Voice, *, stale: bool
) -> CostsPage:
    """Return the page of a cost."""
    catalog = bench.sizing.catalog
    basis = shown.cost.basis if shown.cost else {}
    region = form.get("region") or str(basis.get("region", "korea"))
    books = list_books(bench, workspace, ALL, None).items

    def choices(names: Sequence[str]) -> list[Choice]:
        return [Choice(name, voice.label(name)) for name in names]

    return CostsPage(
        identifier=shown.id,
        query=query,
        estimate=shown,
        form=form,
        usual=Form({name: [usual_of(name, shown, voice)] for name in NUMBERS}),
        stale=stale,
        owned=basis.get("acquisition") != "rent",
        basis=basis_rows(shown, voice),
        warnings=grouped(("", one) for one in shown.warnings if one.code in WARNINGS or one.code == REFUSAL),
        acquisitions=choices(["own", "rent"]),
        regions=choices(["korea", "us", "eu"]),
        tiers=choices(catalog.tariffs(region)) if region in ("korea", "us", "eu") else [],
        rentals=choices(["on-demand", "reserved-1-year", "reserved-3-years", "spot"]),
        currencies=[Choice("USD", "USD"), Choice("KRW", "KRW")],
        books=[Choice(one.id, one.name, f"v{one.version}") for one in books],
    )


WARNINGS = ("price_unknown", "price_after_date", "price_is_estimate")
"""Checks that concern the cost."""


def usual_of(name: str, shown: Estimate, voice: Voice) -> str:
    """Return what is taken of a number where nothing is asked for, as it is written."""
    taken = {one.field: one.value for one in shown.defaults}
    value = taken.get(f"assumptions.{name}")
    return voice.number(value, digits=6) if isinstance(value, int | float) else ""
