"""What the options cost over a term, all for the same useful hours."""

from __future__ import annotations

from collections.abc import Sequence

from app.engine.cost.hours import run_cost
from app.engine.units import HOUR, HOURS_PER_YEAR
from app.sizing.document import ComparisonRow, Cost, Quantity
from app.sizing.proposal.documents import OptionTerm, Term, TermLine


def term_of(rows: Sequence[ComparisonRow], years: float) -> Term | None:
    """Return the costs of all estimates over a term; None where none has a cost.

    Rented systems are paid for as many useful hours as the owned ones of the comparison work; where
    nothing is owned, for the hours that their own basis states.
    """
    costed = [(row, row.estimate.cost) for row in rows if row.estimate is not None and row.estimate.cost]
    if not costed:
        return None
    owned = [cost for _, cost in costed if cost.basis.get("acquisition") == "own"]
    share = useful_share((owned or [cost for _, cost in costed])[0])
    hours = share * HOURS_PER_YEAR
    return Term(
        years=years,
        useful_hours_per_year=hours,
        options=[option_term(row, cost, hours, years) for row, cost in costed],
    )


def useful_share(cost: Cost) -> float:
    """Return the share of the calendar in which a system works, as the basis of its cost says."""
    stated = cost.basis.get("utilisation")
    return float(stated) if isinstance(stated, int | float) else 1.0


def option_term(row: ComparisonRow, cost: Cost, hours: float, years: float) -> OptionTerm:
    """Return what one option costs over the term."""
    seconds = hours * HOUR
    return OptionTerm(
        label=row.label,
        acquisition=str(cost.basis.get("acquisition", "")),
        hourly=cost.hourly,
        yearly=used(cost.hourly, seconds),
        over_term=used(cost.hourly, seconds * years),
        runs=hours * years / row.hours if row.hours else None,
        lines=[
            TermLine(item=line.item, amount=float(run_cost(line.hourly, seconds * years)))
            for line in cost.lines
        ],
    )


def used(hourly: Quantity, seconds: float) -> Quantity:
    """Return the cost of so many seconds of work at the price of an hour."""
    value, low, high = (float(run_cost(end, seconds)) for end in (hourly.value, hourly.low, hourly.high))
    return Quantity(value=value, low=low, high=high, unit=hourly.unit)
