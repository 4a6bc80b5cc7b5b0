"""Configurations of diffusers: the U-Net, the autoencoder, and transformers by the tensors of their class.

The transformers are those of data/model_types that tools/diffusers_types.py made with the library itself.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NoReturn

from app.errors import Message, Unprocessable
from app.profiles.architectures.diffusion import REDUCTION, TEXT_TOKENS
from app.profiles.architectures.tensors import TensorGroup, written
from app.profiles.bodies import ArchitectureBody, Option
from app.profiles.class_parts import COMPUTE
from app.profiles.classes import TensorReading, model_type, read_class
from app.profiles.documents import as_text, flag, printable, whole
from app.profiles.model import ModelProfile

DOWN, ATTENDING_DOWN = "DownBlock2D", "CrossAttnDownBlock2D"
MIRRORED = {
    DOWN: "UpBlock2D", ATTENDING_DOWN: "CrossAttnUpBlock2D", "DownEncoderBlock2D": "UpDecoderBlock2D",
}  # fmt: skip
CHANGING = (
    "dual_cross_attention", "only_cross_attention", "mid_block_only_cross_attention", "encoder_hid_dim",
    "class_embed_type", "num_class_embeds", "time_embedding_dim", "time_embedding_act_fn",
    "reverse_transformer_layers_per_block", "class_embeddings_concat", "addition_embed_type_num_heads",
)  # fmt: skip
"""Fields of a U-Net that add or widen layers and are not followed."""
USUAL_VALUES = {"addition_embed_type_num_heads": 64}
LEVELS = 8
PACKED = 2
"""Latents along one side of a token where the class has no patches of its own (FLUX.1)."""
VIDEO_PATCHES = 32_760
"""Patches of a video of 81 frames of 832 × 480 pixels (Wan 2.1)."""
TEXTS = {
    "SD3Transformer2DModel": 333, "FluxTransformer2DModel": 512, "PixArtTransformer2DModel": 300,
    "AuraFlowTransformer2DModel": 256, "CogVideoXTransformer3DModel": 226, "WanTransformer3DModel": 512,
    "HunyuanVideoTransformer3DModel": 256, "SanaTransformer2DModel": 300,
}  # fmt: skip
"""Longest texts of the pipelines of diffusers (max_sequence_length; with those of CLIP for SD3). [tokens]"""
USUAL_TEXT = 512

_ONCE = re.compile(
    r"(^|[._])(time|timestep|t_embed|temb|guidance|pooled|adaln)|adaLN|norm\w*\.(linear|emb)|_mod\.|modulation"
    r"|proj_out_1|class_embed|norm_out\.|vector_in|y_embedder"
)
_TEXT = re.compile(r"context|txt|text|caption|add_[qkv]_proj|to_add_out|prompt")
_ACROSS = re.compile(r"attn2\.(to_[kv]|add_[kv]_proj|norm_k)|cross_attn\.to_[kv]")
_JOINED = re.compile(r"(^|\.)single_")
_OWN_BLOCK = re.compile(r"\*.*\.")


def diffusers_profile(document: Mapping[str, object], title: str, where: str) -> ModelProfile:
    """Return the model of a configuration that names a class of diffusers."""
    kind = str(document["_class_name"])
    if kind == "UNet2DConditionModel":
        return _unet(document, title, where)
    if kind == "AutoencoderKL":
        return _autoencoder(document, title, where)
    if kind == "Transformer2DModel":
        # Files of DiT and PixArt-α before each had a class of its own.
        norms = {"ada_norm_zero": "DiTTransformer2DModel", "ada_norm_single": "PixArtTransformer2DModel"}
        kind = norms.get(str(document.get("norm_type")), kind)
    known = model_type(kind)
    if known is None or known.get("library") != "diffusers":
        _refuse(document, kind, where)
    fields = {name: value for name, value in document.items() if not name.startswith("_")}
    if kind == "PixArtTransformer2DModel" and fields.get("use_additional_conditions") is None:
        # The class adds size and ratio of the image for files of 1,024 pixels.
        fields["use_additional_conditions"] = fields.get("sample_size", 128) == 128
    reading = read_class({**fields, "model_type": kind}, where, known)
    assert reading is not None
    return _transformer(reading, kind, title)


def _refuse(document: Mapping[str, object], kind: str, where: str) -> NoReturn:
    parts = [
        name
        for name in ("unet", "transformer", "prior", "vae")
        if isinstance(document.get(name), list) and document[name] != [None, None]
    ]
    if parts:
        raise Unprocessable.at(
            f"{where}._class_name",
            "{value} is the list of the parts of a pipeline of diffusers, without their sizes; send {file}",
            value=as_text(kind),
            file=" or ".join(f"{name}/config.json" for name in parts),
        )
    raise Unprocessable.at(
        f"{where}._class_name",
        "{value} of diffusers is not read by its fields; choose a diffusion preset, or send the model "
        "as ONNX or its safetensors header",
        value=as_text(kind),
    )


def _levels(
    document: Mapping[str, object],
    name: str,
    where: str,
    usual: list[int] | int,
    count: int = 0,
    least: int = 1,
) -> list[int]:
    """Return a whole number for each level, of a list or one for all."""
    value = document.get(name)
    value = usual if value is None else value
    entries: list[Any] = value if isinstance(value, list) else [value] * count
    if (
        not 1 <= len(entries) <= LEVELS
        or (count and len(entries) != count)
        or any(
            isinstance(entry, bool) or not isinstance(entry, int) or not least <= entry <= 1e5
            for entry in entries
        )
    ):
        raise Unprocessable.at(
            f"{where}.{name}", "{field} must list one whole number for each level", field=name
        )
    return entries


def _blocks(
    document: Mapping[str, object], where: str, known: tuple[str, ...], usual: list[str]
) -> list[str]:
    """Return the kinds of the blocks of each level; refuse other kinds, and an ascent that is no mirror."""
    down, up = (document.get(name) for name in ("down_block_types", "up_block_types"))
    down = usual if down is None else down
    if not isinstance(down, list) or not 1 <= len(down) <= LEVELS or any(kind not in known for kind in down):
        raise Unprocessable.at(
            f"{where}.down_block_types",
            "{field} must name blocks of the kinds {known}, not {value}",
            field="down_block_types",
            known=", ".join(known),
            value=as_text(down),
        )
    mirrored = [MIRRORED[kind] for kind in reversed(down)]
    if up is not None and up != mirrored:
        raise Unprocessable.at(
            f"{where}.up_block_types",
            "{field} must mirror the blocks on the way down: {value}",
            field="up_block_types",
            value=", ".join(mirrored),
        )
    return down


def _widths(document: Mapping[str, object], where: str, usual: list[int], levels: int) -> list[int]:
    widths = _levels(document, "block_out_channels", where, usual)
    if len(widths) != levels:
        raise Unprocessable.at(
            f"{where}.block_out_channels",
            "{field} must list one whole number for each level",
            field="block_out_channels",
        )
    return widths


def _size(document: Mapping[str, object], where: str, usual: int) -> int:
    """Return the side of the image behind a side of latents. [pixels]"""
    value = document.get("sample_size")
    if isinstance(value, list):
        value = value[0] if value else None
    latents = whole({"sample_size": value}, "sample_size", where=where, most=1e4)
    return usual if latents is None else latents * REDUCTION


def _built(
    name: str,
    options: dict[str, Option],
    title: str,
    size: int,
    notes: tuple[Message, ...],
    doubts: list[Message],
) -> ModelProfile:
    return ModelProfile(
        id="config",
        name=title,
        family="diffusion",
        origin="config",
        body=ArchitectureBody(name, tuple(sorted(options.items()))),
        assumptions=(*notes, Message("images of {value} × {value} pixels are assumed", {"value": size})),
        doubts=tuple(doubts),
        default_image_size=size,
    )


def _unet(document: Mapping[str, object], title: str, where: str) -> ModelProfile:
    kinds = _blocks(document, where, (ATTENDING_DOWN, DOWN), [*[ATTENDING_DOWN] * 3, DOWN])
    count = len(kinds)
    widths = _widths(document, where, [320, 640, 1280, 1280], count)
    layers = _levels(document, "transformer_layers_per_block", where, 1, count)
    blocks = _levels(document, "layers_per_block", where, 2, count)
    if len(set(blocks)) > 1:
        raise Unprocessable.at(
            f"{where}.layers_per_block", "{field} must be one number for all levels", field="layers_per_block"
        )
    texts = _levels(document, "cross_attention_dim", where, 1280, count)
    if len(set(texts)) > 1:
        raise Unprocessable.at(
            f"{where}.cross_attention_dim",
            "{field} must be one number for all levels",
            field="cross_attention_dim",
        )
    middle = document.get("mid_block_type", "UNetMidBlock2DCrossAttn")
    if middle != "UNetMidBlock2DCrossAttn":
        raise Unprocessable.at(
            f"{where}.mid_block_type",
            "{field} must be UNetMidBlock2DCrossAttn, not {value}",
            field="mid_block_type",
            value=as_text(middle),
        )
    doubts = [
        Message("the field {field} is not understood; what it describes is not counted", {"field": name})
        for name in CHANGING
        if document.get(name) not in (None, False, USUAL_VALUES.get(name))
    ]
    if document.get("resnet_time_scale_shift", "default") != "default":
        doubts.append(
            Message(
                "the field {field} is not understood; what it describes is not counted",
                {"field": "resnet_time_scale_shift"},
            )
        )
    added = document.get("addition_embed_type")
    if added not in (None, "text_time"):
        doubts.append(
            Message(
                "the field {field} is not understood; what it describes is not counted",
                {"field": "addition_embed_type"},
            )
        )
    # One number is that of the heads, under a name of a width (diffusers, unet_2d_condition).
    heads = document.get("num_attention_heads") or document.get("attention_head_dim", 8)
    options: dict[str, Option] = {
        "widths": "-".join(map(str, widths)),
        "depths": "-".join(
            str(depth if kind == ATTENDING_DOWN else 0) for depth, kind in zip(layers, kinds, strict=True)
        ),
        "bottom": layers[-1],
        "blocks_per_level": blocks[0],
        "text": texts[0],
        "heads": heads if isinstance(heads, int) and 0 < heads <= 1e4 else 0,
        "channels_in": whole(document, "in_channels", where=where, most=1e4) or 4,
        "channels_out": whole(document, "out_channels", where=where, most=1e4) or 4,
    }
    if added == "text_time":
        options["added"] = whole(
            document, "projection_class_embeddings_input_dim", where=where, most=1e5
        ) or _absent("projection_class_embeddings_input_dim", where)
    notes = (
        Message("latents and text embeddings are computed beforehand"),
        Message("texts of {count} tokens are assumed", {"count": TEXT_TOKENS}),
    )
    return _built("diffusion", options, title, max(_size(document, where, 512), 8 << count), notes, doubts)


def _absent(name: str, where: str) -> NoReturn:
    raise Unprocessable.at(f"{where}.{name}", "{field} is required: a whole number", field=name)


def _autoencoder(document: Mapping[str, object], title: str, where: str) -> ModelProfile:
    kinds = _blocks(document, where, ("DownEncoderBlock2D",), ["DownEncoderBlock2D"])
    widths = _widths(document, where, [64], len(kinds))
    channels = whole(document, "in_channels", where=where, most=1e4) or 3
    size = document.get("sample_size")
    options: dict[str, Option] = {
        "widths": "-".join(map(str, widths)),
        "blocks_per_level": _levels(document, "layers_per_block", where, 1, 1)[0],
        "latent": whole(document, "latent_channels", where=where, most=1e4) or 4,
        "channels": channels,
        "attends": flag(document, "mid_block_add_attention", True, where=where),
        "moments": flag(document, "use_quant_conv", True, where=where),
        "latents": flag(document, "use_post_quant_conv", True, where=where),
    }
    doubts = []
    if document.get("out_channels", channels) != channels:
        doubts.append(
            Message(
                "the field {field} is not understood; what it describes is not counted",
                {"field": "out_channels"},
            )
        )
    side = size if isinstance(size, int) and not isinstance(size, bool) and 64 <= size <= 1e5 else 512
    notes = (Message("encoder and decoder are trained, without the network that judges images"),)
    return _built("autoencoder", options, title, side, notes, doubts)


def _transformer(reading: TensorReading, kind: str, title: str) -> ModelProfile:
    values = reading.scope.values
    video = "3D" in kind
    patch, size = _pixels(reading, kind)
    texts = TEXTS.get(kind, USUAL_TEXT)
    parts, text = _parts(reading, video, patch, float(texts))
    depth = sum(
        value
        for name, value in values.items()
        if re.fullmatch(r"num_\w*layers|num_\w*blocks|depth\w*|n_layers", name)
        and isinstance(value, int)
        and "refiner" not in name
    )
    notes = [Message("latents and text embeddings are computed beforehand")]
    if text:
        notes.append(Message("texts of {count} tokens are assumed", {"count": texts}))
    if video:
        notes.append(
            Message(
                "samples of {value} patches of latent frames are assumed; state seq_len",
                {"value": VIDEO_PATCHES},
            )
        )
    else:
        notes.append(Message("images of {value} × {value} pixels are assumed", {"value": size}))
    doubts = list(reading.doubts)
    if reading.structure.get("compute", 1.0) > COMPUTE:
        doubts.append(
            Message(
                "the compute of {model} is not held against its library; only its parameters are",
                {"model": printable(kind)},
            )
        )
    return ModelProfile(
        id="config",
        name=title,
        family="diffusion",
        origin="config",
        body=ArchitectureBody(
            "tensors",
            (
                ("depth", max(depth, 1)),
                ("heads", _heads(values)),
                ("hidden", _hidden(values)),
                ("parts", written(parts)),
            ),
        ),
        assumptions=tuple(notes),
        doubts=tuple(doubts),
        default_seq_len=VIDEO_PATCHES if video else None,
        stated_length=video,
        default_image_size=None if video else size,
    )


def _number(values: Mapping[str, Any], *names: str) -> int:
    for name in names:
        value = values.get(name)
        if isinstance(value, int) and not isinstance(value, bool) and value > 0:
            return value
    return 0


def _heads(values: Mapping[str, Any]) -> int:
    return _number(values, "num_attention_heads", "n_heads", "num_heads") or 1


def _hidden(values: Mapping[str, Any]) -> int:
    heads, width = _heads(values), _number(values, "attention_head_dim", "head_dim")
    return _number(values, "hidden_size", "dim", "inner_dim") or max(heads * width, 1)


def _pixels(reading: TensorReading, kind: str) -> tuple[float, int]:
    """Return the side of a token and that of an image. [pixels]"""
    values = reading.scope.values
    patched = any(t.kind == "convolution" and t.sizes[-1] > 1 for t in reading.tensors)
    reduction = 4 * REDUCTION if kind.startswith("Sana") else REDUCTION
    patch = reduction * (_number(values, "patch_size") or 1 if patched or kind.startswith("Sana") else PACKED)
    latents = _number(values, "sample_size")
    return float(patch), latents * reduction if latents else 1024


def _parts(reading: TensorReading, video: bool, patch: float, texts: float) -> tuple[list[TensorGroup], bool]:
    """Return the parts of a transformer on the rows each runs on, and whether a text is among them."""
    paths = {tensor.path for tensor in reading.tensors}
    dual = any(re.search(r"add_k_proj|to_add_out|txt_", path) and "attn2" not in path for path in paths)
    across = not dual and any(_ACROSS.search(path) for path in paths)
    text = any(_TEXT.search(path) for path in paths)
    heads = float(_heads(reading.scope.values))
    image: dict[str, Any] = {"rows": "tokens"} if video else {"rows": "image", "share": 1.0 / patch**2}
    parts: list[TensorGroup] = []
    for tensor, count in reading.tensors.items():
        if not tensor.elements:
            continue
        path, sizes = tensor.path, tensor.sizes
        block = bool(_OWN_BLOCK.search(path)) and "refiner" not in path
        joined = text and (bool(_JOINED.search(path)) or (block and not dual and not across))
        if _ONCE.search(path):
            rows: dict[str, Any] = {"rows": "fixed"}
        elif _TEXT.search(path) or (across and _ACROSS.search(path)):
            rows = {"rows": "fixed", "share": texts}
        else:
            rows = {**image, "more": texts if joined else 0.0}
        common: dict[str, Any] = {
            "name": path, "count": float(count), "weights": float(tensor.elements), **rows,
        }  # fmt: skip
        if tensor.kind == "embedding":
            parts.append(TensorGroup(**common | {"kind": "lookup", "columns": float(sizes[-1])}))
            continue
        if len(sizes) < 2 or tensor.kind == "vector":
            parts.append(TensorGroup(**common, kind="vector"))
            continue
        inner, columns = float(tensor.elements / sizes[0]), float(sizes[0])
        parts.append(TensorGroup(**common, kind="product", inner=inner, columns=columns))
        query = re.search(r"att\w*\.(to_q|q_proj|to_qkv|to_qkv_mlp_proj|qkv|qkv_proj|q)\.weight$", path)
        if query and "add" not in query[1]:
            width = float(_hidden(reading.scope.values)) if "kv" in query[1] else columns
            whole_row = not across or not re.search(r"attn2|cross", path)
            parts.append(
                TensorGroup(
                    **common
                    | {
                        "name": path.replace("weight", "attention"),
                        "kind": "attention",
                        "weights": 0.0,
                        "inner": width / heads,
                        "batch": heads,
                        "columns": width,
                        "keys": 0.0 if whole_row else texts,
                        "more": texts if joined or (dual and block and "attn2" not in path) else 0.0,
                    }
                )
            )
    return parts, text
