"""The body of a profile: a transformer's shape, a published architecture, operators, or a bare figure.

Each body is hashable, so that its operator table is built once per length and image size.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields, replace
from functools import lru_cache
from typing import TypeAlias

from app.engine.operators.table import Kind, Operator, OperatorTable, Pointwise, Section, Split
from app.engine.operators.transformer import Stack, TransformerShape, transformer_operators
from app.engine.records import Tokens
from app.errors import BadInput
from app.profiles.architectures import build_architecture

Option: TypeAlias = int | float | str | bool


@dataclass(frozen=True, slots=True)
class TransformerBody:
    """A transformer by its dimensions; ``shape.target_tokens`` belongs to ``default_seq_len``."""

    shape: TransformerShape
    patch: int = 0
    """Side of one image patch, where the input is an image."""


@dataclass(frozen=True, slots=True)
class ArchitectureBody:
    """A published architecture that code in :mod:`app.profiles.architectures` writes out."""

    name: str
    options: tuple[tuple[str, Option], ...] = ()


@dataclass(frozen=True, slots=True)
class OperatorBody:
    """Operators listed by an upload, at the size the file was written for."""

    operators: tuple[Operator, ...]
    depth: int = 1
    hidden: float = 0.0
    tokens: float = 1.0
    heads: float = 0.0

    def __hash__(self) -> int:
        # Long lists are looked up often: equality still compares every operator.
        return hash((len(self.operators), self.depth, self.hidden, self.operators[:1]))


@dataclass(frozen=True, slots=True)
class FigureBody:
    total_flop: float


Body: TypeAlias = TransformerBody | ArchitectureBody | OperatorBody | FigureBody


def merge_equal(operators: list[Operator]) -> list[Operator]:
    """Return equal operators as one row with the sum of their counts, in order of appearance."""
    counts: Counter[Operator] = Counter()
    names: dict[Operator, str] = {}
    for operator in operators:
        key = replace(operator, name="", count=1.0)
        counts[key] += int(operator.count)
        names.setdefault(key, operator.name)
    return [replace(key, name=names[key], count=float(count)) for key, count in counts.items()]


def patch_shape(body: TransformerBody, image_size: int) -> tuple[TransformerShape, Tokens]:
    """Return the shape and the lengths of an image transformer at one image size.

    A square image of side *n* has (n / patch)² patches and one class token, which
    ``segments = 1`` counts; learned positions follow the number of patches.
    """
    if image_size < body.patch:
        raise BadInput.at(
            "workload.image_size",
            "an image of {image_size} × {image_size} pixels is smaller than one patch of {patch} × {patch}",
            image_size=image_size,
            patch=body.patch,
        )
    tokens = float((image_size // body.patch) ** 2 + body.shape.segments)
    shape = replace(body.shape, positions=int(tokens)) if body.shape.positions else body.shape
    return shape, Tokens(rows=tokens, mean=tokens, squared=tokens * tokens, scored=1.0)


def scaled_target(shape: TransformerShape, rows: float, default_rows: float) -> TransformerShape:
    """Return an encoder-decoder with its target length scaled by its input length."""
    if not shape.target_tokens or rows == default_rows or not default_rows:
        return shape
    return replace(shape, target_tokens=shape.target_tokens * rows / default_rows)


def operator_table(
    body: Body, tokens: Tokens | None, image_size: int | None, default_rows: float
) -> OperatorTable:
    """Return the operators of a model at one length and image size; cached."""
    large = isinstance(body, OperatorBody) and len(body.operators) > LARGE
    return (_large_table if large else _table)(body, tokens, image_size, default_rows)


def _built(body: Body, tokens: Tokens | None, image_size: int | None, default_rows: float) -> OperatorTable:
    match body:
        case TransformerBody(shape=shape, patch=patch):
            if patch and image_size is not None:
                return transformer_operators(*patch_shape(body, image_size))
            if tokens is None:
                raise BadInput.at("workload.seq_len", "this model requires the sample length (seq_len)")
            return transformer_operators(scaled_target(shape, tokens.rows, default_rows), tokens)
        case ArchitectureBody(name=name, options=options):
            return build_architecture(name, dict(options), tokens, image_size)
        case OperatorBody(operators=operators, depth=depth, hidden=hidden, tokens=rows, heads=heads):
            return OperatorTable.of(operators, depth=depth, hidden=hidden, tokens=rows, heads=heads)
        case FigureBody():
            raise BadInput.at(
                "model.total_flop",
                "a bare training compute figure has no operators; use a preset, a config, a "
                "transformer or a layer table for anything beyond simple division",
            )


LARGE = 1_000
"""Operators of a body whose tables are kept for few models only: each takes megabytes."""
_table = lru_cache(maxsize=512)(_built)
_large_table = lru_cache(maxsize=8)(_built)

_ENUMS: Mapping[str, type[Kind] | type[Pointwise] | type[Section] | type[Split]] = {
    "kind": Kind,
    "pointwise": Pointwise,
    "section": Section,
    "split": Split,
    "saved_split": Split,
}


def operator_to_json(operator: Operator) -> dict[str, object]:
    """Return the fields of an operator that differ from their neutral values."""
    document: dict[str, object] = {}
    for entry in fields(Operator):
        value = getattr(operator, entry.name)
        if entry.name in _ENUMS:
            if entry.name == "kind" or value != entry.default:
                document[entry.name] = value.name.lower()
        elif entry.name == "name" or value != entry.default:
            document[entry.name] = value
    return document


def operator_from_json(document: Mapping[str, object]) -> Operator:
    values = dict(document)
    for name, enum in _ENUMS.items():
        if name in values:
            values[name] = enum[str(values[name]).upper()]
    return Operator(**values)  # type: ignore[arg-type]


def shape_to_json(shape: TransformerShape) -> dict[str, object]:
    """Return the dimensions that differ from their neutral values."""
    document: dict[str, object] = {}
    for entry in fields(TransformerShape):
        value = getattr(shape, entry.name)
        if entry.default is MISSING or value != entry.default:
            document[entry.name] = str(value) if isinstance(value, Stack) else value
    return document


def shape_from_json(document: Mapping[str, object]) -> TransformerShape:
    """Return the shape of a stored document; widths left out follow the usual proportions."""
    values: dict[str, object] = dict(document)
    hidden, heads = int(str(values["hidden"])), int(str(values["heads"]))
    values.setdefault("key_heads", heads)
    values.setdefault("head_dimension", hidden // heads)
    values.setdefault("feed_forward", 4 * hidden)
    values["stack"] = Stack(str(values.get("stack", "decoder")))
    return TransformerShape(**values)  # type: ignore[arg-type]
