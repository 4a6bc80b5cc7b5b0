"""Models as PyTorch prints them: a module a line, with the sizes of its weights."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from app.errors import Message
from app.profiles.documents import printable, unreadable
from app.profiles.model import ModelProfile
from app.profiles.readers.weights import WeightShapes, shapes_profile

MODULE = re.compile(
    r"^(\s*)\((?P<name>[^()\s]{1,80})\): (?:(?P<times>\d{1,6}) x )?(?P<type>\w{1,100})\((?P<rest>.*)$"
)
PRINTED = re.compile(
    r"\A\s*(?:DataParallel|\w{1,100})\([ \t\r]{0,9}\n[ \t]{1,9}\(\w[^()\n]{0,80}\): (?:\d+ x )?\w{1,100}\("
)
# Blanks are counted: a long text of blanks would be read anew from each of them.
LIGHTNING = re.compile(r"^ {0,9}\| {0,99}Name {0,99}\| {0,99}Type {0,99}\| {0,99}Params", re.MULTILINE)
MOST_LINES = 20_000
WITHOUT = re.compile(
    r"Dropout|DropPath|Identity|ReLU|GELU|SiLU|Sigmoid|Tanh|Softmax|Activation|Pool|Flatten|Upsample|Padding|ZeroPad"
    r"|Rotary|Loss|Mish|Swish|Softplus|Permute|Shuffle|Hardswish|StochasticDepth|ActFn"
)
"""Modules without weights."""


def is_printed(text: str) -> bool:
    return bool(PRINTED.match(text))


def refuse_lightning(name: str, text: str) -> None:
    """Refuse the summary of Lightning, which prints no sizes."""
    if LIGHTNING.search(text):
        total = re.search(r"(?<![\d.,])([\d.,]{1,24} ?[KMBT]?)[ \t]{1,99}Total params", text)
        raise unreadable(
            "{file} is a summary by Lightning ({total} parameters), which prints no sizes; send what "
            "print(model) or torchinfo's summary with depth=20 prints, or its configuration",
            file=name,
            total=total[1].strip() if total else "?",
        )


def printed_profile(name: str, text: str) -> ModelProfile:
    """Return a model by the modules that print(model) lists."""
    shapes: Counter[tuple[str, tuple[int, ...]]] = Counter()
    unknown: list[str] = []
    depth, hidden = 1, 0
    stack: list[tuple[str, int, str]] = []
    lines = text.splitlines()
    if len(lines) > MOST_LINES:
        raise unreadable("{file} has more than {most} lines", file=name, most=MOST_LINES)
    for line in lines[1:]:
        if line.strip() == ")":
            if stack:
                stack.pop()
            continue
        match = MODULE.match(line[:1000])
        if match is None:
            continue
        times = stack[-1][1] if stack else 1
        label = re.sub(r"^\d+(-\d+)?$", "*", match["name"])
        path = ".".join([*(entry[0] for entry in stack), label])[-200:]
        repeats = times * int(match["times"] or 1)
        if label == "*" and not any(entry[0] == "*" for entry in stack):
            depth += int(match["times"] or 1)
        rest = match["rest"].rstrip()
        opened = not rest.endswith(")")
        if opened:
            stack.append((label, repeats, match["type"]))
            if match["type"] != "MultiheadAttention":
                continue
        found = list(_weights(match["type"], rest))
        if "NonDynamicallyQuantizableLinear" in match["type"]:
            width = found[0][1][0] if found else 0
            # The joined projection of queries, keys and values is a parameter, which is not printed.
            found += [("in_proj_weight", (3 * width, width)), ("in_proj_bias", (3 * width,))]
        if not found and not opened and rest.strip(") ") and not WITHOUT.search(match["type"]):
            unknown.append(f"{match['type']}")
        for weight, shape in found:
            shapes[f"{path}.{weight}", shape] += repeats
            if len(shape) == 1 and "Norm" in match["type"]:
                hidden = max(hidden, shape[0])
    doubts = [
        Message("the parameters of {module} are not understood and not counted", {"module": printable(kind)})
        for kind in list(dict.fromkeys(unknown))[:20]
    ]
    doubts.append(
        Message("print(model) lists modules only: parameters of a module beside them are not counted")
    )
    return shapes_profile(name, WeightShapes(shapes, max(depth - 1, 1), hidden), doubts)


def _given(rest: str, name: str) -> str:
    match = re.search(rf"\b{name}=(\([\d, ]*\)|[\w.-]+)", rest)
    return match[1] if match else ""


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d{1,12}", text))


def _weights(kind: str, rest: str) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yield the weights of a module and their shapes, by the arguments that it prints."""
    lead = _numbers(re.match(r"\(?[\d, ]*", rest)[0])  # type: ignore[index]
    bias = _given(rest, "bias") != "False"
    if "Linear" in kind or kind == "Conv1D":
        wide = _numbers(_given(rest, "in_features") or _given(rest, "nx"))
        out = _numbers(_given(rest, "out_features") or _given(rest, "nf"))
        if wide and out:
            yield "weight", (out[0], wide[0])
            if bias:
                yield "bias", (out[0],)
    elif "Conv" in kind and len(lead) >= 2:
        groups = (_numbers(_given(rest, "groups")) or (1,))[0] or 1
        kernel = _numbers(_given(rest, "kernel_size"))
        inner, outer = lead[0], lead[1]
        if kernel:
            yield (
                "weight",
                (inner, outer // groups, *kernel)
                if "Transpose" in kind
                else (outer, inner // groups, *kernel),
            )
            if bias:
                yield "bias", (outer,)
    elif "Embedding" in kind and len(lead) >= 2:
        yield "embed_weight", lead[:2]
    elif "GroupNorm" in kind and len(lead) >= 2:
        if _given(rest, "affine") != "False":
            yield from (("weight", (lead[1],)), ("bias", (lead[1],)))
    elif "Norm" in kind and lead:
        if "False" not in {_given(rest, "affine"), _given(rest, "elementwise_affine")}:
            size = lead if rest.startswith("(") else lead[:1]
            yield "weight", size
            if bias and "RMS" not in kind:
                yield "bias", size
    elif kind in {"LSTM", "GRU", "RNN"} and len(lead) >= 2:
        gates = {"LSTM": 4, "GRU": 3, "RNN": 1}[kind]
        layers = (_numbers(_given(rest, "num_layers")) or (1,))[0]
        both = 2 if _given(rest, "bidirectional") == "True" else 1
        for layer in range(min(layers, 1000)):
            inputs = lead[0] if layer == 0 else lead[1] * both
            for _ in range(both):
                yield f"{layer}_ih_weight", (gates * lead[1], inputs)
                yield f"{layer}_hh_weight", (gates * lead[1], lead[1])
                if bias:
                    yield f"{layer}_bias", (2 * gates * lead[1],)
