"""Printed model summaries (torchinfo, torchsummary, Keras, fvcore's table) and topologies of SCALE-Sim.

Each prints one row for each module: the size of the output and the parameters, or (fvcore) the size of
the weights and the multiplications; either pair says what a product costs. Totals that a summary prints
are held against its rows.
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
SCALESIM = re.compile(r"(?i)\s*layer(?: ?name)?\s*,\s*(?:ifmap ?h\w*\s*,|m\s*,\s*n\s*,\s*k\b)")
TOTAL = re.compile(r"^[^\w\n]{0,9}Total params: {0,9}(\d[\d,]{0,24})(?![\d.,])", re.MULTILINE)
MULTIPLICATIONS = re.compile(
    r"^Total mult-adds \((?:Units\.)?(\w+)\): ([\d,]{1,24}(?:\.\d{1,9})?)(?![\d.,])", re.MULTILINE
)
_UNITS = {"M": 1e6, "MEGABYTES": 1e6, "G": 1e9, "GIGABYTES": 1e9, "T": 1e12, "TERABYTES": 1e12,
          "K": 1e3, "KILOBYTES": 1e3, "B": 1.0, "NONE": 1.0}  # fmt: skip
CLOSE = 0.02
"""Deviation of the rows from a printed total that rounding explains."""
_ROW = re.compile(
    r"^(?P<tree>[\s│├└─|+-]*)(?P<type>\w+)(?:-\d+)?(?: \((?P<name>[^)]*)\))?(?:: (?P<depth>\d+)-\d+)?\s"
)

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

KERAS = {"Dense": "Linear", "Conv1D": "Conv1d", "Conv2D": "Conv2d", "Conv3D": "Conv3d",
         "Conv2DTranspose": "ConvTranspose2d", "BatchNormalization": "BatchNorm",
         "LayerNormalization": "LayerNorm", "MaxPooling2D": "MaxPool", "AveragePooling2D": "AvgPool",
         "Embedding": "Embedding", "LSTM": "LSTM", "GRU": "GRU", "SimpleRNN": "RNN"}  # fmt: skip
UNDERSTOOD = {"Conv", "ConvTranspose", "Linear", "MultiheadAttention", "Embedding", "LSTM", "GRU", "RNN",
              *NORMS, *PASSES, "PReLU"}  # fmt: skip
"""Modules whose compute follows from the size of their output and their parameters."""


@dataclass(frozen=True, slots=True)
class Module:
    line: int
    depth: int
    type: str
    name: str
    sizes: tuple[tuple[int, ...], ...]
    parameters: float
    flop: float = 0.0
    again: bool = False
    """The same weights run once more."""


def is_summary(text: str) -> bool:
    """Tell whether a text is a printed summary or a topology."""
    return bool(TORCHINFO in text or FVCORE.search(text) or SCALESIM.match(text))


def read_summary(name: str, text: str) -> ModelProfile:
    torchinfo = TORCHINFO in text
    doubts: list[Message] = []
    if SCALESIM.match(text):
        operators = list(_scalesim(name, text))
    else:
        operators = list(_torchinfo(name, text, doubts) if torchinfo else _fvcore(name, text))
    if not operators:
        raise unreadable(
            "{file} lists no module with a size; print torchinfo with input_size, fvcore with max_depth=10",
            file=name,
        )
    total = TOTAL.search(text)
    if total:
        _hold(
            name,
            Message("parameters"),
            sum(operator.weights * operator.count for operator in operators),
            total[1],
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
        doubts=tuple(doubts),
    )


def _hold(name: str, what: Message, read: float, printed: str, unit: float = 1.0) -> None:
    """Refuse a summary whose rows do not add up to the total that it prints."""
    total = float(printed.replace(",", "") or 0) * unit
    if abs(read - total) > CLOSE * total + 0.01 * unit:
        raise unreadable(
            "{file} prints a total of {total} {what}, its rows add up to {read}: modules are missing in it; "
            "print it with every level (torchinfo: depth=20, Keras: expand_nested=True)",
            file=name,
            total=f"{total:.6g}",
            what=what,
            read=f"{read:.6g}",
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


def _torchinfo(name: str, text: str, doubts: list[Message]) -> Iterator[Operator]:
    """Return the operators of a table of torchinfo, torchsummary or Keras."""
    keras = "(None" in text and re.search(r"^[^\w\n]{0,99}Layer \(type\).*Param #", text, re.M) is not None
    modules: list[Module] = []
    for number, line in _numbered(name, text):
        if keras:
            line = re.sub(r"[│┃]", " ", line).replace("(None", "(1").replace("None", "1")
        if re.match(r"\s*(=|Total|Layer \(|Input size|Forward/|Params size|Trainable|Non-trainable)", line):
            continue
        match = _ROW.match(line + " ")
        if match is None:
            continue
        details = line[match.end() :].replace("[-1,", "[1,")
        sizes = tuple(_sizes(shape) for shape in _SHAPE.findall(details))
        counts = [float(count.replace(",", "")) for count in _COUNT.findall(_SHAPE.sub(" ", details))]
        if keras and not (sizes and counts):
            continue
        modules.append(
            Module(
                line=number,
                depth=int(match["depth"] or 0),
                type=KERAS.get(match["name"] or "", match["name"] or "") if keras else match["type"],
                name=match["type"] if keras else match["name"] or match["type"],
                sizes=tuple((size[0], size[-1], *size[1:-1]) if len(size) > 3 else size for size in sizes)
                if keras
                else sizes,
                parameters=min(counts[0], 1e15) if counts else 0.0,
                again="(recursive)" in line,
            )
        )
    parameters = sum(module.parameters for module in _leaves(modules))
    multiplications, before = 0.0, 3
    unsized: set[str] = set()
    for module in _leaves(modules):
        # With an input column before it, the output is the second size printed.
        columns = 1 if "Input Shape" in text and len(module.sizes) > 1 else 0
        output = module.sizes[columns] if module.sizes else ()
        if output:
            yield from _by_output(module, output, before)
            before = max(output[1], 1) if len(output) > 2 else before
            # torchinfo multiplies the parameters of a convolution by its positions, others by the batch.
            spread = math.prod(output[2:]) if "Conv" in module.type else 1
            multiplications += module.parameters * max(output[0], 1) * spread
        if module.again or (
            (not output or _kind(module) not in UNDERSTOOD) and module.parameters > CLOSE / 2 * parameters
        ):
            unsized.add(module.type)
    printed = MULTIPLICATIONS.search(text)
    if printed and not any(module.again for module in modules) and printed[1].upper() in _UNITS:
        _hold(name, Message("multiplications"), multiplications, printed[2], _UNITS[printed[1].upper()])
    doubts.extend(
        Message(
            "the compute of {module} is not understood: it is counted by its own parameters alone; print "
            "the summary with every level",
            {"module": printable(kind, 40)},
        )
        for kind in sorted(unsized)[:20]
    )


def _kind(module: Module) -> str:
    return re.sub(r"\d+[dD]?(?:-\d+)?$|^Lazy|^Adaptive(?=Max)", "", module.type)


def _by_output(module: Module, output: tuple[int, ...], before: int) -> Iterator[Operator]:
    label = f"{printable(module.name, 40)}_{module.line}"
    batch = max(output[0], 1) if output else 1
    elements = math.prod(output) / batch
    kind = _kind(module)
    if kind in {"Conv", "ConvTranspose"} and len(output) >= 3:
        channels, positions = max(output[1], 1), math.prod(output[2:])
        inner = max(module.parameters // channels, 1.0)
        if inner % before and not (inner - 1) % before:
            # One of the parameters of a channel is its bias: the others come in channels of the input.
            inner = max(inner - 1, 1.0)
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


def _scalesim(name: str, text: str) -> Iterator[Operator]:
    """Return the products of a topology of SCALE-Sim: convolutions without padding, or M, N, K."""
    lines = list(_numbered(name, text))
    products = re.match(r"(?i)[^,]*,\s*m\s*,", lines[0][1]) is not None
    needed = 3 if products else 7
    for number, line in lines[1:]:
        cells = [cell.strip() for cell in line.split(",")]
        if not any(cells):
            continue
        sizes = [int(cell) for cell in cells[1 : needed + 1] if re.fullmatch(r"\d{1,9}", cell)]
        if len(sizes) != needed or min(sizes) < 1:
            raise unreadable(
                "{file}, line {line}: a layer of a topology needs a name and {count} whole numbers above 0",
                file=name,
                line=number,
                count=needed,
            )
        label = f"{printable(cells[0], 40)}_{number}"
        if products:
            rows, columns, inner = sizes
            yield _product(label, rows, inner, columns, inner * columns, Kind.MATMUL)
            continue
        height, width, tall, wide, channels, filters, stride = sizes
        if tall > height or wide > width:
            raise unreadable(
                "{file}, line {line}: the filter is larger than its input", file=name, line=number
            )
        rows = (-(-(height - tall + stride) // stride)) * (-(-(width - wide + stride) // stride))
        inner = tall * wide * channels
        yield _product(label, rows, inner, filters, inner * filters, Kind.CONVOLUTION)
