"""Families of models by what is known of how well they are predicted."""

from __future__ import annotations

FITTED_FAMILIES = frozenset({"gpt", "llama", "bert", "resnet50", "resnext101", "efficientnet", "t5"})
"""Families whose operators are known well enough that a misfit tells something of the software."""

CORE_FAMILIES = frozenset({"gpt", "llama", "bert", "resnet50"})
"""Families with the most measured runs, on which the headline stands."""

DECODERS = frozenset({"gpt", "llama"})

SMALL_OPERATIONS = frozenset({"conformer", "efficientnet", "gnn", "tacotron2", "waveglow", "dlrm"})
"""Families whose time on an IPU is mostly what each operation costs at all."""

TRANSFORMERS = frozenset({"gpt", "llama", "bert", "t5", "vit", "swin", "transformer-xl", "conformer"})
CONVOLUTIONS = frozenset(
    {
        "resnet50", "resnext101", "efficientnet", "efficientdet", "ssd", "retinanet", "maskrcnn", "unet",
        "unet3d", "nnunet", "diffusion",
    }
)  # fmt: skip
RECOMMENDERS = frozenset({"dlrm", "ncf"})

IPU_SERIES = frozenset({"gc200", "bow"})
"""Chips that are IPUs."""


def power_kind(family: str) -> str:
    """Return the kind of training under which the power of machines is known."""
    kinds = {"transformer": TRANSFORMERS, "convolution": CONVOLUTIONS, "recommendation": RECOMMENDERS}
    return next((kind for kind, families in kinds.items() if family in families), "other")
