"""The state of a walk over an ONNX graph, and what its steps share."""

from __future__ import annotations

import math
from collections.abc import Sequence

import onnx

from app.engine.operators import Operator
from app.errors import Message, Unprocessable
from app.profiles.documents import Deadline, unreadable
from app.profiles.numbers import printable
from app.profiles.onnx_nodes import Graph, KernelChain, Scores, Shape


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
                "operator {operator} is not known; it is counted as one pass", {"operator": printable(kind)}
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
                "{file}: the size of {tensor} at node {node} is not known; export the model with fixed sizes",
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
            "{file}: node {node} ({operator}) has inputs or attributes that do not belong together",
            file=self._graph.file,
            node=name,
            operator=printable(kind),
        )
