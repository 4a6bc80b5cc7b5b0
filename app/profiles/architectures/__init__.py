"""Published architectures written out as operators, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from app.engine.operators.table import OperatorTable
from app.engine.records import Tokens
from app.errors import NotFound
from app.profiles.architectures import (
    conformer,
    detection,
    diffusion,
    efficientdet,
    efficientnet,
    forecasting,
    nnunet,
    recommendation,
    recurrent,
    resnet,
    speech,
    swin,
    transformer_xl,
    unet,
)

_BUILDERS: dict[str, Callable[..., OperatorTable]] = {
    "conformer": conformer.build,
    "deepvoice3": speech.build_deepvoice3,
    "diffusion": diffusion.build,
    "dlrm": recommendation.build_dlrm,
    "efficientdet": efficientdet.build,
    "efficientnet": efficientnet.build,
    "gnmt": recurrent.build_gnmt,
    "maskrcnn": detection.build_mask_rcnn,
    "ncf": recommendation.build_ncf,
    "resnet": resnet.build,
    "retinanet": detection.build_retinanet,
    "ssd": detection.build_ssd,
    "swin": swin.build,
    "tacotron2": recurrent.build_tacotron2,
    "tft": forecasting.build_tft,
    "transformer-xl": transformer_xl.build,
    "nnunet": nnunet.build,
    "unet": unet.build,
    "unet-padded": unet.build_padded,
    "unet3d": nnunet.build,
    "waveglow": speech.build_waveglow,
}


def build_architecture(
    name: str, options: Mapping[str, object], tokens: Tokens | None, image_size: int | None
) -> OperatorTable:
    """Return the operators of a published architecture at one length or image size."""
    if name not in _BUILDERS:
        raise NotFound.named("architecture", name, _BUILDERS)
    return _BUILDERS[name](tokens, image_size, **options)
