"""The money of a proposal as an account: supply price with tax, outlay by line and by year, break-even."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, timedelta
from decimal import Decimal
from operator import attrgetter
from typing import Literal

import numpy as np
from pydantic import Field

from app.engine.cost.outlay import paid_hours
from app.engine.units import HOUR, HOURS_PER_YEAR, YEAR
from app.errors import NotFound
from app.estimating.capital import cost_figures
from app.estimating.context import SizingContext
from app.estimating.decision import Decision, DecisionOption
from app.estimating.documents import Estimate
from app.estimating.estimate import charged_hardware
from app.estimating.hardware import Hardware
from app.estimating.money import CostFigure, exact, rounded
from app.estimating.outlay import COMMITMENTS, MONTH_HOURS, outlay_lines
from app.estimating.prices import FOLLOWING, DollarPrices, prices
from app.estimating.request import AssumptionsInput, Demand, EstimateRequest
from app.estimating.schema import Document, SourceRef
from app.estimating.trace import source_ref
from app.features.studies.side_by_side import OptionEntry, SideBySide


class SupplyPrice(Document):
    """What is supplied, with its tax: the purchase of what is owned, or the rent of the demanded work."""

    option: str
    """Label of the option."""
    basis: Literal["purchase", "rent"]
    """What the price is of."""
    supply: float
    """Supply value, before tax."""
    vat_rate: float | None
    """Rate of the value-added tax; null where it has to be agreed."""
    vat: float | None
    """Tax on the supply value, rounded to the currency's unit."""
    total: float | None
    """Supply value and tax."""
    complete: bool
    """Whether everything has a price; if not, the amounts are lower bounds."""
    vat_source: SourceRef | None = None
    """Source of the rate; null where the author stated it, or none is known."""
    vat_as_of: str = ""
    """Date of the rate."""


class OutlayLine(Document):
    """One line of an outlay."""

    item: str
    """Cost item; “purchase” is the total of the bill of materials, “besides_bill” what is not in it."""
    amount: float
    """Amount over the term; what is left of the system at the end is negative."""


class YearOutlay(Document):
    """What is paid in one year."""

    year: int
    """Year of the term; 0 is what is paid before the first run."""
    amount: float
    """Amount paid."""
    present_value: float
    """The amount discounted from the end of the year to the start of the term."""


class WeightyAssumption(Document):
    """A figure behind a line that carries more than a fiftieth of the outlay."""

    item: str
    """Cost item that it bears on."""
    share: float | None
    """Share of that line in the outlay; null for figures behind every line."""
    figure: CostFigure
    """The figure, with its source; that of a price book has none."""
    old: bool
    """Whether it is a price or an exchange rate older than a year."""


class OptionOutlay(Document):
    """The outlay of one option over the term for the demanded work, line by line and year by year."""

    option: str
    """Label of the option."""
    owned: bool
    """Whether the system is bought."""
    lines: list[OutlayLine]
    """Lines; they add up exactly to the total."""
    total: float
    """Outlay over the term."""
    years: list[YearOutlay]
    """Payments by year; they add up exactly to the total."""
    present_value: float
    """Sum of the discounted payments."""
    discount_rate: float
    """Rate at which payments are discounted. [1/a]"""
    run_hours: float
    """Time of one run. [h]"""
    fixed: float
    """Part of the outlay that does not depend on the number of runs."""
    per_run: float
    """Outlay of one further run; of a commitment without its hours."""
    commitment_hours: float
    """Hours that are paid together; 0 where only those in use are paid. [h]"""
    per_commitment_hour: float
    """Price of an hour of a commitment."""

    def of_runs(self, runs: float) -> float:
        """Return the outlay for a number of runs."""
        paid = float(paid_hours(runs * self.run_hours, self.commitment_hours))
        return self.fixed + self.per_run * runs + self.per_commitment_hour * paid


class BreakEvenRuns(Document):
    """Number of runs from which the bought option costs less than the rented one."""

    owned: str
    """Label of the bought option."""
    rented: str
    """Label of the rented option."""
    runs: float | None
    """Number of runs at which both cost the same; null if they never do within the term."""
    months: float | None
    """Time that these runs take on the bought option, one after the other. [month]"""
    most_runs: float
    """Most runs that the bought option does within the term."""


class ProposalAccount(Document):
    """The money of a proposal."""

    years: float
    """Term. [a]"""
    runs: int
    """Number of runs paid for."""
    price: SupplyPrice | None
    """Price of the option that is offered; null if none is."""
    options: list[OptionOutlay]
    """Options with a price."""
    break_even: BreakEvenRuns | None = None
    """Between the best bought and the best rented option; null if there is none of one kind."""
    assumptions: list[WeightyAssumption] = Field(default_factory=list)
    """Figures behind the outlay of the offered option that carry more than a fiftieth of it."""

    def of(self, option: str | None) -> OptionOutlay | None:
        return next((one for one in self.options if one.option == option), None)


def account_of(
    side: SideBySide,
    decision: Decision,
    offered: str | None,
    totals: Mapping[str, tuple[float, bool]],
    vat_rate: float | None,
    today: date,
) -> ProposalAccount | None:
    """Return the money of a proposal; None where no option has a price.

    ``totals`` are those of the bills of materials with whether every line has a price, by label.
    """
    years = side.years
    priced = priced_options(side.shown, decision, side.context, years)
    bills = {label: total for label, (total, complete) in totals.items() if complete}
    outlays = [
        outlay_account(option, priced[option.id], decision, years, bills.get(option.id))
        for option in decision.options
        if option.id in priced
    ]
    if not outlays:
        return None
    account = ProposalAccount(
        years=years,
        runs=decision.runs,
        price=None,
        options=outlays,
        break_even=break_even_of(outlays, decision, years),
    )
    outlay = account.of(offered)
    if outlay is None:
        return account
    bill, complete = totals.get(outlay.option, (None, True))
    price = supply_price(outlay, bill, complete, side.currency, vat_rate, side.context)
    assumptions = weighty_assumptions(priced[outlay.option], outlay, decision.runs, today)
    return account.model_copy(update={"price": price, "assumptions": assumptions})


BOUGHT = ("purchase", "besides_bill")
"""Lines that are paid before the first run."""

WEIGHTY = 0.02
"""Share of the outlay from which a line is weighty."""

YEAR_OLD = timedelta(days=365)

UNTAXED = ("staff",)
"""Lines of a rented option that nobody invoices."""

CUSTOMER_REGIONS = {"KRW": "korea", "JPY": "japan"}
"""Currency → region whose tax an invoice in it bears."""

SAME_MONEY = 1e-6
"""Relative difference below which a bill and a purchase are one."""

MOST_COUNTED = 1e5
"""Runs up to which whole commitments are counted."""


class PricedOption:
    """An option with its prices, and the lines of its outlay by hours of work."""

    def __init__(
        self, request: EstimateRequest, estimate: Estimate | None, context: SizingContext, years: float
    ):
        priced = context.at_prices(request.assumptions)
        self.catalog = priced.catalog
        self.currency = request.currency
        self.family = estimate.model.family or None if estimate is not None else None
        self.hardware: Hardware = charged_hardware(request, estimate, priced)
        self.prices = self._prices(request.assumptions)
        if self.prices is not None and self.prices.lifetime != years:
            # Every option is paid over one term, whatever the term of its own estimate.
            self.prices = self._prices(request.assumptions.model_copy(update={"amortisation_years": years}))

    def _prices(self, assumptions: AssumptionsInput) -> DollarPrices | None:
        return prices(self.hardware, assumptions, self.currency, self.catalog, [], self.family)

    @property
    def commitment(self) -> float:
        """Hours that are paid together. [h]"""
        assert self.prices is not None, "only options with a price are asked"
        return COMMITMENTS.get(self.prices.terms.rental or "", 0.0)

    @property
    def committed(self) -> float:
        """Price of an hour of a commitment. [currency/h]"""
        assert self.prices is not None, "only options with a price are asked"
        hourly = self.hardware.count * (self.prices.hourly or 0.0) * self.prices.exchange.value
        return hourly if self.commitment else 0.0

    def lines(self, hours: float) -> dict[str, float]:
        """Return the outlay for hours of work by line, without the hours of commitments. [currency]"""
        found = self.prices
        assert found is not None, "only options with a price are asked"
        dollars = outlay_lines(self.hardware, found, hours, np.array([1.0]), self.catalog, self.family)
        return {name: float(line[0]) * found.exchange.value for name, line in dollars.items()}


def priced_options(
    options: Mapping[str, OptionEntry], decision: Decision, context: SizingContext, years: float
) -> dict[str, PricedOption]:
    """Return the options that do the demanded work within the term for a known outlay, with their prices."""
    found: dict[str, PricedOption] = {}
    for decided in decision.options:
        option = options[decided.id]
        if decided.outlay is None or decided.time is None or not isinstance(option.request, EstimateRequest):
            continue
        if decision.runs * decided.time.value > years * YEAR:
            continue
        try:
            priced = PricedOption(option.request, option.estimate, context, years)
        except NotFound:  # A price book or an upload has been deleted.
            continue
        if priced.prices is not None:
            found[decided.id] = priced
    return found


def outlay_account(
    decided: DecisionOption, priced: PricedOption, decision: Decision, years: float, bill: float | None
) -> OptionOutlay:
    """Return the outlay of an option by line and by year; ``bill`` is the total of its bill of materials."""
    assert decided.time is not None and priced.prices is not None, "the option runs and has a price"
    currency, rates = priced.currency, priced.prices
    one = decided.time.value / HOUR
    hours = one * decision.runs
    idle, busy, next_run = priced.lines(0.0), priced.lines(hours), priced.lines(hours + one)
    reserved = float(paid_hours(hours, priced.commitment)) * priced.committed
    upfront = sum(busy[name] for name in rates.capital if name in busy)
    lines: dict[str, Decimal] = {}
    if rates.terms.owned:
        same = bill is not None and abs(bill - upfront) <= SAME_MONEY * upfront + len(rates.capital)
        bought = bill if bill is not None else upfront
        lines["purchase"] = rounded(bought, currency)
        if not same and bill is not None:
            lines["besides_bill"] = rounded(upfront - bill, currency)
    for name, amount in busy.items():
        if name not in rates.capital:
            lines[name] = rounded(amount + (reserved if name == "instances" else 0.0), currency)
    lines = {name: amount for name, amount in lines.items() if amount}
    total = sum(lines.values(), Decimal(0))
    variable = sum(busy[name] - idle[name] for name in busy)
    steady = sum(idle[name] for name in idle if name not in rates.capital and name != "residual")
    flows = [float(sum((lines.get(name, Decimal(0)) for name in BOUGHT), Decimal(0)))]
    shares = list(zip(year_lengths(years), busy_shares(decision.question.demand, hours, years), strict=True))
    paid = paid_shares(hours, priced.commitment, years)
    for (length, busy_share), paid_share in zip(shares, paid, strict=True):
        flows.append(steady * length / years + variable * busy_share + reserved * paid_share)
    flows[-1] += idle.get("residual", 0.0)
    amounts = [rounded(flow, currency) for flow in flows]
    # The last payment takes up what rounding leaves, so that the years add up to the lines.
    amounts[-1] += total - sum(amounts, Decimal(0))
    by_year = [
        YearOutlay(
            year=year,
            amount=float(amount),
            present_value=float(rounded(discounted(amount, rates.discount_rate, min(year, years)), currency)),
        )
        for year, amount in enumerate(amounts)
    ]
    one_more = sum(next_run[name] - busy[name] for name in busy)
    return OptionOutlay(
        option=decided.id,
        owned=rates.terms.owned,
        lines=[OutlayLine(item=name, amount=float(amount)) for name, amount in lines.items()],
        total=float(total),
        years=by_year,
        present_value=float(sum((exact(each.present_value) for each in by_year), Decimal(0))),
        discount_rate=rates.discount_rate,
        run_hours=one,
        fixed=sum(idle.values()),
        per_run=one_more,
        commitment_hours=priced.commitment,
        per_commitment_hour=priced.committed,
    )


def discounted(amount: Decimal, rate: float, years: float) -> float:
    return float(float(amount) / (1.0 + rate) ** years)


def year_lengths(years: float) -> list[float]:
    """Return the lengths of the years of a term; the last may be a part of one.

    >>> year_lengths(2.5)
    [1.0, 1.0, 0.5]
    """
    return [min(1.0, years - year) for year in range(math.ceil(years - 1e-9))]


def busy_shares(demand: Demand, hours: float, years: float) -> list[float]:
    """Return the share of the work in each year: runs that are counted follow one another from the start,
    those of a rate are spread evenly.
    """
    lengths = year_lengths(years)
    if demand.runs is None or hours <= 0:
        return [length / years for length in lengths]
    return filled_years(hours, years)


def paid_shares(hours: float, commitment: float, years: float) -> list[float]:
    """Return the share of the commitments in each year; they run from the start of the term."""
    if not commitment:
        return [0.0 for _ in year_lengths(years)]
    return filled_years(float(paid_hours(hours, commitment)), years)


def filled_years(hours: float, years: float) -> list[float]:
    """Return the share of hours in each year if they follow one another; the last year takes what is over.

    >>> filled_years(8766.0 * 1.5, 3.0)
    [0.6666666666666666, 0.3333333333333333, 0.0]
    """
    shares, left = [], hours
    for length in year_lengths(years):
        taken = min(left, length * HOURS_PER_YEAR)
        shares.append(taken / hours)
        left -= taken
    shares[-1] += left / hours
    return shares


def supply_price(
    outlay: OptionOutlay,
    bill: float | None,
    complete: bool,
    currency: str,
    stated_rate: float | None,
    context: SizingContext,
) -> SupplyPrice:
    """Return the price of an option with its tax.

    Where its currency tells no country, or the rates of that country differ, the tax has to be agreed.
    """
    with_price = bill if outlay.owned else None
    lines = [exact(line.amount) for line in outlay.lines if line.item not in UNTAXED]
    supply = rounded(with_price, currency) if with_price is not None else sum(lines, Decimal(0))
    rate, source, as_of = stated_rate, None, ""
    if rate is None:
        taxed = CUSTOMER_REGIONS.get(currency, "")
        known = context.catalog.find("cost-defaults", "vat", taxed) if taxed else None
        if known is not None and known.si_low == known.si_high and not known.recalled:
            rate, source, as_of = known.si, source_ref(known.source), known.as_of
    vat = None if rate is None else rounded(supply * exact(rate), currency)
    return SupplyPrice(
        option=outlay.option,
        basis="purchase" if outlay.owned else "rent",
        supply=float(supply),
        vat_rate=rate,
        vat=None if vat is None else float(vat),
        total=None if vat is None else float(supply + vat),
        complete=complete,
        vat_source=source,
        vat_as_of=as_of,
    )


def break_even_of(outlays: Sequence[OptionOutlay], decision: Decision, years: float) -> BreakEvenRuns | None:
    """Return where the cheapest bought and the cheapest rented option that meet the limits cost the same."""
    usable = {option.id for option in decision.options if option.meets} or {o.option for o in outlays}
    by_kind = [
        min(
            (o for o in outlays if o.owned is owned and o.option in usable),
            key=attrgetter("total"),
            default=None,
        )
        for owned in (True, False)
    ]
    bought, rented = by_kind
    if bought is None or rented is None:
        return None
    most = years * HOURS_PER_YEAR / bought.run_hours
    per_hour = rented.per_run / rented.run_hours + rented.per_commitment_hour
    dearer = per_hour * rented.run_hours - bought.per_run
    runs = max((bought.fixed - rented.fixed) / dearer, 0.0) if dearer > 0 else None
    if rented.commitment_hours:
        counted = np.arange(1.0, min(most, MOST_COUNTED) + 1.0)
        paid = paid_hours(counted * rented.run_hours, rented.commitment_hours) * rented.per_commitment_hour
        less = bought.fixed + bought.per_run * counted <= rented.fixed + rented.per_run * counted + paid
        runs = float(counted[np.argmax(less)]) if less.any() else None
    runs = None if runs is None or runs > most else runs
    return BreakEvenRuns(
        owned=bought.option,
        rented=rented.option,
        runs=runs,
        months=None if runs is None else runs * bought.run_hours / MONTH_HOURS,
        most_runs=most,
    )


def weighty_assumptions(
    priced: PricedOption, outlay: OptionOutlay, runs: int, today: date
) -> list[WeightyAssumption]:
    """Return the figures behind the lines that carry more than a fiftieth of an outlay, the largest first."""
    rates = priced.prices
    assert rates is not None, "the option has a price"
    amounts = priced.lines(outlay.run_hours * runs)
    for line in outlay.lines:
        amounts[line.item] = line.amount
    whole = outlay.total
    found: dict[tuple[str, str], WeightyAssumption] = {}

    def add(item: str, share: float | None, figures: Iterator[CostFigure]) -> None:
        # Of many parts of one kind, the largest tells what the line rests on.
        for figure in sorted(figures, key=lambda figure: -abs(figure.value)):
            key = item, figure.name
            known = {(one.figure.item, one.figure.name, one.figure.unit) for one in found.values()}
            if key not in found and (figure.item, figure.name, figure.unit) not in known:
                aging = figure.name.startswith("price") or figure.name == "exchange_rate"
                old = aging and is_old(figure.as_of, today)
                found[key] = WeightyAssumption(item=item, share=share, figure=figure, old=old)

    by_weight = sorted(amounts, key=lambda name: -abs(amounts[name]))
    for name in by_weight:
        share = amounts[name] / whole if whole else 0.0
        if name not in BOUGHT and abs(share) > WEIGHTY:
            for basis in (name, *behind(name)):
                add(name, share, iter(cost_figures(rates.figures.get(basis, []), priced.catalog.book)))
    add("", None, iter(cost_figures(rates.figures.get("", []), priced.catalog.book)))
    return [one for one in found.values() if not irrelevant(one.figure, rates)]


def behind(line: str) -> tuple[str, ...]:
    """Return the line whose figures a line rests on too."""
    if line in FOLLOWING:
        return ("machines",)
    return ("power",) if line == "idle_power" else ()


def irrelevant(figure: CostFigure, rates: DollarPrices) -> bool:
    """Return whether a figure has no part in an outlay: a share of use, or the rate of another currency."""
    if figure.name == "exchange_rate":
        return rates.exchange.currency not in figure.unit
    return figure.name == "utilisation"


def is_old(as_of: str, today: date) -> bool:
    """Return whether a date, which may be a year or a month, is more than a year before a day.

    >>> is_old("2024", date(2026, 11, 29)), is_old("2026-03", date(2026, 11, 29)), is_old("", date.today())
    (True, False, False)
    """
    parts = as_of.split("-")
    if not parts[0].isdigit():
        return False
    year, month, day = (
        int(parts[place]) if len(parts) > place else (12, 28)[place - 1] for place in range(3)
    )
    return date(year, month, day) < today - YEAR_OLD
