"""How well the peaks of memory that runs logged are computed, as ``python -m tools documents`` wrote them."""

from __future__ import annotations

import csv
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from app.estimating.validation.run import weighted_quantile

MEMORY_PEAKS = "validation/memory-peaks.csv"


@dataclass(frozen=True, slots=True)
class LoggedPeak:
    """Peak memory that a run logged, without what the driver and the allocator hold beside it."""

    id: str
    group: str
    model: str
    family: str
    kind: str
    """Kind of training."""
    software: str
    """Software profile it was computed with."""
    system: str
    devices: int
    layout: str
    logged: float
    """[GiB]"""
    computed: float
    """[GiB]"""

    @property
    def error(self) -> float:
        """ln(computed / logged)."""
        return math.log(self.computed / self.logged)


@dataclass(frozen=True, slots=True)
class PeakAgreement:
    """Agreement of computed peaks of one family, kind of training and software, each group counted once."""

    family: str
    """Empty for all of them, as are the others."""
    kind: str
    software: str
    peaks: int
    groups: int
    median: float
    """Of the absolute error. [-]"""
    ninetieth: float
    bias: float
    """Median of the signed error; above 0 where too much is computed. [-]"""


def read_peaks(directory: Path) -> tuple[LoggedPeak, ...]:
    """Return the logged peaks as last computed; none before that."""
    path = directory / MEMORY_PEAKS
    if not path.is_file():
        return ()
    with path.open(encoding="utf-8", newline="") as handle:
        return tuple(
            LoggedPeak(
                **{name: row[name] for name in row.keys() - {"devices", "logged", "computed"}},
                devices=int(row["devices"]),
                logged=float(row["logged"]),
                computed=float(row["computed"]),
            )
            for row in csv.DictReader(handle)
        )


def peak_agreements(peaks: Sequence[LoggedPeak]) -> list[PeakAgreement]:
    """Return the agreement of all peaks, then by family, kind of training and software."""
    kinds = sorted({(peak.family, peak.kind, peak.software) for peak in peaks})
    found = [_agreement(("", "", ""), peaks)] if peaks else []
    for kind in kinds:
        alike = [peak for peak in peaks if (peak.family, peak.kind, peak.software) == kind]
        found.append(_agreement(kind, alike))
    return found


def _agreement(kind: tuple[str, str, str], peaks: Iterable[LoggedPeak]) -> PeakAgreement:
    errors = np.array([peak.error for peak in peaks])
    groups = Counter(peak.group for peak in peaks)
    weights = np.array([1.0 / groups[peak.group] for peak in peaks])
    family, training, software = kind
    return PeakAgreement(
        family=family,
        kind=training,
        software=software,
        peaks=errors.size,
        groups=len(groups),
        median=weighted_quantile(np.abs(errors), weights, 0.5),
        ninetieth=weighted_quantile(np.abs(errors), weights, 0.9),
        bias=weighted_quantile(errors, weights, 0.5),
    )
