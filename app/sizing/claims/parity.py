"""“1 IPU-POD64 and 3 DGX A100 have about the same price and power”: on which basis that holds."""

from __future__ import annotations

from typing import Literal

from app.catalog import Catalog, Spread
from app.engine.equal_footing import speed_ratio
from app.errors import Message
from app.sizing.claims.amounts import amounts_of, proportional, samples_of
from app.sizing.claims.documents import Parity, ParityRow
from app.sizing.claims.request import MACHINE, POD, ClaimsRequest
from app.sizing.document import SourceRef, Text
from app.sizing.quantities import quantity, spread_quantity
from app.sizing.spread import OWN

PARITY_CLAIM = "seed-pod64-3dgx"
"""Claim of the catalogue that states how many."""
QUOTE = "1个IPU-POD64和3个DGX-A100的功率和价格基本相同"

COLUMNS = OWN[0], OWN[1]
"""Columns of samples of the one side and of the other; no run is looked at here."""

ROUNDING = 1e-9
"""By which computed equality may miss 1."""

Name = Literal["price", "power_typical", "power_maximum", "power_mixed"]


def parity_of(catalog: Catalog, asked: ClaimsRequest) -> Parity:
    """Return price and power of one IPU-POD64 against the DGX A100 it is called equal to."""
    claim = catalog.claim(PARITY_CLAIM)
    count = claim.value or 1.0
    pod, machine = amounts_of(POD, catalog, asked), amounts_of(MACHINE, catalog, asked)
    pairs: list[tuple[Name, Spread, Spread]] = [
        ("price", pod.price, machine.price),
        ("power_typical", pod.typical, machine.typical),
        ("power_maximum", pod.maximum, machine.maximum),
        ("power_mixed", pod.typical, machine.maximum),
    ]
    rows = [_row(name, one, other, count) for name, one, other in pairs]
    assumed = asked.dgx_per_pod64 is not None
    return Parity(
        count=count,
        assumed=assumed,
        rows=rows,
        sentence=Text.of(_sentence(rows, assumed, asked.dgx_per_pod64)),
        quote=QUOTE,
        source=source_ref(catalog, claim.source.id),
    )


def source_ref(catalog: Catalog, source_id: str) -> SourceRef:
    """Return a source of the catalogue as a document."""
    one = catalog.source(source_id)
    return SourceRef(
        id=one.id,
        kind=one.kind.value,
        title=one.title,
        publisher=one.publisher,
        published=one.published,
        url=one.url,
    )


def _row(name: Name, one: Spread, other: Spread, count: float) -> ParityRow:
    many = Spread(other.value * count, other.low * count, other.high * count, other.unit)
    central = float(speed_ratio(one.value, many.value))
    column = COLUMNS[0] if proportional(one, many) else COLUMNS[1]
    ratio = quantity(central, speed_ratio(samples_of(one, COLUMNS[0]), samples_of(many, column)), "1")
    return ParityRow(
        quantity=name,
        claimed=spread_quantity(one),
        baseline=spread_quantity(many),
        ratio=ratio,
        holds=ratio.low <= 1.0 + ROUNDING and ratio.high >= 1.0 - ROUNDING,
    )


def _sentence(rows: list[ParityRow], assumed: bool, machines: float | None) -> Message:
    if assumed:
        return Message(
            "taken for granted: one IPU-POD64 equals {machines} DGX A100 in price and in power",
            {"machines": machines},
        )
    holds = {row.quantity: row.holds for row in rows}
    if not holds["price"]:
        return Message("the prices are not the same: their ratio keeps away from 1")
    if holds["power_typical"] and holds["power_maximum"]:
        return Message("price and power are the same within what is known of them")
    if holds["power_mixed"]:
        return Message(
            "the price is the same within what is known of it; the power is so only where the typical power "
            "of the one is set against the maximum of the other"
        )
    return Message("the price is the same within what is known of it; the power is not, on any basis")
