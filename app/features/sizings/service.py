"""Make, keep, restate and find sizings."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from pydantic import TypeAdapter
from sqlalchemy.exc import IntegrityError

from app.errors import BadInput, NotFound
from app.estimating.context import SizingContext
from app.estimating.names import STORED
from app.estimating.options import usual_term
from app.estimating.schema import filled
from app.estimating.version import engine_version
from app.features.sizings.answering import SizingSamples, judged, scaling, size
from app.features.sizings.model import ScalingCurve, Sizing, SizingOption, SizingRequest, SizingSummary, check
from app.features.sizings.options import SampledOption, decided, samples_of, stored_samples
from app.features.sizings.search import Watch, nobody, sampled_options
from app.platform.idempotency import IdempotentCall, Save, keep
from app.platform.listing import Page, page_of, stretch
from app.platform.references import existing
from app.platform.store.queries import EVERYTHING, ListFilter, new_id
from app.platform.store.tables import SizingRow
from app.platform.worker_processes import never, run_in_worker
from app.platform.workspace import Workspace
from app.telemetry import SEARCHES

OPTIONS = 100
"""Most options of one answer; those that follow are read by cursor."""


LONG = 32
"""Systems times counts from which a sizing is computed in a process of its own: half a second of work, while
the process takes some 30 ms to begin."""


def takes_long(request: SizingRequest) -> bool:
    """Tell whether a sizing tries so many candidates that it would hold up other requests."""
    counts = len(request.counts) if request.counts is not None else LONG
    return request.systems is None or len(request.systems) * counts >= LONG


def create_sizing(
    workspace: Workspace,
    request: SizingRequest,
    key: str | None = None,
    limit: int = OPTIONS,
    gone: Callable[[], bool] = never,
) -> Sizing:
    """Compute and store a sizing, and return it with its first ``limit`` options."""
    SEARCHES.labels("systems").inc()
    if takes_long(request):
        return run_in_worker(workspace, make_sizing, request, key, limit, gone=gone)
    return make_sizing(workspace, request, key, limit)


def make_sizing(workspace: Workspace, request: SizingRequest, key: str | None, limit: int) -> Sizing:
    def make() -> tuple[Sizing, Save]:
        sized = size(request, workspace.context())
        row = _row(new_id("siz"), request, sized)
        answer = sized.document.model_copy(update={"id": row.id})
        return answer, lambda repository: repository.add(row)

    sizing = keep(workspace, IdempotentCall.of("sizings", key, request), Sizing, make)
    return paged(sizing, limit, None)


def _row(identifier: str, request: SizingRequest, sized: SizingSamples) -> SizingRow:
    return SizingRow(
        id=identifier,
        label=sized.document.name[:300],
        model=request.model.named[:200],
        request=request.model_dump(mode="json", exclude_unset=True),
        document=sized.document.model_copy(update={"id": identifier}).model_dump(mode="json"),
        samples=stored_samples(sized.options),
    )


def get_sizing(workspace: Workspace, identifier: str) -> Sizing:
    with workspace.transaction() as repository:
        row = existing(repository, SizingRow, identifier, "sizing", whole=True)
    return sizing_of(row, workspace.context())


def sizing_of(row: SizingRow, context: SizingContext) -> Sizing:
    """Return a stored sizing; one of version 0.1.0 is decided at the prices of today."""
    document = {"name": row.label, **row.document}
    if "decision" not in document:
        request = SizingRequest.model_validate(row.request, context=STORED)
        listed = OPTION_LIST.validate_python(document["options"])
        family = document["model"].get("family", "")
        options = sampled_options(listed, family, samples_of(row.samples), request, context)
        document |= decided(options, request, usual_term(request.assumptions, context.catalog))
    return Sizing.model_validate(document, context=STORED)


OPTION_LIST = TypeAdapter(list[SizingOption])


@dataclass(frozen=True, slots=True)
class StoredSizing:
    """A sizing with the samples needed to judge its options under other limits."""

    document: Sizing
    options: Sequence[SampledOption]


def sizing_id(workspace: Workspace, request: SizingRequest) -> str:
    """Return the identifier of the answer to a request, which is the same on every server."""
    book_id = request.assumptions.price_book_id
    book = workspace.context().find_book(book_id) if book_id else None
    figures = workspace.sizing.catalog.version
    versions = (workspace.id, engine_version(figures), figures, book.source.id if book else "")
    own = workspace.own_state
    content = "\n".join(
        [*versions, *([repr(own)] if own else []), request.model_dump_json(exclude_none=True)]
    )
    return f"siz_{base64.b32encode(hashlib.sha256(content.encode()).digest())[:16].decode().lower()}"


def stored_sizing(workspace: Workspace, identifier: str) -> StoredSizing | None:
    """Return a stored answer; None if there is none."""

    def load() -> StoredSizing:
        with workspace.transaction() as repository:
            row = existing(repository, SizingRow, identifier, "sizing", whole=True)
        context, samples = workspace.context(), samples_of(row.samples)
        document = sizing_of(row, context)
        options = sampled_options(document.options, document.model.family, samples, document.request, context)
        return StoredSizing(document, options)

    try:
        stored: StoredSizing = workspace.installation.sizings.get((workspace.id, identifier), load)
    except NotFound:
        return None
    return stored


def find_sizing(
    workspace: Workspace,
    identifier: str,
    request: SizingRequest,
    watch: Watch = nobody,
    gone: Callable[[], bool] = never,
) -> None:
    """Compute the answer to a request and store it, unless ``gone`` returns True meanwhile."""
    SEARCHES.labels("systems").inc()
    run_in_worker(workspace, keep_found, identifier, request, watch=watch, gone=gone)


def keep_found(workspace: Workspace, identifier: str, request: SizingRequest, watch: Watch) -> None:
    row = _row(identifier, request, size(request, workspace.context(), watch))
    # The same request at the same time has the same answer, so a duplicate is ignored.
    with suppress(IntegrityError), workspace.transaction() as repository:
        repository.add(row)


def judged_sizing(
    workspace: Workspace, stored: StoredSizing, request: SizingRequest, wanted: Callable[[SizingOption], bool]
) -> Sizing:
    """Return a stored sizing judged anew: some of its options under the limits of a request."""
    check(request)
    options = [option for option in stored.options if wanted(option.document)]
    if not options:
        raise BadInput("no system is left: use fewer filters")
    return judged(stored.document, options, request, workspace.context())


def paged(document: Sizing, limit: int, cursor: str | None) -> Sizing:
    """Return a sizing with one page of its options."""
    part = stretch(document.options, limit, cursor)
    return document.model_copy(update={"options": part.items, "next": part.next})


def list_sizings(
    workspace: Workspace, limit: int, cursor: str | None, wanted: ListFilter = EVERYTHING
) -> Page[SizingSummary]:
    with workspace.transaction() as repository:
        return page_of(
            repository,
            SizingRow,
            lambda row: filled(SizingSummary, row, name=row.label),
            limit,
            cursor,
            wanted=wanted,
        )


def scale_system(workspace: Workspace, request: SizingRequest) -> ScalingCurve:
    """Compute the scaling curve of the one system that a request names; nothing is stored."""
    names = request.systems or []
    if len(names) != 1:
        raise BadInput.at("systems", "a scaling curve covers one system, not {given}", given=len(names))
    return scaling(request, names[0], workspace.context())
