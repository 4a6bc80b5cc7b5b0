"""The basis of an estimate, and the errors of comparable runs left out of the fit."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Literal

import numpy as np

from app.catalog.software import SoftwareProfile
from app.engine.records import Floats
from app.errors import Message
from app.estimating.chips import chip_series
from app.estimating.documents import Basis, BasisError, Text, ThreeSteps
from app.estimating.nearest import FAR, MeasuredRuns, read_measured
from app.estimating.ranges import significant
from app.estimating.regimes import CORE_FAMILIES, OTHER_CHIP, MeasurementCoverage
from app.estimating.schema import Quantity

Families = Literal["core", "other"]
Chips = Literal["fitted", "newer"]
LeftOutErrors = Mapping[tuple[str, str, str], BasisError]
"""Errors by what was left out, set of families and set of chips."""
WORTH_MEASURING = 0.8
"""Measuring is advised where it narrows a range to less than this share of its width."""


def family_set(family: str) -> Families:
    return "core" if family in CORE_FAMILIES else "other"


def chip_set(chip: str, measured: MeasurementCoverage) -> Chips:
    """Return whether software figures were fitted on runs of a chip's series."""
    return "fitted" if chip_series(chip) in measured.series else "newer"


def load_left_out(path: Path) -> dict[tuple[str, str, str], BasisError]:
    """Return the errors of runs left out; empty if the table does not exist yet."""
    rows = (BasisError.model_validate(row, strict=False) for row in read_measured(path))
    return {(row.left_out, row.families, row.chips): row for row in rows}


def basis_of(
    runs: MeasuredRuns,
    gaps: Floats,
    software: SoftwareProfile,
    regimes: Collection[str],
    *,
    family: str,
    chip: str,
) -> Basis:
    """Return the basis of an estimate; presumed GPU software may be any, that of an IPU is its maker's.

    ``gaps`` are the distances of the runs.
    """
    calibration = software.calibration
    if calibration is not None and calibration.holds_for(family, chip):
        return "own_runs"
    if OTHER_CHIP in regimes:
        return "data_sheet"
    if software.presumed and software.kind != "ipu":
        return "chip_elsewhere"
    stack = software.id if calibration is None else calibration.prior
    series, near = chip_series(chip), (runs[place] for place in np.flatnonzero(gaps <= FAR))
    if any(
        run.family == family
        and chip_series(run.chip) == series
        and (software.presumed or stack in run.profiles)
        for run in near
    ):
        return "measured_here"
    elsewhere = software.presumed or stack in runs.profiles
    return "software_elsewhere" if elsewhere else "chip_elsewhere"


def basis_error(basis: Basis, errors: LeftOutErrors, families: Families, chips: Chips) -> BasisError | None:
    """Return the error of comparable runs left out in the way that fits the basis."""
    if basis == "data_sheet":
        # Chips that figures are fitted on cannot be left out of their own fit.
        return errors.get(("chip", families, "newer"))
    return None if basis == "own_runs" else errors.get(("laboratory", families, chips))


SENTENCES: Mapping[str, str] = {
    "own_runs": "calibrated with measured runs of the workspace",
    "measured_here": (
        "measured on this kind of chip with this software and model family: similar runs are missed by "
        "{median} % in the median, nine in ten by at most {ninetieth} %, when no run of their laboratory is "
        "used"
    ),
    "software_elsewhere": (
        "this software was measured, but not with this model family on this kind of chip at a similar size: "
        "comparable runs are missed by {median} % in the median, nine in ten by at most {ninetieth} %, when "
        "no run of their laboratory is used"
    ),
    "chip_elsewhere": (
        "this kind of chip was measured, but not with this software: comparable runs with known software are "
        "missed by {median} % in the median, nine in ten by at most {ninetieth} %, when no run of their "
        "laboratory is used"
    ),
    "software_unnamed": (
        "this kind of chip was measured, but no software is named here: published runs that are asked for "
        "without their software are missed by {median} % in the median, nine in ten by at most {ninetieth} %"
    ),
    "data_sheet": (
        "from the data sheet, as no run of this chip was measured: comparable runs of other chips are missed "
        "by {median} % in the median, nine in ten by at most {ninetieth} %, when no run of their chip is used"
    ),
}
"""Sentence by basis, with the error of comparable runs."""


def basis_sentence(basis: Basis, error: BasisError | None, software: SoftwareProfile) -> Message | None:
    """Return the sentence of a basis; None where its error is unknown."""
    if error is None:
        return Message(SENTENCES[basis]) if basis == "own_runs" else None
    unnamed = basis == "chip_elsewhere" and software.presumed
    figures = {
        "median": significant(100.0 * error.median, 2),
        "ninetieth": significant(100.0 * error.ninetieth, 2),
    }
    return Message(SENTENCES["software_unnamed" if unnamed else basis], figures)


def three_steps(now: Quantity, after: Quantity) -> ThreeSteps | None:
    """Return how three measured steps narrow a range; None if by little.

    >>> range_of = lambda part: Quantity(value=100.0, low=100.0 - part, high=100.0 + part, unit="s")
    >>> gain = three_steps(range_of(20.0), range_of(8.0))
    >>> gain.now, gain.after
    (0.2, 0.08)
    >>> three_steps(range_of(20.0), range_of(17.0)) is None
    True
    """
    before, narrowed = ((amount.high - amount.low) / (2.0 * amount.value) for amount in (now, after))
    if narrowed >= WORTH_MEASURING * before:
        return None
    advice = Message(
        "before you sign, run three steps on it and calibrate with them: the range of the training time "
        "narrows from ± {now} % to about ± {after} %",
        {"now": significant(100.0 * before, 2), "after": significant(100.0 * narrowed, 2)},
    )
    return ThreeSteps(now=before, after=narrowed, text=Text.of(advice))
