"""What a proposal says: the content that is frozen, and the proposal around it."""

from __future__ import annotations

import datetime
from typing import Any, Literal

from pydantic import Field, JsonValue

from app.sizing.document import Comparison, Document, Quantity, SourceRef, Text
from app.sizing.proposal.evidence_documents import Evidence


class Logo(Document):
    """The picture at the head, as it was drawn anew."""

    media_type: str = Field(description="Kind of the picture.")
    data: str = Field(description="The file in base64.")
    width: int = Field(description="Width. [pixels]")
    height: int = Field(description="Height. [pixels]")


class Branding(Document):
    """How the document looks."""

    accent: str = Field(description="Accent colour that is used.")
    footer: str | None = Field(description="Line at the foot of every page.")
    logo: Logo | None = Field(description="Picture at the head; null where there is none.")
    note: Text | None = Field(description="What was changed of the colour that was asked for.")


class Reasoned(Document):
    """An option with what speaks about it."""

    label: str = Field(description="Label of the option.")
    reasons: list[Text] = Field(description="Why, the weightiest first.")


class Advice(Document):
    """What to take and what not to."""

    recommended: str | None = Field(description="Label of the recommended option; null for none.")
    by_rule: str | None = Field(
        description="Label that cost, limits and networks that were weighed would recommend."
    )
    reasons: list[Text] = Field(description="Why it is recommended.")
    cheapest: str | None = Field(
        description="Label of the cheapest that meets the limits; null where options tie."
    )
    fastest: str | None = Field(
        description="Label of the fastest that meets the limits; null where options tie."
    )
    tied: list[str] = Field(
        default=[], description="Labels of options between which nothing decides, where none is recommended."
    )
    avoid: list[Reasoned] = Field(description="Options not to buy, and why.")
    deadline_s: float | None = Field(description="Time the training may take. [s]")
    budget: float | None = Field(description="What the run may cost.")


class BillItem(Document):
    """One kind of part of an option."""

    item: str = Field(description="Identifier in the catalogue.")
    name: str = Field(description="Name.")
    group: str = Field(description="Group it is listed in.")
    use: str = Field(description="What it is for.")
    quantity: int = Field(description="How many.")
    rule: Text = Field(description="How the quantity follows.")
    unit_price: Quantity | None = Field(description="Price of one; null where nobody publishes one.")
    total: Quantity | None = Field(description="Quantity times price.")
    sources: list[SourceRef] = Field(description="Where the price comes from.")


class BillGroup(Document):
    """What the parts of a group come to."""

    group: str = Field(description="The group.")
    total: Quantity = Field(description="Sum of the prices that are known.")
    complete: bool = Field(description="Whether every part has a price.")


class OptionBill(Document):
    """The parts of one option."""

    label: str = Field(description="Label of the option.")
    lines: list[BillItem] = Field(description="Its parts.")
    groups: list[BillGroup] = Field(description="Sums by group; empty for what is rented.")
    total: Quantity | None = Field(description="Sum of what has a price; null where nothing has.")
    complete: bool = Field(description="Whether every line has a price; else the total is a lower bound.")
    power: Quantity | None = Field(description="Power under load; null where it is not known.")
    racks: int | None = Field(description="Racks it stands in; null for what is rented.")
    rack_units: float | None = Field(description="Height in the racks; null for what is rented. [U]")
    equipment: Quantity | None = Field(
        None, description="Machines, hosts and compute network: the capex of the estimate. Null if rented."
    )
    tax_note: Text | None = Field(None, description="What the prices exclude; null for what is rented.")
    note: Text | None = Field(description="Why there are no lines; null where there are.")


class TermLine(Document):
    """One line of the cost over the term."""

    item: str = Field(description="What is paid for.")
    amount: float = Field(description="Over the whole term.")


class OptionTerm(Document):
    """What one option costs over the term."""

    label: str = Field(description="Label of the option.")
    acquisition: str = Field(description="Whether it is owned or rented.")
    rental: str | None = Field(None, description="How it is rented; null for what is owned.")
    own: bool = Field(True, description="Whether the option is had in this way; else it could be.")
    hourly: Quantity = Field(description="Cost of one useful hour.")
    yearly: Quantity = Field(description="Cost of a year of the useful hours.")
    over_term: Quantity = Field(description="Cost over the term.")
    runs: float | None = Field(description="Runs that the useful hours of the term hold.")
    lines: list[TermLine] = Field(description="Parts of the cost over the term.")


class Term(Document):
    """Costs over a term, all options for the same useful hours."""

    years: float = Field(description="Length of the term. [a]")
    useful_hours_per_year: float = Field(description="Hours of work a year that are paid for. [h/a]")
    options: list[OptionTerm] = Field(
        description="Options with a known cost, each way to pay; the option's own way first."
    )

    @property
    def asked(self) -> list[OptionTerm]:
        """The options as they are had, without what else they could be rented for."""
        return [one for one in self.options if one.own]


class SaidWarning(Document):
    """A warning with the options it concerns; none where it concerns the comparison."""

    code: str = Field(description="Name of the check.")
    severity: Literal["info", "caution", "serious"] = Field(description="How much it matters.")
    text: Text = Field(description="The sentence.")
    options: list[str] = Field(description="Labels of the options.")


class Assumption(Document):
    """A value that was taken for granted."""

    field: str = Field(description="Dotted path of the field in the request.")
    value: JsonValue = Field(description="The value taken.")
    why: Text = Field(description="The reason.")
    options: list[str] = Field(description="Labels of the options.")


class ProposalContent(Document):
    """Everything a proposal says. Frozen, its canonical JSON (RFC 8785) is what the hash is of."""

    edition: int = Field(description="Edition of this layout of the content.")
    title: str = Field(description="Title.")
    customer: str = Field(description="Whom it is for.")
    locale: str = Field(description="Language of the document.")
    currency: str = Field(description="Currency of every price in it.")
    reason: str | None = Field(description="Why this choice, in the author's words.")
    valid_until: datetime.date | None = Field(description="Last day on which it holds.")
    price_book_id: str | None = Field(description="Prices that were taken; null for the catalogue's.")
    confidential: bool = Field(description="Whether every page is marked confidential.")
    branding: Branding = Field(description="How the document looks.")
    made_on: datetime.date = Field(description="Day on which its figures were put together.")
    engine_version: str = Field(description="Version of the formulas.")
    catalog_version: str = Field(description="Version of the figures.")
    requests: list[dict[str, Any]] = Field(description="What was asked of each option, to replay it.")
    comparison: Comparison = Field(description="The options side by side.")
    advice: Advice = Field(description="What to take and what not to.")
    evidence: Evidence | None = Field(
        None,
        # Proposals that name no runs are written, and hashed, as they were before runs could be named.
        exclude_if=lambda found: found is None,
        description="The customer's own measured runs; left out where none are named.",
    )
    bills: list[OptionBill] = Field(description="Parts of each option.")
    term: Term | None = Field(description="Costs over a term; null where no cost is known.")
    warnings: list[SaidWarning] = Field(description="Every warning, the gravest first.")
    assumptions: list[Assumption] = Field(description="Everything that was taken for granted.")
    sources: list[SourceRef] = Field(description="Every source of a figure in it.")


class ShareState(Document):
    """The link a proposal is shared by."""

    created_at: datetime.datetime = Field(description="When the link was made.")
    expires_at: datetime.datetime = Field(description="When it stops working.")
    passphrase: bool = Field(description="Whether a reader must know a passphrase.")
    opened: int = Field(description="How often it was opened.")


class Proposal(Document):
    """A proposal: a draft that can be changed, or frozen for good."""

    id: str = Field(description="Identifier.")
    comparison_id: str = Field(description="Identifier of the comparison it was made of.")
    status: Literal["draft", "frozen", "expired"] = Field(
        description="Drafts can be changed; frozen ones never; expired ones are past their last day."
    )
    version: int = Field(description="Counts the edits.")
    sha256: str | None = Field(
        description="SHA-256 of the canonical JSON (RFC 8785) of the content; null for a draft."
    )
    frozen_at: datetime.datetime | None = Field(description="When it was frozen; null for a draft.")
    created_at: datetime.datetime = Field(description="When it was made.")
    updated_at: datetime.datetime = Field(description="When it was last changed.")
    share: ShareState | None = Field(description="The link it is shared by; null where there is none.")
    content: ProposalContent = Field(description="Everything it says.")


class Frozen(Document):
    """What freezing gives."""

    id: str = Field(description="Identifier of the proposal.")
    status: Literal["frozen", "expired"] = Field(description="Frozen from now on.")
    sha256: str = Field(description="SHA-256 of the canonical JSON (RFC 8785) of the content.")
    frozen_at: datetime.datetime = Field(description="When it was frozen, which dates the document.")


class Share(Document):
    """A new link; its token is told this once and not kept."""

    url: str | None = Field(description="Path of the page, to be put behind this server's address.")
    token: str | None = Field(description="The secret in it; null where a key repeats an earlier answer.")
    expires_at: datetime.datetime = Field(description="When it stops working.")
    passphrase: bool = Field(description="Whether a reader must know a passphrase.")


class ProposalEvent(Document):
    """Something that happened to a proposal."""

    position: int = Field(description="Its place in the order of events.")
    kind: Literal["created", "changed", "frozen", "replayed", "shared", "unshared", "opened", "expired"] = (
        Field(description="What happened.")
    )
    at: datetime.datetime = Field(description="When.")
    detail: dict[str, JsonValue] = Field(description="What there is to say about it.")


class ProposalEvents(Document):
    """Everything that happened to a proposal."""

    items: list[ProposalEvent] = Field(description="In the order it happened.")


class ProposalLine(Document):
    """One figure of a proposal with its name: what tables, CSV and the replay are made of."""

    path: str = Field(description="Where it stands in the content.")
    section: str = Field(description="Part of the document.")
    option: str | None = Field(description="Label of the option; null where it concerns all.")
    name: str = Field(description="What it is, as a name of the schema.")
    value: JsonValue = Field(description="The value.")
    low: float | None = Field(description="10th percentile; null where it is exact or no number.")
    high: float | None = Field(description="90th percentile; null where it is exact or no number.")
    unit: str = Field(description="SI unit or currency; empty where there is none.")


class Change(Document):
    """A line that today's catalogue changes."""

    path: str = Field(description="Where it stands in the content.")
    section: str = Field(description="Part of the document.")
    option: str | None = Field(description="Label of the option; null where it concerns all.")
    name: str = Field(description="What it is, as a name of the schema.")
    unit: str = Field(description="SI unit or currency; empty where there is none.")
    then: JsonValue = Field(description="As the proposal says; null where it says nothing.")
    now: JsonValue = Field(description="As it would be today; null where it would not be there.")
    relative: float | None = Field(description="Now over then, less one; null where they are no numbers.")


class Refused(Document):
    """An option that today's catalogue cannot answer any more."""

    label: str = Field(description="Label of the option.")
    text: Text = Field(description="Why not.")


class Replay(Document):
    """What changed since; the proposal itself is left as it is."""

    id: str = Field(description="Identifier of the proposal.")
    sha256: str | None = Field(description="SHA-256 of the frozen content; null for a draft.")
    replayed_at: datetime.datetime = Field(description="When this was computed.")
    engine_version: dict[str, str] = Field(description="Version of the formulas then and now.")
    catalog_version: dict[str, str] = Field(description="Version of the figures then and now.")
    compared: int = Field(description="Lines that were held against each other.")
    changes: list[Change] = Field(description="Lines that differ, in the order of the document.")
    refused: list[Refused] = Field(description="Options that cannot be answered any more.")
