"""Price lists and quotes: what a line is, its price, currency, unit and date.

Layouts after the price list files of AWS, the retail prices API of Azure, the SKU lists of Google's billing
catalogue, infracost's breakdown, and quotes as tables with a heading line.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from typing import Any, NoReturn
from zipfile import BadZipFile, ZipFile

from app.errors import Message, Unprocessable
from app.profiles.documents import printable, too_large, unreadable

MOST_LINES = 20_000
MOST_UNPACKED = 100_000_000
"""Largest content of a workbook. [B]"""
CURRENCIES = {
    "₩": "KRW",
    "\\": "KRW",
    "원": "KRW",
    "$": "USD",
    "€": "EUR",
    "£": "GBP",
    "円": "JPY",
    "元": "CNY",
}
"""The won sign is a backslash in CP949; ¥ is that of two currencies."""
CODES = re.compile(r"\b(USD|KRW|EUR|GBP|JPY|CNY)\b")
_DATE = re.compile(r"(20\d\d)[-./년 ]{1,2}(\d{1,2})[-./월 ]{1,2}(\d{1,2})")
HEADINGS = {
    "item": ("item", "description", "product", "part", "sku", "model", "artikel", "bezeichnung",
             "article", "config", "instance", "名称", "품목", "품명", "제품", "모델", "규격", "항목"),
    "count": ("quantity", "qty", "count", "units", "menge", "anzahl", "quantité", "数量", "수량", "대수"),
    "unit_price": ("unit price", "price per unit", "unit cost", "list price", "einzelpreis", "ep netto",
                   "prix unitaire", "price", "单价", "단가", "견적가", "가격"),
    "total": ("total", "amount", "extended", "subtotal", "gesamt", "gp netto", "金额", "공급가",
              "금액", "합계"),
    "discount": ("discount", "rabatt", "remise", "할인"),
    "currency": ("currency", "währung", "devise", "통화"),
    "date": ("date", "datum", "effective", "valid", "일자", "날짜", "유효"),
    "unit": ("uom", "unit", "einheit", "unité", "단위"),
}  # fmt: skip
"""Words of a heading for each column, the surest one first."""
COLUMNS = tuple(HEADINGS)
SCALES = {"억": 1e8, "천만": 1e7, "백만": 1e6, "만": 1e4, "천": 1e3, "million": 1e6, "mio": 1e6,
          "thousand": 1e3, "tsd": 1e3, "k€": 1e3, "t€": 1e3, "k$": 1e3, "m€": 1e6, "m$": 1e6}  # fmt: skip
"""Words of a heading, or behind a number, that multiply the sums of a table."""
_SCALED = re.compile(rf"(?i)(?:단위|unit|in|\()\s*:?\s*\W?\s*({'|'.join(map(re.escape, SCALES))})")
SUMS = re.compile(r"(?i)(sub|grand )?total|summe|합계|소계|총계|총액|vat\b|mwst|부가세|부가가치세|세액")
OFF = 0.01
"""Deviation of quantity times price from the total up to which a line holds together."""
VAT = 1.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """One line of a price list or quote."""

    item: str
    price: float
    """Of one unit, before the discount."""
    currency: str = ""
    """ISO 4217; empty where the file does not say."""
    unit: str = "each"
    count: float | None = None
    discount: float | None = None
    """Share taken off."""
    region: str = ""
    date: str = ""


@dataclass(frozen=True, slots=True)
class PriceList:
    kind: str
    lines: tuple[Price, ...]
    unread: tuple[str, ...] = ()
    """Columns or lines that were not understood."""
    missing: tuple[str, ...] = ()
    heading: str = ""
    """Key of the heading of a table."""
    columns: Mapping[str, str] = field(default_factory=dict)
    """Columns of a table by what they are, as it names them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """Columns of a table of prices that were chosen, by their names: of this file, and kept by heading."""

    columns: Mapping[str, str] = field(default_factory=dict)
    kept: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    currency: str = ""
    """Where neither line nor heading say."""


NONE_CHOSEN = Chosen()


def amount(text: str) -> tuple[float, str] | None:
    """Return a sum of money and its currency; None where the text is none or could be read in two ways.

    Thousands come in groups of three. A single separator before three digits could be either:

    >>> amount("₩412,000,000"), amount("298.000,50 €"), amount("$1,234.50")
    ((412000000.0, 'KRW'), (298000.5, 'EUR'), (1234.5, 'USD'))
    >>> amount("1.234") is None, amount("15,2"), amount("4.1억"), amount("4억 1,200만원")
    (True, (15.2, ''), (410000000.0, 'KRW'), (412000000.0, 'KRW'))
    """
    words = text.strip()
    code = CODES.search(words.upper())
    currency = code[1] if code else next((iso for sign, iso in CURRENCIES.items() if sign in words), "")
    digits = re.sub(r"(?i)USD|KRW|EUR|GBP|JPY|CNY|[₩\\원$€£¥円元\s\u00a0']", "", words)
    if re.search("[억만천]", digits):
        korean = re.fullmatch(
            r"(?:([\d.,]{1,20})억)?(?:([\d.,]{1,20})(천만|백만|만|천))?([\d,]{1,20})?", digits
        )
        sums = [amount(korean[group]) if korean and korean[group] else (0.0, "") for group in (1, 2, 4)]
        if korean is None or None in sums:
            return None
        scales = (1e8, SCALES[korean[3]] if korean[3] else 1.0, 1.0)
        values = [entry[0] * scale for entry, scale in zip(sums, scales, strict=True) if entry]
        return round(sum(values), 2), currency or "KRW"
    if not re.fullmatch(r"-?\d[\d.,]{0,30}", digits):
        return None
    grouped = re.fullmatch(r"-?\d{1,3}(?:([.,])\d{3})(?:\1\d{3})*(?:(?!\1)[.,]\d+)?", digits)
    if grouped:
        group = grouped[1]
        rest = "," if group == "." else "."
        if digits.count(group) == 1 and rest not in digits and group == "." and currency != "KRW":
            return None
        return float(digits.replace(group, "").replace(rest, ".")), currency
    if digits.count(",") + digits.count(".") > 1:
        return None
    return float(digits.replace(",", ".")), currency


def priced_document(document: Mapping[str, object]) -> PriceList | None:
    """Return the prices of a JSON document of a known layout; None for any other."""
    if "terms" in document and "products" in document:
        return PriceList("aws-price-list", tuple(_limited(_aws(document))))
    items = document.get("Items")
    if isinstance(items, list) and items and isinstance(items[0], Mapping) and "retailPrice" in items[0]:
        return PriceList("azure-retail-prices", tuple(_limited(_azure(items))))
    if isinstance(document.get("skus"), list):
        return PriceList("gcp-skus", tuple(_limited(_gcp(document["skus"]))))
    if "projects" in document and ("totalMonthlyCost" in document or "currency" in document):
        return PriceList("infracost", tuple(_limited(_infracost(document))))
    return None


def _limited(lines: Iterator[Price]) -> Iterator[Price]:
    for number, line in enumerate(lines):
        if number >= MOST_LINES:
            return
        yield line


def _maps(value: object) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the named objects of an object, and nothing for anything else."""
    for name, entry in value.items() if isinstance(value, Mapping) else ():
        if isinstance(entry, Mapping):
            yield str(name), entry


def _listed(value: object) -> Iterator[Mapping[str, Any]]:
    for entry in value if isinstance(value, list) else ():
        if isinstance(entry, Mapping):
            yield entry


def _number(value: object) -> float | None:
    try:
        number = float(str(value))
    except ValueError:
        return None
    return number if 0 <= number < 1e15 else None


def _line(
    item: object, price: object, currency: object, unit: object, date: object, region: object = ""
) -> Iterator[Price]:
    """Yield a line of a price list, and nothing where its price is none."""
    value = _number(price)
    if value:
        yield Price(
            item=printable(str(item), 120),
            price=value,
            currency=str(currency or "")[:3],
            unit=str(unit or "")[:40],
            region=str(region or "")[:60],
            date=str(date or "")[:10],
        )


def _aws(document: Mapping[str, object]) -> Iterator[Price]:
    products, date = dict(_maps(document.get("products"))), document.get("publicationDate")
    for _, offers in _maps(document.get("terms")):
        for sku, terms in _maps(offers):
            product = products.get(sku, {}).get("attributes")
            product = product if isinstance(product, Mapping) else {}
            region = product.get("regionCode") or product.get("location")
            for _, term in _maps(terms):
                for _, dimension in _maps(term.get("priceDimensions")):
                    per = dimension.get("pricePerUnit")
                    item = product.get("instanceType") or dimension.get("description") or sku
                    for currency, price in per.items() if isinstance(per, Mapping) else ():
                        yield from _line(item, price, currency, dimension.get("unit"), date, region)


def _azure(items: list[object]) -> Iterator[Price]:
    for entry in _listed(items):
        item = entry.get("armSkuName") or entry.get("skuName") or entry.get("meterName")
        price, currency, unit = (entry.get(f) for f in ("retailPrice", "currencyCode", "unitOfMeasure"))
        yield from _line(
            item, price, currency, unit, entry.get("effectiveStartDate"), entry.get("armRegionName")
        )


def _gcp(skus: object) -> Iterator[Price]:
    for sku in _listed(skus):
        for info in _listed(sku.get("pricingInfo")):
            expression = info.get("pricingExpression")
            expression = expression if isinstance(expression, Mapping) else {}
            rates = list(_listed(expression.get("tieredRates")))
            price = rates[-1].get("unitPrice") if rates else None
            if not isinstance(price, Mapping):
                continue
            value = (_number(price.get("units") or 0) or 0.0) + (
                _number(price.get("nanos") or 0) or 0.0
            ) / 1e9
            unit = expression.get("usageUnitDescription") or expression.get("usageUnit")
            regions = sku.get("serviceRegions")
            region = regions[0] if isinstance(regions, list) and regions else ""
            yield from _line(
                sku.get("description"),
                value,
                price.get("currencyCode"),
                unit,
                info.get("effectiveTime"),
                region,
            )


def _infracost(document: Mapping[str, object]) -> Iterator[Price]:
    currency, date = document.get("currency") or "USD", document.get("timeGenerated")
    for project in _listed(document.get("projects")):
        breakdown = project.get("breakdown")
        for resource in _listed(breakdown.get("resources") if isinstance(breakdown, Mapping) else None):
            for part in _listed(resource.get("costComponents")):
                item = f"{resource.get('name')}: {part.get('name')}"
                yield from _line(item, part.get("price"), currency, part.get("unit"), date)


def _cell_text(cell: Any) -> str:
    """Return a cell as it is read elsewhere: a number with the currency or percent sign it is shown with."""
    value, form = cell.value, str(getattr(cell, "number_format", "") or "")
    if value is None:
        return ""
    if isinstance(value, datetime):
        return value.date().isoformat()
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if "%" in form:
        return f"{value * 100:.10g}%"
    digits = f"{value:.15g}"
    # Three digits behind the point could be thousands where the text is read.
    digits += "0" if re.search(r"\.\d{3}$", digits) else ""
    # "[$€-407]" is a sign with the language that it is written in.
    form = re.sub(r"\[\$([^\]-]*)[^\]]*\]", r"\1", form)
    shown = CODES.search(form.upper()) or re.search("[₩$€£¥원円元]", form)
    return f"{digits} {shown[0]}" if shown else digits


def workbook_rows(name: str, data: bytes, chosen: Chosen = NONE_CHOSEN) -> list[list[str]] | None:
    """Return the rows of the first sheet with a heading of prices; None where it is no workbook."""
    try:
        with ZipFile(io.BytesIO(data)) as archive:
            names = set(archive.namelist())
            unpacked = sum(entry.file_size for entry in archive.infolist())
    except (BadZipFile, ValueError, OSError, RuntimeError):
        return None
    if "xl/workbook.xml" not in names:
        return None
    if unpacked > MOST_UNPACKED or len(names) > 2_000:
        raise too_large("{file} unpacks to more than {most} MB", file=name, most=MOST_UNPACKED / 1e6)
    from openpyxl import load_workbook

    try:
        book = load_workbook(io.BytesIO(data), read_only=True, data_only=True, keep_links=False)
        best: list[list[str]] = []
        for sheet in book.worksheets[:20]:
            rows = [
                [_cell_text(cell) for cell in row[:60]]
                for row in sheet.iter_rows(max_row=MOST_LINES, max_col=60)
            ]
            if heading_of(rows, chosen) is not None:
                return rows
            best = best or [row for row in rows if any(row)]
        return best
    except Exception as error:
        # openpyxl raises errors of many kinds on damaged parts.
        raise unreadable("{file} is a damaged workbook; save it again as XLSX or CSV", file=name) from error


def table_rows(text: str) -> list[list[str]]:
    lines = [line for line in text.splitlines()[:MOST_LINES] if line.strip()]
    separator = max(",;\t", key=lambda mark: sum(line.count(mark) for line in lines[:20]))
    try:
        return [list(row) for row in csv.reader(lines, delimiter=separator)]
    except csv.Error:
        return []


def heading_key(row: Sequence[str]) -> str:
    """Return a heading as a key under which the columns chosen for it are kept."""
    names = [" ".join(cell.split()).casefold() for cell in row]
    return sha256("\n".join(names).strip().encode()).hexdigest()[:24]


def heading_of(
    rows: Sequence[Sequence[str]], chosen: Chosen = NONE_CHOSEN
) -> tuple[int, dict[str, int]] | None:
    """Return the line of the heading and its columns: chosen, kept for it, or named by its words."""
    for number, row in enumerate(rows[:30]):
        names = [" ".join(cell.split()).casefold() for cell in row]
        picked = chosen.columns or chosen.kept.get(heading_key(row), {})
        wanted = {field: " ".join(name.split()).casefold() for field, name in picked.items()}
        if wanted and set(wanted.values()) <= set(names):
            return number, {field: names.index(name) for field, name in wanted.items()}
        if chosen.columns:
            continue
        columns: dict[str, int] = {}
        for kind, words in HEADINGS.items():
            options = [
                at
                for word in words
                for at, name in enumerate(names)
                if word in name and at not in columns.values()
            ]
            if options:
                sums = kind in ("unit_price", "total", "count")
                columns[kind] = (
                    max(options, key=lambda at: _sums(rows[number + 1 :], at)) if sums else options[0]
                )
        if "item" in columns and ("unit_price" in columns or "total" in columns):
            return number, columns
    return None


def _sums(rows: Sequence[Sequence[str]], at: int) -> bool:
    """Return whether a column holds sums, as far as its first cells say."""
    cells = [row[at] for row in rows[:50] if at < len(row) and row[at].strip()]
    return not cells or 2 * sum(amount(cell) is not None for cell in cells) >= len(cells)


def columns_of(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the columns of a table, by the first line that names most of them."""
    first = max(
        rows[:30],
        key=lambda row: sum(bool(cell.strip()) and amount(cell) is None for cell in row),
        default=[],
    )
    return [printable(cell, 60) for cell in first if cell.strip()]


def holds_money(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether a table whose columns are not recognised has one of sums with a currency."""
    for at in range(max(map(len, rows[:50]), default=0)):
        cells = [row[at] for row in rows[1:200] if at < len(row) and row[at].strip()]
        sums = [
            cell for cell in cells if amount(cell) and re.search("[₩\\\\$€£¥원억元円]|" + CODES.pattern, cell)
        ]
        if len(cells) > 1 and 2 * len(sums) >= len(cells):
            return True
    return False


def refuse_columns(title: str, rows: Sequence[Sequence[str]], chosen: Chosen) -> NoReturn:
    """Refuse a table whose columns of prices are not known, or of which a chosen one is not there."""
    listed = columns_of(rows)
    lines = {" ".join(cell.split()).casefold() for row in rows[:30] for cell in row}
    for kind, name in chosen.columns.items():
        if " ".join(name.split()).casefold() not in lines:
            raise Unprocessable.at(
                f"{kind}_column",
                "{file} has no column {given}; its columns are {columns}",
                file=title,
                given=printable(name, 60),
                columns=", ".join(listed),
            )
    kind, label = (
        ("unit_price", Message("Unit price")) if "item" in chosen.columns else ("item", Message("Item"))
    )
    raise Unprocessable.at(
        f"{kind}_column",
        "{file} is a table of prices whose column “{field}” is not recognised; choose it among {columns}",
        file=title,
        field=label,
        columns=", ".join(listed),
    )


def _aws_rows(rows: Sequence[Sequence[str]]) -> PriceList | None:
    """Return the prices of an offer file of AWS as CSV; None for any other table."""
    for number, row in enumerate(rows[:30]):
        if not {"SKU", "PricePerUnit", "Unit"} <= set(row):
            continue
        lines: list[Price] = []
        for cells in rows[number + 1 :]:
            entry = dict(zip(row, cells, strict=False))
            terms = [entry.get(name) or "" for name in ("LeaseContractLength", "PurchaseOption")]
            item = entry.get("Instance Type") or entry.get("PriceDescription") or entry.get("SKU") or ""
            region = entry.get("Region Code") or entry.get("Location")
            title = " ".join([item, *(term for term in terms if term)])
            price, currency, unit = entry.get("PricePerUnit"), entry.get("Currency"), entry.get("Unit")
            lines += _line(title, price, currency, unit, entry.get("EffectiveDate"), region)
        return PriceList("aws-price-list", tuple(lines))
    return None


def priced_rows(rows: Sequence[Sequence[str]], chosen: Chosen = NONE_CHOSEN) -> PriceList | None:
    """Return the prices of a table; None where no heading is recognised.

    A line whose quantity, price and total do not agree is named and not read: a discount of ten may be a
    share or a sum, and thousands of won may be meant.
    """
    offers = None if chosen.columns else _aws_rows(rows)
    if offers is not None:
        return offers
    heading = heading_of(rows, chosen)
    if heading is None:
        return None
    start, columns = heading
    everything = " ".join(" ".join(row) for row in rows[: start + 1])
    stated = CODES.search(everything.upper())
    usual = stated[1] if stated else next((iso for sign, iso in CURRENCIES.items() if sign in everything), "")
    date = iso_date(everything)
    scaled = _SCALED.search(everything)
    scales = {
        name: SCALES[word[1].lower()] if (word := _SCALED.search(rows[start][at])) else None
        for name, at in columns.items()
    }
    lines: list[Price] = []
    unread: list[str] = []

    def cell(row: Sequence[str], name: str) -> str:
        at = columns.get(name)
        return row[at].strip() if at is not None and at < len(row) else ""

    def money(row: Sequence[str], name: str) -> tuple[float, str] | None:
        found = amount(cell(row, name))
        if found is None or re.search("[억만천]", cell(row, name)):
            return found
        return found[0] * (scales.get(name) or (SCALES[scaled[1].lower()] if scaled else 1.0)), found[1]

    for number, row in enumerate(rows[start + 1 :], start=start + 2):
        item = cell(row, "item")
        if not item or SUMS.match(item):
            continue
        count, price, total = amount(cell(row, "count")), money(row, "unit_price"), money(row, "total")
        share = _share(
            cell(row, "discount"), rows[start][columns["discount"]] if "discount" in columns else ""
        )
        if price is None and total is not None and count and count[0] > 0 and not cell(row, "discount"):
            price = (total[0] / count[0], total[1])
        if price is not None and price[0] > 0 and count and total and total[0]:
            paid = total[0] / (price[0] * count[0]) if count[0] else 0.0
            fits = [
                off
                for off in (share or 0.0, 0.0)
                if any(abs(paid / ((1 - off) * tax or 1.0) - 1) < OFF for tax in (1.0, VAT))
            ]
            off_sum = money(row, "discount")
            if (
                not fits
                and off_sum
                and any(
                    abs(paid - (1 - part / price[0])) < OFF for part in (off_sum[0], off_sum[0] / count[0])
                )
            ):
                share = 1 - paid
            elif not fits:
                price = None
            elif fits[0] == 0.0 and share:
                # The unit price is net already.
                share = None
        elif cell(row, "discount") and share is None:
            price = None
        if price is None or price[0] <= 0:
            unread.append(f"{number}: {printable(item, 40)}")
            continue
        lines.append(
            Price(
                item=printable(item, 120),
                price=price[0],
                currency=(
                    CODES.search(cell(row, "currency").upper())
                    or [price[1] or amount_sign(cell(row, "currency")) or usual or chosen.currency]
                )[0],
                unit=printable(cell(row, "unit"), 40) or "each",
                count=count[0] if count else None,
                discount=share,
                date=iso_date(cell(row, "date")) or cell(row, "date")[:20] or date,
            )
        )
    if not lines and not any(money(row, "unit_price") or money(row, "total") for row in rows[start + 1 :]):
        return None
    missing = tuple(
        name
        for name, absent in (
            ("currency", any(not line.currency for line in lines)),
            ("date", all(not line.date for line in lines)),
        )
        if absent
    )
    names = {field: printable(rows[start][at].strip(), 60) for field, at in columns.items()}
    return PriceList("quote", tuple(lines), tuple(unread[:50]), missing, heading_key(rows[start]), names)


def amount_sign(text: str) -> str:
    """Return the currency of a sign or word; empty for any other text."""
    return next((iso for sign, iso in CURRENCIES.items() if sign in text), "")


def _share(text: str, heading: str) -> float | None:
    """Return the share that a discount takes off; None where it is none, or a sum of money."""
    off = re.fullmatch(r"-?(\d+(?:[.,]\d{1,2})?)\s*(%?)", text)
    if not off:
        return None
    number = float(off[1].replace(",", "."))
    share = number / 100.0 if off[2] or "%" in heading or number > 1 else number
    return share if 0 < share < 1 else None


def iso_date(text: str) -> str:
    """Return the date of a text that can be read in one way only; else an empty text.

    >>> iso_date("유효 2026년 5월 1일"), iso_date("31.12.2026"), iso_date("May 12, 2026")
    ('2026-05-01', '2026-12-31', '2026-05-12')
    >>> iso_date("05/06/2026")
    ''
    """
    if found := _DATE.search(text):
        return f"{found[1]}-{int(found[2]):02d}-{int(found[3]):02d}"
    for form in ("%d.%m.%Y", "%d %b %Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y"):
        with suppress(ValueError):
            return datetime.strptime(text.strip(), form).date().isoformat()
    return ""
