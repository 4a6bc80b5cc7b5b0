"""Hold a proposal against what today's catalogue says."""

from __future__ import annotations

from typing import Any

from pydantic import TypeAdapter

from app.errors import AppError
from app.estimating.documents import Text
from app.estimating.request import EstimateRequest
from app.features.comparisons.compare import ComparisonEntry
from app.features.comparisons.model import PublishedFigure, RowRequest
from app.features.estimates.service import make_estimate
from app.features.proposals.content import build_content
from app.features.proposals.evidence import Named, named_evidence
from app.features.proposals.lines import changes_between
from app.features.proposals.model import ProposalContent, ProposalRequest, Refused, Replay
from app.features.proposals.service import existing
from app.platform.idempotency import IdempotentCall, Save, keep
from app.platform.store.repository import Repository
from app.platform.store.types import now
from app.platform.workbench import Workbench

ROW: TypeAdapter[EstimateRequest | PublishedFigure] = TypeAdapter(RowRequest)


def replay_proposal(
    bench: Workbench, workspace_id: str, identifier: str, key: str | None = None, *, note: bool = True
) -> Replay:
    """Return what today's catalogue would say otherwise; the proposal is left as it is.

    That it was replayed is written down as an event, unless somebody only looks at the page.
    """

    def make() -> tuple[Replay, Save]:
        answer = replayed(bench, workspace_id, identifier)

        def save(repository: Repository) -> None:
            detail = {"changes": len(answer.changes), "refused": len(answer.refused)}
            repository.of_proposal(identifier).add_event("replayed", answer.replayed_at, detail)

        return answer, save

    if not note:
        return replayed(bench, workspace_id, identifier)
    return keep(
        bench, workspace_id, IdempotentCall.of(f"proposals/{identifier}/replay", key, b""), Replay, make
    )


def replayed(bench: Workbench, workspace_id: str, identifier: str) -> Replay:
    """Return a proposal held against today's catalogue."""
    with bench.store.transaction(workspace_id) as repository:
        record = existing(repository, identifier)
    then = ProposalContent.model_validate(record.content)
    asked = ProposalRequest.model_validate(record.request)
    context = bench.context(workspace_id).priced(asked.price_book_id)
    options, refused = [], []
    for written in then.requests:
        try:
            options.append(made_today(bench, workspace_id, written))
        except AppError as error:
            refused.append(Refused(label=str(written["label"]), text=Text.of(error.message)))
    try:
        named = named_evidence(bench, workspace_id, asked)
    except AppError as error:
        named = Named()
        refused.append(Refused(label=error.errors[0].field, text=Text.of(error.message)))
    if options and not refused:
        now_content = build_content(
            asked.model_copy(update={"options": [row.label for row in then.comparison.rows]}),
            options,
            context,
            title=then.title,
            today=now().date(),
            logo=then.branding.logo,
            named=named,
        )
        compared, changes = changes_between(then, now_content)
        version = now_content
    else:
        compared, changes, version = 0, [], then
    return Replay(
        id=record.id,
        sha256=record.sha256,
        replayed_at=now(),
        engine_version={"then": then.engine_version, "now": version.engine_version},
        catalog_version={"then": then.catalog_version, "now": context.catalog.version},
        compared=compared,
        changes=changes,
        refused=refused,
    )


def made_today(bench: Workbench, workspace_id: str, written: dict[str, Any]) -> ComparisonEntry:
    """Return an option as it would be answered today."""
    request = ROW.validate_python(written)
    if isinstance(request, PublishedFigure):
        return ComparisonEntry(request)
    return ComparisonEntry(request, make_estimate(bench, workspace_id, request))
