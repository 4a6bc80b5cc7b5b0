"""A proposal written in its language: every number by the same voice as the pages."""

from __future__ import annotations

import datetime
from collections.abc import Sequence

from app.errors import Message
from app.reports.wording.proposals import costs, evidence, options, trust
from app.reports.wording.proposals.blocks import (
    Against,
    Block,
    Facts,
    Paragraph,
    QuoteBlock,
    SectionBlock,
    VerdictBlock,
    View,
)
from app.reports.wording.voice import Voice
from app.sizing.document import ComparisonRow
from app.sizing.proposal.documents import Proposal, ProposalContent, Reasoned

FINGERPRINT = 12
"""Digits of the hash that are printed on every page."""


def write_proposal(proposal: Proposal, voice: Voice) -> View:
    """Return a proposal in words."""
    content = proposal.content
    sections = [
        SectionBlock("summary", voice.gettext("Summary"), summary(content, voice)),
        options.comparison(content, voice),
        evidence.measured(content, voice),
        options.logic(content, voice),
        costs.bill(content, voice),
        costs.term(content, voice),
        trust.risks(content, voice),
        trust.assumptions(content, voice),
        trust.sources(content, voice),
        trust.method(proposal, voice),
        options.plans(content, voice),
    ]
    return View(
        language=voice.language,
        title=content.title,
        kicker=voice.gettext("Infrastructure proposal"),
        customer=content.customer,
        facts=facts(proposal, voice),
        confidential=voice.gettext("Confidential") if content.confidential else "",
        footer=content.branding.footer or "",
        fingerprint=proposal.sha256[:FINGERPRINT] if proposal.sha256 else voice.gettext("Draft"),
        sections=[section for section in sections if section is not None and section.blocks],
    )


def facts(proposal: Proposal, voice: Voice) -> Facts:
    """Return what stands at the head of the document."""
    content = proposal.content
    day = (proposal.frozen_at or proposal.updated_at).date()
    entries = [
        (voice.gettext("Customer"), content.customer),
        (voice.gettext("Date"), voice.date(day.isoformat())),
        (voice.gettext("Valid until"), until(content.valid_until, voice)),
        (voice.gettext("Currency"), content.currency),
        (
            voice.gettext("Hash"),
            proposal.sha256[:FINGERPRINT] if proposal.sha256 else voice.gettext("not frozen yet"),
        ),
    ]
    return Facts(entries)


def until(day: datetime.date | None, voice: Voice) -> str:
    """Return the last day on which a proposal holds."""
    return voice.gettext("not limited") if day is None else voice.date(day.isoformat())


def summary(content: ProposalContent, voice: Voice) -> list[Block]:
    """Return the page a busy reader reads: what to take, why, what not to buy."""
    advice = content.advice
    row = next((row for row in content.comparison.rows if row.label == advice.recommended), None)
    none = "A tie" if advice.tied else "None of the options"
    blocks: list[Block] = [
        VerdictBlock(
            title=voice.gettext("Recommendation"),
            option=row.label if row is not None else voice.gettext(none),
            lines=[voice.sentence(reason) for reason in advice.reasons],
            figures=headline(row, content, voice) if row is not None else (),
        )
    ]
    if content.reason:
        lines = [line.strip() for line in content.reason.splitlines() if line.strip()]
        blocks.append(QuoteBlock(voice.gettext("Why this choice"), lines))
    if advice.avoid:
        blocks.append(
            Against(voice.gettext("What not to buy"), [against(one, voice) for one in advice.avoid])
        )
    blocks += limits(content, voice)
    serious = sum(one.severity == "serious" for one in content.warnings)
    cautions = sum(one.severity == "caution" for one in content.warnings)
    blocks.append(options.time_chart(content, voice))
    counted = Message(
        "serious warnings: {serious}, cautions: {cautions}; all stand under “Risks and warnings”. Ranges are "
        "80 % bands, from the 10th to the 90th percentile.",
        {"serious": serious, "cautions": cautions},
    )
    blocks.append(Paragraph(voice.sentence(counted), quiet=True))
    return blocks


def against(one: Reasoned, voice: Voice) -> tuple[str, Sequence[str]]:
    """Return an option not to buy with its reasons."""
    return one.label, [voice.sentence(reason) for reason in one.reasons]


def limits(content: ProposalContent, voice: Voice) -> list[Block]:
    """Return what the customer allows, where anything is said of it."""
    advice, colon, found = content.advice, voice.sign(": "), []
    if advice.deadline_s is not None:
        found.append(f"{voice.gettext('Deadline')}{colon}{voice.value(advice.deadline_s, 's')}")
    if advice.budget is not None:
        found.append(
            f"{voice.gettext('Budget of the run')}{colon}{voice.full(advice.budget, content.currency)}"
        )
    return [Paragraph(" · ".join(found))] if found else []


def headline(row: ComparisonRow, content: ProposalContent, voice: Voice) -> list[tuple[str, str, str]]:
    """Return the figures of the recommended option."""
    scale = options.scale_of_times(content)
    time = options.time_of(row)
    found = [(voice.gettext("Time to train"), voice.central(time, scale), voice.spread(time, scale))]
    cost = row.estimate.cost if row.estimate is not None else None
    if cost is not None:
        run = row.run_cost
        found.append((voice.gettext("Cost of the run"), voice.central(run), voice.spread(run)))
        if cost.capex is not None:
            found.append(
                (voice.gettext("Purchase price"), voice.central(cost.capex), voice.spread(cost.capex))
            )
    best = min((one.hours for one in content.comparison.rows if one.hours), default=None)
    slowest = max((one.hours for one in content.comparison.rows if one.hours), default=None)
    if row.hours and best and slowest and slowest > row.hours:
        found.append((voice.gettext("Against the slowest"), voice.ratio(slowest / row.hours), ""))
    if row.estimate is not None and row.estimate.system.power is not None:
        power = row.estimate.system.power
        found.append((voice.gettext("Power"), voice.central(power), voice.spread(power)))
    return found[:4]
