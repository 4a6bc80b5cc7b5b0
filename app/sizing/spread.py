"""How sure an answer is: samples of the software's figures and a residual by regime.

The residuals are data (data/residuals.csv): what remained unexplained in measured runs that were
left out, by how far a case is from anything measured.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from app.catalog.software import OFFSET
from app.engine.plans import Plans
from app.engine.records import Floats, GpuSoftware, Intra, IpuChip, IpuSoftware
from app.engine.uncertainty import combined_standard_deviation, log_normal_samples, standard_normals
from app.errors import CatalogError
from app.sizing.scenario import Scenario

SAMPLES = 256
"""Samples of one estimate; the ends of an 80 % band then stand on 26 samples each."""

SEED = 20_211_208
"""One table of normal numbers for every estimate, so that options share what they have in common."""

STRUCTURE = ("structure_gpu", "structure_ipu", "run_length", "failure_rate", "price", "power")
"""Columns for what no figure of the software explains."""

COLUMNS = (
    *sorted({*STRUCTURE, *(entry.name for record in (GpuSoftware, IpuSoftware) for entry in fields(record))}),
    OFFSET,
)
"""All that may be uncertain, in one fixed order whatever an option is made of."""

ENDED = frozenset(
    {
        *("gpu_class_known", "gpu_profile_known", "gpu_other_chip", "gpu_other_family"),
        *("ipu_known", "ipu_other_family"),
    }
)
"""Regimes that measured runs of the model on the chip put an end to."""

BEYOND = 8.0
"""Times the measured devices from which a calibrated range is wider."""

FEW_SAMPLES = 8.0
MANY_DEVICES = 512.0
LARGE_GRADIENTS = 0.5e9
PCIE_DEVICES = 8
FEW_ACCUMULATIONS = 4.0
LONG_SEQUENCE = 8192.0
"""Tokens of the longest measured samples."""


@dataclass(frozen=True, slots=True)
class Residuals:
    """Log-deviation by regime."""

    deviations: Mapping[str, float]
    fitted: int

    def __getitem__(self, regime: str) -> float:
        return self.deviations[regime]


def load_residuals(directory: Path) -> Residuals:
    """Load data/residuals.csv."""
    with (directory / "residuals.csv").open(encoding="utf-8", newline="") as handle:
        rows = list(csv.DictReader(handle))
    try:
        deviations = {row["regime"]: float(row["deviation"]) for row in rows}
    except ValueError as error:
        raise CatalogError("residuals.csv: every deviation must be a number") from error
    return Residuals(deviations, sum(row["basis"] == "fitted" for row in rows))


@lru_cache(maxsize=8)
def _table(names: tuple[str, ...], samples: int) -> dict[str, Floats]:
    columns = standard_normals(samples, len(names), SEED)
    return {name: columns[:, number] for number, name in enumerate(names)}


def common_normals(samples: int = SAMPLES) -> Mapping[str, Floats]:
    """Return standard normals by the name of whatever is uncertain; the same for every option."""
    return _table(COLUMNS, samples)


def regimes(scenario: Scenario, plans: Plans, family: str, measured: frozenset[tuple[str, str]]) -> list[str]:
    """Return the regimes a case falls into, the base first.

    Parameters
    ----------
    scenario : Scenario
        Model, hardware and software. [-]
    plans : Plans
        One plan. [-]
    family : str
        Family of the model. [-]
    measured : frozenset
        Pairs of family and chip with measured rows. [-]

    Returns
    -------
    regimes : list of str
        Rows of data/residuals.csv. [-]
    """
    chip = scenario.chip.name
    seen = (family, chip) in measured
    calibration = scenario.software.calibration
    if calibration is not None and calibration.holds_for(family, chip):
        # What the runs were in has been measured; what lies beyond them widens the range as ever.
        kind = "ipu" if isinstance(scenario.hardware, IpuChip) else "gpu"
        plain = replace(scenario, software=replace(scenario.software, calibration=None))
        known = ENDED | calibration.regimes
        beyond = [name for name in regimes(plain, plans, family, measured) if name not in known]
        if float(np.max(plans.devices)) >= BEYOND * calibration.devices:
            beyond.append(f"{kind}_beyond_calibration")
        return [f"{kind}_calibrated", *beyond]
    if isinstance(scenario.hardware, IpuChip):
        return _ipu_regimes(scenario, scenario.hardware, plans, family, seen)
    found = ["gpu_class_known" if scenario.software.is_preset else "gpu_profile_known"]
    devices = float(np.max(plans.devices))
    if not any(name == chip for _, name in measured):
        found.append("gpu_other_chip")
    elif not seen:
        found.append("gpu_other_family")
    per_device = float(np.max(plans.global_batch)) / devices
    if devices > MANY_DEVICES:
        found.append("gpu_many_devices")
    if (
        per_device < FEW_SAMPLES
        and float(np.max(plans.tensor * plans.pipeline)) == 1
        and family not in DECODERS
    ):
        found.append("gpu_few_samples")
    machine = scenario.hardware.machine
    gradients = 2.0 * scenario.table.parameters
    if machine.intra is Intra.PCIE and machine.devices >= PCIE_DEVICES and gradients > LARGE_GRADIENTS:
        found.append("gpu_pcie")
    if scenario.table.active_parameters < scenario.table.parameters:
        found.append("gpu_experts")
    if float(np.max(plans.tensor)) > machine.devices:
        found.append("gpu_wide_tensor")
    if float(np.max(plans.offload)) > 0:
        found.append("gpu_offload")
    if scenario.table.tokens > LONG_SEQUENCE:
        found.append("gpu_long_sequence")
    return found


CALIBRATED = frozenset({"gpu_calibrated", "ipu_calibrated"})
"""Base regimes where runs of the model were fitted."""

MEDIAN_OF_NORMAL = 0.6745
"""Median absolute value of a standard normal number."""

DECODERS = frozenset({"gpt", "llama"})
SMALL_OPERATIONS = frozenset({"conformer", "efficientnet", "gnn", "tacotron2", "waveglow", "dlrm"})


def _ipu_regimes(scenario: Scenario, chip: IpuChip, plans: Plans, family: str, seen: bool) -> list[str]:
    if float(np.max(plans.tensor)) > 1 or float(np.max(plans.phases)) > 1:
        found = ["ipu_phased"]
    elif family in DECODERS or (scenario.table.tokens > 1 and family == "t5"):
        found = ["ipu_decoder"]
    elif family in SMALL_OPERATIONS:
        found = ["ipu_small_operations"] if seen else ["ipu_small_operations", "ipu_other_family"]
    elif seen:
        found = ["ipu_known"]
    else:
        found = ["ipu_other_family"]
    if float(np.max(plans.accumulation)) < FEW_ACCUMULATIONS:
        found.append("ipu_few_accumulations")
    if float(np.max(plans.devices)) > chip.pod_size:
        found.append("ipu_gateway")
    return found


def residual_samples(
    scenario: Scenario,
    names: list[str],
    residuals: Residuals,
    normals: Mapping[str, Floats],
    family_error: float | None,
) -> Floats:
    """Return factors on a time for what the figures of the software do not explain.

    Parameters
    ----------
    scenario : Scenario
        Model, hardware and software. [-]
    names : list of str
        Regimes, rows of data/residuals.csv. [-]
    residuals : Residuals
        Log-deviation of each. [-]
    normals : mapping
        Standard normals by name. [-]
    family_error : float or None
        Median absolute log-error of measured runs of the family on the chip; a range is never
        narrower than such an error asks for, unless it rests on runs of the very model. [-]
    """
    parts = [residuals[name] for name in names]
    calibration = scenario.software.calibration
    if calibration is not None:
        parts.append(calibration.scatter)
    deviation = combined_standard_deviation(parts)
    if names[0] not in CALIBRATED:
        deviation = np.maximum(deviation, (family_error or 0.0) / MEDIAN_OF_NORMAL)
    column = "structure_ipu" if scenario.is_ipu else "structure_gpu"
    return log_normal_samples(deviation, normals[column])
