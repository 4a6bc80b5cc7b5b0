"""Graph networks over sampled neighbours: relational graph attention, as MLPerf trains it since v4.0.

References
----------
.. [1] P. Veličković et al., "Graph attention networks," ICLR, 2018.
.. [2] D. Busbridge et al., "Relational graph attention networks," arXiv:1904.05811, 2019; dimensions of
   mlcommons/training, graph_neural_network (fan-out, width, heads, layers, classes).
.. [3] A. Khatua et al., "IGB: addressing the gaps in labeling, features, heterogeneity, and size of public
   graph datasets for deep learning research," KDD, 2023 (nodes and edges of IGBH-Full).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence

from app.engine.operators.layers import dense_layer, pointwise_layer
from app.engine.operators.table import Kind, Operator, OperatorTable, Pointwise, Section
from app.engine.records import Tokens
from app.profiles.architectures.common import head_loss

NODES = {
    "paper": 269_346_174,
    "author": 277_220_883,
    "institute": 26_918,
    "field": 712_960,
    "journal": 48_820,
    "conference": 4_547,
}
"""Nodes of IGBH-Full by kind."""

EDGES = {
    ("paper", "paper"): 3_996_442_004,
    ("author", "paper"): 716_761_549,
    ("field", "paper"): 1_050_280_600,
    ("institute", "author"): 48_521_486,
    ("journal", "paper"): 107_738_470,
    ("conference", "paper"): 5_386_923,
}
"""Edges of IGBH-Full by the kinds of their ends. Journals and conferences are an estimate: four papers of ten
have a journal and two of a hundred a conference."""


def relations() -> dict[tuple[str, str], float]:
    """Return the mean number of neighbours by the neighbour's and the node's kind, in both directions."""
    edges_of = {}
    for (source, target), edges in EDGES.items():
        edges_of[source, target] = edges / NODES[target]
        edges_of[target, source] = edges / NODES[source]
    return edges_of


def sampled(neighbours: float, fan_out: float) -> float:
    r"""Return the neighbours sampled of a node that has so many in the mean, at most ``fan_out``.

    The number of neighbours is taken to be spread exponentially, so that

    .. math:: E[\min(X, f)] = d \left(1 - e^{-f / d}\right)

    >>> round(sampled(14.8, 15), 1), round(sampled(0.2, 10), 1), round(sampled(1500, 5), 1)
    (9.4, 0.2, 5.0)
    """
    return neighbours * (1.0 - math.exp(-fan_out / neighbours))


def hops(fan_outs: Sequence[float]) -> tuple[list[dict[str, float]], list[dict[tuple[str, str], float]]]:
    """Return the nodes that each hop from one paper adds by kind, and the edges it follows by relation."""
    frontiers: list[dict[str, float]] = [{"paper": 1.0}]
    edges: list[dict[tuple[str, str], float]] = []
    for fan_out in fan_outs:
        followed = {
            (source, target): frontiers[-1][target] * sampled(mean, fan_out)
            for (source, target), mean in relations().items()
            if target in frontiers[-1]
        }
        reached: dict[str, float] = defaultdict(float)
        for (source, _), count in followed.items():
            reached[source] += count
        frontiers.append(dict(reached))
        edges.append(followed)
    return frontiers, edges


def _total(parts: Sequence[Mapping[str, float]], key: str) -> float:
    return sum(part.get(key, 0.0) for part in parts)


def build_rgat(
    tokens: Tokens | None,
    image_size: int | None,
    *,
    fan_outs: str = "15-10-5",
    features: int = 1024,
    hidden: int = 512,
    heads: int = 4,
    classes: int = 2983,
) -> OperatorTable:
    """Return the operators of relational graph attention for one paper of IGBH-Full and its neighbours.

    The first layer works on all nodes that were sampled, each further one on those of a hop less. Every
    relation projects the nodes at both its ends, scores its edges and sums what comes along them. Nodes
    that several papers of a batch share are counted for each.

    >>> table = build_rgat(None, None)
    >>> round(table.parameters / 1e6, 1), round(float(sum(table.forward_flop)) / 1e9, 1)
    (13.1, 6.8)
    """
    fans = [float(part) for part in fan_outs.split("-")]
    frontiers, edges = hops(fans)
    reached = sum(_total(frontiers, kind) for kind in NODES)
    operators: list[Operator] = [
        Operator(
            name="features",
            kind=Kind.EMBEDDING,
            section=Section.EMBEDDING,
            rows=reached,
            columns=float(features),
            elements=reached * features,
            input_gradient=False,
        )
    ]
    for layer in range(len(fans)):
        inputs = hidden if layer else features
        depth = len(fans) - layer
        inside = frontiers[:depth]
        for relation in relations():
            source, target = relation
            along = sum(followed.get(relation, 0.0) for followed in edges[:depth])
            ends = _total(frontiers[: depth + 1], source) + _total(inside, target)
            name = f"layer{layer + 1}_{source}_{target}"
            projected = dense_layer(
                name,
                inputs,
                hidden,
                ends if along else 0.0,
                weights=float(inputs * hidden + 3 * hidden),
                input_gradient=layer > 0,
                tensors=4.0,
            )
            messages = along * hidden
            operators += [
                projected,
                pointwise_layer(f"{name}_scores", Pointwise.ELEMENTWISE, along * heads, saved=along * heads),
                pointwise_layer(f"{name}_messages", Pointwise.ELEMENTWISE, messages, saved=messages),
            ]
        nodes = sum(_total(inside, kind) for kind in NODES)
        operators.append(
            pointwise_layer(f"layer{layer + 1}_activation", Pointwise.BIASED_RELU, nodes * hidden)
        )
    operators += [dense_layer("classes", hidden, classes, section=Section.HEAD), head_loss(float(classes))]
    return OperatorTable.of(operators, depth=1, hidden=float(hidden), tokens=1.0)
