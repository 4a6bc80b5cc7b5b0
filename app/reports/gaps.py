"""What no measured run tests: families, chips, sizes and regimes."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from app.reports.agreement import counted
from app.reports.predictions import Prediction
from app.sizing.context import SizingContext
from app.sizing.nearest import UNVALIDATED
from app.sizing.regimes import REGIMES

OF_CALIBRATIONS = frozenset(
    {"gpu_calibrated", "gpu_beyond_calibration", "ipu_calibrated", "ipu_beyond_calibration"}
)
"""Regimes of a code whose user measured it; such runs are in no table here."""


@dataclass(frozen=True, slots=True)
class Largest:
    """The largest run that was measured on a chip."""

    chip: str
    devices: int
    runs: int


@dataclass(frozen=True, slots=True)
class Gaps:
    """What no run of the headline tests."""

    families: tuple[str, ...]
    """Families of models that can be asked for."""
    chips: tuple[str, ...]
    """Chips of the catalogue that can be asked for."""
    largest: tuple[Largest, ...]
    """Beyond these sizes nothing was measured, by chip."""
    regimes: tuple[str, ...]
    """Kinds of plan or hardware of data/residuals.csv."""


def gaps(predictions: Iterable[Prediction], context: SizingContext, families: Collection[str]) -> Gaps:
    """Return what no predicted run of the headline tests."""
    known = [one for one in counted(predictions) if one.log_error is not None]
    seen = {regime for one in known for regime in one.regimes.split()}
    chips = {system.chip for system in context.catalog.systems() if system.chip}
    largest = {
        chip: [one.devices for one in known if one.chip == chip] for chip in {one.chip for one in known}
    }
    return Gaps(
        families=tuple(sorted(set(families) - {one.family for one in known})),
        chips=tuple(sorted(chips - set(largest))),
        largest=tuple(Largest(chip, max(devices), len(devices)) for chip, devices in sorted(largest.items())),
        regimes=tuple(
            regime
            for regime in REGIMES
            if regime in UNVALIDATED or (regime not in seen and regime not in OF_CALIBRATIONS)
        ),
    )
