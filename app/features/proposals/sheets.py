"""A proposal as CSV and as a workbook whose totals are formulas."""

from __future__ import annotations

import csv
import io
import re
import zipfile
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import TypeVar

from openpyxl import Workbook
from openpyxl.cell.cell import Cell
from openpyxl.styles import Alignment, Font, PatternFill
from openpyxl.utils import get_column_letter
from openpyxl.worksheet.worksheet import Worksheet

from app.features.proposals.lines import ProposalLine, lines_of
from app.features.proposals.model import Assumption, Proposal, ProposalContent
from app.features.proposals.naming import display_value, source_title
from app.features.proposals.writing.proposal import line_name, line_value
from app.platform.tables import legible
from app.platform.tables import written as cell_text
from app.platform.wording.scales import WHOLE
from app.platform.wording.voice import Voice, stated, voice

COLUMNS = ("section", "option", "name", "label", "value", "low", "high", "unit", "written", "path")
"""Columns of the CSV: names for programs, ``label`` and ``written`` for people."""

FIRST_DAY = (1980, 1, 1, 0, 0, 0)
"""Date of the files inside a workbook: ZIP's earliest, so that equal workbooks are equal bytes."""

MONEY, CENTS, PLAIN = "#,##0", "#,##0.00", "General"

Value = str | float | int | bool | None

Row = TypeVar("Row")


def proposal_csv(proposal: Proposal, language: str | None = None) -> str:
    """Return every line of a proposal as CSV (RFC 4180)."""
    buffer = io.StringIO()
    writer = csv.writer(buffer)
    writer.writerow(COLUMNS)
    for row in rows_of(proposal, proposal.content, voice(language or proposal.content.locale)):
        writer.writerow(cell_text(value) for value in row)
    return buffer.getvalue()


def rows_of(proposal: Proposal, content: ProposalContent, speaker: Voice) -> Iterable[list[Value]]:
    for document, names in (
        (proposal, ("id", "number", "status", "sha256")),
        (content, ("customer", "title", "currency", "valid_until", "engine_version", "catalog_version")),
    ):
        facts = document.model_dump(mode="json", include=set(names))
        for name in names:
            yield row_of("proposal", None, name, None, facts[name], None, name)
    for line in lines_of(content):
        label, sentence = line_name(line.section, line.name, speaker), line_value(line, content, speaker)
        figures = (plain(line.value), line.low, line.high, line.unit)
        yield [line.section, line.option, line.name, label, *figures, sentence, line.path]
    for index, warning in enumerate(content.warnings):
        sentence, options = speaker.sentence(warning.text), " · ".join(warning.options)
        path = f"warnings.{index}"
        yield row_of("warnings", options, warning.code, sentence, warning.severity, sentence, path)
    for index, assumption in enumerate(content.assumptions):
        sentence, options = speaker.sentence(assumption.why), " · ".join(assumption.options)
        label, path = speaker.label(assumption.field), f"assumptions.{index}.value"
        yield row_of("assumptions", options, assumption.field, label, plain(assumption.value), sentence, path)
    for index, source in enumerate(content.sources):
        title, path = source_title(source, speaker), f"sources.{index}"
        yield row_of("sources", None, source.id, title, source.url, source.publisher, path)
    for name, text in texts_of(content):
        yield row_of("text", None, name, speaker.label(name, "document"), None, text, f"sections.{name}")


def row_of(
    section: str, option: str | None, name: str, label: str | None, value: Value, text: str | None, path: str
) -> list[Value]:
    """Return a row of words, which has neither range nor unit."""
    return [section, option, name, label, value, None, None, None, text, path]


def plain(value: object) -> Value:
    return value if value is None or isinstance(value, str | int | float) else str(value)


def proposal_workbook(proposal: Proposal, language: str | None = None) -> bytes:
    """Return a proposal as a workbook whose totals are formulas."""
    content = proposal.content
    speaker = voice(language or content.locale)
    book = Workbook()
    book.remove(book.worksheets[0])
    about(sheet(book, speaker.gettext("Proposal")), proposal, speaker)
    for title, write in (
        (speaker.gettext("Bill of materials"), bills),
        (speaker.gettext("Cost over the term"), term),
        (speaker.gettext("Figures"), figures),
        (speaker.gettext("Warnings"), warnings),
        (speaker.gettext("Assumptions"), assumptions),
        (speaker.gettext("Sources"), sources),
    ):
        write(sheet(book, title), content, speaker)
    buffer = io.BytesIO()
    book.save(buffer)
    return timeless(buffer.getvalue(), proposal.frozen_at or proposal.updated_at)


def sheet(book: Workbook, title: str) -> Worksheet:
    """Return a new sheet with a title that Excel accepts."""
    page: Worksheet = book.create_sheet(re.sub(r"[\\/*?:\[\]]", " ", title)[:31])
    page.sheet_view.showGridLines = False
    return page


def put(page: Worksheet, row: int, column: int, value: Value, form: str = PLAIN, bold: bool = False) -> None:
    """Write a value; text is never read as a formula."""
    cell = page.cell(row, column)
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


def put_row(page: Worksheet, row: int, values: Sequence[Value]) -> None:
    for column, value in enumerate(values, start=1):
        put(page, row, column, value)


def formula(page: Worksheet, row: int, column: int, text: str, bold: bool = False) -> None:
    cell = page.cell(row, column)
    cell.value = text
    cell.number_format = MONEY
    cell.font = Font(bold=bold)


def head(page: Worksheet, row: int, *columns: tuple[str, int]) -> None:
    for column, (name, width) in enumerate(columns, start=1):
        put(page, row, column, name, bold=True)
        page.cell(row, column).fill = PatternFill("solid", start_color="EEF1F5")
        dimension = page.column_dimensions[get_column_letter(column)]
        dimension.width = max(dimension.width, width)


def table(page: Worksheet, items: Iterable[Row], *columns: tuple[str, int, Callable[[Row], Value]]) -> None:
    """Write a table that fills its sheet, one row per item."""
    head(page, 1, *((name, width) for name, width, _ in columns))
    for row, item in enumerate(items, start=2):
        put_row(page, row, [value_of(item) for _, _, value_of in columns])


def about(page: Worksheet, proposal: Proposal, speaker: Voice) -> None:
    content = proposal.content
    rows: list[tuple[str, Value]] = [
        (speaker.gettext("Proposal"), content.title),
        (speaker.gettext("Reference number"), content.number),
        (speaker.gettext("Customer"), content.customer),
        (speaker.gettext("Sender"), content.sender.organization if content.sender else None),
        (speaker.gettext("Recommendation"), " · ".join(content.offered)),
        (speaker.gettext("Valid until"), content.valid_until.isoformat() if content.valid_until else None),
        (speaker.gettext("Currency"), content.currency),
        (speaker.gettext("SHA-256 of the content"), proposal.sha256),
        (speaker.gettext("Formula version"), content.engine_version),
        (speaker.gettext("Catalogue version"), content.catalog_version),
    ]
    rows += [(speaker.label(name, "document"), text) for name, text in texts_of(content)]
    page.column_dimensions["A"].width, page.column_dimensions["B"].width = 28, 90
    for row, (name, value) in enumerate(rows, start=1):
        put(page, row, 1, name, bold=True)
        put(page, row, 2, value)


def texts_of(content: ProposalContent) -> list[tuple[str, str]]:
    return [(section.id, section.text) for section in content.sections if section.shown and section.text]


def bills(page: Worksheet, content: ProposalContent, speaker: Voice) -> None:
    """Write the bill of every option; totals are formulas over the cells."""
    row = 1
    decimals = 0 if content.currency in WHOLE else 2
    columns = [
        (speaker.gettext("Option"), 30),
        (speaker.gettext("Component"), 30),
        (speaker.gettext("Rule"), 44),
        (speaker.gettext("Quantity"), 12),
        (speaker.gettext("Unit price"), 18),
        (speaker.gettext("Total"), 20),
        (content.currency, 8),
    ]
    for bill in content.bills:
        head(page, row, *columns)
        first = row + 1
        for line in bill.lines:
            row += 1
            part = f"{speaker.gettext(line.name)} ({speaker.label(line.use, 'bill')})"
            put_row(page, row, (bill.label, part, speaker.say(line.rule), line.quantity))
            if line.unit_price is None:
                put(page, row, 5, speaker.gettext("price unknown"))
            else:
                put(page, row, 5, line.unit_price.value, MONEY)
                formula(page, row, 6, f"=ROUND(D{row}*E{row},{decimals})")
        row += 1
        whole = speaker.gettext("Total") if bill.complete else speaker.gettext("Total, at least")
        put(page, row, 1, whole, bold=True)
        formula(page, row, 6, f"=SUM(F{first}:F{row - 1})", bold=True)
        if bill.tax_note is not None:
            row += 1
            put(page, row, 1, speaker.say(bill.tax_note))
        row += 2


def term(page: Worksheet, content: ProposalContent, speaker: Voice) -> None:
    """Write the cost of every option over the term; years and hours can be edited."""
    if content.term is None:
        put(page, 1, 1, speaker.gettext("cost unknown"))
        return
    put(page, 1, 1, speaker.gettext("Years"), bold=True)
    put(page, 1, 2, content.term.years)
    put(page, 2, 1, speaker.gettext("Useful hours per year"), bold=True)
    put(page, 2, 2, content.term.useful_hours_per_year)
    head(
        page,
        4,
        (speaker.gettext("Option"), 34),
        (speaker.gettext("Acquisition"), 14),
        (speaker.gettext("Per useful hour"), 18),
        (speaker.gettext("Per year"), 20),
        (speaker.gettext("Over the term"), 22),
        (speaker.gettext("Lowest"), 22),
        (speaker.gettext("Highest"), 22),
    )
    for row, option in enumerate(content.term.options, start=5):
        put_row(page, row, (option.label, speaker.label(option.rental or option.acquisition)))
        put(page, row, 3, option.hourly.value, CENTS)
        formula(page, row, 4, f"=C{row}*$B$2")
        formula(page, row, 5, f"=D{row}*$B$1")
        put(page, row, 6, option.over_term.low, MONEY)
        put(page, row, 7, option.over_term.high, MONEY)


SENTENCES = ("avoid", "basis")
"""Lines that are sentences."""


def figures(page: Worksheet, content: ProposalContent, speaker: Voice) -> None:
    def as_printed(line: ProposalLine) -> str:
        return line_value(line, content, speaker)

    table(
        page,
        lines_of(content),
        (speaker.gettext("Section"), 14, lambda line: line.section),
        (speaker.gettext("Option"), 34, lambda line: line.option),
        (speaker.gettext("Figure"), 34, lambda line: line_name(line.section, line.name, speaker)),
        (
            speaker.gettext("Value"),
            20,
            lambda line: as_printed(line) if line.name in SENTENCES else plain(line.value),
        ),
        (speaker.gettext("Lowest"), 18, lambda line: line.low),
        (speaker.gettext("Highest"), 18, lambda line: line.high),
        (speaker.gettext("Unit"), 12, lambda line: line.unit),
        (speaker.gettext("As printed"), 20, as_printed),
        (speaker.gettext("Path"), 46, lambda line: line.path),
    )
    page.freeze_panes = "A2"


def warnings(page: Worksheet, content: ProposalContent, speaker: Voice) -> None:
    table(
        page,
        content.warnings,
        (speaker.gettext("Severity"), 12, lambda warning: speaker.label(warning.severity)),
        (speaker.gettext("Check"), 26, lambda warning: warning.code),
        (speaker.gettext("Warning"), 90, lambda warning: speaker.sentence(warning.text)),
        (speaker.gettext("Option"), 50, lambda warning: " · ".join(warning.options)),
    )


def assumptions(page: Worksheet, content: ProposalContent, speaker: Voice) -> None:
    def value(assumption: Assumption) -> Value:
        entry = (
            stated(assumption.field, assumption.value, speaker)
            if isinstance(assumption.value, list)
            else assumption.value
        )
        return display_value(entry, speaker) if isinstance(entry, str) else plain(entry)

    table(
        page,
        content.assumptions,
        (speaker.gettext("Assumption"), 34, lambda assumption: speaker.label(assumption.field)),
        (speaker.gettext("Value"), 30, value),
        (speaker.gettext("Why"), 70, lambda assumption: speaker.sentence(assumption.why)),
        (speaker.gettext("Option"), 50, lambda assumption: " · ".join(assumption.options)),
    )


def sources(page: Worksheet, content: ProposalContent, speaker: Voice) -> None:
    table(
        page,
        content.sources,
        (speaker.gettext("Kind"), 14, lambda source: speaker.label(source.kind)),
        (speaker.gettext("Source"), 70, lambda source: source_title(source, speaker)),
        (speaker.gettext("Publisher"), 30, lambda source: source.publisher),
        (speaker.gettext("Date"), 14, lambda source: source.published),
        (speaker.gettext("Address"), 70, lambda source: source.url),
    )


def timeless(book: bytes, moment: datetime) -> bytes:
    """Return a workbook dated by the proposal instead of the clock, so that its bytes are reproducible."""
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
