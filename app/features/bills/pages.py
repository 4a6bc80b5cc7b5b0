"""The bill of materials of an option of a study."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, Request
from fastapi.responses import Response

from app.catalog.entries import ChipKind
from app.errors import NotFound
from app.features.bills import service as bills
from app.features.bills.api import bill_file
from app.features.bills.drawings import heading, rack_elevation, stretches, topology
from app.features.bills.model import Bill, BillComparison, BillRequest, OptionBill, OptionBillRequest, Rack
from app.features.bills.of_study import SHARED, answer_bill, has_bill, usual_bill
from app.features.estimates.service import get_estimate_request
from app.features.studies.frame import OpenView, Placed, StudyFrame, moved, study_of, study_view
from app.features.studies.knobs import labels_of
from app.platform.charts.svg import Drawing
from app.platform.web.contexts import Choice, DrawingView
from app.platform.web.deps import BenchDep, WorkspaceDep
from app.platform.web.locale import voice_of
from app.platform.web.query_forms import Answered, QueryForm
from app.platform.web.rights import page_router
from app.platform.wording.voice import Voice
from app.platform.workbench import Workbench

router = page_router()

FORM = QueryForm(OptionBillRequest)


@dataclass(frozen=True, slots=True, kw_only=True)
class BillPage:
    """A bill of materials with its racks and its network."""

    frame: StudyFrame
    result: Answered[OptionBill] | None
    racks: Sequence[tuple[str, str, Rack]]
    """Identical racks: their name, and the contents of one of them."""
    elevation: DrawingView | None
    topology: DrawingView | None
    pod: bool
    """Whether the system comes with its links."""
    others: Sequence[Choice]
    """Options with bills to compare."""
    kept: Sequence[tuple[str, str]]
    """Fields of the form that are kept when another option is chosen."""


def bill_page(request: Request, view: OpenView, result: Answered[OptionBill] | None) -> BillPage:
    """Return the page of a bill, or of the previous one if this one is refused."""
    voice = voice_of(request)
    bill = None if result is None else result.answer
    system = None if bill is None else view.bench.sizing.catalog.system(bill.system)
    fields = {**view.stored, **view.typed}
    return BillPage(
        frame=view.frame,
        result=result,
        racks=[] if bill is None else list(rack_rows(bill.racks, voice)),
        elevation=drawing_view("elevation", rack_elevation(bill.racks, voice), "racks")
        if bill and bill.racks
        else None,
        topology=drawing_view("topology", topology(bill.network, voice), "")
        if bill and bill.network
        else None,
        pod=system is not None and system.chip_kind is ChipKind.IPU,
        others=other_options(view),
        kept=[(name, text) for name, text in fields.items() if name != "other"],
    )


def other_options(view: OpenView) -> list[Choice]:
    """Return the other options of a study that have bills."""
    keys = [option.key for option in view.state.content.options if has_bill(view.bench, option)]
    labels = labels_of(view.state.content, view.bench.sizing.catalog)
    return [Choice(key, labels[key]) for key in keys if key != view.frame.option]


def saved(request: Request, bill: Bill, name: str) -> Response:
    """Return a bill as a file, with the byte order mark that spreadsheets need to read Korean."""
    return bill_file(bill, voice_of(request), name, "utf-8-sig")


study_view(
    router,
    "bill",
    "bills/bill.html",
    FORM,
    OptionBill,
    usual=usual_bill,
    answer=answer_bill,
    page=bill_page,
    suits=has_bill,
    files={
        "csv": lambda request, bill: saved(request, bill, "bill.csv"),
        "xlsx": lambda request, bill: saved(request, bill, "bill.xlsx"),
    },
)


def study_of_systems(*systems: Mapping[str, Any], currency: str, price_book_id: str = "") -> dict[str, Any]:
    base: dict[str, Any] = {
        "model": {"preset": "bert-large"},
        "workload": {"target": "mlperf-bert"},
        "currency": currency,
    }
    if price_book_id:
        base["assumptions"] = {"price_book_id": price_book_id}
    return {"name": "BERT-Large", "base": base, "options": [{"system": system} for system in systems]}


OF_SYSTEM = ("id", "count", "fabric", "ports_per_node")


def place_form(bench: Workbench, workspace: str, query: Mapping[str, str], _: str) -> Placed:
    """Return a study of the estimate or system in the fields of the old form."""
    fields = {name: text for name, text in query.items() if text}
    estimate = fields.pop("estimate", "") or fields.pop("estimate_id", "")
    own = {name: fields[name] for name in (*SHARED, "oversubscription") if name in fields}
    if estimate:
        request = get_estimate_request(bench, workspace, estimate)
        return study_of(request, request.label or estimate), own
    system = {name: fields[name] for name in OF_SYSTEM if name in fields}
    system["id"] = fields.get("system", "dgx-a100-640gb")
    currency, book = fields.get("currency", "USD"), fields.get("price_book_id", "")
    return study_of_systems(system, currency=currency, price_book_id=book), own


for path in ("/boms", "/boms/new"):
    moved(router, path, "bill", place_form, endings=("",))


def pair_of(request: Request) -> str:
    """Return the identifiers of the bills to compare, from one parameter or several."""
    return ",".join(request.query_params.getlist("ids")[:4])[:200]


@router.get("/boms/compare.json")
def show_comparison_data(
    bench: BenchDep, workspace: WorkspaceDep, ids: Annotated[str, Depends(pair_of)]
) -> BillComparison:
    """Return the comparison of two stored bills."""
    return bills.compare(bench, workspace, ids)


def place_comparison(bench: Workbench, workspace: str, query: Mapping[str, str], _: str) -> Placed:
    """Return a study of the systems of two stored bills."""
    names = [name.strip() for name in query.get("ids", "").split(",") if name.strip()][:2]
    stored = [bills.get_bill(bench, workspace, name) for name in names]
    if len(stored) < 2:
        return place_form(bench, workspace, {}, "")
    first = stored[0].request
    body = study_of_systems(
        *(system_of(bill) for bill in stored),
        currency=first.currency,
        price_book_id=first.price_book_id or "",
    )
    return body, {**own_fields(first), "other": "b"}


moved(router, "/boms/compare", "bill", place_comparison, endings=("",))


def system_of(bill: Bill) -> dict[str, Any]:
    system = {"id": bill.system, "count": bill.count}
    own = {"fabric": bill.request.fabric, "ports_per_node": bill.request.ports_per_node}
    return {**system, **{name: value for name, value in own.items() if value is not None}}


def own_fields(request: BillRequest) -> dict[str, str]:
    """Return the fields of the view that a stored bill's request states."""
    stated = request.model_dump(exclude_unset=True, exclude_none=True, include={*SHARED, "oversubscription"})
    return {name: f"{value:g}" for name, value in stated.items()}


@router.get("/boms/{identifier}.json")
def show_bill_data(bench: BenchDep, workspace: WorkspaceDep, identifier: str) -> Bill:
    """Return a stored bill."""
    return bills.get_bill(bench, workspace, identifier)


@router.get("/boms/{identifier}.csv")
@router.get("/boms/{identifier}.xlsx")
def save_bill(request: Request, bench: BenchDep, workspace: WorkspaceDep, identifier: str) -> Response:
    """Return a stored bill as a file."""
    bill = bills.get_bill(bench, workspace, identifier)
    return saved(request, bill, request.url.path.rpartition("/")[2])


def place_bill(bench: Workbench, workspace: str, _: Mapping[str, str], identifier: str) -> Placed:
    """Return a study of the estimate or of the system of a stored bill."""
    bill = bills.get_bill(bench, workspace, identifier)
    request, fields = bill.request, own_fields(bill.request)
    try:
        if bill.estimate_id is not None:
            return study_of(get_estimate_request(bench, workspace, bill.estimate_id), bill.label), fields
    except NotFound:
        pass
    body = study_of_systems(
        system_of(bill), currency=request.currency, price_book_id=request.price_book_id or ""
    )
    return body, fields


moved(router, "/boms/{identifier}", "bill", place_bill, endings=("",))


def drawing_view(name: str, drawing: Drawing, table: str) -> DrawingView:
    """Return a drawing with the title it has as its caption."""
    return DrawingView(name, drawing.title, drawing, table)


def rack_rows(racks: Sequence[Rack], voice: Voice) -> Iterable[tuple[str, str, Rack]]:
    number = 1
    for rack in racks:
        counts: dict[str, int] = {}
        for count, placement in stretches(rack.placements):
            counts[placement.name] = counts.get(placement.name, 0) + count
        contents = ", ".join(f"{count} × {voice.gettext(name)}" for name, count in counts.items())
        yield heading(rack, number, voice), contents, rack
        number += rack.count
