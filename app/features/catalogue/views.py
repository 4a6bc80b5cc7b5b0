"""Pages of the catalogue: a list per kind, a page per entry."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fastapi import Request

from app.errors import NotFound
from app.estimating.schema import Document, SourceRef
from app.platform.catalogue import Catalogue, Shelf
from app.platform.catalogue_model import (
    CatalogueEntry,
    CatalogueFigure,
    Chip,
    Fabric,
    Machine,
    Model,
    ModelWithOperators,
    Software,
    Statement,
    System,
)
from app.platform.web.locale import voice_of
from app.platform.wording.voice import Voice


@dataclass(frozen=True, slots=True)
class Column:
    """Head of a column; numbers are right-aligned."""

    name: str
    numeric: bool = False


@dataclass(frozen=True, slots=True)
class EntryRow:
    """One line of a list, with the cells after the first column."""

    id: str
    name: str
    url: str
    cells: Sequence[str]


@dataclass(frozen=True, slots=True)
class StatementView:
    """One figure as its source states it, formatted."""

    parameter: str
    anchor: str
    condition: str
    description: str
    written: str
    range: str
    direction: str
    estimated: bool
    source: SourceRef
    as_of: str
    status: str
    note: str
    reason: str
    rejected: Sequence[StatementView] = ()


@dataclass(frozen=True, slots=True)
class Table:
    title: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogKindPage:
    """All entries of one kind."""

    kind: str
    kinds: Sequence[str]
    columns: Sequence[Column]
    rows: Sequence[EntryRow]


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogItemPage:
    """One entry with all its figures."""

    kind: str
    id: str
    name: str
    maker: str
    facts: Sequence[tuple[str, str, str]]
    """Name, formatted value, address or empty."""
    figures: Sequence[StatementView]
    derived: Sequence[tuple[str, str, str]]
    """Name, formatted value, formula."""
    tables: Sequence[Table]


KINDS = ("chips", "machines", "systems", "fabrics", "models", "software", "sources")

Fact = tuple[str, str, str]


def shelf(catalogue: Catalogue, kind: str) -> Shelf[Document]:
    if kind not in KINDS:
        raise NotFound.named("catalogue section", kind, KINDS)
    entries: Shelf[Document] = getattr(catalogue, kind)
    return entries


def entry(catalogue: Catalogue, kind: str, identifier: str) -> Document:
    if kind == "models":
        return catalogue.model_with_operators(identifier)
    return shelf(catalogue, kind).get(identifier)


def kind_page(request: Request, documents: Sequence[Document]) -> CatalogKindPage:
    kind, voice = request.path_params["kind"], voice_of(request)
    rows = [entry_row(kind, document, voice) for document in documents]
    return CatalogKindPage(kind=kind, kinds=KINDS, columns=columns(kind, voice), rows=rows)


def columns(kind: str, voice: Voice) -> list[Column]:
    _ = voice.gettext
    name = Column(_("Name"))
    if kind == "models":
        return [
            name,
            Column(_("Family")),
            Column(_("Parameters"), True),
            Column(_("Forward pass per sample"), True),
        ]
    if kind == "sources":
        return [name, Column(_("Kind")), Column(_("Publisher")), Column(_("Published"))]
    if kind == "software":
        return [name, Column(_("Runs on")), Column(_("Based on runs up to"))]
    middle = {
        "systems": [
            Column(_("Devices"), True),
            Column(_("Chip")),
            Column(_("Power"), True),
            Column(_("Price"), True),
        ],
        "machines": [Column(_("Devices"), True), Column(_("Chip"))],
    }.get(kind, [])
    return [
        name,
        Column(_("Manufacturer")),
        *middle,
        Column(_("Figures"), True),
        Column(_("Rejected claims"), True),
    ]


def entry_row(kind: str, document: Document, voice: Voice) -> EntryRow:
    """Return one line of the list of a kind, with cells for :func:`columns`."""
    identifier = str(getattr(document, "id"))  # noqa: B009 - every kind has one, Document has not
    url = f"/catalog/{kind}/{identifier}"
    if isinstance(document, Model):
        cells = [
            document.family,
            voice.count(document.parameters.value),
            voice.value(document.forward_flop_per_sample.value, "FLOP", exact=False),
        ]
        return EntryRow(identifier, document.name, url, cells)
    if isinstance(document, Software):
        return EntryRow(identifier, document.name, url, [document.kind.upper(), voice.date(document.as_of)])
    if isinstance(document, SourceRef):
        cells = [voice.label(document.kind), document.publisher, voice.date(document.published)]
        return EntryRow(identifier, document.title, url, cells)
    assert isinstance(document, CatalogueEntry)
    middle: list[str] = []
    if isinstance(document, System):
        middle = [
            voice.number(document.devices),
            document.chip,
            voice.central(document.power_typical),
            voice.central(document.price),
        ]
    if isinstance(document, Machine):
        middle = [voice.number(document.devices), document.chip]
    counts = [voice.number(len(document.figures)), voice.number(len(document.rejected))]
    return EntryRow(identifier, document.name, url, [document.maker, *middle, *counts])


def item_page(request: Request, document: Document) -> CatalogItemPage:
    identifier, voice = request.path_params["identifier"], voice_of(request)
    return CatalogItemPage(
        kind=request.path_params["kind"],
        id=identifier,
        name=name_of(document, identifier),
        maker=document.maker if isinstance(document, CatalogueEntry) else "",
        facts=facts_of(document, voice),
        figures=figures_of(document, voice),
        derived=derived_of(document, voice),
        tables=tables_of(document, voice),
    )


def name_of(document: Document, identifier: str) -> str:
    if isinstance(document, SourceRef):
        return document.title
    return str(getattr(document, "name", identifier))


def facts_of(document: Document, voice: Voice) -> list[Fact]:
    _ = voice.gettext
    if isinstance(document, System):
        return [
            (
                _("Machines"),
                f"{voice.number(document.machines)} × {document.machine}",
                f"/catalog/machines/{document.machine}",
            ),
            (_("Devices"), voice.number(document.devices), ""),
            (_("Chip"), document.chip, f"/catalog/chips/{document.chip}"),
            (_("Fabric"), document.fabric, f"/catalog/fabrics/{document.fabric}"),
            (_("Hosts"), voice.number(document.hosts), ""),
            (_("Acquisition"), voice.label(document.acquisition), ""),
            (_("Power under load"), voice.quantity(document.power_typical), ""),
            (_("Maximum power"), voice.quantity(document.power_max), ""),
            (_("Rack units"), voice.number(document.rack_units), ""),
            (_("Price"), voice.quantity(document.price), ""),
        ]
    if isinstance(document, Machine):
        return [
            (_("Chip"), document.chip, f"/catalog/chips/{document.chip}"),
            (_("Devices"), voice.number(document.devices), ""),
        ]
    if isinstance(document, Fabric):
        return [(_("Protocol"), document.protocol, "")]
    if isinstance(document, Model):
        return model_facts(document, voice)
    if isinstance(document, Software):
        return [
            (_("Runs on"), document.kind.upper(), ""),
            (_("Class"), document.preset, ""),
            (_("Based on runs up to"), voice.date(document.as_of), ""),
        ]
    if isinstance(document, SourceRef):
        return [
            (_("Kind"), voice.label(document.kind), ""),
            (_("Publisher"), document.publisher, ""),
            (_("Published"), voice.date(document.published), ""),
            (_("Address"), document.url or "–", document.url),
        ]
    return []


def model_facts(model: Model, voice: Voice) -> list[Fact]:
    _ = voice.gettext
    rows = [
        (_("Family"), model.family, ""),
        (_("Parameters"), voice.decimal(model.parameters.value, 0), ""),
        (
            _("Forward pass per sample"),
            voice.value(model.forward_flop_per_sample.value, "FLOP", exact=False),
            "",
        ),
    ]
    if model.published is not None:
        rows.append((_("Published parameters"), voice.decimal(model.published.parameters, 0), ""))
    if model.seq_len:
        rows.append((_("Sequence length"), voice.number(model.seq_len), ""))
    if model.image_size:
        rows.append((_("Image size"), voice.number(model.image_size), ""))
    if model.source is not None:
        rows.append((_("Source"), model.source.title, model.source.url))
    return rows


def figures_of(document: Document, voice: Voice) -> list[StatementView]:
    """Return the figures of an entry, each with its rejected claims."""
    if isinstance(document, Model):
        return [statement_view(figure, voice, figure.description) for figure in document.training.figures]
    if isinstance(document, CatalogueEntry):
        return [statement_view(figure, voice, figure.description) for figure in document.figures]
    if isinstance(document, Software):
        return [
            StatementView(
                parameter=figure.parameter,
                anchor=figure.parameter,
                condition=figure.profile,
                description=voice.label(figure.parameter),
                written=counted(figure.value, figure.unit, voice),
                range="({}–{})".format(
                    *(counted(end, figure.unit, voice) for end in (figure.low, figure.high))
                ),
                direction="",
                estimated=figure.status != "fitted",
                source=figure.source,
                as_of=document.as_of,
                status="accepted",
                note=figure.note,
                reason="",
            )
            for figure in document.figures
        ]
    return []


def statement_view(statement: Statement, voice: Voice, description: str) -> StatementView:
    """Return one figure as its source states it, in the source's unit."""
    rivals = statement.rejected if isinstance(statement, CatalogueFigure) else []
    anchor = "-".join(part for part in (statement.parameter, statement.condition.replace(" ", "-")) if part)
    return StatementView(
        parameter=statement.parameter,
        anchor=anchor,
        condition=statement.condition,
        description=voice.gettext(description),
        written=stated(statement, voice),
        range=stated_range(statement, voice),
        direction=statement.direction,
        estimated=statement.estimated,
        source=statement.source,
        as_of=statement.as_of,
        status=statement.status,
        note=statement.note,
        reason=voice.gettext(statement.note) if statement.status == "rejected" else "",
        rejected=[statement_view(rival, voice, description) for rival in rivals],
    )


def stated(statement: Statement, voice: Voice) -> str:
    """Format a figure in the unit of its source; text is unchanged."""
    try:
        number = voice.number(float(statement.text), digits=6)
    except ValueError:
        return statement.text
    unit = {"us": "µs"}.get(statement.stated_unit, statement.stated_unit)
    return number if unit in {"1", ""} else f"{number} {unit}"


def stated_range(statement: Statement, voice: Voice) -> str:
    """Format the range of a figure in the unit of its source; empty without one."""
    value, low, high = statement.value, statement.low, statement.high
    if not value or low is None or high is None or low == high:
        return ""
    try:
        size = float(statement.text) / value
    except ValueError:
        return ""
    return f"({voice.number(low * size, digits=4)}–{voice.number(high * size, digits=4)})"


def derived_of(document: Document, voice: Voice) -> list[tuple[str, str, str]]:
    if isinstance(document, Chip | System):
        return [
            (derived_name(figure.name, voice), counted(figure.value, figure.unit, voice), figure.formula)
            for figure in document.derived
        ]
    return []


def derived_name(name: str, voice: Voice) -> str:
    """Translate the name of a derived figure; its options stay in brackets."""
    code, bracket, option = name.partition(" (")
    return f"{voice.label(code, 'derived')}{bracket}{option}"


def counted(value: float, unit: str, voice: Voice) -> str:
    """Format a value; without a unit it is a count or factor, not a share."""
    return voice.number(value) if unit == "1" else voice.value(value, unit, exact=False)


def tables_of(document: Document, voice: Voice) -> list[Table]:
    _ = voice.gettext
    if isinstance(document, System) and document.bill:
        heads = [
            Column(_("Part")),
            Column(_("Count"), True),
            Column(_("Price"), True),
            Column(_("Power"), True),
        ]
        rows = [
            [
                line.name,
                voice.number(line.count),
                stated(line.price, voice) if line.price else "–",
                stated(line.power_typical, voice) if line.power_typical else "–",
            ]
            for line in document.bill
        ]
        return [Table(_("Bill of materials"), heads, rows)]
    if isinstance(document, ModelWithOperators):
        heads = [
            Column(_("Operator")),
            Column(_("Kind")),
            Column(_("Count"), True),
            Column(_("Parameters"), True),
            Column(_("Forward pass"), True),
        ]
        rows = [
            [
                operator.name,
                voice.label(operator.kind, "part"),
                voice.number(operator.count),
                voice.count(operator.parameters),
                voice.value(operator.forward_flop, "FLOP", exact=False),
            ]
            for operator in document.operators
        ]
        return [Table(_("Operators per sample"), heads, rows)]
    return []
