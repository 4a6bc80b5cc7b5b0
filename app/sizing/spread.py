"""How sure an answer is: samples of the software's figures and a residual by regime.

The residuals are data (data/residuals.csv): what remained unexplained in measured runs that were
left out of the fit, by how far a case is from anything measured.
"""

from __future__ import annotations

import csv
import math
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from app.catalog.software import OFFSET, SoftwareProfile
from app.engine.plans import Plans
from app.engine.records import Floats, GpuSoftware, Intra, IpuChip, IpuSoftware
from app.engine.uncertainty import standard_normals, student_t_samples
from app.errors import CatalogError
from app.sizing.families import DECODERS, FITTED_FAMILIES, SMALL_OPERATIONS
from app.sizing.scenario import Scenario

SAMPLES = 256
"""Samples of one estimate; the ends of an 80 % band then stand on 26 samples each."""

SEED = 20_211_208
"""One table of normal numbers for every estimate, so that options share what they have in common."""

REGIMES = (
    "gpu_profile_known",
    "gpu_class_known",
    "gpu_pipeline",
    "gpu_many_devices",
    "gpu_few_samples",
    "gpu_pcie",
    "gpu_other_chip",
    "gpu_unfitted_family",
    "gpu_unfitted_class",
    "gpu_unmeasured_family",
    "gpu_experts",
    "gpu_wide_tensor",
    "gpu_offload",
    "gpu_long_sequence",
    "ipu_known",
    "ipu_few_accumulations",
    "ipu_other_family",
    "ipu_small_operations",
    "ipu_gateway",
    "ipu_decoder",
    "ipu_phased",
    "gpu_calibrated",
    "gpu_beyond_calibration",
    "ipu_calibrated",
    "ipu_beyond_calibration",
)
"""What an error may come from beside the figures of the software; rows of data/residuals.csv. Each is
one column of samples, so that two options share the errors of the regimes they are both in."""

TAILS = ("tail_1", "tail_2", "tail_3", "tail_4")
"""Columns that give residuals the tails of Student's t with as many degrees of freedom: a few measured
runs miss by far more than a normal law allows, for reasons no column of theirs tells."""

OWN = tuple(f"own_{number:02d}" for number in range(32))
"""Columns of what belongs to one option alone; two options with the same column are rare."""

SHARED = 0.5
"""Share of a residual's variance that runs of a regime have in common. In chains of measured runs of one
model and software the offsets of the chains scatter about as much as what is left after them."""

SCATTER = "calibration_scatter"
OTHERS = ("run_length", "failure_rate", "price", "power", SCATTER)

COLUMNS = (
    *sorted(
        {
            *REGIMES,
            *TAILS,
            *OWN,
            *OTHERS,
            *(entry.name for record in (GpuSoftware, IpuSoftware) for entry in fields(record)),
        }
    ),
    OFFSET,
)
"""All that may be uncertain, in one fixed order whatever an option is made of."""

ENDED = frozenset(
    {
        *("gpu_class_known", "gpu_profile_known", "gpu_other_chip"),
        "gpu_unmeasured_family",
        *("ipu_known", "ipu_other_family"),
    }
)
"""Regimes that measured runs of the model on the chip put an end to."""

KNOWN = {"gpu": "gpu_profile_known", "ipu": "ipu_known"}

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
    missing = sorted({*REGIMES, "run_length"} - set(deviations))
    if missing:
        raise CatalogError(f"residuals.csv: no row for {', '.join(missing)}")
    return Residuals(deviations, sum(row["basis"] == "fitted" for row in rows))


@dataclass(frozen=True, slots=True)
class Measured:
    """What was measured at all."""

    pairs: frozenset[tuple[str, str]]
    """Family and chip. [-]"""
    series: frozenset[str]
    """Series of chips that a software profile was fitted on. [-]"""


@lru_cache(maxsize=8)
def _table(names: tuple[str, ...], samples: int) -> dict[str, Floats]:
    columns = standard_normals(samples, len(names), SEED)
    return {name: columns[:, number] for number, name in enumerate(names)}


def common_normals(samples: int = SAMPLES) -> Mapping[str, Floats]:
    """Return standard normals by the name of whatever is uncertain; the same for every option."""
    return _table(COLUMNS, samples)


def regimes(scenario: Scenario, plans: Plans, family: str, measured: Measured) -> list[str]:
    """Return the regimes a case falls into, the base first.

    Parameters
    ----------
    scenario : Scenario
        Model, hardware and software. [-]
    plans : Plans
        One plan. [-]
    family : str
        Family of the model. [-]
    measured : Measured
        What was measured. [-]

    Returns
    -------
    regimes : list of str
        Rows of data/residuals.csv. [-]
    """
    calibration = scenario.software.calibration
    if calibration is not None and calibration.holds_for(family, scenario.chip.name):
        # What the runs were in has been measured; what lies beyond them widens the range as ever.
        kind = "ipu" if isinstance(scenario.hardware, IpuChip) else "gpu"
        plain = replace(scenario, software=replace(scenario.software, calibration=None))
        known = ENDED | calibration.regimes
        beyond = [name for name in regimes(plain, plans, family, measured) if name not in known]
        if float(np.max(plans.devices)) >= BEYOND * calibration.devices:
            beyond.append(f"{kind}_beyond_calibration")
        # Runs of a known stack do not make it less known.
        base = f"{kind}_calibrated" if scenario.software.is_preset else KNOWN[kind]
        return [base, *beyond]
    if isinstance(scenario.hardware, IpuChip):
        seen = (family, scenario.chip.name) in measured.pairs
        return _ipu_regimes(scenario, scenario.hardware, plans, family, seen)
    found = ["gpu_class_known" if scenario.software.is_preset else "gpu_profile_known"]
    if chip_series(scenario.chip.name) not in measured.series:
        found.append("gpu_other_chip")
    if family not in {name for name, chip in measured.pairs if chip not in IPU_SERIES}:
        found.append("gpu_unmeasured_family")
    elif family not in FITTED_FAMILIES:
        found.append("gpu_unfitted_class" if scenario.software.is_preset else "gpu_unfitted_family")
    if float(np.max(plans.pipeline)) > 1:
        found.append("gpu_pipeline")
    devices = float(np.max(plans.devices))
    if devices > MANY_DEVICES:
        found.append("gpu_many_devices")
    whole_model = float(np.max(plans.tensor * plans.pipeline)) == 1
    if float(np.max(plans.global_batch)) / devices < FEW_SAMPLES and whole_model and family not in DECODERS:
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


def chip_series(chip: str) -> str:
    """Return the series of a chip: figures fitted on one chip of a series hold for the others."""
    return "ipu" if chip in IPU_SERIES else chip.split("-")[0]


IPU_SERIES = frozenset({"gc200", "bow"})


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
    names: list[str], residuals: Residuals, normals: Mapping[str, Floats], own: str, scatter: float = 0.0
) -> Floats:
    r"""Return factors on a time for what the figures of the software do not explain.

    .. math:: \ln f = \tau \left(\sqrt{s} \sum_r \sigma_r z_r + \sqrt{1 - s} \, \sigma z_{own}\right)
        \qquad \sigma^2 = \sum_r \sigma_r^2

    Parameters
    ----------
    names : list of str
        Regimes, rows of data/residuals.csv. [-]
    residuals : Residuals
        Log-deviation of each, :math:`\sigma_r`. [-]
    normals : mapping
        Standard normals by name, :math:`z_r`; four of them make the common :math:`\tau` of Student's t. [-]
    own : str
        Column of what belongs to this option alone, :math:`z_{own}`. [-]
    scatter : float
        Log-deviation that the runs of a calibration show among themselves beyond what is known. [-]
    """
    common = sum(residuals[name] * normals[name] for name in names)
    deviation = math.sqrt(sum(residuals[name] ** 2 for name in names))
    alone = deviation * normals[own]
    together = math.sqrt(SHARED) * common + math.sqrt(1.0 - SHARED) * alone + scatter * normals[SCATTER]
    mixing = np.stack([normals[name] for name in TAILS], axis=-1)
    return np.exp(student_t_samples(np.asarray(together), mixing))


def scatter_of(software: SoftwareProfile) -> float:
    """Return how far the runs of a calibration disagree beyond what is known; none for other profiles."""
    return 0.0 if software.calibration is None else software.calibration.scatter


def own_column(chip: str, plans: Plans) -> str:
    """Return the column of what belongs to one option alone: its chip, devices, batch and layout.

    Parameters
    ----------
    chip : str
        Chip. [-]
    plans : Plans
        One plan. [-]
    """
    layout = [float(np.ravel(getattr(plans, entry.name))[0]) for entry in fields(Plans)]
    return OWN[zlib.crc32(repr((chip, layout)).encode()) % len(OWN)]
