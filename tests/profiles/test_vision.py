"""Networks of segmentation, detection and diffusion against published counts."""

import numpy as np
import pytest

from app.engine.operators.table import Kind, OperatorTable, Pointwise
from app.errors import BadInput
from app.profiles.architectures.segmentation import build_nnunet
from app.profiles.presets import preset


def multiplications(table: OperatorTable, *kinds: Kind) -> float:
    return float(np.sum(table.forward_flop[np.isin(table.kind, kinds or tuple(Kind))])) / 2


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        # Weights as published: Rombach et al. with texts of 768 and of 1,024.
        ("stable-diffusion-1", 859_520_964),
        ("stable-diffusion-2", 865_910_724),
        # Ronneberger et al. on one channel and two classes.
        ("unet", 31_030_658),
    ],
)
def test_parameters_are_those_of_the_published_weights(name: str, parameters: int) -> None:
    assert preset(name).operators().parameters == parameters


@pytest.mark.parametrize(("variant", "billions"), [(0, 2.5), (1, 6.1), (2, 11.0), (3, 25.0), (4, 55.0)])
def test_efficientdet_costs_what_its_table_says(variant: int, billions: float) -> None:
    """Tan et al. 2020, table 1: multiplications of D0 to D4."""
    table = preset(f"efficientdet-d{variant}").operators()
    assert multiplications(table) == pytest.approx(billions * 1e9, rel=0.02)


def test_the_full_resolution_nnunet_has_31_million_parameters() -> None:
    """Isensee et al. 2021 cap a volume's features at 320 channels: 31.2 million parameters."""
    assert build_nnunet(None, 128).parameters == pytest.approx(31.2e6, rel=0.003)


def test_unet_industrial_has_the_parameters_its_source_states() -> None:
    """DeepLearningExamples states 1,824,945 of the tiny variant."""
    assert preset("unet-industrial").operators().parameters == pytest.approx(1_824_945, rel=0.02)


def test_ssd_costs_what_torchvision_counts_of_its_backbone_at_a_stride_of_eight() -> None:
    """Stages 1 to 3 of ResNet-50 at 300 pixels, the third on 38 × 38 places instead of 19 × 19."""
    whole = preset("resnet50").operators(image_size=300)
    detector = preset("ssd300-resnet50").operators()

    def stage(table: OperatorTable, name: str) -> float:
        chosen = np.array([operator.startswith(name) for operator in table.names])
        return float(np.sum(table.forward_flop[chosen]))

    assert stage(detector, "stage2") == stage(whole, "stage2")
    assert stage(detector, "stage3_next") == pytest.approx(4 * stage(whole, "stage3_next"))


def test_latents_of_twice_the_side_cost_four_times_the_convolutions_and_16_times_the_attention() -> None:
    model = preset("stable-diffusion-2")
    small, large = model.operators(image_size=256), model.operators(image_size=512)
    assert multiplications(large, Kind.CONVOLUTION) == pytest.approx(
        4 * multiplications(small, Kind.CONVOLUTION)
    )
    own = [number for number, name in enumerate(small.names) if name.endswith("self_attention")]
    assert np.allclose(large.forward_flop[own], 16 * small.forward_flop[own])


def test_half_of_the_work_on_a_volume_is_at_its_full_resolution() -> None:
    """Four 3 × 3 × 3 convolutions over 128³ positions: 4 to 32, 32 to 32, 64 to 32 and 32 to 32 channels."""
    volume = preset("nnunet-3d").operators()
    names = ("input_1", "input_2", "up1_1", "up1_2")
    full = float(np.sum(volume.forward_flop[np.isin(volume.names, names)])) / 2
    assert full == 27 * 128**3 * (4 * 32 + 32 * 32 + 64 * 32 + 32 * 32)
    assert full / multiplications(volume) == pytest.approx(0.5, abs=0.02)


def test_a_convolution_without_norm_pays_for_its_activation() -> None:
    """U-Net has no norms: bias and activation pass over every output."""
    model = preset("unet").operators()
    assert not np.any(model.pointwise == Pointwise.BATCH_NORM)
    assert np.sum(model.pointwise == Pointwise.BIASED_RELU) == 18
    assert not np.any(preset("resnet50").operators().pointwise == Pointwise.BIASED_RELU)


def test_a_patch_too_small_for_the_levels_is_refused() -> None:
    with pytest.raises(BadInput, match="at least 32 pixels"):
        build_nnunet(None, 16)


@pytest.mark.parametrize("name", ["unet", "unet-industrial", "nnunet-2d", "nnunet-3d", "stable-diffusion-2"])
def test_what_a_skip_connection_keeps_is_taken(name: str) -> None:
    model = preset(name)
    table = model.operators(None, model.default_image_size)
    kept = np.cumsum(table.skip * table.count)
    assert kept.max() > 0
    assert kept.min() >= 0
    assert kept[-1] == 0
