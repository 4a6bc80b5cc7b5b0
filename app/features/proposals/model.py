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

    label: str = Field(description="Name.")
    fabric: str | None = Field(description="Identifier of its fabric; null where only a label is known.")
    runs: list[float] = Field(description="Measured throughputs. [samples/s]")
    mean: float | None = Field(description="Their mean; null without runs. [samples/s]")
    deviation: float | None = Field(description="Their standard deviation; null below two. [samples/s]")
    predicted: Quantity | None = Field(description="Throughput predicted without the runs.")
    gap: float | None = Field(description="Logarithm of predicted over measured throughput.")
    gain: float = Field(description="Throughput relative to that of the reference, minus one.")
    price: Quantity | None = Field(description="What the network costs to buy; null where not known.")
    switches: int | None = Field(description="Switches of the network.")
    cables: int | None = Field(description="Cables of the network.")


class PartLeftOut(Document):
    """A part of the network that is not bought."""

    item: str = Field(description="Identifier of the item in the catalogue.")
    name: str = Field(description="Name.")
    count: int = Field(description="Number of units.")
    unit_price: Quantity | None = Field(description="Unit price; null if none is published.")
    source: SourceRef | None = Field(description="Source of the price.")


class GainFound(Document):
    """Whether the gain of an alternative justifies its price, and the runs behind the answer."""

    basis: Literal["runs", "networks"] = Field(
        description="“runs”: measured alternatives only; “networks”: with the parts and prices "
        "of the networks."
    )
    label: str = Field(description="What was compared.")
    calibration_id: str | None = Field(
        description="Identifier of the calibration with the measured runs; null for networks."
    )
    system: str = Field(description="Identifier of the system.")
    reference: str = Field(description="Label of the alternative relative to which gains are stated.")
    taken: str = Field(description="Label of the recommended alternative.")
    against: str | None = Field(
        description="Label of the alternative it is compared with; null if nothing else was compared."
    )
    worth: bool = Field(
        description="Whether the gain of the dearer or faster alternative reaches the threshold."
    )
    threshold: float = Field(description="Gain below which the alternative is not worth its price.")
    gain: Quantity | None = Field(description="Gain of one alternative over the other.")
    sentence: Text = Field(description="Recommendation in one sentence.")
    more: list[Text] = Field(description="Further remarks.")
    options: list[WeighedOption] = Field(description="Alternatives compared, with their runs.")
    money_saved: Quantity | None = Field(
        description="Price of the network not recommended less that of the recommended one."
    )
    switches_saved: int | None = Field(description="Number of switches not bought.")
    cables_saved: int | None = Field(description="Number of cables not bought.")
    left_out: list[PartLeftOut] = Field(description="Parts of the network that is not recommended.")


class FittedRun(Document):
    """A measured run with its predictions."""

    label: str = Field(description="System of the run.")
    note: str | None = Field(description="Who measured it and how.")
    measured: float = Field(description="Measured step time. [s]")
    samples_per_s: float = Field(description="Measured throughput. [samples/s]")
    before: Quantity = Field(description="Predicted step time before the fit.")
    after: Quantity = Field(description="Predicted step time after the fit.")
    gap_before: float = Field(description="Logarithm of predicted over measured step time before the fit.")
    gap_after: float = Field(description="The same, after the fit.")


class FitFound(Document):
    """A software profile fitted to the customer's runs."""

    calibration_id: str = Field(description="Identifier of the calibration.")
    label: str = Field(description="Name.")
    prior_software: str = Field(description="Identifier of the profile used as the prior.")
    gap_before: float = Field(description="Mean of |ln(predicted / measured)| over the runs before the fit.")
    gap_after: float = Field(description="The same, after the fit.")
    runs: list[FittedRun] = Field(description="Measured runs.")


class Evidence(Document):
    """The customer's own runs and the conclusions from them."""

    gains: list[GainFound] = Field(description="Whether alternatives are worth their price.")
    fit: FitFound | None = Field(description="Profile fitted to the runs; null if none is named.")


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
    """A logo for the page header."""

    media_type: Literal["image/png", "image/svg+xml"] = Field(
        description="Media type.", examples=["image/png"]
    )
    data: str = Field(
        min_length=1,
        max_length=MAX_LOGO_TEXT,
        description="File content, base64-encoded. The image is redrawn; content that is not "
        "part of a picture is rejected.",
    )


class BrandingInput(Schema):
    """Appearance of the document."""

    accent: str | None = Field(
        None,
        pattern=r"^#[0-9a-fA-F]{6}$",
        description="Accent colour; darkened if it would be too faint on white paper.",
        examples=["#0b5fff"],
    )
    footer: str | None = Field(None, max_length=200, description="Footer line on every page.")
    logo: LogoInput | None = Field(None, description="Logo for the page header; if omitted, none.")


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
    scaling_efficiency: Efficiency = Field(
        1.0, description="Scaling efficiency of linear rows, as a share of linear scaling."
    )
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
    branding: BrandingInput = Field(BrandingInput(), description="Appearance of the document.")


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
        None, description="Scaling efficiency of linear rows, as a share of linear scaling."
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
    branding: BrandingInput | None = Field(None, description="Appearance of the document.")


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
    """Logo in the page header, as redrawn."""

    media_type: str = Field(description="Media type.")
    data: str = Field(description="File content, base64-encoded.")
    width: int = Field(description="Width. [pixels]")
    height: int = Field(description="Height. [pixels]")


class Branding(Document):
    """Appearance of the document."""

    accent: str = Field(description="Accent colour in use.")
    footer: str | None = Field(description="Footer line on every page.")
    logo: Logo | None = Field(description="Logo in the page header; null if there is none.")
    note: Text | None = Field(description="How the requested colour was changed.")


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
    """One kind of part in an option."""

    item: str = Field(description="Identifier of the item in the catalogue.")
    name: str = Field(description="Name.")
    group: str = Field(description="Group in which the part is listed.")
    use: str = Field(description="Purpose.")
    quantity: int = Field(description="Number of units.")
    rule: Text = Field(description="How the quantity is computed.")
    unit_price: Quantity | None = Field(description="Unit price; null if none is published.")
    total: Quantity | None = Field(description="Quantity × unit price.")
    sources: list[SourceRef] = Field(description="Source of the price.")


class BillGroup(Document):
    """Total of one group of parts."""

    group: str = Field(description="Name of the group.")
    total: Quantity = Field(description="Sum of the known prices.")
    complete: bool = Field(description="Whether every part has a price.")


class OptionBill(Document):
    """Bill of materials of one option."""

    label: str = Field(description="Label of the option.")
    lines: list[BillItem] = Field(description="Lines of the bill.")
    groups: list[BillGroup] = Field(description="Totals by group; empty if rented.")
    total: Quantity | None = Field(description="Sum of the known prices; null if none is known.")
    complete: bool = Field(description="Whether every line has a price; if not, the total is a lower bound.")
    power: Quantity | None = Field(description="Power under load; null if unknown.")
    racks: int | None = Field(description="Number of racks; null if rented.")
    rack_units: float | None = Field(description="Total height in racks; null if rented. [U]")
    equipment: Quantity | None = Field(
        None, description="Machines, hosts and compute network: the capex of the estimate. Null if rented."
    )
    tax_note: Text | None = Field(None, description="What the prices exclude; null if rented.")
    note: Text | None = Field(description="Why there are no lines; null if there are.")


class TermLine(Document):
    """One line of the cost over the term."""

    item: str = Field(description="Cost item.")
    amount: float = Field(description="Over the whole term.")


class OptionTerm(Document):
    """Cost of one option over the term."""

    label: str = Field(description="Label of the option.")
    acquisition: str = Field(description="Whether the option is owned or rented.")
    rental: str | None = Field(None, description="Rental pricing model; null if owned.")
    own: bool = Field(
        True, description="Whether this is the option's own way of paying; if not, it is an alternative."
    )
    hourly: Quantity = Field(description="Cost per useful hour.")
    yearly: Quantity = Field(description="Cost of the useful hours of one year.")
    over_term: Quantity = Field(description="Cost over the term.")
    runs: float | None = Field(description="Number of runs that fit into the useful hours of the term.")
    lines: list[TermLine] = Field(description="Cost lines over the term.")


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
    severity: Literal["info", "caution", "serious"] = Field(description="Severity.")
    text: Text = Field(description="Sentence.")
    options: list[str] = Field(description="Labels of the options.")


class Assumption(Document):
    """A value that was assumed."""

    field: str = Field(description="Dotted path of the field in the request.")
    value: JsonValue = Field(description="Value used.")
    why: Text = Field(description="Reason for the value.")
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
    branding: Branding = Field(description="Appearance of the document.")
    made_on: date = Field(description="Day on which its figures were put together.")
    engine_version: str = Field(description="Version of the engine.")
    catalog_version: str = Field(description="Version of the catalogue.")
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
    created_at: datetime = Field(description="Creation time.")
    updated_at: datetime = Field(description="Time of the last change.")
    share: ShareState | None = Field(description="The link it is shared by; null where there is none.")
    content: ProposalContent = Field(description="Everything it says.")


class Frozen(Document):
    """Result of freezing a proposal."""

    id: str = Field(description="Identifier of the proposal.")
    status: Literal["frozen", "expired"] = Field(description="Status; frozen from now on.")
    sha256: str = Field(description="SHA-256 of the canonical JSON (RFC 8785) of the content.")
    frozen_at: datetime = Field(description="Time of freezing, which is also the date of the document.")


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
    title: str = Field(description="Title.")
    customer: str = Field(description="Whom it is for.")
    status: str = Field(description="draft, frozen or expired.")
    sha256: str | None = Field(description="Hash of the frozen content; null for a draft.")
    valid_until: date | None = Field(description="Last day on which it holds.")
    created_at: datetime = Field(description="Creation time.")
    updated_at: datetime = Field(description="Time of the last change.")
