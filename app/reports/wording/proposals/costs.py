"""What a proposal costs: the parts, and the term."""

from __future__ import annotations

from app.errors import Message
from app.reports.wording.proposals import alternatives
from app.reports.wording.proposals.blocks import Block, Cell, Drawing, Grid, Head, Paragraph, Section
from app.reports.wording.voice import MISSING, Voice
from app.sizing.document import Quantity
from app.sizing.proposal.documents import BillItem, OptionBill, ProposalContent, Term


def bill(content: ProposalContent, voice: Voice) -> Section | None:
    """Return the parts of every option with their prices."""
    if not content.bills:
        return None
    blocks: list[Block] = [
        Paragraph(
            voice.gettext(
                "Quantities follow from the system by the rule beside them; prices are those of the sources, "
                "not offers. A total of a range adds all low and all high prices, as if they moved together."
            )
        )
    ]
    blocks += [table(one, content.currency, index, voice) for index, one in enumerate(content.bills)]
    return Section("bill", voice.gettext("Bill of materials"), blocks)


def table(one: OptionBill, currency: str, index: int, voice: Voice) -> Grid:
    """Return the parts of one option."""
    heads = [
        Head(voice.gettext("Part"), width=2.2),
        Head(voice.gettext("Quantity"), True, 0.9),
        Head(voice.gettext("Rule"), width=2.4),
        Head(voice.gettext("Unit price"), True, 1.4),
        Head(voice.gettext("Total"), True, 1.4),
    ]
    sum_name = voice.gettext("Total") if one.complete else voice.gettext("Total, at least")
    foot = [Cell(sum_name), Cell(""), Cell(""), Cell(""), money(one.total, voice)] if one.total else []
    return Grid(
        f"bill-{index}", one.label, heads, [line(part, currency, voice) for part in one.lines], foot=foot
    )


def line(part: BillItem, currency: str, voice: Voice) -> list[Cell]:
    """Return one part."""
    return [
        Cell(voice.gettext(part.name), part.item),
        Cell(voice.number(part.quantity)),
        Cell(voice.say(part.rule)),
        money(part.unit_price, voice),
        money(part.total, voice),
    ]


def money(one: Quantity | None, voice: Voice) -> Cell:
    """Return an amount with its range below; unknown ones say so."""
    if one is None:
        return Cell(voice.gettext("price unknown"))
    return Cell(voice.central(one), voice.spread(one))


def term(content: ProposalContent, voice: Voice) -> Section | None:
    """Return what every option costs over the term, part by part."""
    found = content.term
    if found is None:
        return None
    said = Message(
        "all options over {years} years of {hours} useful hours a year: what an hour of work costs, times "
        "these hours. Purchase is spread over the years of amortisation with the cost of capital.",
        {"years": found.years, "hours": round(found.useful_hours_per_year)},
    )
    blocks: list[Block] = [
        Paragraph(voice.sentence(said)),
        totals(found, voice),
        lines(found, content.currency, voice),
        Drawing("term", voice.gettext("Cost over the term"), alternatives.term(content, voice)),
    ]
    return Section("term", voice.gettext("Cost over the term"), blocks)


def totals(found: Term, voice: Voice) -> Grid:
    """Return the options over the term."""
    heads = [
        Head(voice.gettext("Option"), width=2.2),
        Head(voice.gettext("Acquisition"), width=1.0),
        Head(voice.gettext("Per useful hour"), True, 1.4),
        Head(voice.gettext("Per year"), True, 1.4),
        Head(voice.gettext("Over the term"), True, 1.4),
        Head(voice.gettext("Runs in it"), True),
    ]
    rows = [
        [
            Cell(one.label),
            Cell(voice.label(one.acquisition)),
            money(one.hourly, voice),
            money(one.yearly, voice),
            money(one.over_term, voice),
            Cell(MISSING if one.runs is None else voice.number(float(f"{one.runs:.3g}"))),
        ]
        for one in found.options
    ]
    return Grid("term-options", voice.gettext("Cost over the term by option"), heads, rows)


def lines(found: Term, currency: str, voice: Voice) -> Grid:
    """Return what the cost over the term is made of, options as rows of one part each."""
    names = list(dict.fromkeys(line.item for one in found.options for line in one.lines if line.amount))
    heads = [Head(voice.gettext("What is paid for"), width=1.6)]
    heads += [Head(one.label, True, 1.3) for one in found.options]
    rows = []
    for name in names:
        amounts = [
            next((line.amount for line in one.lines if line.item == name), None) for one in found.options
        ]
        rows.append(
            [
                Cell(capital(voice.label(name, "cost"))),
                *(Cell(voice.value(amount, currency) if amount else MISSING) for amount in amounts),
            ]
        )
    return Grid("term-lines", voice.gettext("Parts of the cost over the term"), heads, rows)


def capital(word: str) -> str:
    """Return a word with its first letter large, where its script has large letters."""
    return word[:1].upper() + word[1:]
