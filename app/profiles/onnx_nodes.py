"""The state of a walk over an ONNX graph, and what its steps share."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import onnx

from app.engine.operators.table import Kind, Operator, Pointwise
from app.errors import Message, Unprocessable
from app.profiles.documents import Deadline, printable, unreadable

Shape = tuple[int, ...]

ALIASES = frozenset(("Identity", "Cast", "Reshape", "Squeeze", "Unsqueeze", "Flatten", "Dropout", "Expand"))
"""Nodes that hand their first input on without work of their own."""

FREE = frozenset(
    (
        "Shape",
        "Size",
        "Constant",
        "ConstantOfShape",
        "Range",
        "Slice",
        "Split",
        "NonZero",
        "CastLike",
        "OneHot",
        "EyeLike",
        "Trilu",
        "Compress",
        "ArgMax",
        "ArgMin",
        "TopK",
        "CumSum",
        "RandomNormalLike",
        "Not",
    )
)
"""Nodes whose work is too small, or too far from training, to count."""

MOVES = frozenset(
    (
        "Concat",
        "Pad",
        "Resize",
        "Upsample",
        "Tile",
        "DepthToSpace",
        "SpaceToDepth",
        "Softmax",
        "LogSoftmax",
    )
)
"""Nodes that pass once over their output."""

NORMS = {
    "BatchNormalization": Pointwise.BATCH_NORM,
    "InstanceNormalization": Pointwise.GROUP_NORM,
    "GroupNormalization": Pointwise.GROUP_NORM,
    "LayerNormalization": Pointwise.LAYER_NORM,
    "RMSNormalization": Pointwise.LAYER_NORM,
    "SimplifiedLayerNormalization": Pointwise.LAYER_NORM,
}

POOLS = {
    "MaxPool": Pointwise.MAX_POOL,
    "GlobalMaxPool": Pointwise.MAX_POOL,
    "AveragePool": Pointwise.AVERAGE_POOL,
    "GlobalAveragePool": Pointwise.AVERAGE_POOL,
    "LpPool": Pointwise.AVERAGE_POOL,
}

ELEMENTWISE = frozenset(
    (
        "Add",
        "Sub",
        "Mul",
        "Div",
        "Pow",
        "Sqrt",
        "Reciprocal",
        "Exp",
        "Log",
        "Neg",
        "Abs",
        "Erf",
        "Tanh",
        "Sigmoid",
        "Relu",
        "LeakyRelu",
        "PRelu",
        "Elu",
        "Selu",
        "Celu",
        "Clip",
        "HardSigmoid",
        "HardSwish",
        "Gelu",
        "Mish",
        "Softplus",
        "Softsign",
        "Swish",
        "Where",
        "Equal",
        "Greater",
        "Less",
        "GreaterOrEqual",
        "LessOrEqual",
        "And",
        "Or",
        "Min",
        "Max",
        "Sum",
        "Mean",
        "ReduceMean",
        "ReduceSum",
        "ReduceMax",
        "ReduceMin",
        "ReduceL2",
        "Sin",
        "Cos",
        "Floor",
        "Ceil",
        "Round",
        "Sign",
        "Mod",
        "IsNaN",
        "IsInf",
        "QuickGelu",
        "FastGelu",
        "BiasGelu",
    )
)

ACTIVATIONS = {
    "Erf": Pointwise.GELU,
    "Gelu": Pointwise.GELU,
    "QuickGelu": Pointwise.GELU,
    "FastGelu": Pointwise.GELU,
    "Tanh": Pointwise.GELU,
    "Swish": Pointwise.SWISH,
    "HardSwish": Pointwise.SWISH,
    "Mish": Pointwise.SWISH,
    "Sigmoid": Pointwise.SWISH,
    "Relu": Pointwise.RELU,
    "LeakyRelu": Pointwise.RELU,
    "Clip": Pointwise.RELU,
}


@dataclass(frozen=True, slots=True)
class Graph:
    """A graph whose tensors have known sizes."""

    file: str
    nodes: Sequence[onnx.NodeProto]
    inputs: frozenset[str]
    parameters: Mapping[str, Shape]
    shapes: Mapping[str, Shape]


@dataclass(slots=True)
class KernelChain:
    """Elementwise nodes that run as one kernel."""

    name: str
    elements: int = 0
    weights: int = 0
    types: set[str] = field(default_factory=set)

    def operator(self) -> Operator:
        """Return the chain as one operator."""
        found = {ACTIVATIONS[kind] for kind in self.types & set(ACTIVATIONS)}
        if self.types >= {"ReduceMean", "Sqrt"}:
            pointwise = Pointwise.LAYER_NORM
        elif len(found) == 1:
            pointwise = found.pop()
        elif self.types == {"Add"}:
            pointwise = Pointwise.BIAS if self.weights else Pointwise.ADD
        else:
            pointwise = Pointwise.ELEMENTWISE
        free = pointwise in {Pointwise.RELU, Pointwise.BIAS, Pointwise.ADD}
        return Operator(
            name=self.name,
            kind=Kind.POINTWISE,
            pointwise=pointwise,
            elements=float(self.elements),
            weights=float(self.weights),
            saved=0.0 if free else float(self.elements),
        )


@dataclass(frozen=True, slots=True)
class Scores:
    """The product of queries and keys, on its way through scaling and softmax to the values."""

    operator: Operator
    softmax: bool = False


def row(entry: KernelChain | Scores) -> Operator:
    """Return an entry that is not yet an operator as one."""
    return entry.operator() if isinstance(entry, KernelChain) else entry.operator


def integer(node: onnx.NodeProto, name: str, default: int) -> int:
    """Return a whole-number attribute of a node."""
    return next((attribute.i for attribute in node.attribute if attribute.name == name), default)


def integers(node: onnx.NodeProto, name: str) -> list[int]:
    """Return an attribute of a node that lists whole numbers."""
    return next((list(attribute.ints) for attribute in node.attribute if attribute.name == name), [])


class Walk:
    """Where each tensor comes from, and the operators found so far, in numbers per sample."""

    def __init__(self, graph: Graph, batch: int, deadline: Deadline) -> None:
        self._graph = graph
        self._batch = batch
        self._deadline = deadline
        self._operators: list[Operator | KernelChain | Scores] = []
        self._counted: set[str] = set()
        self._origin: dict[str, str] = {name: name for name in graph.parameters}
        self._chains: dict[str, KernelChain] = {}
        self._scores: dict[str, Scores] = {}
        self._sources: set[str] = set(graph.inputs)
        self._unknown: set[str] = set()

    @property
    def notes(self) -> tuple[Message, ...]:
        """What was assumed on the way."""
        return tuple(
            Message(
                "operator {operator} is unknown; it is counted as one pass", {"operator": printable(kind)}
            )
            for kind in sorted(self._unknown)
        )

    def _hand_on(self, node: onnx.NodeProto) -> None:
        source, target = node.input[0], node.output[0] if node.output else ""
        if source in self._origin:
            self._origin[target] = self._origin[source]
        if source in self._chains:
            self._chains[target] = self._chains[source]
        if source in self._scores:
            self._scores[target] = self._scores[source]
        if source in self._sources:
            self._sources.add(target)

    def _emit(self, operator: Operator) -> None:
        self._operators.append(operator)

    def _parameters(self, names: Sequence[str]) -> int:
        """Return the elements of the weights among ``names`` that no node counted before."""
        total = 0
        for name in names:
            origin = self._origin.get(name)
            if origin is not None and origin not in self._counted:
                self._counted.add(origin)
                total += math.prod(self._graph.parameters[origin])
        return total

    def _shape(self, tensor: str, name: str) -> Shape:
        if tensor not in self._graph.shapes:
            raise unreadable(
                "{file}: the size of {tensor} at node {node} is unknown; export the model with fixed sizes",
                file=self._graph.file,
                tensor=printable(tensor) or "?",
                node=name,
            )
        return self._graph.shapes[tensor]

    def _size(self, tensor: str, name: str) -> int:
        return math.prod(self._shape(tensor, name))

    def _two(self, node: onnx.NodeProto, name: str) -> Shape:
        if len(node.input) < 2 or not node.output:
            raise self._odd(name, node.op_type)
        return self._shape(node.input[1], name)

    def _odd(self, name: str, kind: str) -> Unprocessable:
        return unreadable(
            "{file}: node {node} ({operator}) has inconsistent inputs or attributes",
            file=self._graph.file,
            node=name,
            operator=printable(kind),
        )
