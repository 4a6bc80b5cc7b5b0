"""How far an estimate is from anything measured."""

from __future__ import annotations

import csv
import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from app.sizing.document import NearestRun, Validation
from app.sizing.families import IPU_SERIES
from app.sizing.validation.cases import THROUGHPUT, number
from app.sizing.validation.rules import Rules

UNVALIDATED = frozenset(
    {
        "ipu_phased",
        "ipu_decoder",
        "ipu_other_family",
        "gpu_other_chip",
        "gpu_unmeasured_family",
        "gpu_experts",
        "gpu_wide_tensor",
        "gpu_deep_interleave",
        "gpu_offload",
        "gpu_adapters",
    }
)
"""Regimes of data/residuals.csv in which nothing was measured."""

MEASURED = frozenset(
    {
        *("gpu_profile_known", "gpu_class_known", "gpu_software_unnamed", "gpu_calibrated", "gpu_pipeline"),
        *("ipu_known", "ipu_calibrated", "ipu_small_operations"),
    }
)
"""Regimes that many measured runs are in."""

COUNTED = frozenset({"1", "2"})
"""Priorities of measured rows that count for the headline."""

SHOWN = 3
FAR = 2.0
"""Distance beyond which a measured run says little: an eightfold count, or another chip."""


@dataclass(frozen=True, slots=True)
class MeasuredRun:
    """What a measured run was, without its value."""

    id: str
    family: str
    model: str
    system: str
    chip: str
    devices: int
    parameters: float
    software: str
    fitted: bool
    """True where a software profile rests on such runs; else they only bound the error. [-]"""
    counted: bool
    """True for the rows that the headline of the accuracy report counts: A100 and IPU training. [-]"""
    fabric: str = ""
    """Fabric that the run names between its machines; empty where it had one machine, or where the fabric of
    the catalogue only stands in for the one it had."""


def measured_runs(path: Path, rules: Rules, presets: Collection[str]) -> tuple[MeasuredRun, ...]:
    """Return the configurations of data/validation/measured.csv, one per group.

    Parameters
    ----------
    path : Path
        The file. [-]
    rules : Rules
        Names of systems and software. [-]
    presets : collection of str
        Software profiles that stand for a class and rest on no run of their own. [-]
    """
    found: dict[str, MeasuredRun] = {}
    with path.open(encoding="utf-8", newline="") as handle:
        for row in csv.DictReader(handle):
            devices = number(row["accelerators"])
            system = rules.systems.get(row["system"])
            if devices is None or system is None or row["confidence"] == "memory":
                continue
            known = found.get(row["group"])
            if known is not None and (known.fitted or not _fitted(row, system["chip"], rules, presets)):
                continue
            found[row["group"]] = MeasuredRun(
                id=row["id"],
                family=row["family"],
                model=row["model_name"],
                system=system["system"],
                chip=system["chip"],
                devices=int(devices),
                parameters=number(row["params"]) or 0.0,
                software=row["software"],
                fitted=_fitted(row, system["chip"], rules, presets),
                counted=row["priority"] in COUNTED,
                fabric=_fabric(row, system["chip"], rules),
            )
    return tuple(found.values())


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was measured in a run, and what was predicted of it."""

    metric: str
    measured: float | None
    predicted: float | None


UNTOLD = Outcome("", None, None)


def load_outcomes(path: Path) -> dict[str, Outcome]:
    """Return measured and predicted values by run; empty where the table was not written yet.

    They are shown beside an estimate; nothing is predicted from them.

    Parameters
    ----------
    path : Path
        data/validation/predictions.csv. [-]
    """
    if not path.is_file():
        return {}
    with path.open(encoding="utf-8", newline="") as handle:
        return {
            row["id"]: Outcome(row["metric"], number(row["measured"]), number(row["predicted"]))
            for row in csv.DictReader(handle)
        }


def load_family_errors(path: Path) -> dict[tuple[str, str], float]:
    """Return the median error by family and chip; empty where the table was not written yet."""
    if not path.is_file():
        return {}
    with path.open(encoding="utf-8", newline="") as handle:
        return {
            (row["family"], row["chip"]): float(row["median"])
            for row in csv.DictReader(handle)
            if row["median"]
        }


def _fitted(row: Mapping[str, str], chip: str, rules: Rules, presets: Collection[str]) -> bool:
    if row["metric"] not in THROUGHPUT or row["priority"] not in COUNTED:
        return False
    facts = {"software": row["software"], "family": row["family"], "chip": chip, "model": row["model_name"]}
    profile = rules.profile(facts)
    return profile is not None and profile not in presets


def _fabric(row: Mapping[str, str], chip: str, rules: Rules) -> str:
    if (number(row["nodes"]) or 1.0) <= 1 or chip in IPU_SERIES:
        return ""
    network = rules.network({"interconnect": row["interconnect"], "chip": chip})
    return network["fabric"] if network is not None and network["named"] == "yes" else ""


def distance(run: MeasuredRun, family: str, chip: str, devices: int, parameters: float) -> float:
    """Distance of a case from a measured run, in factors of e of size and count.

    Parameters
    ----------
    run : MeasuredRun
        The measured run. [-]
    family : str
        Family of the model. [-]
    chip : str
        Chip. [-]
    devices : int
        Accelerators. [-]
    parameters : float
        Parameters of the model. [-]

    Returns
    -------
    distance : float
        0 for the same model on as many devices of the same chip. [-]
    """
    scale = abs(math.log(devices / run.devices))
    size = abs(math.log(parameters / run.parameters)) if parameters > 0 and run.parameters > 0 else 1.0
    other = 0.0 if run.chip == chip else (0.5 if run.chip[:4] == chip[:4] else 3.0)
    return scale + 0.7 * size + other + (0.0 if run.family == family else 2.0)


def validation_of(
    runs: tuple[MeasuredRun, ...],
    regimes: list[str],
    family_errors: Mapping[tuple[str, str], float],
    *,
    family: str,
    chip: str,
    devices: int,
    parameters: float,
    outcomes: Mapping[str, Outcome],
) -> Validation:
    """Return the nearest measured runs and how far the case is from them."""
    ranked = sorted((distance(run, family, chip, devices, parameters), run.id, run) for run in runs)
    nearest = [
        NearestRun(
            id=run.id,
            model=run.model,
            system=run.system,
            accelerators=run.devices,
            software=run.software,
            distance=round(far, 3),
            family=run.family,
            metric=outcome.metric,
            measured=outcome.measured,
            predicted=outcome.predicted,
        )
        for far, _, run in ranked[:SHOWN]
        for outcome in (outcomes.get(run.id, UNTOLD),)
    ]
    return Validation(
        nearest_measured=nearest,
        family_error=family_errors.get((family, chip)),
        status=status_of(regimes, ranked[0][0] if ranked else math.inf),
    )


def status_of(
    regimes: Collection[str], nearest: float
) -> Literal["validated", "extrapolated", "unvalidated"]:
    """Return whether measured runs reach as far as a case.

    Parameters
    ----------
    regimes : collection of str
        Rows of data/residuals.csv that the case falls into. [-]
    nearest : float
        Distance of the nearest measured run. [-]
    """
    if UNVALIDATED & set(regimes):
        return "unvalidated"
    return "extrapolated" if set(regimes) - MEASURED or nearest > FAR else "validated"
