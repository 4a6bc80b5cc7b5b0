"""One proposal read back from each of its renderings, number by number."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass
from typing import Any

import openpyxl
import pypdf
import pytest

from app.features.proposals.lines import ProposalLine, lines_of
from app.features.proposals.model import Proposal
from app.features.proposals.writing.proposal import OFFER
from app.platform.wording.voice import voice

UNPRINTED = {"kind", "fits", "memory.capacity"}
"""Lines that are words for programs, which documents say in sentences, and memory that no plan may fill."""


def squeezed(text: str) -> str:
    """Return text without white space: lines are broken where the page is full."""
    return re.sub(r"\s+", "", text)


def text_of(data: bytes) -> str:
    """Return the text of a PDF; invisible places to break a line at are not part of it."""
    read = pypdf.PdfReader(io.BytesIO(data))
    return "\n".join(page.extract_text() for page in read.pages).replace("\u200b", "")


@dataclass(frozen=True)
class Renderings:
    """What was given out of one proposal."""

    document: dict[str, Any]
    """Its content as JSON."""
    table: str
    """CSV."""
    workbook: bytes
    paper: bytes
    """PDF."""
    page: str
    """Text of the page."""


def at(document: Any, path: str) -> Any:
    """Return what stands at a dotted path."""
    for name in path.split("."):
        document = document[int(name)] if isinstance(document, list) else document[name]
    return document.get("value") if isinstance(document, dict) else document


def printed(line: ProposalLine, made: Proposal) -> bool:
    """Tell whether a line is printed: of what is offered every part, of the others the totals.

    Without an offer there are no sections about it.
    """
    if line.section in OFFER and not made.content.offered:
        return False
    if line.section == "term" and made.content.account is not None:
        return False
    recommended = line.option in made.content.offered
    if ".lines." in line.path and line.section == "bill":
        return recommended
    return ".groups." not in line.path


def hold(made: Proposal, found: Renderings) -> int:
    """Hold every number of the renderings against those of the content; return how many there were."""
    locale = made.content.locale
    rows = {row["path"]: row for row in csv.DictReader(io.StringIO(found.table))}
    sheet = openpyxl.load_workbook(io.BytesIO(found.workbook))[voice(locale).gettext("Figures")]
    cells = {row[8]: row for row in sheet.iter_rows(min_row=2, values_only=True)}
    page, paper = squeezed(found.page), squeezed(text_of(found.paper))
    lines = lines_of(made.content)
    assert len(lines) == len(cells)
    numbers = 0
    for line in lines:
        stated = at(found.document, line.path) if line.name != "avoid" else line.value
        row, cell = rows[line.path], cells[line.path]
        assert line.value == stated
        if isinstance(line.value, bool) or not isinstance(line.value, int | float):
            continue
        numbers += 1
        assert float(row["value"]) == line.value
        # A workbook keeps sixteen digits.
        assert cell[3] == pytest.approx(line.value, rel=1e-14)
        assert row["written"] == cell[7]
        if line.name not in UNPRINTED and printed(line, made):
            assert squeezed(row["written"]) in paper, line
            assert squeezed(row["written"]) in page, line
    return numbers


def hold_warnings(made: Proposal, found: Renderings) -> None:
    """Hold the warnings of page, PDF and CSV against those of the content."""
    speaker = voice(made.content.locale)
    page, paper = squeezed(found.page), squeezed(text_of(found.paper))
    rows = csv.DictReader(io.StringIO(found.table))
    told = {row["written"] for row in rows if row["section"] == "warnings"}
    for warning in made.content.warnings:
        said = speaker.sentence(warning.text)
        assert squeezed(said) in paper
        assert squeezed(said) in page
        assert said in told
