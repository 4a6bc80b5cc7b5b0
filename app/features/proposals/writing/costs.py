"""Costs of a proposal: the bill of materials, and the term."""

from __future__ import annotations

import math

from app.engine.units import KILOWATT
from app.errors import Message
from app.estimating.schema import Quantity
from app.features.bills.drawings import feed_words
from app.features.proposals.account import OptionOutlay, ProposalAccount, YearOutlay
from app.features.proposals.model import OptionBill, OptionTerm, ProposalContent, Term
from app.features.proposals.writing.blocks import Block, Cell, Grid, Head, Paragraph, chart, figure, table
from app.features.proposals.writing.options import charted, leading_estimates
from app.platform.wording.voice import MISSING, Voice


def bill(content: ProposalContent, voice: Voice) -> list[Block]:
    if not content.bills:
        return []
    note = voice.gettext(
        "Quantities follow from the system by the rule beside them. Unit price × quantity is the total of a "
        "line; the totals add up to the purchase that the outlay begins with. Power under load is that of "
        "all parts under the typical load that their makers state, without cooling. A range below a total "
        "adds all low and all high prices, as if they moved together."
    )
    bought = any(bill.groups for bill in content.bills if bill.label in content.offered)
    rented = voice.gettext("Price of an hour × number of systems is the total of an hour.")
    blocks: list[Block] = [Paragraph(note if bought or not content.offered else rented)]
    for index, option in enumerate(content.bills):
        if option.note is not None:
            why = {"option": option.label, "why": option.note}
            none = Message("{option}: no bill of materials: {why}", why)
            blocks.append(Paragraph(voice.sentence(none), quiet=True))
        elif option.label in content.offered:
            blocks.append(by_part(option, index, voice))
            if option.racks is not None:
                blocks.append(Paragraph(hall_facts(option, voice), quiet=True))
    blocks += others(content, voice)
    charts = charted(content)
    for name, caption in LAYOUT_CAPTIONS.items():
        if name in charts:
            blocks.append(chart(name, voice.gettext(caption), layout_words(content, name, voice), ()))
    notes = {bill.tax_note.message: bill.tax_note for bill in content.bills if bill.tax_note is not None}
    return [*blocks, *(Paragraph(voice.sentence(note)) for note in notes.values())]


LAYOUT_CAPTIONS = {"racks": "Rack elevation", "feeds": "Power feeds", "network": "Network topology"}


def layout_words(content: ProposalContent, name: str, voice: Voice) -> str:
    """Return racks or network in words."""
    layout = content.layout
    assert layout is not None, "what is drawn is known"
    if name == "network" and layout.network is not None:
        plan = layout.network
        counts = {
            "nodes": plan.nodes,
            "leaf": plan.leaf,
            "spine": plan.balanced_spine,
            "cables": plan.balanced_cables,
        }
        return voice.say(
            Message("{nodes} nodes, {leaf} leaf and {spine} spine switches, {cables} cables", counts)
        )
    if name == "feeds":
        return feed_words(layout.racks, voice)
    told = [
        voice.say(
            Message(
                "{count} racks of {height} units with {power} kW of {limit} kW each",
                {
                    "count": rack.count,
                    "height": rack.height,
                    "power": round(rack.power / KILOWATT, 1),
                    "limit": round(rack.power_limit / KILOWATT, 1),
                },
            )
        )
        for rack in layout.racks
    ]
    return voice.sign(", ").join(told)


def hall_facts(option: OptionBill, voice: Voice) -> str:
    facts = [
        rack_count(option.racks, voice),
        voice.value(option.rack_units, "U"),
        f"{voice.gettext('Power under load')} {voice.quantity(option.power)}",
    ]
    if option.equipment is not None:
        facts.append(f"{voice.gettext('Systems and network')} {voice.quantity(option.equipment)}")
    return " · ".join(facts)


def rack_count(racks: int | None, voice: Voice) -> str:
    if racks is None:
        return MISSING
    return voice.say(Message("{count} racks" if racks != 1 else "{count} rack", {"count": racks}))


def others(content: ProposalContent, voice: Voice) -> list[Block]:
    """Return the totals of the options that are not offered."""
    bills = [bill for bill in content.bills if bill.label not in content.offered and bill.note is None]
    if not bills:
        return []
    unknown = voice.gettext("price unknown")

    def total(option: OptionBill) -> Cell:
        # Rented options have no total but that of an hour.
        known = option.total or next((line.total for line in option.lines), None)
        priced = exact_figure(known, voice, unknown)
        more = "" if option.complete or known is None else f"{voice.gettext('at least')} "
        hourly = "" if option.groups or known is None else f" {voice.gettext('per hour')}"
        return Cell(f"{more}{priced.text}{hourly}", priced.under)

    def racks(option: OptionBill) -> Cell:
        height = "" if option.rack_units is None else voice.value(option.rack_units, "U")
        return Cell(rack_count(option.racks, voice), height)

    return [
        table(
            "bill-others",
            voice.gettext("Options that are not recommended"),
            bills,
            (Head(voice.gettext("Option"), width=2.0), lambda option: option.label),
            (Head(voice.gettext("Bill of materials total"), True, 1.8), total),
            (Head(voice.gettext("Systems and network"), True, 1.5), lambda o: voice.central(o.equipment)),
            (Head(voice.gettext("Racks"), True), racks),
            (Head(voice.gettext("Power under load"), True), lambda o: voice.central(o.power)),
        )
    ]


def exact_figure(price: Quantity | None, voice: Voice, unknown: str) -> Cell:
    """Return a price to the last unit, with its range below."""
    return Cell(unknown) if price is None else Cell(voice.exact(price.value, price.unit), voice.spread(price))


def by_part(option: OptionBill, index: int, voice: Voice) -> Grid:
    unknown = voice.gettext("price unknown")
    # Rented options have no groups and are paid by the hour.
    unit_price = voice.gettext("Unit price") if option.groups else voice.gettext("Price per hour")
    total = voice.gettext("Total") if option.groups else voice.gettext("Total per hour")
    whole = voice.gettext("Bill of materials total")
    if not option.complete:
        whole += f", {voice.gettext('at least')}"
    return table(
        f"bill-{index}",
        option.label,
        option.lines,
        (
            Head(voice.gettext("Component"), width=2.2),
            lambda part: Cell(voice.gettext(part.name), voice.label(part.use, "bill")),
        ),
        (Head(voice.gettext("Count"), True, 0.9), lambda part: voice.number(part.quantity)),
        (Head(voice.gettext("Rule"), width=2.4), lambda part: voice.say(part.rule)),
        (Head(unit_price, True, 1.4), lambda part: exact_figure(part.unit_price, voice, unknown)),
        (Head(total, True, 1.4), lambda part: exact_figure(part.total, voice, unknown)),
        foot=[Cell(whole), *[Cell("")] * 3, exact_figure(option.total, voice, unknown)]
        if option.total
        else [],
    )


def term(content: ProposalContent, voice: Voice) -> list[Block]:
    """Return how the price becomes the outlay, when it is paid, and from how many runs buying pays."""
    if content.account is not None:
        return accounted(content, content.account, voice)
    costs = content.term
    if costs is None:
        return []
    whole = [f"{option.label} {voice.quantity(option.over_term)}" for option in costs.asked]
    what = voice.gettext("Stacked bar chart of cost over the term by option")
    return [
        totals(costs, voice),
        cost_items(costs, content.currency, voice),
        chart("term", voice.gettext("Cost over the term"), what, whole),
    ]


def accounted(content: ProposalContent, account: ProposalAccount, voice: Voice) -> list[Block]:
    blocks: list[Block] = [Paragraph(outlay_basis(account, voice))]
    blocks += bridge(content, account, voice)
    offered = account.of(account.price.option) if account.price is not None else None
    if offered is not None:
        blocks += cash_flow(offered, content.currency, voice)
    return [*blocks, *break_even(content, account, voice)]


def outlay_basis(account: ProposalAccount, voice: Voice) -> str:
    values = {"runs": account.runs, "years": account.years}
    return voice.sentence(
        Message(
            "the outlay is all money that leaves over {years} years for the demanded work ({runs} in all), "
            "without tax and interest. Amounts in tables are exact to the unit of the currency; in sentences "
            "they are rounded to three digits.",
            values,
        )
    )


def bridge(content: ProposalContent, account: ProposalAccount, voice: Voice) -> list[Block]:
    """Return the outlays line by line, the bill of materials first, of the leading options."""
    currency, leading = content.currency, [label for label, _ in leading_estimates(content)]
    shown = sorted(
        (one for one in account.options if one.option in leading),
        key=lambda one: one.option not in content.offered,
    )
    others = [one for one in account.options if one.option not in leading]
    amounts = [{line.item: line.amount for line in one.lines} for one in shown]
    heads = [Head(voice.gettext("From the bill to the outlay"), width=1.7)]
    heads += [Head(one.option, True, 1.3) for one in shown]
    rows = []
    for item in dict.fromkeys(item for lines in amounts for item in lines):
        cells = [voice.exact(lines[item], currency) if item in lines else MISSING for lines in amounts]
        rows.append([Cell(item_name(item, voice)), *map(Cell, cells)])
    foot = [Cell(voice.gettext("Outlay")), *(Cell(voice.exact(one.total, currency)) for one in shown)]
    caption = voice.gettext("Outlay by line")
    blocks: list[Block] = [
        Grid("bridge", caption, heads, rows, foot=foot),
        *(
            []
            if not rented_work(account, currency, voice)
            else [Paragraph(rented_work(account, currency, voice))]
        ),
    ]
    if others:
        told = [f"{one.option} {voice.exact(one.total, currency)}" for one in others]
        blocks.append(Paragraph(f"{voice.gettext('Further options')}{voice.sign(': ')}{' · '.join(told)}"))
    return blocks


def item_name(item: str, voice: Voice) -> str:
    name = voice.label(item, "cost")
    return name[:1].upper() + name[1:]


def rented_work(account: ProposalAccount, currency: str, voice: Voice) -> str:
    """Return how the rent of the offered option follows from its hours; empty if it is bought."""
    offered = account.of(account.price.option) if account.price is not None else None
    if offered is None or offered.owned or offered.commitment_hours:
        return ""
    values = {
        "runs": account.runs,
        "hours": voice.decimal(offered.run_hours, 2),
        "price": voice.exact(round(offered.per_run / offered.run_hours, 2), currency),
    }
    return voice.sentence(Message("{runs} × {hours} hours of work at {price} an hour", values))


def cash_flow(outlay: OptionOutlay, currency: str, voice: Voice) -> list[Block]:
    """Return the payments by year with their present values."""
    paid = [year for year in outlay.years if year.amount]

    def when(year: YearOutlay) -> str:
        if year.year == 0:
            return voice.gettext("Before the first run")
        return voice.say(Message("Year {year}", {"year": year.year}))

    note = Message(
        "payments of a year are discounted from its end at {rate} a year; the residual value counts in the "
        "last",
        {"rate": voice.percent(outlay.discount_rate)},
    )
    whole = [voice.exact(outlay.total, currency), voice.exact(outlay.present_value, currency)]
    return [
        table(
            "cash-flow",
            voice.say(Message("Payments by year: {option}", {"option": outlay.option})),
            paid,
            (Head(voice.gettext("When"), width=1.4), when),
            (Head(voice.gettext("Payment"), True, 1.4), lambda y: voice.exact(y.amount, currency)),
            (
                Head(voice.gettext("Present value"), True, 1.4),
                lambda y: voice.exact(y.present_value, currency),
            ),
            foot=[Cell(voice.gettext("Total")), *map(Cell, whole)],
        ),
        Paragraph(voice.sentence(note), quiet=True),
    ]


def break_even(content: ProposalContent, account: ProposalAccount, voice: Voice) -> list[Block]:
    """Return from how many runs the best bought option costs less than the best rented one."""
    found = account.break_even
    if found is None:
        return []
    values: dict[str, object] = {"owned": found.owned, "rented": found.rented}
    if found.runs is None or found.months is None:
        said = Message(
            "{owned} never costs less than {rented} within the term, which has room for {most} runs",
            {**values, "most": int(found.most_runs)},
        )
    else:
        values |= {"runs": math.ceil(found.runs), "months": voice.decimal(found.months, 1)}
        said = Message(
            "{owned} costs less than {rented} from {runs} runs on, which is {months} months of work.", values
        )
    what = voice.gettext("Outlay by number of runs, of the best bought and the best rented option")
    known = [f"{found.owned} · {found.rented}"]
    turn = turning(content, math.ceil(found.runs) if found.runs is not None else None)
    return [
        Paragraph(" ".join(voice.sentence(one) for one in (said, turn) if one is not None)),
        chart("break-even", voice.gettext("When buying pays"), what, known),
    ]


def turning(content: ProposalContent, runs: int | None) -> Message | None:
    """Return why the recommendation turns at another number of runs than the outlay does."""
    decision = content.decision
    found = [turn.at for turn in decision.overturned_by if turn.input == "demand.runs"] if decision else []
    if runs is None or not found or found[0] is None or round(found[0].value) in (runs, runs - 1):
        return None
    values = {"runs": round(found[0].value)}
    if values["runs"] > runs:
        return Message(
            "The recommendation turns at {runs} runs: until the two can be told apart, the smaller purchase "
            "is recommended.",
            values,
        )
    if not content.advice.budget:
        return None
    return Message(
        "The recommendation turns at {runs} runs already: with more, the rent may exceed the budget.", values
    )


def totals(term: Term, voice: Voice) -> Grid:
    def runs(option: OptionTerm) -> str:
        return MISSING if option.runs is None else voice.number(float(f"{option.runs:.3g}"))

    return table(
        "term-options",
        voice.gettext("Cost over the term by option"),
        term.options,
        (Head(voice.gettext("Option"), width=2.2), lambda option: option.label),
        (Head(voice.gettext("Acquisition")), lambda option: voice.label(option.rental or option.acquisition)),
        (Head(voice.gettext("Per useful hour"), True, 1.4), lambda option: figure(option.hourly, voice)),
        (Head(voice.gettext("Per year"), True, 1.4), lambda option: figure(option.yearly, voice)),
        (Head(voice.gettext("Over the term"), True, 1.4), lambda option: figure(option.over_term, voice)),
        (Head(voice.gettext("Runs over the term"), True), runs),
    )


def cost_items(term: Term, currency: str, voice: Voice) -> Grid:
    """Return the items of the cost over the term, with options as columns."""
    heads = [Head(voice.gettext("Cost item"), width=1.6)]
    heads += [Head(option.label, True, 1.3) for option in term.asked]
    costs = [{line.item: line.amount for line in option.lines} for option in term.asked]
    rows = []
    for item in dict.fromkeys(item for amounts in costs for item, amount in amounts.items() if amount):
        name = voice.label(item, "cost")
        texts = [voice.value(amounts[item], currency) if amounts.get(item) else MISSING for amounts in costs]
        rows.append([Cell(text) for text in (name[:1].upper() + name[1:], *texts)])
    return Grid("term-lines", voice.gettext("Breakdown of cost over the term"), heads, rows)
