"""Own the base and rent the peak: which capacity to own for a demand that changes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from app.engine.cost.base_and_peak import base_and_peak_cost, cheapest_base
from app.engine.cost.break_even import BuildOrRent, own_cost_worth
from app.engine.cost.terms import monthly_payment
from app.engine.records import Floats
from app.sizing.break_even.documents import Mixed, MixedPoint

STEPS = 40
"""Points of the curve besides the levels of demand themselves."""

MOST_SHOWN = 400
"""Most stretches of time that the load curve keeps; more are thinned."""


def mixed(terms: BuildOrRent, bill: float, demand: Sequence[float], peak_factor: float) -> Mixed:
    """Return what owning any part of the cluster costs where the rest is rented.

    Both sides are proportional to capacity: the cluster's cost over the horizon, spread evenly, for
    one unit of it owned; the bill over the mean demand for one unit rented.
    """
    used = np.asarray(demand, dtype=float)
    horizon = np.asarray(terms.horizon, dtype=float)
    worth = own_cost_worth(terms, horizon)
    own = float(monthly_payment(worth, terms.discount_rate, horizon))
    mean = float(np.mean(used))
    rent = bill / mean * peak_factor
    best = float(cheapest_base(used, own, rent))
    top = float(np.max(used))
    shares = np.unique(np.concatenate([np.linspace(0.0, top, STEPS + 1), [best]]))
    points = _points(shares, used, own, rent)
    # Who rents everything has no peak to pay extra for: that is the bill itself.
    nothing = MixedPoint(owned=0.0, own=0.0, rent=bill, total=bill)
    cheapest = next(point for point in points if point.owned == best)
    load = np.sort(used)[::-1]
    thinned = load[np.linspace(0, len(load) - 1, min(len(load), MOST_SHOWN)).round().astype(int)]
    return Mixed(
        best=min(cheapest, nothing, key=lambda point: point.total),
        all_owned=points[-1],
        all_rented=nothing,
        worth_owning_share=min(own / rent, 1.0),
        mean_demand=mean,
        peak_demand=top,
        points=points,
        load=[float(level) for level in thinned],
    )


def _points(shares: Floats, used: Floats, own: float, rent: float) -> list[MixedPoint]:
    owned, rented = base_and_peak_cost(shares, used, own, rent)
    return [
        MixedPoint(owned=float(share), own=float(one), rent=float(other), total=float(one + other))
        for share, one, other in zip(shares, owned, rented, strict=True)
    ]
