"""ONNX graphs: loading within bounds, shapes of one sample, and the profile.

Weights are never read, neither those inside the file nor external ones: the sizes of the
initializers say all that is counted.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from graphlib import CycleError, TopologicalSorter

import onnx
from onnx import shape_inference

from app.engine.operators.table import Kind, Operator, Section
from app.errors import Message
from app.profiles.bodies import OperatorBody, merge_equal
from app.profiles.documents import MOST_ONNX_BYTES, Deadline, check_size, printable, unreadable
from app.profiles.model import ModelProfile
from app.profiles.onnx_operators import Converter, Graph

MOST_NODES = 20_000
MOST_DIMENSION = 10**9
MOST_ELEMENTS = 10**15
SECONDS = 10.0
VALUES_KEPT = 1024
"""Initializers up to this many elements keep their values: they may be shapes and axes."""
ASSUMED_LENGTH = 512
ASSUMED_SIDE = 224
FLOATS = frozenset(
    (onnx.TensorProto.FLOAT, onnx.TensorProto.FLOAT16, onnx.TensorProto.BFLOAT16, onnx.TensorProto.DOUBLE)
)
MOST_SHOWN = 6
"""Nodes of a circle that its refusal names."""
CONTROL_FLOW = frozenset(("If", "Loop", "Scan"))


@dataclass(frozen=True, slots=True)
class Sizes:
    """Batch size of the graph, and the assumptions on its symbolic input sizes."""

    batch: int
    assumptions: tuple[Message, ...]


def read_onnx(
    name: str, data: bytes, seq_len: int | None = None, image_size: int | None = None
) -> ModelProfile:
    check_size(name, len(data), MOST_ONNX_BYTES)
    deadline = Deadline(name, SECONDS)
    try:
        model = onnx.load_model_from_string(data)
        _check_names(model.graph)
    except Exception as error:  # whatever the native parser raises
        raise unreadable(
            "{file} is neither an ONNX model nor text; accepted as text: a config.json, a "
            "layer table or a summary",
            file=name,
        ) from error
    _check(name, model)
    parameters = _set_weights_aside(name, model.graph)
    sizes = _settle_inputs(name, model.graph, parameters, seq_len, image_size)
    deadline.check()
    graph = Graph(
        file=name,
        nodes=model.graph.node,
        inputs=frozenset(entry.name for entry in model.graph.input) - set(parameters),
        parameters=parameters,
        shapes=_shapes(name, model),
    )
    converter = Converter(graph, sizes.batch, deadline)
    return _profile(name, converter.run(), sizes, converter.notes)


def _check_names(graph: onnx.GraphProto) -> None:
    """Refuse names that are not text: the parser passes bytes that are not UTF-8 through."""
    entries = (*graph.initializer, *graph.input, *graph.node)
    texts: list[object] = [entry.name for entry in entries]
    for node in graph.node:
        texts += [node.op_type, node.domain, *node.input, *node.output]
        texts += [attribute.name for attribute in node.attribute]
    if any(not isinstance(text, str) for text in texts):
        raise ValueError("a name is not UTF-8")


def _check(name: str, model: onnx.ModelProto) -> None:
    nodes = model.graph.node
    if not nodes:
        raise unreadable("{file} is not an ONNX model, or its graph has no nodes", file=name)
    if len(nodes) > MOST_NODES:
        raise unreadable(
            "{file} has {nodes} nodes; the limit is {most}", file=name, nodes=len(nodes), most=MOST_NODES
        )
    for index, node in enumerate(nodes):
        if node.domain not in {"", "ai.onnx"} or node.op_type.startswith("QLinear"):
            raise unreadable(
                "{file}: node {node} is {operator}, which is not a standard operator of "
                "training graphs; export the model without fusion and quantization",
                file=name,
                node=printable(node.name) or str(index),
                operator=printable(f"{node.domain}.{node.op_type}"),
            )
        if node.op_type in CONTROL_FLOW or any(
            attribute.HasField("g") or attribute.graphs for attribute in node.attribute
        ):
            raise unreadable(
                "{file}: node {node} ({operator}) runs a nested graph; export the model without control flow",
                file=name,
                node=printable(node.name) or str(index),
                operator=printable(node.op_type),
            )
    if model.functions:
        raise unreadable(
            "{file} defines its own functions; inline them first (onnx.inliner.inline_local_functions)",
            file=name,
        )
    if model.graph.sparse_initializer:
        raise unreadable(
            "{file} contains sparse weights, which are not supported; store them as dense", file=name
        )
    _check_order(name, nodes)


def _check_order(name: str, nodes: Sequence[onnx.NodeProto]) -> None:
    """Refuse a graph in which a node needs its own output, by way of others or at once."""
    maker = {output: index for index, node in enumerate(nodes) for output in node.output if output}
    needs = {
        index: [maker[tensor] for tensor in node.input if tensor in maker] for index, node in enumerate(nodes)
    }
    try:
        TopologicalSorter(needs).prepare()
    except CycleError as error:
        circle = [nodes[index].name or f"{nodes[index].op_type}_{index}" for index in error.args[1]]
        ways = [*circle[: MOST_SHOWN - 1], "…", circle[-1]] if len(circle) > MOST_SHOWN else circle
        raise unreadable(
            "{file}: the graph runs in a circle, {nodes}; export the model with its loops unrolled",
            file=name,
            nodes=" → ".join(printable(node) for node in ways),
        ) from None


def elements(name: str, tensor: str, dimensions: tuple[int, ...]) -> int:
    """Return the elements of a tensor; refuse an invalid size."""
    if any(not 0 <= size <= MOST_DIMENSION for size in dimensions) or math.prod(dimensions) > MOST_ELEMENTS:
        raise unreadable(
            "{file}: tensor {tensor} has an invalid size, {size}",
            file=name,
            tensor=printable(tensor),
            size=printable(" × ".join(map(str, dimensions[:8]))),
        )
    return math.prod(dimensions)


def _set_weights_aside(name: str, graph: onnx.GraphProto) -> dict[str, tuple[int, ...]]:
    """Return the sizes of the weights, and declare those with values as inputs instead.

    Shape inference then sees only sizes and never reads weights, inside the file or outside.
    """
    parameters: dict[str, tuple[int, ...]] = {}
    initializers: list[onnx.TensorProto] = []
    declared = {entry.name for entry in graph.input}
    for tensor in graph.initializer:
        dimensions = tuple(tensor.dims)
        size = elements(name, tensor.name, dimensions)
        external = tensor.data_location == onnx.TensorProto.EXTERNAL
        if tensor.data_type in FLOATS and size > 1:
            parameters[tensor.name] = dimensions
        if external or size > VALUES_KEPT:
            if tensor.name not in declared:
                graph.input.append(
                    onnx.helper.make_tensor_value_info(tensor.name, tensor.data_type, dimensions)
                )
            parameters.setdefault(tensor.name, dimensions)
        else:
            initializers.append(tensor)
    for node in graph.node:
        # Some exporters write weights as constants.
        for attribute in node.attribute:
            constant = attribute.t
            if node.op_type == "Constant" and node.output and constant.data_type in FLOATS:
                dimensions = tuple(constant.dims)
                if elements(name, node.output[0], dimensions) > 1:
                    parameters[node.output[0]] = dimensions
    del graph.initializer[:]
    graph.initializer.extend(initializers)
    constants = {tensor.name for tensor in initializers}
    inputs = [entry for entry in graph.input if entry.name not in constants]
    del graph.input[:]
    graph.input.extend(inputs)
    return parameters


def _settle_inputs(
    name: str,
    graph: onnx.GraphProto,
    parameters: Mapping[str, tuple[int, ...]],
    seq_len: int | None,
    image_size: int | None,
) -> Sizes:
    """Set symbolic sizes: 1 for the batch, the asked or an assumed one for lengths and sides."""
    batch = 0
    assumptions: list[Message] = []
    for entry in graph.input:
        if entry.name in parameters:
            continue
        floating = entry.type.tensor_type.elem_type in FLOATS
        for axis, dimension in enumerate(entry.type.tensor_type.shape.dim):
            if dimension.dim_value > 0:
                elements(name, entry.name, (dimension.dim_value,))
                if axis == 0:
                    batch = batch or dimension.dim_value
                continue
            symbol = dimension.dim_param
            if axis == 0:
                value = 1
                batch = 1
            else:
                rank = len(entry.type.tensor_type.shape.dim)
                side = floating and rank >= 4
                asked = image_size if side else seq_len
                value = asked or (ASSUMED_SIDE if side else ASSUMED_LENGTH)
                elements(name, entry.name, (value,))
                assumptions.append(
                    Message(
                        "input {tensor} does not fix its size {symbol}; {value} is taken as asked"
                        if asked
                        else "input {tensor} does not fix its size {symbol}; {value} is assumed",
                        {
                            "tensor": printable(entry.name),
                            "symbol": printable(symbol) or str(axis),
                            "value": value,
                        },
                    )
                )
            dimension.Clear()
            dimension.dim_value = value
    # What an exporter noted for other sizes would contradict the settled ones.
    del graph.value_info[:]
    for output in graph.output:
        output.type.tensor_type.ClearField("shape")
    return Sizes(max(batch, 1), tuple(assumptions))


def _shapes(name: str, model: onnx.ModelProto) -> dict[str, tuple[int, ...]]:
    """Return the sizes of tensors that shape inference can determine."""
    try:
        inferred = shape_inference.infer_shapes(model, data_prop=True).graph
    except Exception as error:  # whatever the native code raises on a malformed graph
        raise unreadable(
            "{file}: tensor sizes cannot be inferred; check the model with onnx.checker", file=name
        ) from error
    shapes: dict[str, tuple[int, ...]] = {}
    for entry in (*inferred.input, *inferred.value_info, *inferred.output):
        if not entry.type.tensor_type.HasField("shape"):
            continue
        sizes = tuple(
            dimension.dim_value if dimension.HasField("dim_value") else -1
            for dimension in entry.type.tensor_type.shape.dim
        )
        if all(size >= 0 for size in sizes):
            elements(name, entry.name, sizes)
            shapes[entry.name] = sizes
    shapes |= {tensor.name: tuple(tensor.dims) for tensor in inferred.initializer}
    return shapes


def _profile(name: str, operators: list[Operator], sizes: Sizes, notes: tuple[Message, ...]) -> ModelProfile:
    merged = merge_equal(operators)
    attention = [operator for operator in merged if operator.kind is Kind.ATTENTION]
    depth, hidden, tokens = 1, 0.0, 1.0
    if len(attention) == 1 and attention[0].count > 1:
        # Equal attention blocks, one per layer, are the repetition a pipeline can be cut along.
        block = attention[0]
        depth, hidden, tokens = int(block.count), block.batch * block.inner, block.rows
        merged = [_in_section(operator) for operator in merged]
    assumptions = [*sizes.assumptions, *notes]
    if sizes.batch > 1:
        note = "the graph contains {batch} samples; one is counted"
        assumptions.append(Message(note, {"batch": sizes.batch}))
    assumptions.append(
        Message("operators are counted at the sizes of the graph and do not change with other sizes")
    )
    doubts: tuple[Message, ...] = ()
    if not any(operator.weights for operator in merged):
        doubts = (
            Message(
                "the graph has no weights: its parameters are 0; export it with its weights as initializers"
            ),
        )
    convolutions = sum(operator.kind in {Kind.CONVOLUTION, Kind.DEPTHWISE} for operator in merged)
    return ModelProfile(
        id="onnx",
        name=printable(name, 80),
        family="custom" if attention or not convolutions else "cnn",
        origin="onnx",
        body=OperatorBody(tuple(merged), depth=depth, hidden=hidden, tokens=tokens),
        assumptions=tuple(assumptions),
        doubts=doubts,
    )


def _in_section(operator: Operator) -> Operator:
    first = operator.kind is Kind.EMBEDDING or not operator.input_gradient
    return replace(operator, section=Section.EMBEDDING) if first else operator
