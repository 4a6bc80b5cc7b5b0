"""Cost on other terms: region, rental, term, storage, staff, dates, currency, carbon."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from app.catalog.defaults import REGIONS
from app.errors import BadInput, NotFound
from app.estimating.documents import Estimate
from app.estimating.money import Cost
from app.estimating.prices import site_power_of
from app.estimating.request import AssumptionsInput
from app.features.studies.side_by_side import COST_BASIS
from tests.conftest import answer, sizing_context

YEAR_HOURS = 8766.0


def cost(**parts: Any) -> Cost:
    found = answer(**parts).cost
    assert found is not None
    return found


def lines(found: Cost) -> dict[str, float]:
    return {line.item: line.hourly for line in found.lines}


@pytest.mark.parametrize(
    "system", [{"id": "dgx-a100-640gb", "count": 4}, {"id": "ipu-pod64"}, {"id": "aws-p4d"}]
)
def test_month_term_and_accelerator_follow_from_the_hour(system: dict[str, Any]) -> None:
    answered = answer(system=system)
    found = answered.cost
    assert found is not None and found.per_month and found.over_term and found.per_accelerator_hour
    hours = float(found.basis["utilisation"]) * YEAR_HOURS
    assert found.per_month.value == pytest.approx(found.hourly.value * hours / 12)
    assert found.over_term.value == pytest.approx(
        found.hourly.value * hours * float(found.basis["term_years"])
    )
    assert found.per_accelerator_hour.value * answered.system.devices == pytest.approx(found.hourly.value)
    assert sum(line.per_month for line in found.lines) == pytest.approx(found.per_month.value)


@pytest.mark.parametrize("currency", ["USD", "KRW"])
def test_the_printed_term_is_the_sum_of_its_lines_and_close_to_the_formula(currency: str) -> None:
    found = cost(system={"id": "bow-pod64", "count": 2}, currency=currency)
    assert found.quote is not None and found.over_term is not None
    assert sum(line.total for line in found.quote.lines) == found.quote.total
    unit = 1.0 if currency == "KRW" else 0.01
    for line, printed in zip(found.lines, found.quote.lines, strict=True):
        assert float(printed.total) == pytest.approx(line.over_term, abs=unit)
    assert float(found.quote.total) == pytest.approx(found.over_term.value, abs=unit * len(found.lines))


def test_present_value_is_the_term_without_interest_and_less_with_it() -> None:
    free, dear = (cost(assumptions={"discount_rate": rate}) for rate in (0.0, 0.12))
    assert free.present_value is not None and free.over_term is not None
    assert free.present_value.value == pytest.approx(free.over_term.value)
    assert dear.present_value is not None and dear.over_term is not None
    assert dear.present_value.value < dear.over_term.value
    assert dear.hourly.value > free.hourly.value


def test_each_region_has_its_own_tariff_salaries_space_and_grid() -> None:
    found = {region: cost(assumptions={"region": region}) for region in REGIONS}
    for item in ("power", "staff", "space"):
        assert len({round(lines(one)[item], 6) for one in found.values()}) == len(REGIONS), item
    carbon = {region: one.carbon.intensity.value for region, one in found.items() if one.carbon}
    assert carbon == {"korea": 0.4173, "us": 0.366, "eu": 0.214, "japan": 0.438}
    # 0.2 EUR/kWh at 0.924 EUR/USD is dearer than 118.4 KRW/kWh at 1,422 KRW/USD with its charge for the load.
    assert lines(found["eu"])["power"] > lines(found["korea"])["power"] > lines(found["us"])["power"]


def test_a_tier_of_the_tariff_is_one_of_its_region() -> None:
    large = cost(assumptions={"tariff_tier": "industrial-large"})
    assert lines(large)["power"] > lines(cost())["power"]
    with pytest.raises(NotFound, match="industrial-large"):
        answer(assumptions={"tariff_tier": "non-household"})


def test_carbon_of_a_run_is_its_energy_on_the_grid() -> None:
    answered = answer(assumptions={"pue": 1.2})
    assert answered.cost is not None and answered.cost.carbon is not None and answered.energy is not None
    carbon = answered.cost.carbon
    assert carbon.run.value == pytest.approx(answered.energy.value / 3.6e6 * 0.4173)
    assert carbon.run.unit == "kg" and carbon.intensity.source is not None


def test_power_is_charged_at_its_mean_between_idle_and_typical() -> None:
    switch = sizing_context().catalog.figure("arista-7010t", "power_typical").si / 1000.0
    busy = cost(assumptions={"utilisation": 1.0, "pue": 1.0, "electricity_per_kwh": 0.1})
    assert lines(busy)["power"] == pytest.approx((1.15 * 4.2 + switch) * 0.1)
    half = cost(assumptions={"utilisation": 0.5, "pue": 1.0, "electricity_per_kwh": 0.1})
    assert lines(half)["power"] == pytest.approx((0.5 * 1.15 * 4.2 + 0.5 * 1.5 + switch) * 0.1 / 0.5)


@pytest.mark.parametrize(
    ("count", "stated", "tier", "energy", "demand"),
    [
        (1, None, "industrial-small", 118.4, 7470),
        (64, None, "industrial-large", 150.8, 9810),
        (1, "general", "general-small", 116.0, 8230),
        (64, "general", "general-large", 128.1, 9810),
        (1, "industrial-large", "industrial-large", 150.8, 9810),
    ],
)
def test_a_site_pays_the_tariff_of_its_load_and_kind(
    count: int, stated: str | None, tier: str, energy: float, demand: float
) -> None:
    """By hand: a full year at one load, its energy and twelve months of its charge."""
    stated_tier = {} if stated is None else {"tariff_tier": stated}
    found = cost(system={"count": count}, assumptions={"utilisation": 1.0, "pue": 1.0, **stated_tier})
    assert found.basis["tariff_tier"] == tier
    kilowatts = site_power_of(
        sizing_context().hardware.system("dgx-a100-640gb", count), AssumptionsInput(pue=1.0),
        sizing_context().catalog, "bert",
    ).training.value / 1000.0  # fmt: skip
    won = kilowatts * (YEAR_HOURS * energy + 12 * demand)
    assert lines(found)["power"] == pytest.approx(won / 1422.16 / YEAR_HOURS, rel=1e-3)


def test_a_cloud_costs_more_in_the_region_of_the_customer() -> None:
    us, seoul, tokyo = (
        cost(system={"id": "aws-p5"}, assumptions={} if region is None else {"region": region})
        for region in (None, "korea", "japan")
    )
    assert us.hourly.value == pytest.approx(55.04)
    assert seoul.hourly.value == pytest.approx(75.9552, rel=1e-4)
    assert tokyo.hourly.value == pytest.approx(68.8)
    stated = cost(system={"id": "aws-p5"}, assumptions={"region": "korea", "hourly_price": 60.0})
    assert stated.hourly.value == pytest.approx(60.0), "a stated rent is that of its region"
    elsewhere = cost(system={"id": "lambda-8xa100"}, assumptions={"region": "korea"})
    assert elsewhere.hourly.value == cost(system={"id": "lambda-8xa100"}).hourly.value


def test_support_and_staff_of_a_cloud_are_lines_that_are_zero_unless_stated() -> None:
    plain = cost(system={"id": "aws-p5"})
    assert {item for item, hour in lines(plain).items() if hour == 0} == {
        "storage", "egress", "support", "staff",
    }  # fmt: skip
    helped = cost(
        system={"id": "aws-p5"},
        assumptions={"cloud_support": "business", "staff": 0.5, "utilisation": 1.0},
    )
    bill = 55.04 * YEAR_HOURS / 12
    support = 0.1 * 10_000 + 0.07 * (bill - 10_000)
    assert lines(helped)["support"] == pytest.approx(support * 12 / YEAR_HOURS)
    assert lines(helped)["staff"] == pytest.approx(0.5 * 160_000 / YEAR_HOURS)
    assert set(helped.basis["include"]) == {"support", "staff"}  # type: ignore[arg-type]


def test_storage_is_bought_with_a_machine_and_rented_with_an_instance() -> None:
    owned = cost(assumptions={"storage_tb": 100.0})
    assert owned.capex is not None
    plain = cost()
    assert plain.capex is not None and "storage" not in lines(plain)
    bought = 1.03 * 1.04  # spare parts, then freight, installation and start-up
    more = owned.capex.value - plain.capex.value
    assert 100 * 400 * bought < more < 1.6 * 100 * 400 * bought  # the drives, and the network to them
    assert "storage" in owned.basis["include"] and owned.basis["storage_tb"] == pytest.approx(100)
    usual = cost(assumptions={"include": ["storage"]}, system={"count": 2})
    assert usual.basis["storage_tb"] == pytest.approx(100)  # 50 TB a machine
    kept = {"storage_tb": 10.0, "egress_gb": 1000.0, "utilisation": 1.0}
    rented = cost(system={"id": "aws-p4d"}, assumptions=kept)
    assert lines(rented)["storage"] == pytest.approx(10_000 * 0.023 / (YEAR_HOURS / 12))
    assert lines(rented)["egress"] == pytest.approx(1000 * 0.09 / (YEAR_HOURS / 12))
    with pytest.raises(BadInput, match="include"):
        answer(assumptions={"storage_tb": 10.0, "include": ["power"]})


def test_people_are_charged_as_stated() -> None:
    found = cost(assumptions={"staff": 2.0, "region": "us", "utilisation": 1.0})
    assert lines(found)["staff"] == pytest.approx(2 * 160_000 / YEAR_HOURS)


def rented(rental: str, **assumptions: Any) -> Estimate:
    return answer(system={"id": "aws-p4d", "count": 4}, assumptions={"rental": rental, **assumptions})


def test_commitments_are_cheaper_by_the_hour() -> None:
    """A commitment is paid for every hour, used or not; list and spot prices for the hours in use."""
    listed = {"on-demand": 21.957642, "reserved-1-year": 13.92, "reserved-3-years": 9.374, "spot": 16.298}
    for rental, price in listed.items():
        for share in (1.0, 0.5):
            found = rented(rental, utilisation=share).cost
            assert found is not None and found.over_term is not None
            idle = share if rental.startswith("reserved") else 1.0
            assert found.hourly.value / 4 == pytest.approx(price / idle)
            assert found.over_term.value == pytest.approx(4 * price / idle * share * YEAR_HOURS * 4)


def test_interruptions_lengthen_a_spot_run_and_its_cost() -> None:
    calm, rough = (rented("spot", spot_interruptions_per_month=rate) for rate in (0.0, 300.0))
    assert calm.time_to_train and rough.time_to_train and calm.cost and rough.cost
    assert rented("on-demand").time_to_train == calm.time_to_train
    assert rough.time_to_train.value > calm.time_to_train.value
    assert rough.cost.run.value > calm.cost.run.value
    steps = {step.name: step.value for step in rough.trace}
    assert steps["spot_price_of_progress"] > 16.298
    owned = answer(assumptions={"rental": "spot", "spot_interruptions_per_month": 300.0})
    assert owned.time_to_train == answer().time_to_train


def test_a_rental_nobody_publishes_is_said_with_those_that_are() -> None:
    found = answer(system={"id": "azure-nd96amsr"}, assumptions={"rental": "spot"})
    assert found.cost is None
    (warning,) = [one for one in found.warnings if one.code == "price_unknown"]
    assert "on demand" in warning.message


def test_prices_are_taken_as_of_a_day() -> None:
    def hourly(day: datetime.date | None) -> float:
        found = cost(system={"id": "aws-p4d"}, assumptions={} if day is None else {"price_date": day})
        return found.hourly.value

    assert hourly(None) == hourly(datetime.date(2026, 8, 1)) == pytest.approx(21.957642)
    assert hourly(datetime.date(2024, 1, 1)) == pytest.approx(32.77)
    early = answer(system={"id": "aws-p4d"}, assumptions={"price_date": datetime.date(2019, 1, 1)})
    assert early.cost is not None and early.cost.hourly.value == pytest.approx(32.77)
    assert "price_after_date" in {one.code for one in early.warnings}


def test_the_network_of_a_cluster_costs_its_switches_and_cables() -> None:
    from app.estimating.network_parts import network_bill

    found = cost(system={"count": 20})
    assert found.capex is not None
    bill = network_bill(
        sizing_context().catalog, fabric="hdr-infiniband", nodes=20, ports_per_node=8,
        machine="dgx-a100-640gb",
    )  # fmt: skip
    priced = {figure.item: figure for line in found.lines for figure in line.figures}
    assert priced["qm8790"].value * 12 < bill.price.value
    assert lines(found)["fabric"] / lines(found)["machines"] == pytest.approx(
        bill.price.value / (20 * 270_000)
    )


def test_every_line_says_what_it_rests_on() -> None:
    found = cost(system={"count": 2}, assumptions={"electricity_per_kwh": 0.1})
    for line in found.lines:
        assert line.figures, line.item
        for figure in line.figures:
            assert figure.low <= figure.value <= figure.high
            assert (figure.source is None) == (figure.status == "stated")
            assert figure.default == (figure.status != "stated")
    power = next(line for line in found.lines if line.item == "power")
    assert {(one.name, one.status) for one in power.figures} >= {("electricity_per_kwh", "stated")}


SYSTEMS = ("dgx-a100-640gb", "dgx-a100-320gb", "a100-sxm-80gb", "ipu-pod16", "bow-pod64", "aws-p4d")


def test_the_currency_changes_no_ranking() -> None:
    def ranking(currency: str) -> list[str]:
        return sorted(SYSTEMS, key=lambda name: cost(system={"id": name}, currency=currency).run.value)

    assert ranking("USD") == ranking("KRW")


def test_the_basis_repeats_what_two_costs_must_share() -> None:
    owned, rent = cost(), cost(system={"id": "aws-p4d"})
    common = {"acquisition", "utilisation", "include", "currency", "region", "term_years", "discount_rate"}
    assert common <= set(owned.basis) & set(rent.basis) & set(COST_BASIS)
    assert owned.basis["exchange_rate_as_of"] == "2025-12-31"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("discount_rate", -0.1),
        ("discount_rate", 1.5),
        ("residual_share", 2.0),
        ("staff", -1.0),
        ("storage_tb", 1e9),
        ("egress_gb", -1.0),
        ("spot_interruptions_per_month", 1e6),
    ],
)
def test_what_makes_no_sense_is_refused_at_its_field(name: str, value: float) -> None:
    with pytest.raises(BadInput) as refusal:
        answer(assumptions={name: value})
    assert refusal.value.errors[0].field == f"assumptions.{name}"
