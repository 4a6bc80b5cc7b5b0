"""What the template is given: plain data, every text held against the fonts' coverage."""

from __future__ import annotations

import base64
import dataclasses
import re
import textwrap
from typing import Any

from app.reports.fonts import SUBSTITUTE, printable
from app.reports.wording.proposals import View
from app.reports.wording.proposals.options import running, weighed
from app.reports.wording.voice import Voice
from app.sizing.proposal.documents import Logo, Proposal

UNBROKEN = re.compile(r"[^\s\u200b-]{18,}")
"""Letters without a place to break a line at, too long for a narrow column."""

RUNNING = 80
"""Letters of the title at the head of a page."""

PIECE = 12
BREAK = "\u200b"
"""Invisible place where a line may be broken."""


def payload(proposal: Proposal, view: View, voice: Voice) -> dict[str, Any]:
    """Return the data of the template."""
    content = proposal.content
    written = plain(dataclasses.asdict(view))
    day = (proposal.frozen_at or proposal.updated_at).date()
    logo = content.branding.logo
    substituted = any(SUBSTITUTE in text for text in texts_of(written))
    return {
        **written,
        "running_title": textwrap.shorten(printable(content.title), RUNNING, placeholder="…"),
        "day": [day.year, day.month, day.day],
        "accent": content.branding.accent,
        "logo": None if logo is None else drawn_logo(logo),
        "logo_alt": printable(voice.gettext("Logo")),
        "charts": charts(proposal, voice),
        "words": {
            name: printable(text)
            for name, text in {
                "contents": voice.gettext("Contents"),
                "page": voice.gettext("Page"),
                "attachment": voice.gettext("The content of this proposal in canonical form (RFC 8785)"),
                "substituted": voice.gettext(
                    "□ stands for a character that the fonts of this document do not have."
                )
                if substituted
                else "",
                "made_with": voice.gettext(
                    "Estimates, not promises: every figure has a range, a formula and a source."
                ),
            }.items()
        },
    }


def drawn_logo(logo: Logo) -> dict[str, Any]:
    """Return the logo as the template reads it: the letters of an SVG, the bytes of a PNG as numbers."""
    data = base64.b64decode(logo.data)
    return {
        "format": FORMATS[logo.media_type],
        "data": data.decode() if logo.media_type == "image/svg+xml" else list(data),
    }


FORMATS = {"image/png": "png", "image/svg+xml": "svg"}


def charts(proposal: Proposal, voice: Voice) -> dict[str, str]:
    """Return the charts there is something to show in, as SVG by name."""
    content = proposal.content
    # What draws takes half a second to load, and few requests print.
    from app.reports import prints

    found = {"time": prints.time(content.comparison, voice)}
    if any(row.estimate is not None and row.estimate.cost is not None for row in content.comparison.rows):
        found["cost"] = prints.cost(content.comparison, voice)
    estimates = running(content)
    if any(one.breakdown for _, one in estimates):
        found["breakdown"] = prints.breakdown(estimates, voice)
    shown = weighed(content)
    if shown is not None and shown.sensitivity:
        found["sensitivity"] = prints.sensitivity(shown, voice)
    if content.term is not None:
        found["term"] = prints.term(content.term, content.currency, voice)
    return found


def plain(value: Any) -> Any:
    """Return data with every text fit to be printed."""
    if isinstance(value, str):
        return breakable(printable(value))
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    return value


def breakable(text: str) -> str:
    """Return text whose longest words may be broken.

    >>> breakable("short words only")
    'short words only'
    >>> breakable("a" * 30).split(chr(0x200b))
    ['aaaaaaaaaaaa', 'aaaaaaaaaaaa', 'aaaaaa']
    """
    return UNBROKEN.sub(
        lambda found: BREAK.join(found[0][start : start + PIECE] for start in range(0, len(found[0]), PIECE)),
        text,
    )


def texts_of(value: Any) -> list[str]:
    """Return every text in data."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for one in value.values() for text in texts_of(one)]
    if isinstance(value, list):
        return [text for one in value for text in texts_of(one)]
    return []
