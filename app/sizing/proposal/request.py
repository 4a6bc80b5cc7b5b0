"""What is asked of a proposal."""

from __future__ import annotations

import datetime
from typing import Annotated, Literal

from pydantic import Field

from app.sizing.fabric_choice.request import FabricChoiceRequest
from app.sizing.request import Number, Schema

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
    valid_until: datetime.date | None = Field(
        None, description="Last day on which it holds.", examples=["2099-12-31"]
    )
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
    valid_until: datetime.date | None = Field(None, description="Last day on which it holds.")
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
