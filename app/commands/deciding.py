"""Commands that weigh options: compare, bill, break-even."""

from __future__ import annotations

from functools import partial

import typer

from app.commands.asking import ApiQuestion
from app.commands.estimating import estimated as as_estimated
from app.commands.option_text import bill_text, break_even_text, comparison_text
from app.errors import BadInput
from app.estimating.context import SizingContext
from app.estimating.request import EstimateRequest, Limits
from app.features.bills.bill import make_bill
from app.features.bills.model import Bill, BillRequest, check_asked
from app.features.break_even.deciding import decide
from app.features.break_even.model import BreakEven, BreakEvenRequest
from app.features.comparisons.compare import comparison_of, estimated, in_row, question_of, side_by_side
from app.features.comparisons.model import Comparison, ComparisonRequest, StoredEstimate
from app.features.studies.options import PublishedFigure

cli = typer.Typer(rich_markup_mode=None)


def compared(request: ComparisonRequest, context: SizingContext) -> Comparison:
    """Return a comparison as the API does, but without identifier."""
    rows: list[EstimateRequest | PublishedFigure] = []
    for position, row in enumerate(request.rows):
        if isinstance(row, StoredEstimate):
            field = in_row(position, "estimate_id")
            raise BadInput.at(field, "only stored estimates have an identifier; add --save or --server")
        rows.append(row)
    options = estimated(rows, request.currency, partial(as_estimated, context=context))
    side = side_by_side(options, context, request.currency)
    question = question_of(side, request.limits or Limits())
    return comparison_of(side, question, title=request.title, locale=request.locale)


def billed(request: BillRequest, context: SizingContext) -> Bill:
    check_asked(request)
    if request.estimate_id is not None:
        raise BadInput.at("estimate_id", "only stored estimates have an identifier; add --save or --server")
    return make_bill(request, context)


ApiQuestion(
    "comparisons",
    ComparisonRequest,
    Comparison,
    compared,
    comparison_text,
    holds=lambda answer: any(row.hours is not None for row in answer.rows),
).command(cli, "compare", "Compare options side by side; exits with 1 if none fits into memory.")

ApiQuestion("boms", BillRequest, Bill, billed, bill_text).command(
    cli, "bill", "List the parts of a system with quantities, prices and power."
)

ApiQuestion(
    "breakevens",
    BreakEvenRequest,
    BreakEven,
    decide,
    break_even_text,
    holds=lambda answer: answer.outcome == "within_horizon",
    stores=False,
).command(cli, "break-even", "Find when owning pays off; exits with 1 if it does not within the horizon.")
