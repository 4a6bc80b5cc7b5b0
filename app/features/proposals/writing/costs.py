"""Costs of a proposal: the bill of materials, and the term."""

from __future__ import annotations

from collections.abc import Sequence

from app.errors import Message
from app.features.proposals.model import OptionBill, OptionTerm, ProposalContent, Term
from app.features.proposals.writing.blocks import Block, Cell, Grid, Head, Paragraph, chart, figure, table
from app.features.proposals.writing.options import Titled, columns
from app.platform.wording.voice import MISSING, Voice


def bill(content: ProposalContent, voice: Voice) -> list[Block]:
    if not content.bills:
        return []
    note = voice.gettext(
        "Quantities follow from the system by the rule beside them; prices come from the sources and are"
        " not offers. The bill of materials total adds racks, the management network, storage and spare "
        "parts where they are asked for, and freight and installation to the systems and network; it is "
        "the purchase that the cost over the term rests on. Power under load is that of all parts under "
        "the typical load that their makers state; "
        "power in this training is that of the machines while they train this model. Neither includes "
        "cooling. A total range adds all low and all high prices, as if they moved together."
    )
    blocks: list[Block] = [Paragraph(note)]
    for index, option in enumerate(content.bills):
        if option.note is not None:
            why = {"option": option.label, "why": option.note}
            none = Message("{option}: no bill of materials: {why}", why)
            blocks.append(Paragraph(voice.sentence(none), quiet=True))
        elif option.label in content.offered or not option.groups:
            blocks.append(by_part(option, index, voice))
            if option.racks is not None:
                blocks.append(Paragraph(hall_facts(option, voice), quiet=True))
    others = [bill for bill in content.bills if bill.label not in content.offered]
    grouped = [bill for bill in others if bill.groups and bill.note is None]
    if grouped:
        caption = voice.gettext("Options that are not recommended, by group")
        by_group = [(bill.label, sums(bill, grouped, voice)) for bill in grouped]
        blocks += columns("bill-groups", caption, voice.gettext("Component"), by_group)
        more = voice.gettext(
            "Options that are not recommended are totaled by group; CSV and XLSX list every part."
        )
        blocks.append(Paragraph(more, quiet=True))
    notes = {bill.tax_note.message: bill.tax_note for bill in content.bills if bill.tax_note is not None}
    return [*blocks, *(Paragraph(voice.sentence(note)) for note in notes.values())]


def hall_facts(option: OptionBill, voice: Voice) -> str:
    facts = [
        voice.say(Message("{count} racks", {"count": option.racks})),
        voice.value(option.rack_units, "U"),
        f"{voice.gettext('Power under load')} {voice.quantity(option.power)}",
    ]
    if option.equipment is not None:
        facts.append(f"{voice.gettext('Systems and network')} {voice.quantity(option.equipment)}")
    return " · ".join(facts)


def sums(option: OptionBill, options: Sequence[OptionBill], voice: Voice) -> list[Titled]:
    """Return the sums of one option by the groups of all options, and its totals."""
    known = {group.group: group for group in option.groups}
    at_least = voice.gettext("at least")
    cells: list[Titled] = []
    for name in dict.fromkeys(group.group for bill in options for group in bill.groups):
        group = known.get(name)
        more = at_least if group is not None and not group.complete else ""
        cells.append((voice.label(name, "bill"), figure(group.total if group else None, voice, more=more)))
    unknown, more = voice.gettext("price unknown"), "" if option.complete else at_least
    racks = MISSING if option.racks is None else voice.say(Message("{count} racks", {"count": option.racks}))
    height = "" if option.rack_units is None else voice.value(option.rack_units, "U")
    return [
        *cells,
        (voice.gettext("Bill of materials total"), figure(option.total, voice, unknown=unknown, more=more)),
        (voice.gettext("Systems and network"), figure(option.equipment, voice)),
        (voice.gettext("Racks"), Cell(racks, height)),
        (voice.gettext("Power under load"), figure(option.power, voice)),
    ]


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
        (Head(unit_price, True, 1.4), lambda part: figure(part.unit_price, voice, unknown=unknown)),
        (Head(total, True, 1.4), lambda part: figure(part.total, voice, unknown=unknown)),
        foot=[Cell(whole), *[Cell("")] * 3, figure(option.total, voice)] if option.total else [],
    )


def term(content: ProposalContent, voice: Voice) -> list[Block]:
    """Return the cost of every option over the term, item by item."""
    costs = content.term
    if costs is None:
        return []
    message = Message(
        "all options over {years} years of {hours} useful hours per year: the cost of an hour "
        "of work times these hours. Purchase is spread over the term, including the cost of "
        "capital. Owned systems and commitments are paid for every hour; list and spot prices "
        "apply only to the hours in use.",
        {"years": costs.years, "hours": round(costs.useful_hours_per_year)},
    )
    other = voice.gettext(
        "The outlay of the recommendation is another figure: all money that leaves over the term for the "
        "demanded runs, idle time of owned systems included, without interest."
    )
    whole = [f"{option.label} {voice.quantity(option.over_term)}" for option in costs.asked]
    what = voice.gettext("Stacked bar chart of cost over the term by option")
    return [
        Paragraph(voice.sentence(message)),
        *([] if content.decision is None else [Paragraph(other, quiet=True)]),
        totals(costs, voice),
        cost_items(costs, content.currency, voice),
        chart("term", voice.gettext("Cost over the term"), what, whole),
    ]


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
