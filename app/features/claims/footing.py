"""Price and power of both sides of a claim, its ratio on every footing, and the verdict."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from app.catalog.catalog import Catalog
from app.catalog.entries import HOST, SystemEntry
from app.catalog.figures import Spread
from app.catalog.vendor_ratios import VendorRatio
from app.engine.comparison import footing_ratio, speed_ratio, two_piece_samples
from app.engine.records import Floats
from app.engine.uncertainty import probability_below
from app.errors import BadInput, Message
from app.estimating.documents import Text
from app.estimating.ranges import OWN, common_normals, quantity, spread_quantity
from app.estimating.trace import source_ref
from app.features.claims.estimates import ClaimEstimate, EstimatedSide
from app.features.claims.model import (
    MACHINE,
    POD,
    PRICES,
    ClaimsRequest,
    FootingName,
    FootingRatio,
    FootingVerdict,
    Parity,
    ParityRow,
    Verdict,
)

DECIDING: tuple[FootingName, ...] = ("per_chip", "per_dollar", "per_watt_typical")
"""Equal footings, which decide the verdict on a claim."""

AS_STATED: tuple[FootingName, ...] = ("as_claimed", "per_system")
"""Footings of systems against systems: compared with the published ratio restated for them. The others are
compared with the ratio as printed, as a reader takes it."""


@dataclass(frozen=True, slots=True)
class SystemAmounts:
    """Price and power of one system with its hosts and switches."""

    price: Spread
    """[USD]"""
    typical: Spread
    """Power under a training load. [W]"""
    maximum: Spread
    """[W]"""


def amounts_of(system: str, catalog: Catalog, assumptions: ClaimsRequest) -> SystemAmounts:
    """Return what one system costs and draws under the assumptions."""
    if system == POD and assumptions.dgx_per_pod64 is not None:
        machine, factor = amounts_of(MACHINE, catalog, assumptions), assumptions.dgx_per_pod64
        return SystemAmounts(
            times(factor, machine.price), times(factor, machine.typical), times(factor, machine.maximum)
        )
    entry = catalog.system(system)
    stated = next((getattr(assumptions, name) for name, priced in PRICES.items() if priced == system), None)
    price = entry.price
    if stated is not None:
        price = Spread(stated, stated, stated, "USD")
    elif price is None:
        raise BadInput.at("price_book_id", "{system} has no known price; enter one", system=entry.name)
    elif entry.whole_price is None:
        price = _with_fewest_hosts(entry, price, catalog, "price")
    return SystemAmounts(
        price, typical_power(entry, catalog), _with_fewest_hosts(entry, entry.power_max, catalog, "power_max")
    )


def typical_power(entry: SystemEntry, catalog: Catalog) -> Spread:
    return _with_fewest_hosts(entry, entry.power_typical, catalog, "power_typical")


def times(factor: float, amount: Spread) -> Spread:
    return Spread(amount.value * factor, amount.low * factor, amount.high * factor, amount.unit)


def _with_fewest_hosts(
    entry: SystemEntry, total: Spread, catalog: Catalog, name: Literal["price", "power_typical", "power_max"]
) -> Spread:
    """Return a total with the fewest hosts of the data sheet at its low end."""
    hosts = next((part for part in entry.bill if part.item == HOST), None)
    per_host = None if hosts is None else getattr(hosts, name)
    if hosts is None or per_host is None:
        return total
    spared = max(hosts.count - round(catalog.figure(entry.id, "hosts").si_low), 0)
    return replace(total, low=total.low - spared * per_host.si_low)


def samples_of(amount: Spread, column: str) -> Floats:
    return two_piece_samples(amount.value, amount.low, amount.high, common_normals()[column])


def proportional(amount: Spread, other: Spread) -> bool:
    """Tell whether value and range of two amounts have the same ratio: then both vary together."""
    shares = [amount.value / other.value, amount.low / other.low, amount.high / other.high]
    return bool(np.allclose(shares, shares[0], rtol=1e-9))


@dataclass(frozen=True, slots=True)
class Pair:
    """An amount of both sides, central and as samples."""

    claimed: float
    baseline: float
    claimed_samples: Floats
    baseline_samples: Floats

    @classmethod
    def exact(cls, claimed: float, baseline: float) -> Pair:
        return cls(claimed, baseline, np.asarray(float(claimed)), np.asarray(float(baseline)))


def footing_verdict(low: float, high: float, claimed: float) -> FootingVerdict:
    """Return the verdict of a range on a published ratio.

    If the range includes 1, no advantage can be shown: the claim does not survive. If all of it is above 1,
    the claim survives if the range reaches the published ratio, else it shrinks.
    """
    if low <= 1.0:
        return "does_not_survive"
    return "survives" if high >= claimed else "shrinks"


def overall(verdicts: Iterable[FootingVerdict]) -> Verdict:
    """Return the verdict of a claim from those on equal footings: where they disagree, it shrinks."""
    distinct = set(verdicts)
    return distinct.pop() if len(distinct) == 1 else "shrinks"


def decided(footings: Sequence[FootingRatio]) -> Verdict:
    return overall(ratio.verdict for ratio in footings if ratio.footing in DECIDING)


def published(ratio: VendorRatio, efficiency: float) -> float:
    """Return a published ratio at a scaling efficiency, from its own hours where it has them."""
    loss = efficiency if ratio.linear else 1.0
    claimed, baseline = ratio.claimed.hours, ratio.baseline.hours
    if claimed is None or baseline is None:
        return ratio.value / loss
    return float(speed_ratio(baseline / ratio.baseline.count / loss, claimed))


def footings_of(
    ratio: VendorRatio,
    estimated: ClaimEstimate,
    claimed: SystemAmounts,
    baseline: SystemAmounts,
    efficiency: float,
) -> list[FootingRatio]:
    side, stated, whole = estimated.claimed, estimated.baseline, estimated.whole
    as_published = published(ratio, efficiency)
    grown = whole.devices / stated.devices
    whole_published = as_published / grown / (efficiency if grown > 1 else 1.0)
    parts: list[tuple[FootingName, EstimatedSide, float, Pair]] = [
        ("as_claimed", stated, as_published, Pair.exact(1, 1)),
        ("per_chip", stated, as_published, Pair.exact(side.devices, stated.devices)),
        ("per_system", whole, whole_published, Pair.exact(side.stated.count, whole.stated.count)),
        *((name, whole, whole_published, pair) for name, pair in _amounts(estimated, claimed, baseline)),
    ]
    return [_footing(name, side, other, figure, pair, ratio.value) for name, other, figure, pair in parts]


def _amounts(
    estimated: ClaimEstimate, claimed: SystemAmounts, baseline: SystemAmounts
) -> Iterator[tuple[FootingName, Pair]]:
    amounts: tuple[tuple[FootingName, Spread, Spread], ...] = (
        ("per_dollar", claimed.price, baseline.price),
        ("per_watt_typical", claimed.typical, baseline.typical),
        ("per_watt_maximum", claimed.maximum, baseline.maximum),
    )
    count, others = estimated.claimed.stated.count, estimated.whole.stated.count
    columns = iter(estimated.free_columns(2 * len(amounts)))
    for footing, ours, theirs in amounts:
        column, own = next(columns), next(columns)
        # Equal by assumption: the pod always costs the same multiple of the machine.
        other_column = column if proportional(ours, theirs) else own
        samples = samples_of(ours, column) * count, samples_of(theirs, other_column) * others
        yield footing, Pair(ours.value * count, theirs.value * others, *samples)


def _footing(
    name: FootingName, claimed: EstimatedSide, other: EstimatedSide, figure: float, pair: Pair, printed: float
) -> FootingRatio:
    central = float(footing_ratio(speed_ratio(other.seconds, claimed.seconds), pair.claimed, pair.baseline))
    samples = footing_ratio(
        speed_ratio(other.samples, claimed.samples), pair.claimed_samples, pair.baseline_samples
    )
    ours = quantity(central, samples, "1")
    restated = float(footing_ratio(figure, pair.claimed, pair.baseline))
    target = restated if name in AS_STATED else printed
    return FootingRatio(
        footing=name,
        claimed=restated,
        ours=ours,
        exceeds_one=1.0 - float(probability_below(samples, 1.0)),
        reaches_claim=float(np.mean(samples >= target)),
        verdict=footing_verdict(ours.low, ours.high, target),
    )


PARITY_CLAIM = "seed-pod64-3dgx"
"""Catalogue claim of the number of machines."""

QUOTE = "1个IPU-POD64和3个DGX-A100的功率和价格基本相同"

ROUNDING = 1e-9
"""Tolerance of a computed equality."""

ParityName = Literal["price", "power_typical", "power_maximum", "power_mixed"]


def parity_of(catalog: Catalog, assumptions: ClaimsRequest) -> Parity:
    """Compare price and power of one IPU-POD64 with the DGX A100 it is said to equal."""
    claim = catalog.claim(PARITY_CLAIM)
    count = claim.value or 1.0
    pod, machine = amounts_of(POD, catalog, assumptions), amounts_of(MACHINE, catalog, assumptions)
    rows = [
        _parity_row("price", pod.price, times(count, machine.price)),
        _parity_row("power_typical", pod.typical, times(count, machine.typical)),
        _parity_row("power_maximum", pod.maximum, times(count, machine.maximum)),
        _parity_row("power_mixed", pod.typical, times(count, machine.maximum)),
    ]
    return Parity(
        count=count,
        assumed=assumptions.dgx_per_pod64 is not None,
        rows=rows,
        sentence=Text.of(_parity_sentence(rows, assumptions.dgx_per_pod64)),
        quote=QUOTE,
        source=source_ref(claim.source),
    )


def _parity_row(name: ParityName, pod: Spread, machines: Spread) -> ParityRow:
    central = float(speed_ratio(pod.value, machines.value))
    # No run is involved: any two columns will do.
    column = OWN[0] if proportional(pod, machines) else OWN[1]
    ratio = quantity(central, speed_ratio(samples_of(pod, OWN[0]), samples_of(machines, column)), "1")
    return ParityRow(
        quantity=name,
        claimed=spread_quantity(pod),
        baseline=spread_quantity(machines),
        ratio=ratio,
        holds=ratio.low <= 1.0 + ROUNDING and ratio.high >= 1.0 - ROUNDING,
    )


def _parity_sentence(rows: list[ParityRow], assumed: float | None) -> Message:
    if assumed is not None:
        return Message(
            "assumption: one IPU-POD64 equals {machines} DGX A100 in price and power", {"machines": assumed}
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
