"""Build or rent: the break-even of a purchase against a cloud bill; nothing is kept."""

from __future__ import annotations

import csv
import io

from app.estimating.money import rounded
from app.features.break_even.deciding import decide
from app.features.break_even.model import BreakEven, BreakEvenRequest, CashPoint
from app.platform.workbench import Workbench


def break_even(bench: Workbench, workspace_id: str, request: BreakEvenRequest) -> BreakEven:
    """Return when an own cluster is cheaper than the cloud, at the prices of a workspace."""
    return decide(request, bench.context(workspace_id))


def cash_flow_csv(answer: BreakEven) -> str:
    """Return both sides month by month as CSV, in the currency that its heads name."""
    heads = [name if name == "month" else f"{name} [{answer.currency}]" for name in CashPoint.model_fields]
    written = io.StringIO()
    writer = csv.writer(written)
    writer.writerow(heads)
    for point in answer.cash_flow:
        month, *amounts = point.model_dump().values()
        printed = ["" if value is None else f"{rounded(value, answer.currency):f}" for value in amounts]
        writer.writerow([f"{month:.10g}", *printed])
    return written.getvalue()
