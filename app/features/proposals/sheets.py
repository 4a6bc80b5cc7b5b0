"""A proposal as CSV and as a workbook whose totals are formulas."""

from __future__ import annotations

import csv
import io
import re
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import TypeVar

from openpyxl import Workbook
from openpyxl.cell.cell import Cell
from openpyxl.styles import Alignment, Font, PatternFill
from openpyxl.utils import get_column_letter
from openpyxl.worksheet.properties import PageSetupProperties
from openpyxl.worksheet.worksheet import Worksheet

from app.engine.cost.outlay import paid_hours
from app.engine.units import HOURS_PER_YEAR
from app.estimating.money import rounded
from app.estimating.request import Demand
from app.features.proposals.lines import ProposalLine, lines_of
from app.features.proposals.model import Assumption, Proposal, ProposalContent
from app.features.proposals.naming import display_value, source_title
from app.features.proposals.outlays import OutlayFormula, OutlayTerm
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


class CachedWorkbook(Workbook):
    """A workbook that knows the values of its formulas, for programs that do not compute them."""

    def __init__(self) -> None:
        super().__init__()
        self.remove(self.worksheets[0])
        self.values: dict[tuple[int, str], float] = {}
        """Number of the sheet, from 1, and cell → value."""


def proposal_workbook(proposal: Proposal, language: str | None = None) -> bytes:
    """Return a proposal as a workbook that computes its totals and the outlay from their inputs."""
    content = proposal.content
    speaker = voice(language or content.locale)
    book = CachedWorkbook()
    about(sheet(book, speaker.gettext("Proposal"), 1), proposal, speaker)
    for title, pages, write in (
        (speaker.gettext("Bill of materials"), 2, bills),
        (speaker.gettext("Cost over the term"), 1, outlays if content.outlays else term),
        (speaker.gettext("Figures"), 3, figures),
        (speaker.gettext("Warnings"), 1, warnings),
        (speaker.gettext("Assumptions"), 2, assumptions),
        (speaker.gettext("Sources"), 1, sources),
    ):
        write(sheet(book, title, pages), content, speaker)
    buffer = io.BytesIO()
    book.save(buffer)
    return finished(buffer.getvalue(), book.values, proposal.frozen_at or proposal.updated_at)


def sheet(book: Workbook, title: str, pages: int) -> Worksheet:
    """Return a new sheet with a title that Excel accepts, printed on at most so many pages."""
    page: Worksheet = book.create_sheet(re.sub(r"[\\/*?:\[\]]", " ", title)[:31])
    page.sheet_view.showGridLines = False
    page.page_setup.orientation, page.page_setup.paperSize = "landscape", "9"
    page.page_setup.fitToWidth, page.page_setup.fitToHeight = 1, pages
    page.sheet_properties.pageSetUpPr = PageSetupProperties(fitToPage=True)
    page.freeze_panes, page.print_title_rows = "A2", "1:1"
    if pages > 2:
        # A sheet of hundreds of short rows.
        page.page_setup.orientation = "portrait"
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


def formula(
    page: Worksheet, row: int, column: int, text: str, value: float, form: str = MONEY, bold: bool = False
) -> None:
    """Write a formula with its value."""
    cell = page.cell(row, column)
    cell.value = text
    cell.number_format = form
    cell.font = Font(bold=bold)
    book = page.parent
    assert isinstance(book, CachedWorkbook), "every sheet is in one"
    book.values[len(book.worksheets), cell.coordinate] = value


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
    """Write the bill of every option; totals are formulas over the cells. Rent is by the hour."""
    row = 1
    currency = content.currency
    decimals = 0 if currency in WHOLE else 2
    for bill in content.bills:
        owned = bool(bill.groups)
        head(
            page,
            row,
            (speaker.gettext("Option"), 30),
            (speaker.gettext("Component"), 30),
            (speaker.gettext("Rule"), 44),
            (speaker.gettext("Quantity"), 12),
            (speaker.gettext("Unit price") if owned else speaker.gettext("Price per hour"), 18),
            (speaker.gettext("Total") if owned else speaker.gettext("Total per hour"), 20),
            (content.currency, 8),
        )
        first, whole = row + 1, 0.0
        for line in bill.lines:
            row += 1
            part = f"{speaker.gettext(line.name)} ({speaker.label(line.use, 'bill')})"
            put_row(page, row, (bill.label, part, speaker.say(line.rule), line.quantity))
            if line.unit_price is None:
                put(page, row, 5, speaker.gettext("price unknown"))
                continue
            put(page, row, 5, line.unit_price.value, MONEY if owned else CENTS)
            if owned:
                total = float(rounded(line.quantity * line.unit_price.value, currency))
                formula(page, row, 6, f"=ROUND(D{row}*E{row},{decimals})", total)
            else:
                total = line.quantity * line.unit_price.value
                formula(page, row, 6, f"=D{row}*E{row}", total, CENTS)
            whole += total
        if bill.lines:
            row += 1
            name = speaker.gettext("Total") if bill.complete else speaker.gettext("Total, at least")
            put(page, row, 1, name if owned else speaker.gettext("Total per hour"), bold=True)
            cells = f"=SUM(F{first}:F{row - 1})"
            formula(page, row, 6, cells, whole, MONEY if owned else CENTS, bold=True)
        for note in (bill.tax_note, bill.note):
            if note is not None:
                row += 1
                put(page, row, 1, speaker.say(note))
        row += 2


YEARS, RUNS, RUN_HOURS, UTILISATION, RATE, PRICE, ELECTRICITY, FREIGHT, TAX, HOURS = range(2, 12)
"""Rows of the inputs of outlays, and of the hours of work, which follow from them."""

UNTAXED = ("staff", "residual")
"""Lines that nobody invoices to the customer."""

INPUT = PatternFill("solid", start_color="FFF7D6")
"""Background of cells to be edited."""

EXACT = "0.####"


def outlays(page: Worksheet, content: ProposalContent, speaker: Voice) -> None:
    """Write the outlay of every option as formulas of term, work, prices, rate, freight and tax."""
    options = content.outlays
    decision = content.decision
    runs = decision.runs if decision is not None else 1
    demand = decision.question.demand if decision is not None else Demand(runs=1)
    money = content.currency
    price = content.account.price if content.account is not None else None
    tax = (price.vat_rate if price is not None else None) or 0.0
    labels = [(option.option, 24) for option in options]
    head(page, 1, (speaker.gettext("Input"), 46), (speaker.gettext("Unit"), 14), *labels)
    names = {
        YEARS: (speaker.gettext("Years"), "a"),
        RUNS: (speaker.gettext("Runs over the term"), ""),
        RUN_HOURS: (speaker.gettext("Hours per run"), "h"),
        UTILISATION: (speaker.gettext("Share of the term, in place of the runs"), "0–1"),
        RATE: (speaker.gettext("Exchange rate"), f"{money}/USD"),
        PRICE: (speaker.gettext("All unit prices, relative to this proposal"), ""),
        ELECTRICITY: (speaker.gettext("Electricity price"), f"{money}/kWh"),
        FREIGHT: (speaker.gettext("Freight and installation, share of the purchase"), "0–1"),
        TAX: (speaker.gettext("Tax rate"), "0–1"),
        HOURS: (speaker.gettext("Hours of work over the term"), "h"),
    }
    for row, (name, unit) in names.items():
        put(page, row, 1, name)
        put(page, row, 2, unit)
    items = list(dict.fromkeys(term.item for option in options for term in option.terms))
    items.sort(key=lambda item: item == "residual")
    first = HOURS + 2
    sum_row, tax_row, taxed_row, run_row = (first + len(items) + place for place in range(4))
    put(page, HOURS + 1, 1, speaker.gettext("Outlay over the term"), bold=True)
    for row, name in enumerate([*(speaker.label(item, "cost") for item in items)], start=first):
        put(page, row, 1, name)
        put(page, row, 2, money)
    for row, name in (
        (sum_row, speaker.gettext("Total")),
        (tax_row, speaker.gettext("Tax")),
        (taxed_row, speaker.gettext("Total with tax")),
        (run_row, speaker.gettext("Per run")),
    ):
        put(page, row, 1, name, bold=True)
        put(page, row, 2, money)
    share_of = get_column_letter(3 + shared_column(content))
    for column, option in enumerate(options, start=3):
        letter = get_column_letter(column)
        stated = {
            YEARS: option.years,
            RUNS: runs,
            RUN_HOURS: option.run_hours,
            UTILISATION: demand.utilisation,
            RATE: option.exchange_rate,
            PRICE: 1.0,
            ELECTRICITY: option.electricity,
            FREIGHT: option.freight_share,
            TAX: tax,
        }
        for row, value in stated.items():
            shared = row in (YEARS, RUNS, UTILISATION, RATE, TAX) and column > 3
            if shared and value is not None:
                formula(page, row, column, f"=$C{row}", value, EXACT)
            elif row == RUNS and demand.runs_per_year is not None:
                each = number(demand.runs_per_year)
                formula(page, row, column, f"=MAX(1,ROUNDUP({each}*$C{YEARS}-1E-9,0))", runs, EXACT)
            elif row == ELECTRICITY and value and converted(option, "power", money):
                tariff = value / option.exchange_rate
                formula(page, row, column, f"={number(tariff)}*{letter}{RATE}", value, EXACT)
            elif not shared:
                put(page, row, column, value, EXACT)
                page.cell(row, column).fill = INPUT
        hours = runs * option.run_hours
        work = f"$C{UTILISATION}*$C{YEARS}*{number(HOURS_PER_YEAR)}/${share_of}{RUN_HOURS}"
        done = f'IF($C{UTILISATION}="",{letter}{RUNS},MAX(1,ROUNDDOWN({work}+1E-9,0)))'
        counted = f"={done}*{letter}{RUN_HOURS}"
        formula(page, HOURS, column, counted, hours, CENTS)
        total, untaxed, left_out = 0.0, 0.0, ""
        by_item = {term.item: term for term in option.terms}
        for row, item in enumerate(items, start=first):
            if item in by_item:
                text, amount = line_formula(by_item[item], option, money, letter, hours)
                formula(page, row, column, text, amount)
                total += amount
                if item in UNTAXED:
                    untaxed, left_out = untaxed + amount, f"{left_out}-{letter}{row}"
        cells = f"{letter}{first}:{letter}{sum_row - 1}"
        formula(page, sum_row, column, f"=SUM({cells})", total, bold=True)
        due = tax * (total - untaxed)
        formula(page, tax_row, column, f"=({letter}{sum_row}{left_out})*{letter}{TAX}", due)
        formula(page, taxed_row, column, f"={letter}{sum_row}+{letter}{tax_row}", total + due, bold=True)
        per_run = f"={letter}{sum_row}*{letter}{RUN_HOURS}/{letter}{HOURS}"
        formula(page, run_row, column, per_run, total / runs)
    page.freeze_panes = "C2"


def shared_column(content: ProposalContent) -> int:
    """Return the option whose term is shared where the demand is a share of it (contract, ``demand``).

    The owned one of least purchase that meets what was asked but a budget of the term; none owned: the rented
    one of least hourly price.
    """
    decision = content.decision
    if decision is None:
        return 0
    later = ("no_capacity", "over_budget" if decision.question.budget_kind == "term" else "no_capacity")
    met = {option.id for option in decision.options if option.meets or option.why_not in later}
    purchases = {option.id: option.purchase.value for option in decision.options if option.purchase}

    def order(place: int) -> tuple[bool, bool, float, float]:
        option = content.outlays[place]
        hourly = sum(term.per_hour + term.per_paid_hour for term in option.terms)
        price = purchases.get(option.option, hourly) if option.owned else hourly
        return option.option not in met, not option.owned, price, option.run_hours

    return min(range(len(content.outlays)), key=order)


def converted(option: OutlayFormula, item: str, money: str) -> bool:
    """Return whether a line is paid in another currency, so that it follows the exchange rate."""
    paid = next((term.currency for term in option.terms if term.item == item), money)
    return money != "USD" and paid != money


def line_formula(
    term: OutlayTerm, option: OutlayFormula, money: str, letter: str, hours: float
) -> tuple[str, float]:
    """Return a line of an outlay as a formula over the inputs of its column, and its value."""
    foreign = converted(option, term.item, money)
    rate = option.exchange_rate if foreign else 1.0
    paid = float(paid_hours(hours, option.commitment_hours))
    length = number(option.commitment_hours)
    covering = f"ROUNDUP({letter}${HOURS}/{length}*(1-1E-9),0)*{length}"
    parts = [
        (term.once / rate, "", 1.0),
        (term.per_year / rate, f"*{letter}${YEARS}", option.years),
        (term.per_hour / rate, f"*{letter}${HOURS}", hours),
        (term.per_paid_hour / rate, f"*{covering}", paid),
    ]
    text = "+".join(f"{number(amount)}{of}" for amount, of, _ in parts if amount)
    value = rate * sum(amount * units for amount, _, units in parts)
    share = option.freight_share
    scale = [
        f"*{letter}${RATE}" if foreign else "",
        f"*{letter}${PRICE}" if term.follows_price else "",
        f"*{letter}${FREIGHT}/{number(share)}" if term.item == "install" and share else "",
    ]
    text = f"({text}){''.join(scale)}" if text else ""
    if term.kwh_per_year or term.kwh_per_hour:
        energy = f"{number(term.kwh_per_year)}*{letter}${YEARS}+{number(term.kwh_per_hour)}*{letter}${HOURS}"
        # Idle hours end where the work fills the term.
        energy = f"MAX({energy},0)*{letter}${ELECTRICITY}"
        text = f"{text}+{energy}" if text else energy
        value += (term.kwh_per_year * option.years + term.kwh_per_hour * hours) * option.electricity
    return f"={text}", value


def number(value: float) -> str:
    """Return a number as a formula takes it.

    >>> number(8766.0), number(-4.5)
    ('8766', '-4.5')
    """
    return f"{value:.15g}"


def term(page: Worksheet, content: ProposalContent, speaker: Voice) -> None:
    """Write the costs per useful hour of proposals that were frozen before outlays were formulas."""
    if content.term is None:
        put(page, 1, 1, speaker.gettext("cost unknown"))
        return
    years, hours = content.term.years, content.term.useful_hours_per_year
    head(
        page,
        1,
        (speaker.gettext("Option"), 34),
        (speaker.gettext("Acquisition"), 14),
        (speaker.gettext("Per useful hour"), 18),
        (speaker.gettext("Useful hours per year"), 20),
        (speaker.gettext("Years"), 10),
        (speaker.gettext("Over the term"), 22),
        (speaker.gettext("Lowest"), 22),
        (speaker.gettext("Highest"), 22),
    )
    for row, option in enumerate(content.term.options, start=2):
        put_row(page, row, (option.label, speaker.label(option.rental or option.acquisition)))
        put(page, row, 3, option.hourly.value, CENTS)
        put(page, row, 4, hours)
        put(page, row, 5, years)
        formula(page, row, 6, f"=C{row}*D{row}*E{row}", option.hourly.value * hours * years)
        put(page, row, 7, option.over_term.low, MONEY)
        put(page, row, 8, option.over_term.high, MONEY)


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


FORMULA = re.compile(r'(<c r="([A-Z]+\d+)"[^>]*><f>[^<]*</f>)<v\s*(?:/>|></v>)')

SHEET = re.compile(r"xl/worksheets/sheet(\d+)\.xml")


def finished(book: bytes, values: Mapping[tuple[int, str], float], moment: datetime) -> bytes:
    """Return a workbook with the values of its formulas, dated by the proposal instead of the clock.

    Without values, programs that show files do not show totals; with the clock, no two files were the same.
    """
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
            elif number_of_sheet := SHEET.fullmatch(name):
                place = int(number_of_sheet[1])
                data = with_values(data.decode(), place, values).encode()
            after.writestr(zipfile.ZipInfo(name, FIRST_DAY), data, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def with_values(sheet_xml: str, place: int, values: Mapping[tuple[int, str], float]) -> str:
    return FORMULA.sub(lambda cell: f"{cell[1]}<v>{values[place, cell[2]]!r}</v>", sheet_xml)
