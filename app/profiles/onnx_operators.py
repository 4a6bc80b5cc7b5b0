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

from app.engine.operators import Kind, Operator, Pointwise, pointwise_layer
from app.profiles.architectures.common import LAUNCH_SHARE
from app.profiles.documents import unreadable
from app.profiles.numbers import printable
from app.profiles.onnx_nodes import ALIASES, ELEMENTWISE, FREE, MOVES, NORMS, POOLS, KernelChain, integer, row
from app.profiles.onnx_products import Products


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
