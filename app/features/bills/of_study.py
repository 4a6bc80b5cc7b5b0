"""The bill of an option of a study, and beside it that of another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.catalog.entries import Acquisition
from app.errors import NotFound
from app.estimating.context import SizingContext
from app.features.bills import service as bills
from app.features.bills.bill import make_bill
from app.features.bills.model import Bill, BillRequest, OptionBillRequest, StudyOptionBill
from app.features.studies.frame import StudyQuestion, question_of
from app.features.studies.model import StudyOption
from app.platform.workspace import Workspace

OF_ESTIMATE = ("include", "licence_years")
"""Fields that follow from the option's assumptions and stand in no form."""
SHARED = ("spare", "storage_tb", "rack_units", "rack_power_kw")
"""Fields of the form that apply to both bills of a comparison."""


def has_bill(workspace: Workspace, option: StudyOption) -> bool:
    """Tell whether an option is purchased, and so has a bill."""
    if option.system is None or option.assumptions.acquisition == "rent":
        return False
    return workspace.sizing.catalog.system(option.system.id).acquisition is Acquisition.OWN


def asked_of(question: StudyQuestion) -> dict[str, Any]:
    """Return the fields of a bill's request that a study states."""
    assert question.request is not None, "only systems are billed"
    return {**bills.asked_of(question.request, question.workspace.sizing.catalog), "label": question.label}


def usual_bill(question: StudyQuestion) -> Mapping[str, str]:
    """Return the default fields of the form."""
    fields = {name: value for name, value in asked_of(question).items() if name not in OF_ESTIMATE}
    return {name: f"{value:g}" if isinstance(value, float) else str(value) for name, value in fields.items()}


def bill_of(question: StudyQuestion, request: BillRequest) -> Bill:
    """Return the bill of an option at the prices of its study."""
    assert question.option.system is not None, "only systems are billed"
    entry = question.workspace.sizing.catalog.system(question.option.system.id)
    stated = bills.stated_inputs(request, entry.machine.chip.kind)
    request = BillRequest.model_validate(
        {name: value for name, value in asked_of(question).items() if name in OF_ESTIMATE}
        | {name: stated[name] for name in BillRequest.model_fields.keys() & stated}
    )
    bill = make_bill(
        request.model_copy(update={"price_book_id": None}), priced(question), question.option.key
    )
    return bill.model_copy(update={"request": request})


def priced(question: StudyQuestion) -> SizingContext:
    """Return the catalogue at the prices of a study: its price book, day and system price."""
    request = question.request
    assert request is not None, "only systems are billed"
    study = question.state.study
    stated = bills.StatedPrices(
        study.id, study.content.name, study.version, study.updated_at.date().isoformat(), ()
    )
    return bills.at_prices_of(question.workspace.context(), request, stated, question.label)


def answer_bill(question: StudyQuestion, request: OptionBillRequest) -> StudyOptionBill:
    """Return the bill of an option, with a comparison if another option is named."""
    bill, comparison = bill_of(question, request), None
    if request.other:
        others = [option.key for option in question.content.options if has_bill(question.workspace, option)]
        if request.other not in others:
            raise NotFound.named("option", request.other, others, "other")
        beside = question_of(question.workspace, question.state, request.other)
        shared = request.model_dump(exclude_unset=True, include=set(SHARED))
        other = BillRequest.model_validate({**asked_of(beside), **shared})
        comparison = bills.compare_bills(bill, bill_of(beside, other), question.workspace.sizing.catalog)
    return StudyOptionBill.model_validate({**dict(bill), "comparison": comparison})
