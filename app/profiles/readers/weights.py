"""Checkpoints by what they say of their tensors: safetensors headers, their indexes, adapters.

A safetensors file starts with the length of its header in eight bytes and the header in JSON
(huggingface/safetensors, README); nothing behind it is read.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from app.errors import Message, Unprocessable
from app.profiles.architectures.tensors import TensorGroup, written
from app.profiles.bodies import ArchitectureBody
from app.profiles.documents import parse_json, printable, unreadable
from app.profiles.model import ModelProfile

MOST_HEADER = 20_000_000
MOST_TENSORS = 200_000
MOST_ELEMENTS = 1e13
LENGTH = 4096
"""Tokens of a sample, which no header gives."""


@dataclass(frozen=True, slots=True)
class WeightShapes:
    """Tensors by path and shape with their numbers; layers; and the widest vector of a norm."""

    counts: Counter[tuple[str, tuple[int, ...]]]
    layers: int
    hidden: int


def header_of(name: str, data: bytes) -> Mapping[str, object] | None:
    """Return the header of a safetensors file; None where it is none."""
    if len(data) < 10 or data[8:9] != b"{":
        return None
    size = int.from_bytes(data[:8], "little")
    if not 2 <= size <= MOST_HEADER:
        return None
    if len(data) < 8 + size:
        raise unreadable("{file} is cut off within the header of its tensors", file=name)
    header = parse_json(name, data[8 : 8 + size].decode("utf-8", "replace"))
    return header if isinstance(header, Mapping) else None


def weights_profile(name: str, header: Mapping[str, object]) -> ModelProfile:
    """Return a model by the shapes of its tensors; its compute is that of their products."""
    shapes: Counter[tuple[str, tuple[int, ...]]] = Counter()
    if len(header) > MOST_TENSORS:
        raise unreadable("{file} has more than {most} tensors", file=name, most=MOST_TENSORS)
    layers: set[str] = set()
    hidden = 0
    for path, entry in header.items():
        if path == "__metadata__":
            continue
        shape = entry.get("shape") if isinstance(entry, Mapping) else None
        if (
            not isinstance(shape, list)
            or len(shape) > 8
            or any(isinstance(size, bool) or not isinstance(size, int) or size < 0 for size in shape)
            or math.prod(shape) > MOST_ELEMENTS
        ):
            raise Unprocessable.at(
                f"file.{printable(path)}",
                "the shape of {tensor} is not a list of whole numbers",
                tensor=printable(path),
            )
        quantised = re.search(r"qweight|scales|qzeros|weight_packed|weight_scale|_absmax|quant_state", path)
        if quantised:
            raise unreadable(
                "{file} holds quantised weights ({tensor}), whose shapes are not those of the model; "
                "send config.json",
                file=name,
                tensor=printable(path),
            )
        if match := re.search(r"\.(\d+)\.", path):
            layers.add(match[0])
        shapes[re.sub(r"\.\d+(?=\.)", ".*", path)[:200], tuple(shape)] += 1
        if re.search(r"norm.*weight$", path) and len(shape) == 1:
            hidden = max(hidden, shape[0])
    return shapes_profile(name, WeightShapes(shapes, len(layers), hidden), [])


def shapes_profile(name: str, found: WeightShapes, doubts: list[Message]) -> ModelProfile:
    """Return a model of tensors of these shapes; refuse convolutions, whose positions they do not say."""
    shapes = found.counts
    if not shapes:
        raise unreadable("{file} lists no tensors", file=name)
    spatial = sum(
        math.prod(shape) * count
        for (_, shape), count in shapes.items()
        if len(shape) > 3 and max(shape[2:]) > 1
    )
    everything = sum(math.prod(shape) * count for (_, shape), count in shapes.items())
    if not 0 < everything <= MOST_ELEMENTS:
        raise unreadable("{file}: the sizes of its tensors are invalid", file=name)
    if spatial > everything / 2:
        raise unreadable(
            "{file} lists convolutions of {parameters} million parameters without their inputs; "
            "send torchinfo's summary with input_size and depth=20, or ONNX",
            file=name,
            parameters=round(everything / 1e6, 3),
        )
    parts: list[TensorGroup] = []
    for (path, shape), count in shapes.items():
        elements, words = float(math.prod(shape)), path.lower()
        if len(shape) >= 2 and not words.endswith("bias"):
            if re.search(r"embed|wte|wpe", words) and "proj" not in words:
                parts.append(
                    TensorGroup(name=path, kind="lookup", columns=shape[-1], weights=elements, count=count)
                )
            else:
                parts.append(
                    TensorGroup(
                        name=path,
                        kind="product",
                        inner=elements / max(shape[0], 1),
                        columns=shape[0],
                        weights=elements,
                        count=count,
                        last="lm_head" in words,
                        rows="scored" if "lm_head" in words else "tokens",
                    )
                )
        else:
            parts.append(TensorGroup(name=path, kind="vector", weights=elements, count=count))
    if any("expert" in path for path, _ in shapes):
        doubts.append(Message("a header does not say how many experts a token visits; all are counted"))
    doubts.append(
        Message("attention and the order of layers are not in a header: compute is that of the weights alone")
    )
    return ModelProfile(
        id="weights",
        name=printable(name, 80),
        family="llama",
        origin="layers",
        body=ArchitectureBody(
            "tensors",
            (
                ("depth", max(found.layers, 1)),
                ("heads", 0),
                ("hidden", found.hidden or 1),
                ("parts", written(parts)),
            ),
        ),
        assumptions=(Message("samples of {value} tokens are assumed", {"value": LENGTH}),),
        doubts=tuple(doubts),
        default_seq_len=LENGTH,
    )


def refuse_index(name: str, document: Mapping[str, object]) -> None:
    """Refuse an index of a checkpoint, which names tensors and gives no shapes."""
    if not isinstance(document.get("weight_map"), Mapping):
        return
    metadata = document.get("metadata")
    size = metadata.get("total_size") if isinstance(metadata, Mapping) else None
    size = size if isinstance(size, int | float) and not isinstance(size, bool) and 0 < size < 1e16 else 0
    raise unreadable(
        "{file} is the index of a checkpoint of {size} GB ({parameters} billion parameters at 2 bytes each): "
        "it names tensors without their shapes; send config.json, or the first part of the checkpoint",
        file=name,
        size=round(size / 1e9, 3),
        parameters=round(size / 2e9, 3),
    )


def refuse_adapter(name: str, document: Mapping[str, object]) -> None:
    """Refuse an adapter as a model of its own: its base decides the size."""
    if "peft_type" not in document:
        return
    raise unreadable(
        "{file} is an adapter ({kind}, rank {rank}) for {base}: send the configuration of {base} as the "
        "model, and state the kind of training lora with that rank",
        file=name,
        kind=printable(str(document.get("peft_type"))),
        rank=printable(str(document.get("r"))),
        base=printable(str(document.get("base_model_name_or_path") or "?")),
    )
