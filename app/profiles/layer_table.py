"""Layer tables in CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TypeVar

from app.engine.operators.layers import (
    GATES,
    attention_layer,
    convolution_layer,
    dense_layer,
    embedding_bag,
    pointwise_layer,
    recurrent_layer,
)
from app.engine.operators.table import Operator, Pointwise
from app.errors import AppError, BadInput, FieldError, Message, Unprocessable
from app.profiles.architectures.common import LAUNCH_SHARE
from app.profiles.bodies import OperatorBody
from app.profiles.documents import as_text, flag, number, printable, unreadable, whole
from app.profiles.model import ModelProfile

MOST_ROWS = 10_000
MOST_PRODUCT = 1e21
"""Largest product of dimensions in one row; beyond it no machine exists."""
POINTWISE = {kind.name.lower(): kind for kind in Pointwise if kind <= Pointwise.ELEMENTWISE}
"""Values of the column ``op`` of norms and elementwise rows; later kinds belong to single programs."""
Number = TypeVar("Number", int, float)


class LayerRow:
    """One row of a table; fields without a default are required, and errors name the row and the column."""

    def __init__(self, values: Mapping[str, object], where: str) -> None:
        self.values = values
        self.where = where

    def whole(self, name: str, default: int | None = None, *, least: int = 1) -> int:
        value = whole(self.values, name, where=self.where, least=least)
        return self._given(name, default if value is None else value)

    def number(self, name: str, default: float | None = None) -> float:
        value = number(self.values, name, where=self.where)
        return self._given(name, default if value is None else value)

    def _given(self, name: str, value: Number | None) -> Number:
        if value is None:
            raise Unprocessable.at(f"{self.where}.{name}", "{field} is required for this kind", field=name)
        return value

    def flag(self, name: str, default: bool) -> bool:
        return flag(self.values, name, default, where=self.where)

    def choice(self, name: str, accepted: Iterable[str], default: str) -> str:
        value = self.values.get(name)
        if value is None:
            return default
        if value not in (names := sorted(accepted)):
            raise Unprocessable.at(
                f"{self.where}.{name}",
                "{field} is {value}; accepted: {known}",
                field=name,
                value=as_text(value),
                known=", ".join(names),
            )
        return str(value)


def _gemm(name: str, row: LayerRow) -> list[Operator]:
    inner, columns = row.whole("inner"), row.whole("columns")
    rows, batch = row.number("rows", 1.0), row.number("batch", 1.0)
    default = float(inner * columns + (columns if row.flag("bias", True) else 0))
    weights, saved = row.number("parameters", default), rows * inner * batch
    return [dense_layer(name, inner, columns, rows, batch=batch, weights=weights, saved=saved)]


def _convolution(name: str, row: LayerRow) -> list[Operator]:
    channels_in = row.whole("channels_in")
    depthwise = row.values.get("kind") == "depthwise"
    channels_out = row.whole("channels_out", channels_in if depthwise else None)
    groups = row.whole("groups", channels_in if depthwise else 1)
    for field, channels in (("channels_in", channels_in), ("channels_out", channels_out)):
        if channels % groups:
            raise BadInput.at(
                f"{row.where}.{field}",
                "{field} ({channels}) must be a multiple of groups ({groups})",
                field=field,
                channels=channels,
                groups=groups,
            )
    height = row.whole("height")
    width, kernel, stride = row.whole("width", height), row.whole("kernel", 3), row.whole("stride", 1)
    depth = row.whole("depth", 1)
    operators = convolution_layer(
        name,
        channels_in,
        channels_out,
        (height, width, depth) if depth > 1 else (height, width),
        kernel=kernel,
        stride=stride,
        groups=groups,
        norm=POINTWISE[row.choice("norm", ("batch_norm", "group_norm", "layer_norm", "none"), "none")],
        activation=POINTWISE[row.choice("activation", ("relu", "swish", "gelu", "none"), "none")],
        bias=row.flag("bias", False),
        first=row.flag("first", False),
    )
    operators[0] = replace(operators[0], weights=row.number("parameters", operators[0].weights))
    return operators


def _pointwise(name: str, row: LayerRow) -> list[Operator]:
    norm = row.values.get("kind") == "norm"
    word = row.choice("op", POINTWISE, "layer_norm" if norm else "elementwise")
    elements = row.number("elements")
    weights = row.number("parameters", 2.0 * row.whole("channels", 0, least=0) if norm else 0.0)
    saved = elements if norm else 0.0
    return [pointwise_layer(name, POINTWISE[word], elements, weights=weights, saved=saved)]


def _attention(name: str, row: LayerRow) -> list[Operator]:
    rows = row.number("rows")
    heads, keys, inner = float(row.whole("heads")), row.number("keys", rows), float(row.whole("inner"))
    half = 0.5 if row.flag("causal", False) else 1.0
    return [attention_layer(name, heads, rows, keys, inner, causal=half, layer_launches=LAUNCH_SHARE)]


def _embedding(name: str, row: LayerRow) -> list[Operator]:
    return [embedding_bag(name, row.number("entries"), row.whole("columns"), row.number("rows", 1.0))]


def _recurrent(name: str, row: LayerRow) -> list[Operator]:
    return recurrent_layer(
        name,
        row.choice("cell", GATES, "lstm"),
        row.whole("inner"),
        row.whole("hidden"),
        row.number("steps"),
        directions=row.whole("directions", 1),
    )


KINDS: dict[str, tuple[Callable[[str, LayerRow], list[Operator]], frozenset[str]]] = {
    "gemm": (_gemm, frozenset(("rows", "inner", "columns", "batch", "bias", "parameters"))),
    "conv": (
        _convolution,
        frozenset(
            ("channels_in", "channels_out", "height", "width", "kernel", "stride", "groups", "depth", "norm",
             "activation", "bias", "first", "parameters")
        ),
    ),
    "norm": (_pointwise, frozenset(("elements", "op", "channels", "parameters"))),
    "elementwise": (_pointwise, frozenset(("elements", "op", "parameters"))),
    "attention": (_attention, frozenset(("rows", "keys", "inner", "heads", "causal"))),
    "embedding": (_embedding, frozenset(("entries", "columns", "rows"))),
    "rnn": (_recurrent, frozenset(("cell", "inner", "hidden", "steps", "directions"))),
}  # fmt: skip

KINDS["depthwise"] = KINDS["conv"]
"""Builder and columns of each kind, beside ``name``, ``kind`` and ``count``."""


def layers_profile(
    layers: object, *, name: str = "layer table", where: str = "model.layers", lines: list[int] | None = None
) -> ModelProfile:
    if not isinstance(layers, list):
        raise Unprocessable.at(where, "layers must be a list of objects, not {value}", value=as_text(layers))
    if not 1 <= len(layers) <= MOST_ROWS:
        raise BadInput.at(
            where, "a layer table must have 1 to {most} rows, not {rows}", most=MOST_ROWS, rows=len(layers)
        )
    operators: list[Operator] = []
    for index, layer in enumerate(layers):
        path = f"{where}[{index}]"
        try:
            operators += _layer(layer, index, path)
        except AppError as error:
            if lines is None:
                raise
            raise _at_line(error, name, lines[index]) from error
    return ModelProfile(
        id="layers",
        name=printable(name, 80),
        family="custom",
        origin="layers",
        body=OperatorBody(tuple(operators)),
        assumptions=(
            Message("operators are counted at the sizes of the table and do not change with other sizes"),
        ),
    )


def _layer(layer: object, index: int, path: str) -> list[Operator]:
    if not isinstance(layer, Mapping):
        raise Unprocessable.at(path, "a layer must be an object, not {value}", value=as_text(layer))
    kind = layer.get("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        raise Unprocessable.at(
            f"{path}.kind", "kind is {value}; accepted: {known}", value=as_text(kind), known=", ".join(KINDS)
        )
    build, fields_known = KINDS[kind]
    for field in layer:
        if field not in fields_known and field not in {"name", "kind", "count"}:
            raise Unprocessable.at(
                f"{path}.{printable(str(field))}",
                "{field} is not a column of a {kind} row; accepted: {known}",
                field=as_text(field),
                kind=kind,
                known=", ".join(("name", "kind", "count", *sorted(fields_known))),
            )
    row = LayerRow(layer, path)
    title = layer.get("name")
    label = printable(title, 80) if isinstance(title, str) and title else f"{kind}_{index + 1}"
    count = row.number("count", 1.0)
    operators = build(label, row)
    for operator in operators:
        size = operator.rows * operator.inner * operator.columns * operator.batch * operator.steps
        if max(size, operator.elements, operator.weights, operator.squared) * count > MOST_PRODUCT:
            raise BadInput.at(
                path, "the dimensions of {layer} multiply to more than any machine can run", layer=label
            )
    return [replace(operator, count=count) for operator in operators]


def _at_line(error: AppError, file: str, line: int) -> AppError:
    message = Message("{file}, line {line}: {reason}", {"file": file, "line": line, "reason": error.message})
    return type(error)(message, [FieldError("file", message)])


def read_layer_csv(name: str, text: str) -> ModelProfile:
    """Return the profile of a layer table in CSV with a header row."""
    layers: list[dict[str, object]] = []
    lines: list[int] = []
    reader = csv.reader(io.StringIO(text, newline=""), dialect=_dialect(text), strict=True)
    try:
        header = [cell.strip().lower() for cell in next(reader, [])]
        if "kind" not in header:
            raise unreadable(
                "{file}, line 1: a layer table needs a column named kind; the first row must "
                "name the columns",
                file=name,
            )
        for cells in reader:
            if not any(cell.strip() for cell in cells):
                continue
            if len(cells) > len(header):
                raise unreadable(
                    "{file}, line {line}: {cells} cells for {columns} columns",
                    file=name, line=reader.line_num, cells=len(cells), columns=len(header),
                )  # fmt: skip
            if len(layers) == MOST_ROWS:
                raise unreadable("{file} has more than {most} rows", file=name, most=MOST_ROWS)
            pairs = zip(header, cells, strict=False)
            layers.append({field: _cell(cell) for field, cell in pairs if field and cell.strip()})
            lines.append(reader.line_num)
    except csv.Error as error:
        raise unreadable(
            "{file}, line {line}: the CSV cannot be read: {reason}",
            file=name,
            line=reader.line_num,
            reason=str(error),
        ) from error
    if not layers:
        raise unreadable("{file} has no rows below the header", file=name)
    return layers_profile(layers, name=name, lines=lines)


def _dialect(text: str) -> type[csv.Dialect]:
    first = text.split("\n", 1)[0]
    separator = max(",;\t", key=first.count)
    return {";": _Semicolons, "\t": csv.excel_tab}.get(separator, csv.excel)


class _Semicolons(csv.excel):
    delimiter = ";"


def _cell(cell: str) -> object:
    word = cell.strip()
    if word.lower() in {"true", "yes"}:
        return True
    if word.lower() in {"false", "no"}:
        return False
    try:
        return int(word) if word.lstrip("+-").isdigit() and len(word) < 20 else float(word)
    except ValueError:
        return word
