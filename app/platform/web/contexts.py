"""From documents to what pages show: order, grouping, bars and figures; no number is made here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from app.errors import AppError, FieldError, Message
from app.estimating.documents import SEVERITIES, CheckWarning, Text
from app.platform.charts.figures import Figure
from app.platform.charts.svg import Drawing


@dataclass(frozen=True, slots=True)
class Choice:
    """One entry of a list to choose from."""

    id: str
    name: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class ChoiceGroup:
    """Entries under one heading."""

    name: str
    choices: Sequence[Choice]


@dataclass(frozen=True, slots=True)
class Form:
    """What was typed into a form, and what is wrong with it."""

    values: Mapping[str, Sequence[str]] = field(default_factory=dict)
    errors: Sequence[FieldError] = ()

    def get(self, name: str, default: str = "") -> str:
        values = self.values.get(name, ())
        return values[0] if values else default

    @property
    def firsts(self) -> dict[str, str]:
        return {name: values[0] for name, values in self.values.items() if values}

    def has(self, name: str, value: str) -> bool:
        return value in self.values.get(name, ())

    def wrong(self, *names: str) -> list[Message]:
        """Return what is wrong with any of these fields, or with what lies below them."""
        return [
            error.message
            for error in self.errors
            if any(error.field == name or error.field.startswith(f"{name}.") for name in names)
        ]

    def general(self, name: str, *, excluding: Sequence[str]) -> list[Message]:
        """Return what is wrong with a field or what lies below it, apart from what is shown elsewhere."""
        elsewhere = {f"{name}.{part}" for part in excluding}
        return [
            error.message
            for error in self.errors
            if error.field not in elsewhere and (error.field == name or error.field.startswith(f"{name}."))
        ]


@dataclass(frozen=True, slots=True)
class WarningLine:
    """A sentence of warning with the options it concerns."""

    text: Text
    options: Sequence[str]


@dataclass(frozen=True, slots=True)
class WarningGroup:
    """Everything one check found: one line per sentence, for its values may differ by option."""

    code: str
    severity: str
    lines: Sequence[WarningLine]


@dataclass(frozen=True, slots=True)
class FigureView:
    """A chart with its identifier and caption; the figure holds the rows of its table and of its files."""

    id: str
    caption: str
    figure: Figure
    note: str = ""
    """How to read it."""
    table: str = ""
    """Identifier of a table on the page that says more."""
    deferred: bool = False
    """True where it holds thousands of values: the page reads them when the chart comes into view."""


@dataclass(frozen=True, slots=True)
class DrawingView:
    """A drawing: its identifier, caption and shapes, and the table that says the same."""

    id: str
    caption: str
    drawing: Drawing
    table: str
    """Identifier of the element that holds the same as text; empty where there is none."""
    rows: Sequence[Sequence[str | int | float | bool | None]] = ()
    """The same for other programs, the head first; none where the page offers a file of its own."""
    note: str = ""
    """How to read it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemPage:
    """Why a page cannot be shown, and where to go."""

    error: AppError
    request_id: str
    """Identifier of the request, by which the log tells more."""


@dataclass(frozen=True, slots=True)
class ProblemKind:
    """A kind of problem, as programs and people know it."""

    slug: str
    title: str
    status: int
    meaning: Message


@dataclass(frozen=True, slots=True)
class ProblemsPage:
    """What each kind of problem and each code of a field means."""

    chosen: ProblemKind | None
    kinds: Sequence[ProblemKind]
    codes: Mapping[str, Message]


@dataclass(frozen=True, slots=True)
class Contents:
    """One entry of a table of contents."""

    anchor: str
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentPage:
    """A document of the project, such as its methodology."""

    title: str
    body: str
    """HTML made from our own Markdown, never from input."""
    contents: Sequence[Contents]


REFUSAL = "does_not_fit"


def grouped(warnings: Iterable[tuple[str, CheckWarning]]) -> list[WarningGroup]:
    """Return warnings once per check and sentence with the options they concern, the gravest first."""
    groups: dict[tuple[str, str], dict[str, WarningLine]] = {}
    labels: dict[tuple[str, str], list[str]] = {}
    for label, warning in warnings:
        options = labels.setdefault((warning.code, warning.message), [])
        if label and label not in options:
            options.append(label)
        lines = groups.setdefault((warning.code, warning.severity), {})
        lines.setdefault(warning.message, WarningLine(warning.text, options))
    warning_groups = [
        WarningGroup(code, severity, list(lines.values())) for (code, severity), lines in groups.items()
    ]
    return sorted(warning_groups, key=lambda group: SEVERITIES.index(group.severity))


def view(name: str, caption: str, figure: Figure, note: str = "", table: str = "") -> FigureView:
    return FigureView(f"figure-{name}", caption, figure, note, table)
