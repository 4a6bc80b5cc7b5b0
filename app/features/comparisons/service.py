"""Create, change and read comparisons."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from app.errors import NotFound, VersionConflict, fields_at
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
    StoredEstimate,
)
from app.features.estimates.document import with_request
from app.features.estimates.service import (
    estimate_of,
    get_estimate,
    get_estimate_request,
    save_estimate,
)
from app.features.studies.answering import State
from app.features.studies.common_basis import USUAL_BASIS, BasisRequest
from app.features.studies.knobs import labels_of
from app.features.studies.model import StudyContent, free_keys, stated, tree_of
from app.features.studies.options import PublishedFigure
from app.features.studies.service import NAME_LENGTH, estimate_option, estimates_of
from app.features.studies.side_by_side import OptionEntry
from app.features.studies.states import state_of
from app.platform.deleting import delete
from app.platform.idempotency import IdempotentCall, Save, keep
from app.platform.listing import Page, read_cursor, write_cursor
from app.platform.references import no_such
from app.platform.store.document_queries import StudyFilter
from app.platform.store.queries import EVERYTHING, ListFilter, new_id, now
from app.platform.store.repository import Repository
from app.platform.store.tables import EstimateRow, StudyRecord
from app.platform.workspace import Workspace


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
        content = study_of(options, request.title, request.locale, request.currency, request.limits)
        question = ComparisonQuestion(new_id("cmp"), 1, content, options)

        def save(repository: Repository) -> None:
            save_new_estimates(repository, options)
            repository.comparisons.add(question.id, now(), tree_of(content), estimates=question.estimates)

        return compared(workspace, question), save

    return keep(workspace, once, Comparison, make)


def get_comparison(
    workspace: Workspace, identifier: str, scaling_efficiency: float = 1.0, basis: BasisRequest = USUAL_BASIS
) -> ComparisonVersion:
    """Return a comparison, recomputed for a scaling efficiency and a basis of costs."""
    question = question_of_comparison(workspace, identifier)
    return ComparisonVersion(compared(workspace, question, scaling_efficiency, basis), question.version)


@dataclass(frozen=True, slots=True)
class ComparisonQuestion:
    """A comparison as it is stored: a study whose estimates are kept with it."""

    id: str
    version: int
    content: StudyContent
    options: Sequence[OptionEntry]
    """The options of the study in their order, labelled as stated."""

    @property
    def locale(self) -> str:
        return self.content.views.get(PROPOSAL_VIEW, {}).get("locale", "en")

    @property
    def currency(self) -> str:
        return self.content.base.currency

    @property
    def estimates(self) -> dict[str, str]:
        """Key of an option → identifier of its estimate."""
        pairs = zip(self.content.options, self.options, strict=True)
        return {option.key: entry.estimate.id for option, entry in pairs if entry.estimate is not None}


PROPOSAL_VIEW = "proposal"
"""View of a study whose fields hold the language of the customer."""


def question_of_comparison(workspace: Workspace, identifier: str) -> ComparisonQuestion:
    with workspace.transaction() as repository:
        found = repository.comparisons.newest([identifier]).get(identifier)
        if found is None:
            raise no_such("comparison", identifier)
        record, version = found
        estimates = repository.named(EstimateRow, version.estimates.values())
    content = StudyContent.model_validate(version.content, context=STORED)
    labels = {option.key: option.label for option in content.options}
    options: list[OptionEntry] = []
    for option in content.options:
        if option.figure is not None:
            stated_fields = {**stated(option.figure), "label": option.label}
            if option.figure.scaled_from is not None:
                stated_fields["scaled_from"] = labels[option.figure.scaled_from]
            options.append(OptionEntry(PublishedFigure.model_validate(stated_fields)))
            continue
        row = estimates[version.estimates[option.key]]
        request = EstimateRequest.model_validate(row.request, context=STORED)
        options.append(OptionEntry(request, estimate_of(row)))
    return ComparisonQuestion(record.id, record.version, content, options)


def study_of(
    options: Sequence[OptionEntry],
    title: str | None,
    locale: str = "en",
    currency: str = "USD",
    limits: Limits | None = None,
) -> StudyContent:
    """Return the study that asks about options; fields that all estimates share are its base."""
    rows = dict(zip(row_labels(options), (option.request for option in options), strict=True))
    estimates = [request for request in rows.values() if isinstance(request, EstimateRequest)]
    workload, assumptions = (
        shared([getattr(request, part) for request in estimates]) for part in ("workload", "assumptions")
    )
    model = stated(estimates[0].model) if estimates else {}
    software = {request.software for request in estimates}
    base: dict[str, Any] = {"model": model, "workload": workload, "assumptions": assumptions}
    base["currency"] = currency
    if len(software) == 1:
        base["software"] = software.pop()
    keys = dict(zip(rows, free_keys(set()), strict=False))
    asked = []
    for position, (label, request) in enumerate(rows.items()):
        option: dict[str, Any] = {"key": keys[label], "label": label[:NAME_LENGTH]}
        if isinstance(request, PublishedFigure):
            figure = {name: value for name, value in stated(request).items() if name != "label"}
            if request.scaled_from is not None:
                if request.scaled_from not in keys:
                    field = in_row(position, "scaled_from")
                    raise NotFound.named("row", request.scaled_from, keys, field)
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
    content = {"name": title or " · ".join(rows)[:NAME_LENGTH], "base": base, "options": asked}
    content["limits"] = {} if limits is None else limits.model_dump(exclude_none=True)
    content["views"] = {} if locale == "en" else {PROPOSAL_VIEW: {"locale": locale}}
    return StudyContent.model_validate(content, context=STORED)


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
    before = question_of_comparison(workspace, identifier)
    check_version(version, before.version)
    check_labels(patch.rows or ())
    currency, options = patch.currency or before.currency, before.options
    recomputed = patch.rows is not None or currency != before.currency
    if recomputed:
        rows = patch.rows if patch.rows is not None else [option.request for option in options]
        options = make_options(workspace, rows, currency)
    title = before.content.name if patch.title is None else patch.title
    limits = patch.limits or before.content.limits
    content = study_of(options, title, patch.locale or before.locale, currency, limits)
    after = ComparisonQuestion(identifier, before.version + 1, content, options)
    answer = compared(workspace, after)
    with workspace.transaction() as repository:
        tree = tree_of(content)
        if not repository.comparisons.add_next(identifier, before.version, tree, [], after.estimates):
            check_version(before.version, existing(repository, identifier).version)
        repository.comparisons.forget_before(identifier, after.version)
        if recomputed:
            save_new_estimates(repository, options)
    return ComparisonVersion(answer, after.version)


def list_comparisons(
    workspace: Workspace, limit: int, cursor: str | None, wanted: ListFilter = EVERYTHING
) -> Page[ComparisonSummary]:
    with workspace.transaction() as repository:
        rows, following = repository.comparisons.listing(StudyFilter(), limit, read_cursor(cursor), wanted)
        contents = repository.comparisons.newest(row.id for row in rows)
    items = [
        filled(ComparisonSummary, row, title=row.name, labels=[option["label"] for option in options])
        for row in rows
        # Leave out what was deleted between the two queries.
        if row.id in contents
        for options in [contents[row.id][1].content["options"]]
    ]
    return Page(items=items, next=write_cursor(following))


def check_version(expected: int | None, current: int) -> None:
    """Raise an error for an edit based on another version than the current one."""
    if expected is not None and expected != current:
        raise VersionConflict.since(expected, current)


def at_estimate(position: int, _: str) -> str:
    return in_row(position, "estimate_id")


def make_options(
    workspace: Workspace, rows: Sequence[EstimateRequest | PublishedFigure | StoredEstimate], currency: str
) -> list[OptionEntry]:
    def make(request: EstimateRequest) -> Estimate:
        # As a study asks it, whose options are labelled beside their estimates.
        asked = request.model_dump(exclude_unset=True, exclude={"label"})
        answer = estimate_option(workspace, EstimateRequest.model_validate(asked, context=STORED))
        named = {"id": new_id("est"), "name": request.label or answer.name}
        return with_request(answer.model_copy(update=named), request, now())

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
    question: ComparisonQuestion,
    scaling_efficiency: float = 1.0,
    basis: BasisRequest = USUAL_BASIS,
) -> Comparison:
    """Return options side by side, with their costs on one basis."""
    side = side_by_side(question.options, workspace.context(), question.currency, scaling_efficiency, basis)
    decision = question_of(side, question.content.limits)
    named = {"identifier": question.id, "title": question.content.name, "locale": question.locale}
    return comparison_of(side, decision, **named)


def existing(repository: Repository, identifier: str) -> StudyRecord:
    record = repository.comparisons.find(identifier)
    if record is None:
        raise no_such("comparison", identifier)
    return record


def save_new_estimates(repository: Repository, options: Sequence[OptionEntry]) -> None:
    for option in options:
        if option.estimate is not None and isinstance(option.request, EstimateRequest):
            save_estimate(repository, option.request, option.estimate)


def delete_comparison(workspace: Workspace, identifier: str, expected: int | None = None) -> None:
    with workspace.transaction() as repository:
        existing(repository, identifier)
    delete(workspace, StudyRecord, identifier, expected)
