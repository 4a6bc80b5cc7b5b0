"""Matrix products of an ONNX graph: convolutions, dense and recurrent layers, attention."""

from __future__ import annotations

import math

import onnx

from app.engine.operators import Kind, Operator, Pointwise
from app.engine.operators.recurrent import GATES
from app.profiles.onnx_nodes import Scores, Shape, integer, integers
from app.profiles.onnx_walk import Walk
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
