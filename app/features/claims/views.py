"""From vendor claims to what their page shows; no number is made here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlencode

from app.features.claims import charts as figures
from app.features.claims.model import FootingRatio, VendorClaim, VendorClaims
from app.platform.web.contexts import BasePage, FigureView, Form, WarningGroup, grouped, view
from app.platform.wording.voice import Voice


@dataclass(frozen=True, slots=True)
class ClaimRow:
    """One claim of the table."""

    claim: VendorClaim
    cells: Mapping[str, FootingRatio]
    """Footing → ratio with software of the time; empty where there is no estimate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimsPage(BasePage):
    """Vendor claims with their verdicts."""

    form: Form
    query: str
    """Assumptions as the end of an address; may be empty."""
    found: VendorClaims
    rows: Sequence[ClaimRow]
    tally: Sequence[tuple[str, int]]
    """Verdict and how many claims it stands for."""
    footings: Sequence[str]
    """Footings that are columns of the table."""
    placeholders: Mapping[str, str]
    """Field → what the catalogue says, where nothing is asked."""
    article_url: str
    """Address with equal price and power as the article has it."""
    plain_url: str
    """Address without any assumption."""
    chart: FigureView
    warnings: Sequence[WarningGroup]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimPage(BasePage):
    """One vendor claim with both estimates."""

    claim: VendorClaim
    query: str
    """Assumptions as the end of an address; may be empty."""
    warnings: Sequence[WarningGroup]


COLUMNS = ("as_claimed", "per_chip", "per_dollar", "per_watt_typical")
"""Footings of the table; all of them are on the page of a claim."""

VERDICTS = ("survives", "shrinks", "does_not_survive", "not_comparable", "not_modelled")

EQUAL = "dgx_per_pod64"


def claims_page(
    found: VendorClaims, form: Form, query: str, voice: Voice, documents: Sequence[tuple[str, str]]
) -> ClaimsPage:
    """Return the page of the claims."""
    rows = [row_of(claim) for claim in found.items]
    count = Counter(str(claim.verdict) for claim in found.items)
    kept = {name: value for name, value in parse_qsl(query) if name not in (EQUAL, "pod64_price")}
    drawn = figures.claims(found.items, voice)
    return ClaimsPage(
        data_url=f"/claims.json{ending(query)}",
        documents=documents,
        form=form,
        query=ending(query),
        found=found,
        rows=rows,
        tally=[(verdict, count[verdict]) for verdict in VERDICTS if count[verdict]],
        footings=COLUMNS,
        placeholders=placeholders(found, voice),
        article_url=f"/claims?{urlencode({**kept, EQUAL: f'{found.parity.count:g}'})}",
        plain_url=f"/claims?{urlencode(kept)}" if kept else "/claims",
        chart=view(
            "claims",
            voice.gettext("Published ratio and our range by footing"),
            "claims",
            drawn,
            "claims",
            voice.gettext("The line marks 1, where both sides are equally fast. Bars are 80 % intervals."),
        ),
        warnings=grouped(("", warning) for warning in found.warnings),
    )


def row_of(claim: VendorClaim) -> ClaimRow:
    """Return one line of the table."""
    cells: dict[str, FootingRatio] = {}
    if claim.readings:
        cells = {one.footing: one for one in claim.readings[0].footings}
    return ClaimRow(claim, cells)


def ending(query: str) -> str:
    """Return a query as the end of an address."""
    return f"?{query}" if query else ""


def claim_page(claim: VendorClaim, query: str, documents: Sequence[tuple[str, str]]) -> ClaimPage:
    """Return the page of one claim."""
    return ClaimPage(
        data_url=f"/claims/{claim.id}.json{ending(query)}",
        documents=documents,
        claim=claim,
        query=ending(query),
        warnings=grouped(("", warning) for warning in claim.warnings),
    )


def placeholders(found: VendorClaims, voice: Voice) -> Mapping[str, str]:
    """Return what stands in empty fields: the prices in use."""
    sides = [
        side
        for claim in found.items
        for reading in claim.readings
        for side in (reading.claimed, reading.baseline)
    ]
    prices = {side.system: side.price.value for side in sides}
    return {
        "pod64_price": voice.number(prices["ipu-pod64"]),
        "dgx_price": voice.number(prices["dgx-a100-320gb"]),
        "m2000_price": voice.number(prices["ipu-m2000"]),
        EQUAL: voice.number(prices["ipu-pod64"] / prices["dgx-a100-320gb"]),
    }
