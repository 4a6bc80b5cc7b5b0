"""Make, change, keep and find comparisons."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter

from app.errors import Overtaken
from app.estimating.documents import Estimate
from app.estimating.request import EstimateRequest
from app.features.comparisons.compare import ComparisonEntry, compare, estimated, row_labels
from app.features.comparisons.model import (
    Comparison,
    ComparisonPatch,
    ComparisonRequest,
    ComparisonSummary,
    PublishedFigure,
    RowRequest,
)
from app.features.comparisons.one_basis import BasisAsked, on_one_basis
from app.features.estimates.service import estimate_of, make_estimate, save_estimate
from app.features.estimates.standing import standing
from app.platform.deleting import delete
from app.platform.idempotency import IdempotentCall, Save, keep
from app.platform.listing import Page, filled, read_cursor, write_cursor
from app.platform.store.queries import EVERYTHING, ListFilter, new_id, now
from app.platform.store.repository import Repository
from app.platform.store.tables import ComparisonRecord, EstimateRow
from app.platform.workbench import Workbench, no_such

USUAL_BASIS = BasisAsked()

ROW: TypeAdapter[EstimateRequest | PublishedFigure] = TypeAdapter(RowRequest)


@dataclass(frozen=True, slots=True)
class Versioned:
    comparison: Comparison
    version: int


@dataclass(frozen=True, slots=True)
class ComparisonHead:
    identifier: str
    title: str | None
    locale: str
    currency: str


def create_comparison(
    bench: Workbench, workspace_id: str, request: ComparisonRequest, key: str | None = None
) -> Comparison:
    return keep_comparison(bench, workspace_id, request, IdempotentCall.of("comparisons", key, request))


def keep_comparison(
    bench: Workbench, workspace_id: str, request: ComparisonRequest, once: IdempotentCall | None
) -> Comparison:
    """Put options side by side and keep them, once for each request of its caller."""

    def make() -> tuple[Comparison, Save]:
        options = make_options(bench, workspace_id, request.rows, request.currency)
        found = ComparisonHead(new_id("cmp"), request.title, request.locale, request.currency)
        answer = compared(bench, workspace_id, options, found)

        def save(repository: Repository) -> None:
            record = ComparisonRecord(
                id=answer.id,
                workspace_id=workspace_id,
                title=answer.title,
                locale=answer.locale,
                currency=answer.currency,
                version=1,
            )
            save_new_estimates(repository, options)
            repository.add_comparison(record, stored_options(options))

        return answer, save

    return keep(bench, workspace_id, once, Comparison, make)


def get_comparison(
    bench: Workbench,
    workspace_id: str,
    identifier: str,
    scaling_efficiency: float = 1.0,
    basis: BasisAsked = USUAL_BASIS,
) -> Versioned:
    """Return a comparison, its linear rows restated at a scaling efficiency, its costs on one basis."""
    with bench.store.transaction(workspace_id) as repository:
        record = existing(repository, identifier)
        options = stored(repository, identifier)
    found = ComparisonHead(record.id, record.title, record.locale, record.currency)
    comparison = compared(bench, workspace_id, options, found, scaling_efficiency, basis)
    return Versioned(comparison, record.version)


@dataclass(frozen=True, slots=True)
class AskedRows:
    """What a comparison asks, without its answer: its rows by their labels, in order."""

    title: str
    currency: str
    rows: dict[str, EstimateRequest | PublishedFigure]


def get_rows(bench: Workbench, workspace_id: str, identifier: str) -> AskedRows:
    with bench.store.transaction(workspace_id) as repository:
        record = existing(repository, identifier)
        options = stored(repository, identifier)
    rows = dict(zip(row_labels(options), (option.request for option in options), strict=True))
    return AskedRows(record.title, record.currency, rows)


def change_comparison(
    bench: Workbench,
    workspace_id: str,
    identifier: str,
    patch: ComparisonPatch,
    version: int | None = None,
) -> Versioned:
    """Change a comparison; with a version, only if nobody else has changed it since.

    Estimates are made anew where the rows or the currency change.
    """
    before = get_comparison(bench, workspace_id, identifier)
    check_version(version, before.version)
    currency = patch.currency or before.comparison.currency
    rows = patch.rows
    with bench.store.transaction(workspace_id) as repository:
        options = stored(repository, identifier)
    anew = rows is not None or currency != before.comparison.currency
    if anew:
        requests = rows if rows is not None else [option.request for option in options]
        options = make_options(bench, workspace_id, requests, currency)
    title = patch.title or before.comparison.title
    locale = patch.locale or before.comparison.locale
    answer = compared(bench, workspace_id, options, ComparisonHead(identifier, title, locale, currency))
    was = before.comparison
    changes = [("title", answer.title, was.title), ("locale", locale, was.locale)]
    changes.append(("currency", currency, was.currency))
    values: dict[str, Any] = {name: new for name, new, old in changes if new != old}
    values |= {"version": before.version + 1, "updated_at": now()}
    with bench.store.transaction(workspace_id) as repository:
        if not repository.change_comparison(identifier, before.version, values):
            check_version(before.version, existing(repository, identifier).version)
        if anew:
            save_new_estimates(repository, options)
            repository.replace_options(identifier, stored_options(options))
    return Versioned(answer, before.version + 1)


def list_comparisons(
    bench: Workbench, workspace_id: str, limit: int, cursor: str | None, wanted: ListFilter = EVERYTHING
) -> Page[ComparisonSummary]:
    with bench.store.transaction(workspace_id) as repository:
        listing = repository.page(ComparisonRecord, limit, read_cursor(cursor), wanted=wanted)
        labels = repository.shown.labels(row.id for row in listing.rows)
    items = [filled(ComparisonSummary, row, labels=labels.get(row.id, [])) for row in listing.rows]
    return Page(items=items, next=write_cursor(listing.next))


def check_version(expected: int | None, found: int) -> None:
    """Refuse an edit that would overwrite one its author has not seen."""
    if expected is not None and expected != found:
        raise Overtaken.at(
            "If-Match",
            "the comparison has changed in the meantime (version {found}, not {expected}); reload it",
            found=found,
            expected=expected,
        )


def make_options(
    bench: Workbench, workspace_id: str, requests: list[EstimateRequest | PublishedFigure], currency: str
) -> list[ComparisonEntry]:
    def made(request: EstimateRequest) -> Estimate:
        return standing(make_estimate(bench, workspace_id, request), request, now())

    return estimated(requests, currency, made)


def compared(
    bench: Workbench,
    workspace_id: str,
    options: list[ComparisonEntry],
    kept: ComparisonHead,
    scaling_efficiency: float = 1.0,
    basis: BasisAsked = USUAL_BASIS,
) -> Comparison:
    """Return options side by side under an identifier, their costs on one basis."""
    comparison = compare(
        options,
        catalog=bench.sizing.catalog,
        scaling_efficiency=scaling_efficiency,
        title=kept.title,
        locale=kept.locale,
        currency=kept.currency,
    )
    priced = on_one_basis(comparison, options, bench.context(workspace_id), basis)
    return priced.model_copy(update={"id": kept.identifier})


def existing(repository: Repository, identifier: str) -> ComparisonRecord:
    record = repository.get(ComparisonRecord, identifier)
    if record is None:
        raise no_such("comparison", identifier)
    return record


def stored(repository: Repository, identifier: str) -> list[ComparisonEntry]:
    """Return the options of a comparison with the estimates that were made for them."""
    rows = repository.comparison_options(identifier)
    estimates = repository.named(EstimateRow, (row.estimate_id for row in rows if row.estimate_id))
    return [
        ComparisonEntry(
            ROW.validate_python(row.request),
            estimate_of(estimates[row.estimate_id]) if row.estimate_id else None,
        )
        for row in rows
    ]


def stored_options(options: list[ComparisonEntry]) -> list[tuple[dict[str, Any], str | None]]:
    return [
        (
            option.request.model_dump(mode="json", exclude_unset=True),
            option.estimate.id if option.estimate else None,
        )
        for option in options
    ]


def save_new_estimates(repository: Repository, options: list[ComparisonEntry]) -> None:
    for option in options:
        if option.estimate is not None and isinstance(option.request, EstimateRequest):
            save_estimate(repository, option.request, option.estimate)


def delete_comparison(
    bench: Workbench, workspace_id: str, identifier: str, expected: int | None = None
) -> None:
    delete(bench, workspace_id, ComparisonRecord, identifier, expected)
