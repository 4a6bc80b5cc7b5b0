"""Layer tables in CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from app.engine.operators.convolution import convolution_layer, pointwise_layer
from app.engine.operators.recurrent import GATES, embedding_bag, recurrent_layer
from app.engine.operators.table import Kind, Operator, Pointwise
from app.errors import AppError, BadInput, FieldError, Message, Unprocessable
from app.profiles.bodies import OperatorBody
from app.profiles.documents import flag, number, printable, shown, unreadable, whole
from app.profiles.model import ModelProfile
from app.profiles.rows import attention

MOST_ROWS = 10_000

MOST_PRODUCT = 1e21
"""Largest product of dimensions in one row; beyond it no machine exists."""

POINTWISE = {
    "layer_norm": Pointwise.LAYER_NORM,
    "batch_norm": Pointwise.BATCH_NORM,
    "group_norm": Pointwise.GROUP_NORM,
    "relu": Pointwise.RELU,
    "swish": Pointwise.SWISH,
    "gelu": Pointwise.GELU,
    "gated": Pointwise.GATED,
    "residual": Pointwise.RESIDUAL,
    "add": Pointwise.ADD,
    "max_pool": Pointwise.MAX_POOL,
    "average_pool": Pointwise.AVERAGE_POOL,
    "squeeze_excite": Pointwise.SQUEEZE_EXCITE,
    "rotary": Pointwise.ROTARY,
    "bias": Pointwise.BIAS,
    "heads": Pointwise.HEADS,
    "cross_entropy": Pointwise.CROSS_ENTROPY,
    "elementwise": Pointwise.ELEMENTWISE,
    "none": Pointwise.NONE,
}
"""What the column ``op`` may say of norms and elementwise rows."""


class LayerRow:
    """One row of a table; errors name the row and the column."""

    def __init__(self, values: Mapping[str, object], where: str) -> None:
        self.values = values
        self.where = where

    def whole(self, name: str, default: int | None = None, *, least: int = 1) -> int:
        """Return a whole number; without a default it must be given."""
        value = whole(self.values, name, where=self.where, least=least)
        if value is None:
            value = default
        if value is None:
            raise Unprocessable.at(f"{self.where}.{name}", "{field} is required for this kind", field=name)
        return value

    def number(self, name: str, default: float | None = None) -> float:
        """Return a number; without a default it must be given."""
        value = number(self.values, name, where=self.where)
        if value is None:
            value = default
        if value is None:
            raise Unprocessable.at(f"{self.where}.{name}", "{field} is required for this kind", field=name)
        return value

    def flag(self, name: str, default: bool) -> bool:
        """Return a yes or no."""
        return flag(self.values, name, default, where=self.where)

    def choice(self, name: str, known: Iterable[str], default: str) -> str:
        """Return one of a few words."""
        value = self.values.get(name)
        if value is None:
            return default
        if value not in (names := sorted(known)):
            raise Unprocessable.at(
                f"{self.where}.{name}",
                "{field} is {value}; accepted: {known}",
                field=name,
                value=shown(value),
                known=", ".join(names),
            )
        return str(value)


def _gemm(name: str, row: LayerRow) -> list[Operator]:
    inner, columns = row.whole("inner"), row.whole("columns")
    rows, batch = row.number("rows", 1.0), row.number("batch", 1.0)
    default = float(inner * columns + (columns if row.flag("bias", True) else 0))
    return [
        Operator(
            name=name,
            kind=Kind.MATMUL,
            rows=rows,
            inner=float(inner),
            columns=float(columns),
            batch=batch,
            weights=row.number("parameters", default),
            saved=rows * inner * batch,
            aligned=False,
            convolution_launches=0.5,
        )
    ]


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
    operators = convolution_layer(
        name=name,
        channels_in=channels_in,
        channels_out=channels_out,
        height=height,
        width=row.whole("width", height),
        kernel=row.whole("kernel", 3),
        stride=row.whole("stride", 1),
        groups=groups,
        depth=row.whole("depth", 1),
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
    operator = pointwise_layer(
        name=name,
        pointwise=POINTWISE[word],
        elements=row.number("elements"),
        weights=row.number("parameters", 2.0 * row.whole("channels", 0, least=0) if norm else 0.0),
    )
    return [replace(operator, saved=operator.elements) if norm else operator]


def _attention(name: str, row: LayerRow) -> list[Operator]:
    rows = row.number("rows")
    operator = attention(
        name, float(row.whole("heads")), rows, row.number("keys", rows), float(row.whole("inner"))
    )
    half = 0.5 if row.flag("causal", False) else 1.0
    return [replace(operator, causal=half, layer_launches=1 / 11)]


def _embedding(name: str, row: LayerRow) -> list[Operator]:
    return [
        embedding_bag(
            name=name,
            entries=row.number("entries"),
            width=row.whole("columns"),
            lookups=row.number("rows", 1.0),
        )
    ]


def _recurrent(name: str, row: LayerRow) -> list[Operator]:
    return recurrent_layer(
        name=name,
        cell=row.choice("cell", GATES, "lstm"),
        inputs=row.whole("inner"),
        hidden=row.whole("hidden"),
        steps=row.number("steps"),
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
"""What each kind reads beside ``name``, ``kind`` and ``count``."""


def layers_profile(
    layers: object, *, name: str = "layer table", where: str = "model.layers", lines: list[int] | None = None
) -> ModelProfile:
    """Return the profile of a list of layers."""
    if not isinstance(layers, list):
        raise Unprocessable.at(where, "layers must be a list of objects, not {value}", value=shown(layers))
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
        raise Unprocessable.at(path, "a layer must be an object, not {value}", value=shown(layer))
    kind = layer.get("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        raise Unprocessable.at(
            f"{path}.kind", "kind is {value}; accepted: {known}", value=shown(kind), known=", ".join(KINDS)
        )
    build, known = KINDS[kind]
    for field in layer:
        if field not in known and field not in {"name", "kind", "count"}:
            raise Unprocessable.at(
                f"{path}.{printable(str(field))}",
                "{field} is not a column of a {kind} row; accepted: {known}",
                field=shown(field),
                kind=kind,
                known=", ".join(("name", "kind", "count", *sorted(known))),
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
    """Return the profile of a layer table in CSV, whose first row names the columns."""
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
