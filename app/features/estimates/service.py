"""Create, retrieve and list estimates."""

from __future__ import annotations

from collections.abc import Mapping

from app.errors import BadInput
from app.estimating.documents import Estimate
from app.estimating.estimate import estimate
from app.estimating.money import PRICED_ASSUMPTIONS
from app.estimating.names import STORED
from app.estimating.request import EstimateRequest
from app.features.estimates.document import DERIVED_FIELDS, with_request
from app.features.estimates.model import EstimateSummary, scaled_requests
from app.platform.deleting import delete
from app.platform.idempotency import IdempotentCall, Save, keep
from app.platform.listing import Page, read_cursor, write_cursor
from app.platform.references import no_such
from app.platform.store.document_queries import EstimateSubject
from app.platform.store.queries import EVERYTHING, ListFilter, new_id, now
from app.platform.store.repository import Repository
from app.platform.store.tables import EstimateRow
from app.platform.workspace import Workspace
from app.telemetry import ESTIMATES


def create_estimate(workspace: Workspace, request: EstimateRequest, key: str | None = None) -> Estimate:
    return _create(workspace, request, IdempotentCall.of("estimates", key, request))


def run_again(workspace: Workspace, identifier: str, key: str | None = None) -> Estimate:
    """Create a new estimate from the request of an existing one, with the current catalogue."""
    request = get_estimate_request(workspace, identifier)
    return _create(workspace, request, IdempotentCall.of(f"estimates/{identifier}/run", key, b""))


def _create(workspace: Workspace, request: EstimateRequest, call: IdempotentCall | None) -> Estimate:
    def make() -> tuple[Estimate, Save]:
        answer = with_request(make_estimate(workspace, request), request, now())
        return answer, lambda repository: save_estimate(repository, request, answer)

    return keep(workspace, call, Estimate, make)


def make_estimate(workspace: Workspace, request: EstimateRequest) -> Estimate:
    """Compute an estimate with a new identifier, without storing it."""
    answer = estimate(request, workspace.context())
    ESTIMATES.inc()
    return answer.model_copy(update={"id": new_id("est")})


def save_estimate(repository: Repository, request: EstimateRequest, answer: Estimate) -> None:
    stated = request.model_dump(mode="json", exclude_unset=True)
    repository.write(
        EstimateRow(
            id=answer.id,
            label=answer.name[:300],
            model=request.model.named[:200],
            request=stated,
            # The database writes documents as JSON, without a copy of them before.
            document={name: value for name, value in answer if name not in DERIVED_FIELDS},
            created_at=answer.created_at or now(),
        )
    )


def _row(workspace: Workspace, identifier: str) -> EstimateRow:
    with workspace.transaction() as repository:
        row = repository.get(EstimateRow, identifier)
        if row is None:
            raise no_such("estimate", identifier)
        return row


def get_estimate(workspace: Workspace, identifier: str) -> Estimate:
    return estimate_of(_row(workspace, identifier))


def estimate_of(row: EstimateRow) -> Estimate:
    request = EstimateRequest.model_validate(row.request, context=STORED)
    # Estimates of before 0.1.0 have their name in the column alone.
    return with_request(Estimate.model_validate({"name": row.label, **row.document}), request, row.created_at)


def get_estimate_request(workspace: Workspace, identifier: str) -> EstimateRequest:
    return EstimateRequest.model_validate(_row(workspace, identifier).request, context=STORED)


def priced_estimate(
    workspace: Workspace, identifier: str, terms: Mapping[str, object]
) -> tuple[EstimateRequest, Estimate]:
    """Compute an estimate on other terms without storing it; return its request as well."""
    request = get_estimate_request(workspace, identifier)
    document = request.model_dump(mode="json", exclude_unset=True)
    currency = terms.get("currency", request.currency)
    stated = {name: value for name, value in terms.items() if name != "currency"}
    if currency != request.currency and set(PRICED_ASSUMPTIONS) & set(document.get("assumptions", {})):
        raise BadInput.at(
            "currency",
            "the estimate is in {currency}; create a new one for another currency",
            currency=request.currency,
        )
    document["currency"] = currency
    document["assumptions"] = {**document.get("assumptions", {}), **stated}
    changed = EstimateRequest.model_validate(document)
    answer = estimate(changed, workspace.context())
    return changed, answer.model_copy(update={"id": identifier})


def list_estimates(
    workspace: Workspace, limit: int, cursor: str | None, wanted: ListFilter = EVERYTHING
) -> Page[EstimateSummary]:
    with workspace.transaction() as repository:
        listing = repository.page(EstimateRow, limit, read_cursor(cursor), wanted=wanted)
        subjects = repository.listings.subjects(row.id for row in listing.rows)
    models, systems = workspace.catalogue.models.documents, workspace.catalogue.systems.documents

    def line(row: EstimateRow, subject: EstimateSubject) -> EstimateSummary:
        # What has left the catalogue is still known by its identifier.
        preset, system = models.get(subject.preset or ""), systems.get(subject.system)
        return EstimateSummary(
            id=row.id,
            name=row.label,
            model=preset.name if preset else subject.preset or subject.upload,
            system=system.name if system else subject.system,
            count=subject.count,
            created_at=row.created_at,
        )

    # Leave out what was deleted between the two queries.
    items = [line(row, subjects[row.id]) for row in listing.rows if row.id in subjects]
    return Page(items=items, next=write_cursor(listing.next))


def scale_estimate(workspace: Workspace, request: EstimateRequest, counts: list[int]) -> list[Estimate]:
    """Return one estimate per number of systems, without storing them."""
    context = workspace.context()

    def at(scaled: EstimateRequest) -> Estimate:
        return workspace.estimate(scaled, lambda: estimate(scaled, context))

    return [at(scaled) for scaled in scaled_requests(request, counts)]


def delete_estimate(workspace: Workspace, identifier: str) -> None:
    delete(workspace, EstimateRow, identifier)
