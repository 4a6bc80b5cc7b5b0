"""How well predictions agree with measured runs: one set of figures for document and page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from app.engine.agreement import wilson_interval
from app.reports.predictions import COUNTED, KINDS, Prediction
from app.sizing.families import CORE_FAMILIES
from app.sizing.validation.report import summary

SCALES = ((1, 4), (5, 8), (9, 64), (65, 512), (513, None))
"""Classes of size: least and most devices."""

ALL, CORE, OTHER = "all", "core", "other"
SETS = (ALL, CORE, OTHER)
"""All families, those with the most measured runs, and the rest."""


def scale_code(least: int, most: int | None) -> str:
    """Return a class of size as it is written in an address.

    >>> scale_code(9, 64), scale_code(513, None)
    ('9-64', '513-')
    """
    return f"{least}-{most or ''}"


SCALE_CODES = tuple(scale_code(*ends) for ends in SCALES)


def scale_of(devices: int) -> str:
    """Return the class of size of a run.

    >>> scale_of(8), scale_of(2048)
    ('5-8', '513-')
    """
    return next(
        (scale_code(least, most) for least, most in SCALES if most is not None and devices <= most),
        SCALE_CODES[-1],
    )


@dataclass(frozen=True, slots=True)
class RunChoice:
    """Which runs are looked at, and with what left out of the fit."""

    family: str = ALL
    chip: str = ""
    scale: str = ""
    errors: str = "group_left_out"

    def holds(self, one: Prediction) -> bool:
        """Tell whether a run is looked at."""
        return (
            in_set(one.family, self.family)
            and self.chip in ("", one.chip)
            and self.scale in ("", scale_of(one.devices))
        )


def in_set(family: str, chosen: str) -> bool:
    """Tell whether a family is the chosen one or belongs to the chosen set."""
    if chosen in SETS:
        return chosen == ALL or (family in CORE_FAMILIES) == (chosen == CORE)
    return family == chosen


@dataclass(frozen=True, slots=True)
class Agreement:
    """Errors of some runs, every group counted once."""

    runs: int
    groups: int
    median: float | None
    """Of the absolute log-error."""
    ninetieth: float | None
    """90th percentile of the absolute log-error."""
    bias: float | None
    """Mean log-error; above zero the prediction is too large."""
    coverage: float | None
    """Share of measured values inside the 80 % band."""
    coverage_low: float | None
    """Low end of its 95 % binomial interval, groups as trials."""
    coverage_high: float | None
    """High end."""


@dataclass(frozen=True, slots=True)
class AgreementCell:
    """One family on one chip at one class of size."""

    family: str
    chip: str
    scale: str
    in_sample: Agreement
    left_out: Agreement
    """The same with each run's group left out of the fit."""


def counted(predictions: Iterable[Prediction]) -> list[Prediction]:
    """Return the runs of the headline: throughput, read from its source, of the first two priorities."""
    return [one for one in predictions if one.scope == COUNTED and one.is_throughput]


def agreement(predictions: Iterable[Prediction], kind: str) -> Agreement:
    """Return the errors of some runs with something left out of the fit."""
    part = summary(kind, [one.result(kind) for one in predictions])
    low, high = None, None
    if part.coverage is not None:
        low, high = (float(end) for end in wilson_interval(part.coverage, float(part.groups)))
    return Agreement(
        part.supported, part.groups, part.median, part.ninetieth, part.bias, part.coverage, low, high
    )


def by_kind(predictions: Sequence[Prediction]) -> dict[str, Agreement]:
    """Return the errors by what the fit knew."""
    return {kind: agreement(predictions, kind) for kind in KINDS}


def cells(predictions: Iterable[Prediction]) -> list[AgreementCell]:
    """Return the errors by family, chip and class of size."""
    parts: dict[tuple[str, str, int], list[Prediction]] = {}
    for one in predictions:
        if one.log_error is not None:
            place = SCALE_CODES.index(scale_of(one.devices))
            parts.setdefault((one.family, one.chip, place), []).append(one)
    return [
        AgreementCell(
            family,
            chip,
            SCALE_CODES[place],
            agreement(members, "in_sample"),
            agreement(members, "group_left_out"),
        )
        for (family, chip, place), members in sorted(parts.items())
    ]


def worst(predictions: Iterable[Prediction], kind: str, shown: int) -> list[Prediction]:
    """Return the worst runs, the worst first: one of each model on each chip with each software.

    Runs alike are missed alike; all of them would hide the other kinds.
    """
    missed = [(abs(error), one) for one in predictions if (error := one.error(kind)) is not None]
    chosen: dict[tuple[str, str, str], Prediction] = {}
    for _, one in sorted(missed, key=lambda pair: (-pair[0], pair[1].id)):
        chosen.setdefault((one.model, one.chip, one.software), one)
    return list(chosen.values())[:shown]
