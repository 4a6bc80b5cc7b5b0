"""Forms whose address is their state; names, numbers and percentages follow from the schema of a request."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, Literal, TypeVar, get_args, get_origin
from urllib.parse import urlencode

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from starlette.datastructures import QueryParams

from app.errors import AppError, FieldError, Message, refuse
from app.estimating.numbers import DURATIONS, MONEY, PERCENT, PLAIN, NumberKind, number_in, numbers_in
from app.estimating.request import PercentInput
from app.platform.json_bodies import checked
from app.platform.web.contexts import Form
from app.platform.web.forms import nested, typed

Asked = TypeVar("Asked", bound=BaseModel)

Answer = TypeVar("Answer")

RATE = re.compile(r"_(rate|share)$")

UNIT = re.compile(r"\[([^\]/]+)[^\]]*\]\s*$")
"""Unit at the end of the description of a field, up to what it is counted per."""

CURRENCIES = {"currency": "", "USD": "USD", "KRW": "KRW"}
"""Units of amounts of money → the currency; empty where it is that of the form."""

ROW = re.compile(r"\.(\d{1,4})\.")

SPARE_ROWS, LEAST_ROWS = 2, 4


@dataclass(frozen=True, slots=True)
class Leaf:
    """A field of a form."""

    path: str
    """Of the request; rows of a list are ``*``."""
    kind: NumberKind | None = None
    """Of a number; None for a text."""
    several: bool = False
    """True where values are typed one after the other."""

    @property
    def name(self) -> str:
        """Name in the form: what is typed in percent says so."""
        if self.kind != PERCENT or self.several:
            return self.path
        return f"{RATE.sub('', self.path)}_percent"

    def read(self, text: str, currency: str, path: str) -> object:
        """Return what was typed as the schema reads it; refuse at a path what is no number."""
        if self.kind is None:
            return [part for part in SEPARATORS.split(text) if part] if self.several else text
        kind = self.kind if self.kind != MONEY else replace(MONEY, currency=currency)
        return numbers_in(text, kind, path) if self.several else number_in(text, kind, path)


SEPARATORS = re.compile(r"[\s,;]+")


def leaves(schema: type[BaseModel], above: str = "") -> Iterator[Leaf]:
    """Yield the fields of a request that can be typed."""
    for name, field in schema.model_fields.items():
        path = f"{above}{name}"
        parts = list(_parts(field.annotation))
        inside = next((part for part in parts if _is_schema(part)), None)
        several = any(get_origin(part) is list for part in parts)
        if inside is not None:
            yield from leaves(inside, f"{path}.*." if several else f"{path}.")
            continue
        yield Leaf(path, _kind(field, parts), several)


def _kind(field: FieldInfo, parts: Sequence[object]) -> NumberKind | None:
    """Return what a field expects by its type, and by the unit in its description; None for a text."""
    if any(isinstance(part, PercentInput) for part in (*parts, *field.metadata)):
        return PERCENT
    options = [option for part in parts if get_origin(part) is Literal for option in get_args(part)]
    whole = int in parts or any(isinstance(option, int) for option in options)
    if not whole and float not in parts:
        return None
    match = UNIT.search(field.description or "")
    unit = "" if match is None else match[1]
    if unit in CURRENCIES:
        return NumberKind("money", currency=CURRENCIES[unit], whole=whole)
    # What is counted per something else is no length of time.
    kind = DURATIONS.get(unit, PLAIN) if match is not None and "/" not in match[0] else PLAIN
    return replace(kind, whole=whole and float not in parts)


def _usual_currency(schema: type[BaseModel]) -> str:
    """Return the currency of the amounts of a request that names none; empty where it cannot."""
    field = schema.model_fields.get("currency")
    return field.default if field is not None and isinstance(field.default, str) else ""


def _read(fields: Iterable[tuple[str, Leaf, str]], currency: str) -> tuple[dict[str, Any], list[AppError]]:
    """Return what was typed by its path in the request, and what of it cannot be read."""
    values: dict[str, Any] = {}
    faults: list[AppError] = []
    for path, leaf, text in fields:
        try:
            values[path] = leaf.read(text, currency, path)
        except AppError as error:
            values[path] = text
            faults.append(error)
    return values, faults


def _parts(annotation: object) -> Iterator[Any]:
    """Yield an annotation with everything inside it."""
    yield annotation
    for part in () if get_origin(annotation) is Literal else get_args(annotation):
        yield from _parts(part)


def _is_schema(part: object) -> bool:
    return isinstance(part, type) and issubclass(part, BaseModel)


class FormFields:
    """The fields of a form that are those of a schema."""

    def __init__(self, schema: type[BaseModel], above: str = "") -> None:
        """Take a schema and the path that its fields lie below."""
        self._leaves = {leaf.name: leaf for leaf in leaves(schema, above)}
        self._currency = _usual_currency(schema)

    def __iter__(self) -> Iterator[str]:
        """Give the names of the form."""
        return iter(self._leaves)

    def known(self, values: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
        """Return what was typed into the fields."""
        return {name: list(typed_in) for name, typed_in in values.items() if name in self._leaves}

    def body(self, values: Mapping[str, Sequence[str]]) -> dict[str, Any]:
        """Return what the fields ask for as the schema reads it; an empty field is left out."""
        fields = [
            (leaf.path, leaf, typed_in[0])
            for name, typed_in in values.items()
            if (leaf := self._leaves.get(name)) is not None and typed_in[0].strip()
        ]
        read, faults = _read(fields, next(iter(values.get("currency", ())), self._currency))
        refuse(faults)
        return nested(read)


@dataclass(frozen=True, slots=True)
class FormOutcome(Generic[Answer]):
    """What came of a form: an answer, or what is wrong beside the last that was possible."""

    form: Form
    answer: Answer | None
    query: str
    """Of the answer."""
    stale: bool = False
    """True where the answer is that of an earlier question."""
    status: int = 200
    message: Message | None = None
    """Why the question was refused."""


class QueryForm(Generic[Asked]):
    """A form of a request."""

    def __init__(
        self,
        schema: type[Asked],
        *,
        complete: Callable[[dict[str, str]], dict[str, str]] = dict,
        rows: tuple[str, str, int] | None = None,
    ) -> None:
        """Take a schema; ``complete`` works on what was typed.

        ``rows`` names a list of objects, the field that says whose row it is, and the most rows.
        """
        self.schema = schema
        self._complete = complete
        self._rows = rows
        self._leaves = {leaf.name: leaf for leaf in leaves(schema)}
        self._names = {leaf.path: name for name, leaf in self._leaves.items()}

    def values(self, query: QueryParams | Mapping[str, Sequence[str]]) -> dict[str, str]:
        typed_values = typed(query) if isinstance(query, QueryParams) else query
        return self._complete(
            {name: texts[0] for name, texts in typed_values.items() if self._leaf(name) is not None}
        )

    def request(self, values: Mapping[str, str]) -> Asked:
        """Return what the fields of a form ask for."""
        fields = [
            (leaf.path, leaf, text)
            for name, text in values.items()
            if (leaf := self._leaves.get(name)) is not None and text.strip()
        ]
        rows = [] if self._rows is None else list(enumerate(self.filled_rows(values)))
        fields += [field for place, row in rows for field in self._in_row(values, place, row)]
        read, faults = _read(fields, values.get("currency", "") or _usual_currency(self.schema))
        tree = nested(read)
        if self._rows is not None:
            group, owner, _ = self._rows
            by_place = tree.get(group, {})
            # A row whose owner is not named is called after its place.
            tree[group] = [{owner: f"#{row + 1}", **by_place.get(str(place), {})} for place, row in rows]
        try:
            asked = checked(self.schema, tree)
        except AppError as error:
            faults.append(error)
        refuse(faults)
        return asked

    def form(self, values: Mapping[str, str], error: AppError | None = None) -> Form:
        """Return what was typed, with errors at the names it was typed under."""
        errors = () if error is None else [self._at_its_name(fault, values) for fault in error.errors]
        return Form({name: [text] for name, text in values.items()}, errors)

    def filled(self, fields: Mapping[str, str]) -> dict[str, str]:
        """Return fields as the form holds them."""
        return self.values({name: [text] for name, text in fields.items()})

    def answer(
        self, values: Mapping[str, str], before: Mapping[str, str] | None, answer: Callable[[Asked], Answer]
    ) -> FormOutcome[Answer]:
        """Return what fields come to; where they are refused, beside what those before came to."""
        try:
            return FormOutcome(self.form(values), answer(self.request(values)), urlencode(values))
        except AppError as error:
            form, status, message = self.form(values, error), error.status, error.message
        if before is not None:
            try:
                earlier = answer(self.request(before))
                return FormOutcome(
                    form, earlier, urlencode(before), stale=True, status=status, message=message
                )
            except AppError:
                pass
        return FormOutcome(form, None, "", stale=True, status=status, message=message)

    def general_errors(self, form: Form) -> list[Message]:
        """Return what is wrong that no field of the form shows."""
        names = [name.partition(".*")[0] for name in self._leaves]
        return [
            error.message
            for error in form.errors
            if not any(error.field == name or error.field.startswith(f"{name}.") for name in names)
        ]

    def filled_rows(self, values: Mapping[str, str]) -> list[int]:
        """Return the numbers of the rows in which something was typed, rising."""
        assert self._rows is not None, "a form without rows"
        group, _, most = self._rows
        numbers = {
            int(row[1])
            for name, text in values.items()
            if text.strip() and name.startswith(f"{group}.") and (row := ROW.search(name))
        }
        return sorted(row for row in numbers if row < most)

    def visible_rows(self, values: Mapping[str, str]) -> list[int]:
        """Return the rows a form shows: all up to the last in use, and a few empty ones."""
        assert self._rows is not None, "a form without rows"
        last = max(self.filled_rows(values), default=-1) + 1
        return list(range(min(max(last + SPARE_ROWS, LEAST_ROWS), self._rows[2])))

    def _in_row(self, values: Mapping[str, str], place: int, row: int) -> Iterator[tuple[str, Leaf, str]]:
        """Yield what was typed into one row, with its path in the request."""
        assert self._rows is not None, "a form without rows"
        above = f"{self._rows[0]}."
        for name, text in values.items():
            leaf = self._leaf(name)
            if leaf is not None and name.startswith(f"{above}{row}.") and text.strip():
                yield f"{above}{place}.{leaf.path.rpartition('.')[2]}", leaf, text

    def _leaf(self, name: str) -> Leaf | None:
        return self._leaves.get(ROW.sub(".*.", name))

    def _at_its_name(self, error: FieldError, values: Mapping[str, str]) -> FieldError:
        """Return an error at the name of the form, in the row it was typed in, its limits in percent."""
        field, message = error.field, error.message
        if self._rows is not None and (in_row := re.match(rf"{self._rows[0]}\.(\d+)(.*)", field)):
            rows = self.filled_rows(values)
            if int(in_row[1]) < len(rows):
                return FieldError(f"{self._rows[0]}.{rows[int(in_row[1])]}{in_row[2]}", message)
            return error
        path = next((path for path in (field, field.partition(".")[0]) if path in self._names), None)
        if path is None or self._leaves[self._names[path]].kind != PERCENT:
            return error
        limits = {
            name: 100.0 * value if isinstance(value, int | float) and not isinstance(value, bool) else value
            for name, value in message.values.items()
        }
        return FieldError(self._names[path], Message(message.template, limits))
