"""What a proposal says: the content that is frozen, and the proposal around it."""

from __future__ import annotations

from datetime import date, datetime
from typing import Annotated, Any, Literal

from pydantic import Field, JsonValue

from app.estimating.documents import Text
from app.estimating.request import Number, Schema
from app.estimating.schema import Document, Quantity, SourceRef
from app.features.comparisons.model import Comparison
from app.features.networks.model import FabricChoiceRequest


class WeighedOption(Document):
    """One alternative or network that was measured, or held against one."""

    label: str = Field(description="What it is called.")
    fabric: str | None = Field(description="Identifier of its fabric; null where only a label is known.")
    runs: list[float] = Field(description="Measured throughputs. [samples/s]")
    mean: float | None = Field(description="Their mean; null without runs. [samples/s]")
    deviation: float | None = Field(description="Their standard deviation; null below two. [samples/s]")
    predicted: Quantity | None = Field(description="Throughput predicted without the runs.")
    gap: float | None = Field(description="Logarithm of predicted over measured throughput.")
    gain: float = Field(description="Throughput over that of the reference, less one.")
    price: Quantity | None = Field(description="What the network costs to buy; null where not known.")
    switches: int | None = Field(description="Switches of the network.")
    cables: int | None = Field(description="Cables of the network.")


class PartLeftOut(Document):
    """A part of the network that is not bought."""

    item: str = Field(description="Identifier in the catalogue.")
    name: str = Field(description="Name.")
    count: int = Field(description="How many.")
    unit_price: Quantity | None = Field(description="Price of one; null where nobody publishes one.")
    source: SourceRef | None = Field(description="Where the price comes from.")


class GainFound(Document):
    """Whether an alternative gains enough to be worth its price, and the runs that say so."""

    basis: Literal["runs", "networks"] = Field(
        description="“runs”: measured alternatives alone; “networks”: with the networks' parts and prices."
    )
    label: str = Field(description="What was weighed.")
    calibration_id: str | None = Field(description="Identifier of the measured runs; null for networks.")
    system: str = Field(description="Identifier of the system.")
    reference: str = Field(description="Label that gains are stated over.")
    taken: str = Field(description="Label that is recommended.")
    against: str | None = Field(description="Label it is held against; null where nothing else was weighed.")
    worth: bool = Field(description="Whether the dearer or faster one gains the threshold.")
    threshold: float = Field(description="Gain below which it is not worth it.")
    gain: Quantity | None = Field(description="Gain of the one over the other.")
    sentence: Text = Field(description="The advice in one sentence.")
    more: list[Text] = Field(description="What else has to be said.")
    options: list[WeighedOption] = Field(description="What was weighed, with its runs.")
    money_saved: Quantity | None = Field(description="Price of the network not taken over that taken.")
    switches_saved: int | None = Field(description="Switches that are not bought.")
    cables_saved: int | None = Field(description="Cables that are not bought.")
    left_out: list[PartLeftOut] = Field(description="Parts of the network not taken.")


class FittedRun(Document):
    """A measured run beside what is predicted of it."""

    label: str = Field(description="Where it ran.")
    note: str | None = Field(description="Who measured it, and how.")
    measured: float = Field(description="Measured time of a step. [s]")
    samples_per_s: float = Field(description="Measured throughput. [samples/s]")
    before: Quantity = Field(description="Time of a step predicted before.")
    after: Quantity = Field(description="Time of a step predicted after.")
    gap_before: float = Field(description="Logarithm of predicted over measured time before.")
    gap_after: float = Field(description="The same after.")


class FitFound(Document):
    """A software profile fitted to the customer's runs."""

    calibration_id: str = Field(description="Identifier of the calibration.")
    label: str = Field(description="What it is called.")
    prior_software: str = Field(description="Identifier of the profile it started from.")
    gap_before: float = Field(description="Mean over the runs of |ln(predicted / measured)| before.")
    gap_after: float = Field(description="The same after.")
    runs: list[FittedRun] = Field(description="The runs.")


class Evidence(Document):
    """The customer's own runs, and what follows from them."""

    gains: list[GainFound] = Field(description="Whether alternatives are worth their price.")
    fit: FitFound | None = Field(description="A profile fitted to runs; null where none is named.")


MAX_LOGO_TEXT = 700_000
"""Longest base64 of a logo. [characters]"""

ProposalLocale = Literal["ko", "en", "zh"]

ProposalCurrency = Literal["USD", "KRW"]

Customer = Annotated[str, Field(min_length=1, max_length=200)]

Reason = Annotated[str, Field(max_length=4_000)]

Options = Annotated[list[Annotated[str, Field(max_length=200)]], Field(min_length=1, max_length=8)]

Years = Annotated[Number, Field(gt=0, le=20)]

Limit = Annotated[Number, Field(gt=0, le=1e15)]

Efficiency = Annotated[Number, Field(gt=0, le=1)]


class LogoInput(Schema):
    """A picture for the head of the document."""

    media_type: Literal["image/png", "image/svg+xml"] = Field(
        description="Kind of the picture.", examples=["image/png"]
    )
    data: str = Field(
        min_length=1,
        max_length=MAX_LOGO_TEXT,
        description="The file in base64; it is drawn anew, what is not a picture in it is refused.",
    )


class BrandingInput(Schema):
    """How the document looks."""

    accent: str | None = Field(
        None,
        pattern=r"^#[0-9a-fA-F]{6}$",
        description="Accent colour; darkened where white paper would swallow it.",
        examples=["#0b5fff"],
    )
    footer: str | None = Field(None, max_length=200, description="Line at the foot of every page.")
    logo: LogoInput | None = Field(None, description="Picture for the head; left out, none.")


class ProposalRequest(Schema):
    """A proposal to make of a comparison."""

    comparison_id: str = Field(max_length=100, description="Identifier of the comparison it is made of.")
    customer: Customer = Field(description="Whom it is for.", examples=["하이퍼커넥트"])
    locale: ProposalLocale = Field("ko", description="Language of the document.")
    currency: ProposalCurrency = Field("KRW", description="Currency of every price in it.")
    reason: Reason | None = Field(None, description="Why this choice, in the author's words.")
    valid_until: date | None = Field(None, description="Last day on which it holds.", examples=["2099-12-31"])
    title: str | None = Field(None, max_length=200, description="Left out, the title of the comparison.")
    options: Options | None = Field(None, description="Labels of the rows to show; left out, all of them.")
    recommended: str | None = Field(
        None, max_length=200, description="Label of the row to recommend; left out, found by rule."
    )
    deadline_s: Limit | None = Field(None, description="Time the training may take. [s]")
    budget: Limit | None = Field(None, description="What the run may cost. [currency]")
    scaling_efficiency: Efficiency = Field(1.0, description="Share of linear scaling that linear rows reach.")
    term_years: Years | None = Field(
        None, description="Years over which costs are added up; left out, the catalogue's. [a]"
    )
    price_book_id: str | None = Field(
        None, max_length=100, description="Identifier of a workspace's own prices."
    )
    calibration_id: str | None = Field(
        None,
        max_length=100,
        description="Identifier of a calibration: measured runs of the customer, fitted or held against "
        "each other; they appear in the document.",
        examples=["cal_a2b3c4d5e6f7g2h3"],
    )
    fabric_choice: FabricChoiceRequest | None = Field(
        None,
        description="Networks to weigh, with the customer's runs where there are any; what is not worth its "
        "price is named under what not to buy.",
    )
    confidential: bool = Field(True, description="Whether every page is marked confidential.")
    branding: BrandingInput = Field(BrandingInput(), description="How the document looks.")


class ProposalPatch(Schema):
    """What to change of a draft; what is left out stays, null takes a limit, a date or a choice away."""

    comparison_id: str | None = Field(None, max_length=100, description="Another comparison.")
    customer: Customer | None = Field(None, description="Whom it is for.")
    locale: ProposalLocale | None = Field(None, description="Language of the document.")
    currency: ProposalCurrency | None = Field(None, description="Currency of every price in it.")
    reason: Reason | None = Field(None, description="Why this choice, in the author's words.")
    valid_until: date | None = Field(None, description="Last day on which it holds.")
    title: str | None = Field(None, max_length=200, description="Title.")
    options: Options | None = Field(None, description="Labels of the rows to show.")
    recommended: str | None = Field(None, max_length=200, description="Label of the row to recommend.")
    deadline_s: Limit | None = Field(None, description="Time the training may take. [s]")
    budget: Limit | None = Field(None, description="What the run may cost. [currency]")
    scaling_efficiency: Efficiency | None = Field(
        None, description="Share of linear scaling that linear rows reach."
    )
    term_years: Years | None = Field(None, description="Years over which costs are added up. [a]")
    price_book_id: str | None = Field(
        None, max_length=100, description="Identifier of a workspace's own prices."
    )
    calibration_id: str | None = Field(
        None, max_length=100, description="Identifier of a calibration; null takes it away."
    )
    fabric_choice: FabricChoiceRequest | None = Field(
        None, description="Networks to weigh; null takes them away."
    )
    confidential: bool | None = Field(None, description="Whether every page is marked confidential.")
    branding: BrandingInput | None = Field(None, description="How the document looks.")


REQUIRED = frozenset(
    {"comparison_id", "customer", "locale", "currency", "scaling_efficiency", "confidential"}
)
"""Fields that a patch cannot take away: null there means that they stay."""


class ShareRequest(Schema):
    """A link to share a frozen proposal by."""

    expires_in_days: int = Field(30, ge=1, le=365, description="Days for which the link works.")
    passphrase: str | None = Field(
        None, min_length=8, max_length=200, description="What a reader must know to open the link."
    )


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
    valid_until: date | None = Field(description="Last day on which it holds.")
    price_book_id: str | None = Field(description="Prices that were taken; null for the catalogue's.")
    confidential: bool = Field(description="Whether every page is marked confidential.")
    branding: Branding = Field(description="How the document looks.")
    made_on: date = Field(description="Day on which its figures were put together.")
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

    created_at: datetime = Field(description="When the link was made.")
    expires_at: datetime = Field(description="When it stops working.")
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
    frozen_at: datetime | None = Field(description="When it was frozen; null for a draft.")
    created_at: datetime = Field(description="When it was made.")
    updated_at: datetime = Field(description="When it was last changed.")
    share: ShareState | None = Field(description="The link it is shared by; null where there is none.")
    content: ProposalContent = Field(description="Everything it says.")


class Frozen(Document):
    """What freezing gives."""

    id: str = Field(description="Identifier of the proposal.")
    status: Literal["frozen", "expired"] = Field(description="Frozen from now on.")
    sha256: str = Field(description="SHA-256 of the canonical JSON (RFC 8785) of the content.")
    frozen_at: datetime = Field(description="When it was frozen, which dates the document.")


class Share(Document):
    """A new link; its token is told this once and not kept."""

    url: str | None = Field(description="Path of the page, to be put behind this server's address.")
    token: str | None = Field(description="The secret in it; null where a key repeats an earlier answer.")
    expires_at: datetime = Field(description="When it stops working.")
    passphrase: bool = Field(description="Whether a reader must know a passphrase.")


class ProposalEvent(Document):
    """Something that happened to a proposal."""

    position: int = Field(description="Its place in the order of events.")
    kind: Literal["created", "changed", "frozen", "replayed", "shared", "unshared", "opened", "expired"] = (
        Field(description="What happened.")
    )
    at: datetime = Field(description="When.")
    detail: dict[str, JsonValue] = Field(description="What there is to say about it.")


class ProposalEvents(Document):
    """Everything that happened to a proposal."""

    items: list[ProposalEvent] = Field(description="In the order it happened.")


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
    replayed_at: datetime = Field(description="When this was computed.")
    engine_version: dict[str, str] = Field(description="Version of the formulas then and now.")
    catalog_version: dict[str, str] = Field(description="Version of the figures then and now.")
    compared: int = Field(description="Lines that were held against each other.")
    changes: list[Change] = Field(description="Lines that differ, in the order of the document.")
    refused: list[Refused] = Field(description="Options that cannot be answered any more.")


class ProposalSummary(Document):
    """One line of the list of proposals."""

    id: str = Field(description="Identifier of the proposal.")
    title: str = Field(description="Its title.")
    customer: str = Field(description="Whom it is for.")
    status: str = Field(description="draft, frozen or expired.")
    sha256: str | None = Field(description="Hash of the frozen content; null for a draft.")
    valid_until: date | None = Field(description="Last day on which it holds.")
    created_at: datetime = Field(description="When it was made.")
    updated_at: datetime = Field(description="When it was last changed.")
