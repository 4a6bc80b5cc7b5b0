"""The scaling curve: one request over several counts of its system."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from pydantic import Field

from app.errors import BadInput
from app.estimating.request import EstimateRequest, PlanInput
from app.estimating.schema import Document

MOST_COUNTS = 16


def scaled_requests(request: EstimateRequest, counts: Sequence[int]) -> list[EstimateRequest]:
    """Return the request at each count, with its plan left to the search."""
    if not 1 <= len(counts) <= MOST_COUNTS:
        raise BadInput.at(
            "counts",
            "there must be between 1 and {most} counts, not {given}",
            given=len(counts),
            most=MOST_COUNTS,
        )
    return [
        request.model_copy(
            update={"system": request.system.model_copy(update={"count": count}), "plan": PlanInput()}
        )
        for count in counts
    ]


class EstimateSummary(Document):
    """Summary of an estimate in a list."""

    id: str = Field(description="Identifier of the estimate.")
    name: str = Field(description="Name.", examples=["BERT-large on 4 × IPU-POD64"])
    model: str | None = None
    """Name of the preset or upload; null if the model was given in the request itself."""
    system: str = Field(description="Name of the system.")
    count: int = Field(description="Number of systems.")
    created_at: datetime = Field(description="Creation time.")
