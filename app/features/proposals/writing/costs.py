"""What a proposal costs: the parts, and the term."""

from __future__ import annotations

from app.errors import Message
from app.estimating.schema import Quantity
from app.features.proposals.model import BillItem, OptionBill, ProposalContent, Term
from app.features.proposals.writing import options as alternatives
from app.features.proposals.writing.blocks import Block, Cell, ChartBlock, Grid, Head, Paragraph, SectionBlock
from app.platform.wording.voice import MISSING, Voice


def bill(content: ProposalContent, voice: Voice) -> SectionBlock | None:
    """Return the parts of every option with their prices."""
    if not content.bills:
        return None
    blocks: list[Block] = [
        Paragraph(
            voice.gettext(
                "Quantities follow from the system by the rule beside them; prices come from "
                "the sources and are not offers. Racks, the management network and "
                "installation are included here but not in the purchase price shown with the "
                "options. A total range adds all low and all high prices, as if they moved "
                "together."
            )
        )
    ]
    recommended = content.advice.recommended
    for index, one in enumerate(content.bills):
        if one.note is not None:
            said = Message("{option}: no bill of materials: {why}", {"option": one.label, "why": one.note})
            blocks.append(Paragraph(voice.sentence(said), quiet=True))
        elif one.label == recommended or not one.groups:
            blocks.append(table(one, index, voice))
        else:
            blocks.append(by_group(one, index, voice))
        if one.racks is not None:
            blocks.append(Paragraph(standing(one, voice), quiet=True))
        if one.tax_note is not None:
            blocks.append(Paragraph(voice.sentence(one.tax_note)))
    if any(one.groups and one.label != recommended for one in content.bills):
        more = voice.gettext(
            "Options that are not recommended are totaled by group; CSV and XLSX list every part."
        )
        blocks.append(Paragraph(more, quiet=True))
    return SectionBlock("bill", voice.gettext("Bill of materials"), blocks)


def standing(one: OptionBill, voice: Voice) -> str:
    """Return how a system stands and what it draws."""
    said = [
        voice.say(Message("{count} racks", {"count": one.racks})),
        voice.value(one.rack_units, "U"),
        f"{voice.gettext('Power')} {voice.quantity(one.power)}",
    ]
    if one.equipment is not None:
        said.append(f"{voice.gettext('Systems and network')} {voice.quantity(one.equipment)}")
    return " · ".join(said)


def by_group(one: OptionBill, index: int, voice: Voice) -> Grid:
    """Return the sums of one option by group."""
    heads = [Head(voice.gettext("Component"), width=2.2), Head(voice.gettext("Total"), True, 1.4)]
    rows = [
        [
            Cell(voice.label(group.group, "bill"), "" if group.complete else voice.gettext("at least")),
            money(group.total, voice),
        ]
        for group in one.groups
    ]
    return Grid(
        f"bill-{index}", one.label, heads, rows, foot=[Cell(sum_name(one, voice)), money(one.total, voice)]
    )


def sum_name(one: OptionBill, voice: Voice) -> str:
    """Return what the sum of a bill is called."""
    return voice.gettext("Total") if one.complete else voice.gettext("Total, at least")


def table(one: OptionBill, index: int, voice: Voice) -> Grid:
    """Return the parts of one option."""
    heads = [
        Head(voice.gettext("Component"), width=2.2),
        Head(voice.gettext("Count"), True, 0.9),
        Head(voice.gettext("Rule"), width=2.4),
        Head(voice.gettext("Unit price"), True, 1.4),
        Head(voice.gettext("Total"), True, 1.4),
    ]
    foot = (
        [Cell(sum_name(one, voice)), Cell(""), Cell(""), Cell(""), money(one.total, voice)]
        if one.total
        else []
    )
    return Grid(f"bill-{index}", one.label, heads, [line(part, voice) for part in one.lines], foot=foot)


def line(part: BillItem, voice: Voice) -> list[Cell]:
    """Return one part."""
    return [
        Cell(voice.gettext(part.name), voice.label(part.use, "bill")),
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


def term(content: ProposalContent, voice: Voice) -> SectionBlock | None:
    """Return what every option costs over the term, part by part."""
    found = content.term
    if found is None:
        return None
    said = Message(
        "all options over {years} years of {hours} useful hours per year: the cost of an hour "
        "of work times these hours. Purchase is spread over the term, including the cost of "
        "capital. Owned systems and commitments are paid for every hour; list and spot prices "
        "apply only to the hours in use.",
        {"years": found.years, "hours": round(found.useful_hours_per_year)},
    )
    blocks: list[Block] = [
        Paragraph(voice.sentence(said)),
        totals(found, voice),
        lines(found, content.currency, voice),
        ChartBlock("term", voice.gettext("Cost over the term"), alternatives.term(content, voice)),
    ]
    return SectionBlock("term", voice.gettext("Cost over the term"), blocks)


def totals(found: Term, voice: Voice) -> Grid:
    """Return the options over the term."""
    heads = [
        Head(voice.gettext("Option"), width=2.2),
        Head(voice.gettext("Acquisition"), width=1.0),
        Head(voice.gettext("Per useful hour"), True, 1.4),
        Head(voice.gettext("Per year"), True, 1.4),
        Head(voice.gettext("Over the term"), True, 1.4),
        Head(voice.gettext("Runs over the term"), True),
    ]
    rows = [
        [
            Cell(one.label),
            Cell(voice.label(one.rental or one.acquisition)),
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
    names = list(dict.fromkeys(line.item for one in found.asked for line in one.lines if line.amount))
    heads = [Head(voice.gettext("Cost item"), width=1.6)]
    heads += [Head(one.label, True, 1.3) for one in found.asked]
    rows = []
    for name in names:
        amounts = [
            next((line.amount for line in one.lines if line.item == name), None) for one in found.asked
        ]
        rows.append(
            [
                Cell(capital(voice.label(name, "cost"))),
                *(Cell(voice.value(amount, currency) if amount else MISSING) for amount in amounts),
            ]
        )
    return Grid("term-lines", voice.gettext("Breakdown of cost over the term"), heads, rows)


def capital(word: str) -> str:
    """Return a word with its first letter large, where its script has large letters."""
    return word[:1].upper() + word[1:]
