"""The scaling curve: one request over several counts of its system."""

from __future__ import annotations

from collections.abc import Sequence

from app.errors import BadInput
from app.sizing.request import EstimateRequest, PlanInput

MOST_COUNTS = 16


def scaled_requests(request: EstimateRequest, counts: Sequence[int]) -> list[EstimateRequest]:
    """Return the request at each count, with its plan left to the search."""
    if not 1 <= len(counts) <= MOST_COUNTS:
        raise BadInput.at(
            "counts", "{given} counts: between 1 and {most} are computed", given=len(counts), most=MOST_COUNTS
        )
    return [
        request.model_copy(
            update={"system": request.system.model_copy(update={"count": count}), "plan": PlanInput()}
        )
        for count in counts
    ]
