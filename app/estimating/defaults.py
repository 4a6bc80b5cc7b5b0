"""The defaults of an estimate beside those of its workload, with their reasons."""

from __future__ import annotations

from pydantic import JsonValue

from app.catalog.defaults import CostDefaults, ReliabilityDefaults
from app.catalog.figures import Figure
from app.engine.reliability import job_failure_rate
from app.engine.units import DAY, KILOWATT_HOUR, MINUTE, TERABYTE, YEAR
from app.errors import Message
from app.estimating.capital import STORAGE
from app.estimating.deciding import PlanDecision
from app.estimating.documents import Default
from app.estimating.hardware import Hardware
from app.estimating.plan_search import default_margin
from app.estimating.prices import DollarPrices
from app.estimating.request import AssumptionsInput, EstimateRequest
from app.estimating.runtime import Run


def system_defaults(request: EstimateRequest, hardware: Hardware) -> list[Default]:
    system = request.system
    usual = Message("default configuration of {system}", {"system": hardware.entry.name})
    defaults = []
    if "count" not in system.model_fields_set:
        defaults.append(Default.of("system.count", hardware.count, Message("1 by default")))
    if system.fabric is None:
        defaults.append(Default.of("system.fabric", hardware.fabric, usual))
    if system.ports_per_node is None:
        defaults.append(Default.of("system.ports_per_node", hardware.ports_per_node, usual))
    if "currency" not in request.model_fields_set:
        defaults.append(Default.of("currency", request.currency, Message("US dollars by default")))
    return defaults


def plan_defaults(decision: PlanDecision) -> list[Default]:
    defaults = []
    if decision.batch_searched:
        why = Message("shortest training time within the range where convergence holds")
        defaults.append(Default.of("workload.global_batch", decision.batch, why))
    if decision.request.assumptions.memory_margin is None:
        margin = round(default_margin(decision.scenario), 6)
        why = Message("memory reserved for what no formula counts")
        defaults.append(Default.of("assumptions.memory_margin", margin, why))
    return defaults


def failure_defaults(
    assumptions: AssumptionsInput, reliability: ReliabilityDefaults, run: Run, machines: int
) -> list[Default]:
    rate, interval = reliability.failure_rate, run.time.interval / MINUTE
    of_job = float(job_failure_rate(rate.si, machines, reliability.failure_growth.si)) / machines
    values: dict[str, tuple[JsonValue, Message]] = {
        "failures_per_1000_node_days": (round(of_job * 1000.0 * DAY, 6), _figure(rate)),
        "restart_minutes": (reliability.restart.si / MINUTE, _figure(reliability.restart)),
        "checkpoint_minutes": (
            round(interval, 3) if interval < 1e9 else None, Message("interval with the least loss (Daly)"),
        ),
    }  # fmt: skip
    return [
        Default.of(f"assumptions.{name}", value, why)
        for name, (value, why) in values.items()
        if getattr(assumptions, name) is None
    ]


def price_defaults(
    assumptions: AssumptionsInput, prices: DollarPrices | None, cost: CostDefaults
) -> list[Default]:
    entries: list[Default] = []

    def add(name: str, value: JsonValue, figure: Figure | None, why: Message | None = None) -> None:
        if getattr(assumptions, name) is None:
            entries.append(Default.of(f"assumptions.{name}", value, why or _figure(figure)))

    add("pue", cost.pue.si if prices is None else prices.pue, cost.pue)
    if prices is None:
        return entries
    usual = Message("by default, machines are owned and cloud instances rented")
    add("acquisition", "own" if prices.terms.owned else "rent", None, usual)
    where = Message("Korea for owned systems; published rental prices are for the United States")
    add("region", prices.terms.region, None, where)
    add("amortisation_years", cost.amortisation.si / YEAR, cost.amortisation)
    add("discount_rate", round(prices.discount_rate, 9), cost.capital_rate)
    add("utilisation", cost.utilisation.si, cost.utilisation)
    if STORAGE in prices.terms.include:
        add("storage_tb", round(prices.stored / TERABYTE, 9), cost.storage_per_node)
    if "cloud_support" not in assumptions.model_fields_set:
        none = Message("no support plan by default")
        entries.append(Default.of("assumptions.cloud_support", assumptions.cloud_support, none))
    if prices.terms.owned:
        add("residual_share", prices.residual, cost.residual)
        add("tariff_tier", prices.terms.tier, cost.tariff)
        if "staff" in prices.terms.include:
            add("staff", round(prices.staff, 9), cost.staff_per_node)
        all_items = Message("all cost items with a sourced or marked figure")
        add("include", list(prices.terms.include), None, all_items)
        per_kwh = prices.electricity_in_all * KILOWATT_HOUR * prices.exchange.value
        add("electricity_per_kwh", round(per_kwh, 6), cost.tariff)
    else:
        add("rental", prices.terms.rental, None, Message("on-demand by default"))
        if prices.terms.spot:
            rate = cost.interruptions
            add("spot_interruptions_per_month", rate.value, rate)
    return entries


def _figure(figure: Figure | None) -> Message:
    if figure is None:
        return Message("catalogue value")
    return Message(
        "catalogue value: {publisher}, {date}", {"publisher": figure.source.publisher, "date": figure.as_of}
    )
