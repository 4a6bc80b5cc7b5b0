"""Recommendation models: DLRM and neural collaborative filtering.

References
----------
.. [1] M. Naumov et al., "Deep learning recommendation model for personalization and
   recommendation systems," arXiv:1906.00091, 2019; dimensions of MLPerf training 0.7 to 2.1.
.. [2] R. Wang et al., "DCN V2: improved deep & cross network," WWW, 2021; dimensions of mlcommons/training,
   recommendation_v2/torchrec_dlrm (MLPerf training 3.0 on).
.. [3] X. He et al., "Neural collaborative filtering," WWW, 2017; dimensions of NVIDIA
   DeepLearningExamples, PyTorch/Recommendation/NCF.
"""

from __future__ import annotations

from itertools import pairwise

from app.engine.operators.layers import dense_layer, embedding_bag, pointwise_layer
from app.engine.operators.table import Operator, OperatorTable, Pointwise
from app.engine.records import Tokens
from app.profiles.architectures.common import head_loss

CRITEO = (
    39884406, 39043, 17289, 7420, 20263, 3, 7120, 1543, 63, 38532951, 2953546, 403346, 10, 2208, 11938, 155,
    4, 976, 14, 39979771, 25641295, 39664984, 585935, 12972, 108, 36,
)  # fmt: skip
"""Entries of the 26 tables of Criteo's terabyte of clicks, cut at 40 million."""

CRITEO_MULTI_HOT = (
    40000000, 39060, 17295, 7424, 20265, 3, 7122, 1543, 63, 40000000, 3067956, 405282, 10, 2209, 11938, 155,
    4, 976, 14, 40000000, 40000000, 40000000, 590152, 12973, 108, 36,
)  # fmt: skip
"""Entries of the tables of the multi-hot variant."""

HOT = (3, 2, 1, 2, 6, 1, 1, 1, 1, 7, 3, 8, 1, 6, 9, 5, 1, 1, 1, 12, 100, 27, 10, 3, 1, 1)
"""Rows of each table that one sample of the multi-hot variant looks up."""
DENSE_FEATURES = 13
"""Numbers beside the categories in each of Criteo's samples."""


def _perceptron(name: str, widths: list[int], *, last_activation: bool = True) -> list[Operator]:
    """Return dense layers with bias and ReLU between them."""
    operators: list[Operator] = []
    for index, (inputs, outputs) in enumerate(pairwise(widths), start=1):
        operators.append(dense_layer(f"{name}{index}", inputs, outputs))
        if last_activation or index < len(widths) - 1:
            operators.append(pointwise_layer(f"{name}{index}_relu", Pointwise.BIAS, float(outputs)))
    return operators


def build_dlrm(
    tokens: Tokens | None,
    image_size: int | None,
    *,
    width: int = 128,
    bottom: str = "512-256-128",
    top: str = "1024-1024-512-256-1",
) -> OperatorTable:
    """Return the operators of DLRM on Criteo's terabyte.

    >>> round(build_dlrm(None, None).parameters / 1e9, 1)
    24.0
    """
    tables = [
        embedding_bag(f"table{index}", float(entries), width, 1.0)
        for index, entries in enumerate(CRITEO, start=1)
    ]
    vectors = len(CRITEO) + 1
    pairs = vectors * (vectors - 1) // 2
    interaction = dense_layer("interaction", width, vectors, float(vectors), weights=0.0)
    operators = [
        *tables,
        *_perceptron("bottom", [DENSE_FEATURES, *map(int, bottom.split("-"))]),
        interaction,
        *_perceptron("top", [width + pairs, *map(int, top.split("-"))], last_activation=False),
        head_loss(1.0, "loss"),
    ]
    return OperatorTable.of(operators, depth=1, hidden=float(width + pairs), tokens=1.0)


def build_dcn(
    tokens: Tokens | None,
    image_size: int | None,
    *,
    width: int = 128,
    bottom: str = "512-256-128",
    top: str = "1024-1024-512-256-1",
    crosses: int = 3,
    rank: int = 512,
) -> OperatorTable:
    """Return the operators of DLRM with a cross network of low rank on the multi-hot variant of Criteo.

    Each cross squeezes all vectors into ``rank`` elements, spreads them, multiplies them with the input and
    adds what it got. Beside the tables there are 16 million weights:

    >>> table = build_dcn(None, None)
    >>> dense = table.parameters - 128 * sum(CRITEO_MULTI_HOT)
    >>> round(table.parameters / 1e9, 1), round(dense / 1e6, 1)
    (26.2, 16.0)
    """
    tables = [
        embedding_bag(f"table{index}", float(entries), width, float(hot))
        for index, (entries, hot) in enumerate(zip(CRITEO_MULTI_HOT, HOT, strict=True), start=1)
    ]
    joined = width * (len(HOT) + 1)
    cross = [
        dense_layer("cross_in", joined, rank, bias=False, count=float(crosses), tensors=1.0),
        dense_layer("cross_out", rank, joined, count=float(crosses)),
        pointwise_layer("cross_product", Pointwise.GATED, float(joined), count=float(crosses)),
    ]
    operators = [
        *tables,
        *_perceptron("bottom", [DENSE_FEATURES, *map(int, bottom.split("-"))]),
        pointwise_layer("joined", Pointwise.COPY, float(joined)),
        *cross,
        *_perceptron("top", [joined, *map(int, top.split("-"))], last_activation=False),
        head_loss(1.0, "loss"),
    ]
    return OperatorTable.of(operators, depth=1, hidden=float(joined), tokens=1.0)


def build_ncf(
    tokens: Tokens | None,
    image_size: int | None,
    *,
    users: int = 138_493,
    items: int = 26_744,
    factors: int = 64,
    layers: str = "256-256-128-64",
) -> OperatorTable:
    """Return the operators of neural collaborative filtering on MovieLens 20M.

    >>> round(build_ncf(None, None).parameters / 1e6, 1)
    31.8
    """
    widths = [int(width) for width in layers.split("-")]
    # The tables are small: every device holds them all and updates them densely.
    tables = [
        embedding_bag(f"{side}_{part}", float(entries), width, 1.0, sparse=False)
        for side, entries in (("users", users), ("items", items))
        for part, width in (("factors", factors), ("layers", widths[0] // 2))
    ]
    dropped = [
        pointwise_layer(f"layer{rank}_dropout", Pointwise.ELEMENTWISE, float(width))
        for rank, width in enumerate(widths[1:], start=1)
    ]
    joined = float(widths[0] + factors + widths[-1])
    operators = [
        *tables,
        pointwise_layer("joined", Pointwise.COPY, joined),
        *_perceptron("layer", widths),
        *dropped,
        pointwise_layer("product", Pointwise.ELEMENTWISE, float(factors)),
        dense_layer("prediction", factors + widths[-1], 1),
        head_loss(1.0, "loss"),
    ]
    return OperatorTable.of(operators, depth=1, hidden=float(widths[0]), tokens=1.0)
