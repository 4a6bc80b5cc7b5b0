"""Price lists and quotes: what a line is, its price, currency, unit and date.

Layouts after the price list files of AWS, the retail prices API of Azure, the SKU lists of Google's billing
catalogue, infracost's breakdown, and quotes as tables with a heading line.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from zipfile import BadZipFile, ZipFile

from app.profiles.documents import printable, too_large, unreadable

MOST_LINES = 20_000
MOST_UNPACKED = 100_000_000
"""Largest content of a workbook. [B]"""
CURRENCIES = {"₩": "KRW", "\\": "KRW", "원": "KRW", "$": "USD", "€": "EUR", "£": "GBP", "¥": "JPY"}
"""The won sign is a backslash in CP949."""
CODES = re.compile(r"\b(USD|KRW|EUR|GBP|JPY|CNY)\b")
_DATE = re.compile(r"(20\d\d)[-./년 ]{1,2}(\d{1,2})[-./월 ]{1,2}(\d{1,2})")
HEADINGS = {
    "item": ("item", "description", "product", "part", "sku", "model", "artikel", "bezeichnung",
             "article", "품목", "품명", "제품", "모델",
             "규격", "항목"),
    "count": ("quantity", "qty", "count", "units", "menge", "anzahl", "quantité", "수량"),
    "unit_price": ("unit price", "price per unit", "unit cost", "list price", "einzelpreis", "ep netto",
                   "prix unitaire", "price", "단가", "가격"),
    "total": ("total", "amount", "extended", "subtotal", "gesamt", "gp netto", "금액", "합계", "공급가"),
    "discount": ("discount", "rabatt", "remise", "할인"),
    "currency": ("currency", "währung", "devise", "통화"),
    "date": ("date", "datum", "effective", "valid", "일자", "날짜", "유효"),
}  # fmt: skip


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


def amount(text: str) -> tuple[float, str] | None:
    """Return a sum of money and its currency; None where the text is none or could be read in two ways.

    Thousands come in groups of three. A single separator before three digits could be either:

    >>> amount("₩412,000,000"), amount("298.000,50 €"), amount("$1,234.50")
    ((412000000.0, 'KRW'), (298000.5, 'EUR'), (1234.5, 'USD'))
    >>> amount("1.234") is None, amount("15,2")
    (True, (15.2, ''))
    """
    words = text.strip()
    code = CODES.search(words.upper())
    currency = code[1] if code else next((iso for sign, iso in CURRENCIES.items() if sign in words), "")
    digits = re.sub(r"(?i)USD|KRW|EUR|GBP|JPY|CNY|[₩\\원$€£¥\s\u00a0']", "", words)
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


def _aws(document: Mapping[str, object]) -> Iterator[Price]:
    products = dict(_maps(document.get("products")))
    date = str(document.get("publicationDate") or "")[:10]
    for _, offers in _maps(document.get("terms")):
        for sku, terms in _maps(offers):
            product = products.get(sku, {}).get("attributes")
            product = product if isinstance(product, Mapping) else {}
            for _, term in _maps(terms):
                for _, dimension in _maps(term.get("priceDimensions")):
                    per = dimension.get("pricePerUnit")
                    for currency, price in per.items() if isinstance(per, Mapping) else ():
                        value = _number(price)
                        if value:
                            yield Price(
                                item=printable(
                                    str(product.get("instanceType") or dimension.get("description") or sku),
                                    120,
                                ),
                                price=value,
                                currency=str(currency)[:3],
                                unit=str(dimension.get("unit") or "")[:40],
                                region=str(product.get("regionCode") or product.get("location") or "")[:60],
                                date=date,
                            )


def _azure(items: list[object]) -> Iterator[Price]:
    for entry in _listed(items):
        value = _number(entry.get("retailPrice"))
        if value:
            yield Price(
                item=printable(
                    str(entry.get("armSkuName") or entry.get("skuName") or entry.get("meterName")), 120
                ),
                price=value,
                currency=str(entry.get("currencyCode") or "")[:3],
                unit=str(entry.get("unitOfMeasure") or "")[:40],
                region=str(entry.get("armRegionName") or "")[:60],
                date=str(entry.get("effectiveStartDate") or "")[:10],
            )


def _gcp(skus: object) -> Iterator[Price]:
    for sku in _listed(skus):
        for info in _listed(sku.get("pricingInfo")):
            expression = info.get("pricingExpression")
            expression = expression if isinstance(expression, Mapping) else {}
            rates = list(_listed(expression.get("tieredRates")))
            unit = rates[-1].get("unitPrice") if rates else None
            if not isinstance(unit, Mapping):
                continue
            value = (_number(unit.get("units") or 0) or 0.0) + (_number(unit.get("nanos") or 0) or 0.0) / 1e9
            if value:
                regions = sku.get("serviceRegions")
                yield Price(
                    item=printable(str(sku.get("description")), 120),
                    price=value,
                    currency=str(unit.get("currencyCode") or "")[:3],
                    unit=str(expression.get("usageUnitDescription") or expression.get("usageUnit") or "")[
                        :40
                    ],
                    region=str(regions[0])[:60] if isinstance(regions, list) and regions else "",
                    date=str(info.get("effectiveTime") or "")[:10],
                )


def _infracost(document: Mapping[str, object]) -> Iterator[Price]:
    currency = str(document.get("currency") or "USD")[:3]
    date = str(document.get("timeGenerated") or "")[:10]
    for project in _listed(document.get("projects")):
        breakdown = project.get("breakdown")
        for resource in _listed(breakdown.get("resources") if isinstance(breakdown, Mapping) else None):
            for part in _listed(resource.get("costComponents")):
                value = _number(part.get("price"))
                if value:
                    yield Price(
                        item=printable(f"{resource.get('name')}: {part.get('name')}", 120),
                        price=value,
                        currency=currency,
                        unit=str(part.get("unit") or "")[:40],
                        date=date,
                    )


def workbook_rows(name: str, data: bytes) -> list[list[str]] | None:
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
                ["" if cell is None else str(cell) for cell in row[:60]]
                for row in sheet.iter_rows(max_row=MOST_LINES, max_col=60, values_only=True)
            ]
            if heading_of(rows) is not None:
                return rows
            best = best or rows
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


def heading_of(rows: Sequence[Sequence[str]]) -> tuple[int, dict[str, int]] | None:
    """Return the line of the heading and the columns it names; None where no line names item and price."""
    for number, row in enumerate(rows[:30]):
        columns: dict[str, int] = {}
        for field_name, words in HEADINGS.items():
            for word in words:
                found = next(
                    (
                        at
                        for at, cell in enumerate(row)
                        if word in cell.lower() and at not in columns.values()
                    ),
                    None,
                )
                if found is not None:
                    columns[field_name] = found
                    break
        if "item" in columns and ("unit_price" in columns or "total" in columns):
            return number, columns
    return None


def _aws_rows(rows: Sequence[Sequence[str]]) -> PriceList | None:
    """Return the prices of an offer file of AWS as CSV; None for any other table."""
    for number, row in enumerate(rows[:30]):
        if not {"SKU", "PricePerUnit", "Unit"} <= set(row):
            continue
        lines = []
        for cells in rows[number + 1 :]:
            entry = dict(zip(row, cells, strict=False))
            value = _number(entry.get("PricePerUnit"))
            if value:
                item = entry.get("Instance Type") or entry.get("PriceDescription") or entry["SKU"]
                terms = [entry.get(name) or "" for name in ("LeaseContractLength", "PurchaseOption")]
                lines.append(
                    Price(
                        item=printable(" ".join([item, *(term for term in terms if term)]), 120),
                        price=value,
                        currency=(entry.get("Currency") or "")[:3],
                        unit=entry["Unit"][:40],
                        region=(entry.get("Region Code") or entry.get("Location") or "")[:60],
                        date=(entry.get("EffectiveDate") or "")[:10],
                    )
                )
        return PriceList("aws-price-list", tuple(lines))
    return None


def priced_rows(rows: Sequence[Sequence[str]]) -> PriceList | None:
    """Return the prices of a table; None where no heading is recognised."""
    offers = _aws_rows(rows)
    if offers is not None:
        return offers
    heading = heading_of(rows)
    if heading is None:
        return None
    start, columns = heading
    everything = " ".join(" ".join(row) for row in rows[: start + 1])
    stated = CODES.search(everything.upper())
    usual = stated[1] if stated else next((iso for sign, iso in CURRENCIES.items() if sign in everything), "")
    dated = _DATE.search(everything)
    date = f"{dated[1]}-{int(dated[2]):02d}-{int(dated[3]):02d}" if dated else ""
    lines: list[Price] = []
    unread: list[str] = []

    def cell(row: Sequence[str], name: str) -> str:
        at = columns.get(name)
        return row[at].strip() if at is not None and at < len(row) else ""

    for number, row in enumerate(rows[start + 1 :], start=start + 2):
        item = cell(row, "item")
        if not item or re.match(r"(?i)(sub)?total|합계|소계|vat|부가세", item):
            continue
        count = amount(cell(row, "count"))
        price = amount(cell(row, "unit_price"))
        if price is None and (total := amount(cell(row, "total"))) is not None and count and count[0] > 0:
            price = (total[0] / count[0], total[1])
        if price is None:
            unread.append(f"{number}: {printable(item, 40)}")
            continue
        off = re.fullmatch(r"-?(\d+(?:[.,]\d+)?)\s*(%?)", cell(row, "discount"))
        share = None
        if off:
            share = float(off[1].replace(",", ".")) / (
                100.0 if off[2] or float(off[1].replace(",", ".")) > 1 else 1.0
            )
        lines.append(
            Price(
                item=printable(item, 120),
                price=price[0],
                currency=(CODES.search(cell(row, "currency").upper()) or [price[1] or usual])[0],
                count=count[0] if count else None,
                discount=share if share is not None and share <= 1 else None,
                date=cell(row, "date")[:20] or date,
            )
        )
    if not lines:
        return None
    missing = tuple(
        name
        for name, absent in (
            ("currency", any(not line.currency for line in lines)),
            ("date", all(not line.date for line in lines)),
        )
        if absent
    )
    return PriceList("quote", tuple(lines), tuple(unread[:50]), missing)
