# mypy: ignore-errors
# torch and transformers are no part of this repository, so that nothing here has types.
"""Write data/model_types/TYPE.json: the tensors of every model type of huggingface/transformers as formulas.

Run by hand with ``torch`` (CPU) and ``transformers`` installed beside it; neither is needed by the product:

    python tools/model_types.py data/model_types [TYPE ...]

Each class is built on the meta device, without weights, from a configuration whose numbers remember their
fields. A tensor's size is then an expression of fields, a loop over layers has its count and what it decided
for each layer, and decisions are taken both ways, one field at a time. At other sizes drawn at random
the formulas must give the count of the library: the largest deviation is kept beside them.
"""

from __future__ import annotations

import dataclasses
import json
import math as _math
import operator
import random
import re
import sys
import types
import warnings
from pathlib import Path
from typing import Any

import torch
import transformers
from torch import nn
from torch.overrides import TorchFunctionMode
from transformers.configuration_utils import PretrainedConfig
from transformers.models.auto import modeling_auto
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from app.errors import AppError
from app.profiles.classes import read_class
from app.profiles.structures import ConfigScope, parameters_of

GROUPS = ("CAUSAL_LM", "SEQ_TO_SEQ_CAUSAL_LM", "MASKED_LM", "IMAGE_CLASSIFICATION", "IMAGE_TEXT_TO_TEXT",
          "SPEECH_SEQ_2_SEQ", "CTC", "OBJECT_DETECTION", "SEMANTIC_SEGMENTATION", "")  # fmt: skip
RAW = {
    "torch_dtype",
    "dtype",
    "transformers_version",
    "problem_type",
    "return_dict",
    "use_cache",
    "architectures",
}
TOP = ("top_k", "topk", "num_experts_per_tok", "num_experts_per_token", "k", "num_selected_experts",
       "moe_topk", "moe_k", "num_activated_experts", "experts_per_token")  # fmt: skip
WATCHED = ("transformers.models.", "transformers.modeling_layers", "transformers.pytorch_utils")
"""Modules whose loops and numbers are watched."""
VARIANTS = 4
GIVEN: dict[str, dict[str, Any]] = {
    "dots1": {
        "n_routed_experts": 16,
        "n_shared_experts": 2,
        "num_experts_per_tok": 4,
        "first_k_dense_replace": 1,
    },
    "hunyuan_v1_dense": {"head_dim": 128},
    "hunyuan_v1_moe": {"head_dim": 128, "num_experts": 16, "moe_topk": 2},
    "ministral": {"head_dim": 128},
    "lfm2_moe": {"layer_types": ["conv", "full_attention"] * 8, "num_hidden_layers": 16},
}
"""Fields that a class needs and has no default of."""
OTHER_LAYERS = {"attention", "full_attention"}
"""Kinds of layers that a class may take beside those it asks for by name."""
SIZES = 2
"""Sizes at which whole files are checked."""
DEPTH = re.compile(r"(num_hidden_layers|num_layers|n_layer|n_layers|depth|encoder_layers|decoder_layers)$")
FEW = 12
"""Layers of a class that is taken apart."""


# --- numbers that remember their fields -------------------------------------------------------------------


class Frames:
    """The loops that are running, and what each of their passes decided."""

    def __init__(self) -> None:
        self.stack: list[dict[str, Any]] = [{"loop": 0, "index": 0, "log": []}]
        self.counts: dict[int, str] = {}
        self.next = 1

    def note(self, expression: str, outcome: bool) -> None:
        self.stack[-1]["log"].append((expression, bool(outcome)))


FRAMES = Frames()


def text(value: object) -> str:
    if isinstance(value, Number):
        return value.expression
    if isinstance(value, Word):
        return value.expression
    if isinstance(value, str):
        return json.dumps(str(value))
    return repr(value)


class Number:
    expression: str

    def __deepcopy__(self, memo: object) -> Any:
        return self

    def __copy__(self) -> Any:
        return self

    def __reduce_ex__(self, version: int) -> Any:
        return (type(self), (self.plain(), self.expression))

    def __bool__(self) -> bool:
        outcome = bool(self.plain())
        FRAMES.note(self.expression, outcome)
        return outcome


class TrackedInteger(Number, int):
    def __new__(cls, value: int, expression: str) -> TrackedInteger:
        made = int.__new__(cls, value)
        made.expression = expression
        return made

    def plain(self) -> int:
        return int.__index__(self) + 0 if False else int.__add__(self, 0)

    __hash__ = int.__hash__

    def __round__(self, digits: int | None = None) -> Any:
        return self

    def __neg__(self) -> Any:
        return TrackedInteger(-self.plain(), f"(-{self.expression})")


class Real(Number, float):
    def __new__(cls, value: float, expression: str) -> Real:
        made = float.__new__(cls, value)
        made.expression = expression
        return made

    def plain(self) -> float:
        return float.__add__(self, 0.0)

    __hash__ = float.__hash__

    def __int__(self) -> int:
        return int(self.plain())

    def __round__(self, digits: int | None = None) -> Any:
        return (
            TrackedInteger(round(self.plain()), f"round({self.expression})")
            if digits is None
            else round(self.plain(), digits)
        )


def plain(value: object) -> Any:
    return value.plain() if isinstance(value, Number) else value


def wrapped(value: object, expression: str) -> Any:
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return TrackedInteger(value, expression)
    return Real(value, expression) if isinstance(value, float) else value


def _arithmetic(symbol: str, function: Any, *, swap: bool) -> Any:
    def method(self: Number, other: object) -> Any:
        if not isinstance(other, int | float) or isinstance(other, torch.Tensor):
            return NotImplemented
        left, right = (other, self) if swap else (self, other)
        return wrapped(function(plain(left), plain(right)), f"({text(left)}{symbol}{text(right)})")

    return method


def _comparison(symbol: str, function: Any) -> Any:
    def method(self: Number, other: object) -> Any:
        if not isinstance(other, int | float):
            return NotImplemented
        outcome = function(plain(self), plain(other))
        FRAMES.note(f"{text(self)}{symbol}{text(other)}", outcome)
        return outcome

    return method


for name, symbol in (("add", "+"), ("sub", "-"), ("mul", "*"), ("truediv", "/"), ("floordiv", "//"),
                     ("mod", "%"), ("pow", "**")):  # fmt: skip
    for kind in (TrackedInteger, Real):
        setattr(kind, f"__{name}__", _arithmetic(symbol, getattr(operator, name), swap=False))
        setattr(kind, f"__r{name}__", _arithmetic(symbol, getattr(operator, name), swap=True))
for name, symbol in (("eq", "=="), ("ne", "!="), ("lt", "<"), ("le", "<="), ("gt", ">"), ("ge", ">=")):
    for kind in (TrackedInteger, Real):
        setattr(kind, f"__{name}__", _comparison(symbol, getattr(operator, name)))


class Word(str):
    expression: str

    def __new__(cls, value: str, expression: str) -> Word:
        made = str.__new__(cls, value)
        made.expression = expression
        return made

    __hash__ = str.__hash__

    def __deepcopy__(self, memo: object) -> Word:
        return self

    def __eq__(self, other: object) -> Any:
        outcome = str.__eq__(self, other)
        if outcome is not NotImplemented:
            FRAMES.note(f"{self.expression}=={text(other)}", outcome)
        return outcome

    def __ne__(self, other: object) -> Any:
        outcome = self.__eq__(other)
        return outcome if outcome is NotImplemented else not outcome


class NumberList(list):
    expression = ""

    def __deepcopy__(self, memo: object) -> NumberList:
        return self

    def __getitem__(self, index: Any) -> Any:
        value = list.__getitem__(self, plain(index))
        if isinstance(index, Number):
            expression = f"{self.expression}[{index.expression}]"
            return Word(value, expression) if isinstance(value, str) else wrapped(plain(value), expression)
        return value

    def __contains__(self, value: object) -> bool:
        outcome = any(plain(entry) == plain(value) for entry in list.__iter__(self))
        FRAMES.note(f"{text(value)} in {self.expression}", outcome)
        return outcome

    def __iter__(self) -> Any:
        return _loop(
            f"len({self.expression})",
            lambda number: NumberList.__getitem__(self, TrackedInteger(number, FRAMES.stack[-1]["name"])),
            len(self),
        )


def _loop(count: str, value: Any, times: int, start: int = 0) -> Any:
    identifier = FRAMES.next
    FRAMES.next += 1
    FRAMES.counts[identifier] = count
    for number in range(times):
        FRAMES.stack.append({"loop": identifier, "index": number, "log": [], "name": f"_{identifier}"})
        frame = FRAMES.stack[-1]
        PASSES.append(frame)
        try:
            yield value(number)
        finally:
            while FRAMES.stack[-1] is not frame and len(FRAMES.stack) > 1 and frame in FRAMES.stack:
                FRAMES.stack.pop()
            if FRAMES.stack[-1] is frame:
                FRAMES.stack.pop()


PASSES: list[dict[str, Any]] = []


class _RangeKind(type):
    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, range)

    def __call__(cls, *bounds: Any) -> Any:
        if not any(isinstance(bound, Number) for bound in bounds):
            return range(*map(plain, bounds))
        first, last = (0, bounds[0]) if len(bounds) == 1 else bounds[:2]
        if len(bounds) == 3:
            return range(*map(plain, bounds))
        count = text(last) if plain(first) == 0 else f"({text(last)}-{text(first)})"

        def value(number: int) -> Any:
            name = FRAMES.stack[-1]["name"]
            return TrackedInteger(
                number + plain(first), name if plain(first) == 0 else f"({name}+{text(first)})"
            )

        return _loop(count, value, max(plain(last) - plain(first), 0))


class SpanKind(metaclass=_RangeKind):
    pass


class _IntKind(type):
    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, int)

    def __call__(cls, value: Any = 0, *more: Any) -> Any:
        if isinstance(value, TrackedInteger):
            return value
        if isinstance(value, Real):
            return TrackedInteger(int(value.plain()), f"int({value.expression})")
        return int(value, *more)


class IntegerKind(metaclass=_IntKind):
    pass


class Maths(types.ModuleType):
    """``math`` whose ceil and floor remember."""


MATHS = Maths("math")

for _name in dir(_math):
    setattr(MATHS, _name, getattr(_math, _name))
MATHS.ceil = lambda value: (
    TrackedInteger(_math.ceil(plain(value)), f"ceil({text(value)})")
    if isinstance(value, Number)
    else _math.ceil(value)
)
MATHS.floor = lambda value: (
    TrackedInteger(_math.floor(plain(value)), f"floor({text(value)})")
    if isinstance(value, Number)
    else _math.floor(value)
)


def bare(value: Any) -> Any:
    if isinstance(value, Number):
        return value.plain()
    if type(value) in (list, tuple, torch.Size) and any(isinstance(entry, Number) for entry in value):
        return type(value)(map(plain, value))
    return value


class SizeRecorder(TorchFunctionMode):
    """Keeps the expressions that a tensor was made with."""

    def __torch_function__(self, function: Any, kinds: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = function(*map(bare, args), **{name: bare(value) for name, value in (kwargs or {}).items()})
        if isinstance(made, torch.Tensor) and not hasattr(made, "sizes"):
            given = args[0] if args and isinstance(args[0], list | tuple) else args
            if "size" in (kwargs or {}):
                given = kwargs["size"]
            try:
                if all(isinstance(size, int) for size in given) and tuple(map(plain, given)) == tuple(
                    made.shape
                ):
                    made.sizes = [text(size) for size in given]
            except (TypeError, ValueError):
                pass
            if not hasattr(made, "sizes"):
                for arg in args:
                    if isinstance(arg, torch.Tensor) and hasattr(arg, "sizes") and arg.shape == made.shape:
                        made.sizes = arg.sizes
                        break
        return made


_parameter = nn.Parameter.__new__
_module = nn.Module.__init__


def _new_parameter(cls: Any, data: Any = None, requires_grad: bool = True) -> Any:
    made = _parameter(cls, data, requires_grad)
    if hasattr(data, "sizes"):
        made.sizes = data.sizes
    return made


def _new_module(self: nn.Module, *args: Any, **kwargs: Any) -> None:
    _module(self, *args, **kwargs)
    object.__setattr__(self, "born", list(FRAMES.stack))


# --- one class, one configuration -------------------------------------------------------------------------


def fields_of(config: PretrainedConfig, prefix: str = "") -> dict[str, Any]:
    """Return the fields of a configuration and of those inside it, by path."""
    found: dict[str, Any] = {}
    for name, value in config.__dict__.items():
        if name.startswith("_") or name in RAW:
            continue
        if isinstance(value, PretrainedConfig):
            found |= fields_of(value, f"{prefix}{name}.")
        elif (
            value is None
            or isinstance(value, bool | int | float | str)
            or (
                isinstance(value, list | tuple)
                and value
                and all(isinstance(entry, int | float | str) for entry in value)
            )
        ):
            found[prefix + name] = list(value) if isinstance(value, tuple) else value
        elif isinstance(value, dict) and name in ("attn_config", "ffn_config"):
            pass
    return found


def remember(config: PretrainedConfig, prefix: str = "") -> None:
    for name, value in list(config.__dict__.items()):
        if name.startswith("_") or name in RAW or name in ("id2label", "label2id"):
            continue
        path = prefix + name
        if isinstance(value, PretrainedConfig):
            remember(value, f"{path}.")
        elif isinstance(value, bool | int):
            config.__dict__[name] = TrackedInteger(int(value), path)
        elif isinstance(value, float):
            config.__dict__[name] = Real(value, path)
        elif isinstance(value, str):
            config.__dict__[name] = Word(value, path)
        elif (
            isinstance(value, list | tuple)
            and value
            and all(isinstance(entry, int | float | str) for entry in value)
        ):
            listing = NumberList(
                Word(entry, f"{path}[{number}]")
                if isinstance(entry, str)
                else wrapped(int(entry) if isinstance(entry, bool) else entry, f"{path}[{number}]")
                for number, entry in enumerate(value)
            )
            listing.expression = path
            config.__dict__[name] = listing


def usual_config(kind: str) -> PretrainedConfig:
    return CONFIG_MAPPING[kind](**GIVEN.get(kind, {}))


def made_config(kind: str, changes: dict[str, Any]) -> PretrainedConfig:
    cls, changes = CONFIG_MAPPING[kind], {**GIVEN.get(kind, {}), **changes}
    nested: dict[str, Any] = {}
    for path, value in changes.items():
        at = nested
        *parents, last = path.split(".")
        for parent in parents:
            at = at.setdefault(parent, {})
        at[last] = value
    if any(isinstance(value, dict) for value in nested.values()):
        usual = cls().to_dict()
        for name, value in nested.items():
            if isinstance(value, dict):
                under = dict(usual.get(name) or {})
                derived = {key for key in under if key in ("layer_types", "mlp_layer_types")}
                under = {key: entry for key, entry in under.items() if key not in derived}
                for inner, more in list(value.items()):
                    if isinstance(more, dict):
                        value[inner] = {**(under.get(inner) or {}), **more}
                nested[name] = {**under, **value}
    return cls(**nested)


def kind_of(module: nn.Module, name: str, tensor: torch.Tensor, path: str) -> str:
    if isinstance(module, nn.Embedding):
        return "embedding"
    if "Conv" in type(module).__name__ and hasattr(module, "kernel_size") and name == "weight":
        return "depthwise" if getattr(module, "groups", 1) > 1 else "convolution"
    if tensor.dim() == 2 and name == "weight" and type(module).__name__ == "Conv1D":
        return "turned"
    if tensor.dim() == 3 and re.search("expert", path):
        return "experts"
    if tensor.dim() == 2 and (name == "weight" or isinstance(module, nn.Linear) or name.endswith("_weight")):
        return "linear"
    return "vector"


def trace(
    kind: str, architecture: str, changes: dict[str, Any], nones: list[str], words: dict[str, str]
) -> dict[str, Any]:
    """Return the tensors of a class as passes of loops: what each decided, and the lines it made."""
    config = made_config(kind, changes)
    for path in nones:
        at: Any = config
        *parents, last = path.split(".")
        for parent in parents:
            at = getattr(at, parent)
        at.__dict__[last] = None
    values = fields_of(config)
    FRAMES.__init__()
    PASSES.clear()
    remember(config)
    cls = getattr(transformers, architecture)
    patched = []
    for module in list(sys.modules.values()):
        title = getattr(module, "__name__", "")
        if title.startswith(WATCHED):
            module.__dict__["range"] = SpanKind
            module.__dict__["int"] = IntegerKind
            if "math" in module.__dict__:
                module.__dict__["math"] = MATHS
            patched.append(module)
    nn.Parameter.__new__ = _new_parameter
    nn.Module.__init__ = _new_module
    try:
        with torch.device("meta"), SizeRecorder():
            model = cls(config)
    finally:
        nn.Parameter.__new__ = _parameter
        nn.Module.__init__ = _module
        for module in patched:
            del module.__dict__["range"], module.__dict__["int"]
            if "math" in module.__dict__:
                module.__dict__["math"] = _math
    passes: dict[tuple[Any, ...], dict[str, Any]] = {}
    patterns: dict[str, str] = {}

    def frame_of(loop: str, instance: tuple[Any, ...], log: Any) -> dict[str, Any]:
        return passes.setdefault((loop, instance), {"loop": loop, "log": log, "items": set()})

    frame_of("", (), FRAMES.stack[0]["log"])
    top: str | None = None
    for module in model.modules():
        for name in TOP:
            value = module.__dict__.get(name)
            if (
                isinstance(value, TrackedInteger)
                and top is None
                and re.search("tok|top|expert|select|moe|_k", value.expression)
            ):
                top = value.expression
    modules = dict(model.named_modules())
    for path, tensor in model.named_parameters():
        owner, _, name = path.rpartition(".")
        parts = path.split(".")
        pattern: list[str] = []
        loop, instance, outer, renames = "", (), [], {}
        frames_before = 1
        for position, part in enumerate(parts[:-1]):
            module = modules[".".join(parts[: position + 1])]
            born = module.__dict__.get("born", [])
            fresh = born[frames_before:]
            if part[-1:].isdigit() and fresh:
                pattern.append(re.sub(r"\d+$", "*", part))
                frames_before = len(born)
                for frame in fresh:
                    renames[frame["name"]] = f"i{len(outer)}"
                outer.append((".".join(pattern), fresh))
            else:
                pattern.append(part)
        pattern.append(name)
        # Walk down the loops; every pass keeps the loop inside it as an item.
        for loop_path, fresh in outer:
            count = rename("*".join(FRAMES.counts[frame["loop"]] for frame in fresh), renames)
            if FOREIGN.search(count):
                count = guess(sum(entry["loop"] == fresh[-1]["loop"] for entry in PASSES), values)
            frame_of(loop, instance, None)["items"].add(("loop", loop_path, count))
            instance = (*instance, *(frame["index"] for frame in fresh))
            loop = loop_path
            log = [
                (renamed, outcome)
                for frame in fresh
                for expression, outcome in frame["log"]
                if not FOREIGN.search(renamed := rename(expression, renames))
            ]
            frame_of(loop, instance, log)
        sizes = getattr(tensor, "sizes", None)
        if sizes is None or len(sizes) != tensor.dim():
            sizes = [guess(size, values) for size in tensor.shape]
        owner_module = modules[owner] if owner else model
        line = (
            "line",
            ".".join(pattern),
            kind_of(owner_module, name, tensor, path),
            tuple(
                known(rename(size, renames), length, values)
                for size, length in zip(sizes, tensor.shape, strict=True)
            ),
        )
        frame = frame_of(loop, instance, None)
        number = sum(entry[:4] == line for entry in frame["items"])
        frame["items"].add((*line, number))
        patterns[path] = ".".join(pattern)
    first = {id(tensor): path for path, tensor in model.named_parameters()}
    tied = {}
    for path, tensor in model.named_parameters(remove_duplicate=False):
        if (
            path != first[id(tensor)]
            and path.endswith("weight")
            and isinstance(modules[path.rpartition(".")[0]], nn.Linear)
        ):
            tied[path] = patterns[first[id(tensor)]]
    total = sum(parameter.numel() for parameter in model.parameters())
    return {
        "passes": list(passes.values()),
        "total": total,
        "values": values,
        "top": top,
        "tied": tied,
        "patterns": patterns,
    }


def rows_of(
    kind: str, architecture: str, few: dict[str, Any], patterns: dict[str, str], values: dict[str, Any]
) -> dict[str, Any]:
    """Return the products that run on more or fewer rows than there are tokens, by tensor."""
    torch.set_default_dtype(torch.bfloat16)
    try:
        with torch.device("meta"):
            model = getattr(transformers, architecture)(made_config(kind, few)).eval()
    finally:
        torch.set_default_dtype(torch.float32)
    counted: dict[str, float] = {}

    def hook(path: str) -> Any:
        def count(module: nn.Module, args: Any, output: Any) -> None:
            # A product of groups meets a row once with each group's share of the weight.
            if isinstance(output, torch.Tensor):
                width = getattr(module, "out_features", output.shape[-1])
                counted[path] = counted.get(path, 0.0) + output.numel() / max(width, 1)

        return count

    for path, module in model.named_modules():
        if isinstance(module, nn.Linear) or type(module).__name__ == "Conv1D":
            module.register_forward_hook(hook(path))
    try:
        with torch.no_grad():
            model(input_ids=torch.zeros((1, 128), dtype=torch.long, device="meta"))
    except Exception as error:
        print(
            "   ", kind, architecture, "no forward:", type(error).__name__, str(error)[:80], file=sys.stderr
        )
        return {}
    shares: dict[str, list[float]] = {}
    for path, pattern in patterns.items():
        owner, _, name = path.rpartition(".")
        if name == "weight" and owner in dict.fromkeys(counted):
            shares.setdefault(pattern, []).append(counted[owner] / 128)
        elif name == "weight" and isinstance(model.get_submodule(owner), nn.Linear):
            shares.setdefault(pattern, []).append(0.0)
    found: dict[str, Any] = {}
    for pattern, entries in shares.items():
        ratio = sum(entries) / len(entries)
        if abs(ratio - 1) > 0.02 and "expert" not in pattern:
            layers = [
                name
                for name, value in values.items()
                if value == ratio and re.search("layers?$|loops?|n_layer|depth", name)
            ]
            found[pattern] = layers[0] if len(layers) == 1 else round(ratio, 6)
    return found


FOREIGN = re.compile(r"\b_\d+\b")


def known(expression: str, size: int, values: dict[str, Any]) -> str:
    """Return an expression, unless it speaks of a loop that the tensor is not in."""
    return guess(size, values) if FOREIGN.search(expression) else expression


def rename(expression: str, names: dict[str, str]) -> str:
    return re.sub(r"\b_\d+\b", lambda match: names.get(match[0], match[0]), expression)


def guess(size: int, values: dict[str, Any]) -> str:
    """Return the only field of that value, else the number."""
    names = [
        name
        for name, value in values.items()
        if value == size and not isinstance(value, bool) and "token" not in name
    ]
    return names[0] if len(names) == 1 and size > 8 else str(size)


# --- decisions --------------------------------------------------------------------------------------------

FIELD = re.compile(r"[A-Za-z_][\w.]*")


def tree_of(sequences: list[tuple[dict[str, bool], Any]]) -> Any:
    """Return nested decisions [expression, if true, if false] whose leaves are what the passes led to."""
    leaves = {leaf for _, leaf in sequences}
    if len(leaves) == 1:
        return leaves.pop()
    for expression in dict.fromkeys(expression for log, _ in sequences for expression in log):
        sides: dict[bool | None, list[Any]] = {True: [], False: [], None: []}
        for entry in sequences:
            sides[entry[0].get(expression)].append(entry)
        if sides[True] and sides[False] and not sides[None]:
            yes, no = tree_of(sides[True]), tree_of(sides[False])
            return yes if yes == no else [expression, yes, no]
    # Nothing that was asked tells them apart: the usual one.
    return max(leaves, key=lambda leaf: sum(entry[1] == leaf for entry in sequences))


def variants(kind: str, architecture: str, base: dict[str, Any]) -> list[tuple[dict[str, Any], list[str]]]:
    """Return the changes that take each decision the other way, one at a time, and some together."""
    values = base["values"]
    asked = {expression for entry in base["passes"] for expression, _ in entry["log"] or ()}
    single: list[tuple[dict[str, Any], list[str]]] = []
    for name, value in values.items():
        if (
            isinstance(value, bool)
            and any(re.search(rf"(?<![\w.]){re.escape(name)}(?![\w.\[])", text) for text in asked)
        ) or (isinstance(value, bool) and re.search("bias|tie|norm|gate|experts|pool|share|use_", name)):
            single.append(({name: not value}, []))
        elif isinstance(value, int) and not isinstance(value, bool):
            if any(
                text
                in (name, f"{name}>0", f"{name}!=0", f"{name}==0", f"{name}>1", f"{name}==1", f"{name}>=1")
                for text in asked
            ):
                single += [({name: 0}, []), ({name: 2}, [])]
        elif isinstance(value, str):
            for text in asked:
                match = re.fullmatch(rf'{re.escape(name)}=="([\w-]+)"', text)
                if match and match[1] != value:
                    single.append(({name: match[1]}, []))
        elif isinstance(value, list) and value and isinstance(value[0], str):
            options = {
                match[1]
                for text in asked
                if (match := re.fullmatch(rf'{re.escape(name)}\[.*\]=="([\w-]+)"', text))
            }
            for option in options | set(value) | OTHER_LAYERS:
                single.append(({name: [option] * len(value)}, []))
    return single


def optional_fields(kind: str, values: dict[str, Any], cls: Any = None, prefix: str = "") -> list[str]:
    """Return the fields that may be None by their declaration and are whole numbers now, or None now."""
    cls = cls or CONFIG_MAPPING[kind]
    found = []
    if dataclasses.is_dataclass(cls):
        for entry in dataclasses.fields(cls):
            path = prefix + entry.name
            if (
                "None" not in str(entry.type)
                or path.endswith(("token_id", "token_index"))
                or path not in values
            ):
                continue
            if values[path] is None or (isinstance(values[path], int) and not isinstance(values[path], bool)):
                found.append(path)
    return found


def signature(traced: dict[str, Any]) -> Any:
    return sorted((entry["loop"], sorted(map(repr, entry["items"]))) for entry in traced["passes"])


def structure(kind: str, architecture: str) -> dict[str, Any] | None:
    with torch.device("meta"):  # Loads the modules of all parts, so that their loops are watched.
        getattr(transformers, architecture)(usual_config(kind))
    base, few = None, {}
    usual = fields_of(usual_config(kind))
    many = {
        name: FEW
        for name, value in usual.items()
        if DEPTH.search(name) and isinstance(value, int) and value > FEW
    }
    for fewer in (many, {name: value for name, value in many.items() if name.startswith(("num_", "text_"))}):
        try:
            base, few = trace(kind, architecture, fewer, [], {}), fewer
            break
        except Exception:
            continue
    base = base or trace(kind, architecture, {}, [], {})
    values = base["values"]
    runs: list[tuple[dict[str, Any], dict[str, bool]]] = [(base, {})]
    relevant_none: list[str] = []
    plan = [(changes, nones, None) for changes, nones in variants(kind, architecture, base)]
    for name in optional_fields(kind, values):
        if re.search(
            "rank|head|dim|size|experts|layers|groups|width|ratio|window|latent|freq|inter|ffn|hidden|num_|n_",
            name,
        ):
            absent = values[name] is None
            plan += [({name: 8} if absent else {}, [] if absent else [name], name)]
    plain_signature = signature(base)
    effective: list[dict[str, Any]] = []
    for changes, nones, optional in plan[:24]:
        try:
            traced = trace(kind, architecture, few | changes, nones, {})
        except Exception:
            continue
        if signature(traced) != plain_signature:
            if optional:
                relevant_none.append(optional)
            runs.append((traced, {}))
            if not nones:
                effective.append(changes)
    chance = random.Random(1)
    for _ in range(VARIANTS if len(effective) > 1 else 0):
        chosen = chance.sample(effective, min(len(effective), chance.randint(2, 3)))
        try:
            runs.append(
                (
                    trace(
                        kind, architecture, few | {k: v for part in chosen for k, v in part.items()}, [], {}
                    ),
                    {},
                )
            )
        except Exception:
            continue
    loops: dict[str, list[Any]] = {}
    for traced, _ in runs:
        leading = [(f"is_none({name})", traced["values"].get(name) is None) for name in relevant_none]
        for entry in traced["passes"]:
            log = list(dict([*leading, *(entry["log"] or [])]).items())
            loops.setdefault(entry["loop"], []).append((log, tuple(sorted(entry["items"]))))
    trees = {}
    for loop, sequences in loops.items():
        distinct = list(
            {(tuple(log), items): (dict(log), frozenset(items)) for log, items in sequences}.values()
        )[:600]
        every = sorted({item for _, items in distinct for item in items}, key=repr)
        rows = []
        for item in every:
            guard = tree_of([(log, item in items) for log, items in distinct])
            entry = [item[1], *item[2:3]] if item[0] == "loop" else [item[1], item[2], list(item[3])]
            if guard is not False:
                rows.append(entry if guard is True else [*entry, guard])
        trees[loop] = rows
    tied: dict[str, str] = {}
    for traced, _ in runs:
        tied |= traced["tied"]
    made = {"loops": trees, "top": base["top"], "tied": tied}
    if re.search("LM|Causal|Conditional", architecture):
        made["rows"] = rows_of(kind, architecture, few, base["patterns"], values)
    return made


def defaults_of(kind: str) -> dict[str, Any]:
    """Return the class defaults; a field that the class derives from others is an expression of them."""
    cls = CONFIG_MAPPING[kind]
    return derived(cls(), cls, {})


def derived(config: PretrainedConfig, cls: Any, given: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    declared = (
        {
            entry.name: entry.default
            for entry in dataclasses.fields(cls)
            if entry.default is not dataclasses.MISSING
        }
        if dataclasses.is_dataclass(cls)
        else {}
    )
    symbolic: dict[str, Any] = {}
    try:
        wrappeds = {
            name: TrackedInteger(value, name)
            for name, value in declared.items()
            if isinstance(value, int) and not isinstance(value, bool) and name not in RAW
        }
        FRAMES.__init__()
        PASSES.clear()
        module = sys.modules[cls.__module__]
        module.__dict__["int"], module.__dict__["range"] = IntegerKind, SpanKind
        try:
            symbolic = cls(**wrappeds).__dict__
        finally:
            del module.__dict__["int"], module.__dict__["range"]
    except Exception:
        symbolic = {}
    loops: dict[int, list[Any]] = {}
    for frame in PASSES:
        loops.setdefault(frame["loop"], []).append(frame["log"])
    counts = dict(FRAMES.counts)
    for name, value in config.__dict__.items():
        if name.startswith("_") or name in RAW or name in ("id2label", "label2id"):
            continue
        if isinstance(value, PretrainedConfig):
            found[name] = {"type": value.model_type, "fields": derived(value, type(value), {})}
        elif (
            value is None
            or isinstance(value, bool | int | float | str)
            or (
                isinstance(value, list | tuple)
                and all(isinstance(entry, int | float | str) for entry in value)
            )
        ):
            made = symbolic.get(name)
            if isinstance(made, Number) and made.expression != name:
                found[name] = {"is": made.expression}
            elif (
                isinstance(value, list | tuple)
                and isinstance(made, list)
                and len(made) > 2
                and declared.get(name) is None
            ):
                rule = None
                for loop, logs in loops.items():
                    if len(logs) == len(made) and counts[loop] not in ("",):
                        rows = [
                            (
                                {rename(e, {f"_{loop}": "i0"}): o for e, o in log},
                                plain(entry) if not isinstance(entry, str) else str(entry),
                            )
                            for log, entry in zip(logs, made, strict=True)
                        ]
                        rule = {"each": counts[loop], "tree": tree_of(rows)}
                if rule is None and len(set(map(str, made))) == 1:
                    fields = [
                        n
                        for n, v in config.__dict__.items()
                        if v == len(made) and re.search("layers?$|n_layer", n)
                    ]
                    if fields:
                        rule = {
                            "each": fields[0],
                            "tree": str(made[0]) if isinstance(made[0], str) else plain(made[0]),
                        }
                found[name] = rule or [
                    plain(entry) if not isinstance(entry, str) else str(entry) for entry in value
                ]
            else:
                found[name] = list(value) if isinstance(value, tuple) else value
    return found


def sized(kind: str, values: dict[str, Any], chance: random.Random) -> dict[str, Any]:
    """Return other sizes: widths doubled, layers changed."""
    changes: dict[str, Any] = {}
    for name, value in values.items():
        last = name.rsplit(".", 1)[-1]
        if isinstance(value, bool) or not isinstance(value, int) or value < 4:
            continue
        if re.search("layers?$|n_layer|depth$", last) and "dense" not in last:
            changes[name] = value + chance.choice([-2, 2, 4])
        elif re.search(
            "^(hidden_size|d_model|n_embd|intermediate_size|d_ff|ffn_dim|vocab_size|moe_intermediate_size|num_experts|num_local_experts|n_routed_experts|max_position_embeddings|n_inner)$",
            last,
        ):
            changes[name] = value * 2
    for name, value in values.items():
        if (
            isinstance(value, bool)
            and re.search("bias|tie_word|norm|gate|pool|use_", name)
            and chance.random() < 0.2
        ):
            changes[name] = not value
    return {name: value for name, value in changes.items() if chance.random() < 0.7}


def deviation(
    kind: str, architecture: str, entry: dict[str, Any], defaults: dict[str, Any], aliases: Any
) -> tuple[float, int]:
    """Return the largest deviation of the count at other sizes, and how many sizes could be built."""
    chance = random.Random(kind)
    worst, tried = 0.0, 0
    base = fields_of(usual_config(kind))
    for attempt in range(4):
        changes = sized(kind, base, chance) if attempt else {}
        try:
            config = made_config(kind, changes)
            with torch.device("meta"):
                true = sum(
                    tensor.numel() for tensor in getattr(transformers, architecture)(config).parameters()
                )
        except Exception:
            continue
        tried += 1
        try:
            scope = ConfigScope(json.loads(json.dumps(fields_of(config))))
            ours = parameters_of(entry, scope)
        except Exception as error:
            print("   ", kind, architecture, type(error).__name__, str(error)[:120], file=sys.stderr)
            return 9.0, tried
        worst = max(worst, abs(ours - true) / true)
    return worst, tried


def checked(kind: str, folder: Path) -> None:
    """Write the largest deviation of whole files: as the library writes them, at other sizes as well."""
    path = folder / f"{kind}.json"
    entry = json.loads(path.read_text(encoding="utf-8"))
    base = fields_of(usual_config(kind))
    for architecture, made in entry["architectures"].items():
        chance = random.Random(kind)
        worst, tried, why = 0.0, 0, ""
        for attempt in range(SIZES):
            changes = sized(kind, base, chance) if attempt else {}
            try:
                config = made_config(kind, changes)
                with torch.device("meta"):
                    true = sum(
                        tensor.numel() for tensor in getattr(transformers, architecture)(config).parameters()
                    )
                files = [config.to_dict(), config.to_diff_dict()]
            except Exception:
                continue
            tried += 1
            for file in files:
                document = {
                    **json.loads(json.dumps(file, default=str)),
                    "model_type": kind,
                    "architectures": [architecture],
                }
                try:
                    ours = read_class(document, "config", known=entry).parameters
                except AppError as error:
                    worst, why = 9.0, str(error)[:100]
                    continue
                if abs(ours - true) / true > worst:
                    worst, why = abs(ours - true) / true, str(changes)[:160]
        made["deviation"], made["tried"] = round(min(worst, 9.0), 4), tried
        if worst > 0.001:
            print(f"{kind} {architecture} deviation {worst:.4f} of {tried}: {why}", flush=True)
    path.write_text(json.dumps(entry, separators=(",", ":"), sort_keys=True) + "\n", encoding="utf-8")


def main() -> None:
    warnings.simplefilter("ignore")
    transformers.logging.set_verbosity_error()
    convolutions = (
        nn.Conv1d,
        nn.Conv2d,
        nn.Conv3d,
        nn.ConvTranspose1d,
        nn.ConvTranspose2d,
        nn.ConvTranspose3d,
    )
    for layer in (nn.Linear, nn.Embedding, *convolutions):
        layer.reset_parameters = lambda self: None
    target, *wanted = sys.argv[1:]
    if wanted[:1] == ["check"]:
        wanted = wanted[1:]
        share, of = (
            (int(part) for part in wanted.pop(0).split("/")) if wanted and "/" in wanted[0] else (0, 1)
        )
        for number, path in enumerate(sorted(Path(target).glob("*.json"))):
            if number % of == share and (not wanted or path.stem in wanted):
                checked(path.stem, Path(target))
        return
    share, of = (int(part) for part in wanted.pop(0).split("/")) if wanted and "/" in wanted[0] else (0, 1)
    jobs: dict[str, list[str]] = {}
    for group in GROUPS:
        names = getattr(modeling_auto, f"MODEL_FOR_{group}_MAPPING_NAMES" if group else "MODEL_MAPPING_NAMES")
        for kind, architecture in names.items():
            for one in architecture if isinstance(architecture, tuple | list) else [architecture]:
                if kind in CONFIG_MAPPING and (group or kind not in jobs):
                    jobs.setdefault(kind, [])
                    if one not in jobs[kind]:
                        jobs[kind].append(one)
    for number, (kind, architectures) in enumerate(jobs.items()):
        if (wanted and kind not in wanted) or number % of != share:
            continue
        if not wanted and (Path(target) / f"{kind}.json").exists():
            continue
        try:
            cls = CONFIG_MAPPING[kind]
            entry: dict[str, Any] = {
                "defaults": defaults_of(kind),
                "aliases": dict(getattr(cls, "attribute_map", {}) or {}),
                "architectures": {},
            }
        except Exception as error:
            print(kind, "no configuration", str(error)[:100], file=sys.stderr)
            continue
        for architecture in architectures:
            try:
                made = structure(kind, architecture)
            except Exception as error:
                print(
                    kind, architecture, "not traced:", type(error).__name__, str(error)[:160], file=sys.stderr
                )
                continue
            worst, tried = deviation(kind, architecture, made, entry["defaults"], entry["aliases"])
            made["deviation"] = round(worst, 4)
            made["tried"] = tried
            entry["architectures"][architecture] = made
            print(
                f"{kind} {architecture} deviation {worst:.4f} of {tried} {len(json.dumps(made))}", flush=True
            )
        entry["version"] = transformers.__version__
        text = json.dumps(entry, separators=(",", ":"), sort_keys=True)
        if not entry["architectures"]:
            continue
        (Path(target) / f"{kind}.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
