"""A proposal as tables for other programs: CSV of every line, and a workbook whose totals are formulas."""

from __future__ import annotations

import csv
import io
import re
import zipfile
from collections.abc import Iterable, Sequence
from datetime import datetime

from openpyxl import Workbook
from openpyxl.cell.cell import Cell
from openpyxl.styles import Alignment, Font, PatternFill
from openpyxl.utils import get_column_letter
from openpyxl.worksheet.worksheet import Worksheet

from app.estimating.schema import Quantity
from app.features.proposals.lines import lines_of
from app.features.proposals.model import Proposal, ProposalContent, ProposalLine
from app.features.proposals.writing.proposal import line_name, line_value
from app.platform.tables import legible
from app.platform.tables import written as cell_text
from app.platform.wording.scales import WHOLE
from app.platform.wording.voice import Voice, stated, voice

COLUMNS = ("section", "option", "name", "label", "value", "low", "high", "unit", "written", "path")
"""Columns of the CSV: names for programs, ``label`` and ``written`` for people."""

FIRST_DAY = (1980, 1, 1, 0, 0, 0)
"""Date of the files inside a workbook: the first that ZIP knows, so that equal books are equal bytes."""

MONEY, PLAIN = "#,##0", "General"

Value = str | float | int | bool | None


def proposal_csv(proposal: Proposal) -> str:
    """Return every line of a proposal as CSV (RFC 4180), with its warnings, assumptions and sources."""
    content = proposal.content
    speaker = voice(content.locale)
    buffer = io.StringIO()
    writer = csv.writer(buffer)
    writer.writerow(COLUMNS)
    for row in rows_of(proposal, content, speaker):
        writer.writerow(cell_text(value) for value in row)
    return buffer.getvalue()


def rows_of(proposal: Proposal, content: ProposalContent, speaker: Voice) -> Iterable[list[Value]]:
    """Return the rows of the CSV."""
    facts: tuple[tuple[str, str | None], ...] = (
        ("id", proposal.id),
        ("status", proposal.status),
        ("sha256", proposal.sha256),
        ("customer", content.customer),
        ("title", content.title),
        ("currency", content.currency),
        ("valid_until", content.valid_until.isoformat() if content.valid_until else None),
        ("engine_version", content.engine_version),
        ("catalog_version", content.catalog_version),
    )
    for name, fact in facts:
        yield ["proposal", None, name, None, fact, None, None, None, None, name]
    for line in lines_of(content):
        yield line_row(line, content, speaker)
    for index, warning in enumerate(content.warnings):
        said = speaker.sentence(warning.text)
        options = " · ".join(warning.options)
        yield [
            "warnings",
            options,
            warning.code,
            said,
            warning.severity,
            None,
            None,
            None,
            said,
            f"warnings.{index}",
        ]
    for index, one in enumerate(content.assumptions):
        options, said = " · ".join(one.options), speaker.sentence(one.why)
        taken = str(one.value) if isinstance(one.value, list | dict) else one.value
        path = f"assumptions.{index}.value"
        yield [
            "assumptions",
            options,
            one.field,
            speaker.label(one.field),
            taken,
            None,
            None,
            None,
            said,
            path,
        ]
    for index, source in enumerate(content.sources):
        yield [
            *("sources", None, source.id, source.title, source.url, None, None, None, source.publisher),
            f"sources.{index}",
        ]


def line_row(line: ProposalLine, content: ProposalContent, speaker: Voice) -> list[Value]:
    """Return one line as a row."""
    value = str(line.value) if isinstance(line.value, list | dict) else line.value
    label, said = line_name(line.section, line.name, speaker), line_value(line, content, speaker)
    return [
        *(line.section, line.option, line.name, label, value, line.low, line.high, line.unit, said),
        line.path,
    ]


def proposal_workbook(proposal: Proposal) -> bytes:
    """Return a proposal as a workbook: totals are formulas, so that other quantities give other totals."""
    content = proposal.content
    speaker = voice(content.locale)
    book = Workbook()
    book.remove(book.worksheets[0])
    about(sheet(book, speaker.gettext("Proposal")), proposal, speaker)
    bills(sheet(book, speaker.gettext("Bill of materials")), content, speaker)
    term(sheet(book, speaker.gettext("Cost over the term")), content, speaker)
    figures(sheet(book, speaker.gettext("Figures")), content, speaker)
    said(sheet(book, speaker.gettext("Warnings")), content, speaker)
    assumptions(sheet(book, speaker.gettext("Assumptions")), content, speaker)
    sources(sheet(book, speaker.gettext("Sources")), content, speaker)
    buffer = io.BytesIO()
    book.save(buffer)
    return timeless(buffer.getvalue(), proposal.frozen_at or proposal.updated_at)


def sheet(book: Workbook, title: str) -> Worksheet:
    """Return a new sheet; its name is short and without what Excel forbids there."""
    made: Worksheet = book.create_sheet(re.sub(r"[\\/*?:\[\]]", " ", title)[:31])
    made.sheet_view.showGridLines = False
    return made


def put(found: Worksheet, row: int, column: int, value: Value, form: str = PLAIN, bold: bool = False) -> None:
    """Write a value; text stays text, whatever it begins with."""
    cell = found.cell(row, column)
    assert isinstance(cell, Cell), "merged cells are not used"
    if isinstance(value, str):
        cell.value = legible(value)
        # openpyxl takes text that begins with an equals sign for a formula.
        cell.data_type = "s"
        cell.quotePrefix = value.startswith(("=", "+", "-", "@"))
        cell.alignment = Alignment(wrap_text=len(value) > 40, vertical="top")
    else:
        cell.value = value
        cell.number_format = form
        cell.alignment = Alignment(vertical="top")
    if bold:
        cell.font = Font(bold=True)


def formula(
    found: Worksheet, row: int, column: int, text: str, form: str = MONEY, bold: bool = False
) -> None:
    """Write a formula of our own."""
    cell = found.cell(row, column)
    cell.value = text
    cell.number_format = form
    cell.font = Font(bold=bold)


def head(found: Worksheet, row: int, names: Sequence[str], widths: Sequence[int]) -> None:
    """Write the head of a table."""
    for column, (name, width) in enumerate(zip(names, widths, strict=True), start=1):
        put(found, row, column, name, bold=True)
        found.cell(row, column).fill = PatternFill("solid", start_color="EEF1F5")
        letter = get_column_letter(column)
        found.column_dimensions[letter].width = max(found.column_dimensions[letter].width, width)


def about(found: Worksheet, proposal: Proposal, speaker: Voice) -> None:
    """Write whose proposal it is, what it recommends, and by what it can be checked."""
    content = proposal.content
    rows: list[tuple[str, Value]] = [
        (speaker.gettext("Proposal"), content.title),
        (speaker.gettext("Customer"), content.customer),
        (speaker.gettext("Recommendation"), content.advice.recommended),
        (speaker.gettext("Why this choice"), content.reason),
        (speaker.gettext("Valid until"), content.valid_until.isoformat() if content.valid_until else None),
        (speaker.gettext("Currency"), content.currency),
        (speaker.gettext("SHA-256 of the content"), proposal.sha256),
        (speaker.gettext("Formula version"), content.engine_version),
        (speaker.gettext("Catalogue version"), content.catalog_version),
    ]
    found.column_dimensions["A"].width, found.column_dimensions["B"].width = 28, 90
    for row, (name, value) in enumerate(rows, start=1):
        put(found, row, 1, name, bold=True)
        put(found, row, 2, value)


def bills(found: Worksheet, content: ProposalContent, speaker: Voice) -> None:
    """Write the parts of every option; totals multiply and add what stands in the cells."""
    row = 1
    decimals = 0 if content.currency in WHOLE else 2
    names = [
        speaker.gettext("Option"),
        speaker.gettext("Component"),
        speaker.gettext("Rule"),
        speaker.gettext("Count"),
        speaker.gettext("Unit price"),
        speaker.gettext("Total"),
    ]
    for bill in content.bills:
        head(found, row, [*names, content.currency], [30, 30, 44, 12, 18, 20, 8])
        first = row + 1
        for line in bill.lines:
            row += 1
            put(found, row, 1, bill.label)
            put(found, row, 2, f"{speaker.gettext(line.name)} ({speaker.label(line.use, 'bill')})")
            put(found, row, 3, speaker.say(line.rule))
            put(found, row, 4, line.quantity)
            if line.unit_price is None:
                put(found, row, 5, speaker.gettext("price unknown"))
            else:
                put(found, row, 5, line.unit_price.value, MONEY)
                formula(found, row, 6, f"=ROUND(D{row}*E{row},{decimals})")
        row += 1
        whole = speaker.gettext("Total") if bill.complete else speaker.gettext("Total, at least")
        put(found, row, 1, whole, bold=True)
        formula(found, row, 6, f"=SUM(F{first}:F{row - 1})", bold=True)
        if bill.tax_note is not None:
            row += 1
            put(found, row, 1, speaker.say(bill.tax_note))
        row += 2


def term(found: Worksheet, content: ProposalContent, speaker: Voice) -> None:
    """Write what every option costs over the term; years and hours can be changed."""
    if content.term is None:
        put(found, 1, 1, speaker.gettext("cost unknown"))
        return
    put(found, 1, 1, speaker.gettext("Years"), bold=True)
    put(found, 1, 2, content.term.years)
    put(found, 2, 1, speaker.gettext("Useful hours per year"), bold=True)
    put(found, 2, 2, content.term.useful_hours_per_year)
    names = [
        speaker.gettext("Option"),
        speaker.gettext("Acquisition"),
        speaker.gettext("Per useful hour"),
        speaker.gettext("Per year"),
        speaker.gettext("Over the term"),
        speaker.gettext("Lowest"),
        speaker.gettext("Highest"),
    ]
    head(found, 4, names, [34, 14, 18, 20, 22, 22, 22])
    for row, one in enumerate(content.term.options, start=5):
        put(found, row, 1, one.label)
        put(found, row, 2, speaker.label(one.rental or one.acquisition))
        put(found, row, 3, one.hourly.value, "#,##0.00")
        formula(found, row, 4, f"=C{row}*$B$2")
        formula(found, row, 5, f"=D{row}*$B$1")
        ends(found, row, 6, one.over_term)


def ends(found: Worksheet, row: int, column: int, one: Quantity) -> None:
    """Write the ends of a range."""
    put(found, row, column, one.low, MONEY)
    put(found, row, column + 1, one.high, MONEY)


def figures(found: Worksheet, content: ProposalContent, speaker: Voice) -> None:
    """Write every line."""
    names = [
        speaker.gettext("Section"),
        speaker.gettext("Option"),
        speaker.gettext("Quantity"),
        speaker.gettext("Value"),
        speaker.gettext("Lowest"),
        speaker.gettext("Highest"),
        speaker.gettext("Unit"),
        speaker.gettext("As printed"),
        speaker.gettext("Path"),
    ]
    head(found, 1, names, [14, 34, 34, 20, 18, 18, 12, 20, 46])
    found.freeze_panes = "A2"
    for row, line in enumerate(lines_of(content), start=2):
        cells = line_row(line, content, speaker)
        section, option, name, label, value, low, high, unit, text, path = cells
        if name == "avoid":
            value = text  # a sentence is read, not computed with
        for column, one in enumerate((section, option, label, value, low, high, unit, text, path), start=1):
            put(found, row, column, one)


def said(found: Worksheet, content: ProposalContent, speaker: Voice) -> None:
    """Write every warning."""
    names = [
        speaker.gettext("Severity"),
        speaker.gettext("Check"),
        speaker.gettext("Warning"),
        speaker.gettext("Option"),
    ]
    head(found, 1, names, [12, 26, 90, 50])
    for row, one in enumerate(content.warnings, start=2):
        words = (speaker.label(one.severity), one.code, speaker.sentence(one.text), " · ".join(one.options))
        for column, text in enumerate(words, start=1):
            put(found, row, column, text)


def assumptions(found: Worksheet, content: ProposalContent, speaker: Voice) -> None:
    """Write everything that was taken for granted."""
    names = [
        speaker.gettext("Assumption"),
        speaker.gettext("Value"),
        speaker.gettext("Why"),
        speaker.gettext("Option"),
    ]
    head(found, 1, names, [34, 30, 70, 50])
    for row, one in enumerate(content.assumptions, start=2):
        value = stated(one.field, one.value, speaker) if isinstance(one.value, list) else one.value
        put(found, row, 1, speaker.label(one.field))
        put(found, row, 2, str(value) if isinstance(value, dict) else value)
        put(found, row, 3, speaker.sentence(one.why))
        put(found, row, 4, " · ".join(one.options))


def sources(found: Worksheet, content: ProposalContent, speaker: Voice) -> None:
    """Write where the figures come from."""
    names = [
        speaker.gettext("Kind"),
        speaker.gettext("Source"),
        speaker.gettext("Publisher"),
        speaker.gettext("Date"),
        speaker.gettext("Address"),
    ]
    head(found, 1, names, [14, 70, 30, 14, 70])
    for row, one in enumerate(content.sources, start=2):
        words = (speaker.label(one.kind), one.title, one.publisher, one.published, one.url)
        for column, text in enumerate(words, start=1):
            put(found, row, column, text)


def timeless(book: bytes, moment: datetime) -> bytes:
    """Return a workbook whose bytes depend on its content alone: dated by the proposal, not by the clock."""
    stamp = moment.strftime("%Y-%m-%dT%H:%M:%SZ").encode()
    buffer = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(book)) as before,
        zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as after,
    ):
        for name in before.namelist():
            data = before.read(name)
            if name == "docProps/core.xml":
                data = re.sub(rb"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?Z", stamp, data)
            after.writestr(zipfile.ZipInfo(name, FIRST_DAY), data, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()
