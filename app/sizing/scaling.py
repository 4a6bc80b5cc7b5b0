"""The scaling curve: one request over several counts of its system."""

from __future__ import annotations

from collections.abc import Sequence

from app.errors import BadInput
from app.sizing.context import SizingContext
from app.sizing.document import Estimate
from app.sizing.estimate import estimate
from app.sizing.request import EstimateRequest, PlanInput

MOST_COUNTS = 16


def scaling_curve(request: EstimateRequest, counts: Sequence[int], context: SizingContext) -> list[Estimate]:
    """Return the estimate at each count, with the plan searched anew.

    Parameters
    ----------
    request : EstimateRequest
        The request; its count and plan are replaced. [-]
    counts : sequence of int
        Systems; at most sixteen. [-]
    context : SizingContext
        Catalogue, software profiles and uploads. [-]

    Returns
    -------
    estimates : list of Estimate
        In the order of the counts. [-]
    """
    if not 1 <= len(counts) <= MOST_COUNTS:
        raise BadInput.at(
            "counts", "{given} counts: between 1 and {most} are computed", given=len(counts), most=MOST_COUNTS
        )
    return [
        estimate(
            request.model_copy(
                update={"system": request.system.model_copy(update={"count": count}), "plan": PlanInput()}
            ),
            context,
        )
        for count in counts
    ]
