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
    graph,
    hybrid,
    perceiver,
    recommendation,
    segmentation,
    sequences,
    sparse,
    speech,
    tensors,
    towers,
    transducer,
    video,
)

BUILDERS: dict[str, Callable[..., OperatorTable]] = {
    "ast": towers.build_ast,
    "autoencoder": diffusion.build_autoencoder,
    "clip": towers.build_clip,
    "conformer": conformer.build_conformer,
    "dcn": recommendation.build_dcn,
    "deepseek-v4": sparse.build_deepseek_v4,
    "deepvoice3": speech.build_deepvoice3,
    "diffusion": diffusion.build_diffusion,
    "dlrm": recommendation.build_dlrm,
    "efficientdet": detection.build_efficientdet,
    "efficientnet": classification.build_efficientnet,
    "gnmt": sequences.build_gnmt,
    "hybrid": hybrid.build_hybrid,
    "language-perceiver": perceiver.build_language_perceiver,
    "maskrcnn": detection.build_mask_rcnn,
    "ncf": recommendation.build_ncf,
    "resnet": classification.build_resnet,
    "retinanet": detection.build_retinanet,
    "rgat": graph.build_rgat,
    "ssd": detection.build_ssd,
    "swin": classification.build_swin,
    "tacotron2": speech.build_tacotron2,
    "tensors": tensors.build_tensors,
    "tft": sequences.build_tft,
    "transformer-xl": sequences.build_transformer_xl,
    "transducer": transducer.build_transducer,
    "nnunet": segmentation.build_nnunet,
    "unet": segmentation.build_unet,
    "unet-padded": segmentation.build_padded_unet,
    "unet3d": segmentation.build_nnunet,
    "vision-perceiver": perceiver.build_vision_perceiver,
    "wan": video.build_wan,
    "wav2vec2": towers.build_wav2vec2,
    "waveglow": speech.build_waveglow,
    "whisper": towers.build_whisper,
}


def build_architecture(
    name: str, options: Mapping[str, object], tokens: Tokens | None, image_size: int | None
) -> OperatorTable:
    """Return the operators of a published architecture at one length or image size."""
    if name not in BUILDERS:
        raise NotFound.named("architecture", name, BUILDERS)
    return BUILDERS[name](tokens, image_size, **options)
