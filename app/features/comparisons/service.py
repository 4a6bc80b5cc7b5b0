"""Create, change and read comparisons."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from pydantic import TypeAdapter

from app.errors import VersionConflict, fields_at
from app.estimating.documents import Estimate
from app.estimating.names import STORED
from app.estimating.request import EstimateRequest, Limits, Locale, Schema
from app.estimating.schema import filled
from app.features.comparisons.compare import (
    check_labels,
    comparison_of,
    estimated,
    in_row,
    question_of,
    row_labels,
    side_by_side,
)
from app.features.comparisons.model import (
    Comparison,
    ComparisonOfState,
    ComparisonPatch,
    ComparisonRequest,
    ComparisonSummary,
    KeptRow,
    StoredEstimate,
)
from app.features.estimates.document import with_request
from app.features.estimates.service import (
    estimate_of,
    get_estimate,
    get_estimate_request,
    make_estimate,
    save_estimate,
)
from app.features.studies.answering import State
from app.features.studies.common_basis import USUAL_BASIS, BasisRequest
from app.features.studies.knobs import labels_of
from app.features.studies.model import StudyContent, free_keys, stated
from app.features.studies.options import PublishedFigure
from app.features.studies.service import NAME_LENGTH, estimates_of
from app.features.studies.side_by_side import OptionEntry
from app.features.studies.states import state_of
from app.platform import references
from app.platform.deleting import delete
from app.platform.idempotency import IdempotentCall, Save, keep
from app.platform.listing import Page, read_cursor, write_cursor
from app.platform.store.queries import EVERYTHING, ListFilter, new_id, now
from app.platform.store.repository import Repository
from app.platform.store.tables import ComparisonRecord, EstimateRow
from app.platform.workspace import Workspace

ROW: TypeAdapter[EstimateRequest | PublishedFigure] = TypeAdapter(KeptRow)


@dataclass(frozen=True, slots=True)
class ComparisonVersion:
    comparison: Comparison
    version: int


def create_comparison(workspace: Workspace, request: ComparisonRequest, key: str | None = None) -> Comparison:
    call = IdempotentCall.of("comparisons", key, request)
    return keep_comparison(workspace, lambda: request, call)


def keep_comparison(
    workspace: Workspace, asked: Callable[[], ComparisonRequest], once: IdempotentCall | None = None
) -> Comparison:
    """Compare options and store the comparison, once per idempotent call."""

    def make() -> tuple[Comparison, Save]:
        request = asked()
        check_labels(request.rows)
        options = make_options(workspace, request.rows, request.currency)
        record = ComparisonRecord(
            id=new_id("cmp"),
            workspace_id=workspace.id,
            title=request.title or "",
            locale=request.locale,
            currency=request.currency,
            limits=(request.limits or Limits()).model_dump(mode="json", exclude_none=True),
            version=1,
        )
        answer = compared(workspace, options, record)
        record.title = answer.title

        def save(repository: Repository) -> None:
            save_new_estimates(repository, options)
            repository.add_comparison(record, stored_options(options))

        return answer, save

    return keep(workspace, once, Comparison, make)


def get_comparison(
    workspace: Workspace, identifier: str, scaling_efficiency: float = 1.0, basis: BasisRequest = USUAL_BASIS
) -> ComparisonVersion:
    """Return a comparison, recomputed for a scaling efficiency and a basis of costs."""
    with workspace.transaction() as repository:
        record = existing(repository, identifier)
        options = stored(repository, identifier)
    return ComparisonVersion(compared(workspace, options, record, scaling_efficiency, basis), record.version)


def version_of(workspace: Workspace, identifier: str) -> int:
    with workspace.transaction() as repository:
        return existing(repository, identifier).version


def labels_in(workspace: Workspace, identifier: str) -> list[str]:
    with workspace.transaction() as repository:
        return row_labels(stored(repository, identifier))


def study_of_comparison(workspace: Workspace, identifier: str) -> StudyContent:
    """Return the study that asks what a comparison asks; fields that all estimates share are its base."""
    with workspace.transaction() as repository:
        record = existing(repository, identifier)
        options = stored(repository, identifier)
    rows = dict(zip(row_labels(options), (option.request for option in options), strict=True))
    estimates = [request for request in rows.values() if isinstance(request, EstimateRequest)]
    workload, assumptions = (
        shared([getattr(request, part) for request in estimates]) for part in ("workload", "assumptions")
    )
    model = stated(estimates[0].model) if estimates else {}
    software = {request.software for request in estimates}
    base: dict[str, Any] = {"model": model, "workload": workload, "assumptions": assumptions}
    base["currency"] = record.currency
    if len(software) == 1:
        base["software"] = software.pop()
    keys = dict(zip(rows, free_keys(set()), strict=False))
    asked = []
    for label, request in rows.items():
        option: dict[str, Any] = {"key": keys[label], "label": label}
        if isinstance(request, PublishedFigure):
            figure = {name: value for name, value in stated(request).items() if name != "label"}
            if request.scaled_from is not None:
                figure["scaled_from"] = keys[request.scaled_from]
            asked.append({**option, "figure": figure})
            continue
        option |= {"system": stated(request.system), "plan": stated(request.plan)}
        option["workload"] = without(request.workload, workload)
        option["assumptions"] = without(request.assumptions, assumptions)
        if stated(request.model) != model:
            option["model"] = stated(request.model)
        if "software" not in base and request.software:
            option["software"] = request.software
        asked.append(option)
    content = {"name": record.title[:NAME_LENGTH], "base": base, "options": asked, "limits": record.limits}
    return StudyContent.model_validate(content)


def shared(parts: Iterable[Schema]) -> dict[str, Any]:
    """Return the fields that are equal in all parts of requests."""
    first, *others = [stated(part) for part in parts] or [{}]
    return {name: value for name, value in first.items() if all(other.get(name) == value for other in others)}


def without(part: Schema, known: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in stated(part).items() if name not in known}


def comparison_of_state(
    workspace: Workspace, identifier: str, request: ComparisonOfState, key: str | None = None
) -> Comparison:
    """Store a state of a study as a comparison, with its limits."""

    def asked() -> ComparisonRequest:
        state = state_of(workspace, identifier, request.knobs, request.version)
        return request_of_state(workspace, state, request.title, request.locale)

    # A repeated request gets the same answer, even if the study has changed since.
    call = IdempotentCall.of(f"studies/{identifier}/comparison", key, request)
    return keep_comparison(workspace, asked, call)


def request_of_state(
    workspace: Workspace, state: State, title: str | None, locale: Locale
) -> ComparisonRequest:
    content = state.content
    requests, _ = estimates_of(workspace, content, state.variant.knobs)
    labels = labels_of(content, workspace.sizing.catalog)
    rows: list[EstimateRequest | PublishedFigure | StoredEstimate] = []
    for name, row in requests.items():
        change: dict[str, object] = {"label": labels[name]}
        if isinstance(row, PublishedFigure) and row.scaled_from is not None:
            change["scaled_from"] = labels[row.scaled_from]
        rows.append(row.model_copy(update=change))
    return ComparisonRequest(
        title=title or content.name,
        locale=locale,
        currency=content.base.currency,
        limits=content.limits,
        rows=rows,
    )


def change_comparison(
    workspace: Workspace, identifier: str, patch: ComparisonPatch, version: int | None = None
) -> ComparisonVersion:
    """Change a comparison; with a version, only if nobody else has changed it since.

    Estimates are recomputed if the rows or the currency change.
    """
    with workspace.transaction() as repository:
        record = existing(repository, identifier)
        options = stored(repository, identifier)
    check_version(version, record.version)
    check_labels(patch.rows or ())
    values = patch.model_dump(mode="json", include={"title", "locale", "currency"}, exclude_none=True)
    if patch.limits is not None:
        values["limits"] = patch.limits.model_dump(mode="json", exclude_none=True)
    recomputed = patch.rows is not None or values.get("currency", record.currency) != record.currency
    values |= {"version": record.version + 1, "updated_at": now()}
    changed = ComparisonRecord(**{**dict(record), **values})
    if recomputed:
        requests = patch.rows if patch.rows is not None else [option.request for option in options]
        options = make_options(workspace, requests, changed.currency)
    after = compared(workspace, options, changed)
    with workspace.transaction() as repository:
        if not repository.change_comparison(identifier, record.version, values):
            check_version(record.version, existing(repository, identifier).version)
        if recomputed:
            save_new_estimates(repository, options)
            repository.replace_options(identifier, stored_options(options))
    return ComparisonVersion(after, changed.version)


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
) -> list[OptionEntry]:
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
    options: Sequence[OptionEntry],
    record: ComparisonRecord,
    scaling_efficiency: float = 1.0,
    basis: BasisRequest = USUAL_BASIS,
) -> Comparison:
    """Return options side by side, with their costs on one basis."""
    side = side_by_side(options, workspace.context(), record.currency, scaling_efficiency, basis)
    question = question_of(side, Limits.model_validate(record.limits))
    return comparison_of(side, question, identifier=record.id, title=record.title, locale=record.locale)


def existing(repository: Repository, identifier: str) -> ComparisonRecord:
    return references.existing(repository, ComparisonRecord, identifier, "comparison")


def stored(repository: Repository, identifier: str) -> list[OptionEntry]:
    """Return the options of a comparison with their estimates."""
    rows = repository.comparison_options(identifier)
    if not rows:
        # It has been deleted since it was looked up: none is without options.
        existing(repository, identifier)
    estimates = repository.named(EstimateRow, (row.estimate_id for row in rows if row.estimate_id))
    return [
        OptionEntry(
            ROW.validate_python(row.request, context=STORED),
            estimate_of(estimates[row.estimate_id]) if row.estimate_id else None,
        )
        for row in rows
    ]


def stored_options(options: Sequence[OptionEntry]) -> list[tuple[dict[str, Any], str | None]]:
    return [
        (
            option.request.model_dump(mode="json", exclude_unset=True),
            option.estimate.id if option.estimate else None,
        )
        for option in options
    ]


def save_new_estimates(repository: Repository, options: Sequence[OptionEntry]) -> None:
    for option in options:
        if option.estimate is not None and isinstance(option.request, EstimateRequest):
            save_estimate(repository, option.request, option.estimate)


def delete_comparison(workspace: Workspace, identifier: str, expected: int | None = None) -> None:
    delete(workspace, ComparisonRecord, identifier, expected)
