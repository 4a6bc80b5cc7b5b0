"""Measured runs, and their distance from a case."""

from __future__ import annotations

import csv
import itertools
import sys
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from app.catalog.software import SoftwareProfile
from app.engine.records import Floats
from app.estimating.chips import IPU_SERIES, chip_series
from app.estimating.documents import NearestRun
from app.estimating.schema import filled
from app.estimating.validation.cases import (
    THROUGHPUT,
    MeasurementCase,
    Rules,
    UnsupportedCase,
    number,
    read_case,
    without_answers,
)
from app.estimating.validation.texts import plain

CALIBRATED = frozenset({"gpu_calibrated", "ipu_calibrated"})
"""Regimes of estimates that rest on runs of one's own."""

UNVALIDATED = frozenset(
    {
        "ipu_phased",
        "ipu_decoder",
        "ipu_other_family",
        "gpu_other_chip",
        "gpu_unmeasured_family",
        "gpu_wide_tensor",
        "gpu_offload",
        "gpu_inference",
    }
)
"""Regimes of data/residuals.csv without measured runs."""

MEASURED = frozenset(
    {
        *("gpu_profile_known", "gpu_profile_assumed", "gpu_class_known", "gpu_software_unnamed"),
        *("gpu_eager_assumed", "gpu_recommender"),
        *("gpu_calibrated", "gpu_pipeline", "gpu_newer_chip", "gpu_experts", "gpu_adapters"),
        *("ipu_known", "ipu_calibrated", "ipu_small_operations"),
    }
)
"""Regimes with many measured runs."""

COUNTED = frozenset({"1", "2"})
"""Priorities of measured rows that count for the headline."""
SHOWN = 3
LARGE_FAMILY_ERROR = 0.25
"""Median error of measured runs beyond which an estimate is not validated."""
FAR = 2.0
"""Distance beyond which a measured run validates nothing: an eightfold count, or another chip."""


@dataclass(frozen=True, slots=True)
class MeasuredRun:
    """The configuration of a measured run, without its value."""

    id: str
    family: str
    model: str
    system: str
    chip: str
    devices: int
    parameters: float
    software: str
    fitted: bool
    """True where a software profile was fitted to such runs; else they only bound the error."""
    counted: bool
    """True for the rows counted in the headline of the accuracy report: A100 and IPU training."""
    fabric: str = ""
    """Fabric that the run names; empty for one machine, or where the catalogue's fabric is a stand-in."""
    profiles: frozenset[str] = frozenset()
    """Software profiles of the runs of its group."""

    def ran(self, software: SoftwareProfile) -> bool:
        """Return whether a run of the group used a profile; presumed software matches any.

        So does a class of software that was calibrated with runs of a workspace.
        """
        calibrated = () if software.calibration is None else (software.calibration.prior,)
        whatever = software.presumed or (bool(calibrated) and software.is_preset)
        return whatever or not self.profiles.isdisjoint({software.id, *calibrated})


class MeasuredRows:
    """Rows of data/validation/measured.csv without their values, read as cases on demand."""

    def __init__(self, rows: Collection[Mapping[str, str]], rules: Rules) -> None:
        self._rules = rules
        self._rows: dict[tuple[str, str, int], list[dict[str, str]]] = {}
        self._cases: dict[tuple[str, str, int], tuple[MeasurementCase, ...]] = {}
        for row in rows:
            system, devices = rules.system(row["system"]), number(row["accelerators"])
            if system is None or devices is None or row["confidence"] == "memory":
                continue
            key = (row["family"], system["chip"], int(devices))
            self._rows.setdefault(key, []).append(without_answers(row))

    def cases(self, family: str, chip: str, devices: int) -> tuple[MeasurementCase, ...]:
        """Return the measured runs of a family on a number of chips."""
        key = (family, chip, devices)
        if key not in self._cases:
            cases = []
            for row in self._rows.get(key, ()):
                with suppress(UnsupportedCase):
                    cases.append(read_case(row, self._rules))
            self._cases[key] = tuple(cases)
        return self._cases[key]


def read_measured(path: Path) -> list[dict[str, str]]:
    """Return the rows of a table of data/validation; none if it does not exist yet."""
    if not path.is_file():
        return []
    with path.open(encoding="utf-8", newline="") as handle:
        # Most values stand in many rows.
        return [
            {name: sys.intern(value or "") for name, value in row.items()} for row in csv.DictReader(handle)
        ]


DEVICES_PER_MACHINE = 8

PROFILE_FACTS = ("family", "chip", "software", "model", "interconnect", "precision")
"""Facts of a row that its software profile depends on."""


def measured_runs(rows: Iterable[Mapping[str, str]], rules: Rules, presets: Collection[str]) -> MeasuredRuns:
    """Return the configurations of measured rows, one per group."""
    runs: dict[str, MeasuredRun] = {}
    profiles: dict[str, set[str]] = {}
    # Many rows share these facts.
    profile_of = cache(lambda *facts: rules.profile(dict(zip(PROFILE_FACTS, facts, strict=True))))
    for row in rows:
        devices = number(row["accelerators"])
        system = rules.system(row["system"])
        if devices is None or system is None or row["confidence"] == "memory":
            continue
        profile = profile_of(
            *(row["family"], system["chip"], plain(row["software"]), row["model_name"]),
            *(row["interconnect"], row["precision"]),
        )
        if profile is not None:
            profiles.setdefault(row["group"], set()).add(profile)
        fitted = (
            row["metric"] in THROUGHPUT
            and row["priority"] in COUNTED
            and profile is not None
            and profile not in presets
        )
        previous = runs.get(row["group"])
        if previous is not None and (previous.fitted or not fitted):
            continue
        runs[row["group"]] = MeasuredRun(
            id=row["id"],
            family=row["family"],
            model=row["model_name"],
            system=system["system"],
            chip=system["chip"],
            devices=int(devices),
            parameters=number(row["params"]) or 0.0,
            software=row["software"],
            fitted=fitted,
            counted=row["priority"] in COUNTED,
            fabric=_fabric(row, system["chip"], rules),
        )
    return MeasuredRuns(
        replace(run, profiles=frozenset(profiles.get(group, ()))) for group, run in runs.items()
    )


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """Measured and predicted value of a run, for display; nothing is predicted from them."""

    metric: str
    measured: float | None
    predicted: float | None


UNTOLD = RunOutcome("", None, None)


def load_outcomes(path: Path) -> dict[str, RunOutcome]:
    """Return the outcomes by run; empty if the table does not exist yet."""
    return {
        row["id"]: RunOutcome(row["metric"], number(row["measured"]), number(row["predicted"]))
        for row in read_measured(path)
    }


NAMED, PRESUMED = "named", "presumed"
"""Measured runs were predicted with the software they named, or with the presumed default."""


class FamilyError(NamedTuple):
    """Errors of measured runs of a family on a chip, each left out with its laboratory where it can be."""

    runs: int
    groups: int
    median: float
    ninetieth: float
    coverage: float
    """Share of them inside the 80 % band."""

    @property
    def keeps_bands(self) -> bool:
        """Whether they lie in their bands as often as promised, and are predicted well."""
        return self.coverage >= PROMISED and self.median <= LARGE_FAMILY_ERROR


FamilyErrors = Mapping[tuple[str, str, str], FamilyError]
"""Errors by family, chip and whether the software was named or presumed."""
FEWEST_GROUPS = 2
"""Groups of machines from which runs tell an error: one may be a happy accident."""
PROMISED = 0.75
"""Share inside the 80 % band from which it holds what it promises, as far as few runs tell."""


def load_family_errors(path: Path) -> dict[tuple[str, str, str], FamilyError]:
    """Return the errors of several groups of runs; empty if the table does not exist yet."""
    return {
        (row["family"], row["chip"], row.get("software") or NAMED): FamilyError(
            int(row["supported"]),
            int(row["groups"]),
            float(row["median"]),
            float(row["ninetieth"]),
            float(row["coverage"]),
        )
        for row in read_measured(path)
        if row["median"] and int(row["groups"]) >= FEWEST_GROUPS
    }


def family_error(
    errors: FamilyErrors,
    runs: MeasuredRuns,
    software: SoftwareProfile,
    *,
    family: str,
    chip: str,
    usual: str,
) -> FamilyError | None:
    """Return the error of measured runs of a family on a chip with an estimate's software.

    None where no run of the family on the chip used it.
    """
    if software.presumed:
        return errors.get((family, chip, PRESUMED))
    if runs.of_kind(software, family=family, chip=chip).size:
        return errors.get((family, chip, NAMED))
    return errors.get((family, chip, PRESUMED)) if software.id == usual else None


def _fabric(row: Mapping[str, str], chip: str, rules: Rules) -> str:
    if (number(row["nodes"]) or 1.0) <= 1 or chip in IPU_SERIES:
        return ""
    network = rules.network(row["interconnect"], chip, DEVICES_PER_MACHINE)
    return network.fabric if network is not None and network.named else ""


class MeasuredRuns(tuple[MeasuredRun, ...]):
    """Configurations of measured runs, with what their distance from a case depends on as arrays."""

    @cached_property
    def _of_kind(self) -> dict[tuple[str, str], list[int]]:
        kinds: dict[tuple[str, str], list[int]] = {}
        for place, run in enumerate(self):
            kinds.setdefault((run.family, run.chip), []).append(place)
        return kinds

    def of_kind(self, software: SoftwareProfile, *, family: str, chip: str) -> NDArray[np.intp]:
        """Return the places of the runs of a family on a chip with a software profile."""
        places = self._of_kind.get((family, chip), ())
        return np.array([place for place in places if self[place].ran(software)], dtype=np.intp)

    @cached_property
    def profiles(self) -> frozenset[str]:
        """Software profiles that any run used."""
        return frozenset(itertools.chain.from_iterable(run.profiles for run in self))

    @cached_property
    def _sizes(self) -> tuple[Floats, Floats]:
        """Devices, and parameters; not a number where these are not known."""
        parameters = np.array([run.parameters for run in self], dtype=float)
        return np.array([run.devices for run in self], dtype=float), np.where(
            parameters > 0, parameters, np.nan
        )

    @cached_property
    def _kinds(self) -> tuple[list[str], NDArray[np.intp], NDArray[np.str_]]:
        """Chips, the place of that of each run among them, and the family of each run."""
        chips, places = np.unique(np.array([run.chip for run in self], dtype=np.str_), return_inverse=True)
        return chips.tolist(), places, np.array([run.family for run in self], dtype=np.str_)

    def distances(
        self,
        family: str,
        chip: str,
        devices: int,
        parameters: float,
        architectures: Mapping[str, str] = MappingProxyType({}),
    ) -> Floats:
        """Return the distance of a case from each run, in factors of e of size and count.

        Chips of one series are closer than those of one architecture, and those closer than others.
        """
        counts, sizes = self._sizes
        size = np.abs(np.log((parameters or np.nan) / sizes))
        chips, places, families = self._kinds
        own, series = architectures.get(chip), chip_series(chip)

        def apart(other: str) -> float:
            if other == chip:
                return 0.0
            if chip_series(other) == series:
                return 0.5
            return 1.0 if other in architectures and architectures[other] == own else 3.0

        return np.asarray(
            np.abs(np.log(devices / counts))
            + 0.7 * np.where(np.isnan(size), 1.0, size)
            + np.array([apart(other) for other in chips])[places]
            + 2.0 * (families != family)
        )

    @cached_property
    def _on_ipus(self) -> NDArray[np.bool_]:
        chips, places, _ = self._kinds
        return np.array([chip in IPU_SERIES for chip in chips])[places]

    def nearest(self, gaps: Floats, chip: str) -> list[tuple[float, MeasuredRun]]:
        """Return the runs nearest to a case on chips of its kind, whatever their software."""
        gaps = np.where(self._on_ipus == (chip in IPU_SERIES), gaps, np.inf)
        furthest = np.partition(gaps, SHOWN - 1)[SHOWN - 1] if len(self) > SHOWN else np.inf
        close = [(float(gaps[at]), self[at]) for at in np.flatnonzero((gaps <= furthest) & (gaps < np.inf))]
        return sorted(close, key=lambda ranked: (ranked[0], ranked[1].id))[:SHOWN]


def nearest_runs(
    runs: MeasuredRuns, outcomes: Mapping[str, RunOutcome], gaps: Floats, chip: str
) -> list[NearestRun]:
    """Return the measured runs nearest to a case, with what was measured and is predicted for each."""
    return [
        filled(
            NearestRun,
            run,
            accelerators=run.devices,
            distance=round(gap, 3),
            metric=outcome.metric,
            measured=outcome.measured,
            predicted=outcome.predicted,
        )
        for gap, run in runs.nearest(gaps, chip)
        for outcome in (outcomes.get(run.id, UNTOLD),)
    ]


Status = Literal["validated", "extrapolated", "unvalidated"]


def status_of(
    regimes: Collection[str], nearest: float, error: FamilyError | None = None, contradicted: bool = False
) -> Status:
    """Return whether measured runs are close to a case, agree with it and keep their ranges when left out."""
    if UNVALIDATED & set(regimes):
        return "unvalidated"
    own = bool(CALIBRATED & set(regimes))
    borne_out = not contradicted and (own if error is None else own or error.keeps_bands)
    return "validated" if borne_out and nearest <= FAR and not set(regimes) - MEASURED else "extrapolated"


def claimed(status: Status, software_presumed: bool) -> Status:
    """Return the status that is shown: presumed software of a GPU is not validated, as stacks differ."""
    return "extrapolated" if status == "validated" and software_presumed else status
