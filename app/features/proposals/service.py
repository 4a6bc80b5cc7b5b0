"""Create, change, list, freeze and replay proposals."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from datetime import date, datetime, timedelta
from typing import Any, Literal

from pydantic import TypeAdapter

from app.errors import AppError, BadInput, Conflict, Unprocessable, VersionConflict
from app.estimating.context import SizingContext
from app.estimating.documents import Text
from app.estimating.money import ExchangeRate
from app.estimating.names import STORED
from app.estimating.request import AssumptionsInput, EstimateRequest, Limits, Locale
from app.estimating.schema import Quantity, filled
from app.estimating.version import engine_version
from app.features.bills.service import stored_inputs
from app.features.calibration.service import list_calibrations
from app.features.comparisons.model import KeptRow
from app.features.comparisons.service import (
    ComparisonQuestion,
    keep_comparison,
    make_options,
    question_of_comparison,
    request_of_state,
)
from app.features.networks.forms import choice_request
from app.features.networks.model import FabricChoiceRequest
from app.features.networks.pages import switched
from app.features.proposals.branding import read_logo
from app.features.proposals.content import build_content
from app.features.proposals.evidence import NamedAnswers, at_field, named_answers
from app.features.proposals.exchange import in_currency, rate_between
from app.features.proposals.lines import changes_between, content_hash
from app.features.proposals.model import (
    REQUIRED,
    ConvertedBudget,
    FreezeRecord,
    FreezeRefusal,
    Logo,
    LogoInput,
    Proposal,
    ProposalContent,
    ProposalEvent,
    ProposalEvents,
    ProposalPatch,
    ProposalRequest,
    ProposalSummary,
    Replay,
    ReplayChange,
    Review,
    Step,
)
from app.features.proposals.pdf import proposal_pdf
from app.features.proposals.public import without_identifiers
from app.features.proposals.texts import sections_of, supply_of, with_sections, without_hidden_texts
from app.features.studies.answering import State
from app.features.studies.frame import question_of
from app.features.studies.model import StudyContent, stated
from app.features.studies.options import PublishedFigure
from app.features.studies.side_by_side import OptionEntry
from app.features.studies.states import state_of
from app.platform import references
from app.platform.deleting import delete
from app.platform.idempotency import IdempotentCall, Save, keep
from app.platform.listing import Page, read_cursor, write_cursor
from app.platform.store.proposal_queries import ANSWERED, EXPIRED
from app.platform.store.queries import EVERYTHING, ListFilter, new_id, now
from app.platform.store.repository import Repository
from app.platform.store.tables import ProposalRecord, ProposalShare
from app.platform.store.trail import acting_author
from app.platform.workspace import Installation, Workspace
from app.telemetry import RENDERINGS

Standing = Literal["draft", "frozen", "expired"]

PDF, ASKED = "pdf", "requests"

MOST_LOOKED_AT = 20
"""Newest proposals that are searched for a sender."""

MOST_NOTED = 100
"""Most expired proposals that are recorded at a time."""

ROW: TypeAdapter[EstimateRequest | PublishedFigure] = TypeAdapter(KeptRow)


def create_proposal(
    workspace: Workspace, request: ProposalRequest, key: str | None = None, state: State | None = None
) -> Proposal:
    """Create a draft from a comparison, or from a study in a state."""

    def make() -> tuple[Proposal, Save]:
        check_day(request.valid_until)
        moment = now()
        resolved = with_comparison(workspace, request, state)
        logos = {name: read_logo_at(name, getattr(request.branding, name)) for name in LOGOS}
        content = compile_content(workspace, resolved, logos)
        # Last, so that a request that is refused takes no number.
        with workspace.transaction() as repository:
            number = repository.next_proposal_number(moment.year)
        columns = columns_of(resolved, content.model_copy(update={"number": number}))
        record = ProposalRecord(
            id=new_id("prp"),
            workspace_id=workspace.id,
            version=1,
            sha256=None,
            frozen_at=None,
            created_at=moment,
            updated_at=moment,
            number=number,
            author=acting_author(),
            **columns,
        )

        def save(repository: Repository) -> None:
            references.hold_named(repository, record.request)
            repository.add(record)
            detail = {"comparison": resolved.comparison_id}
            repository.of_proposal(record.id).add_event("created", moment, detail)

        return answered(record), save

    return keep(workspace, IdempotentCall.of("proposals", key, request), Proposal, make)


def columns_of(request: ProposalRequest, content: ProposalContent) -> dict[str, Any]:
    fields = request.model_dump(mode="json", exclude_unset=True)
    for name in LOGOS:
        fields.get("branding", {}).pop(name, None)
    return {
        "amount": amount_of(content),
        "currency": content.currency,
        "title": content.title[:300],
        "customer": content.customer[:300],
        "request": fields,
        "content": content.model_dump(mode="json"),
        "valid_until": None if content.valid_until is None else content.valid_until.isoformat(),
    }


def amount_of(content: ProposalContent) -> float | None:
    """Return the purchase price of the recommended option, or its outlay if it is rented."""
    label = content.advice.recommended
    bought = next((bill.total for bill in content.bills if bill.label == label and bill.groups), None)
    cost = bought or content.outlay_of(label)
    return None if cost is None else cost.value


def with_comparison(
    workspace: Workspace, request: ProposalRequest, state: State | None = None
) -> ProposalRequest:
    """Return a request with its comparison, and with what it leaves to that or to its study.

    The options of a study are stored as a comparison first.
    """
    if request.comparison_id is None and request.study_id is None:
        raise Unprocessable.at("comparison_id", "this field is required unless study_id is given")
    own, known = request.model_fields_set, dict[str, Any]()
    if request.study_id is not None:
        if request.comparison_id is not None:
            raise BadInput.at("study_id", "enter comparison_id or study_id, not both")
        with at_field("study_id"):
            state = state or state_of(workspace, request.study_id, {})
            locale: Locale = "en" if request.locale == "en" else "ko"
            asked = request_of_state(workspace, state, request.title, locale)
            known["comparison_id"] = keep_comparison(workspace, lambda: asked).id
        known |= taken_from(workspace, state)
    with at_field("comparison_id"):
        identifier = known.get("comparison_id") or request.comparison_id or ""
        comparison = question_of_comparison(workspace, identifier)
    limits = stated(comparison.content.limits)
    if "budget" in limits:
        known |= limits_of(limits, request, exchange(workspace, comparison, request))
    else:
        known |= limits
    # The calibration or network that a form leaves out is left out.
    chosen = {name for name in own if getattr(request, name) is not None or name in NAMED}
    missing = {name: value for name, value in known.items() if name not in chosen}
    return request.model_copy(update=missing)


NAMED = frozenset({"calibration_id", "fabric_choice"})
"""Answers that a request may name, or leave out by a null."""

NETWORK = "network"


def taken_from(workspace: Workspace, state: State) -> dict[str, Any]:
    """Return what a proposal takes from a study: its scaling, its bill, its runs and its network."""
    content = state.content
    known: dict[str, Any] = {
        "scaling_efficiency": content.base.scaling_efficiency,
        "bill": stored_inputs(content.views),
    }
    if runs := runs_of(workspace, state):
        known["calibration_id"] = runs[0]
    if NETWORK in content.views and (key := next(iter(with_networks(workspace, content)), None)):
        known["fabric_choice"] = network_choice(workspace, state, key)
    return known


def runs_of(workspace: Workspace, state: State) -> list[str]:
    """Return the measured runs of a study: those its software is fitted to, then the newest kept with it."""
    content = state.content
    software = [content.base.software, *(option.software for option in content.options)]
    fitted = [name for name in software if name is not None and name.startswith("cal_")]
    kept = list_calibrations(workspace, MOST_LOOKED_AT, None, state.study.id).items
    return list(dict.fromkeys([*fitted, *(run.id for run in kept)]))


def with_networks(workspace: Workspace, content: StudyContent) -> list[str]:
    """Return the options with a purchased network, of which networks can be compared."""
    return [option.key for option in content.options if switched(workspace, option)]


def network_choice(workspace: Workspace, state: State, key: str) -> FabricChoiceRequest:
    return choice_request(question_of(workspace, state, key))


def exchange(
    workspace: Workspace, comparison: ComparisonQuestion, request: ProposalRequest
) -> ConvertedBudget:
    """Return the budget of a comparison in the currency of a proposal, on the date of its prices.

    The first assumptions of its options name that date.
    """
    requests = (option.request for option in comparison.options)
    assumed = (row.assumptions for row in requests if isinstance(row, EstimateRequest))
    prices = next((assumptions for assumptions in assumed if stated(assumptions)), AssumptionsInput())
    context = workspace.context().priced(request.price_book_id)
    currency, budget = comparison.currency, comparison.content.limits.budget
    assert budget is not None, "there is a budget to convert"
    rate = rate_between(currency, request.currency, prices, context)
    foreign = request.currency if request.currency != "USD" else currency
    return ConvertedBudget(
        stated=Quantity.exact(budget, currency),
        rate=rate,
        as_of=ExchangeRate.of(context.at_prices(prices).catalog, foreign).as_of,
    )


def limits_of(limits: dict[str, Any], request: ProposalRequest, converted: ConvertedBudget) -> dict[str, Any]:
    """Return the limits of a comparison in the currency of a proposal."""
    if request.budget is not None:
        # Whoever states a budget says what it pays for.
        limits.pop("budget_kind", None)
    else:
        limits["budget"] *= converted.rate
    return limits


def in_new_currency(
    request: ProposalRequest, before: ProposalContent, context: SizingContext
) -> ProposalRequest:
    """Return a changed request whose budget, unless it is new, is converted with the currency."""
    known = before.advice.budget
    if request.currency == before.currency or request.budget is None or known is None:
        return request
    # A form sends every field, the budget as it is written.
    if not math.isclose(request.budget, known, rel_tol=1e-9):
        return request
    rate = rate_between(before.currency, request.currency, AssumptionsInput(), context)
    return request.model_copy(update={"budget": request.budget * rate})


LOGOS = ("logo", "customer_logo")

Logos = Mapping[str, Logo | None]


def read_logo_at(name: str, logo: LogoInput | None) -> Logo | None:
    if logo is None or name == "logo":
        return None if logo is None else read_logo(logo)
    with at_field(f"branding.{name}"):
        return read_logo(logo)


def check_day(day: date | None) -> None:
    if day is not None and day < now().date():
        raise BadInput.at(
            "valid_until", "{day} is in the past; enter today's date or a later one", day=day.isoformat()
        )


def compile_content(
    workspace: Workspace, request: ProposalRequest, logos: Logos, number: str | None = None
) -> ProposalContent:
    """Return the content of a proposal from the stored rows of its comparison."""
    assert request.comparison_id is not None, "a study was made into a comparison before"
    with at_field("comparison_id"):
        comparison = question_of_comparison(workspace, request.comparison_id)
    options, budget = comparison.options, comparison.content.limits.budget
    context = workspace.context().priced(request.price_book_id)
    converted = None
    if request.budget is not None and budget is not None and request.currency != comparison.currency:
        converted = exchange(workspace, comparison, request)
        same = math.isclose(converted.stated.value * converted.rate, request.budget, rel_tol=1e-6)
        converted = converted if same else None
    if request.currency != comparison.currency or request.price_book_id is not None:
        requests = [
            row
            if isinstance(row := option.request, PublishedFigure)
            else in_currency(at_prices_of(request.price_book_id, row), request.currency, context)
            for option in options
        ]
        options = make_options(workspace, requests, request.currency)
    return build_content(
        request,
        options,
        context,
        title=comparison.content.name,
        today=now().date(),
        **logos,
        number=number,
        answers=named_answers(workspace, request),
        converted=converted,
    )


VALIDITY = timedelta(days=30)
"""Default validity of a proposal."""


def default_end() -> date:
    return now().date() + VALIDITY


def latest_sender(workspace: Workspace) -> dict[str, str]:
    """Return the sender of the newest proposal of a workspace that names one, by form field."""
    with workspace.transaction() as repository:
        rows = repository.page(ProposalRecord, MOST_LOOKED_AT, None).rows
        records = (repository.get(ProposalRecord, row.id) for row in rows)
        senders = (record.request.get("sender") for record in records if record is not None)
        sender: dict[str, str] = next((s for s in senders if s and s.get("organization")), {})
    return {f"sender.{name}": value for name, value in sender.items() if value}


def at_prices_of(book: str | None, request: EstimateRequest) -> EstimateRequest:
    """Return the request of an option, priced by a price book if one is named."""
    if book is None:
        return request
    assumptions = request.assumptions.model_copy(update={"price_book_id": book})
    return request.model_copy(update={"assumptions": assumptions})


def get_proposal(workspace: Workspace, identifier: str) -> Proposal:
    with workspace.transaction() as repository:
        record = existing(repository, identifier)
        return answered(record, repository.of_proposal(identifier).share(now()))


def answered(record: ProposalRecord, share: ProposalShare | None = None) -> Proposal:
    review = review_of(record)
    link = share and {**dict(share), "passphrase": share.passphrase_hash is not None}
    base = {name: record.request.get(name) for name in ("comparison_id", "study_id")}
    standing = {"status": status_of(record), "review": review, "steps": list(STEPS.get(review, ()))}
    return Proposal.model_validate({**dict(record), **base, **standing, "share": link})


def status_of(record: ProposalRecord) -> Standing:
    """Return the state of a proposal today; it expires after its last day, whether frozen or not."""
    if record.valid_until is not None and date.fromisoformat(record.valid_until) < now().date():
        return "expired"
    return "draft" if record.frozen_at is None else "frozen"


STEPS: Mapping[Review, Mapping[Step, Review]] = {
    "draft": {"submit": "in_review", "approve": "approved"},
    "in_review": {"return": "draft", "approve": "approved"},
    "approved": {"send": "sent"},
    "sent": {"send": "sent", "accept": "accepted", "decline": "declined"},
}
"""State of review → the steps allowed in it, and the state each leads to."""


def review_of(record: ProposalRecord) -> Review:
    """Return the state of review today; it expires after the last day unless the customer has answered."""
    review: Review = record.review  # type: ignore[assignment]
    return "expired" if status_of(record) == "expired" and review not in ANSWERED else review


def list_proposals(
    workspace: Workspace,
    limit: int,
    cursor: str | None,
    status: Standing | None = None,
    review: Review | None = None,
    study: str | None = None,
    wanted: ListFilter = EVERYTHING,
) -> Page[ProposalSummary]:
    """Return proposals, newest first, optionally only those with a status or a state of review today."""
    with workspace.transaction() as repository:
        today = now().date().isoformat()
        listing = repository.proposals(limit, read_cursor(cursor), status, today, review, study, wanted)
    items = [
        filled(ProposalSummary, row, name=row.title, status=status_of(row), review=review_of(row))
        for row in listing.rows
    ]
    return Page(items=items, next=write_cursor(listing.next))


def change_proposal(
    workspace: Workspace, identifier: str, patch: ProposalPatch, version: int | None = None
) -> Proposal:
    """Change a draft; its figures are computed again from the comparison."""
    with workspace.transaction() as repository:
        record = existing(repository, identifier)
    check_draft(record)
    if version is not None and version != record.version:
        raise VersionConflict.since(version, record.version)
    if not patch.model_fields_set:
        return get_proposal(workspace, identifier)
    check_day(patch.valid_until)
    before = ProposalContent.read(record.content)
    request = in_new_currency(patched(record.request, patch), before, workspace.context())
    if patch.study_id is not None or patch.comparison_id is not None:
        request = with_comparison(workspace, request)
    if patch.model_fields_set == {"sections"} and before.sections:
        # Words alone: the figures stay as they were compiled.
        sections = sections_of(request.sections, before.locale, request.reason, supply_of(before))
        content = with_sections(before, sections)
        compiled_from = {}
    else:
        compiled_from = request.model_dump(include={"comparison_id", "price_book_id"})
        logos = {name: logo_after(patch, name, getattr(before.branding, name)) for name in LOGOS}
        content = compile_content(workspace, request, logos, record.number)
    moment = now()
    # Reviewers have not seen the new content.
    values = {
        **columns_of(request, content),
        "version": record.version + 1,
        "author": acting_author(),
        "review": "draft",
    }
    with workspace.transaction() as repository:
        references.hold_named(repository, compiled_from)
        queries = repository.of_proposal(identifier)
        if not queries.change(record.version, values):
            overtaker = existing(repository, identifier)
            check_draft(overtaker)
            raise VersionConflict.since(record.version, overtaker.version)
        queries.add_event("changed", moment, {"fields": sorted(patch.model_fields_set)})
    return get_proposal(workspace, identifier)


OF_STUDY = frozenset(
    {"comparison_id", "study_id", "bill", "scaling_efficiency", *NAMED, *Limits.model_fields}
)
"""Fields that a proposal takes from its study."""


def patched(request: Mapping[str, Any], patch: ProposalPatch) -> ProposalRequest:
    stated = patch.model_dump(mode="json", exclude_unset=True)
    changes = {name: value for name, value in stated.items() if value is not None or name not in REQUIRED}
    branding = {**request.get("branding", {}), **(changes.pop("branding", None) or {})}
    for name in LOGOS:
        branding.pop(name, None)
    sections = changes.pop("sections", None)
    if sections is None:
        # A new reason replaces the text of its section.
        left_out = {"text"} if "reason" in stated else set()
        sections = [
            {
                key: value
                for key, value in section.items()
                if section["id"] != "reasons" or key not in left_out
            }
            for section in request.get("sections", [])
        ]
    # A newly named study or comparison replaces the previous source.
    base: dict[str, Any] = {**request}
    if changes.get("study_id") is not None or changes.get("comparison_id") is not None:
        base = {name: value for name, value in base.items() if name not in OF_STUDY}
    return ProposalRequest.model_validate({**base, **changes, "branding": branding, "sections": sections})


def logo_after(patch: ProposalPatch, name: str, before: Logo | None) -> Logo | None:
    """Return a logo after a patch: the new one, None if it is removed, else the previous one."""
    branding = patch.branding
    if branding is None or name not in branding.model_fields_set:
        return before
    return read_logo_at(name, getattr(branding, name))


def check_draft(record: ProposalRecord) -> None:
    if record.frozen_at is not None:
        raise Conflict.at(
            "status",
            "the proposal was frozen on {day} and cannot be changed; create a new one from its comparison",
            day=record.frozen_at.date().isoformat(),
        )


def list_events(workspace: Workspace, identifier: str) -> ProposalEvents:
    with workspace.transaction() as repository:
        existing(repository, identifier)
        rows = repository.of_proposal(identifier).events()
    items = [ProposalEvent.model_validate({**dict(row), "by": row.detail.get("by")}) for row in rows]
    return ProposalEvents(items=items)


def existing(repository: Repository, identifier: str) -> ProposalRecord:
    return references.existing(repository, ProposalRecord, identifier, "proposal")


def freeze_proposal(workspace: Workspace, identifier: str, note: str | None = None) -> FreezeRecord:
    """Freeze a draft: hash its content, render its PDF, and keep both for good.

    Freezing a frozen proposal returns the same answer.
    """
    with workspace.transaction() as repository:
        record = existing(repository, identifier)
        second = repository.asks_second_approval()
    if record.frozen_at is None:
        if second and record.author == acting_author():
            raise Conflict.at(
                "step", "this workspace asks for approval by another person or key than the author's"
            )
        if status_of(record) == "expired":
            raise Conflict.at(
                "valid_until", "the validity date of the proposal has passed; set a new one first"
            )
        moment = now().replace(microsecond=0)
        draft = answered(record)
        # Whoever has the link or the PDF can read the whole content.
        said = without_hidden_texts(draft.content).model_dump(mode="json")
        stored = without_identifiers(said)
        content = ProposalContent.read(stored, frozen=True)
        sha256 = content_hash(stored)
        frozen = {"status": "frozen", "sha256": sha256, "frozen_at": moment, "content": content}
        pdf = proposal_pdf(draft.model_copy(update=frozen))
        RENDERINGS.labels("pdf").inc()
        values = {
            "sha256": sha256,
            "frozen_at": moment,
            "review": "approved",
            "content": stored,
            # A replay asks for what the customer does not see.
            "request": {**record.request, ASKED: said["requests"]},
        }
        with workspace.transaction() as repository:
            queries = repository.of_proposal(identifier)
            if queries.change(record.version, values):
                queries.add_artifact(PDF, hashlib.sha256(pdf).hexdigest(), pdf)
                queries.add_event("frozen", now(), {"sha256": sha256, **({"note": note} if note else {})})
            elif existing(repository, identifier).frozen_at is None:
                raise VersionConflict.since(record.version, existing(repository, identifier).version)
        with workspace.transaction() as repository:
            record = existing(repository, identifier)
    return FreezeRecord.model_validate({**dict(record), "status": status_of(record)})


def pdf_of(workspace: Workspace, proposal: Proposal) -> bytes:
    """Return the PDF of a proposal: the one kept when it was frozen, or a rendering of the draft."""
    with workspace.transaction() as repository:
        stored_pdf = repository.of_proposal(proposal.id).artifact(PDF)
    return proposal_pdf(proposal) if stored_pdf is None else stored_pdf


def note_expired(installation: Installation, moment: datetime) -> int:
    """Record that the last day of frozen proposals is over; return how many were recorded."""
    noted = 0
    for row in installation.store.ended_proposals(moment.date(), MOST_NOTED):
        with installation.workspace(row.workspace_id).transaction() as repository:
            queries = repository.of_proposal(row.proposal_id)
            queries.hold()
            # Another server may have recorded it already.
            if all(event.kind != EXPIRED for event in queries.events()):
                record = existing(repository, row.proposal_id)
                queries.add_event(EXPIRED, moment, {"valid_until": record.valid_until})
                noted += 1
    return noted


def replay_proposal(
    workspace: Workspace, identifier: str, key: str | None = None, *, note: bool = True
) -> Replay:
    """Return what differs with today's catalogue; the proposal is unchanged.

    The replay is recorded as an event if ``note`` is set.
    """

    def make() -> tuple[Replay, Save]:
        answer = make_replay(workspace, identifier)

        def save(repository: Repository) -> None:
            detail = {"changes": len(answer.changes), "refused": len(answer.refused)}
            repository.of_proposal(identifier).add_event("replayed", answer.replayed_at, detail)

        return answer, save

    if not note:
        return make_replay(workspace, identifier)
    call = IdempotentCall.of(f"proposals/{identifier}/replay", key, b"")
    return keep(workspace, call, Replay, make)


def make_replay(workspace: Workspace, identifier: str) -> Replay:
    with workspace.transaction() as repository:
        record = existing(repository, identifier)
    then = ProposalContent.read(record.content)
    # A request of an earlier version may hold fields that are gone.
    request = ProposalRequest.model_validate(record.request, extra="ignore", context=STORED)
    context = workspace.context().priced(request.price_book_id)
    options: list[OptionEntry] = []
    refused: list[FreezeRefusal] = []
    for entry in record.request.get(ASKED, then.requests):
        try:
            row = ROW.validate_python(entry, extra="ignore")
            options += make_options(workspace, [row], then.currency)
        except AppError as error:
            refused.append(FreezeRefusal(label=str(entry["label"]), text=Text.of(error.message)))
    answers = NamedAnswers()
    try:
        answers = named_answers(workspace, request)
    except AppError as error:
        refused.append(FreezeRefusal(label=error.errors[0].field, text=Text.of(error.message)))
    compared, changes = 0, list[ReplayChange]()
    if options and not refused:
        today = build_content(
            request.model_copy(update={"options": [row.label for row in then.comparison.rows]}),
            options,
            context,
            title=then.title,
            today=now().date(),
            logo=then.branding.logo,
            customer_logo=then.branding.customer_logo,
            number=then.number,
            answers=answers,
            converted=then.converted,
        )
        stored_today = without_identifiers(today.model_dump(mode="json"))
        compared, changes = changes_between(then, ProposalContent.read(stored_today))
    return Replay(
        id=record.id,
        sha256=record.sha256,
        replayed_at=now(),
        engine_version={"then": then.engine_version, "now": engine_version(context.catalog.version)},
        catalog_version={"then": then.catalog_version, "now": context.catalog.version},
        compared=compared,
        changes=changes,
        refused=refused,
    )


def delete_proposal(workspace: Workspace, identifier: str, expected: int | None = None) -> None:
    delete(workspace, ProposalRecord, identifier, expected)
