"""Views of the proposal pages; no figure is computed here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from fastapi import Request
from pydantic import JsonValue

from app.errors import Message
from app.features.proposals import service as proposals
from app.features.proposals.charts import drawings, proposal_figures
from app.features.proposals.customers import OPEN, SIGNED, choices_of
from app.features.proposals.model import Proposal, ProposalEvent, Replay, ReplayChange
from app.features.proposals.writing.blocks import ChartBlock, View
from app.features.proposals.writing.proposal import line_name, value_written, write_proposal
from app.platform.charts.svg import Drawing
from app.platform.web.auth import get_identity
from app.platform.web.contexts import Choice, FigureView, Form, view
from app.platform.web.deps import workspace_of
from app.platform.web.locale import voice_of
from app.platform.wording.voice import Voice, voice


@dataclass(frozen=True, slots=True)
class Paper:
    """A proposal in words and charts, in its own language."""

    view: View
    figures: Mapping[str, FigureView]
    """Charts by name."""
    drawings: Mapping[str, Drawing]
    """Drawings by name."""


def paper_of(proposal: Proposal) -> Paper:
    speaker = voice(proposal.content.locale)
    text = write_proposal(proposal, speaker)
    figures = proposal_figures(proposal.content, speaker)
    captions = {
        block.id: block.caption
        for section in text.sections
        for block in section.blocks
        if isinstance(block, ChartBlock)
    }
    charts = {name: view(name, captions[name], chart) for name, chart in figures.items() if name in captions}
    return Paper(text, charts, drawings(proposal.content, speaker))


def visible_sections(proposal: Proposal) -> list[str]:
    """Return the sections on the page of a draft, in order."""
    return [section.id for section in write_proposal(proposal, voice(proposal.content.locale)).sections]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalPage:
    proposal: Proposal
    paper: Paper
    events: Sequence[tuple[ProposalEvent, str]]
    """Events, each with a remark."""
    questions: Sequence[ProposalEvent]
    """The customer's questions and the replies."""
    link: str
    """URL of a link just created; it is shown only once."""
    form: Form
    message: Message | None
    """Why an action was refused."""
    mail: bool
    """Whether a link can be sent by e-mail."""


def proposal_page(
    request: Request,
    proposal: Proposal,
    *,
    link: str = "",
    form: Form | None = None,
    message: Message | None = None,
) -> ProposalPage:
    events = proposals.list_events(workspace_of(request), proposal.id).items
    return ProposalPage(
        proposal=proposal,
        paper=paper_of(proposal),
        events=[(event, detail_of(event, voice_of(request))) for event in events],
        questions=[event for event in events if event.kind in ("asked", "replied")],
        link=link,
        form=form or Form(),
        message=message,
        mail=get_identity(request).mail is not None,
    )


def detail_of(event: ProposalEvent, speaker: Voice) -> str:
    detail = event.detail
    if event.kind == "frozen":
        return str(detail.get("sha256", ""))[:12]
    if event.kind == "changed" and isinstance(fields := detail.get("fields"), list):
        return ", ".join(speaker.label(str(name), "field") for name in fields)
    if event.kind == "replayed":
        return speaker.say(Message("{count} lines changed", {"count": detail.get("changes", 0)}))
    if event.kind == "shared":
        day = speaker.date(str(detail.get("expires_at", ""))[:10])
        return speaker.say(Message("until {day}", {"day": day}))
    said = [str(detail[name]) for name in ("name", "option", "to", "note") if detail.get(name)]
    return " · ".join([*said, *([str(detail["sha256"])[:12]] if "sha256" in detail else [])])


@dataclass(frozen=True, slots=True)
class ChangeRow:
    """A line that changed, as written in the document."""

    change: ReplayChange
    name: str
    then: str
    now: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayPage:
    proposal: Proposal
    replay: Replay
    rows: Sequence[ChangeRow]


def replay_page(request: Request, replay: Replay) -> ReplayPage:
    proposal = proposals.get_proposal(workspace_of(request), replay.id)
    rows = [change_row(change, proposal, voice_of(request)) for change in replay.changes]
    return ReplayPage(proposal=proposal, replay=replay, rows=rows)


def change_row(change: ReplayChange, proposal: Proposal, speaker: Voice) -> ChangeRow:
    section, name, content = change.section, change.name, proposal.content

    def text(value: JsonValue) -> str:
        if value is None:
            return "–"
        if section == "warnings":
            return speaker.label(str(value))
        return value_written(section, name, value, change.unit, False, content, speaker)

    return ChangeRow(change, line_name(section, name, speaker), text(change.then), text(change.now))


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedPage:
    token: str
    proposal: Proposal
    expires_at: datetime
    paper: Paper
    events: Sequence[ProposalEvent]
    """What the customer did, and the author's replies."""
    choices: Sequence[Choice]
    """Options of which one can be accepted."""
    form: Form
    message: Message | None
    """Why an act was refused."""
    answer: ProposalEvent | None
    """The acceptance or refusal signed here."""
    answerable: bool
    """Whether the proposal can still be accepted or declined."""


def shared_page(
    token: str,
    proposal: Proposal,
    expires_at: datetime,
    events: Sequence[ProposalEvent],
    form: Form,
    message: Message | None,
) -> SharedPage:
    content, speaker = proposal.content, voice(proposal.content.locale)

    def choice(label: str) -> Choice:
        option = content.decided(label)
        figures = () if option is None else (option.outlay, option.time)
        return Choice(label, label, " · ".join(speaker.central(one) for one in figures if one is not None))

    return SharedPage(
        token=token,
        proposal=proposal,
        expires_at=expires_at,
        paper=paper_of(proposal),
        events=events,
        choices=[choice(label) for label in choices_of(content)],
        form=form,
        message=message,
        answer=next((event for event in events if event.kind in SIGNED), None),
        answerable=proposal.status == "frozen" and proposal.review in OPEN,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class LockedPage:
    """The question for the passphrase of a link."""

    token: str
    message: Message | None
    """What is wrong with the passphrase entered."""
