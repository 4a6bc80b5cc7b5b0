"""“1 IPU-POD64 and 3 DGX A100 have about the same price and power”: on which basis that holds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from app.catalog.catalog import Catalog
from app.catalog.figures import Spread
from app.catalog.vendor_ratios import VendorRatio
from app.engine.comparison import footing_ratio, speed_ratio
from app.engine.records import Floats
from app.engine.uncertainty import probability_below
from app.errors import Message
from app.estimating.documents import Text
from app.estimating.ranges import OWN, quantity, spread_quantity
from app.estimating.schema import SourceRef
from app.features.claims.estimates import (
    ClaimEstimate,
    EstimatedSide,
    SystemAmounts,
    amounts_of,
    columns_of,
    free_columns,
    proportional,
    samples_of,
)
from app.features.claims.model import (
    MACHINE,
    POD,
    ClaimsRequest,
    FootingName,
    FootingRatio,
    FootingVerdict,
    Parity,
    ParityRow,
    Verdict,
)

DECIDING: tuple[FootingName, ...] = ("per_chip", "per_dollar", "per_watt_typical")
"""Footings on which both sides are equal, which decide the verdict of a claim."""

AS_STATED: tuple[FootingName, ...] = ("as_claimed", "per_system")
"""Footings of systems against systems: ours is held against the published ratio restated for them. On the
others it is held against the ratio as it is printed, which is what a reader takes it for."""


@dataclass(frozen=True, slots=True)
class Pair:
    """An amount of both sides, central and as samples."""

    claimed: float
    baseline: float
    claimed_samples: Floats
    baseline_samples: Floats


def footing_verdict(low: float, high: float, claimed: float) -> FootingVerdict:
    """Return what a range says of a published ratio: one rule for every claim and every footing.

    Where the range reaches down to 1, no advantage can be shown and the claim does not survive. Where all of
    it lies above 1 the advantage is there: the claim survives if the range reaches the published ratio, and
    shrinks if it does not.
    """
    if low <= 1.0:
        return "does_not_survive"
    return "survives" if high >= claimed else "shrinks"


def overall(verdicts: Iterable[FootingVerdict]) -> Verdict:
    """Return the verdict of a claim from those on equal footings: where they disagree, it shrinks."""
    found = set(verdicts)
    return found.pop() if len(found) == 1 else "shrinks"


def published(ratio: VendorRatio, efficiency: float) -> float:
    """Return a published ratio at a scaling efficiency, from its own hours where it has them."""
    loss = efficiency if ratio.linear else 1.0
    claimed, baseline = ratio.claimed.hours, ratio.baseline.hours
    if claimed is None or baseline is None:
        return ratio.value / loss
    return float(speed_ratio(baseline / ratio.baseline.count / loss, claimed))


def footings(
    ratio: VendorRatio,
    estimated: ClaimEstimate,
    claimed: SystemAmounts,
    baseline: SystemAmounts,
    efficiency: float,
) -> list[FootingRatio]:
    """Return a claim on every footing."""
    stated, whole = estimated.baseline, estimated.whole
    as_published = published(ratio, efficiency)
    grown = whole.devices / stated.devices
    whole_published = as_published / grown / (efficiency if grown > 1 else 1.0)
    chips = _exact(estimated.claimed.devices, stated.devices)
    systems = _exact(estimated.claimed.count, whole.count)
    amounts = _amounts(estimated, claimed, baseline)
    parts: list[tuple[FootingName, EstimatedSide, float, Pair]] = [
        ("as_claimed", stated, as_published, _exact(1, 1)),
        ("per_chip", stated, as_published, chips),
        ("per_system", whole, whole_published, systems),
        *((name, whole, whole_published, pair) for name, pair in amounts),
    ]
    return [
        _footing(name, estimated.claimed, other, figure, pair, ratio.value)
        for name, other, figure, pair in parts
    ]


def _exact(claimed: float, baseline: float) -> Pair:
    return Pair(claimed, baseline, np.asarray(float(claimed)), np.asarray(float(baseline)))


def _amounts(
    estimated: ClaimEstimate, claimed: SystemAmounts, baseline: SystemAmounts
) -> list[tuple[FootingName, Pair]]:
    names: tuple[tuple[FootingName, str], ...] = (
        ("per_dollar", "price"),
        ("per_watt_typical", "typical"),
        ("per_watt_maximum", "maximum"),
    )
    columns = free_columns(columns_of(estimated), 2 * len(names))
    found: list[tuple[FootingName, Pair]] = []
    for place, (footing, name) in enumerate(names):
        one: Spread = getattr(claimed, name)
        other: Spread = getattr(baseline, name)
        count, others = estimated.claimed.count, estimated.whole.count
        drawn = samples_of(one, columns[2 * place]) * count
        # Equal by assumption: whatever the machine costs, the pod costs so many times as much.
        column = columns[2 * place] if proportional(one, other) else columns[2 * place + 1]
        pair = Pair(one.value * count, other.value * others, drawn, samples_of(other, column) * others)
        found.append((footing, pair))
    return found


def _footing(
    name: FootingName, claimed: EstimatedSide, other: EstimatedSide, figure: float, pair: Pair, printed: float
) -> FootingRatio:
    central = float(footing_ratio(speed_ratio(other.seconds, claimed.seconds), pair.claimed, pair.baseline))
    samples = footing_ratio(
        speed_ratio(other.samples, claimed.samples), pair.claimed_samples, pair.baseline_samples
    )
    ours = quantity(central, samples, "1")
    restated = float(footing_ratio(figure, pair.claimed, pair.baseline))
    wanted = restated if name in AS_STATED else printed
    return FootingRatio(
        footing=name,
        claimed=restated,
        ours=ours,
        exceeds_one=1.0 - float(probability_below(samples, 1.0)),
        reaches_claim=float(np.mean(samples >= wanted)),
        verdict=footing_verdict(ours.low, ours.high, wanted),
    )


def decided(found: Sequence[FootingRatio]) -> Verdict:
    """Return the verdict of a claim that is modelled."""
    return overall(one.verdict for one in found if one.footing in DECIDING)


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
            "assumption: one IPU-POD64 equals {machines} DGX A100 in price and power",
            {"machines": machines},
        )
    holds = {row.quantity: row.holds for row in rows}
    if not holds["price"]:
        return Message("the prices are not equal: the range of their ratio excludes 1")
    if holds["power_typical"] and holds["power_maximum"]:
        return Message("price and power are equal within the known ranges")
    if holds["power_mixed"]:
        return Message(
            "the price is equal within the known range; the power is equal only when the "
            "typical power of one is compared with the maximum of the other"
        )
    return Message("the price is equal within the known range; the power is not, on any basis")
