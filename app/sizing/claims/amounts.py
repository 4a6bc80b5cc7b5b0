"""What one side of a claim costs and draws: from the catalogue, or as it was asked to be assumed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from app.catalog import HOST, Catalog, Figure, Spread, SystemEntry
from app.engine.equal_footing import two_piece_samples
from app.engine.records import Floats
from app.errors import BadInput
from app.sizing.claims.request import MACHINE, POD, PRICES, ClaimsRequest
from app.sizing.spread import OWN, common_normals


@dataclass(frozen=True, slots=True)
class SystemAmounts:
    """Of one system, bought with its hosts and switches."""

    price: Spread
    """[USD]"""
    typical: Spread
    """Power under a training load. [W]"""
    maximum: Spread
    """[W]"""


def amounts_of(system: str, catalog: Catalog, asked: ClaimsRequest) -> SystemAmounts:
    """Return what one system costs and draws under the assumptions asked for."""
    if system == POD and asked.dgx_per_pod64 is not None:
        machine = amounts_of(MACHINE, catalog, asked)
        return SystemAmounts(*(_times(asked.dgx_per_pod64, one) for one in _each(machine)))
    entry = catalog.system(system)
    stated = next((getattr(asked, name) for name, known in PRICES.items() if known == system), None)
    price = entry.price
    if price is not None and entry.whole_price is None:
        price = _with_fewest_hosts(entry, price, catalog, "price")
    if stated is not None:
        price = Spread(stated, stated, stated, "USD")
    if price is None:
        raise BadInput.at("price_book_id", "no price is known of {system}; state one", system=entry.name)
    return SystemAmounts(
        price,
        _with_fewest_hosts(entry, entry.power_typical, catalog, "power_typical"),
        _with_fewest_hosts(entry, entry.power_max, catalog, "power_max"),
    )


def _each(one: SystemAmounts) -> tuple[Spread, Spread, Spread]:
    return one.price, one.typical, one.maximum


def _times(factor: float, one: Spread) -> Spread:
    return Spread(one.value * factor, one.low * factor, one.high * factor, one.unit)


def _with_fewest_hosts(entry: SystemEntry, total: Spread, catalog: Catalog, name: str) -> Spread:
    """Return a total whose low end counts the fewest hosts a data sheet allows."""
    line = next((line for line in entry.bill if line.item == HOST), None)
    known: Mapping[str, Figure | None] = (
        {"price": line.price, "power_typical": line.power_typical, "power_max": line.power_max}
        if line
        else {}
    )
    figure = known.get(name)
    if line is None or figure is None:
        return total
    spared = max(line.count - round(catalog.figure(entry.id, "hosts").si_low), 0)
    return replace(total, low=total.low - spared * figure.si_low)


def samples_of(one: Spread, column: str) -> Floats:
    """Return samples of an amount on a column of the common samples."""
    return two_piece_samples(one.value, one.low, one.high, common_normals()[column])


def proportional(one: Spread, other: Spread) -> bool:
    """Tell whether one amount is so many times the other, range and all: then both vary together."""
    shares = [one.value / other.value, one.low / other.low, one.high / other.high]
    return bool(np.allclose(shares, shares[0], rtol=1e-9))


def free_columns(taken: Sequence[str], count: int) -> list[str]:
    """Return columns of samples that no run of a claim has to itself, so that prices vary on their own."""
    return [column for column in OWN if column not in taken][:count]
