"""What the templates of proposals are given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.errors import Message
from app.reports.wording.proposals import View
from app.sizing.proposal.documents import Proposal, ProposalEvent
from app.web.contexts import BasePage, Choice, FigureView, Form


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
class ProposalsPage(BasePage):
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
class ProposalFormPage(BasePage):
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
class ProposalPage(BasePage):
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
class ReplayPage(BasePage):
    """What today's catalogue would say otherwise."""

    proposal: Proposal
    compared: int
    rows: Sequence[ChangeRow]
    refused: Sequence[tuple[str, Message]]
    versions: Sequence[tuple[str, str, str]]
    """What, then, now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedPage(BasePage):
    """A proposal as a link shows it."""

    token: str
    proposal: Proposal
    view: View
    figures: Mapping[str, FigureView]
    logo: str
    expires_on: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LockedPage(BasePage):
    """The question for the passphrase of a link."""

    token: str
    message: Message | None
    """What is wrong with the passphrase that was given."""
