"""Inputs of time and money that a customer would question: storage, failures, power, staff, sites, taxes."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import pytest

from app.catalog.defaults import CURRENCIES
from app.catalog.entries import ChipKind
from app.engine.reliability import interruption_rate, write_bandwidth
from app.estimating.context import SizingContext
from app.estimating.costing import Charges
from app.estimating.hardware import Reliability, reliability
from app.estimating.money import Cost
from app.estimating.prices import prices, site_power_of, staff_posts, training_power
from app.estimating.request import AssumptionsInput
from app.features.bills.bill import make_bill
from app.features.bills.model import BillRequest
from app.features.break_even.deciding import decide
from app.features.break_even.model import BreakEvenRequest
from tests.conftest import answer, codes, warning

NODE_DAY = 86_400.0 * 1000.0


def cost(**parts: Any) -> Cost:
    found = answer(**parts).cost
    assert found is not None
    return found


def assumed(context: SizingContext, kind: ChipKind = ChipKind.GPU, **stated: Any) -> Reliability:
    return reliability(context.catalog.reliability_defaults(kind), AssumptionsInput(**stated))


def bandwidth(found: Reliability, machines: float) -> float:
    return write_bandwidth(machines, found.bandwidth, found.storage + found.storage_per_machine * machines)


def failing(found: Reliability, rate: float, machines: float) -> float:
    """Interruptions of a job on so many machines. [1/s]"""
    return interruption_rate(rate, machines, found.growth, found.taken_back)


def test_checkpoints_are_no_faster_than_the_storage(context: SizingContext) -> None:
    """256 machines of 10 GiB/s would write 2.75 TB/s; a reference architecture has 80 GB/s for 127."""
    usual = assumed(context)
    assert bandwidth(usual, 127) == pytest.approx(80e9, rel=0.01)
    assert bandwidth(usual, 256) < 0.1 * 256 * usual.bandwidth


def test_storage_that_is_bought_decides_and_more_of_it_is_faster(context: SizingContext) -> None:
    small, large = (assumed(context, storage_tb=size) for size in (100.0, 400.0))
    assert bandwidth(small, 256) == pytest.approx(100 * 0.227e9)
    assert bandwidth(large, 256) == pytest.approx(4 * bandwidth(small, 256))
    # Ever more storage ends at what the machines can send.
    assert bandwidth(assumed(context, storage_tb=1e5), 4) == pytest.approx(4 * 10 * 2**30)
    counted = assumed(context, include=["storage"])
    assert bandwidth(counted, 8) == pytest.approx(8 * min(50 * 0.227e9, 10 * 2**30))


JOBS = {
    "Meta RSC-1, 8 GPUs": ("meta-rsc-1", 1),
    "BLOOM": ("bloom-run", 50),
    "OPT-175B": ("opt-175b-run", 124),
    "Meta RSC-1, 1,024 GPUs": ("meta-rsc-1", 128),
    "Llama 3": ("llama3-run", 2048),
}


def failures_a_day(context: SizingContext, name: str) -> float:
    """Failures of a published job in a day, from its own figures."""
    item, machines = JOBS[name]
    figure = context.catalog.figure
    if item == "meta-rsc-1":
        return 86_400.0 / figure(item, "mean_time_to_failure", "8 GPUs" if machines == 1 else "1,024 GPUs").si
    if item == "bloom-run":
        return figure(item, "failures_per_week").si / 7.0
    days = figure(item, "duration").si / 86_400.0
    if item == "llama3-run":
        return figure(item, "interruptions").si / days
    return (figure(item, "restarts_manual").si + figure(item, "restarts_automatic").si) / days


@pytest.mark.parametrize("name", JOBS)
def test_every_published_job_lies_within_the_law_of_failures(context: SizingContext, name: str) -> None:
    found, machines = assumed(context), float(JOBS[name][1])
    end = math.exp(1.2816 * found.rate_deviation)
    low, central, high = (
        86_400.0 * failing(found, found.rate * factor, machines) for factor in (1.0 / end, 1.0, end)
    )
    # The range is symmetric in logarithms and takes the ratio of the ends of the figure.
    assert low / 1.2 <= failures_a_day(context, name) <= 1.2 * high
    assert low < central < high


def test_a_larger_job_fails_more_often_but_each_of_its_machines_less(context: SizingContext) -> None:
    found = assumed(context)
    one, many = (failing(found, found.rate, count) for count in (1.0, 128.0))
    assert 1 < many / one < 128
    stated = assumed(context, failures_per_1000_node_days=6.5)
    assert failing(stated, stated.rate, 128.0) == pytest.approx(128 * 6.5 / NODE_DAY)


def test_the_failure_rate_of_the_defaults_is_that_of_the_job(context: SizingContext) -> None:
    usual = answer(system={"count": 16})
    rate = next(one.value for one in usual.defaults if one.field == "assumptions.failures_per_1000_node_days")
    stated = answer(system={"count": 16}, assumptions={"failures_per_1000_node_days": rate})
    assert isinstance(rate, float) and rate > 7.5
    assert stated.time_to_train is not None and usual.time_to_train is not None
    assert stated.time_to_train.value == pytest.approx(usual.time_to_train.value, rel=1e-6)


def test_a_pod_of_one_host_needs_no_staff_of_four_nodes(context: SizingContext) -> None:
    catalog = context.catalog
    posts = {
        name: staff_posts(
            catalog.system(name), 100, catalog.cost_defaults(catalog.system(name).machine.chip.kind)
        )
        for name in ("dgx-a100-640gb", "bow-pod16", "bow-pod64")
    }
    assert posts["dgx-a100-640gb"] == pytest.approx(1.5)
    assert posts["dgx-a100-640gb"] < posts["bow-pod16"] < 2 * posts["dgx-a100-640gb"]
    assert posts["bow-pod64"] == pytest.approx(4 * posts["bow-pod16"])


def test_a_site_needs_staff_however_small_it_is(context: SizingContext) -> None:
    catalog = context.catalog
    defaults, entry = catalog.cost_defaults(ChipKind.GPU), catalog.system("dgx-h100")
    assert staff_posts(entry, 1, defaults) == staff_posts(entry, 30, defaults) == 0.5
    assert staff_posts(entry, 128, defaults) == pytest.approx(1.92)


def test_a_site_draws_more_than_its_machines(context: SizingContext) -> None:
    for system, count in (("h100-sxm-80gb", 8), ("bow-pod64", 1), ("dgx-h100", 1)):
        hardware = context.hardware.system(system, count)
        drawn = site_power_of(hardware, AssumptionsInput(pue=1.3), context.catalog, "gpt")
        machines = training_power(hardware, context.catalog, "gpt").value
        bill = make_bill(BillRequest(system=system, count=count), context)
        beside = bill.totals.power.value - hardware.entry.power_typical.value * count
        assert drawn.training.value == pytest.approx(1.3 * (machines + beside))
        assert drawn.training.low < drawn.training.value < drawn.training.high
        assert 0.2 * drawn.training.value < drawn.idle < 0.5 * drawn.training.value


def test_estimate_and_build_or_rent_count_the_same_staff_and_resale(context: SizingContext) -> None:
    for system in ("dgx-a100-640gb", "bow-pod16"):
        basis = cost(system={"id": system, "count": 2})
        asked = {
            "currency": "USD",
            "hardware": {"system": system, "count": 2},
            "onprem": {},
            "cloud_monthly": 1e6,
        }
        decided = decide(BreakEvenRequest.model_validate(asked), context)
        found = answer(system={"id": system, "count": 2})
        posts = next(one.value for one in found.defaults if one.field == "assumptions.staff")
        told = {step: value for one in decided.trace for step, value in one.inputs.items()}
        taken = next(one.value for one in decided.defaults if one.field == "onprem.staff")
        assert taken == pytest.approx(posts)
        assert told["residual_share"] == pytest.approx(basis.basis["residual_share"])


def test_power_depends_on_what_is_trained_and_has_a_range() -> None:
    language = answer(system={"id": "dgx-a100-640gb"}).system.power
    images = answer(
        model={"preset": "resnet50"},
        workload={"samples": 1e6, "global_batch": 2048, "precision": "fp16", "seq_len": None},
        system={"id": "dgx-a100-640gb"},
    ).system.power
    assert images.value == pytest.approx(4200.0)
    assert language.value == pytest.approx(1.15 * 4200.0)
    assert images.low < images.value < images.high <= 6500.0
    assert answer(system={"id": "a100-sxm-80gb"}).system.power == language


@pytest.mark.parametrize(
    ("system", "pue"),
    [("dgx-a100-640gb", 1.58), ("aws-p4d", 1.15), ("gcp-a2-highgpu-8g", 1.1), ("lambda-8xa100", 1.15)],
)
def test_every_operator_has_its_own_site(system: str, pue: float) -> None:
    found = answer(system={"id": system})
    assert next(one.value for one in found.defaults if one.field == "assumptions.pue") == pue
    assert found.energy is not None and found.time_to_train is not None
    facility = found.energy.value / found.time_to_train.value
    assert facility / found.system.power.value == pytest.approx(pue)


def test_the_exchange_rate_widens_what_is_converted_and_nothing_else() -> None:
    dollars, won = (answer(currency=currency).cost for currency in ("USD", "KRW"))
    assert dollars is not None and won is not None and dollars.capex is not None and won.capex is not None
    widened = math.log(won.capex.high / won.capex.low) / math.log(dollars.capex.high / dollars.capex.low)
    assert 1.02 < widened < 1.2
    # A price stated in won is not converted; the rack it stands in is.
    stated = answer(currency="KRW", assumptions={"system_price": 4e8, "include": []}).cost
    assert stated is not None and stated.capex is not None
    assert stated.capex.low == pytest.approx(stated.capex.high)


@pytest.mark.parametrize("price", [None, 4e8])
def test_an_answer_in_another_currency_than_the_customers_is_converted_at_one_rate(
    price: float | None,
) -> None:
    home = answer(currency="KRW", assumptions={"system_price": price}).cost
    assert home is not None
    rate = float(str(home.basis["won_per_dollar"]))
    told = {"system_price": price and price / rate, "home_currency": "KRW"}
    abroad = answer(currency="USD", assumptions=told).cost
    assert abroad is not None and abroad.run_samples is not None and home.run_samples is not None
    assert [one * rate for one in abroad.run_samples] == pytest.approx(home.run_samples, rel=1e-4)


def test_a_bill_names_the_taxes_it_leaves_out(context: SizingContext) -> None:
    korea = make_bill(BillRequest(system="dgx-a100-640gb", count=2, currency="KRW"), context)
    rates = {tax.name: tax.rate for tax in korea.taxes}
    assert rates == {"vat": 0.1, "duty": 0.0}
    vat = next(tax for tax in korea.taxes if tax.name == "vat")
    assert vat.amount.value == pytest.approx(0.1 * korea.totals.price.value)
    assert vat.source.url
    assert korea.tax_note is not None
    europe = make_bill(BillRequest(system="dgx-a100-640gb", region="eu"), context)
    assert europe.taxes[0].rate == pytest.approx(0.219)


@pytest.mark.parametrize("currency", CURRENCIES)
def test_the_total_of_a_bill_is_the_purchase_of_an_estimate(context: SizingContext, currency: str) -> None:
    asked: list[dict[str, Any]] = [
        {},
        {"storage_tb": 300.0},
        {"include": ["hosts", "fabric", "storage", "licences"]},
        {"include": []},
    ]
    for system, count in (("dgx-a100-640gb", 4), ("gb200-nvl72", 1), ("ipu-m2000", 3), ("bow-pod64", 1)):
        for more in asked:
            assumptions = AssumptionsInput.model_validate({"acquisition": "own", **more})
            hardware = context.hardware.system(system, count)
            rates = prices(hardware, assumptions, currency, context.catalog, [])
            assert rates is not None
            charges = Charges(hardware, rates, currency=currency)
            fields = {"system": system, "count": count, "currency": currency, **more}
            bill = make_bill(BillRequest.model_validate(fields), context)
            assert charges.capital[0] == bill.totals.price.value, (system, more)
            for line in bill.lines:
                assert line.unit_price is not None and line.total is not None
                whole = Decimal(repr(line.unit_price.value)) * line.quantity
                assert whole == Decimal(repr(line.total.value)), line.item


@pytest.mark.parametrize(
    ("system", "estimated"),
    [("a100-sxm-80gb", True), ("dgx-a100-640gb", True), ("dgx-a100-320gb", False), ("aws-p4d", False)],
)
def test_a_price_that_nobody_published_is_marked(system: str, estimated: bool) -> None:
    found = answer(system={"id": system})
    assert ("price_is_estimate" in codes(found)) is estimated
    if estimated:
        assert warning(found, "price_is_estimate").fields == ["assumptions.system_price"]
        stated = answer(system={"id": system}, assumptions={"system_price": 200_000})
        assert "price_is_estimate" not in codes(stated)


@pytest.mark.parametrize("system", ["dgx-h100", "bow-pod16", "gb200-nvl72"])
def test_the_power_of_a_site_is_that_of_its_purchase(context: SizingContext, system: str) -> None:
    hardware, assumptions = context.hardware.system(system, 4), AssumptionsInput()
    found = prices(hardware, assumptions, "USD", context.catalog, [])
    assert found is not None and found.purchase is not None
    drawn = site_power_of(hardware, assumptions, context.catalog)
    assert site_power_of(hardware, assumptions, context.catalog, None, found.purchase) == drawn
