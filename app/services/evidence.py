"""The measured runs that a proposal names."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from app.errors import AppError, Conflict, FieldError, Message
from app.services.calibrations import get_calibration
from app.services.comparisons import create_comparison
from app.services.fabric_choices import weigh_fabrics
from app.services.workbench import Workbench
from app.sizing.document import Comparison, SystemSummary
from app.sizing.fabric_choice.documents import FabricOption
from app.sizing.fabric_choice.request import FabricChoiceRequest
from app.sizing.proposal.evidence import Named
from app.sizing.proposal.request import ProposalRequest
from app.sizing.questions import ComparisonRequest
from app.sizing.request import EstimateRequest

FEWEST = 2
"""Networks that can be held against each other."""


def named_evidence(bench: Workbench, workspace_id: str, asked: ProposalRequest) -> Named:
    """Return the answers about measured runs that a proposal names, networks in its currency and prices."""
    calibration, networks = None, None
    if asked.calibration_id is not None:
        with at_field("calibration_id"):
            calibration = get_calibration(bench, workspace_id, asked.calibration_id)
    if asked.fabric_choice is not None:
        with at_field("fabric_choice", inside=True):
            networks = weigh_fabrics(bench, workspace_id, in_terms_of(asked, asked.fabric_choice))
    return Named(calibration, networks)


def in_terms_of(asked: ProposalRequest, choice: FabricChoiceRequest) -> FabricChoiceRequest:
    """Return a choice of networks in the currency of a proposal, and at its price book where it has one."""
    estimate = choice.estimate.model_copy(update={"currency": asked.currency})
    book = choice.price_book_id if asked.price_book_id is None else asked.price_book_id
    return choice.model_copy(update={"estimate": estimate, "price_book_id": book})


@contextmanager
def at_field(field: str, *, inside: bool = False) -> Iterator[None]:
    """Name the field of a proposal in what is wrong with it."""
    try:
        yield
    except AppError as error:
        found = [FieldError(f"{field}.{one.field}", one.message) for one in error.errors if inside]
        error.errors = tuple(found) or (FieldError(field, error.message),)
        raise


def compare_networks(
    bench: Workbench, workspace_id: str, choice: FabricChoiceRequest, locale: Literal["ko", "en"]
) -> Comparison:
    """Compare the network that is taken with the one it is held against, and keep the comparison."""
    found = weigh_fabrics(bench, workspace_id, choice)
    options = {one.id: one for one in found.options}
    advice = found.advice
    pair = (
        []
        if advice is None
        else [options.get(advice.recommendation or ""), options.get(advice.against or "")]
    )
    rows = [row_on(choice, one, found.system) for one in pair if one is not None]
    if len(rows) < FEWEST:
        raise Conflict(Message("there are no two networks here to hold against each other"))
    request = ComparisonRequest(title=found.label[:200], locale=locale, currency=found.currency, rows=rows)
    return create_comparison(bench, workspace_id, request)


def row_on(choice: FabricChoiceRequest, option: FabricOption, system: SystemSummary) -> EstimateRequest:
    """Return the estimate of a choice on one of its networks."""
    asked = choice.estimate
    label = f"{system.count} × {system.name} · {option.label}"
    on = asked.system.model_copy(update={"fabric": option.fabric, "ports_per_node": option.ports_per_node})
    return asked.model_copy(update={"system": on, "label": label[:200]})
