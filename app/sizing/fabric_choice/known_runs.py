"""What is known of measured runs over a fabric."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Literal

from app.sizing.fabric_choice.documents import FabricValidation
from app.sizing.nearest import MeasuredRun, status_of
from app.sizing.regimes import chip_series


def validation_of_fabric(
    runs: Iterable[MeasuredRun],
    fabric: str,
    family: str,
    chip: str,
    *,
    measured: bool,
    regimes: Collection[str],
) -> FabricValidation:
    """Return how far the answer for a network rests on runs over such a network.

    Runs count that name the fabric themselves; those whose network the catalogue's only stands in for do not.
    """
    over = [run for run in runs if run.fabric == fabric]
    series = chip_series(chip)
    counted = sum(run.family == family and chip_series(run.chip) == series for run in over)
    status: Literal["measured", "validated", "extrapolated", "unvalidated"] = "unvalidated"
    if measured:
        status = "measured"
    elif counted:
        status = status_of(regimes, 0.0)
    return FabricValidation(
        status=status, runs=counted, families=sorted({run.family for run in over if run.family})
    )
