"""Money: capital, hours of a system owned or rented, runs.

Amounts are in one currency throughout; the caller says which. Capital is counted in years, as its
interest is.
"""

from app.engine.cost.capital import capital_charge, capital_recovery_factor
from app.engine.cost.hours import (
    OwnedSystem,
    hourly_cost,
    owned_hourly_cost,
    rented_hourly_cost,
    run_cost,
)

__all__ = [
    "OwnedSystem",
    "capital_charge",
    "capital_recovery_factor",
    "hourly_cost",
    "owned_hourly_cost",
    "rented_hourly_cost",
    "run_cost",
]
