"""Money: capital, hours of a system owned or rented, runs, and what they come to over a term.

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
from app.engine.cost.rental import (
    reservation_threshold,
    reserved_hourly_price,
    spot_hourly_price,
    storage_cost,
    transfer_cost,
)
from app.engine.cost.terms import (
    accelerator_hour_cost,
    monthly_payment,
    present_worth_factor,
)

__all__ = [
    "OwnedSystem",
    "accelerator_hour_cost",
    "capital_charge",
    "capital_recovery_factor",
    "hourly_cost",
    "monthly_payment",
    "owned_hourly_cost",
    "present_worth_factor",
    "rented_hourly_cost",
    "reservation_threshold",
    "reserved_hourly_price",
    "run_cost",
    "spot_hourly_price",
    "storage_cost",
    "transfer_cost",
]
