"""Published architectures written out as operators, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from app.engine.operators import OperatorTable
from app.engine.records import Tokens
from app.errors import NotFound
from app.profiles.architectures import conformer, efficientnet, resnet, swin

_BUILDERS: dict[str, Callable[..., OperatorTable]] = {
    "conformer": conformer.build,
    "efficientnet": efficientnet.build,
    "resnet": resnet.build,
    "swin": swin.build,
}


def build_architecture(
    name: str, options: Mapping[str, object], tokens: Tokens | None, image_size: int | None
) -> OperatorTable:
    """Return the operators of a published architecture at one length or image size."""
    if name not in _BUILDERS:
        raise NotFound.named("architecture", name, _BUILDERS)
    return _BUILDERS[name](tokens, image_size, **options)
