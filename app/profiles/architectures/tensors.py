"""A network by its weight tensors: what each multiplies, and on how many rows of a sample."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace

from app.engine.operators.layers import norm_layer, pointwise_layer
from app.engine.operators.table import Kind, Operator, OperatorTable, Pointwise, Section, Split
from app.engine.records import Tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorGroup:
    """Equal tensors of a network."""

    name: str
    kind: str
    """product, lookup, vector or attention."""
    inner: float = 0.0
    columns: float = 0.0
    weights: float = 0.0
    """Of one repeat."""
    count: float = 1.0
    rows: str = "tokens"
    """Those of the input, scored ones, those of a target, pixels of an image, or a fixed number."""
    share: float = 1.0
    """Rows of the product for each of them."""
    more: float = 0.0
    """Rows beside those: tokens of a text that an image is joined to."""
    keys: float = 0.0
    """Keys of attention to another sequence; 0 for its own."""
    active: float = 1.0
    batch: float = 1.0
    """Products beside each other: experts."""
    window: float = 0.0
    chunk: float = 1.0
    """Rows come in whole chunks."""
    last: bool = False
    """True behind the last layer."""


def written(parts: Iterable[TensorGroup]) -> str:
    """Return parts as the option of a body."""
    usual = asdict(TensorGroup(name="", kind=""))
    return json.dumps(
        [{name: value for name, value in asdict(part).items() if value != usual[name]} for part in parts]
    )


def build_tensors(
    tokens: Tokens | None,
    image_size: int | None,
    *,
    parts: str,
    depth: int,
    hidden: int,
    heads: int,
    target_share: float = 1.0,
) -> OperatorTable:
    """Return the operators of a network by its tensors.

    A product of w weights costs 2 w a row; of E experts a row meets k. A product of 4 by 8 on three tokens:

    >>> table = build_tensors(Tokens(rows=3, mean=3, squared=9, scored=3), None, depth=1, hidden=4, heads=1,
    ...     parts='[{"name": "up", "kind": "product", "inner": 4, "columns": 8, "weights": 32}]')
    >>> float(sum(table.forward_flop)), table.parameters
    (192.0, 32.0)
    """
    # Networks of images or sound alone have no tokens.
    lengths = tokens or Tokens(rows=1.0, mean=1.0, squared=1.0, scored=1.0)
    rows = {
        "tokens": lengths.mean,
        "scored": lengths.scored,
        "target": lengths.mean * target_share,
        "image": float(image_size or 0) ** 2,
        "fixed": 1.0,
    }
    operators: list[Operator] = []
    for values in json.loads(parts):
        part = TensorGroup(**values)
        length = rows[part.rows] * part.share + part.more
        if part.chunk > 1:
            length = part.chunk * math.ceil(length / part.chunk)
        section = Section.HEAD if part.last else Section.LAYER
        if part.kind == "lookup":
            operators.append(
                Operator(
                    name=part.name,
                    kind=Kind.EMBEDDING,
                    section=Section.EMBEDDING,
                    count=part.count,
                    rows=length,
                    columns=part.columns,
                    elements=length * part.columns,
                    weights=part.weights,
                    input_gradient=False,
                )
            )
        elif part.kind == "product":
            narrowing = part.columns <= part.inner
            operators.append(
                Operator(
                    name=part.name,
                    kind=Kind.MATMUL,
                    section=section,
                    count=part.count,
                    rows=length * part.active,
                    inner=part.inner,
                    columns=part.columns,
                    batch=part.batch,
                    split=Split.INNER if narrowing and not part.last else Split.COLUMNS,
                    weights=part.weights,
                    tensors=1.0,
                    active=part.active,
                    saved=length * part.active * part.batch * part.inner,
                    saved_split=Split.BATCH if narrowing else Split.SEQUENCE,
                )
            )
            if part.last and part.rows == "scored":
                operators.append(
                    pointwise_layer(
                        "cross_entropy",
                        Pointwise.CROSS_ENTROPY,
                        length * part.columns,
                        section=Section.HEAD,
                        split=Split.COLUMNS,
                        saved=2.0 * length * part.columns,
                        saved_split=Split.COLUMNS,
                    )
                )
        elif part.kind == "attention":
            keys = part.keys or length
            whole = part.rows == "tokens" and part.share == 1.0 and not part.more and not part.keys
            squared = lengths.squared if whole else length * keys
            if 0 < part.window < length:
                squared = length * part.window - 0.5 * part.window**2
            operators.append(
                Operator(
                    name=part.name,
                    kind=Kind.ATTENTION,
                    count=part.count,
                    rows=length,
                    inner=part.inner,
                    columns=keys,
                    batch=part.batch,
                    squared=squared,
                    split=Split.BATCH,
                    saved=2.0 * part.batch * (length * part.inner + squared),
                    masks=part.batch * squared,
                    keys_values=2.0 * keys * part.columns,
                    saved_split=Split.BATCH,
                )
            )
        elif "norm" in part.name:
            operators.append(
                norm_layer(
                    part.name,
                    int(part.weights),
                    length,
                    count=part.count,
                    section=section,
                    split=Split.SEQUENCE,
                    saved_split=Split.SEQUENCE,
                    weights=part.weights,
                    tensors=1.0,
                )
            )
        else:
            operators.append(
                pointwise_layer(
                    part.name,
                    Pointwise.ELEMENTWISE,
                    length * hidden if part.count > 1 else 0.0,
                    count=part.count,
                    weights=part.weights,
                    tensors=1.0,
                )
            )
    layers = [operator for operator in operators if operator.section is Section.LAYER]
    blocks = {operator.name: 1.0 / max(len(layers), 1) for operator in layers}
    return OperatorTable.of(
        [
            operator
            if operator.name not in blocks
            else replace(
                operator, layer_launches=min(depth / max(operator.count, 1.0) * blocks[operator.name], 1.0)
            )
            for operator in operators
        ],
        depth=depth,
        hidden=float(hidden),
        tokens=lengths.mean,
        heads=float(heads),
    )
