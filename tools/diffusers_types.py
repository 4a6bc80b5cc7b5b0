# mypy: ignore-errors
# torch and diffusers are no part of this repository, so that nothing here has types.
"""Write data/model_types/CLASS.json: the tensors of the transformers of diffusers as formulas.

Run by hand with ``torch`` (CPU), ``transformers`` and ``diffusers`` installed beside it:

    python tools/diffusers_types.py data/model_types [CLASS ...]

As tools/model_types.py does for huggingface/transformers; the compute of the classes in FORWARD is held
against the operations that the library runs, at two sizes of image and text.
"""

from __future__ import annotations

import inspect
import json
import random
import re
import sys
from pathlib import Path
from typing import Any

import diffusers
import model_types
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from app.profiles import diffusion_config
from app.profiles.structures import ConfigScope, parameters_of

ENDINGS = ("Transformer2DModel", "Transformer3DModel", "Transformer", "DiTModel", "DiT2DModel")
SMALL = (256, 64), (512, 128)
"""Side of an image and tokens of a text at which compute is compared."""
SIZES = re.compile(
    r"in_channels|cross_attention_dim|joint_attention_dim|pooled_projection_dim|caption_channels|text_dim"
    r"|text_embed_dim|ffn_dim|num_attention_heads|attention_head_dim"
)
GIVEN: dict[str, dict[str, Any]] = {
    "PixArtTransformer2DModel": {"use_additional_conditions": False},
    "HunyuanDiT2DModel": {"patch_size": 2, "in_channels": 4, "sample_size": 128, "cross_attention_dim": 1024},
}
"""Fields that a class needs and has no default of."""


def zeros(*sizes: int) -> torch.Tensor:
    return torch.zeros(sizes, device="meta")


def _latents(f: dict[str, Any], side: int) -> torch.Tensor:
    return zeros(1, f["in_channels"], side // 8, side // 8)


def _packed(f: dict[str, Any], side: int) -> torch.Tensor:
    return zeros(1, (side // 16) ** 2, f["in_channels"])


FORWARD: dict[str, Any] = {
    "FluxTransformer2DModel": lambda f, s, t: {
        "hidden_states": _packed(f, s),
        "encoder_hidden_states": zeros(1, t, f["joint_attention_dim"]),
        "pooled_projections": zeros(1, f["pooled_projection_dim"]),
        "timestep": zeros(1),
        "img_ids": zeros((s // 16) ** 2, 3),
        "txt_ids": zeros(t, 3),
        **({"guidance": zeros(1)} if f["guidance_embeds"] else {}),
    },
    "SD3Transformer2DModel": lambda f, s, t: {
        "hidden_states": _latents(f, s),
        "encoder_hidden_states": zeros(1, t, f["joint_attention_dim"]),
        "pooled_projections": zeros(1, f["pooled_projection_dim"]),
        "timestep": zeros(1),
    },
    "PixArtTransformer2DModel": lambda f, s, t: {
        "hidden_states": _latents(f, s),
        "encoder_hidden_states": zeros(1, t, f["caption_channels"] or f["cross_attention_dim"]),
        "timestep": zeros(1),
        "added_cond_kwargs": {"resolution": zeros(1, 2), "aspect_ratio": zeros(1, 1)},
    },
    "DiTTransformer2DModel": lambda f, s, t: {
        "hidden_states": _latents(f, s),
        "timestep": zeros(1),
        "class_labels": torch.zeros(1, dtype=torch.long, device="meta"),
    },
    "AuraFlowTransformer2DModel": lambda f, s, t: {
        "hidden_states": _latents(f, s),
        "encoder_hidden_states": zeros(1, t, f["joint_attention_dim"]),
        "timestep": zeros(1),
    },
    "SanaTransformer2DModel": lambda f, s, t: {
        "hidden_states": zeros(1, f["in_channels"], s // 32, s // 32),
        "encoder_hidden_states": zeros(1, t, f["caption_channels"]),
        "timestep": zeros(1),
    },
    "ChromaTransformer2DModel": lambda f, s, t: {
        "hidden_states": _packed(f, s),
        "encoder_hidden_states": zeros(1, t, f["joint_attention_dim"]),
        "timestep": zeros(1),
        "img_ids": zeros((s // 16) ** 2, 3),
        "txt_ids": zeros(t, 3),
    },
    "Flux2Transformer2DModel": lambda f, s, t: {
        "hidden_states": _packed(f, s),
        "encoder_hidden_states": zeros(1, t, f["joint_attention_dim"]),
        "timestep": zeros(1),
        "img_ids": zeros((s // 16) ** 2, 4),
        "txt_ids": zeros(t, 4),
        "guidance": zeros(1),
    },
    "QwenImageTransformer2DModel": lambda f, s, t: {
        "hidden_states": _packed(f, s),
        "encoder_hidden_states": zeros(1, t, f["joint_attention_dim"]),
        "encoder_hidden_states_mask": torch.ones(1, t, device="meta"),
        "timestep": zeros(1),
        "img_shapes": [(1, s // 16, s // 16)],
    },
    "CogView4Transformer2DModel": lambda f, s, t: {
        "hidden_states": _latents(f, s),
        "encoder_hidden_states": zeros(1, t, f["text_embed_dim"]),
        "timestep": zeros(1),
        "original_size": zeros(1, 2),
        "target_size": zeros(1, 2),
        "crop_coords": zeros(1, 2),
    },
    "WanTransformer3DModel": lambda f, s, t: {
        "hidden_states": zeros(1, f["in_channels"], 4, s // 8, s // 8),
        "encoder_hidden_states": zeros(1, t, f["text_dim"]),
        "timestep": zeros(1),
    },
    "CogVideoXTransformer3DModel": lambda f, s, t: {
        "hidden_states": zeros(1, 4, f["in_channels"], s // 8, s // 8),
        "encoder_hidden_states": zeros(1, t, f["text_embed_dim"]),
        "timestep": zeros(1),
    },
}
"""What the forward pass of a class takes, by its fields, the side of an image, and the tokens of a text."""


def defaults(name: str) -> dict[str, Any]:
    parameters = inspect.signature(getattr(diffusers, name).__init__).parameters
    found = {
        field: list(entry.default) if isinstance(entry.default, tuple) else entry.default
        for field, entry in parameters.items()
        if field not in ("self", "args", "kwargs") and entry.default is not inspect.Parameter.empty
    }
    return found | GIVEN.get(name, {})


class Fields:
    """Fields of a class where model_types expects a configuration."""

    def __init__(self, fields: dict[str, Any]) -> None:
        self.__dict__.update(fields)


class Kinds:
    """Classes by name where model_types expects types of configurations."""

    def __getitem__(self, name: str) -> Any:
        return lambda **fields: Fields({**defaults(name), **fields})


class Library:
    """Classes that take their fields as one configuration."""

    def __getattr__(self, name: str) -> Any:
        return lambda config: getattr(diffusers, name)(**config.__dict__)


def changed(base: dict[str, Any], chance: random.Random) -> dict[str, Any]:
    """Return other sizes: layers added, widths doubled."""
    changes: dict[str, Any] = {}
    for name, value in base.items():
        if isinstance(value, bool) or not isinstance(value, int) or value < 2 or chance.random() < 0.4:
            continue
        if "layers" in name or "depth" in name:
            changes[name] = value + chance.choice([-1, 1, 3])
        elif SIZES.search(name):
            changes[name] = value * 2
    if "caption_projection_dim" in base:
        sizes = {**base, **changes}
        changes["caption_projection_dim"] = sizes["num_attention_heads"] * sizes["attention_head_dim"]
    return changes


def deviation(name: str, made: dict[str, Any]) -> float:
    """Return the largest deviation of the count of parameters, at other sizes as well."""
    chance, base = random.Random(name), model_types.fields_of(Fields(defaults(name)))
    worst = 0.0
    for attempt in range(4):
        changes = changed(base, chance) if attempt else {}
        try:
            with torch.device("meta"):
                network = getattr(diffusers, name)(**{**defaults(name), **changes})
        except Exception:
            continue
        true = sum(tensor.numel() for tensor in network.parameters())
        worst = max(worst, abs(parameters_of(made, ConfigScope({**base, **changes})) / true - 1))
    return round(worst, 4)


def compute(name: str) -> float:
    """Return the largest deviation of compute from what the library runs."""
    fields = defaults(name)
    with torch.device("meta"):
        network = getattr(diffusers, name)(**fields).eval()
    worst = 0.0
    for side, tokens in SMALL:
        tokens = fields.get("max_text_seq_length", tokens)
        with torch.no_grad(), FlopCounterMode(display=False) as counter:
            network(**FORWARD[name](fields, side, tokens))
        diffusion_config.TEXTS[name] = tokens
        profile = diffusion_config.diffusers_profile({"_class_name": name, **fields}, name, "config")
        patches = (side // 16) ** 2 * 4
        table = (
            profile.operators(profile.tokens(patches)) if "3D" in name else profile.operators(image_size=side)
        )
        ratio = float(table.forward_flop.sum()) / counter.get_total_flops()
        print("   ", name, side, tokens, f"{ratio:.4f}", flush=True)
        worst = max(worst, abs(ratio - 1))
    return round(worst, 4)


def main() -> None:
    for layer in (nn.Linear, nn.Embedding, nn.modules.conv._ConvNd):
        layer.reset_parameters = lambda self: None
    model_types.CONFIG_MAPPING = Kinds()
    model_types.transformers = Library()
    model_types.WATCHED = ("diffusers.models.",)
    model_types.made_config = lambda name, changes: Fields({**defaults(name), **changes})
    target, *wanted = sys.argv[1:]
    for name in wanted or [name for name in dir(diffusers) if name.endswith(ENDINGS)]:
        path = Path(target) / f"{name}.json"
        if not path.exists():
            try:
                made = model_types.structure(name, name)
                made["deviation"] = deviation(name, made)
            except Exception as error:
                print(name, "not traced:", type(error).__name__, str(error)[:160], file=sys.stderr)
                continue
            if made["deviation"] > 0.02:
                continue
            entry = {
                "library": "diffusers",
                "version": diffusers.__version__,
                "defaults": defaults(name),
                "architectures": {name: made},
            }
        else:
            entry = json.loads(path.read_text(encoding="utf-8"))
        text = json.dumps(entry, separators=(",", ":"), sort_keys=True)
        path.write_text(text + "\n", encoding="utf-8")
        if name in FORWARD:
            try:
                entry["architectures"][name]["compute"] = compute(name)
            except Exception as error:
                print(name, "no compute:", type(error).__name__, str(error)[:200], file=sys.stderr)
            text = json.dumps(entry, separators=(",", ":"), sort_keys=True)
            path.write_text(text + "\n", encoding="utf-8")
        print(name, entry["architectures"][name].get("deviation"), flush=True)


if __name__ == "__main__":
    main()
