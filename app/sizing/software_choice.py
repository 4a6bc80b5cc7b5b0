"""Which software profile an estimate uses where none is asked for."""

from __future__ import annotations

from dataclasses import replace

from app.catalog import ChipKind
from app.catalog.software import SoftwareProfile
from app.engine.records import Precision
from app.errors import BadInput, Message
from app.sizing.context import SizingContext
from app.sizing.document import Default

CONVOLUTIONAL = frozenset(
    {
        "resnet50",
        "resnext101",
        "efficientnet",
        "unet",
        "unet3d",
        "nnunet",
        "ssd",
        "retinanet",
        "maskrcnn",
        "efficientdet",
    }
)
"""Families of measured rows that are networks of convolutions."""

IPU_DEFAULTS = {"gc200": "poplar-2.3-popart", "bow": "poplar-3-popart"}
IPU_CONVOLUTIONAL = {"gc200": "poplar-2.3-tf1-loop", "bow": "poplar-3-tf1-loop"}


def choose_software(
    asked: str | None,
    convolutional: bool,
    chip: str,
    kind: ChipKind,
    context: SizingContext,
    defaults: list[Default],
) -> SoftwareProfile:
    """Return the software profile asked for, or the default of the chip and the kind of network.

    Parameters
    ----------
    asked : str or None
        Identifier of a profile. [-]
    convolutional : bool
        True for a network of convolutions without attention. [-]
    chip : str
        Chip. [-]
    kind : ChipKind
        GPU or IPU; a profile of the other kind is refused. [-]
    context : SizingContext
        Profiles. [-]
    defaults : list
        Takes the default, if it was needed. [-]
    """
    if asked is not None:
        profile = context.software_profile(asked)
        if profile.kind != kind.value:
            raise BadInput.at(
                "software",
                "{software} is software for a {kind}; choose one for {chip}, or leave it out",
                software=asked,
                kind=profile.kind.upper(),
                chip=chip,
            )
        return profile
    if kind is ChipKind.IPU:
        names = IPU_CONVOLUTIONAL if convolutional else IPU_DEFAULTS
        name = names.get(chip, "poplar-2.5-popart")
    elif convolutional:
        name = "gpu-tuned"
    elif Precision.BF16 in context.catalog.gpu_chip(chip).matrix_peak:
        name = "gpu-flash"
    else:
        # Fused attention kernels start with the generation that brought bf16.
        name = "gpu-fused"
    profile = context.software.profile(name)
    defaults.append(
        Default.of(
            "software",
            name,
            Message("the class of software usual on this chip; the range is wider than for a named one"),
        )
    )
    return replace(profile, presumed=True)
