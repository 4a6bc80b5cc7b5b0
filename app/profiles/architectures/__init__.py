"""Published architectures written out as operators, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from app.engine.operators.table import OperatorTable
from app.engine.records import Tokens
from app.errors import NotFound
from app.profiles.architectures import (
    classification,
    conformer,
    detection,
    diffusion,
    hybrid,
    recommendation,
    segmentation,
    sequences,
    speech,
)

BUILDERS: dict[str, Callable[..., OperatorTable]] = {
    "conformer": conformer.build_conformer,
    "deepvoice3": speech.build_deepvoice3,
    "diffusion": diffusion.build_diffusion,
    "dlrm": recommendation.build_dlrm,
    "efficientdet": detection.build_efficientdet,
    "efficientnet": classification.build_efficientnet,
    "gnmt": sequences.build_gnmt,
    "hybrid": hybrid.build_hybrid,
    "maskrcnn": detection.build_mask_rcnn,
    "ncf": recommendation.build_ncf,
    "resnet": classification.build_resnet,
    "retinanet": detection.build_retinanet,
    "ssd": detection.build_ssd,
    "swin": classification.build_swin,
    "tacotron2": speech.build_tacotron2,
    "tft": sequences.build_tft,
    "transformer-xl": sequences.build_transformer_xl,
    "nnunet": segmentation.build_nnunet,
    "unet": segmentation.build_unet,
    "unet-padded": segmentation.build_padded_unet,
    "unet3d": segmentation.build_nnunet,
    "waveglow": speech.build_waveglow,
}


def build_architecture(
    name: str, options: Mapping[str, object], tokens: Tokens | None, image_size: int | None
) -> OperatorTable:
    """Return the operators of a published architecture at one length or image size."""
    if name not in BUILDERS:
        raise NotFound.named("architecture", name, BUILDERS)
    return BUILDERS[name](tokens, image_size, **options)
