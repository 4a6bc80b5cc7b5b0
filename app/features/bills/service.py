"""Make, keep, find, compare and export bills of materials."""

from __future__ import annotations

from app.catalog.entries import ChipKind
from app.errors import BadInput, FieldError, NotFound
from app.features.bills.bill import make_bill
from app.features.bills.compare import compare_bills
from app.features.bills.model import Bill, BillComparison, BillRequest, BillSummary, check_asked
from app.features.estimates.service import get_estimate_request
from app.platform.idempotency import IdempotentCall, Save, keep
from app.platform.listing import Page, read_cursor, write_cursor
from app.platform.store.tables import BillRow
from app.platform.store.types import new_id
from app.platform.wording.voice import Voice
from app.platform.workbench import Workbench, no_such


def create_bill(bench: Workbench, workspace_id: str, request: BillRequest, key: str | None = None) -> Bill:
    """Make the bill of a system, or of an estimate's system, and keep it."""

    def make() -> tuple[Bill, Save]:
        asked = of_estimate(bench, workspace_id, request)
        answer = make_bill(asked, bench.context(workspace_id), new_id("bom"), request.estimate_id)
        stated, document = request.model_dump(mode="json", exclude_unset=True), answer.model_dump(mode="json")
        return answer, lambda repository: repository.add(
            BillRow(id=answer.id, label=answer.label[:300], request=stated, document=document)
        )

    return keep(bench, workspace_id, IdempotentCall.of("boms", key, request), Bill, make)


def of_estimate(bench: Workbench, workspace_id: str, request: BillRequest) -> BillRequest:
    """Return a request with the system, network and price book of the estimate it names, if it names one."""
    check_asked(request)
    if request.estimate_id is None:
        return request
    try:
        estimate = get_estimate_request(bench, workspace_id, request.estimate_id)
    except NotFound as error:
        raise NotFound(error.message, [FieldError("estimate_id", error.message)]) from None
    system, assumptions = estimate.system, estimate.assumptions
    own: dict[str, object] = {
        "count": system.count,
        "currency": estimate.currency,
        "price_book_id": assumptions.price_book_id,
        "region": assumptions.region,
        "storage_tb": assumptions.storage_tb,
    }
    # A pod comes with its network.
    if bench.sizing.catalog.system(system.id).chip_kind is not ChipKind.IPU:
        own |= {"fabric": system.fabric, "ports_per_node": system.ports_per_node}
    stated = request.model_fields_set
    filled = {name: value for name, value in own.items() if name not in stated and value is not None}
    return request.model_copy(update={"system": system.id, "estimate_id": None, **filled})


def get_bill(bench: Workbench, workspace_id: str, identifier: str) -> Bill:
    """Return a bill as it was answered."""
    with bench.store.transaction(workspace_id) as repository:
        row = repository.get(BillRow, identifier)
        if row is None:
            raise no_such("bill of materials", identifier)
        return Bill.model_validate(row.document)


def list_bills(bench: Workbench, workspace_id: str, limit: int, cursor: str | None) -> Page[BillSummary]:
    """Return bills, newest first."""
    with bench.store.transaction(workspace_id) as repository:
        listing = repository.page(BillRow, limit, read_cursor(cursor))
    items = [BillSummary(id=row.id, label=row.label, created_at=row.created_at) for row in listing.rows]
    return Page(items=items, next=write_cursor(listing.next))


def compare(bench: Workbench, workspace_id: str, ids: str) -> BillComparison:
    """Return two bills side by side; their identifiers are separated by a comma."""
    names = [name.strip() for name in ids.split(",") if name.strip()]
    if len(names) != 2:
        raise BadInput.at("ids", "enter the identifiers of two bills of materials, separated by a comma")
    first, second = (get_bill(bench, workspace_id, name) for name in names)
    return compare_bills(first, second, bench.sizing.catalog)


def export_csv(bench: Workbench, workspace_id: str, identifier: str, voice: Voice) -> str:
    """Return a bill as a CSV file."""
    from app.features.bills.sheets import bill_csv

    return bill_csv(get_bill(bench, workspace_id, identifier), voice)


def export_workbook(bench: Workbench, workspace_id: str, identifier: str, voice: Voice) -> bytes:
    """Return a bill as a workbook."""
    from app.features.bills.sheets import bill_workbook

    return bill_workbook(get_bill(bench, workspace_id, identifier), voice)
