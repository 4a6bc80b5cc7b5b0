"""Make, keep, restate and find sizings."""

from __future__ import annotations

from collections.abc import Mapping

from app.errors import BadInput, NotFound
from app.estimating.request import EstimateRequest
from app.features.sizings.answering import restated, scaling, size
from app.features.sizings.judging import sampled_option, samples_of, stored_samples
from app.features.sizings.model import ScalingCurve, Sizing, SizingRequest, SizingSummary, check
from app.platform.idempotency import IdempotentCall, Save, keep
from app.platform.listing import Page, read_cursor, stretch, write_cursor
from app.platform.store.queries import new_id
from app.platform.store.tables import SizingRow
from app.platform.workbench import Workbench, no_such
from app.telemetry import SEARCHES

OPTIONS = 100
"""Most options of one answer; those that follow are read by cursor."""


def create_sizing(
    bench: Workbench, workspace_id: str, request: SizingRequest, key: str | None = None
) -> Sizing:
    def make() -> tuple[Sizing, Save]:
        sized = size(request, bench.context(workspace_id))
        SEARCHES.labels("systems").inc()
        answer = sized.document.model_copy(update={"id": new_id("siz")})
        asked = request.model_dump(mode="json", exclude_unset=True)
        document, samples = answer.model_dump(mode="json"), stored_samples(sized.samples)
        return answer, lambda repository: repository.add(
            SizingRow(
                id=answer.id, label=answer.label[:300], request=asked, document=document, samples=samples
            )
        )

    return keep(bench, workspace_id, IdempotentCall.of("sizings", key, request), Sizing, make)


def get_sizing(
    bench: Workbench,
    workspace_id: str,
    identifier: str,
    limits: Mapping[str, float | str | None] | None = None,
) -> Sizing:
    """Return a sizing as it was answered, or judged under other limits from its samples."""
    with bench.store.transaction(workspace_id) as repository:
        row = repository.get(SizingRow, identifier)
        if row is None:
            raise no_such("sizing", identifier)
        document = Sizing.model_validate(row.document)
        if not limits:
            return document
        samples = samples_of(row.samples)
    asked = document.request.model_copy(update=dict(limits))
    check(asked)
    # What was kept before purchase and term were told apart has no samples of them.
    if all(option.id in samples for option in document.options if option.fits):
        options = [sampled_option(option, samples.get(option.id)) for option in document.options]
        return restated(document, options, asked)
    sized = size(asked, bench.context(workspace_id))
    return sized.document.model_copy(update={"id": identifier, "label": document.label})


def paged(document: Sizing, limit: int, cursor: str | None) -> Sizing:
    """Return a sizing with some of its options, from a cursor on."""
    part = stretch(document.options, limit, cursor)
    return document.model_copy(update={"options": part.items, "next": part.next})


def option_request(bench: Workbench, workspace_id: str, identifier: str, option: str) -> EstimateRequest:
    document = get_sizing(bench, workspace_id, identifier)
    found = next((entry for entry in document.options if entry.id == option), None)
    if found is None:
        raise NotFound.named("option", option, [entry.id for entry in document.options])
    return EstimateRequest.model_validate(found.estimate)


def list_sizings(bench: Workbench, workspace_id: str, limit: int, cursor: str | None) -> Page[SizingSummary]:
    with bench.store.transaction(workspace_id) as repository:
        listing = repository.page(SizingRow, limit, read_cursor(cursor))
    items = [SizingSummary(id=row.id, label=row.label, created_at=row.created_at) for row in listing.rows]
    return Page(items=items, next=write_cursor(listing.next))


def scale_system(bench: Workbench, workspace_id: str, request: SizingRequest) -> ScalingCurve:
    """Return the scaling curve of the one system a request names, without keeping it."""
    names = request.systems or []
    if len(names) != 1:
        raise BadInput.at("systems", "a scaling curve covers one system, not {given}", given=len(names))
    return scaling(request, names[0], bench.context(workspace_id))
