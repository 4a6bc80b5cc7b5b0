"""Comparisons, bills of materials, build or rent, and proposals as aligned lines for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from app.commands.text import id_lines, remarks
from app.errors import Message
from app.estimating.ranges import significant
from app.features.bills.model import Bill
from app.features.break_even.model import BreakEven
from app.features.comparisons.model import Comparison, Ratio
from app.platform.wording.lines import table
from app.platform.wording.voice import MISSING, Voice, stated

if TYPE_CHECKING:
    from app.features.proposals.model import Proposal


def comparison_text(answer: Comparison, speaker: Voice) -> list[str]:
    _ = speaker.gettext
    heads = (
        _("Option"),
        _("Kind"),
        _("Training time"),
        _("Relative to the fastest"),
        _("Cost per run"),
        _("Over the term"),
    )
    paid = {row.label: next((cost for cost in row.costs if cost.own), None) for row in answer.rows}
    behind = {ratio.slower: ratio for ratio in answer.ratios if ratio.faster == answer.ratios[0].faster}
    rows = [
        (
            row.label,
            speaker.label(row.kind),
            speaker.quantity(row.time) if row.hours is not None else _("does not fit"),
            ratio_text(behind.get(row.label), speaker),
            speaker.quantity(row.run_cost),
            speaker.quantity(cost.over_term if (cost := paid[row.label]) else None),
        )
        for row in answer.rows
    ]
    leaders = [
        leader_text(_("Fastest"), answer.fastest, answer.fastest_tied, speaker),
        leader_text(_("Cheapest"), answer.cheapest, answer.cheapest_tied, speaker),
    ]
    if answer.one_basis is not None:
        basis = {
            "share": round(100 * answer.one_basis.utilisation, 1),
            "years": significant(answer.one_basis.term_years),
        }
        leaders.append(
            speaker.say(Message("Costs at {share} % utilization over {years} years, for every option", basis))
        )
    told = [speaker.sentence(text) for text in answer.decision.sentences] if answer.decision else []
    lines = [answer.title, "", *told, *(line for line in leaders if line), ""]
    return [*lines, *table([heads, *rows]), *remarks(answer.warnings, [], speaker), *id_lines(answer)]


def ratio_text(ratio: Ratio | None, speaker: Voice) -> str:
    """Format the time of a row relative to the fastest, with a note on ties."""
    if ratio is None:
        return MISSING
    text = speaker.ratio(ratio.ratio)
    return f"{text} ({speaker.gettext('too close to call')})" if ratio.tie else text


def leader_text(what: str, first: str | None, tied: Sequence[str], speaker: Voice) -> str:
    """Return which option leads, or that several are too close to call; empty for neither."""
    if first is None and not tied:
        return ""
    leader = first or f"{speaker.gettext('too close to call')} ({' · '.join(tied)})"
    return f"{what}{speaker.sign(': ')}{leader}"


def bill_text(answer: Bill, speaker: Voice) -> list[str]:
    _ = speaker.gettext
    unknown = _("price unknown")
    heads = (
        _("Group"),
        _("Name"),
        _("Use"),
        _("Quantity"),
        _("Unit price"),
        _("Total"),
        _("Power under load"),
        _("Rack units"),
    )
    rows = [
        (
            speaker.label(line.group, "bill"),
            _(line.name),
            speaker.label(line.use, "bill"),
            speaker.number(line.quantity),
            speaker.quantity(line.unit_price) if line.unit_price else unknown,
            speaker.quantity(line.total) if line.total else unknown,
            speaker.quantity(line.power),
            speaker.number(line.rack_units),
        )
        for line in answer.lines
    ]
    totals = answer.totals
    total = _("Total") if totals.complete else _("Total, at least")
    figures = [
        (total, speaker.quantity(totals.price)),
        (_("Systems and network"), speaker.quantity(answer.equipment)),
        (_("Power under load"), speaker.quantity(totals.power)),
        (_("Maximum power"), speaker.quantity(totals.power_max)),
        (_("Racks"), f"{speaker.number(totals.racks)} ({speaker.number(totals.rack_units)} U)"),
        (_("Weight"), speaker.quantity(totals.weight)),
    ]
    taxes = [] if answer.tax_note is None else ["", speaker.sentence(answer.tax_note)]
    lines = [answer.label, "", *table(figures), *taxes, "", *table([heads, *rows])]
    return [*lines, *remarks(answer.warnings, [], speaker), *id_lines(answer)]


def break_even_text(answer: BreakEven, speaker: Voice) -> list[str]:
    _, currency = speaker.gettext, answer.currency

    def months(count: float | None) -> str:
        return _("never") if count is None else speaker.number(count)

    def row(name: str, value: str) -> tuple[str, str]:
        return speaker.label(name), value

    amounts = [
        row("capex", speaker.quantity(answer.capex)),
        row("onprem_monthly", speaker.value(answer.onprem_monthly, currency)),
        row("cloud_monthly", speaker.value(answer.cloud_monthly, currency)),
        row("horizon_months", speaker.say(Message("{months} months", {"months": answer.horizon_months}))),
        row("trace.own_at_horizon", speaker.value(answer.own_at_horizon, currency)),
        row("trace.cloud_at_horizon", speaker.value(answer.cloud_at_horizon, currency)),
    ]
    heads = (_("Input"), _("Value"), _("Low"), _("High"), _("Break-even at low"), _("Break-even at high"))
    effects = [
        (
            speaker.label(effect.input),
            *(
                stated(effect.input, value, speaker)
                for value in (effect.value, effect.low_input, effect.high_input)
            ),
            months(effect.low),
            months(effect.high),
        )
        for effect in answer.tornado
    ]
    lines = [*(speaker.sentence(text) for text in answer.sentences), "", *table(amounts)]
    lines += ["", *table([heads, *effects])] if effects else []
    return [*lines, *remarks(answer.warnings, answer.defaults, speaker)]


def proposal_text(answer: Proposal, speaker: Voice) -> list[str]:
    _, content = speaker.gettext, answer.content
    facts = [
        (_("Proposal"), answer.id),
        (_("Reference number"), answer.number or MISSING),
        (_("Customer"), content.customer),
        (_("Status"), speaker.label(answer.status)),
        (_("Valid until"), MISSING if content.valid_until is None else f"{content.valid_until}"),
        (_("SHA-256 of the content"), answer.sha256 or MISSING),
        (_("Recommendation"), " · ".join(content.offered) or MISSING),
    ]
    over_term = {cost.label: cost.over_term for cost in content.term.asked} if content.term else {}
    bills = {bill.label: bill.total for bill in content.bills}
    heads = (_("Option"), _("Training time"), _("Cost per run"), _("Over the term"), _("Bill of materials"))
    rows = [
        (
            row.label,
            speaker.quantity(row.time) if row.hours is not None else _("does not fit"),
            speaker.quantity(row.run_cost),
            speaker.quantity(over_term.get(row.label)),
            speaker.quantity(bills.get(row.label)),
        )
        for row in content.comparison.rows
    ]
    reasons = [speaker.sentence(reason) for reason in content.advice.reasons]
    lines = [content.title, "", *table(facts), "", *reasons, "", *table([heads, *rows])]
    return [*lines, *remarks(content.warnings, [], speaker)]
