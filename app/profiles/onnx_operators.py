"""Nodes of an ONNX graph as operators.

What a training framework runs as one kernel is counted as one operator: a chain of elementwise
nodes, the steps of a norm or an activation that an exporter took apart, and the products, scaling
and softmax of attention.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import onnx

from app.engine.operators.convolution import pointwise_layer
from app.engine.operators.recurrent import GATES
from app.engine.operators.table import Kind, Operator, Pointwise
from app.profiles.architectures.common import LAUNCH_SHARE
from app.profiles.documents import printable, unreadable
from app.profiles.onnx_nodes import (
    ALIASES,
    ELEMENTWISE,
    FREE,
    MOVES,
    NORMS,
    POOLS,
    KernelChain,
    Scores,
    Shape,
    Walk,
    integer,
    integers,
    row,
)
from app.profiles.rows import attention


class Products(Walk):
    """The part of a walk that meets matrix products."""

    def _convolution(self, node: onnx.NodeProto, name: str) -> None:
        weights, result = self._two(node, name), self._shape(node.output[0], name)
        if len(weights) < 3 or len(result) != len(weights):
            raise self._odd(name, "Conv")
        groups = integer(node, "group", 1)
        source = self._shape(node.input[0], name)
        self._emit(
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
        self._emit(
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
        source = self._size(node.input[0], name) / self._batch
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
            output_elements=self._size(node.output[0], name) / self._batch,
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
        self._emit(self._matrix(node, name, rows=rows, inner=inner, columns=columns))

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
            self._emit(self._matrix(node, name, rows=rows, inner=inner, columns=columns))
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
        """Turn the pending product of queries and keys into one attention operator."""
        first = scores.operator
        place = next(
            (
                index
                for index, entry in enumerate(self._operators)
                if isinstance(entry, Scores) and entry.operator is first
            ),
            None,
        )
        if place is None:
            return
        heads, rows, keys, inner = first.batch, first.rows, first.columns, first.inner
        self._operators[place] = attention(first.name, heads, rows, keys, inner)
        self._scores.pop(target, None)

    def _attention(self, node: onnx.NodeProto, name: str) -> None:
        query, key = self._shape(node.input[0], name), self._two(node, name)
        heads = query[1] if len(query) == 4 else integer(node, "q_num_heads", 0)
        if len(query) not in {3, 4} or len(query) != len(key) or heads < 1:
            raise self._odd(name, "Attention")
        inner = query[-1] if len(query) == 4 else query[-1] / heads
        share = query[0] / self._batch
        self._emit(attention(name, heads * share, float(query[-2]), float(key[-2]), float(inner)))

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
        directions, width, hidden = weights[0], weights[1], weights[1] // gates
        steps = source[1 if integer(node, "layout", 0) else 0]
        state = self._parameters(node.input[2:3])
        bias = self._parameters(node.input[3:4]) / 2
        self._emit(
            Operator(
                name=f"{name}_input",
                kind=Kind.MATMUL,
                rows=float(steps),
                inner=float(weights[2]),
                columns=float(width * directions),
                weights=self._parameters(node.input[1:2]) + bias,
                saved=float(steps * weights[2]),
                aligned=False,
                convolution_launches=0.5,
            )
        )
        self._emit(
            Operator(
                name=f"{name}_state",
                kind=Kind.RECURRENT,
                rows=1.0,
                inner=float(hidden),
                columns=float(width),
                batch=float(directions),
                steps=float(steps),
                weights=state + bias,
                saved=float(steps * hidden * directions),
                aligned=False,
            )
        )
        gate_elements = float(steps * width * directions)
        self._emit(
            Operator(
                name=f"{name}_gates",
                kind=Kind.POINTWISE,
                pointwise=Pointwise.ELEMENTWISE,
                elements=gate_elements,
                saved=gate_elements,
            )
        )


class Converter(Products):
    """Walks a graph once and collects its operators."""

    def run(self) -> list[Operator]:
        """Return the operators of one sample."""
        for index, node in enumerate(self._graph.nodes):
            if index % 256 == 0:
                self._deadline.check()
            self._node(node, printable(node.name or f"{node.op_type}_{index}", 80))
        rows = [entry if isinstance(entry, Operator) else row(entry) for entry in self._operators]
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
            self._emit(
                pointwise_layer(
                    name=name, pointwise=POOLS[kind], elements=self._size(node.input[0], name) / self._batch
                )
            )
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
            self._emit(
                Operator(
                    name=name,
                    kind=Kind.POINTWISE,
                    pointwise=Pointwise.ELEMENTWISE,
                    elements=size / self._batch,
                    saved=size / self._batch,
                )
            )

    def _norm(self, node: onnx.NodeProto, name: str) -> None:
        size = self._size(node.output[0] or node.input[0], name) / self._batch
        # Running means and variances are kept, not trained: scale and shift alone are parameters.
        self._emit(
            Operator(
                name=name,
                kind=Kind.POINTWISE,
                pointwise=NORMS[node.op_type],
                elements=size,
                saved=size,
                weights=float(self._parameters(node.input[1:3])),
            )
        )

    def _gather(self, node: onnx.NodeProto, name: str) -> None:
        table = self._origin.get(node.input[0])
        if table is None or integer(node, "axis", 0):
            self._hand_on(node)
            return
        size = self._graph.parameters[table]
        width = math.prod(size[1:])
        looked_up = math.prod(self._two(node, name)) / self._batch
        self._emit(
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
            self._emit(
                pointwise_layer(
                    name=name,
                    pointwise=Pointwise.HEADS,
                    elements=self._size(node.input[0], name) / self._batch,
                )
            )

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
