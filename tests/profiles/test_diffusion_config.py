"""Configurations of diffusers: counts that their checkpoints have, and refusals by field."""

from __future__ import annotations

import json

import pytest

from app.errors import AppError
from app.profiles.config import config_profile
from app.profiles.readers.models import read_profile

SD15 = {
    "_class_name": "UNet2DConditionModel", "sample_size": 64, "in_channels": 4, "out_channels": 4,
    "block_out_channels": [320, 640, 1280, 1280], "layers_per_block": 2, "cross_attention_dim": 768,
    "attention_head_dim": 8,
    "down_block_types": [*["CrossAttnDownBlock2D"] * 3, "DownBlock2D"],
    "up_block_types": ["UpBlock2D", *["CrossAttnUpBlock2D"] * 3],
}  # fmt: skip
SDXL = SD15 | {
    "sample_size": 128, "block_out_channels": [320, 640, 1280], "cross_attention_dim": 2048,
    "attention_head_dim": [5, 10, 20], "transformer_layers_per_block": [1, 2, 10],
    "addition_embed_type": "text_time", "projection_class_embeddings_input_dim": 2816,
    "down_block_types": ["DownBlock2D", "CrossAttnDownBlock2D", "CrossAttnDownBlock2D"],
    "up_block_types": ["CrossAttnUpBlock2D", "CrossAttnUpBlock2D", "UpBlock2D"],
}  # fmt: skip
VAE = {
    "_class_name": "AutoencoderKL", "block_out_channels": [128, 256, 512, 512], "latent_channels": 4,
    "layers_per_block": 2, "sample_size": 512, "down_block_types": ["DownEncoderBlock2D"] * 4,
    "up_block_types": ["UpDecoderBlock2D"] * 4,
}  # fmt: skip
FLUX = {
    "_class_name": "FluxTransformer2DModel", "attention_head_dim": 128, "guidance_embeds": True,
    "in_channels": 64, "joint_attention_dim": 4096, "num_attention_heads": 24, "num_layers": 19,
    "num_single_layers": 38, "patch_size": 1, "pooled_projection_dim": 768,
}  # fmt: skip
SD3 = {
    "_class_name": "SD3Transformer2DModel", "attention_head_dim": 64, "caption_projection_dim": 1536,
    "in_channels": 16, "joint_attention_dim": 4096, "num_attention_heads": 24, "num_layers": 24,
    "out_channels": 16, "patch_size": 2, "pooled_projection_dim": 2048, "pos_embed_max_size": 192,
    "sample_size": 128,
}  # fmt: skip
PIXART = {
    "_class_name": "Transformer2DModel", "activation_fn": "gelu-approximate", "attention_bias": True,
    "attention_head_dim": 72, "caption_channels": 4096, "cross_attention_dim": 1152, "in_channels": 4,
    "norm_type": "ada_norm_single", "num_attention_heads": 16, "num_layers": 28, "out_channels": 8,
    "patch_size": 2, "sample_size": 128,
}  # fmt: skip
DIT = {
    "_class_name": "Transformer2DModel", "attention_head_dim": 72, "in_channels": 4,
    "norm_type": "ada_norm_zero", "num_attention_heads": 16, "num_embeds_ada_norm": 1000, "num_layers": 28,
    "out_channels": 8, "patch_size": 2, "sample_size": 32,
}  # fmt: skip
QWEN = {
    "_class_name": "QwenImageTransformer2DModel", "attention_head_dim": 128, "in_channels": 64,
    "joint_attention_dim": 3584, "num_attention_heads": 24, "num_layers": 60, "out_channels": 16,
    "patch_size": 2,
}  # fmt: skip
WAN = {
    "_class_name": "WanTransformer3DModel", "attention_head_dim": 128, "ffn_dim": 8960, "freq_dim": 256,
    "in_channels": 16, "num_attention_heads": 12, "num_layers": 30, "out_channels": 16,
    "patch_size": [1, 2, 2], "text_dim": 4096,
}  # fmt: skip


@pytest.mark.parametrize(
    ("config", "millions"),
    [
        (SD15, 859.52),  # stable-diffusion-v1-5, weights of its U-Net
        (SDXL, 2567.46),  # stable-diffusion-xl-base-1.0
        (VAE, 83.65),  # its autoencoder
        (VAE | {"latent_channels": 16, "use_quant_conv": False, "use_post_quant_conv": False}, 83.82),
        (FLUX, 11901),  # FLUX.1-dev
        (SD3, 2028),  # stable-diffusion-3-medium
        (PIXART, 605.3),  # PixArt-α, 0.6 billion in its publication
        (DIT, 749.81),  # DiT-XL/2 in diffusers, whose every block embeds the time step
        (QWEN, 20430),  # Qwen-Image
        (WAN, 1419),  # Wan 2.1 1.3B
    ],
)
def test_a_configuration_has_the_parameters_of_its_checkpoint(
    config: dict[str, object], millions: float
) -> None:
    profile = config_profile(config)
    assert profile.parameters / 1e6 == pytest.approx(millions, rel=0.005)
    assert not profile.doubts


def test_an_image_of_twice_the_side_has_four_times_the_tokens() -> None:
    for config in (SD15, DIT, VAE):
        profile = config_profile(config)
        small, large = (float(profile.operators(image_size=side).forward_flop.sum()) for side in (512, 1024))
        assert 3.9 < large / small < 9


def test_one_step_of_dit_costs_what_its_authors_count() -> None:
    """118.64 billion multiplications and additions at 256 pixels (Peebles and Xie 2023, table 1)."""
    flop = float(config_profile(DIT).operators(image_size=256).forward_flop.sum())
    assert flop / 2e9 == pytest.approx(118.64, rel=0.03)


@pytest.mark.parametrize(
    ("config", "field"),
    [
        ({"_class_name": "UNet3DConditionModel"}, "_class_name"),
        ({"_class_name": "KolorsPipeline", "unet": ["diffusers", "UNet2DConditionModel"]}, "_class_name"),
        (SD15 | {"down_block_types": ["SimpleCrossAttnDownBlock2D"]}, "down_block_types"),
        (SD15 | {"up_block_types": ["UpBlock2D"]}, "up_block_types"),
        (SD15 | {"block_out_channels": [320]}, "block_out_channels"),
        (SD15 | {"layers_per_block": [1, 2, 2, 2]}, "layers_per_block"),
        (SD15 | {"mid_block_type": None}, "mid_block_type"),
        (SDXL | {"projection_class_embeddings_input_dim": None}, "projection_class_embeddings_input_dim"),
        (FLUX | {"num_layers": "many"}, "num_layers"),
    ],
)  # fmt: skip
def test_what_is_not_followed_is_refused_by_its_field(config: dict[str, object], field: str) -> None:
    with pytest.raises(AppError) as refused:
        config_profile(config)
    assert refused.value.errors[0].field == f"model.config.{field}"


def test_what_changes_a_network_and_is_not_followed_is_a_doubt() -> None:
    assert config_profile(SD15 | {"class_embed_type": "timestep"}).doubts
    assert config_profile({"_class_name": "HunyuanImageTransformer2DModel"}).doubts


def test_a_pipeline_names_the_file_to_send() -> None:
    index = {"_class_name": "FluxPipeline", "transformer": ["diffusers", "FluxTransformer2DModel"]}
    with pytest.raises(AppError) as refused:
        read_profile("model_index.json", json.dumps(index).encode())
    assert "transformer/config.json" in str(refused.value)
