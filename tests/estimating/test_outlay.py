"""The outlay of systems of the catalogue, by hand from the same prices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from app.engine.units import HOUR, HOURS_PER_YEAR, YEAR
from app.errors import BadInput
from app.estimating.costing import Charges
from app.estimating.decision import Alternative
from app.estimating.deliberation import Columns
from app.estimating.outlay import Outlay, outlay_lines, outlay_of
from app.estimating.prices import DollarPrices, prices
from app.estimating.ranges import SAMPLES
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
    hardware = context.hardware.asked(request.system)
    rates = prices(hardware, request.assumptions, request.currency, context.catalog, [], "llama")
    assert rates is not None
    charges = Charges(hardware, rates, currency=request.currency)
    return outlay_of(hardware, charges, context.catalog, "llama"), charges, rates


def paid(outlay: Outlay, hours: float, runs: int, price: float = 1.0) -> float:
    """Return the outlay of runs of some hours, at a factor on the price of the system."""
    time = hours * HOUR, np.full(SAMPLES, hours * HOUR)
    one = Alternative(id="x", name="x", owned=outlay.owned, time=time, outlay=outlay)
    columns = Columns.of([one], outlay.term).at_price(np.array([True]), price)
    return float(columns.outlay(runs)[0])


MONTH = 730.5
"""[h]"""


def test_what_is_rented_costs_its_hours_and_nothing_else() -> None:
    outlay, _, rates = priced("aws-p5", 8)
    assert rates.hourly is not None
    assert paid(outlay, MONTH, 3) == pytest.approx(8 * rates.hourly * 3 * MONTH)
    assert paid(outlay, MONTH, 0) == 0.0
    assert outlay.idle_share(1.0, 1) is None


def test_what_is_reserved_is_paid_by_whole_years() -> None:
    outlay, _, rates = priced("aws-p4d", 2, rental="reserved-1-year")
    assert rates.hourly is not None
    year = 2 * rates.hourly * HOURS_PER_YEAR
    assert paid(outlay, MONTH, 1) == pytest.approx(year)
    assert paid(outlay, MONTH, 12) == pytest.approx(year)
    assert paid(outlay, MONTH, 13) == pytest.approx(2 * year)


def test_what_is_owned_costs_the_most_of_it_before_it_works() -> None:
    outlay, charges, _ = priced("dgx-b200", 3)
    idle, busy = paid(outlay, MONTH, 0), paid(outlay, MONTH, 48)
    assert idle > charges.capital[0] * 0.9
    assert 1.0 < busy / idle < 1.2
    assert outlay.idle_share(730.5 * HOUR, 24) == pytest.approx(0.5)


def test_the_term_is_that_of_the_assumptions() -> None:
    for years in (2.0, 4.0, 6.0):
        outlay, _, _ = priced("dgx-b200", amortisation_years=years)
        assert outlay.term == years * YEAR
    short, long = (priced("dgx-b200", amortisation_years=years)[0].fixed[0] for years in (2.0, 6.0))
    assert short < long


def test_resale_is_taken_off() -> None:
    without, of_half = (priced("dgx-b200", residual_share=share)[0] for share in (0.0, 0.5))
    _, charges, _ = priced("dgx-b200")
    assert 0.4 * charges.capital[0] < without.fixed[0] - of_half.fixed[0] < 0.5 * charges.capital[0]


def test_what_is_left_out_of_the_basis_is_not_paid() -> None:
    whole, bare = priced("dgx-b200", 2)[0], priced("dgx-b200", 2, include=[])[0]
    assert bare.hourly[0] == pytest.approx(0.0, abs=1e-6)
    assert bare.fixed[0] < whole.fixed[0]


@pytest.mark.parametrize("currency", ["KRW", "EUR", "JPY", "CNY"])
@pytest.mark.parametrize("system", ["dgx-b200", "aws-p5", "bow-pod16"])
def test_other_currencies_are_dollars_at_the_rate(system: str, currency: str) -> None:
    dollars, _, _ = priced(system)
    other, charges, rates = priced(system, currency=currency)
    assert paid(other, MONTH, 5) == pytest.approx(rates.exchange.value * paid(dollars, MONTH, 5))
    assert charges.currency == currency


def test_a_currency_without_a_rate_is_refused() -> None:
    with pytest.raises(BadInput) as raised:
        priced("aws-p5", currency="GBP")
    (fault,) = raised.value.errors
    assert (raised.value.status, fault.field) == (400, "currency")
    assert "GBP" in str(fault.message)


@pytest.mark.parametrize(("system", "factor"), [("dgx-b200", 1.5), ("aws-p5", 0.5), ("bow-pod16", 2.0)])
def test_another_price_gives_the_outlay_of_a_request_at_that_price(system: str, factor: float) -> None:
    """A price that is stated is exact, so that central amounts are compared."""
    name = "hourly_price" if system.startswith("aws") else "system_price"
    (at, charges, _), (changed, others, _) = (
        priced(system, 4, **{name: price}) for price in (1e5, factor * 1e5)
    )
    assert paid(at, MONTH, 7, factor) == pytest.approx(paid(changed, MONTH, 7), rel=1e-3)
    for share, before, after in (
        (charges.shares[0], charges.capital, others.capital),
        (charges.shares[1], (charges.hourly,), (others.hourly,)),
    ):
        assert before[0] * (1 + (factor - 1) * share) == pytest.approx(after[0], rel=1e-3)


@pytest.mark.parametrize("system", ["dgx-b200", "bow-pod16", "aws-p5"])
def test_lines_add_up_to_the_outlay(system: str) -> None:
    outlay, _, rates = priced(system, 2)
    context = sizing_context()
    hardware = context.hardware.system(system, 2)
    lines = outlay_lines(hardware, rates, 100.0, np.array([0.0, 1.0]), context.catalog, "llama")
    assert sum(float(line[1]) for line in lines.values()) == pytest.approx(paid(outlay, 100.0, 1))
