"""From a request to amounts: what is stated, what the catalogue adds, each with its rule."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from app.catalog.books import RENTALS
from app.catalog.defaults import CostDefaults
from app.catalog.entries import ChipKind
from app.catalog.figures import Figure
from app.engine.units import HOUR, HOURS_PER_YEAR, KILOWATT, KILOWATT_HOUR, MONTHS, YEAR
from app.errors import AppError, BadInput, FieldError, Message, Unprocessable
from app.estimating.capital import capital_of, terms_of
from app.estimating.context import SizingContext
from app.estimating.documents import Default, Text
from app.estimating.hardware import Hardware
from app.estimating.prices import in_dollars, staff_posts
from app.estimating.request import AssumptionsInput
from app.estimating.schema import SourceRef
from app.estimating.trace import source_ref
from app.features.break_even.model import (
    AmountLine,
    BreakEvenRequest,
    CloudInput,
    HardwareInput,
    RunningInput,
)

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
                "{power} kW × PUE {pue} × {hours} h × {tariff} per kWh",
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
            Message("{staff} FTE × {pay} per year / 12", {"staff": round(staff, 3), "pay": round(pay)}),
        ),
        ("space", inputs["onprem.space"], Message("monthly charge")),
        (
            "support",
            inputs["onprem.support"] * inputs["capex"] / MONTHS,
            Message(
                "{share} % of the purchase price per year / 12",
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
        "{count} × {hours} h × {price} per hour",
        {"count": request.cloud.count, "hours": hours, "price": round(price, 4)},
    )
    return [line("instances", request.cloud.count * hours * price, rule)]


PEAK = "fp16_dense"


def used_share(own: Hardware, rented: Hardware, hours: float, context: SizingContext) -> float | None:
    """Return the share of a cluster that rented hours would fill; None where peaks do not compare.

    Peaks compare between GPUs only: what IPUs attain of theirs differs too much from what GPUs do.
    """
    if ChipKind.IPU in (own.entry.chip_kind, rented.entry.chip_kind):
        return None
    return _rate(rented, context) * hours / (_rate(own, context) * HOURS_PER_MONTH)


def _rate(hardware: Hardware, context: SizingContext) -> float:
    """Dense half-precision peak of all accelerators. [FLOP/s]"""
    return context.catalog.peak(hardware.entry.chip, PEAK).value * hardware.devices


KILOWATT_MONTH = KILOWATT * YEAR / MONTHS


@dataclass(slots=True)
class BreakEvenAmounts:
    """Inputs by their field in the request, and how they came about."""

    inputs: dict[str, float] = field(default_factory=dict)
    """Field → value; amounts in the currency."""
    capex_lines: list[AmountLine] = field(default_factory=list)
    capex_range: tuple[float, float] | None = None
    """What the catalogue's prices may be off by. [currency]"""
    capex_with_fabric: bool = False
    defaults: list[Default] = field(default_factory=list)
    figures: dict[str, list[Figure]] = field(default_factory=dict)
    """Figures behind ``capex``, ``onprem`` and ``cloud``."""
    own: Hardware | None = None
    rented: Hardware | None = None
    conversions: list[Figure] = field(default_factory=list)
    """The exchange rate, where it was needed."""

    def sources(self, *parts: str) -> list[SourceRef]:
        """Return where the figures of some parts come from."""
        figures = [figure for part in parts for figure in self.figures.get(part, [])]
        return list({figure.source.id: source_ref(figure.source) for figure in figures}.values())


def amounts_of(request: BreakEvenRequest, context: SizingContext) -> BreakEvenAmounts:
    """Return the amounts of a checked request, priced from the catalogue where they are described."""
    return _Reader(request, context).read()


class _Reader:
    """Reads one request; holds what its parts need from each other."""

    def __init__(self, request: BreakEvenRequest, context: SizingContext) -> None:
        self.request, self.context = request, context
        self.won = request.currency == "KRW"
        self.found = BreakEvenAmounts()
        if request.hardware is not None:
            self.found.own = self._hardware(request.hardware)
        kind = self.found.own.entry.chip_kind if self.found.own is not None else ChipKind.GPU
        self.rates: CostDefaults = context.catalog.cost_defaults(kind)

    def read(self) -> BreakEvenAmounts:
        """Return all amounts."""
        self._cloud()
        self._capex()
        self._onprem()
        inputs = self.found.inputs
        inputs["discount_rate"] = self.request.discount_rate
        inputs["growth"] = self.request.growth or 0.0
        inputs["own_growth"] = self.request.own_growth or 0.0
        inputs["residual_share"] = self._residual()
        self._use()
        for name in ("discount_rate", "residual_share", "growth", "own_growth"):
            if name not in self.request.model_fields_set and not inputs[name]:
                why = WITHOUT[name]
                self.found.defaults.append(Default.of(name, 0.0, why))
        if self.request.horizon_months is None:
            figure = self.rates.amortisation
            months = figure.si / YEAR * MONTHS
            inputs["horizon_months"] = months
            self._default("horizon_months", months, figure, "horizon")
        else:
            inputs["horizon_months"] = self.request.horizon_months
        return self.found

    def _hardware(self, asked: HardwareInput) -> Hardware:
        with _placed("hardware"):
            return self.context.hardware.system(asked.system, asked.count, asked.fabric)

    def _capex(self) -> None:
        own, found = self.found.own, self.found
        if own is None:
            assert self.request.capex is not None, "checked: capex or hardware"
            found.inputs["capex"] = self.request.capex
            found.capex_with_fabric = bool(self.request.capex_includes_fabric)
            return
        asked = AssumptionsInput(acquisition="own")
        catalog = self.context.catalog
        capital = capital_of(own, None, asked, terms_of(own, asked, catalog), self.rates, catalog)
        if not capital.lines:
            raise BadInput.at(
                "hardware.system",
                "{system} has no published price; enter capex instead",
                system=own.entry.name,
            )
        rate = self._dollars()
        lines = [line(name, price * rate, bought(name, own)) for name, price in capital.lines.items()]
        equipment = sum(one.amount for one in lines)
        for name, share in (
            ("install", self.rates.installation_share),
            ("spares", self.rates.spares_share),
        ):
            rule = Message("{share} % of the equipment", {"share": round(100 * share.si, 1)})
            lines.append(line(name, equipment * share.si, rule))
            found.figures.setdefault("capex", []).append(share)
        found.figures["capex"] += [
            figure for rests in capital.figures.values() for figure in rests if isinstance(figure, Figure)
        ]
        found.capex_with_fabric = True
        found.capex_lines = lines
        whole = sum(one.amount for one in lines)
        found.inputs["capex"] = whole
        if capital.high > capital.low > 0:
            prices = sum(capital.lines.values())
            found.capex_range = (whole * capital.low / prices, whole * capital.high / prices)

    def _onprem(self) -> None:
        asked = self.request.onprem
        if asked is None:
            assert self.request.onprem_monthly is not None, "checked: onprem_monthly or onprem"
            self.found.inputs["onprem_monthly"] = self.request.onprem_monthly
            return
        inputs, rates = self.found.inputs, self.rates
        power = self._power(asked)
        inputs["onprem.power_kw"] = power
        tariff = self._money(rates.tariff, KILOWATT_HOUR) if asked.tariff is None else 0.0
        pay = self._money(rates.staff_cost, YEAR) if asked.staff_cost is None else 0.0
        space = self._money(rates.colocation, KILOWATT_MONTH) if asked.space is None else 0.0
        self._take("pue", asked.pue, rates.pue.si, rates.pue)
        self._take("tariff", asked.tariff, tariff, rates.tariff)
        self._take("staff", asked.staff, self._posts(asked), rates.staff_per_node)
        self._take("staff_cost", asked.staff_cost, pay, rates.staff_cost)
        reserved = self.found.own
        provisioned = (
            power if reserved is None else reserved.entry.power_max.value * reserved.count / KILOWATT
        )
        self._take("space", asked.space, space * provisioned, rates.colocation)
        self._take("support", asked.support, rates.support_rate.si * YEAR, rates.support_rate)

    def _power(self, asked: RunningInput) -> float:
        if asked.power_kw is not None:
            return asked.power_kw
        own = self.found.own
        if own is None:
            raise Unprocessable.at(
                "onprem.power_kw", "this field is required without hardware: the power draw is unknown"
            )
        power = own.entry.power_typical.value * own.count / KILOWATT
        why = Message(
            "power draw of {count} × {system} under a training load",
            {"count": own.count, "system": own.entry.name},
        )
        self.found.defaults.append(Default.of("onprem.power_kw", power, why))
        figures = [line.power_typical for line in own.entry.bill if line.power_typical is not None]
        self.found.figures.setdefault("onprem", []).extend(figures)
        return power

    def _residual(self) -> float:
        """Return the resale: as stated, else that of the cost of ownership where the hardware is known."""
        if self.found.own is None or "residual_share" in self.request.model_fields_set:
            return self.request.residual_share
        figure = self.rates.residual
        if figure.si:
            self._default("residual_share", figure.si, figure, "capex")
        return figure.si

    def _posts(self, asked: RunningInput) -> float:
        own = self.found.own
        if own is None:
            if asked.staff is None:
                raise Unprocessable.at(
                    "onprem.staff",
                    "this field is required without hardware: the number of machines is unknown",
                )
            return asked.staff
        return staff_posts(own.entry, own.count, self.rates)

    def _take(self, name: str, stated: float | None, usual: float, figure: Figure) -> None:
        """Take one part of the running cost as stated, or as the catalogue has it."""
        self.found.inputs[f"onprem.{name}"] = usual if stated is None else stated
        if stated is None:
            self._default(f"onprem.{name}", usual, figure, "onprem")

    def _cloud(self) -> None:
        asked = self.request.cloud
        if asked is None:
            assert self.request.cloud_monthly is not None, "checked: cloud_monthly or cloud"
            self.found.inputs["cloud_monthly"] = self.request.cloud_monthly
            return
        with _placed("cloud"):
            rented = self.context.hardware.system(asked.system, asked.count)
        self.found.rented = rented
        self.found.inputs["cloud.hours_per_month"] = asked.hours_per_month
        self.found.inputs["cloud.hourly_price"] = self._rent(asked, rented)

    def _rent(self, asked: CloudInput, rented: Hardware) -> float:
        if asked.hourly_price is not None:
            return asked.hourly_price
        series = self.context.catalog.rents(rented.entry.id, RENTALS[asked.rental])
        known = [figure for figure in series if figure.value]
        if not known:
            kinds = [
                kind
                for kind, condition in RENTALS.items()
                if any(one.value for one in self.context.catalog.rents(rented.entry.id, condition))
            ]
            raise BadInput.at(
                "cloud.rental" if kinds else "cloud.system",
                "no such rental price is published for {system} (published: {known}); enter "
                "cloud.hourly_price",
                system=rented.entry.name,
                known=", ".join(kinds) or Message("none known"),
            )
        figure = known[-1]
        price = self._money(figure, HOUR)
        self._default("cloud.hourly_price", price, figure, "cloud")
        return price

    def _use(self) -> None:
        """Take the share of the cluster in use as stated, or by the hours where both sides are known."""
        own, rented, asked = self.found.own, self.found.rented, self.request.cloud
        if self.request.utilisation is not None:
            self.found.inputs["utilisation"] = self.request.utilisation
        elif own is not None and rented is not None and asked is not None:
            share = used_share(own, rented, asked.hours_per_month, self.context)
            if share is not None:
                self.found.inputs["utilisation"] = share
                why = Message("rented accelerator-hours relative to the cluster's, by dense peak")
                self.found.defaults.append(Default.of("utilisation", float(f"{share:.6g}"), why))

    def _dollars(self) -> float:
        """Return what a dollar is in the currency."""
        if not self.won:
            return 1.0
        self.found.conversions = [self.rates.won_per_dollar]
        return self.rates.won_per_dollar.si

    def _money(self, figure: Figure, per: float) -> float:
        """Return a price or rate of the catalogue in the currency, per so many SI units."""
        dollars = in_dollars(figure, self.rates) * per
        if not figure.si_unit.startswith(self.request.currency):
            self.found.conversions = [self.rates.won_per_dollar]
        return dollars * (self.rates.won_per_dollar.si if self.won else 1.0)

    def _default(self, name: str, value: float, figure: Figure, part: str) -> None:
        why = Message(
            "from the catalogue: {value} {unit} ({source}, {date})",
            {
                "value": figure.value,
                "unit": "" if figure.unit.name == "1" else figure.unit.name,
                "source": figure.source.title,
                "date": figure.as_of,
            },
        )
        self.found.defaults.append(Default.of(name, float(f"{value:.6g}"), why))
        self.found.figures.setdefault(part, []).append(figure)


@contextmanager
def _placed(part: str) -> Iterator[None]:
    """Refuse a system at the field of this request that names it."""
    try:
        yield
    except AppError as error:
        places = [(PLACES.get(one.field, "system"), one.message) for one in error.errors]
        raise type(error)(error.message, [FieldError(f"{part}.{at}", told) for at, told in places]) from None


PLACES = {"system.id": "system", "system.count": "count", "system.fabric": "fabric"}
"""Field of an estimate → field of a part of this request."""


def bought(name: str, own: Hardware) -> Message:
    """Return how much is bought of a line of the purchase price."""
    if name == "hosts":
        return Message("{count} host servers", {"count": own.entry.hosts * own.count})
    if name == "fabric":
        return Message("switches, cables and adapters for {count} machines", {"count": own.machines})
    return Message("{count} × {system}", {"count": own.count, "system": own.entry.name})


WITHOUT = {
    "discount_rate": Message("no discount rate applied"),
    "residual_share": Message("no resale value at the horizon"),
    "growth": Message("the cloud bill stays constant"),
    "own_growth": Message("the running cost stays constant"),
}
"""Field → what its default of zero means."""
