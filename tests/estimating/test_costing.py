"""Cost of a run: owned or rented, on a stated basis, in dollars or won."""

import math
from typing import Any

import pytest

from app.estimating.documents import Estimate
from app.estimating.effects import UNNAMED
from app.estimating.estimate import estimate
from app.estimating.money import Cost
from app.estimating.request import EstimateRequest
from tests.conftest import answer, asked, seconds, sizing_context

HOUR = 3600.0


def cost(found: Estimate) -> Cost:
    assert found.cost is not None
    return found.cost


@pytest.mark.parametrize(
    ("system", "assumptions", "owned"),
    [
        ("dgx-a100-640gb", {}, True),
        ("bow-pod16", {}, True),
        ("aws-p4d", {}, False),
        ("gcp-a2-ultragpu-8g", {}, False),
        ("dgx-a100-640gb", {"acquisition": "rent", "hourly_price": 20.0}, False),
    ],
)
def test_machines_are_owned_and_instances_rented(
    system: str, assumptions: dict[str, Any], owned: bool
) -> None:
    found = cost(answer(system={"id": system}, assumptions=assumptions))
    assert found.basis["acquisition"] == ("own" if owned else "rent")
    assert (found.capex is not None) == owned
    assert ("amortisation_years" in found.basis) == owned
    assert ("hourly_usd" in found.basis) != owned


@pytest.mark.parametrize("system", ["dgx-a100-640gb", "ipu-pod64", "aws-p4d"])
def test_the_lines_add_up_to_the_hour_and_the_hours_to_the_run(system: str) -> None:
    answered = answer(system={"id": system})
    found = cost(answered)
    assert sum(line.hourly for line in found.lines) == pytest.approx(found.hourly.value)
    assert found.run.value == pytest.approx(found.hourly.value * seconds(answered) / HOUR)
    assert all(line.hourly >= 0 for line in found.lines)


@pytest.mark.parametrize("system", ["dgx-a100-640gb", "bow-pod64", "aws-p4d"])
def test_won_are_dollars_times_the_rate(system: str) -> None:
    dollars, won = (answer(system={"id": system}, currency=currency) for currency in ("USD", "KRW"))
    rate = float(str(cost(won).basis["won_per_dollar"]))
    assert 1000 < rate < 2000
    for name in ("run", "hourly", "capex"):
        here, there = getattr(cost(dollars), name), getattr(cost(won), name)
        if here is None:
            assert there is None
            continue
        assert there.unit == "KRW"
        assert there.value == pytest.approx(here.value * rate)
        assert there.low < there.value < there.high
        if name == "capex":
            # What is bought in dollars has the range of the exchange rate on top of that of its price.
            assert there.high / there.low > 1.005 * here.high / here.low
    assert seconds(dollars) == seconds(won)


def test_a_stated_price_is_in_the_currency_of_the_request() -> None:
    dollars = cost(answer(assumptions={"system_price": 200_000}))
    rate = float(str(dollars.basis["won_per_dollar"]))
    won = cost(answer(assumptions={"system_price": 200_000 * rate}, currency="KRW"))
    assert dollars.capex is not None
    assert won.capex is not None
    assert won.capex.value == pytest.approx(dollars.capex.value * rate, rel=1e-6)
    assert won.run.value == pytest.approx(dollars.run.value * rate)


def test_a_rent_is_charged_by_the_hour_and_the_count() -> None:
    found = answer(system={"id": "aws-p4d", "count": 4}, assumptions={"hourly_price": 30.0})
    assert cost(found).hourly.value == pytest.approx(120.0)
    assert cost(found).run.value == pytest.approx(120.0 * seconds(found) / HOUR)


def test_what_is_not_included_is_not_charged() -> None:
    everything = cost(answer())
    machines = cost(answer(assumptions={"include": []}))
    names = {line.item for line in machines.lines if line.hourly > 0}
    assert not names & {"power", "space", "staff", "support", "fabric", "hosts"}
    assert machines.hourly.value < everything.hourly.value
    with_power = cost(answer(assumptions={"include": ["power"]}))
    assert with_power.hourly.value > machines.hourly.value


def test_a_machine_that_stands_idle_costs_its_runs_more() -> None:
    busy, idle = (cost(answer(assumptions={"utilisation": share})) for share in (1.0, 0.5))
    assert idle.run.value == pytest.approx(2 * busy.run.value, rel=0.05)


def test_longer_lifetimes_and_cheaper_power_cost_less() -> None:
    usual = cost(answer()).run.value
    assert cost(answer(assumptions={"amortisation_years": 8})).run.value < usual
    assert cost(answer(assumptions={"electricity_per_kwh": 0.0})).run.value < usual
    assert cost(answer(assumptions={"pue": 1.0})).run.value < usual


def test_an_ipu_machine_gets_the_host_it_needs() -> None:
    lines = {line.item: line.hourly for line in cost(answer(system={"id": "bow-2000"})).lines}
    assert lines["hosts"] > 0
    assert "hosts" not in {line.item for line in cost(answer()).lines}


def test_energy_is_power_times_time() -> None:
    found = answer(assumptions={"pue": 1.0})
    assert found.energy is not None
    assert found.system.power is not None
    assert found.energy.value == pytest.approx(found.system.power.value * seconds(found))
    assert 3000 < found.system.power.value <= 6500  # a DGX A100 draws 6.5 kW at most


def stated(request: EstimateRequest, found: Estimate) -> EstimateRequest:
    """Return a request in which every default of an answer is stated."""
    document = request.model_dump(exclude_unset=True)
    for default in found.defaults:
        *path, name = default.field.split(".")
        place = document
        for part in path:
            place = place.setdefault(part, {})
        assert name not in place, f"{default.field} was asked for, and is no default"
        place[name] = default.value
    return EstimateRequest.model_validate(document)


@pytest.mark.parametrize(
    "parts",
    [
        {},
        {"workload": {"global_batch": None}},
        {"model": {"preset": "resnet50"}, "workload": {"seq_len": None}},
        {"system": {"id": "bow-pod16"}},
        {"system": {"id": "aws-p4d", "count": 4}},
        {"system": {"id": "big-basin-p100"}},
        {"model": {"preset": "llama-7b"}, "system": {"count": 4}, "workload": {"seq_len": None}},
    ],
)
def test_every_default_is_listed_and_changes_nothing_when_stated(parts: dict[str, Any]) -> None:
    request = asked(**parts)
    cleaned = request.model_copy(
        update={
            "workload": type(request.workload).model_validate(
                request.workload.model_dump(exclude_unset=True, exclude_none=True)
            )
        }
    )
    found = answer(**parts)
    again = estimate(stated(cleaned, found), sizing_context())
    assert again.defaults == []
    assert again.memory == found.memory
    assert found.expectation is not None
    # Naming the software moves the headline from what people report, and what unnamed software takes, to what
    # it reaches.
    unnamed = math.prod(effect.factor for effect in found.effects if effect.name == UNNAMED)
    assert seconds(again) == pytest.approx(found.expectation.tuned.value / unnamed, rel=1e-5)
    if found.cost is not None and found.expectation.headline == "tuned":
        assert cost(again).run.value == pytest.approx(found.cost.run.value, rel=1e-4)
    assert all(default.why for default in found.defaults)
