"""Parts of a network from the tensors of its class, each on the rows of a sample that it runs on."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from app.errors import Message
from app.profiles.architectures.tensors import TensorGroup, written
from app.profiles.bodies import ArchitectureBody
from app.profiles.classes import LAST, TensorReading
from app.profiles.documents import printable
from app.profiles.model import LONGEST_TAKEN, ModelProfile
from app.profiles.transformer import TARGET_SHARE

AUDIO_FRAMES = 1500
"""Frames of 30 s of speech behind Whisper's convolutions."""
PATCH = 16
"""Side of a patch where a class does not say, as in ViT. [pixels]"""
ATTENTION_OUT = re.compile(
    r"att.*\.(o_proj|out_proj|c_proj|dense|wo|to_out(\.\d+)?|proj|out|o_b_proj|output\.dense|linear_out|o|out_lin)\.weight$"
)
QUERY = re.compile(r"att.*\.(q_proj|query|q_b_proj|q|q_lin)\.weight$")
LINEAR_ATTENTION = re.compile(r"linear_att|mamba|ssm|\.gdn|lightning|recurrent|time_mix|conv|bottleneck")
TOWER = re.compile(
    r"vision|visual|image|img|pixel|patch|projector|connector|merger|resampler|aligner|qformer|perceiver|vit|siglip|clip"
)
SOUND = re.compile(r"audio|speech|whisper|conformer|wav2vec|feature_extractor|feature_projection|sound")
CROSS = re.compile(r"encoder_attn|crossattention|\.cross_attn|EncDecAttention")
ENCODER, DECODER = re.compile(r"(^|\.)encoder\."), re.compile(r"(^|\.)(decoder|lm_head)\.")
DECODER_LAYER = re.compile(r"(^|\.)decoder\.\w+\.")


def parts_of(reading: TensorReading) -> tuple[list[TensorGroup], tuple[Message, ...]]:
    """Return the parts of a network from its tensors, and what was assumed of the rows of its products."""
    scope, structure = reading.scope, reading.structure
    values = scope.values
    assumptions: list[Message] = []
    paths = [tensor.path for tensor in reading.tensors]
    both = (
        not reading.architecture.endswith(("ForCausalLM", "LMHeadModel", "ForMaskedLM"))
        and any(ENCODER.search(path) for path in paths)
        and any(DECODER_LAYER.search(path) for path in paths)
        and not any(TOWER.search(path) for path in paths)
    )
    top = _top(structure, values)
    ratios = structure.get("rows") or {}
    patch, frames = _side(values, "patch_size", PATCH), AUDIO_FRAMES
    alone = _alone(reading)
    text_alone = reading.architecture.endswith("ForCausalLM")
    stated = values.get("sliding_window")
    window = float(stated or 0) if isinstance(stated, int | float) else 0.0
    kinds = values.get("layer_types")
    sliding = kinds.count("sliding_attention") / len(kinds) if isinstance(kinds, list) and kinds else 0.0
    queries: dict[str, int] = {}
    for tensor in reading.tensors:
        if QUERY.search(tensor.path) and len(tensor.sizes) == 2:
            queries[tensor.path.rpartition(".")[0].rpartition(".")[0]] = tensor.sizes[0]
    heads = max(_heads(values), 1)
    parts: list[TensorGroup] = []
    seen: set[str] = set()
    for tensor, count in reading.tensors.items():
        if not tensor.elements:
            continue
        path, sizes = tensor.path, tensor.sizes
        rows, share = "tokens", 1.0
        last = bool(LAST.search(path))
        if SOUND.search(path):
            rows, share = "sound", 0.0 if text_alone else float(frames)
        elif TOWER.search(path):
            rows, share = "image", 1.0 / patch**2
        elif both and DECODER.search(path):
            rows = "target"
        if last:
            rows, share = ("target" if both else "scored"), 1.0
        if CROSS.search(path) and reading.architecture.endswith("ForCausalLM"):
            share = 0.0  # There is no other sequence to attend to.
        ratio = ratios.get(path)
        if ratio is not None and rows == "tokens":
            share = float(scope.value(ratio) if isinstance(ratio, str) else ratio)
        if alone:
            rows, share = (alone, float(frames) if alone == "fixed" else 1.0 / patch**2)
        elif rows in ("image", "sound"):
            seen.add(rows)
            rows = "image" if rows == "image" else "fixed"
        common: dict[str, Any] = {
            "name": path,
            "count": float(count),
            "weights": float(tensor.elements),
            "rows": rows,
            "share": share,
            "last": last,
        }
        routed = bool(re.search(r"\bexperts\b|\.expert|experts\.", path)) and "shared" not in path
        active, product = 1.0, common | {"kind": "product"}
        if tensor.kind == "embedding":
            lookup = common | {"kind": "lookup", "columns": float(sizes[-1])}
            if re.search("emb|wte|wpe|shared|word|token", path):
                lookup |= {"last": False, "rows": rows if rows != "scored" else "tokens"}
            parts.append(TensorGroup(**lookup))
        elif tensor.kind == "experts" or (routed and len(sizes) == 3):
            active = min(top / sizes[0], 1.0) if top else 1.0
            shape: dict[str, Any] = {
                "inner": float(sizes[2]),
                "columns": float(sizes[1]),
                "batch": float(sizes[0]),
            }
            parts.append(TensorGroup(**product, **shape, active=active))
        elif routed and len(sizes) == 2:
            active = min(top / max(_experts(values), 1), 1.0) if top else 1.0
            parts.append(
                TensorGroup(**product, inner=float(sizes[1]), columns=float(sizes[0]), active=active)
            )
        elif len(sizes) >= 2 and tensor.kind in ("linear", "turned", "convolution"):
            inner, columns = float(tensor.elements / sizes[0]), float(sizes[0])
            if tensor.kind == "turned":
                inner, columns = float(sizes[0]), float(sizes[1])
            parts.append(TensorGroup(**product, inner=inner, columns=columns))
            attends = ATTENTION_OUT.search(path) and not LINEAR_ATTENTION.search(path)
            if not attends or tensor.kind == "convolution":
                continue
            width = (inner + queries.get(path.rpartition(".")[0].rpartition(".")[0], inner)) / 2
            # A layer that runs several times attends to its own tokens each time.
            times = share if rows == "tokens" and share > 1 else 1.0
            windowed = bool(window) and rows == "tokens"
            for slid, part_share in ((True, sliding), (False, 1.0 - sliding)):
                if slid and not (part_share and windowed):
                    continue
                attention = {
                    "name": path.replace("weight", "attention"),
                    "kind": "attention",
                    "inner": width / heads,
                    "batch": float(heads),
                    "weights": 0.0,
                    "columns": width,
                    "count": count * times * (part_share if windowed else 1.0),
                    "share": share / times,
                    "window": window if slid else 0.0,
                }
                parts.append(TensorGroup(**common | attention))
        else:
            parts.append(TensorGroup(**common, kind="vector"))
    for path, source in (structure.get("tied") or {}).items():
        origin = next((t for t in reading.tensors if t.path == source), None)
        if alone or any(part.name == path for part in parts) or origin is None or origin.kind != "embedding":
            continue
        if origin is not None and len(origin.sizes) == 2:
            parts.append(
                TensorGroup(
                    name=path,
                    kind="product",
                    inner=float(origin.sizes[1]),
                    columns=float(origin.sizes[0]),
                    rows="target" if both else "scored",
                    last=True,
                )
            )
    parts += _scans(reading)
    if "image" in seen:
        assumptions.append(
            Message("no image is counted in a sample; state image_size to count one of that size a sample")
        )
    if "sound" in seen:
        recorded = Message("one recording of {count} frames a sample is assumed", {"count": frames})
        assumptions.append(Message("no recording is counted in a sample") if text_alone else recorded)
    return parts, tuple(assumptions)


def _scans(reading: TensorReading) -> list[TensorGroup]:
    """Return the recurrences of Mamba-2 blocks, computed by chunks.

    Their widths follow from the tensors: with an inner width d, a heads, states of n elements and chunks
    of q tokens a token costs 2 q (a n + d) + 4 n d. The library repeats the states of a group for every head
    of it; kernels that do not (app.engine.operators.state_space) compute up to 4 % less of a model.
    """
    values, parts = reading.scope.values, []
    blocks = {
        tensor.path.rpartition(".")[0]: (tensor, count)
        for tensor, count in reading.tensors.items()
        if tensor.path.endswith(".A_log") and len(tensor.sizes) == 1 and not ATTENDING.search(tensor.path)
    }
    by_path = {tensor.path: tensor for tensor in reading.tensors}
    for block, (decay, count) in blocks.items():
        convolved, out = by_path.get(f"{block}.conv1d.weight"), by_path.get(f"{block}.out_proj.weight")
        if convolved is None or out is None or len(out.sizes) != 2:
            continue
        width = out.sizes[1]
        grouped = (convolved.sizes[0] - width) / 2
        groups = _named(values, ("mamba_n_groups", "n_groups", "mamba_ngroups", "ssm_n_groups")) or 1
        chunk = _named(values, ("mamba_chunk_size", "chunk_size", "ssm_chunk_size")) or 256
        if grouped <= 0:
            continue
        state = grouped / groups
        for name, inner, columns in (
            ("chunk", float(chunk), state * decay.sizes[0] + width),
            ("states", 2 * state, float(width)),
        ):
            parts.append(
                TensorGroup(
                    name=f"{block}.{name}",
                    kind="product",
                    inner=inner,
                    columns=columns,
                    count=float(count),
                    chunk=float(chunk),
                )
            )
    return parts


ATTENDING = re.compile(r"linear_attn|delta|gdn|kda|lightning")
"""Recurrences of linear attention, which are not those of a state space."""


def _alone(reading: TensorReading) -> str:
    """Return the rows of a network that reads images or sound alone; empty for one that reads tokens."""
    if reading.architecture.endswith(
        ("ForImageClassification", "ForObjectDetection", "ForSemanticSegmentation")
    ):
        return "image"
    return "fixed" if reading.architecture.endswith("ForCTC") else ""


def _side(values: Mapping[str, Any], name: str, usual: int) -> int:
    """Return the side of an image or of a patch of the image tower. [pixels]"""
    for prefix in ("vision_config.", ""):
        side = values.get(prefix + name)
        side = side[0] if isinstance(side, list) and side else side
        if isinstance(side, int) and not isinstance(side, bool) and 0 < side <= 1e5:
            return side
    return usual


def _named(values: Mapping[str, Any], names: tuple[str, ...]) -> int:
    for prefix in ("", "text_config.", "decoder."):
        for name in names:
            value = values.get(prefix + name)
            if isinstance(value, int) and not isinstance(value, bool) and value > 0:
                return value
    return 0


HEADS = ("num_attention_heads", "n_head", "num_heads", "n_heads", "decoder_attention_heads",
         "encoder_attention_heads")  # fmt: skip
CONTEXT = ("max_position_embeddings", "n_positions", "max_sequence_length", "max_seq_len", "seq_length",
           "n_ctx")  # fmt: skip


def _heads(values: Mapping[str, Any]) -> int:
    return _named(values, HEADS)


def _experts(values: Mapping[str, Any]) -> int:
    return _named(values, ("num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts"))


def _top(structure: Mapping[str, Any], values: Mapping[str, Any]) -> int:
    stated = structure.get("top")
    value = values.get(stated) if stated else None
    if isinstance(value, list):
        value = max((entry for entry in value if isinstance(entry, int)), default=0)
    if isinstance(value, int) and value > 0:
        return value
    return _named(values, TOP)


ALL_SCORED = Message(
    "the output layer scores every token, as in the library; training that scores only masked tokens "
    "costs less"
)
TOP = (
    "num_experts_per_tok", "num_experts_per_token", "moe_topk", "moe_top_k", "top_k_experts", "moe_k", "topk",
    "num_selected_experts", "num_active_experts",
)  # fmt: skip
"""Fields of the number of experts that a token visits."""


COMPUTE = 0.05
"""Deviation of compute from the library up to which that of a class counts as understood."""


def class_profile(reading: TensorReading, title: str) -> ModelProfile:
    """Return the profile of a configuration by the tensors of its class."""
    parts, assumptions = parts_of(reading)
    values = reading.scope.values
    context = _named(values, CONTEXT) or 2048
    depth = _named(values, ("num_hidden_layers", "n_layer", "num_layers", "n_layers", "encoder_layers")) or 1
    hidden = _named(values, ("hidden_size", "d_model", "n_embd", "dim", "decoder_hidden_size")) or 1
    masked = "MaskedLM" in reading.architecture
    if masked:
        assumptions += (ALL_SCORED,)
    both = any(part.rows == "target" for part in parts)
    family = "t5" if both else "bert" if masked else "llama"
    experts = any(part.active < 1 for part in parts)
    alone = _alone(reading)
    if not alone and context > LONGEST_TAKEN:
        limit = Message(
            "samples of {usual} tokens are assumed; the {value} positions are a limit, not a training length",
            {"usual": LONGEST_TAKEN, "value": context},
        )
        assumptions += (limit,)
    elif not alone:
        whole = Message("samples are assumed to fill the longest context, {value} tokens", {"value": context})
        assumptions += (whole,)
    doubts = reading.doubts
    if alone == "image" and any(
        tensor.kind == "convolution" and tensor.sizes[-1] > 1
        for tensor in reading.tensors
        if "patch" not in tensor.path
    ):
        doubts += (
            Message("the compute of the stages of this image model is not followed: only its parameters are"),
        )
    if not experts and any("experts" in part.name and "shared" not in part.name for part in parts):
        doubts += (Message("how many experts a token visits is not given; all are counted"),)
    if reading.structure.get("compute", 0.0) > COMPUTE:
        doubts += (
            Message(
                "the compute of {model} is not that of its library; its parameters are",
                {"model": printable(title)},
            ),
        )
    return ModelProfile(
        id="config",
        name=title,
        family=family,
        origin="config",
        body=ArchitectureBody(
            "tensors",
            (
                ("depth", depth),
                ("heads", _heads(values)),
                ("hidden", hidden),
                ("parts", written(parts)),
                ("target_share", TARGET_SHARE if both else 1.0),
            ),
        ),
        assumptions=assumptions,
        doubts=doubts,
        default_seq_len=None if alone else context,
        default_image_size=_side(values, "image_size", 224) if alone == "image" else None,
    )
