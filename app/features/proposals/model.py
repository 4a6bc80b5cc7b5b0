"""Requests and documents of proposals."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from typing import Annotated, Any, Literal, get_args

from pydantic import (
    Field,
    GetJsonSchemaHandler,
    JsonValue,
    PrivateAttr,
    SerializerFunctionWrapHandler,
    ValidationInfo,
    field_validator,
    model_serializer,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from app.estimating.decision import Decision, DecisionOption
from app.estimating.documents import Text
from app.estimating.money import Currency
from app.estimating.names import Name
from app.estimating.request import BudgetKind, Limits, Number, Schema, patch_of
from app.estimating.schema import Document, Quantity, SourceRef
from app.features.bills.model import BillInputs
from app.features.comparisons.model import Comparison
from app.features.networks.model import FabricChoiceRequest
from app.features.proposals.account import ProposalAccount
from app.features.proposals.conditions import Conditions, DocumentKind, SiteLayout
from app.features.proposals.measurements import Evidence
from app.features.proposals.outlays import OutlayFormula
from app.features.studies.options import DemandAnswer

MAX_LOGO_TEXT = 700_000
"""Longest base64 of a logo. [characters]"""

ProposalLocale = Literal["ko", "en", "zh"]


Options = Annotated[list[Annotated[str, Field(max_length=200)]], Field(min_length=1, max_length=8)]


class LogoInput(Schema):
    """A logo for the page header."""

    media_type: Literal["image/png", "image/svg+xml"] = Field(examples=["image/png"])
    """Media type."""
    data: str = Field(min_length=1, max_length=MAX_LOGO_TEXT)
    """File content, base64-encoded. The image is redrawn; content that is not part of a picture is rejected.
    """


class BrandingInput(Schema):
    """Appearance of the document."""

    accent: str | None = Field(None, pattern=r"^#[0-9a-fA-F]{6}$", examples=["#0b5fff"])
    """Accent colour; darkened if it would be too faint on white paper."""
    footer: str | None = Field(None, max_length=200, description="Footer line on every page.")
    logo: LogoInput | None = Field(None, description="Logo of the sender; if omitted, none.")
    customer_logo: LogoInput | None = None
    """Logo of the customer, for the cover; if omitted, none."""


SectionId = Literal[
    "summary",
    "reasons",
    "scope",
    "comparison",
    "measured",
    "bill",
    "term",
    "acceptance",
    "schedule",
    "risks",
    "exclusions",
    "terms",
    "signature",
    "logic",
    "plan",
    "assumptions",
    "method",
    "sources",
]

SECTIONS: tuple[str, ...] = get_args(SectionId)
"""The sections of a proposal in their usual order; the summary always comes first."""

SectionText = Annotated[str, Field(max_length=8_000)]


class SectionInput(Schema):
    """A section of the document: whether it is shown, and what its author says in it."""

    id: SectionId = Field(description="Name of the section.", examples=["scope"])
    shown: bool = Field(True, description="Whether the section is in the document.")
    text: SectionText | None = Field(None, examples=["Delivery to the customer's data centre."])
    """Plain text of the section, paragraph by paragraph; if omitted, that of the template in the language of
    the document.
    """


class Sender(Schema):
    """Who makes the proposal, and whom the customer can ask."""

    organization: str | None = Field(None, max_length=200, description="Organization that makes the offer.")
    contact: str | None = Field(None, max_length=200, description="Name of the contact.")
    email: str | None = Field(None, max_length=254, description="E-mail address of the contact.")
    phone: str | None = Field(None, max_length=60, description="Telephone number of the contact.")
    address: str | None = Field(None, max_length=200, description="Address of the organization.")
    registration: str | None = Field(None, max_length=60, description="Registration number of the company.")
    representative: str | None = Field(None, max_length=200, description="Who represents the company.")


class ProposalRequest(Limits):
    """A proposal to create from a study or a comparison.

    A proposal of a study keeps the limits of the study that it does not state, in its own currency.
    """

    comparison_id: str | None = Field(None, max_length=100)
    """Identifier of the comparison from which it is created."""
    study_id: str | None = Field(None, max_length=100)
    """Identifier of the study from which it is created, in place of a comparison; its options are kept as a
    comparison.
    """
    reason: str | None = Field(
        None, max_length=4_000, description="Reason for the choice, in the author's words."
    )
    valid_until: date | None = Field(None, description="Last day of validity.", examples=["2099-12-31"])
    title: Name | None = Field(None, max_length=200)
    """Title; if omitted, the title of the comparison."""
    options: Options | None = Field(None, description="Labels of the rows to show; if omitted, all rows.")
    recommended: str | None = Field(None, max_length=200)
    """Label of the row to recommend; if omitted, chosen by rule."""
    term_years: Number | None = Field(None, gt=0, le=20)
    """Term over which costs are added up; if omitted, the catalogue's. [a]"""
    price_book_id: str | None = Field(None, max_length=100)
    """Identifier of a price book of the workspace."""
    calibration_id: str | None = Field(None, max_length=100, examples=["cal_a2b3c4d5e6f7g2h3"])
    """Identifier of a calibration with measured runs of the customer, either fitted or compared with each
    other; the runs appear in the document.
    """
    fabric_choice: FabricChoiceRequest | None = None
    """Networks to compare, with the customer's runs if there are any; networks that are not worth their price
    are listed under what not to buy.
    """
    bill: BillInputs | None = None
    """What the bills of materials include; if omitted, what the Bill view of the study keeps."""
    sender: Sender | None = Field(None, description="Who makes the proposal.")
    kind: DocumentKind | None = None
    """“offer”: its prices hold until its last day of validity and are agreed by signature; “estimate”:
    nothing is signed. If omitted, an estimate.
    """
    conditions: Conditions | None = Field(None, description="Tax, dates and conditions of the deal.")
    customer: Name = Field(
        min_length=1, max_length=200, description="Name of the customer.", examples=["하이퍼커넥트"]
    )
    locale: ProposalLocale = Field("ko", description="Language of the document.")
    currency: Currency = Field("KRW", description="Currency of all prices in the proposal.")
    scaling_efficiency: Number = Field(1.0, gt=0, le=1)
    """Scaling efficiency of linear rows, as a share of linear scaling."""
    confidential: bool = Field(True, description="Whether every page is marked confidential.")
    branding: BrandingInput = Field(BrandingInput(), description="Appearance of the document.")
    sections: list[SectionInput] = Field([], max_length=len(SECTIONS))
    """Sections in their order; those left out follow in the usual order and are shown."""


@patch_of
class ProposalPatch(ProposalRequest):
    """Fields of a draft to change. Omitted fields are unchanged; null removes a limit, date or choice."""


REQUIRED = frozenset(
    {"comparison_id", "customer", "locale", "currency", "scaling_efficiency", "confidential", "sections"}
)
"""Fields that a patch cannot remove; null leaves them unchanged."""


class ReviewRequest(Schema):
    """A step of review to take."""

    step: Step = Field(examples=["submit"])
    """Step: submit (to review), return (to the author), approve (freeze), send, accept or decline (the
    customer's answer).
    """
    note: str | None = Field(None, max_length=2_000, description="Remark that is kept with the event.")
    to: str | None = Field(None, max_length=254, examples=["buyer@example.com"])
    """For send: address to which a new link is mailed; if omitted, only the state changes."""
    expires_in_days: int = Field(30, ge=1, le=365, description="Number of days for which that link works.")


class ShareRequest(Schema):
    """A share link to create for a frozen proposal."""

    expires_in_days: int = Field(30, ge=1, le=365, description="Number of days for which the link works.")
    passphrase: str | None = Field(None, min_length=8, max_length=200)
    """Passphrase required to open the link."""


MOST_SAID = 2_000
"""Longest question, reason or reply on a link. [characters]"""

Words = Annotated[str, Field(max_length=MOST_SAID)]


class CustomerAct(Schema):
    """What the customer does on a link."""

    act: Literal["accept", "decline", "ask"]
    name: Annotated[Name, Field(max_length=200)] | None = None
    """Name typed as a signature; required to accept."""
    option: str | None = Field(None, max_length=200)
    """Label of the option accepted; required where several are offered."""
    text: Words | None = None
    """Reason for declining, or the question."""
    sha256: str | None = Field(None, max_length=64)
    """Hash of the content that was read."""


class ReplyRequest(Schema):
    """A reply to the customer's questions."""

    text: Words = Field(min_length=1, examples=["Delivery takes eight weeks from the order."])
    """Text that the customer reads on the link."""


class Reply(Document):
    """A reply as kept."""

    text: str = Field(examples=["Delivery takes eight weeks from the order."])
    """Text that the customer reads on the link."""
    at: datetime
    """Time of the reply."""


def is_empty(value: object) -> bool:
    """Return whether a field is left out, so that proposals frozen before it existed keep their hash."""
    return not value


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
    logo: Logo | None = Field(description="Logo of the sender; null if there is none.")
    customer_logo: Logo | None = Field(None, exclude_if=is_empty)
    """Logo of the customer; omitted if there is none."""
    note: Text | None = Field(description="How the requested colour was changed.")


class OptionReasons(Document):
    """An option with reasons."""

    label: str = Field(description="Label of the option.")
    reasons: list[Text] = Field(description="Reasons, most important first.")


class Advice(Document):
    """Recommendation and options to avoid."""

    recommended: str | None = Field(description="Label of the recommended option; null if there is none.")
    by_rule: str | None
    """Label of the option that the decision recommends."""
    reasons: list[Text] = Field(description="Reasons for the recommendation.")
    tied: list[str] = Field([], exclude_if=is_empty)
    """Labels of the options that nothing separates, in proposals of before there were decisions."""
    avoid: list[OptionReasons] = Field(description="Options not to buy, and why.")
    deadline_s: float | None = Field(description="Maximum time to train. [s]")
    budget: float | None = Field(description="Most that may be spent.")
    budget_kind: BudgetKind | None = None
    """What the budget pays for; null for the purchase of what is owned and the run of what is rented."""


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
    equipment: Quantity | None = None
    """Machines, hosts and compute network: the capex of the estimate. Null if rented."""
    tax_note: Text | None = Field(None, description="What the prices exclude; null if rented.")
    note: Text | None = Field(description="Why there are no lines; null if there are.")


class TermLine(Document):
    """One cost line over the term."""

    item: str = Field(description="Cost item.")
    amount: float = Field(description="Amount over the whole term.")


class OptionTerm(Document):
    """Cost of one option over the term."""

    label: str = Field(description="Label of the option.")
    acquisition: str = Field(description="Whether the option is owned or rented.")
    rental: str | None = Field(None, description="Rental pricing model; null if owned.")
    own: bool = True
    """Whether this is the option's own way of paying; if not, it is an alternative."""
    hourly: Quantity = Field(description="Cost per useful hour.")
    yearly: Quantity = Field(description="Cost of the useful hours of one year.")
    over_term: Quantity = Field(description="Cost over the term.")
    runs: float | None = Field(description="Number of runs that fit into the useful hours of the term.")
    lines: list[TermLine] = Field(description="Cost lines over the term.")


class Term(Document):
    """Costs over a term, with the same useful hours for all options."""

    years: float = Field(description="Length of the term. [a]")
    useful_hours_per_year: float = Field(description="Useful hours of work paid for per year. [h/a]")
    options: list[OptionTerm]
    """Options with a known cost, for each way of paying; the option's own way first."""

    @property
    def asked(self) -> list[OptionTerm]:
        """The options, each paid for in its own way."""
        return [option for option in self.options if option.own]


class ProposalWarning(Document):
    """A warning with the options to which it applies; no options if it applies to the comparison."""

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


COMMITTED = 0.9
"""Probability with which a committed figure is kept: the worse end of an 80 % interval."""


class Commitment(Document):
    """A figure that is committed to, with the probability of keeping it."""

    option: str = Field(description="Label of the option.")
    figure: Literal["time_to_train", "throughput", "step_time", "system.power"]
    """Name of the figure in the estimate."""
    bound: Literal["at_most", "at_least"] = Field(description="Direction in which the figure is kept.")
    expected: Quantity = Field(description="Estimate with its 80 % interval.")
    committed: float = Field(description="Value committed to, in the unit of the estimate.")
    level: float = Field(description="Probability of keeping the value.")
    basis: Literal["range"]
    """Where the value comes from: “range” is the worse end of the 80 % interval."""


class ConvertedBudget(Document):
    """A budget that was stated in another currency."""

    stated: Quantity
    """The budget as it was stated."""
    rate: float
    """Units of the proposal's currency for one of the stated."""
    as_of: str
    """Date of the rate."""


EDITION = 2
"""Version of the layout of contents made now."""


def in_layout_of_today(stored: dict[str, Any]) -> dict[str, Any]:
    """Return a stored content as laid out today: estimates of the first edition may have a label only."""
    if stored["edition"] > 1:
        return stored

    def named(row: dict[str, Any]) -> dict[str, Any]:
        estimate = row["estimate"]
        return row if estimate is None else {**row, "estimate": {"name": estimate.get("label"), **estimate}}

    rows = [named(row) for row in stored["comparison"]["rows"]]
    return {**stored, "edition": EDITION, "comparison": {**stored["comparison"], "rows": rows}}


class ProposalContent(Document):
    """Content of a proposal. Once frozen, the hash is that of its canonical JSON (RFC 8785)."""

    edition: int = Field(description="Version of the layout of the content.")
    title: str = Field(description="Title.")
    customer: str = Field(description="Name of the customer.")
    locale: str = Field(description="Language of the document.")
    currency: str = Field(description="Currency of all prices in the proposal.")
    reason: str | None = Field(description="Reason for the choice, in the author's words.")
    valid_until: date | None = Field(description="Last day of validity.")
    price_book_id: str | None
    """Identifier of the price book used; null for catalogue prices."""
    confidential: bool = Field(description="Whether every page is marked confidential.")
    branding: Branding = Field(description="Appearance of the document.")
    made_on: date = Field(description="Date on which the figures were compiled.")
    engine_version: str = Field(description="Version of the engine.")
    catalog_version: str = Field(description="Version of the catalogue.")
    requests: list[dict[str, Any]] = Field(description="Estimate request of each option, for replay.")
    comparison: Comparison = Field(description="Comparison of the options.")
    decision: Decision | None = Field(None, exclude_if=is_empty)
    """What is recommended under the limits, for the demanded work; the identifier of an option is its label.
    It is omitted in proposals of before there were decisions.
    """
    advice: Advice = Field(description="Recommendation and options to avoid.")
    evidence: Evidence | None = Field(None, exclude_if=is_empty)
    """Measured runs of the customer; omitted if none are used."""
    bills: list[OptionBill] = Field(description="Bill of materials of each option.")
    term: Term | None = Field(description="Costs over a term; null if no cost is known.")
    warnings: list[ProposalWarning] = Field(description="All warnings, most severe first.")
    assumptions: list[Assumption] = Field(description="All assumptions.")
    sources: list[SourceRef] = Field(description="Sources of all figures in the proposal.")
    number: str | None = Field(None, exclude_if=is_empty, description="Reference number, such as 2026-0012.")
    sender: Sender | None = Field(None, exclude_if=is_empty, description="Who makes the proposal.")
    sections: list[SectionInput] = Field([], exclude_if=is_empty)
    """Sections in their order, with their texts."""
    acceptance: list[Commitment] = Field([], exclude_if=is_empty)
    """Figures that are committed to, for acceptance tests."""
    converted: ConvertedBudget | None = Field(None, exclude_if=is_empty)
    """The budget in the currency in which it was stated; omitted if that is the proposal's."""
    by_demand: list[DemandAnswer] = Field([], exclude_if=is_empty)
    """What is recommended for one run, for ten a year, and for systems that are always busy; as in the study.
    """
    kind: DocumentKind | None = Field(None, exclude_if=is_empty)
    """Whether it is an offer or an estimate; omitted in proposals of before they were told apart."""
    conditions: Conditions | None = Field(None, exclude_if=is_empty)
    """Conditions that its author states; those left out are to be agreed."""
    account: ProposalAccount | None = Field(None, exclude_if=is_empty)
    """Price with tax, outlay by line and by year, break-even; omitted if nothing has a price."""
    layout: SiteLayout | None = Field(None, exclude_if=is_empty)
    """Racks and network of the option that is offered; omitted if it is rented."""
    outlays: list[OutlayFormula] = Field([], exclude_if=is_empty)
    """Outlay of each option as a formula of its inputs, which the workbook computes."""
    names: dict[str, str] = Field({}, exclude_if=is_empty)
    """Names of the systems that measured runs and figures refer to."""

    _stored: dict[str, Any] | None = PrivateAttr(None)
    """The JSON that it was frozen as; None for a draft."""

    @classmethod
    def read(cls, stored: dict[str, Any], frozen: bool = False) -> ProposalContent:
        """Return a stored content of any edition; fields unknown today stay in the JSON of a frozen one."""
        content = cls.model_validate(in_layout_of_today(stored), extra="ignore")
        content._stored = stored if frozen else None
        return content

    @model_serializer(mode="wrap")
    def as_stored(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Return the stored JSON as it stands: a later version must not alter what was frozen."""
        return self._stored or dump(self)

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Return the schema of the fields, which a serializer of one's own hides."""
        plain: Any = {name: part for name, part in core.items() if name != "serialization"}
        return super().__get_pydantic_json_schema__(plain, handler)

    @property
    def offered(self) -> Sequence[str]:
        """Labels of the options that are offered: the recommended one, or those that nothing separates."""
        return [self.advice.recommended] if self.advice.recommended else self.advice.tied

    def decided(self, label: str | None) -> DecisionOption | None:
        """Return an option of the decision."""
        options = self.decision.options if self.decision is not None else ()
        return next((option for option in options if option.id == label), None)

    def outlay_of(self, label: str | None) -> Quantity | None:
        """Return all money that an option takes over the term for the demanded work.

        Proposals of before there were decisions have the cost of its useful hours in place of it.
        """
        if self.decision is not None:
            option = self.decided(label)
            return None if option is None else option.outlay
        terms = self.term.asked if self.term is not None else []
        return next((option.over_term for option in terms if option.label == label), None)


class ShareState(Document):
    """Share link of a proposal."""

    created_at: datetime = Field(description="Creation time of the link.")
    expires_at: datetime = Field(description="Expiry time.")
    passphrase: bool = Field(description="Whether a passphrase is required.")
    opened: int = Field(description="Number of times the link was opened.")


Review = Literal["draft", "in_review", "approved", "sent", "accepted", "declined", "expired"]

Step = Literal["submit", "return", "approve", "send", "accept", "decline"]


class Proposal(Document):
    """A proposal: an editable draft, or permanently frozen."""

    id: str = Field(description="Identifier.")
    number: str | None = None
    """Reference number, sequential by workspace and year; null for earlier proposals."""
    comparison_id: str = Field(description="Identifier of the comparison from which it was created.")
    study_id: str | None = Field(None, description="Identifier of the study, if it was created from one.")
    review: Review = "draft"
    """State of review: draft, in_review, approved (frozen), sent, accepted, declined or expired (past its
    last day of validity without an answer).
    """
    steps: list[Step] = Field([], description="Steps of review that are allowed now.")
    opened: int = Field(0, description="Number of times the customer's page was opened.")
    first_opened_at: datetime | None = Field(None, description="Time of the first opening.")
    last_opened_at: datetime | None = Field(None, description="Time of the last opening.")
    status: Literal["draft", "frozen", "expired"] = Field(
        description="Status: draft (can be changed), frozen (can never be changed) or expired "
        "(past its last day of validity)."
    )
    version: int = Field(description="Version number, incremented with each edit.")
    sha256: str | None
    """SHA-256 of the canonical JSON (RFC 8785) of the content; null for a draft."""
    frozen_at: datetime | None = Field(description="Time at which it was frozen; null for a draft.")
    created_at: datetime = Field(description="Creation time.")
    updated_at: datetime = Field(description="Time of the last change.")
    share: ShareState | None = Field(description="Share link; null if there is none.")
    content: ProposalContent = Field(description="Content of the proposal.")

    @field_validator("content", mode="before")
    @classmethod
    def read_content(cls, content: Any, info: ValidationInfo) -> Any:
        if not isinstance(content, dict):
            return content
        return ProposalContent.read(content, frozen=info.data.get("frozen_at") is not None)


class FreezeRecord(Document):
    """Result of freezing a proposal."""

    id: str = Field(description="Identifier of the proposal.")
    status: Literal["frozen", "expired"] = Field(description="Status; frozen from now on.")
    sha256: str = Field(description="SHA-256 of the canonical JSON (RFC 8785) of the content.")
    frozen_at: datetime = Field(description="Time of freezing, which is also the date of the document.")


class Share(Document):
    """A new share link. Its token is returned only once and is not stored."""

    url: str | None = Field(description="URL of the shared page; null in the answer to a repeated request.")
    path: str | None = Field(None, description="Path of the shared page on this server.")
    token: str | None = Field(description="Secret of the link; null in the answer to a repeated request.")
    expires_at: datetime = Field(description="Expiry time.")
    passphrase: bool = Field(description="Whether a passphrase is required.")


EventKind = Literal[
    "created",
    "changed",
    "submitted",
    "returned",
    "frozen",
    "shared",
    "unshared",
    "sent",
    "opened",
    "accepted",
    "declined",
    "asked",
    "replied",
    "expired",
    "replayed",
    "erased",  # Only in the history of proposals that version 0.1.0 took a name from.
]


class ProposalEvent(Document):
    """An event in the history of a proposal."""

    position: int = Field(description="Position in the order of events.")
    kind: EventKind = Field(description="Kind of event; frozen is the approval.")
    at: datetime = Field(description="Time of the event.")
    by: str | None = None
    """Name of the person or key; null for the customer, the server, or without accounts."""
    detail: dict[str, JsonValue] = Field(description="Details of the event.")


class ProposalEvents(Document):
    """Event history of a proposal."""

    items: list[ProposalEvent] = Field(description="Events, in chronological order.")
    next: str | None = Field(None, description="Always null: the list is whole.")


class ReplayChange(Document):
    """A line that changes with the current catalogue."""

    path: str = Field(description="Path in the content.")
    section: str = Field(description="Section of the document.")
    option: str | None = Field(description="Label of the option; null if the line applies to all options.")
    name: str = Field(description="Name of the line in the schema.")
    unit: str = Field(description="SI unit or currency; empty if there is none.")
    then: JsonValue = Field(description="Value in the proposal; null if it has none.")
    now: JsonValue = Field(description="Current value; null if the line would not exist.")
    relative: float | None
    """Relative change: now divided by then, minus one; null if the values are not numbers."""


class FreezeRefusal(Document):
    """An option that can no longer be estimated with the current catalogue."""

    label: str = Field(description="Label of the option.")
    text: Text = Field(description="Reason.")


class Replay(Document):
    """Changes since the proposal was made; the proposal itself is unchanged."""

    id: str = Field(description="Identifier of the proposal.")
    sha256: str | None = Field(description="SHA-256 of the frozen content; null for a draft.")
    replayed_at: datetime = Field(description="Time of the replay.")
    engine_version: dict[str, str] = Field(description="Version of the engine then and now.")
    catalog_version: dict[str, str] = Field(description="Version of the catalogue then and now.")
    compared: int = Field(description="Number of lines compared.")
    changes: list[ReplayChange] = Field(description="Lines that differ, in document order.")
    refused: list[FreezeRefusal] = Field(description="Options that can no longer be estimated.")


class ProposalSummary(Document):
    """Summary of a proposal in a list."""

    id: str = Field(description="Identifier of the proposal.")
    number: str | None = Field(None, description="Reference number; null for earlier proposals.")
    name: str = Field(description="Name.", examples=["BERT-large on 4 × IPU-POD64"])
    customer: str = Field(description="Name of the customer.")
    review: Review = Field("draft", description="State of review.")
    amount: float | None = None
    """What the recommended option costs to buy, or over the term if it is rented; null if unknown or if none
    is recommended. [currency]
    """
    currency: str = Field("", description="Currency of the amount.")
    opened: int = Field(0, description="Number of times the customer's page was opened.")
    last_opened_at: datetime | None = Field(None, description="Time of the last opening.")
    status: str = Field(description="Status: draft, frozen or expired.")
    sha256: str | None = Field(description="SHA-256 of the frozen content; null for a draft.")
    valid_until: date | None = Field(description="Last day of validity.")
    created_at: datetime = Field(description="Creation time.")
    updated_at: datetime = Field(description="Time of the last change.")
