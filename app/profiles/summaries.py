"""Printed model summaries: torchinfo's ``summary()`` and fvcore's ``flop_count_table()``.

Both print one row for each module. torchinfo gives the size of the output and the parameters,
fvcore the size of the weights and the multiplications; either pair says what a product costs.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest

from app.engine.operators.layers import attention_layer, pointwise_layer
from app.engine.operators.table import Kind, Operator, Pointwise
from app.errors import Message
from app.profiles.bodies import OperatorBody, merge_equal
from app.profiles.documents import printable, unreadable
from app.profiles.layer_table import MOST_PRODUCT, MOST_ROWS
from app.profiles.model import ModelProfile

TORCHINFO = "Layer (type"
FVCORE = re.compile(r"^\|\s*module\s*\|.*#parameters", re.MULTILINE)
_ROW = re.compile(r"^(?P<tree>[\s│├└─|+-]*)(?P<type>\w+)(?: \((?P<name>[^)]*)\))?(?:: (?P<depth>\d+)-\d+)?\s")

# Possessive quantifiers (++, *+) keep the pattern from backtracking on any line.
_SHAPE = re.compile(r"[\[(]\s*+(?:\d++\s*+,\s*+)*+\d*+\s*+,?\s*+[\])]")
_COUNT = re.compile(r"(?<![\w.\[,])(\d{1,3}(?:,\d{3})+|\d+)(?![\w.\],])")
_SCALED = re.compile(r"^(\d+(?:\.\d+)?)([KMGTP]?)$")
_SCALES = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
HEAD = 64
"""Width of an attention head where a summary does not print it."""
NORMS = {"BatchNorm": Pointwise.BATCH_NORM, "GroupNorm": Pointwise.GROUP_NORM,
         "InstanceNorm": Pointwise.GROUP_NORM, "LayerNorm": Pointwise.LAYER_NORM,
         "RMSNorm": Pointwise.LAYER_NORM}  # fmt: skip

PASSES = {"ReLU": Pointwise.RELU, "GELU": Pointwise.GELU, "SiLU": Pointwise.SWISH, "Swish": Pointwise.SWISH,
          "Hardswish": Pointwise.SWISH, "MaxPool": Pointwise.MAX_POOL, "AvgPool": Pointwise.AVERAGE_POOL,
          "AdaptiveAvgPool": Pointwise.AVERAGE_POOL, "Sigmoid": Pointwise.ELEMENTWISE,
          "Tanh": Pointwise.ELEMENTWISE, "Softmax": Pointwise.ELEMENTWISE}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Module:
    line: int
    depth: int
    type: str
    name: str
    sizes: tuple[tuple[int, ...], ...]
    parameters: float
    flop: float = 0.0


def read_summary(name: str, text: str) -> ModelProfile:
    torchinfo = TORCHINFO in text
    operators = list(_torchinfo(name, text) if torchinfo else _fvcore(name, text))
    if not operators:
        raise unreadable(
            "{file} lists no module with a size; print torchinfo with input_size, fvcore with max_depth=10",
            file=name,
        )
    for operator in operators:
        work = operator.rows * operator.inner * operator.columns * operator.batch * operator.steps
        if not max(work, operator.elements, operator.weights, operator.squared) <= MOST_PRODUCT:
            raise unreadable("{file}: the sizes of {layer} are invalid", file=name, layer=operator.name)
    return ModelProfile(
        id="summary",
        name=printable(name, 80),
        family="custom",
        origin="layers",
        body=OperatorBody(tuple(merge_equal(operators))),
        assumptions=(
            Message("operators are counted at the sizes of the summary and do not change with other sizes"),
            Message("residual connections and operations outside modules are not printed and not counted"),
        ),
    )


def _numbered(name: str, text: str) -> Iterator[tuple[int, str]]:
    lines = text.splitlines()
    if len(lines) > MOST_ROWS:
        raise unreadable("{file} has more than {most} lines", file=name, most=MOST_ROWS)
    for number, line in enumerate(lines, start=1):
        if len(line) > 1000:
            raise unreadable("{file}, line {line}: longer than 1000 characters", file=name, line=number)
        yield number, line


def _leaves(modules: list[Module]) -> Iterator[Module]:
    for module, following in zip_longest(modules, modules[1:]):
        # Attention prints its output projection as a child, without a size.
        inside = following is not None and following.depth > module.depth
        if not inside or module.type == "MultiheadAttention":
            yield module


def _torchinfo(name: str, text: str) -> Iterator[Operator]:
    modules: list[Module] = []
    for number, line in _numbered(name, text):
        if line.startswith(("=", "Total", "Layer (", "Input size", "Forward/", "Params size", "Trainable")):
            continue
        match = _ROW.match(line + " ")
        if match is None:
            continue
        details = line[match.end() :]
        sizes = tuple(_sizes(shape) for shape in _SHAPE.findall(details))
        counts = [float(count.replace(",", "")) for count in _COUNT.findall(_SHAPE.sub(" ", details))]
        modules.append(
            Module(
                line=number,
                depth=int(match["depth"] or 0),
                type=match["type"],
                name=match["name"] or match["type"],
                sizes=sizes,
                parameters=min(counts[0], 1e15) if counts else 0.0,
            )
        )
    for module in _leaves(modules):
        if module.sizes:
            # With an input column before it, the output is the second size printed.
            columns = 1 if "Input Shape" in text and len(module.sizes) > 1 else 0
            yield from _by_output(module, module.sizes[columns])


def _by_output(module: Module, output: tuple[int, ...]) -> Iterator[Operator]:
    label = f"{printable(module.name, 40)}_{module.line}"
    batch = max(output[0], 1) if output else 1
    elements = math.prod(output) / batch
    kind = re.sub(r"\d+d$|^Lazy|^Adaptive(?=Max)", "", module.type)
    if kind in {"Conv", "ConvTranspose"} and len(output) >= 3:
        channels, positions = max(output[1], 1), math.prod(output[2:])
        inner = max(module.parameters // channels, 1.0)
        yield _product(label, positions, inner, channels, module.parameters, Kind.CONVOLUTION)
    elif kind == "Linear" and output:
        width = max(output[-1], 1)
        inner = max((module.parameters - width) // width, 1.0)
        if inner * width != module.parameters - width and not module.parameters % width:
            inner += 1
        yield _product(label, elements / width, inner, width, module.parameters, Kind.MATMUL)
    elif kind == "MultiheadAttention" and len(output) == 3:
        length, width = max(output[1], 1), max(output[2], 1)
        heads = max(width // HEAD, 1)
        yield _product(label, length, width, 4 * width, module.parameters or 4 * width**2, Kind.MATMUL)
        yield attention_layer(f"{label}_attention", heads, length, length, width / heads)
    elif kind == "Embedding" and output:
        yield Operator(
            name=label,
            kind=Kind.EMBEDDING,
            rows=elements / max(output[-1], 1),
            columns=float(output[-1]),
            elements=elements,
            weights=module.parameters,
            input_gradient=False,
        )
    elif kind in {"LSTM", "GRU", "RNN"} and len(output) >= 2:
        steps = float(max(output[1], 1))
        hidden = max(output[-1], 1)
        yield Operator(
            name=label,
            kind=Kind.RECURRENT,
            inner=float(hidden),
            columns=module.parameters / hidden,
            rows=1.0,
            steps=steps,
            weights=module.parameters,
            saved=steps * hidden,
            aligned=False,
        )
    elif kind in NORMS:
        yield pointwise_layer(label, NORMS[kind], elements, weights=module.parameters, saved=elements)
    elif kind in PASSES:
        yield pointwise_layer(label, PASSES[kind], elements)
    elif module.parameters:
        yield pointwise_layer(label, Pointwise.ELEMENTWISE, elements, weights=module.parameters)


def _product(
    label: str, rows: float, inner: float, columns: float, parameters: float, kind: Kind
) -> Operator:
    convolution = kind is Kind.CONVOLUTION
    return Operator(
        name=label,
        kind=kind,
        rows=float(rows),
        inner=float(inner),
        columns=float(columns),
        weights=float(parameters),
        saved=rows * columns if convolution else rows * inner,
        input_elements=rows * columns if convolution else 0.0,
        output_elements=rows * columns if convolution else 0.0,
        aligned=False,
        convolution_launches=1.0 if convolution else 0.5,
    )


def _sizes(shape: str) -> tuple[int, ...]:
    return tuple(min(int(size), 10**12) for size in re.findall(r"\d{1,18}", shape))


def _scaled(cell: str) -> float | None:
    match = _SCALED.match(cell.strip())
    return None if match is None else min(float(match[1]), 1e9) * _SCALES[match[2]]


def _fvcore(name: str, text: str) -> Iterator[Operator]:
    modules: list[Module] = []
    weights: dict[int, tuple[int, ...]] = {}
    for number, line in _numbered(name, text):
        cells = line.strip().strip("|").split("|")
        if len(cells) < 3 or set(cells[0].strip()) <= set(":-") or cells[0].strip() == "module":
            continue
        label, middle, flop = cells[0], cells[1].strip(), _scaled(cells[2])
        depth = len(label.rstrip()) - len(label.strip())
        if middle.startswith("("):
            if modules and label.strip().endswith("weight"):
                weights[len(modules) - 1] = _sizes(middle)
            continue
        parameters = _scaled(middle) or 0.0
        modules.append(Module(number, depth, "", label.strip(), (), parameters, flop or 0.0))
    counted = list(_leaves(modules))
    for index, module in enumerate(modules):
        if module not in counted or not module.flop:
            continue
        label = f"{printable(module.name, 40)}_{module.line}"
        size = weights.get(index, ())
        if len(size) >= 2:
            kind = Kind.CONVOLUTION if len(size) > 2 else Kind.MATMUL
            product = math.prod(size)
            yield _product(
                label,
                module.flop / max(product, 1),
                product / max(size[0], 1),
                size[0],
                module.parameters,
                kind,
            )
        elif len(size) == 1 or "norm" in module.name or module.name.startswith("bn"):
            # fvcore counts two operations for an element of a norm in inference.
            elements = module.flop / 2
            yield pointwise_layer(
                label, Pointwise.LAYER_NORM, elements, weights=module.parameters, saved=elements
            )
        elif module.parameters:
            raise unreadable(
                "{file}, line {line}: the weight size of {module} is not printed; print the "
                "table with max_depth=10",
                file=name,
                line=module.line,
                module=printable(module.name),
            )
        else:
            yield pointwise_layer(label, Pointwise.ELEMENTWISE, module.flop)
