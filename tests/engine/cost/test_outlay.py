"""All money that leaves over a term, against sums written out by hand."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.engine.cost.hours import OwnedSystem
from app.engine.cost.outlay import owned_outlay, paid_hours, rented_outlay
from app.engine.errors import OutOfRange
from app.engine.units import HOUR, HOURS_PER_YEAR, KILOWATT_HOUR

SYSTEM = OwnedSystem(
    equipment={"machines": 900.0, "fabric": 100.0, "spares": 20.0},
    services={"install": 50.0},
    residual_share=0.1,
    discount_rate=0.08,
    lifetime=4.0,
    yearly={"support": 30.0},
    power=2000.0,
    electricity_price=0.1 / KILOWATT_HOUR,
    demand_power=0.0,
    demand_price=0.0,
    reserved_power=0.0,
    space_price=0.0,
    staff=0.5,
    staff_pay=100.0,
    utilisation=0.75,
)
"""A system of 1,000 that draws 2 kW when idle."""

TERM = 4 * HOURS_PER_YEAR


def total(lines: dict[str, np.ndarray]) -> float:
    return float(sum(lines.values()))


def test_an_owned_system_pays_what_stands_in_its_lines() -> None:
    lines = owned_outlay(SYSTEM, 10_000.0, 1000.0)
    paid = {
        "machines": 900.0,
        "fabric": 100.0,
        "install": 50.0,
        "spares": 20.0,
        "support": 4 * 30.0,
        "power": 10.0 * 1000.0 * 0.1,
        "idle_power": 2.0 * (TERM - 1000.0) * 0.1,
        "space": 0.0,
        "staff": 4 * 50.0,
        "residual": -102.0,
    }
    assert {name: float(line) for name, line in lines.items()} == pytest.approx(paid)


@given(st.floats(0.0, 2 * TERM), st.floats(0.0, 2 * TERM))
def test_more_work_on_an_owned_system_costs_its_power_alone(first: float, second: float) -> None:
    less, more = sorted((first, second))
    before, after = owned_outlay(SYSTEM, 10_000.0, less), owned_outlay(SYSTEM, 10_000.0, more)
    assert total(before) <= total(after) + 1e-6
    for name in before.keys() - {"power", "idle_power"}:
        assert before[name] == after[name]
    assert float(after["idle_power"]) >= 0.0


def test_the_highest_load_is_charged_whether_it_works_or_not() -> None:
    charged = replace(SYSTEM, demand_power=10_000.0, demand_price=1e-9)
    for hours in (0.0, 1000.0):
        more = total(owned_outlay(charged, 10_000.0, hours)) - total(owned_outlay(SYSTEM, 10_000.0, hours))
        assert more == pytest.approx(10_000.0 * TERM * HOUR * 1e-9)


def test_no_interest_is_paid_to_oneself() -> None:
    free = replace(SYSTEM, discount_rate=0.0)
    assert total(owned_outlay(SYSTEM, 1.0, 1.0)) == total(owned_outlay(free, 1.0, 1.0))


@given(st.floats(1e-9, 1e6), st.sampled_from((HOURS_PER_YEAR, 3 * HOURS_PER_YEAR)))
def test_commitments_cover_the_hours_and_are_whole(hours: float, length: float) -> None:
    paid = float(paid_hours(hours, length))
    number = paid / length
    assert number == pytest.approx(round(number))
    assert number >= 1
    assert paid >= hours * (1 - 1e-8)
    assert paid - hours < length * (1 + 1e-8)


def test_hours_on_demand_are_paid_as_used() -> None:
    assert paid_hours(np.array([0.0, 0.25, 8.0]), 0.0).tolist() == [0.0, 0.25, 8.0]
    with pytest.raises(OutOfRange):
        paid_hours(1.0, -1.0)


def test_what_is_rented_pays_instances_storage_and_egress_by_the_hour() -> None:
    lines = rented_outlay(
        4.0, 10.0, 100.0, stored_bytes=1e12, storage_price=1e-18, egress_rate=1e6, egress_price=1e-10
    )
    assert {name: float(line) for name, line in lines.items()} == pytest.approx(
        {"instances": 4000.0, "storage": 1e12 * 1e-18 * 360_000, "egress": 1e6 * 360_000 * 1e-10}
    )
    reserved = rented_outlay(4.0, 10.0, 100.0, commitment=HOURS_PER_YEAR)
    assert float(reserved["instances"]) == pytest.approx(4 * 10.0 * HOURS_PER_YEAR)
