"""Systematic factors between measured and computed step times, by architecture, chip, software and family.

They remain after the figures of a software profile: an architecture or a chip reaches more or less than its
data sheet says, a stack without fitted figures loses more or less than its class, and the operators of a
family are known better or worse. Each is a row of data/effects.csv, fitted by
`tools/fitting/effects.py`. What the runs of one laboratory share never moves a prediction.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from app.catalog.software import SoftwareProfile
from app.errors import CatalogError
from app.estimating.chips import chip_series

KINDS = ("architecture", "chip", "software", "family")
LANGUAGE_MODELS = frozenset({"gpt", "llama", "moe"})
UNNAMED = "unnamed"
"""Effect of software that nobody named: language models run other stacks and plans than the usual ones."""
ONE_STACK = "tpu-"
"""Beginning of chips whose every run is compiled by their maker's compiler, whether or not it is named."""
RESTS_ON = re.compile(r"(\d[\d,]*) runs? in (\d[\d,]*) groups?")
"""Counts of runs and groups in the note of a figure."""


@dataclass(frozen=True, slots=True)
class Effect:
    kind: str
    """One of :data:`KINDS`."""
    name: str
    """Name of an architecture, a software profile or a family, or the prefix of chip identifiers."""
    factor: float
    """Measured time over computed time. [-]"""
    deviation: float
    """Of its logarithm."""
    note: str

    @property
    def runs(self) -> int:
        return self._counts[0]

    @property
    def groups(self) -> int:
        return self._counts[1]

    @property
    def _counts(self) -> tuple[int, int]:
        match = RESTS_ON.search(self.note)
        runs, groups = (0, 0) if match is None else (int(text.replace(",", "")) for text in match.groups())
        return runs, groups

    def holds_for(self, chip: str, architecture: str, software: Collection[str], family: str) -> bool:
        """Return whether a run has the effect; one of a software holds for what extends it too."""
        if self.kind == "chip":
            return chip == self.name or chip.startswith(f"{self.name}-")
        if self.kind == "software":
            return self.name in software
        return self.name == {"architecture": architecture, "family": family}[self.kind]


@dataclass(frozen=True, slots=True)
class Effects:
    rows: tuple[Effect, ...] = ()
    architectures: Mapping[str, str] = field(default_factory=dict)
    """Architecture of each chip."""

    def of(
        self, chip: str, software: SoftwareProfile, family: str, fitted: Collection[str]
    ) -> tuple[Effect, ...]:
        """Return the effects on a step of a family of models with a software on a chip.

        Software with fitted figures has none on the series of chips that figures were fitted on.
        """
        if software.kind == "ipu":
            return ()
        unnamed = software.presumed and family in LANGUAGE_MODELS and not chip.startswith(ONE_STACK)
        asked = tuple(row for row in self.rows if unnamed and row.name == UNNAMED)
        if software.rests_on_runs and chip_series(chip) in fitted:
            return asked
        own = software.id if software.calibration is None else software.calibration.prior
        stack = (own, *software.extends)
        architecture = self.architectures.get(chip, "")
        return asked + tuple(row for row in self.rows if row.holds_for(chip, architecture, stack, family))


def time_factor(effects: Iterable[Effect]) -> float:
    """Return the product of several effects.

    >>> rows = [Effect("chip", "b200", 1.1, 0.03, ""), Effect("family", "moe", 1.2, 0.07, "")]
    >>> round(time_factor(rows), 2)
    1.32
    """
    return math.prod(effect.factor for effect in effects)


def load_effects(directory: Path, architectures: Mapping[str, str]) -> Effects:
    with (directory / "effects.csv").open(encoding="utf-8", newline="") as handle:
        rows = list(csv.DictReader(handle))
    for row in rows:
        if row["kind"] not in KINDS:
            raise CatalogError(f"effects.csv: {row['kind']} is none of {', '.join(KINDS)}")
    return Effects(
        tuple(
            Effect(row["kind"], row["name"], float(row["factor"]), float(row["deviation"]), row["note"])
            for row in rows
        ),
        architectures,
    )
