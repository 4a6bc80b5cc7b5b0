"""Forms whose address is their state; names, numbers and percentages follow from the schema of a request."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar, get_args, get_origin
from urllib.parse import urlencode

from pydantic import BaseModel
from starlette.datastructures import QueryParams

from app.errors import AppError, FieldError, Message
from app.estimating.request import InPercent
from app.platform.web.contexts import Form
from app.platform.web.forms import checked, nested, plain_number, typed

Asked = TypeVar("Asked", bound=BaseModel)

Answer = TypeVar("Answer")

Kind = Literal["text", "number", "percent", "whole"]

SHARE = re.compile(r"_(rate|share)$")

SEPARATORS = re.compile(r"[\s,;]+")

ROW = re.compile(r"\.(\d{1,4})\.")

SPARE_ROWS, LEAST_ROWS = 2, 4


@dataclass(frozen=True, slots=True)
class Leaf:
    """A field of a form."""

    path: str
    """Of the request; rows of a list are ``*``."""
    kind: Kind
    several: bool = False
    """True where values are typed one after the other."""

    @property
    def name(self) -> str:
        """Name in the form: what is typed in percent says so."""
        if self.kind != "percent" or self.several:
            return self.path
        return f"{SHARE.sub('', self.path)}_percent"

    def read(self, text: str) -> object:
        """Return what was typed as the schema reads it; what is no number is left to be refused."""
        if self.several:
            return [self._one(part) for part in SEPARATORS.split(text.strip(" ,;")) if part]
        return self._one(text)

    def _one(self, text: str) -> object:
        if self.kind == "text":
            return text
        if self.kind == "whole":
            # Numbers to choose from are taken as numbers only.
            return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else text
        if self.kind == "number":
            return plain_number(text)
        number = plain_number(text.rstrip("%").strip())
        try:
            return repr(float(number) / 100.0)
        except ValueError:
            return number


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
        percent = any(isinstance(part, InPercent) for part in (*parts, *field.metadata))
        number = any(part in (int, float) for part in parts)
        whole = any(
            isinstance(option, int)
            for part in parts
            if get_origin(part) is Literal
            for option in get_args(part)
        )
        kind: Kind = "percent" if percent else "number" if number else "whole" if whole else "text"
        yield Leaf(path, kind, several)


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

    def __iter__(self) -> Iterator[str]:
        """Give the names of the form."""
        return iter(self._leaves)

    def known(self, values: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
        """Return what was typed into the fields."""
        return {name: list(typed_in) for name, typed_in in values.items() if name in self._leaves}

    def body(self, values: Mapping[str, Sequence[str]]) -> dict[str, Any]:
        """Return what the fields ask for as the schema reads it; an empty field is left out."""
        read = {
            self._leaves[name].path: self._leaves[name].read(typed_in[0])
            for name, typed_in in values.items()
            if name in self._leaves and typed_in[0].strip()
        }
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
        values_by_path = {
            leaf.path: leaf.read(text)
            for name, text in values.items()
            if (leaf := self._leaves.get(name)) is not None and text.strip()
        }
        tree = nested(values_by_path)
        if self._rows is not None:
            tree[self._rows[0]] = [self._row(values, row) for row in self.filled_rows(values)]
        return checked(self.schema, tree)

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

    def _row(self, values: Mapping[str, str], row: int) -> dict[str, object]:
        """Return one row; one whose owner is not named is called after its place."""
        assert self._rows is not None, "a form without rows"
        group, owner, _ = self._rows
        fields: dict[str, object] = {owner: f"#{row + 1}"}
        for name, text in values.items():
            leaf = self._leaf(name)
            if leaf is not None and name.startswith(f"{group}.{row}.") and text.strip():
                fields[leaf.path.rpartition(".")[2]] = leaf.read(text)
        return fields

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
        if path is None or self._leaves[self._names[path]].kind != "percent":
            return error
        limits = {
            name: 100.0 * value if isinstance(value, int | float) and not isinstance(value, bool) else value
            for name, value in message.values.items()
        }
        return FieldError(self._names[path], Message(message.template, limits))
