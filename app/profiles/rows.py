"""Operators as files list them: attention as one row, equal rows together."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from app.engine.operators.table import Kind, Operator


def attention(name: str, heads: float, rows: float, keys: float, inner: float) -> Operator:
    """Return one attention operator over ``rows`` queries and ``keys`` keys."""
    squared = rows * keys
    return Operator(
        name=name,
        kind=Kind.ATTENTION,
        rows=rows,
        inner=inner,
        columns=keys,
        batch=heads,
        squared=squared,
        saved=heads * inner * (rows + 2 * keys) + 2 * heads * squared,
        masks=heads * squared,
    )


def merge_equal(operators: list[Operator]) -> list[Operator]:
    """Return one row for equal operators, with the sum of their counts, in order of appearance."""
    counts: Counter[Operator] = Counter()
    named: dict[Operator, str] = {}
    for operator in operators:
        key = replace(operator, name="", count=1.0)
        counts[key] += int(operator.count)
        named.setdefault(key, operator.name)
    return [replace(key, name=named[key], count=float(count)) for key, count in counts.items()]
