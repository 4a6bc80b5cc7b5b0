"""The PDF of a proposal: PDF/UA-1, our fonts only, the same bytes for the same proposal."""

from __future__ import annotations

import functools
import importlib.util
import json
from pathlib import Path
from typing import Any

import typst

from app.reports.fonts import font_folder
from app.reports.pdf.payload import payload
from app.reports.wording import voice
from app.reports.wording.proposals import write_proposal
from app.sizing.proposal.documents import Proposal
from app.sizing.proposal.freezing import canonical

TEMPLATE = "proposal.typ"
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
