"""The outlay of systems of the catalogue, by hand from the same prices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from app.engine.units import HOUR, HOURS_PER_YEAR, YEAR
from app.estimating.costing import Charges
from app.estimating.estimate import hardware_of
from app.estimating.outlay import Outlay, outlay_lines, outlay_of
from app.estimating.prices import DollarPrices, prices
from app.estimating.ranges import SAMPLES, common_normals
from app.estimating.request import EstimateRequest
from tests.conftest import sizing_context


def priced(
    system: str, count: int = 1, currency: str = "USD", **assumptions: Any
) -> tuple[Outlay, Charges, DollarPrices]:
    context = sizing_context()
    request = EstimateRequest.model_validate(
        {
            "model": {"preset": "llama-7b"},
            "workload": {"tokens": 1e12},
            "system": {"id": system, "count": count},
            "assumptions": assumptions,
            "currency": currency,
        }
    )
    hardware = hardware_of(request, context)
    rates = prices(hardware, request.assumptions, request.currency, context.catalog, [], "llama")
    assert rates is not None
    charges = Charges(hardware, rates, normals=common_normals(), currency=request.currency)
    return outlay_of(hardware, charges, context.catalog, "llama"), charges, rates


def month(hours: float = 730.5) -> tuple[float, np.ndarray]:
    return hours * HOUR, np.full(SAMPLES, hours * HOUR)


def test_what_is_rented_costs_its_hours_and_nothing_else() -> None:
    outlay, _, rates = priced("aws-p5", 8)
    assert rates.hourly is not None
    value, samples = outlay.of(month(), 3)
    assert value == pytest.approx(8 * rates.hourly * 3 * 730.5)
    assert samples.mean() == pytest.approx(value, rel=0.02)
    assert outlay.of(month(), 0)[0] == 0.0
    assert outlay.idle_share(1.0, 1) is None


def test_what_is_reserved_is_paid_by_whole_years() -> None:
    outlay, _, rates = priced("aws-p4d", 2, rental="reserved-1-year")
    assert rates.hourly is not None
    year = 2 * rates.hourly * HOURS_PER_YEAR
    assert outlay.of(month(), 1)[0] == pytest.approx(year)
    assert outlay.of(month(), 12)[0] == pytest.approx(year)
    assert outlay.of(month(), 13)[0] == pytest.approx(2 * year)


def test_what_is_owned_costs_the_most_of_it_before_it_works() -> None:
    outlay, charges, _ = priced("dgx-b200", 3)
    assert charges.purchase is not None
    idle, busy = outlay.of(month(), 0), outlay.of(month(), 48)
    assert idle[0] > charges.purchase[0] * 0.9
    assert 1.0 < busy[0] / idle[0] < 1.2
    assert outlay.idle_share(730.5 * HOUR, 24) == pytest.approx(0.5)


def test_the_term_is_that_of_the_assumptions() -> None:
    for years in (2.0, 4.0, 6.0):
        outlay, _, _ = priced("dgx-b200", amortisation_years=years)
        assert outlay.term == years * YEAR
    short, long = (priced("dgx-b200", amortisation_years=years)[0].fixed[0] for years in (2.0, 6.0))
    assert short < long


def test_resale_is_taken_off() -> None:
    without, of_half = (priced("dgx-b200", residual_share=share)[0] for share in (0.0, 0.5))
    _, charges, rates = priced("dgx-b200")
    with_spares = charges.capital[0] * (1 + rates.defaults.spares_share.si)
    assert without.fixed[0] - of_half.fixed[0] == pytest.approx(0.5 * with_spares)


def test_what_is_left_out_of_the_basis_is_not_paid() -> None:
    whole, bare = priced("dgx-b200", 2)[0], priced("dgx-b200", 2, include=[])[0]
    assert bare.hourly[0] == pytest.approx(0.0, abs=1e-6)
    assert bare.fixed[0] < whole.fixed[0]


@pytest.mark.parametrize("system", ["dgx-b200", "aws-p5", "bow-pod16"])
def test_won_are_dollars_at_the_rate(system: str) -> None:
    dollars, _, rates = priced(system)
    won, _, _ = priced(system, currency="KRW")
    assert won.of(month(), 5)[0] == pytest.approx(rates.rate * dollars.of(month(), 5)[0])


@pytest.mark.parametrize(("system", "factor"), [("dgx-b200", 1.5), ("aws-p5", 0.5), ("bow-pod16", 2.0)])
def test_another_price_gives_the_outlay_of_a_request_at_that_price(system: str, factor: float) -> None:
    """A price that is stated is exact, so that central amounts alone are compared."""
    name = "hourly_price" if system.startswith("aws") else "system_price"
    (at, charges, _), (changed, others, _) = (
        priced(system, 4, **{name: price}) for price in (1e5, factor * 1e5)
    )
    assert at.of(month(), 7, factor)[0] == pytest.approx(changed.of(month(), 7)[0], rel=1e-3)
    for share, before, after in (
        (charges.shares[0], charges.purchase, others.purchase),
        (charges.shares[1], (charges.hourly,), (others.hourly,)),
    ):
        if before is not None and after is not None:
            assert before[0] * (1 + (factor - 1) * share) == pytest.approx(after[0], rel=1e-3)


@pytest.mark.parametrize("system", ["dgx-b200", "bow-pod16", "aws-p5"])
def test_lines_add_up_to_the_outlay(system: str) -> None:
    outlay, _, rates = priced(system, 2)
    context = sizing_context()
    hardware = context.hardware.system(system, 2)
    lines = outlay_lines(hardware, rates, 100.0, np.array([0.0, 1.0]), context.catalog, "llama")
    assert sum(float(line[1]) for line in lines.values()) == pytest.approx(
        outlay.of((100.0 * HOUR, np.full(SAMPLES, 100.0 * HOUR)), 1)[0]
    )
