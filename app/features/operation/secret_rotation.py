"""Sealing everything again with the secret of the server that counts now."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from app.features.accounts import second_factor
from app.features.integrations import webhooks
from app.platform.sealing import Unsealable
from app.platform.store.account_queries import SealedValue
from app.platform.store.queries import now
from app.platform.workbench import Workbench

PURPOSES: Mapping[str, Callable[[str], str]] = {
    "account.totp_sealed": second_factor.purpose,
    "webhook.sealed_secret": webhooks.purpose,
    "webhook.previous_sealed": webhooks.purpose,
}
"""Column of sealed secrets → for what those of a row are sealed."""


@dataclass(slots=True)
class SecretRotation:
    """What came of sealing everything again."""

    current: int = 0
    """Values that were sealed with the secret of now before."""
    resealed: int = 0
    lost: list[SealedValue] = field(default_factory=list)
    """What no secret opens."""


def rotate_secret(bench: Workbench, *, dry_run: bool = False) -> SecretRotation:
    """Seal with the secret of now what a fallback has sealed; servers may run meanwhile."""
    done = SecretRotation()
    for value in bench.store.sealed_values(now()):
        try:
            sealed = bench.sealer.resealed(PURPOSES[value.column](value.id), value.sealed)
        except Unsealable:
            done.lost.append(value)
            continue
        if sealed == value.sealed:
            done.current += 1
        # One that was replaced meanwhile is not counted; if it was sealed as before, the next run finds it.
        elif dry_run or bench.store.replace_sealed(value, sealed):
            done.resealed += 1
    return done
