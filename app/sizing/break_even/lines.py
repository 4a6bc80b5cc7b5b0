"""Lines of an amount: what is paid for, how much, and by which rule."""

from __future__ import annotations

from collections.abc import Iterable

from app.engine.units import HOURS_PER_YEAR, MONTHS
from app.errors import Message
from app.sizing.break_even.documents import AmountLine
from app.sizing.break_even.request import BreakEvenRequest
from app.sizing.document import Text

HOURS_PER_MONTH = HOURS_PER_YEAR / MONTHS


def line(item: str, amount: float, rule: Message) -> AmountLine:
    """Return one line."""
    return AmountLine(item=item, amount=amount, rule=Text.of(rule))


def running_lines(inputs: dict[str, float]) -> list[AmountLine]:
    """Return the running cost of a month by line; empty where it was stated."""
    if "onprem_monthly" in inputs:
        return []
    staff, pay = inputs["onprem.staff"], inputs["onprem.staff_cost"]
    parts: Iterable[tuple[str, float, Message]] = (
        (
            "power",
            inputs["onprem.power_kw"] * inputs["onprem.pue"] * inputs["onprem.tariff"] * HOURS_PER_MONTH,
            Message(
                "{power} kW × PUE {pue} × {hours} h × {tariff} a kWh",
                {
                    "power": round(inputs["onprem.power_kw"], 2),
                    "pue": inputs["onprem.pue"],
                    "hours": HOURS_PER_MONTH,
                    "tariff": round(inputs["onprem.tariff"], 4),
                },
            ),
        ),
        (
            "staff",
            staff * pay / MONTHS,
            Message("{staff} posts × {pay} a year / 12", {"staff": round(staff, 3), "pay": round(pay)}),
        ),
        ("space", inputs["onprem.space"], Message("by the month")),
        (
            "support",
            inputs["onprem.support"] * inputs["capex"] / MONTHS,
            Message(
                "{share} % of the purchase price a year / 12",
                {"share": round(100 * inputs["onprem.support"], 2)},
            ),
        ),
    )
    return [line(name, amount, rule) for name, amount, rule in parts]


def rent_lines(request: BreakEvenRequest, inputs: dict[str, float]) -> list[AmountLine]:
    """Return the cloud bill of a month by line; empty where it was stated."""
    if request.cloud is None:
        return []
    hours, price = inputs["cloud.hours_per_month"], inputs["cloud.hourly_price"]
    rule = Message(
        "{count} × {hours} h × {price} an hour",
        {"count": request.cloud.count, "hours": hours, "price": round(price, 4)},
    )
    return [line("instances", request.cloud.count * hours * price, rule)]
