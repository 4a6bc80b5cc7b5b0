"""Why a proposal can be believed, and where not: warnings, assumptions, sources, method, accuracy."""

from __future__ import annotations

from app.errors import Message
from app.reports.wording.proposals.blocks import (
    Block,
    Cell,
    Flag,
    Flags,
    Grid,
    Head,
    Paragraph,
    Reference,
    References,
    SectionBlock,
)
from app.reports.wording.values import written
from app.reports.wording.voice import MISSING, Voice
from app.sizing.proposal.documents import Proposal, ProposalContent

NEAREST = 3
"""Measured runs that are named per option."""


def risks(content: ProposalContent, voice: Voice) -> SectionBlock:
    """Return every warning."""
    flags = [
        Flag(
            code=one.code,
            severity=one.severity,
            word=voice.label(one.severity),
            text=voice.sentence(one.text),
            options=" · ".join(one.options),
        )
        for one in content.warnings
    ]
    blocks: list[Block] = (
        [Flags(flags)] if flags else [Paragraph(voice.gettext("No check found anything to warn of."))]
    )
    if content.branding.note is not None:
        blocks.append(Paragraph(voice.sentence(content.branding.note), quiet=True))
    return SectionBlock("risks", voice.gettext("Risks and warnings"), blocks)


def assumptions(content: ProposalContent, voice: Voice) -> SectionBlock:
    """Return everything that was taken for granted."""
    everywhere = len([row for row in content.comparison.rows if row.estimate is not None])
    rows = [
        [
            Cell(voice.label(one.field)),
            Cell(written(one.value, voice)),
            Cell(
                voice.sentence(one.why),
                "" if len(one.options) == everywhere else " · ".join(one.options),
            ),
        ]
        for one in content.assumptions
    ]
    heads = [
        Head(voice.gettext("Assumption"), width=1.4),
        Head(voice.gettext("Value"), width=1.3),
        Head(voice.gettext("Why"), width=3.0),
    ]
    said = voice.gettext(
        "Nobody asked for these values; they were taken. Each of them can be replaced by the customer's own."
    )
    nothing = voice.gettext(
        "The options are published figures; nothing was assumed beyond what their sources state."
    )
    blocks: list[Block] = [Paragraph(said if rows else nothing)]
    if rows:
        blocks.append(Grid("assumptions", voice.gettext("Values taken"), heads, rows))
    return SectionBlock("assumptions", voice.gettext("Assumptions"), blocks)


def sources(content: ProposalContent, voice: Voice) -> SectionBlock:
    """Return where the figures come from."""
    entries = [
        Reference(
            id=one.id,
            kind=voice.label(one.kind),
            title=one.title,
            more=", ".join(
                part for part in (one.publisher, voice.date(one.published) if one.published else "") if part
            ),
            url=one.url,
        )
        for one in content.sources
    ]
    blocks: list[Block] = [
        Paragraph(
            voice.gettext("Published figures come from these sources; what is fitted is fitted to them.")
        )
    ]
    stated = [row for row in content.comparison.rows if row.estimate is None]
    if stated:
        said = Message(
            "stated by the author of the comparison: {rows}",
            {"rows": " · ".join(f"{row.label} ({voice.label(row.kind)})" for row in stated)},
        )
        blocks.append(Paragraph(voice.sentence(said)))
    if entries:
        blocks.append(References(entries))
    return SectionBlock("sources", voice.gettext("Sources"), blocks)


def method(proposal: Proposal, voice: Voice) -> SectionBlock:
    """Return how the figures come about, how far they have been right, and how to check this document."""
    content = proposal.content
    blocks: list[Block] = [
        Paragraph(
            voice.gettext(
                "Every operator of the model is timed on the chip it runs on: by arithmetic, by memory "
                "bandwidth, by the exchange or by launch latency, whichever takes longest. Communication, "
                "pipeline bubbles, the update of the weights, checkpoints and failures are added. "
                "Efficiencies of the software are fitted to published runs; ranges come from the errors on "
                "runs that were left out of the fit."
            )
        )
    ]
    rows = [
        [
            Cell(row.label),
            Cell(voice.label(row.estimate.validation.status)),
            Cell(voice.percent(row.estimate.validation.family_error)),
            Cell(
                ", ".join(
                    f"{run.model} · {run.system} × {voice.number(run.accelerators)}"
                    for run in row.estimate.validation.nearest_measured[:NEAREST]
                )
                or MISSING
            ),
        ]
        for row in content.comparison.rows
        if row.estimate is not None
    ]
    if rows:
        heads = [
            Head(voice.gettext("Option"), width=1.8),
            Head(voice.gettext("Validation"), width=1.1),
            Head(voice.gettext("Median error of the family"), True, 1.2),
            Head(voice.gettext("Nearest measured runs"), width=3.0),
        ]
        blocks.append(Grid("accuracy", voice.gettext("Accuracy"), heads, rows))
    checked = [
        [Cell(voice.gettext("Version of the formulas")), Cell(content.engine_version)],
        [Cell(voice.gettext("Version of the catalogue")), Cell(content.catalog_version)],
        [Cell(voice.gettext("Figures of")), Cell(voice.date(content.made_on.isoformat()))],
        [
            Cell(voice.gettext("SHA-256 of the content")),
            Cell(proposal.sha256 or voice.gettext("not frozen yet")),
        ],
    ]
    heads = [Head(voice.gettext("What"), width=1.2), Head(voice.gettext("Value"), width=3.0)]
    blocks.append(Grid("seal", voice.gettext("How to check this document"), heads, checked))
    blocks.append(
        Paragraph(
            voice.gettext(
                "The attached file proposal.json is the content in canonical form (RFC 8785); its SHA-256 "
                "is the hash above. Whoever recomputes the proposal with a newer catalogue gets the lines "
                "that changed; this document stays as it is."
            ),
            quiet=True,
        )
    )
    return SectionBlock("method", voice.gettext("Method and accuracy"), blocks)
