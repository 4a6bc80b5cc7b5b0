"""Networks: switches and cables of so many nodes."""

from __future__ import annotations

from typing import Annotated

from fastapi import Body, Path, Query
from starlette.responses import Response

from app.features.bills import fabric
from app.features.bills import service as bills
from app.features.bills.model import Bill, BillComparison, BillRequest, BillSummary, FabricPlan, FabricRequest
from app.platform.listing import Page
from app.platform.web.api import ASK, CHANGE, LIST, READ, api_router, file_answer
from app.platform.web.deps import ID, FileVoiceDep, KeyHeader, ListDep, WorkspaceDep
from app.platform.web.examples import BILL, BILL_OF_POD, FABRIC
from app.platform.web.locale import CSV, VARIES, XLSX, attachment
from app.platform.web.requirements import Right, requires
from app.platform.wording.voice import Voice

router = api_router("bills", "/boms")

BillId = Annotated[str, Path(alias="id", description=ID, examples=["bom_a2b3c4d5e6f7g2h3"])]

PairQuery = Annotated[
    str,
    Query(
        max_length=100,
        description="Identifiers of two bills, comma-separated.",
        examples=["bom_a2b3c4d5e6f7g2h3,bom_b2b3c4d5e6f7g2h3"],
    ),
]


def bill_file(bill: Bill, voice: Voice, name: str, encoding: str = "utf-8") -> Response:
    """Return a bill as a file in the reader's language, of the kind that the ending of its name says."""
    # What writes workbooks takes half a second to load, and few requests ask for one.
    from app.features.bills.sheets import bill_csv, bill_workbook

    if name.endswith(".xlsx"):
        return attachment(bill_workbook(bill, voice), XLSX, name, VARIES)
    return attachment(bill_csv(bill, voice).encode(encoding), CSV, name, VARIES)


@router.post("", status_code=201, summary="Create a bill of materials", responses=ASK)
@requires(Right.MAKE)
def create_bill(
    workspace: WorkspaceDep,
    body: Annotated[BillRequest, Body(examples=[BILL, BILL_OF_POD])],
    key: KeyHeader = None,
) -> Bill:
    """Itemize machines, hosts, switches, cables, storage, racks and spares, with rule, price and source.

    A part without a published price is listed without one, and the total is marked as a lower bound.
    """
    return bills.create_bill(workspace, body, key)


@router.get("", summary="List bills of materials", responses=LIST)
def list_bills(workspace: WorkspaceDep, listed: ListDep) -> Page[BillSummary]:
    """List identifiers and names, newest first."""
    return bills.list_bills(workspace, listed.limit, listed.cursor, wanted=listed.wanted)


@router.get("/compare", summary="Compare two bills of materials", responses={**READ, **CHANGE})
def compare_bills(workspace: WorkspaceDep, ids: PairQuery) -> BillComparison:
    """Compare price, power and height of two bills, and report where their bases differ."""
    return bills.compare(workspace, ids)


@router.get(
    "/{id}.csv",
    summary="Export a bill as CSV",
    responses=file_answer(
        CSV,
        "One line per item of the bill.",
        "Group,Item,Name,Quantity,Total (USD)\r\nCompute,dgx-a100-640gb,DGX A100 640GB,20,5400000.0\r\n",
    ),
    response_class=Response,
)
def get_bill_csv(workspace: WorkspaceDep, voice: FileVoiceDep, identifier: BillId) -> Response:
    """Return lines in English, or in the language asked for; text that looks like a formula is marked as
    text.
    """
    return bill_file(bills.get_bill(workspace, identifier), voice, f"{identifier}.csv")


@router.get(
    "/{id}.xlsx",
    summary="Export a bill as a workbook",
    responses=file_answer(XLSX, "Workbook whose totals are formulas."),
    response_class=Response,
)
def get_bill_workbook(workspace: WorkspaceDep, voice: FileVoiceDep, identifier: BillId) -> Response:
    """Return lines and racks as a workbook; totals are formulas over quantity and unit price."""
    return bill_file(bills.get_bill(workspace, identifier), voice, f"{identifier}.xlsx")


@router.get("/{id}", summary="Retrieve a bill of materials", responses=READ)
def get_bill(workspace: WorkspaceDep, identifier: BillId) -> Bill:
    """Return the bill as computed when it was created."""
    return bills.get_bill(workspace, identifier)


@router.delete("/{id}", status_code=204, summary="Delete a bill of materials", responses=CHANGE)
@requires(Right.MAKE)
def delete_bill(workspace: WorkspaceDep, identifier: BillId) -> None:
    """Delete a bill of materials; 409 if a proposal refers to it."""
    bills.delete_bill(workspace, identifier)


fabrics_router = api_router("bills")


@fabrics_router.post("/fabrics", summary="Plan a network", responses=ASK)
@requires(Right.ASK)
def plan_fabric(body: Annotated[FabricRequest, Body(examples=[FABRIC])]) -> FabricPlan:
    """Compute leaf, spine and core switches and cables; declared switches are questioned, not
    corrected.
    """
    return fabric.plan_fabric(body)
