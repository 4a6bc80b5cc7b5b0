"""From proposals to what their pages show; no number is made here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pydantic import JsonValue

from app.errors import Message
from app.reports import figures
from app.reports.figures.layout import Figure
from app.reports.figures.proposals import term_cost
from app.reports.wording import Voice, voice
from app.reports.wording.proposals import View, write_proposal
from app.reports.wording.proposals.blocks import ChartBlock
from app.reports.wording.proposals.naming import line_name, value_written
from app.reports.wording.proposals.options import running, weighed
from app.sizing.proposal.documents import Change, Proposal, ProposalEvent, Replay
from app.web.contexts import FigureView, Form
from app.web.proposal_contexts import ChangeRow, ProposalPage, ReplayPage, SharedPage

MOST_ROWS = 8


def written(proposal: Proposal) -> View:
    """Return a proposal in words, in its own language."""
    return write_proposal(proposal, voice(proposal.content.locale))


def figures_of(proposal: Proposal, view: View) -> dict[str, FigureView]:
    """Return the charts of a proposal by the names of their drawings."""
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
        for name, (drawn, rows) in drawn_figures(proposal).items()
        if name in drawings
    }


def drawn_figures(proposal: Proposal) -> dict[str, tuple[Figure, int]]:
    """Return every chart with the rows it takes."""
    content, speaker = proposal.content, voice(proposal.content.locale)
    rows = len(content.comparison.rows) + 1
    estimates = running(content)
    found = {"time": (figures.time_to_train(content.comparison, speaker), rows)}
    if any(one.cost for _, one in estimates):
        found["cost"] = (figures.cost_to_train(content.comparison, speaker), rows)
    if estimates:
        found["breakdown"] = (figures.breakdown(estimates, speaker), len(estimates) + 3)
    shown = weighed(content)
    if shown is not None and shown.sensitivity:
        found["sensitivity"] = (figures.sensitivity(shown, speaker), len(shown.sensitivity) + 1)
    if content.term is not None:
        found["term"] = (term_cost(content.term, content.currency, speaker), len(content.term.options) + 3)
    return found


def logo_address(proposal: Proposal) -> str:
    """Return the logo as data in its address."""
    logo = proposal.content.branding.logo
    return "" if logo is None else f"data:{logo.media_type};base64,{logo.data}"


def proposal_page(
    proposal: Proposal,
    events: Sequence[ProposalEvent],
    speaker: Voice,
    documents: Sequence[tuple[str, str]],
    *,
    link: str = "",
    form: Form | None = None,
    message: Message | None = None,
) -> ProposalPage:
    """Return the page of a proposal."""
    view = written(proposal)
    return ProposalPage(
        data_url=f"/proposals/{proposal.id}.json",
        documents=documents,
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
        data_url=f"/s/{token}.json",
        token=token,
        proposal=proposal,
        view=view,
        figures=figures_of(proposal, view),
        logo=logo_address(proposal),
        expires_on=expires_on,
    )


def replay_page(
    proposal: Proposal, replay: Replay, speaker: Voice, documents: Sequence[tuple[str, str]]
) -> ReplayPage:
    """Return the page of what changed."""
    return ReplayPage(
        data_url=f"/proposals/{proposal.id}/replay.json",
        documents=documents,
        proposal=proposal,
        compared=replay.compared,
        rows=[change_row(change, proposal, speaker) for change in replay.changes],
        refused=[(one.label, Message(one.text.template, dict(one.text.values))) for one in replay.refused],
        versions=[
            (speaker.gettext("Version of the formulas"), *ends(replay.engine_version)),
            (speaker.gettext("Version of the catalogue"), *ends(replay.catalog_version)),
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
