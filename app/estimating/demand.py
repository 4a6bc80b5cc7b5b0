"""How often the work is done: what may be asked."""

from __future__ import annotations

from app.errors import BadInput, FieldError, Message, Unprocessable
from app.estimating.request import Demand

MOST_RUNS = 1e9


def check_demand(demand: Demand | None) -> None:
    """Refuse a demand that can never be right, by field of the assumptions."""
    if demand is None:
        return
    field = "assumptions.demand"
    stated = {name: value for name, value in demand.model_dump().items() if value is not None}
    if len(stated) != 1:
        message = Message(
            "give exactly one of runs, runs_per_year and utilisation, not {given}",
            {"given": ", ".join(stated) or "none"},
        )
        raise BadInput(
            message,
            [FieldError(f"{field}.{name}", message) for name in stated] or [FieldError(field, message)],
        )
    ((name, value),) = stated.items()
    if name == "utilisation" and not 0 < value <= 1:
        raise BadInput.at(
            f"{field}.utilisation", "must be above 0 and at most {most}, not {value}", value=value, most=1
        )
    if not 0 < value <= MOST_RUNS:
        raise BadInput.at(
            f"{field}.{name}", "must be above 0 and at most {most}, not {value}", value=value, most=MOST_RUNS
        )
    if name == "runs" and value != int(value):
        raise Unprocessable.at(
            f"{field}.runs",
            "must be a whole number, not {value}; a rate may be stated as runs_per_year",
            value=value,
        )
