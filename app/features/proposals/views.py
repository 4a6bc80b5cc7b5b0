"""From proposals to what their pages show; no number is made here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from app.errors import Message
from app.features.proposals.charts import proposal_figures
from app.features.proposals.model import Change, Proposal, ProposalEvent, Replay
from app.features.proposals.writing.blocks import ChartBlock, View
from app.features.proposals.writing.proposal import line_name, value_written, write_proposal
from app.platform.web.contexts import Choice, FigureView, Form
from app.platform.wording.voice import Voice, voice


@dataclass(frozen=True, slots=True)
class ProposalRow:
    """One proposal of the list."""

    id: str
    title: str
    customer: str
    status: str
    valid_until: str
    created_on: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalsPage:
    """Proposals made so far, and the comparisons that one can be made of."""

    rows: Sequence[ProposalRow]
    next_url: str
    """Address of the next stretch; empty at the end."""
    comparisons: Sequence[Choice]
    status: str
    """How those that are listed stand; empty for all."""
    standings: Sequence[str]
    calibration_id: str
    """Measured runs that the proposal is to name; empty where it is to name none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalFormPage:
    """The form that asks for a proposal, or changes a draft."""

    form: Form
    message: Message | None
    """What is wrong with the form as a whole."""
    action: str
    """Address the form is sent to."""
    proposal_id: str
    """The draft that is changed; empty for a new one."""
    version: int
    """Version that the edit builds on; 0 for a new one."""
    title: str
    """Title of the comparison."""
    options: Sequence[Choice]
    books: Sequence[Choice]
    """Price books to choose from, the newest."""
    calibrations: Sequence[Choice]
    """Measured runs to choose from, the newest."""
    has_networks: bool
    has_logo: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalPage:
    """A proposal with what can be done with it."""

    proposal: Proposal
    view: View
    figures: Mapping[str, FigureView]
    """Charts by the names of their drawings."""
    logo: str
    """The picture as data in its address; empty where there is none."""
    events: Sequence[tuple[ProposalEvent, str]]
    """What happened, each with what there is to say about it."""
    link: str
    """Address of a link made just now; it is shown this once."""
    form: Form
    message: Message | None
    """Why something could not be done."""


@dataclass(frozen=True, slots=True)
class ChangeRow:
    """A line that changed."""

    section: str
    option: str
    name: str
    then: str
    now: str
    relative: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayPage:
    """What today's catalogue would say otherwise."""

    proposal: Proposal
    compared: int
    rows: Sequence[ChangeRow]
    refused: Sequence[tuple[str, Message]]
    versions: Sequence[tuple[str, str, str]]
    """What, then, now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedPage:
    """A proposal as a link shows it."""

    token: str
    proposal: Proposal
    view: View
    figures: Mapping[str, FigureView]
    logo: str
    expires_on: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LockedPage:
    """The question for the passphrase of a link."""

    token: str
    message: Message | None
    """What is wrong with the passphrase that was given."""


MOST_ROWS = 8


def written(proposal: Proposal) -> View:
    """Return a proposal in words, in its own language."""
    return write_proposal(proposal, voice(proposal.content.locale))


def figures_of(proposal: Proposal, view: View) -> dict[str, FigureView]:
    """Return the charts of a proposal by the names of their drawings."""
    content = proposal.content
    drawings = {
        block.id: block
        for section in view.sections
        for block in section.blocks
        if isinstance(block, ChartBlock)
    }
    return {
        name: FigureView(
            f"figure-{name}", drawings[name].caption, f"rows-{min(rows, MOST_ROWS)}", drawn, f"drawing-{name}"
        )
        for name, (drawn, rows) in proposal_figures(content, voice(content.locale)).items()
        if name in drawings
    }


def logo_address(proposal: Proposal) -> str:
    """Return the logo as data in its address."""
    logo = proposal.content.branding.logo
    return "" if logo is None else f"data:{logo.media_type};base64,{logo.data}"


def proposal_page(
    proposal: Proposal,
    events: Sequence[ProposalEvent],
    speaker: Voice,
    *,
    link: str = "",
    form: Form | None = None,
    message: Message | None = None,
) -> ProposalPage:
    """Return the page of a proposal."""
    view = written(proposal)
    return ProposalPage(
        proposal=proposal,
        view=view,
        figures=figures_of(proposal, view),
        logo=logo_address(proposal),
        events=[(event, detail_of(event, speaker)) for event in events],
        link=link,
        form=form or Form(),
        message=message,
    )


def detail_of(event: ProposalEvent, speaker: Voice) -> str:
    """Return what there is to say about an event."""
    detail = event.detail
    if event.kind == "frozen":
        return str(detail.get("sha256", ""))[:12]
    if event.kind == "changed":
        fields = detail.get("fields")
        return (
            ", ".join(speaker.label(str(name), "field") for name in fields)
            if isinstance(fields, list)
            else ""
        )
    if event.kind == "replayed":
        return speaker.say(Message("{count} lines changed", {"count": detail.get("changes", 0)}))
    if event.kind == "shared":
        return speaker.say(
            Message("until {day}", {"day": speaker.date(str(detail.get("expires_at", ""))[:10])})
        )
    return ""


def shared_page(proposal: Proposal, token: str, expires_on: str) -> SharedPage:
    """Return the page of a link."""
    view = written(proposal)
    return SharedPage(
        token=token,
        proposal=proposal,
        view=view,
        figures=figures_of(proposal, view),
        logo=logo_address(proposal),
        expires_on=expires_on,
    )


def replay_page(proposal: Proposal, replay: Replay, speaker: Voice) -> ReplayPage:
    """Return the page of what changed."""
    return ReplayPage(
        proposal=proposal,
        compared=replay.compared,
        rows=[change_row(change, proposal, speaker) for change in replay.changes],
        refused=[(one.label, Message(one.text.template, dict(one.text.values))) for one in replay.refused],
        versions=[
            (speaker.gettext("Formula version"), *ends(replay.engine_version)),
            (speaker.gettext("Catalogue version"), *ends(replay.catalog_version)),
        ],
    )


def ends(versions: Mapping[str, str]) -> tuple[str, str]:
    """Return a version then and now."""
    return versions["then"], versions["now"]


def change_row(change: Change, proposal: Proposal, speaker: Voice) -> ChangeRow:
    """Return one line that changed, as the document would write it."""

    def said(value: JsonValue) -> str:
        if change.section == "warnings":
            return "–" if value is None else speaker.label(str(value))
        if value is None:
            return "–"
        return value_written(
            change.section, change.name, value, change.unit, False, proposal.content, speaker
        )

    relative = ""
    if change.relative is not None:
        relative = f"{'+' if change.relative > 0 else ''}{speaker.percent(change.relative)}"
    return ChangeRow(
        section=change.section,
        option=change.option or "",
        name=line_name(change.section, change.name, speaker),
        then=said(change.then),
        now=said(change.now),
        relative=relative,
    )
