"""Nodes of an ONNX graph as operators.

What a training framework runs as one kernel is counted as one operator: a chain of elementwise
nodes, the steps of a norm or an activation that an exporter took apart, and the products, scaling
and softmax of attention.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import onnx

from app.engine.operators.layers import GATES, attention_layer, pointwise_layer, recurrent_layer
from app.engine.operators.table import Kind, Operator, Pointwise
from app.errors import Message, Unprocessable
from app.profiles.architectures.common import LAUNCH_SHARE
from app.profiles.documents import Deadline, printable, unreadable

Shape = tuple[int, ...]
ALIASES = frozenset((
    "Identity", "Cast", "Reshape", "Squeeze", "Unsqueeze", "Flatten", "Dropout", "Expand",
))  # fmt: skip
"""Nodes that hand their first input on without work of their own."""

FREE = frozenset((
    "Shape", "Size", "Constant", "ConstantOfShape", "Range", "Slice", "Split", "NonZero",
    "CastLike", "OneHot", "EyeLike", "Trilu", "Compress", "ArgMax", "ArgMin", "TopK", "CumSum",
    "RandomNormalLike", "Not",
))  # fmt: skip
"""Nodes whose work is too small, or too far from training, to count."""

MOVES = frozenset((
    "Concat", "Pad", "Resize", "Upsample", "Tile", "DepthToSpace", "SpaceToDepth", "Softmax",
    "LogSoftmax",
))  # fmt: skip
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

ELEMENTWISE = frozenset((
    "Add", "Sub", "Mul", "Div", "Pow", "Sqrt", "Reciprocal", "Exp", "Log", "Neg", "Abs", "Erf",
    "Tanh", "Sigmoid", "Relu", "LeakyRelu", "PRelu", "Elu", "Selu", "Celu", "Clip", "HardSigmoid",
    "HardSwish", "Gelu", "Mish", "Softplus", "Softsign", "Swish", "Where", "Equal", "Greater",
    "Less", "GreaterOrEqual", "LessOrEqual", "And", "Or", "Min", "Max", "Sum", "Mean", "ReduceMean",
    "ReduceSum", "ReduceMax", "ReduceMin", "ReduceL2", "Sin", "Cos", "Floor", "Ceil", "Round",
    "Sign", "Mod", "IsNaN", "IsInf", "QuickGelu", "FastGelu", "BiasGelu",
))  # fmt: skip

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

    def as_operator(self) -> Operator:
        activations = {ACTIVATIONS[kind] for kind in self.types & set(ACTIVATIONS)}
        if self.types >= {"ReduceMean", "Sqrt"}:
            pointwise = Pointwise.LAYER_NORM
        elif len(activations) == 1:
            pointwise = activations.pop()
        elif self.types == {"Add"}:
            pointwise = Pointwise.BIAS if self.weights else Pointwise.ADD
        else:
            pointwise = Pointwise.ELEMENTWISE
        free = pointwise in {Pointwise.RELU, Pointwise.BIAS, Pointwise.ADD}
        elements = float(self.elements)
        return pointwise_layer(
            self.name, pointwise, elements, weights=float(self.weights), saved=0.0 if free else elements
        )


@dataclass(frozen=True, slots=True)
class Scores:
    """The product of queries and keys, until its softmax and the product with the values."""

    operator: Operator
    softmax: bool = False

    def as_operator(self) -> Operator:
        return self.operator


def integer(node: onnx.NodeProto, name: str, default: int) -> int:
    return next((attribute.i for attribute in node.attribute if attribute.name == name), default)


def integers(node: onnx.NodeProto, name: str) -> list[int]:
    return next((list(attribute.ints) for attribute in node.attribute if attribute.name == name), [])


class Converter:
    """Collects the operators of a graph in one pass, in numbers per sample."""

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

    def _parameters(self, names: Sequence[str]) -> int:
        """Return the elements of the weights among ``names`` that were not counted before."""
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

    def _share(self, tensor: str, name: str) -> float:
        """Return the elements of a tensor per sample."""
        return math.prod(self._shape(tensor, name)) / self._batch

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

    def _convolution(self, node: onnx.NodeProto, name: str) -> None:
        weights, result = self._two(node, name), self._shape(node.output[0], name)
        if len(weights) < 3 or len(result) != len(weights):
            raise self._odd(name, "Conv")
        groups = integer(node, "group", 1)
        source = self._shape(node.input[0], name)
        self._operators.append(
            self._convolved(
                node,
                name,
                positions=math.prod(result[2:]) * result[0],
                inner=weights[1] * math.prod(weights[2:]),
                columns=weights[0],
                groups=groups,
                kernel=weights[2:],
                depthwise=groups > 1 and groups == source[1],
                stride=max(integers(node, "strides") or [1]),
            )
        )

    def _transposed(self, node: onnx.NodeProto, name: str) -> None:
        weights, source = self._two(node, name), self._shape(node.input[0], name)
        if len(weights) < 3 or len(source) != len(weights):
            raise self._odd(name, "ConvTranspose")
        groups = integer(node, "group", 1)
        self._operators.append(
            self._convolved(
                node,
                name,
                positions=math.prod(source[2:]) * source[0],
                inner=weights[0] // max(groups, 1),
                columns=weights[1] * groups * math.prod(weights[2:]),
                groups=groups,
                kernel=(1,),
                depthwise=False,
                stride=1,
            )
        )

    def _convolved(
        self,
        node: onnx.NodeProto,
        name: str,
        *,
        positions: int,
        inner: int,
        columns: int,
        groups: int,
        kernel: Shape,
        depthwise: bool,
        stride: int,
    ) -> Operator:
        if groups < 1 or columns % groups or stride < 1:
            raise self._odd(name, node.op_type)
        source = self._share(node.input[0], name)
        return Operator(
            name=name,
            kind=Kind.DEPTHWISE if depthwise else Kind.CONVOLUTION,
            rows=positions / self._batch,
            inner=float(inner),
            columns=columns / groups,
            batch=float(groups),
            kernel_area=float(math.prod(kernel)),
            kernel_width=float(kernel[0]),
            stride=float(stride),
            input_elements=source,
            output_elements=self._share(node.output[0], name),
            weights=float(self._parameters(node.input[1:])),
            saved=source,
            aligned=False,
            input_gradient=node.input[0] not in self._sources,
            convolution_launches=1.0,
        )

    def _gemm(self, node: onnx.NodeProto, name: str) -> None:
        first, second = self._shape(node.input[0], name), self._two(node, name)
        if len(first) != 2 or len(second) != 2:
            raise self._odd(name, "Gemm")
        rows, inner = first[::-1] if integer(node, "transA", 0) else first
        columns = second[0] if integer(node, "transB", 0) else second[1]
        self._operators.append(self._matrix(node, name, rows=rows, inner=inner, columns=columns))

    def _product(self, node: onnx.NodeProto, name: str) -> None:
        first, second = self._shape(node.input[0], name), self._two(node, name)
        if not first or not second:
            raise self._odd(name, "MatMul")
        inner = first[-1]
        columns = second[-1] if len(second) > 1 else 1
        if any(entry in self._origin for entry in node.input[:2]):
            if node.input[0] in self._origin:
                # The weights stand on the left: the other side's columns are the rows.
                rows = math.prod(second[:-2]) * columns
                columns = math.prod(first[:-1])
            else:
                rows = math.prod(first[:-1])
            self._operators.append(self._matrix(node, name, rows=rows, inner=inner, columns=columns))
            return
        scores = self._scores.get(node.input[0])
        if scores is not None and scores.softmax:
            self._join(scores, node.output[0])
            return
        result = self._shape(node.output[0], name)
        heads = max(math.prod(result[:-2]) / self._batch, 1.0)
        operator = Operator(
            name=name,
            kind=Kind.MATMUL,
            rows=float(first[-2]) if len(first) > 1 else 1.0,
            inner=float(inner),
            columns=float(columns),
            batch=heads,
            saved=(math.prod(first) + math.prod(second)) / self._batch,
            aligned=False,
            convolution_launches=0.5,
        )
        pending = Scores(operator)
        self._operators.append(pending)
        self._scores[node.output[0]] = pending

    def _join(self, scores: Scores, target: str) -> None:
        """Replace the pending product of queries and keys by one attention operator."""
        first = scores.operator
        position = next(
            (
                index
                for index, entry in enumerate(self._operators)
                if isinstance(entry, Scores) and entry.operator is first
            ),
            None,
        )
        if position is None:
            return
        heads, rows, keys, inner = first.batch, first.rows, first.columns, first.inner
        self._operators[position] = attention_layer(first.name, heads, rows, keys, inner)
        self._scores.pop(target, None)

    def _attention(self, node: onnx.NodeProto, name: str) -> None:
        query, key = self._shape(node.input[0], name), self._two(node, name)
        heads = query[1] if len(query) == 4 else integer(node, "q_num_heads", 0)
        if len(query) not in {3, 4} or len(query) != len(key) or heads < 1:
            raise self._odd(name, "Attention")
        inner = query[-1] if len(query) == 4 else query[-1] / heads
        share = query[0] / self._batch
        self._operators.append(
            attention_layer(name, heads * share, float(query[-2]), float(key[-2]), float(inner))
        )

    def _matrix(self, node: onnx.NodeProto, name: str, *, rows: int, inner: int, columns: int) -> Operator:
        return Operator(
            name=name,
            kind=Kind.MATMUL,
            rows=rows / self._batch,
            inner=float(inner),
            columns=float(columns),
            weights=float(self._parameters(node.input)),
            saved=rows * inner / self._batch,
            aligned=False,
            input_gradient=node.input[0] not in self._sources,
            convolution_launches=0.5,
        )

    def _recurrent(self, node: onnx.NodeProto, name: str) -> None:
        source, weights = self._shape(node.input[0], name), self._two(node, name)
        gates = GATES[node.op_type.lower()]
        if len(source) != 3 or len(weights) != 3 or len(node.input) < 3 or weights[1] % gates:
            raise self._odd(name, node.op_type)
        directions, hidden = weights[0], weights[1] // gates
        steps = source[1 if integer(node, "layout", 0) else 0]
        state = self._parameters(node.input[2:3])
        bias = self._parameters(node.input[3:4]) / 2
        inputs, stepped, gated = recurrent_layer(
            name, node.op_type.lower(), weights[2], hidden, float(steps), directions=directions
        )
        self._operators += [
            replace(inputs, weights=self._parameters(node.input[1:2]) + bias),
            replace(stepped, weights=state + bias),
            gated,
        ]

    def run(self) -> list[Operator]:
        for index, node in enumerate(self._graph.nodes):
            if index % 256 == 0:
                self._deadline.check()
            self._node(node, printable(node.name or f"{node.op_type}_{index}", 80))
        rows = [entry if isinstance(entry, Operator) else entry.as_operator() for entry in self._operators]
        if any(entry.kind is Kind.ATTENTION for entry in rows):
            rows = [
                entry
                if entry.convolution_launches == 1.0
                else replace(entry, layer_launches=LAUNCH_SHARE, convolution_launches=0.0, aligned=True)
                for entry in rows
            ]
        return rows

    def _node(self, node: onnx.NodeProto, name: str) -> None:
        kind = node.op_type
        handler: Callable[[onnx.NodeProto, str], None] | None = {
            "Conv": self._convolution,
            "ConvTranspose": self._transposed,
            "Gemm": self._gemm,
            "MatMul": self._product,
            "LSTM": self._recurrent,
            "GRU": self._recurrent,
            "RNN": self._recurrent,
            "Gather": self._gather,
            "Transpose": self._transpose,
            "Attention": self._attention,
        }.get(kind)
        if not node.input and kind not in FREE:
            raise unreadable(
                "{file}: node {node} ({operator}) has no input",
                file=self._graph.file,
                node=name,
                operator=printable(kind),
            )
        if handler is not None:
            handler(node, name)
        elif kind in ALIASES:
            self._hand_on(node)
        elif kind in NORMS:
            self._norm(node, name)
        elif kind in POOLS:
            self._operators.append(pointwise_layer(name, POOLS[kind], self._share(node.input[0], name)))
        elif kind in ELEMENTWISE:
            self._elementwise(node, name)
        elif kind not in FREE:
            if kind not in MOVES:
                self._unknown.add(kind)
            self._pass(node, name)

    def _pass(self, node: onnx.NodeProto, name: str) -> None:
        scores = self._scores.get(node.input[0])
        if scores is not None and node.op_type == "Softmax":
            self._scores[node.output[0]] = replace(scores, softmax=True)
            return
        size = math.prod(self._graph.shapes.get(node.output[0], ())) if node.output else 0
        if size > self._batch:
            share = size / self._batch
            self._operators.append(pointwise_layer(name, Pointwise.ELEMENTWISE, share, saved=share))

    def _norm(self, node: onnx.NodeProto, name: str) -> None:
        size = self._share(node.output[0] or node.input[0], name)
        # Running means and variances are kept, not trained: scale and shift alone are parameters.
        weights = float(self._parameters(node.input[1:3]))
        self._operators.append(pointwise_layer(name, NORMS[node.op_type], size, saved=size, weights=weights))

    def _gather(self, node: onnx.NodeProto, name: str) -> None:
        table = self._origin.get(node.input[0])
        if table is None or integer(node, "axis", 0):
            self._hand_on(node)
            return
        size = self._graph.parameters[table]
        width = math.prod(size[1:])
        looked_up = math.prod(self._two(node, name)) / self._batch
        self._operators.append(
            Operator(
                name=name,
                kind=Kind.EMBEDDING,
                rows=looked_up,
                columns=float(width),
                elements=looked_up * width,
                weights=float(self._parameters(node.input[:1])),
                input_gradient=False,
            )
        )

    def _transpose(self, node: onnx.NodeProto, name: str) -> None:
        if node.input[0] in self._origin:
            self._hand_on(node)
        else:
            moved = self._share(node.input[0], name)
            self._operators.append(pointwise_layer(name, Pointwise.HEADS, moved))

    def _elementwise(self, node: onnx.NodeProto, name: str) -> None:
        target = node.output[0] if node.output else ""
        scores = next((self._scores[entry] for entry in node.input if entry in self._scores), None)
        if scores is not None:
            self._scores[target] = scores
            return
        size = max(
            (
                math.prod(self._graph.shapes[entry])
                for entry in (*node.input, target)
                if entry in self._graph.shapes and entry not in self._origin
            ),
            default=0,
        )
        if size <= self._batch or target not in self._graph.shapes:
            return  # arithmetic on shapes and scalars
        active = [entry for entry in node.input if entry not in self._origin and entry in self._graph.shapes]
        joined = [self._chains[entry] for entry in active if entry in self._chains]
        meets = (
            node.op_type in {"Add", "Sum"}
            and sum(math.prod(self._graph.shapes[entry]) == size for entry in active) > 1
        )
        if meets and len({id(chain) for chain in joined}) < 2 and len(joined) < len(active):
            # Two paths meet: a residual connection, which starts anew what follows.
            self._operators.append(KernelChain(name, -(-size // self._batch), 0, {"Add"}))
            return
        chain = joined[0] if joined else KernelChain(name)
        if not joined:
            self._operators.append(chain)
        chain.elements = max(chain.elements, -(-size // self._batch))
        chain.weights += self._parameters(node.input)
        chain.types.add(node.op_type)
        self._chains[target] = chain
