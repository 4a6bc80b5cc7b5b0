"""The PDF of a proposal: PDF/UA-1, our fonts only, the same bytes for the same proposal."""

from __future__ import annotations

import base64
import dataclasses
import functools
import importlib.util
import json
import re
import textwrap
from pathlib import Path
from typing import Any

import typst

from app.features.proposals.lines import canonical
from app.features.proposals.model import Logo, Proposal
from app.features.proposals.writing.blocks import View
from app.features.proposals.writing.options import running, weighed
from app.features.proposals.writing.proposal import write_proposal
from app.platform.fonts import SUBSTITUTE, font_folder, printable
from app.platform.wording.voice import Voice, voice

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
                "attachment": voice.gettext("Content of this proposal in canonical form (RFC 8785)"),
                "substituted": voice.gettext("□ marks a character missing from the fonts of this document.")
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
    from app.features.proposals import prints

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


TEMPLATE = "proposals/proposal.typ"

STANDARDS: Any = ["ua-1"]


@functools.cache
def template() -> bytes:
    """Return the template: in the repository, or inside the installed package."""
    found = importlib.util.find_spec("app")
    assert found is not None and found.submodule_search_locations is not None
    package = Path(next(iter(found.submodule_search_locations)))
    bundled = package / "_bundled" / "templates" / TEMPLATE
    path = bundled if bundled.is_file() else package.parent / "templates" / TEMPLATE
    return path.read_bytes()


def proposal_pdf(proposal: Proposal) -> bytes:
    """Return the PDF of a proposal; its date is that of freezing, or of the last edit of a draft."""
    speaker = voice(proposal.content.locale)
    data = payload(proposal, write_proposal(proposal, speaker), speaker)
    moment = proposal.frozen_at or proposal.updated_at
    compiled: bytes = typst.compile(  # type: ignore[misc]
        template(),
        font_paths=[str(font_folder())],
        ignore_system_fonts=True,
        sys_inputs={
            "data": json.dumps(data, ensure_ascii=False),
            "content": canonical(proposal.content).decode(),
        },
        pdf_standards=STANDARDS,
        timestamp=int(moment.timestamp()),
    )
    return compiled
