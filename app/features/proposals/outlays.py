"""The outlay of each option as a sum of lines that are linear in its inputs, as the workbook computes it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from app.engine.units import HOUR, KILOWATT_HOUR
from app.estimating.decision import Decision
from app.estimating.outlay import outlay_lines
from app.estimating.prices import DollarPrices
from app.estimating.schema import Document
from app.features.proposals.account import PricedOption, priced_options
from app.features.studies.side_by_side import SideBySide


class OutlayTerm(Document):
    """One line of an outlay: what is paid once, per year of the term, and per hour of work."""

    item: str
    """Cost item."""
    currency: str
    """Currency in which the amounts of this line are paid."""
    follows_price: bool
    """Whether it is proportional to the price of the system."""
    once: float
    """Amount paid once."""
    per_year: float
    """Amount per year of the term."""
    per_hour: float
    """Amount per hour of work."""
    per_paid_hour: float
    """Amount per hour of a commitment."""
    kwh_per_year: float
    """Energy per year of the term, to be paid at the price of electricity. [kWh/a]"""
    kwh_per_hour: float
    """Energy per hour of work. [kWh/h]"""


class OutlayFormula(Document):
    """The outlay of one option as a formula of its inputs."""

    option: str
    """Label of the option."""
    owned: bool
    """Whether the system is bought."""
    years: float
    """Term. [a]"""
    run_hours: float
    """Hours of work of one run. [h]"""
    exchange_rate: float
    """Units of the proposal's currency for one US dollar."""
    electricity: float
    """Price of electricity, in the currency of the proposal per kWh; 0 if nobody but the owner pays it."""
    freight_share: float
    """Freight, installation and commissioning as a share of what is bought."""
    commitment_hours: float
    """Hours that are paid together; 0 where only those in use are paid. [h]"""
    terms: list[OutlayTerm]
    """Lines; at the stated inputs they add up to the outlay."""


def outlay_formulas(side: SideBySide, decision: Decision) -> list[OutlayFormula]:
    """Return the outlay of every option that has one, in the order of the decision."""
    priced = priced_options(side.shown, decision, side.context, side.years)
    return [
        formula_of(each.id, priced[each.id], side.years, each.time.value / HOUR)
        for each in decision.options
        if each.id in priced and each.time is not None
    ]


def formula_of(label: str, option: PricedOption, years: float, run_hours: float) -> OutlayFormula:
    """Return the formula of an option, whose coefficients the engine gives at the ends of each input."""
    rates, hardware, catalog, family = option.prices, option.hardware, option.catalog, option.family
    assert rates is not None, "the option has a price"
    exchange, price = rates.exchange.value, rates.electricity

    def lines(rates: DollarPrices, hours: float = 0.0, factor: float = 1.0) -> dict[str, float]:
        found = outlay_lines(hardware, rates, hours, np.array([factor]), catalog, family)
        return {name: float(line[0]) for name, line in found.items()}

    usual, longer, unpriced = lines(rates), lines(replace(rates, lifetime=2 * years)), lines(rates, 1.0, 0.0)
    free = replace(rates, electricity=0.0)
    dark, dark_longer = lines(free), lines(replace(free, lifetime=2 * years))
    working, dark_working = lines(rates, 1.0), lines(free, 1.0)
    terms = []
    for name in usual:
        yearly, dark_yearly = (longer[name] - usual[name]) / years, (dark_longer[name] - dark[name]) / years
        hourly, dark_hourly = working[name] - usual[name], dark_working[name] - dark[name]
        paid = option.committed if name == "instances" else 0.0
        energy = KILOWATT_HOUR * price
        term = OutlayTerm(
            item=name,
            currency=rates.paid_in(name),
            follows_price=bool(paid) or abs(unpriced[name]) < SMALL * abs(working[name]),
            once=(dark[name] - dark_yearly * years) * exchange,
            per_year=dark_yearly * exchange,
            per_hour=dark_hourly * exchange,
            per_paid_hour=paid,
            kwh_per_year=(yearly - dark_yearly) / energy if energy else 0.0,
            kwh_per_hour=(hourly - dark_hourly) / energy if energy else 0.0,
        )
        if any((term.once, term.per_year, term.per_hour, paid, term.kwh_per_year, term.kwh_per_hour)):
            terms.append(term)
    defaults = rates.defaults
    return OutlayFormula(
        option=label,
        owned=rates.terms.owned,
        years=years,
        run_hours=run_hours,
        exchange_rate=exchange,
        electricity=price * KILOWATT_HOUR * exchange if rates.terms.owned else 0.0,
        freight_share=defaults.installation_share.si + defaults.commissioning_share.si
        if rates.terms.owned
        else 0.0,
        commitment_hours=option.commitment,
        terms=terms,
    )


SMALL = 1e-9
"""Share of a line below which what stays of it without prices is rounding."""
