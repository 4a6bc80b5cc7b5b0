"""The bill of materials of an option of a study."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fastapi import Request
from fastapi.responses import Response

from app.catalog.entries import ChipKind
from app.features.bills import service as bills
from app.features.bills.api import bill_file
from app.features.bills.drawings import heading, rack_elevation, stretches, topology
from app.features.bills.model import Bill, OptionBillRequest, Rack, StudyOptionBill
from app.features.bills.of_study import answer_bill, has_bill, usual_bill
from app.features.studies.frame import OpenView, StudyFrame, study_view
from app.features.studies.knobs import labels_of
from app.platform.charts.svg import Drawing
from app.platform.web.contexts import Choice, DrawingView
from app.platform.web.deps import WorkspaceDep
from app.platform.web.locale import voice_of
from app.platform.web.query_forms import FormOutcome, QueryForm
from app.platform.web.rights import page_router
from app.platform.wording.voice import Voice

router = page_router()

FORM = QueryForm(OptionBillRequest)


@dataclass(frozen=True, slots=True, kw_only=True)
class BillPage:
    """A bill of materials with its racks and its network."""

    frame: StudyFrame
    result: FormOutcome[StudyOptionBill] | None
    racks: Sequence[tuple[str, str, Rack]]
    """Identical racks: their name, and the contents of one of them."""
    elevation: DrawingView | None
    topology: DrawingView | None
    pod: bool
    """Whether the system comes with its links."""
    others: Sequence[Choice]
    """Options with bills to compare."""
    hidden_fields: Sequence[tuple[str, str]]
    """Fields of the form that are kept when another option is chosen."""


def bill_page(request: Request, view: OpenView, result: FormOutcome[StudyOptionBill] | None) -> BillPage:
    """Return the page of a bill, or of the previous one if this one is refused."""
    voice = voice_of(request)
    bill = None if result is None else result.answer
    system = None if bill is None else view.workspace.sizing.catalog.system(bill.system)
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
        pod=system is not None and system.machine.chip.kind is ChipKind.IPU,
        others=other_options(view),
        hidden_fields=[(name, text) for name, text in fields.items() if name != "other"],
    )


def other_options(view: OpenView) -> list[Choice]:
    """Return the other options of a study that have bills."""
    keys = [option.key for option in view.state.content.options if has_bill(view.workspace, option)]
    labels = labels_of(view.state.content, view.workspace.sizing.catalog)
    return [Choice(key, labels[key]) for key in keys if key != view.frame.option]


def saved(request: Request, bill: Bill, name: str) -> Response:
    """Return a bill as a file, with the byte order mark that spreadsheets need to read Korean."""
    return bill_file(bill, voice_of(request), name, "utf-8-sig")


study_view(
    router,
    "bill",
    "bills/bill.html",
    FORM,
    StudyOptionBill,
    usual=usual_bill,
    answer=answer_bill,
    page=bill_page,
    suits=has_bill,
    files={
        "csv": lambda request, bill: saved(request, bill, "bill.csv"),
        "xlsx": lambda request, bill: saved(request, bill, "bill.xlsx"),
    },
)


@router.get("/boms/{identifier}.json")
def show_bill_data(workspace: WorkspaceDep, identifier: str) -> Bill:
    """Return a stored bill."""
    return bills.get_bill(workspace, identifier)


@router.get("/boms/{identifier}.csv")
@router.get("/boms/{identifier}.xlsx")
def save_bill(request: Request, workspace: WorkspaceDep, identifier: str) -> Response:
    """Return a stored bill as a file."""
    bill = bills.get_bill(workspace, identifier)
    return saved(request, bill, request.url.path.rpartition("/")[2])


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
