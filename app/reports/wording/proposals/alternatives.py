"""Charts in words: what a chart shows, for who cannot see it."""

from __future__ import annotations

from collections.abc import Sequence

from app.errors import Message
from app.reports.figures.comparisons import hours_of
from app.reports.wording.scales import Scale
from app.reports.wording.voice import Voice
from app.sizing.document import Estimate
from app.sizing.proposal.documents import ProposalContent

NAMED_PARTS = 3
"""Parts of the time that are named per option."""


def told(what: str, entries: Sequence[str]) -> str:
    """Return what a chart shows, entry by entry."""
    return f"{what}: {'; '.join(entries)}" if entries else what


def time(content: ProposalContent, scale: Scale, voice: Voice) -> str:
    """Return the time to train by option."""
    entries = [
        f"{row.label} {voice.quantity(hours_of(row), scale)} ({voice.label(row.kind)})"
        for row in content.comparison.rows
        if row.hours is not None
    ]
    return told(voice.gettext("Bars of the time to train by option"), entries)


def cost(content: ProposalContent, voice: Voice) -> str:
    """Return the cost of a run by option."""
    entries = [
        f"{row.label} {voice.quantity(row.run_cost)}"
        for row in content.comparison.rows
        if row.run_cost is not None
    ]
    return told(voice.gettext("Bars of the cost of the run by option"), entries)


def breakdown(found: Sequence[tuple[str, Estimate]], voice: Voice) -> str:
    """Return where the time of each option goes."""
    entries = []
    for label, one in found:
        total = sum(part.seconds for part in one.breakdown or ()) or 1.0
        heaviest = sorted(one.breakdown or (), key=lambda part: -part.seconds)[:NAMED_PARTS]
        shares = ", ".join(
            f"{voice.label(part.part, 'part')} {voice.share(part.seconds / total)}" for part in heaviest
        )
        entries.append(f"{label} {shares}")
    return told(voice.gettext("Stacked bars of the parts of the time by option, the largest parts"), entries)


def sensitivity(estimate: Estimate, voice: Voice) -> str:
    """Return what the time of an option hangs on."""
    entries = [
        f"{voice.label(one.input)} {voice.value(one.low, 's', exact=False)}–"
        f"{voice.value(one.high, 's', exact=False)}"
        for one in estimate.sensitivity[:8]
    ]
    named = voice.say(
        Message(
            "Bars of what each uncertain input has of the range of {option}",
            {"option": estimate.label},
        )
    )
    return told(named, entries)


def term(content: ProposalContent, voice: Voice) -> str:
    """Return the cost over the term by option."""
    entries = [
        f"{one.label} {voice.quantity(one.over_term)}" for one in (content.term.asked if content.term else ())
    ]
    return told(voice.gettext("Stacked bars of the cost over the term by option"), entries)
