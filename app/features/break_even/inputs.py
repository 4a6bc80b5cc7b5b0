"""From a request to inputs: stated amounts, and defaults of the catalogue with their origin."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from app.catalog.books import RENTALS
from app.catalog.entries import ChipKind
from app.catalog.figures import Figure
from app.engine.cost.break_even import BuildOrRent
from app.engine.records import FloatLike, Floats
from app.engine.units import HOUR, HOURS_PER_YEAR, KILOWATT, KILOWATT_HOUR, MONTHS, YEAR
from app.errors import BadInput, Message, Unprocessable, fields_at
from app.estimating.capital import capital_of, terms_of
from app.estimating.context import SizingContext
from app.estimating.documents import Default, Text
from app.estimating.hardware import Hardware
from app.estimating.money import ExchangeRate
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
KILOWATT_MONTH = KILOWATT * YEAR / MONTHS


@dataclass(frozen=True, slots=True)
class Inputs:
    """Inputs of a break-even; the values may be arrays that broadcast."""

    values: Mapping[str, FloatLike]
    """By field of the request, amounts in the currency."""
    rented: int
    """Systems rented at a time."""
    factor: float
    """Work to come over the work behind the bill."""
    filled: float | None
    """Share of the cluster that the work behind the bill fills; above 1 it is more than the cluster holds."""

    def running(self) -> dict[str, Floats]:
        """Return the described running cost of the first month by line. [currency/month]"""
        values = {name: np.asarray(value, dtype=float) for name, value in self.values.items()}
        energy = values["onprem.power_kw"] * values["onprem.pue"] * values["onprem.tariff"]
        return {
            "power": np.asarray(energy * HOURS_PER_MONTH),
            "staff": np.asarray(values["onprem.staff"] * values["onprem.staff_cost"] / MONTHS),
            "space": values["onprem.space"],
            "support": np.asarray(values["onprem.support"] * values["capex"] / MONTHS),
        }

    def own_monthly(self) -> Floats:
        """Return the running cost of the first month. [currency/month]"""
        if "onprem_monthly" in self.values:
            return np.asarray(self.values["onprem_monthly"], dtype=float)
        return np.asarray(sum(self.running().values()))

    def bill(self) -> Floats:
        """Return the bill as stated or described, before any change in demand. [currency/month]"""
        if "cloud_monthly" in self.values:
            return np.asarray(self.values["cloud_monthly"], dtype=float)
        hours = np.asarray(self.values["cloud.hours_per_month"], dtype=float)
        return np.asarray(hours * self.values["cloud.hourly_price"] * self.rented)

    def terms(self, more: FloatLike = 1.0) -> BuildOrRent:
        """Return the terms of the engine, for so many times the requested work.

        With a utilisation, the bill follows the work up to a full cluster: the excess is rented either way
        and left out on both sides.
        """
        values, bill = self.values, self.bill()
        work = np.asarray(more, dtype=float) * self.factor
        replaced, fullest = bill * work, np.asarray(np.inf)
        if self.filled is not None:
            filled = np.minimum(np.asarray(values["utilisation"], dtype=float) * work, 1.0)
            replaced, fullest = bill / self.filled * filled, np.asarray(1.0 / filled)
        return BuildOrRent(
            capital=values["capex"],
            own_monthly=self.own_monthly(),
            cloud_monthly=replaced,
            discount_rate=values["discount_rate"],
            cloud_growth=values["growth"],
            own_growth=values["own_growth"],
            fullest=fullest,
            residual_share=values["residual_share"],
            horizon=values["horizon_months"],
        )


def used_share(own: Hardware, rented: Hardware, hours: float, context: SizingContext) -> float | None:
    """Return the share of a cluster that rented hours would fill; None where peaks do not compare.

    Peaks compare between GPUs only: IPUs attain too different a share of theirs.
    """

    def rate(hardware: Hardware) -> float:
        return context.catalog.usual_peak(hardware.entry.machine.chip.id).value * hardware.devices

    if ChipKind.IPU in (own.entry.machine.chip.kind, rented.entry.machine.chip.kind):
        return None
    return rate(rented) * hours / (rate(own) * HOURS_PER_MONTH)


WITHOUT = {
    "discount_rate": Message("no discount rate applied"),
    "residual_share": Message("no resale value at the horizon"),
    "growth": Message("the cloud bill stays constant"),
    "own_growth": Message("the running cost stays constant"),
}
"""Field → what its default of zero means."""


class Amounts:
    """Amounts of a checked request with their origin, priced from the catalogue where they are described."""

    def __init__(self, request: BreakEvenRequest, context: SizingContext) -> None:
        self.request, self.context = request, context
        self.values: dict[str, float] = {}
        """By field of the request; amounts in the currency."""
        self.capex_lines: list[AmountLine] = []
        self.capex_range: tuple[float, float] | None = None
        """Range of the purchase price from the catalogue's price ranges. [currency]"""
        self.capex_with_fabric = bool(request.capex_includes_fabric)
        self.defaults: list[Default] = []
        self.figures: dict[str, list[Figure]] = {}
        """Figures behind ``capex``, ``onprem``, ``cloud`` and ``horizon``."""
        self.conversions: list[ExchangeRate] = []
        """The exchange rate, if used."""
        self.own = None if request.hardware is None else self._system("hardware", request.hardware)
        self.rented = None if request.cloud is None else self._system("cloud", request.cloud)
        kind, tier = ChipKind.GPU, None
        if self.own is not None:
            kind = self.own.entry.machine.chip.kind
            tier = terms_of(self.own, AssumptionsInput(acquisition="own"), context.catalog).tier
        self.rates = context.catalog.cost_defaults(kind, tier=tier)
        self._read()

    @property
    def inputs(self) -> Inputs:
        request, factor = self.request, self.request.demand_factor or 1.0
        if request.teams_now is not None and request.teams_then is not None:
            factor = request.teams_then / request.teams_now
        rented = 1 if request.cloud is None else request.cloud.count
        return Inputs(self.values, rented, factor, self.values.get("utilisation"))

    def sources(self, part: str) -> list[SourceRef]:
        return list(
            {figure.source.id: source_ref(figure.source) for figure in self.figures.get(part, [])}.values()
        )

    def _system(self, part: str, hardware: HardwareInput | CloudInput) -> Hardware:
        fabric = hardware.fabric if isinstance(hardware, HardwareInput) else None
        with fields_at(lambda field: f"{part}.{FIELDS.get(field, 'system')}"):
            return self.context.hardware.system(hardware.system, hardware.count, fabric)

    def _read(self) -> None:
        request, values = self.request, self.values
        self._read_cloud()
        self._read_capex()
        self._read_onprem()
        values["discount_rate"] = request.discount_rate
        values["growth"] = request.growth or 0.0
        values["own_growth"] = request.own_growth or 0.0
        values["residual_share"] = self._residual()
        self._read_utilisation()
        for name, why in WITHOUT.items():
            if name not in request.model_fields_set and not values[name]:
                self.defaults.append(Default.of(name, 0.0, why))
        if request.horizon_months is None:
            figure = self.rates.amortisation
            values["horizon_months"] = figure.si / YEAR * MONTHS
            self._default("horizon_months", values["horizon_months"], figure, "horizon")
        else:
            values["horizon_months"] = request.horizon_months

    def _read_capex(self) -> None:
        own, rates = self.own, self.rates
        if own is None:
            assert self.request.capex is not None, "checked: capex or hardware"
            self.values["capex"] = self.request.capex
            return
        assumptions = AssumptionsInput(acquisition="own")
        catalog = self.context.catalog
        capital = capital_of(own, None, assumptions, terms_of(own, assumptions, catalog), catalog)
        if capital is None:
            raise BadInput.at(
                "hardware.system",
                "{system} has no published price; enter capex instead",
                system=own.entry.name,
            )
        rate = self._rate()
        amounts = {name: price * rate.value for name, price in capital.lines.items()}
        shares = {
            "install": rates.installation_share.si + rates.commissioning_share.si,
            "spares": rates.spares_share.si,
        }
        self.capex_lines = [
            line(name, amount, bought(name, own, shares.get(name))) for name, amount in amounts.items()
        ]
        self.figures["capex"] = [
            figure for figures in capital.figures.values() for figure in figures if isinstance(figure, Figure)
        ]
        self.capex_with_fabric = True
        self.values["capex"] = capital.purchase.amount(rate)
        if capital.high > capital.low > 0:
            self.capex_range = (rate.value * capital.low, rate.value * capital.high)

    def _read_onprem(self) -> None:
        onprem, own, rates = self.request.onprem, self.own, self.rates
        if onprem is None:
            assert self.request.onprem_monthly is not None, "checked: onprem_monthly or onprem"
            self.values["onprem_monthly"] = self.request.onprem_monthly
            return
        power = self.values["onprem.power_kw"] = self._power(onprem)
        provisioned = power if own is None else own.entry.power_max.value * own.count / KILOWATT

        def take(name: str, figure: Figure, default: Callable[[], float]) -> None:
            """Take one part of the running cost as stated, or from the catalogue."""
            stated: float | None = getattr(onprem, name)
            self.values[f"onprem.{name}"] = default() if stated is None else stated
            if stated is None:
                self._default(f"onprem.{name}", self.values[f"onprem.{name}"], figure, "onprem")

        take("pue", rates.pue, lambda: rates.pue.si)
        take("tariff", rates.tariff, self._tariff)
        take("staff", rates.staff_per_node, self._posts)
        take("staff_cost", rates.staff_cost, lambda: self._money(rates.staff_cost, YEAR))
        take("space", rates.colocation, lambda: self._money(rates.colocation, KILOWATT_MONTH) * provisioned)
        support = rates.yearly_shares["support"]
        take("support", support, lambda: support.si * YEAR)

    def _tariff(self) -> float:
        """Return the price of a unit of energy at a steady load, its charge for the load included."""
        charge = self.rates.demand_charge
        load = 0.0 if charge is None else self._money(charge, KILOWATT_MONTH) / HOURS_PER_MONTH
        return self._money(self.rates.tariff, KILOWATT_HOUR) + load

    def _power(self, onprem: RunningInput) -> float:
        if onprem.power_kw is not None:
            return onprem.power_kw
        own = self.own
        if own is None:
            raise Unprocessable.at(
                "onprem.power_kw", "this field is required without hardware: the power draw is unknown"
            )
        power = own.entry.power_typical.value * own.count / KILOWATT
        why = Message(
            "power draw of {count} × {system} under a training load",
            {"count": own.count, "system": own.entry.name},
        )
        self.defaults.append(Default.of("onprem.power_kw", power, why))
        self.figures["onprem"] = [part.power_typical for part in own.entry.bill if part.power_typical]
        return power

    def _posts(self) -> float:
        if self.own is None:
            raise Unprocessable.at(
                "onprem.staff", "this field is required without hardware: the number of machines is unknown"
            )
        return staff_posts(self.own.entry, self.own.count, self.rates)

    def _residual(self) -> float:
        """Return the resale value: as stated, else the catalogue's where the hardware is known."""
        if self.own is None or "residual_share" in self.request.model_fields_set:
            return self.request.residual_share
        figure = self.rates.residual
        if figure.si:
            self._default("residual_share", figure.si, figure, "capex")
        return figure.si

    def _read_cloud(self) -> None:
        cloud, rented = self.request.cloud, self.rented
        if cloud is None or rented is None:
            assert self.request.cloud_monthly is not None, "checked: cloud_monthly or cloud"
            self.values["cloud_monthly"] = self.request.cloud_monthly
            return
        self.values["cloud.hours_per_month"] = cloud.hours_per_month
        price = cloud.hourly_price
        if price is None:
            figure = self._rent(cloud.rental, rented)
            price = self._money(figure, HOUR)
            self._default("cloud.hourly_price", price, figure, "cloud")
        self.values["cloud.hourly_price"] = price

    def _rent(self, rental: str, rented: Hardware) -> Figure:
        def published(kind: str) -> list[Figure]:
            series = self.context.catalog.rents(rented.entry.id, RENTALS[kind])
            return [figure for figure in series if figure.value]

        if known := published(rental):
            return known[-1]
        others = [kind for kind in RENTALS if published(kind)]
        raise BadInput.at(
            "cloud.rental" if others else "cloud.system",
            "no such rental price is published for {system} (published: {known}); enter cloud.hourly_price",
            system=rented.entry.name,
            known=", ".join(others) or Message("none known"),
        )

    def _read_utilisation(self) -> None:
        """Set the utilisation as stated, or from the rented hours where both sides are known."""
        own, rented, cloud = self.own, self.rented, self.request.cloud
        if self.request.utilisation is not None:
            self.values["utilisation"] = self.request.utilisation
        elif own is not None and rented is not None and cloud is not None:
            share = used_share(own, rented, cloud.hours_per_month, self.context)
            if share is not None:
                self.values["utilisation"] = share
                why = Message("rented accelerator-hours relative to the cluster's, by dense peak")
                self.defaults.append(Default.of("utilisation", float(f"{share:.6g}"), why))

    def _rate(self) -> ExchangeRate:
        """Return the rate to the currency, and note that it is used."""
        rate = ExchangeRate.of(self.context.catalog, self.request.currency)
        if rate.currency != "USD":
            self.conversions = [rate]
        return rate

    def _money(self, figure: Figure, per: float) -> float:
        """Return a price or rate of the catalogue in the currency, per so many SI units."""
        catalog, currency = self.context.catalog, self.request.currency
        rate = ExchangeRate.of(catalog, currency)
        paid = figure.si_unit[:3]
        if paid != currency:
            self.conversions = [rate if currency != "USD" else ExchangeRate.of(catalog, paid)]
        return in_dollars(figure, self.rates) * per * rate.value

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
        self.defaults.append(Default.of(name, float(f"{value:.6g}"), why))
        self.figures.setdefault(part, []).append(figure)


FIELDS = {"system.id": "system", "system.count": "count", "system.fabric": "fabric"}
"""Field of an estimate → field of a part of this request."""


def line(item: str, amount: float, rule: Message) -> AmountLine:
    return AmountLine(item=item, amount=amount, rule=Text.of(rule))


def bought(name: str, own: Hardware, share: float | None) -> Message:
    if share is not None:
        return Message("{share} % of the equipment", {"share": round(100 * share, 1)})
    if name == "hosts":
        return Message("{count} host servers", {"count": own.entry.hosts * own.count})
    if name == "fabric":
        return Message("switches, cables and adapters for {count} machines", {"count": own.machines})
    if name != "machines":
        return Message("for {count} machines", {"count": own.machines})
    return Message("{count} × {system}", {"count": own.count, "system": own.entry.name})


def running_lines(amounts: Amounts) -> list[AmountLine]:
    """Return the monthly running cost by line; empty if stated as a total."""
    values = amounts.values
    if "onprem_monthly" in values:
        return []
    rules = {
        "power": Message(
            "{power} kW × PUE {pue} × {hours} h × {tariff} per kWh",
            {
                "power": round(values["onprem.power_kw"], 2),
                "pue": values["onprem.pue"],
                "hours": HOURS_PER_MONTH,
                "tariff": round(values["onprem.tariff"], 4),
            },
        ),
        "staff": Message(
            "{staff} FTE × {pay} per year / 12",
            {"staff": round(values["onprem.staff"], 3), "pay": round(values["onprem.staff_cost"])},
        ),
        "space": Message("monthly charge"),
        "support": Message(
            "{share} % of the purchase price per year / 12",
            {"share": round(100 * values["onprem.support"], 2)},
        ),
    }
    return [line(name, float(cost), rules[name]) for name, cost in amounts.inputs.running().items()]


def rent_lines(amounts: Amounts) -> list[AmountLine]:
    """Return the monthly cloud bill by line; empty if stated as a total."""
    if "cloud_monthly" in amounts.values:
        return []
    count = amounts.inputs.rented
    hours, price = amounts.values["cloud.hours_per_month"], amounts.values["cloud.hourly_price"]
    rule = Message(
        "{count} × {hours} h × {price} per hour", {"count": count, "hours": hours, "price": round(price, 4)}
    )
    return [line("instances", count * hours * price, rule)]
