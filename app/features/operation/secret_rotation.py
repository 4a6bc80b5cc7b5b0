"""Seal every stored secret again with the current secret of the server."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from app.features.accounts import second_factor
from app.features.integrations import webhooks
from app.platform.sealing import Unsealable
from app.platform.store.account_queries import SealedValue
from app.platform.store.queries import now
from app.platform.workspace import Installation

PURPOSES: Mapping[str, Callable[[str], str]] = {
    "account.totp_sealed": second_factor.purpose,
    "webhook.sealed_secret": webhooks.purpose,
    "webhook.previous_sealed": webhooks.purpose,
}
"""Column of sealed secrets → sealing purpose of a row."""


@dataclass(slots=True)
class SecretRotation:
    """Result of sealing every secret again."""

    current: int = 0
    """Values already sealed with the current secret."""
    resealed: int = 0
    lost: list[SealedValue] = field(default_factory=list)
    """Values that no secret opens."""


def rotate_secret(installation: Installation, *, dry_run: bool = False) -> SecretRotation:
    """Seal again what a fallback secret has sealed; servers may be running."""
    done = SecretRotation()
    for value in installation.store.sealed_values(now()):
        try:
            sealed = installation.sealer.resealed(PURPOSES[value.column](value.id), value.sealed)
        except Unsealable:
            done.lost.append(value)
            continue
        if sealed == value.sealed:
            done.current += 1
        # A value replaced meanwhile is not counted; the next run finds it if it needs to.
        elif dry_run or installation.store.replace_sealed(value, sealed):
            done.resealed += 1
    return done
