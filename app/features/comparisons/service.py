"""Create, change and read comparisons."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from pydantic import TypeAdapter

from app.errors import VersionConflict, fields_at
from app.estimating.documents import Estimate
from app.estimating.names import STORED
from app.estimating.request import EstimateRequest, Limits
from app.features.comparisons.common_basis import BasisRequest, on_common_basis
from app.features.comparisons.compare import (
    ComparisonEntry,
    check_labels,
    compare,
    estimated,
    in_row,
    row_labels,
)
from app.features.comparisons.model import (
    Comparison,
    ComparisonPatch,
    ComparisonRequest,
    ComparisonSummary,
    KeptRow,
    PublishedFigure,
    StoredEstimate,
)
from app.features.comparisons.weighing import with_decision
from app.features.estimates.document import with_request
from app.features.estimates.service import (
    estimate_of,
    get_estimate,
    get_estimate_request,
    make_estimate,
    save_estimate,
)
from app.platform import references
from app.platform.deleting import delete
from app.platform.idempotency import IdempotentCall, Save, keep
from app.platform.listing import Page, filled, read_cursor, write_cursor
from app.platform.store.queries import EVERYTHING, ListFilter, new_id, now
from app.platform.store.repository import Repository
from app.platform.store.tables import ComparisonRecord, EstimateRow
from app.platform.workspace import Workspace

USUAL_BASIS = BasisRequest()

ROW: TypeAdapter[EstimateRequest | PublishedFigure] = TypeAdapter(KeptRow)


@dataclass(frozen=True, slots=True)
class ComparisonVersion:
    comparison: Comparison
    version: int


@dataclass(frozen=True, slots=True)
class ComparisonHead:
    identifier: str
    title: str | None
    locale: str
    currency: str
    limits: Limits = field(default_factory=Limits)


def create_comparison(workspace: Workspace, request: ComparisonRequest, key: str | None = None) -> Comparison:
    call = IdempotentCall.of("comparisons", key, request)
    return keep_comparison(workspace, lambda: request, call)


def keep_comparison(
    workspace: Workspace, asked: Callable[[], ComparisonRequest], once: IdempotentCall | None
) -> Comparison:
    """Compare options and store the comparison, once per idempotent call."""

    def make() -> tuple[Comparison, Save]:
        request = asked()
        check_labels(request.rows)
        options = make_options(workspace, request.rows, request.currency)
        limits = request.limits or Limits()
        head = ComparisonHead(new_id("cmp"), request.title, request.locale, request.currency, limits)
        answer = compared(workspace, options, head)

        def save(repository: Repository) -> None:
            record = ComparisonRecord(
                id=answer.id,
                workspace_id=workspace.id,
                title=answer.title,
                locale=answer.locale,
                currency=answer.currency,
                version=1,
            )
            save_new_estimates(repository, options)
            repository.add_comparison(record, stored_options(options, limits))

        return answer, save

    return keep(workspace, once, Comparison, make)


def get_comparison(
    workspace: Workspace, identifier: str, scaling_efficiency: float = 1.0, basis: BasisRequest = USUAL_BASIS
) -> ComparisonVersion:
    """Return a comparison, recomputed for a scaling efficiency and a basis of costs."""
    with workspace.transaction() as repository:
        record = existing(repository, identifier)
        options, limits = stored(repository, identifier), stored_limits(repository, identifier)
    head = ComparisonHead(record.id, record.title, record.locale, record.currency, limits)
    comparison = compared(workspace, options, head, scaling_efficiency, basis)
    return ComparisonVersion(comparison, record.version)


@dataclass(frozen=True, slots=True)
class AskedRows:
    """Request of a comparison, with its rows by their labels in order."""

    title: str
    currency: str
    limits: Limits
    rows: dict[str, EstimateRequest | PublishedFigure]


def get_rows(workspace: Workspace, identifier: str) -> AskedRows:
    with workspace.transaction() as repository:
        record = existing(repository, identifier)
        options, limits = stored(repository, identifier), stored_limits(repository, identifier)
    rows = dict(zip(row_labels(options), (option.request for option in options), strict=True))
    return AskedRows(record.title, record.currency, limits, rows)


def change_comparison(
    workspace: Workspace, identifier: str, patch: ComparisonPatch, version: int | None = None
) -> ComparisonVersion:
    """Change a comparison; with a version, only if nobody else has changed it since.

    Estimates are recomputed if the rows or the currency change.
    """
    current = get_comparison(workspace, identifier)
    check_version(version, current.version)
    before = current.comparison
    currency = patch.currency or before.currency
    with workspace.transaction() as repository:
        options, limits = stored(repository, identifier), stored_limits(repository, identifier)
    limits = patch.limits or limits
    check_labels(patch.rows or ())
    recomputed = patch.rows is not None or currency != before.currency
    if recomputed:
        requests = patch.rows if patch.rows is not None else [option.request for option in options]
        options = make_options(workspace, requests, currency)
    title, locale = patch.title or before.title, patch.locale or before.locale
    head = ComparisonHead(identifier, title, locale, currency, limits)
    after = compared(workspace, options, head)
    values = {
        name: value
        for name in ("title", "locale", "currency")
        if (value := getattr(after, name)) != getattr(before, name)
    }
    values |= {"version": current.version + 1, "updated_at": now()}
    with workspace.transaction() as repository:
        if not repository.change_comparison(identifier, current.version, values):
            check_version(current.version, existing(repository, identifier).version)
        if recomputed:
            save_new_estimates(repository, options)
        if recomputed or patch.limits is not None:
            repository.replace_options(identifier, stored_options(options, limits))
    return ComparisonVersion(after, current.version + 1)


def list_comparisons(
    workspace: Workspace, limit: int, cursor: str | None, wanted: ListFilter = EVERYTHING
) -> Page[ComparisonSummary]:
    with workspace.transaction() as repository:
        listing = repository.page(ComparisonRecord, limit, read_cursor(cursor), wanted=wanted)
        labels = repository.listings.labels(row.id for row in listing.rows)
    items = [filled(ComparisonSummary, row, labels=labels.get(row.id, [])) for row in listing.rows]
    return Page(items=items, next=write_cursor(listing.next))


def check_version(expected: int | None, current: int) -> None:
    """Raise an error for an edit based on another version than the current one."""
    if expected is not None and expected != current:
        raise VersionConflict.at(
            "If-Match",
            "the comparison has changed in the meantime (version {found}, not {expected}); reload it",
            found=current,
            expected=expected,
        )


def at_estimate(position: int, _: str) -> str:
    return in_row(position, "estimate_id")


def make_options(
    workspace: Workspace, rows: Sequence[EstimateRequest | PublishedFigure | StoredEstimate], currency: str
) -> list[ComparisonEntry]:
    def make(request: EstimateRequest) -> Estimate:
        return with_request(make_estimate(workspace, request), request, now())

    requests: list[EstimateRequest | PublishedFigure] = []
    known: dict[int, Estimate] = {}
    for position, row in enumerate(rows):
        if not isinstance(row, StoredEstimate):
            requests.append(row)
            continue
        with fields_at(partial(at_estimate, position)):
            request = get_estimate_request(workspace, row.estimate_id)
            estimate = get_estimate(workspace, row.estimate_id)
        requests.append(request.model_copy(update={"label": row.label or request.label}))
        # A comparison keeps an estimate of its own, which is deleted with nothing else.
        known[position] = estimate.model_copy(update={"id": new_id("est")})
    return estimated(requests, currency, make, known)


def compared(
    workspace: Workspace,
    options: list[ComparisonEntry],
    head: ComparisonHead,
    scaling_efficiency: float = 1.0,
    basis: BasisRequest = USUAL_BASIS,
) -> Comparison:
    """Return options side by side, with their costs on one basis."""
    comparison = compare(
        options,
        catalog=workspace.sizing.catalog,
        scaling_efficiency=scaling_efficiency,
        title=head.title,
        locale=head.locale,
        currency=head.currency,
    )
    context = workspace.context()
    priced = on_common_basis(comparison, options, context, basis)
    decided = with_decision(priced, options, head.limits, context)
    return decided.model_copy(update={"id": head.identifier})


def existing(repository: Repository, identifier: str) -> ComparisonRecord:
    return references.existing(repository, ComparisonRecord, identifier, "comparison")


def stored(repository: Repository, identifier: str) -> list[ComparisonEntry]:
    """Return the options of a comparison with their estimates."""
    rows = repository.comparison_options(identifier)
    if not rows:
        # It has been deleted since it was looked up: none is without options.
        existing(repository, identifier)
    estimates = repository.named(EstimateRow, (row.estimate_id for row in rows if row.estimate_id))
    return [
        ComparisonEntry(
            ROW.validate_python(without_limits(row.request), context=STORED),
            estimate_of(estimates[row.estimate_id]) if row.estimate_id else None,
        )
        for row in rows
    ]


LIMITS = "limits"
"""Field of the first option's request that holds the limits of the whole comparison."""


def without_limits(request: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in request.items() if name != LIMITS}


def stored_limits(repository: Repository, identifier: str) -> Limits:
    """Return the limits of a comparison, which stand beside the request of its first option."""
    rows = repository.comparison_options(identifier)
    return Limits.model_validate(rows[0].request.get(LIMITS, {}) if rows else {})


def stored_options(options: list[ComparisonEntry], limits: Limits) -> list[tuple[dict[str, Any], str | None]]:
    stated = limits.model_dump(mode="json", exclude_none=True)
    return [
        (
            {
                **option.request.model_dump(mode="json", exclude_unset=True),
                **({LIMITS: stated} if stated and position == 0 else {}),
            },
            option.estimate.id if option.estimate else None,
        )
        for position, option in enumerate(options)
    ]


def save_new_estimates(repository: Repository, options: list[ComparisonEntry]) -> None:
    for option in options:
        if option.estimate is not None and isinstance(option.request, EstimateRequest):
            save_estimate(repository, option.request, option.estimate)


def delete_comparison(workspace: Workspace, identifier: str, expected: int | None = None) -> None:
    delete(workspace, ComparisonRecord, identifier, expected)
