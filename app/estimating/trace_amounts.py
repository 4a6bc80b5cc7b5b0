"""The inputs of a trace as SI values with units, beside the figures as the catalogue states them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from app.catalog.catalog import Catalog
from app.engine.units import HOUR, KILOWATT_HOUR, YEAR
from app.estimating.documents import Amount, TraceStep
from app.estimating.money import Cost

NAMED: Mapping[str, str] = {
    **dict.fromkeys(("samples", "S0", "Bc", "global_batch", "micro_batch"), "samples"),
    **dict.fromkeys(
        (
            *("step_time", "evaluation", "checkpoint", "failures", "time_to_train", "checkpoint_seconds"),
            *("interval", "checkpoint_interval", "mean_time_to_failure", "restart", "step_overhead"),
        ),
        "s",
    ),
    **dict.fromkeys(("forward_flop", "total_flop"), "FLOP"),
    "peak": "FLOP/s",
    "stored_bytes": "B",
}
"""SI units of inputs by name; inputs without a unit here or in the catalogue are numbers or shares."""

MONEY: Mapping[str, tuple[float, str]] = {
    "amortisation_years": (YEAR, "s"),
    "electricity_per_kwh": (1.0 / KILOWATT_HOUR, "{currency}/J"),
    "system_price": (1.0, "{currency}"),
    **dict.fromkeys(("hourly_price", "cost_per_hour"), (1.0 / HOUR, "{currency}/s")),
    **dict.fromkeys(("price", "reserved", "on_demand"), (1.0 / HOUR, "USD/s")),
}
"""Factor to SI units, and the unit, of amounts of money and terms."""


def with_amounts(steps: Sequence[TraceStep], catalog: Catalog, cost: Cost | None) -> list[TraceStep]:
    """Return steps with their numeric inputs in SI units as well."""
    figures = (
        [] if cost is None else [*cost.figures, *(figure for line in cost.lines for figure in line.figures)]
    )
    stated = {
        f"{figure.item}.{figure.name}" if figure.item else figure.name: figure.unit for figure in figures
    }
    return [step.model_copy(update={"quantities": amounts_of(step, catalog, cost, stated)}) for step in steps]


def amounts_of(
    step: TraceStep, catalog: Catalog, cost: Cost | None, stated: Mapping[str, str]
) -> dict[str, Amount]:
    currency = "" if cost is None else cost.hourly.unit
    hourly = () if cost is None or step.name != "cost_per_hour" else [line.item for line in cost.lines]

    def amount(name: str, value: float) -> Amount:
        if name in hourly:
            return Amount(value=value / HOUR, unit=f"{currency}/s")
        if name in NAMED:
            return Amount(value=value, unit=NAMED[name])
        if name in MONEY:
            factor, unit = MONEY[name]
            return Amount(value=value * factor, unit=unit.format(currency=currency))
        item, _, parameter = name.rpartition(".")
        catalogued = catalog.find(item, parameter) if item else None
        field = catalog.fields.get(parameter)
        unit = stated.get(name) or (catalogued.unit.name if catalogued else field.units[0] if field else "1")
        record = catalog.units.get(unit)
        if record is None or record.factor is None:
            return Amount(value=value, unit=unit)
        return Amount(value=value * record.factor, unit=record.si_unit)

    return {
        name: amount(name, float(value))
        for name, value in step.inputs.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    }
