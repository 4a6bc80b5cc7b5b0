"""The PDF of a proposal: PDF/UA-1, bundled fonts only, reproducible bytes."""

from __future__ import annotations

import base64
import dataclasses
import functools
import json
import re
import textwrap
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from app.features.proposals.branding import FORMATS
from app.features.proposals.charts import printed_charts
from app.features.proposals.lines import canonical
from app.features.proposals.model import COMMITTED, Logo, Proposal, ProposalContent
from app.features.proposals.writing.blocks import View
from app.features.proposals.writing.proposal import write_proposal
from app.platform.fonts import SUBSTITUTE, font_folder, printable
from app.platform.wording.voice import Voice, voice
from app.profiles.presets import beside

UNBROKEN = re.compile(r"[^\s\u200b\u2e80-\u9fff\uff00-\uffef-]{18,}")
"""A word without a place to break a line, too long for a narrow column; Chinese breaks anywhere."""

PERCENT = re.compile(r"(\d) %")
"""A share as sentences write it; tables write it without the space, and a page has one style."""

RUNNING = 80
"""Letters of the title at the head of a page."""

PIECE, BREAK = 12, "\u200b"
"""Letters between invisible line-break opportunities, and the character for one."""


def payload(proposal: Proposal, voice: Voice) -> dict[str, Any]:
    content = proposal.content
    return {
        "accent": content.branding.accent,
        "cover": True,
        "logo": drawn_logo(content.branding.logo, voice.gettext("Logo of the sender")),
        "customer_logo": drawn_logo(content.branding.customer_logo, voice.gettext("Logo of the customer")),
        "charts": printed_charts(content, voice),
        "attached": "proposal.json",
        "attachment": printable(voice.gettext("Content of this proposal in canonical form (RFC 8785)")),
        "made_with": printable(foot(content, voice)),
    }


def foot(content: ProposalContent, voice: Voice) -> str:
    """Return the foot of every page: which figures are committed to."""
    hidden = {section.id for section in content.sections if not section.shown}
    if not content.acceptance or "acceptance" in hidden:
        return voice.gettext("Estimates, not promises: every figure has a range, a formula and a source.")
    level = {"section": voice.label("acceptance", "document"), "level": f"P{100 * COMMITTED:.0f}"}
    template = voice.gettext(
        "Only the figures under “{section}” are committed, at level {level}; all others are estimates."
    )
    return template.format(**level)


def drawn_logo(logo: Logo | None, alt: str) -> dict[str, Any] | None:
    """Return a logo for the Typst template: an SVG as text, a PNG as its bytes."""
    if logo is None:
        return None
    data, form = base64.b64decode(logo.data), FORMATS[logo.media_type]
    return {"format": form, "data": data.decode() if form == "svg" else list(data), "alt": printable(alt)}


def plain(value: Any) -> Any:
    """Return data with every text fit to be printed."""
    if isinstance(value, str):
        return breakable(printable(PERCENT.sub(r"\1%", value)))
    if isinstance(value, dict):
        return {name: plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    return value


def breakable(text: str) -> str:
    """Return text whose longest words may be broken.

    >>> breakable("short words only")
    'short words only'
    >>> breakable("a" * 30).split(chr(0x200b))
    ['aaaaaaaaaaaa', 'aaaaaaaaaaaa', 'aaaaaa']
    >>> breakable("完成十二次训练，每次14.8分钟，软件配置：FlashAttention 2").count(chr(0x200b))
    0
    """
    return UNBROKEN.sub(
        lambda word: BREAK.join(word[0][start : start + PIECE] for start in range(0, len(word[0]), PIECE)),
        text,
    )


def written_payload(view: View, voice: Voice, moment: datetime) -> dict[str, Any]:
    """Return the data of the template that all documents share."""
    sections = [
        {**dataclasses.asdict(section), "paragraphs": section.paragraphs}
        for section in view.sections
        if section.printed
    ]
    written = plain({**dataclasses.asdict(view), "sections": sections})
    substituted = voice.gettext("□ marks a character missing from the fonts of this document.")
    words = {
        "contents": voice.gettext("Contents"),
        "substituted": substituted if SUBSTITUTE in json.dumps(written, ensure_ascii=False) else "",
    }
    return {
        **written,
        "running_title": textwrap.shorten(printable(view.title), RUNNING, placeholder="…"),
        "day": [moment.year, moment.month, moment.day],
        "words": {name: printable(text) for name, text in words.items()},
    }


TEMPLATE = "proposals/proposal.typ"

STANDARDS: Any = ["ua-1"]


@functools.cache
def template() -> bytes:
    return (beside("templates") / TEMPLATE).read_bytes()


def proposal_pdf(proposal: Proposal) -> bytes:
    """Return the PDF of a proposal; its date is that of freezing, or of the last edit of a draft."""
    speaker = voice(proposal.content.locale)
    view = write_proposal(proposal, speaker)
    moment = proposal.frozen_at or proposal.updated_at
    content = canonical(proposal.content.model_dump(mode="json")).decode()
    return set_pdf(view, speaker, moment, content, payload(proposal, speaker))


def set_pdf(view: View, voice: Voice, moment: datetime, content: str, look: Mapping[str, Any]) -> bytes:
    """Return a written document as PDF, with its content attached as JSON."""
    import typst

    data = {**written_payload(view, voice, moment), **look}
    compiled: bytes = typst.compile(  # type: ignore[misc]
        template(),
        font_paths=[str(font_folder())],
        ignore_system_fonts=True,
        sys_inputs={"data": json.dumps(data, ensure_ascii=False), "content": content},
        pdf_standards=STANDARDS,
        timestamp=int(moment.timestamp()),
    )
    return compiled
