"""Price books: a workspace's own prices, discounts and rates, which override the catalogue's figures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from app.catalog.defaults import CURRENCIES, YEARLY_SHARES
from app.catalog.figures import Direction, Figure, FigureStatus, Key, Source, SourceKind
from app.catalog.lookup import Lookup
from app.errors import FieldError, Message

DISCOUNT = "discount"
"""Parameter of a row that takes a share off the catalogue's prices instead of stating a price."""
MAKER, KIND = "maker:", "kind:"
"""Prefixes of the item of a discount on everything of a maker or of a kind."""
CONVERTED = ("price", "price_hour")
"""Parameters that are converted to dollars, the only currency of the catalogue's prices."""
MOST_ROWS = 2000

LIMITS: Mapping[str, tuple[float, float]] = {
    "price": (0.0, 1e12),
    "price_hour": (0.0, 1e9),
    "tariff": (0.0, 1e6),
    "colocation": (0.0, 1e6),
    "egress": (0.0, 1e6),
    "storage_flash": (0.0, 1e9),
    "storage_object": (0.0, 1e6),
    "storage_per_node": (0.0, 1e6),
    "staff_per_node": (0.0, 1e4),
    "staff_per_appliance": (0.0, 1e4),
    "staff_cost": (0.0, 1e13),
    "exchange_rate": (1e-6, 1e6),
    **dict.fromkeys(YEARLY_SHARES.values(), (0.0, 1.0)),
    "installation_share": (0.0, 1.0),
    "spares_share": (0.0, 1.0),
    "capital_rate": (0.0, 1.0),
    "residual": (0.0, 1.0),
    "amortisation": (0.1, 50.0),
    "utilisation": (0.01, 1.0),
    "pue": (1.0, 5.0),
    "carbon": (0.0, 10.0),
    "interruption_rate": (0.0, 1000.0),
    "network_share": (0.0, 0.9),
    DISCOUNT: (0.0, 1.0),
}
"""Least and largest value of each parameter a book may state, in the unit of the row."""

PRICED_KINDS = frozenset({"machine", "system", "switch", "part", "adapter", "cable", "storage", "rack"})
"""Kinds of items with a purchase price."""
RENTED_KINDS = frozenset({"system", "rental"})
"""Kinds of items with an hourly price."""

RENTALS = {
    "on-demand": "",
    "reserved-1-year": "reserved 1 year",
    "reserved-3-years": "reserved 3 years",
    "spot": "spot",
}
"""Condition of the catalogue's prices for each way to rent."""


@dataclass(frozen=True, slots=True)
class BookRow:
    item: str
    """Identifier of the catalogue; of a discount also ``maker:…`` or ``kind:…``."""
    parameter: str
    condition: str
    value: float
    unit: str
    note: str


@dataclass(frozen=True, slots=True)
class PriceBook:
    id: str
    name: str
    version: int
    as_of: str
    """Day the version was made."""
    rows: tuple[BookRow, ...]

    @property
    def source(self) -> Source:
        return Source(
            id=f"{self.id}@{self.version}",
            kind=SourceKind.CUSTOMER,
            title=f"{self.name} (v{self.version})",
            publisher="",
            published=self.as_of,
            url=f"/price-books/{self.id}?version={self.version}",
        )


def units_of(lookup: Lookup, parameter: str) -> tuple[str, ...]:
    if parameter == DISCOUNT:
        return ("1", "%")
    return CURRENCIES if parameter == "price" else lookup.fields[parameter].units


def row_errors(lookup: Lookup, rows: Iterable[BookRow]) -> list[FieldError]:
    """Return the errors of rows by row and column, each naming what is allowed."""
    errors: list[FieldError] = []
    first_rows: dict[tuple[str, str, str], int] = {}
    for index, row in enumerate(rows):
        fault = _row_error(lookup, row)
        key = (row.item, row.parameter, row.condition)
        if fault is None and key in first_rows:
            fault = "item", Message("is already in row {first}", {"first": first_rows[key] + 1})
        first_rows.setdefault(key, index)
        if fault is not None:
            column, message = fault
            text = Message(
                "row {row}, {column}: {fault}", {"row": index + 1, "column": column, "fault": message}
            )
            errors.append(FieldError(f"rows.{index}.{column}", text))
    return errors


def _row_error(lookup: Lookup, row: BookRow) -> tuple[str, Message] | None:
    if row.parameter not in LIMITS:
        parameters = ", ".join(LIMITS)
        return "parameter", Message(
            "a price book cannot set “{given}”; allowed: {known}",
            {"given": row.parameter[:40], "known": parameters},
        )
    fault = _discount_error(lookup, row) if row.parameter == DISCOUNT else _figure_error(lookup, row)
    if fault is not None:
        return fault
    units = units_of(lookup, row.parameter)
    if row.unit not in units:
        return "unit", Message(
            "“{given}” is not a valid unit here; use {units}",
            {"given": row.unit[:40], "units": ", ".join(units)},
        )
    least, most = LIMITS[row.parameter]
    if row.parameter == DISCOUNT and row.unit == "%":
        most *= 100.0
    if not least <= row.value <= most:
        return "value", Message(
            "must be between {least} and {most}, not {value}",
            {"value": row.value, "least": least, "most": most},
        )
    return None


def _figure_error(lookup: Lookup, row: BookRow) -> tuple[str, Message] | None:
    item = lookup.items.get(row.item)
    if item is None:
        return "item", Message("the catalogue has no item “{given}”", {"given": row.item[:60]})
    kinds = set(item.kinds)
    if row.parameter == "price" and kinds & PRICED_KINDS:
        conditions = [""]
    elif row.parameter == "price_hour" and kinds & RENTED_KINDS:
        conditions = list(RENTALS.values())
    else:
        conditions = [key[2] for key in lookup.accepted if key[:2] == (row.item, row.parameter)]
    if not conditions:
        return "item", Message(
            "{item} has no {parameter}; this row has no effect",
            {"item": row.item, "parameter": row.parameter},
        )
    if row.condition not in conditions:
        allowed = ", ".join(f"“{condition}”" for condition in conditions)
        return "condition", Message(
            "“{given}” is not valid here; use one of {known}", {"given": row.condition[:40], "known": allowed}
        )
    return None


def _discount_error(lookup: Lookup, row: BookRow) -> tuple[str, Message] | None:
    if row.condition:
        return "condition", Message("a discount takes no condition; leave it empty")
    if row.item.startswith(MAKER):
        allowed = sorted({item.maker for item in lookup.items.values() if item.maker})
        if row.item.removeprefix(MAKER) in allowed:
            return None
        return "item", Message("unknown maker; the catalogue has {known}", {"known": ", ".join(allowed)})
    if row.item.startswith(KIND):
        allowed = sorted(PRICED_KINDS | RENTED_KINDS)
        if row.item.removeprefix(KIND) in allowed:
            return None
        return "item", Message("unknown kind; use one of {known}", {"known": ", ".join(allowed)})
    if row.item not in lookup.items:
        return "item", Message(
            "the catalogue has no item “{given}”; enter an item, maker:… or kind:…", {"given": row.item[:60]}
        )
    return None


def overlay(lookup: Lookup, book: PriceBook) -> dict[Key, tuple[Figure, ...]]:
    """Return the figures that a book of valid rows puts in place of the catalogue's.

    Discounts apply to the catalogue's prices only, not to those of the book; a discount on an item comes
    before that on its maker, and that before one on its kind.
    """
    source = book.source
    own: dict[Key, tuple[Figure, ...]] = {}
    for row in book.rows:
        if row.parameter not in (DISCOUNT, *CONVERTED):
            own[row.item, row.parameter, row.condition] = (_figure(lookup, book, row, source),)
    rates = exchange_rates(lookup, own)
    for row in book.rows:
        if row.parameter in CONVERTED:
            figure = _figure(lookup, book, row, source)
            own[row.item, row.parameter, row.condition] = (in_dollars(lookup, figure, rates),)
    return own | _discounted(lookup, book, own, source)


def exchange_rates(lookup: Lookup, own: Mapping[Key, tuple[Figure, ...]] | None = None) -> dict[str, float]:
    """Return units of other currencies per dollar, from ``own`` figures or else the catalogue's."""
    figures = {**lookup.accepted, **(own or {})}
    names = [name.lower() for name in CURRENCIES if name != "USD"]
    return {name: figures["cost-defaults", "exchange_rate", name][-1].si for name in names}


def _figure(lookup: Lookup, book: PriceBook, row: BookRow, source: Source) -> Figure:
    return Figure(
        item=row.item,
        parameter=row.parameter,
        condition=row.condition,
        value=row.value,
        text=repr(row.value),
        unit=lookup.units[row.unit],
        low=None,
        high=None,
        direction=Direction.NONE,
        source=source,
        as_of=book.as_of,
        status=FigureStatus.ACCEPTED,
        note=row.note,
    )


def in_dollars(lookup: Lookup, figure: Figure, rates: Mapping[str, float]) -> Figure:
    """Return a price in dollars at the dated rate; the note keeps the stated amount."""
    currency = figure.unit.name[:3]
    if currency == "USD" or figure.value is None:
        return figure
    rate = rates[currency.lower()]
    stated = f"{figure.value:,.15g} {figure.unit.name} / {rate:g}"
    value = figure.value / rate
    return replace(
        figure,
        value=value,
        text=repr(value),
        unit=lookup.units["USD" + figure.unit.name[3:]],
        note="; ".join(part for part in (stated, figure.note) if part),
    )


def _discounted(
    lookup: Lookup, book: PriceBook, own: Mapping[Key, tuple[Figure, ...]], source: Source
) -> dict[Key, tuple[Figure, ...]]:
    shares = {
        row.item: row.value / (100.0 if row.unit == "%" else 1.0)
        for row in book.rows
        if row.parameter == DISCOUNT
    }
    if not shares:
        return {}
    reduced: dict[Key, tuple[Figure, ...]] = {}
    for key, series in lookup.accepted.items():
        if key[1] not in CONVERTED or key in own:
            continue
        item = lookup.items[key[0]]
        names = [item.id, f"{MAKER}{item.maker}", *(f"{KIND}{kind}" for kind in item.kinds)]
        share = next((shares[name] for name in names if name in shares), None)
        if share is not None:
            reduced[key] = tuple(_reduced(figure, share, source) for figure in series)
    return reduced


def _reduced(figure: Figure, share: float, source: Source) -> Figure:
    factor = 1.0 - share
    if figure.value is None:
        return figure
    note = f"{figure.value:,.15g} {figure.unit.name} − {share:.4%} ({figure.source.title})"
    return replace(
        figure,
        value=figure.value * factor,
        low=None if figure.low is None else figure.low * factor,
        high=None if figure.high is None else figure.high * factor,
        text=repr(figure.value * factor),
        source=source,
        note=note,
    )
