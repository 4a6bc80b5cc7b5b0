"""Regimes of a plan: sources of error beside the figures of the software, rows of data/residuals.csv.

Regimes that were never measured have wider deviations, by which a search ranks their plans lower.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from app.engine.plans import Plans
from app.engine.records import Intra, IpuChip
from app.estimating.chips import IPU_SERIES, chip_series
from app.estimating.scenario import Scenario

FITTED_FAMILIES = frozenset({"gpt", "llama", "bert", "resnet50", "resnext101", "efficientnet", "t5"})
"""Families whose operators are known well enough that a misfit is due to the software."""
CORE_FAMILIES = frozenset({"gpt", "llama", "bert", "resnet50"})
"""Families with the most measured runs, which the headline counts."""
DECODERS = frozenset({"gpt", "llama"})
SMALL_OPERATIONS = frozenset({"conformer", "efficientnet", "gnn", "tacotron2", "waveglow", "dlrm"})
"""Families whose time on an IPU is mostly the fixed cost of operations."""
TRANSFORMERS = frozenset({"gpt", "llama", "bert", "t5", "vit", "swin", "transformer-xl", "conformer"})

CONVOLUTIONS = frozenset(
    {
        "resnet50", "resnext101", "efficientnet", "efficientdet", "ssd", "retinanet", "maskrcnn", "unet",
        "unet3d", "nnunet", "diffusion",
    }
)  # fmt: skip

RECOMMENDERS = frozenset({"dlrm", "ncf"})


def power_kind(family: str) -> str:
    """Return the kind of training by which the power of machines is known."""
    kinds = {"transformer": TRANSFORMERS, "convolution": CONVOLUTIONS, "recommendation": RECOMMENDERS}
    return next((kind for kind, families in kinds.items() if family in families), "other")


Mask = NDArray[np.bool_]
OTHER_CHIP = "gpu_other_chip"
"""Regime of a chip without measured runs."""

REGIMES = (
    "gpu_profile_known",
    "gpu_profile_assumed",
    "gpu_eager_assumed",
    "gpu_recommender",
    "gpu_class_known",
    "gpu_newer_chip",
    "gpu_pipeline",
    "gpu_many_devices",
    "gpu_few_samples",
    "gpu_pcie",
    OTHER_CHIP,
    "gpu_unfitted_family",
    "gpu_unfitted_class",
    "gpu_unmeasured_family",
    "gpu_experts",
    "gpu_wide_tensor",
    "gpu_deep_interleave",
    "gpu_offload",
    "gpu_long_sequence",
    "gpu_adapters",
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
    "gpu_software_unnamed",
    "gpu_inference",
)
"""Rows of data/residuals.csv. Each is one column of samples, so that two options share the errors of the
regimes they are both in."""

ENDED = frozenset(
    {
        *("gpu_class_known", "gpu_profile_known", "gpu_profile_assumed"),
        "gpu_eager_assumed",
        *("gpu_newer_chip", OTHER_CHIP),
        "gpu_unmeasured_family",
        *("ipu_known", "ipu_other_family"),
    }
)
"""Regimes that a calibration on the chip always replaces."""

BEYOND = 8.0
"""Multiple of the measured devices from which a calibrated range is wider."""
FEW_SAMPLES = 8.0
MANY_DEVICES = 512.0
LARGE_GRADIENTS = 0.5e9
PCIE_DEVICES = 8
FEW_ACCUMULATIONS = 4.0
LONG_SEQUENCE = 8192.0
"""Tokens of the longest measured samples."""
DEEPEST_INTERLEAVE = 3.0
"""Chunks of a stage in published runs (Korthikanti et al. 2022, table 3)."""


@dataclass(frozen=True)
class MeasurementCoverage:
    pairs: frozenset[tuple[str, str]]
    """Family and chip."""
    series: frozenset[str]
    """Series of chips that a software profile was fitted on."""
    chips: frozenset[str]
    """Series of chips with any measured run."""

    @cached_property
    def on_gpus(self) -> frozenset[str]:
        """Families with measured runs on GPUs."""
        return frozenset(family for family, chip in self.pairs if chip not in IPU_SERIES)


def regimes(scenario: Scenario, plans: Plans, family: str, measured: MeasurementCoverage) -> list[str]:
    """Return the regimes of a plan, the base first."""
    return [name for name, mask in regime_masks(scenario, plans, family, measured).items() if mask.any()]


def regime_masks(
    scenario: Scenario, plans: Plans, family: str, measured: MeasurementCoverage
) -> dict[str, Mask]:
    """Return which plans are in each regime, the base first."""
    calibration = scenario.software.calibration
    if calibration is not None and calibration.holds_for(family, scenario.chip.name):
        # The regimes of the calibration's runs are measured; others still widen the range.
        kind = "ipu" if scenario.is_ipu else "gpu"
        plain = replace(scenario, software=replace(scenario.software, calibration=None))
        measured_already = known_regimes(scenario, family)
        masks = {f"{kind}_calibrated": np.asarray(True)}
        masks |= {
            name: mask
            for name, mask in regime_masks(plain, plans, family, measured).items()
            if name not in measured_already
        }
        masks[f"{kind}_beyond_calibration"] = plans.devices >= BEYOND * calibration.devices
        return masks
    if isinstance(scenario.hardware, IpuChip):
        is_measured = (family, scenario.chip.name) in measured.pairs
        return _ipu_masks(scenario, scenario.hardware, plans, family, is_measured)
    return _gpu_masks(scenario, plans, family, measured)


def _gpu_masks(
    scenario: Scenario, plans: Plans, family: str, measured: MeasurementCoverage
) -> dict[str, Mask]:
    assert not isinstance(scenario.hardware, IpuChip)
    # A presumed stack is known no better than its class.
    preset = scenario.software.is_preset or scenario.software.presumed
    assumed = "gpu_profile_known" if scenario.software.rests_on_runs else "gpu_profile_assumed"
    stack = "gpu_class_known" if preset else assumed
    series = chip_series(scenario.chip.name)
    machine, table = scenario.hardware.machine, scenario.table
    family_known = family in measured.on_gpus
    unfitted = family_known and family not in FITTED_FAMILIES
    few = (plans.global_batch / plans.devices < FEW_SAMPLES) & (plans.tensor * plans.pipeline == 1)
    boards = machine.intra is Intra.PCIE and machine.devices >= PCIE_DEVICES
    masks: dict[str, Mask | bool] = {
        stack: True,
        "gpu_software_unnamed": scenario.software.presumed,
        "gpu_eager_assumed": stack == assumed == "gpu_profile_assumed"
        and scenario.software.preset == "eager",
        "gpu_newer_chip": series in measured.chips - measured.series,
        OTHER_CHIP: series not in measured.chips | measured.series,
        "gpu_unmeasured_family": not family_known,
        "gpu_unfitted_class" if preset else "gpu_unfitted_family": unfitted,
        "gpu_recommender": family in RECOMMENDERS,
        "gpu_pipeline": plans.pipeline > 1,
        "gpu_many_devices": plans.devices > MANY_DEVICES,
        "gpu_few_samples": few & (family not in DECODERS),
        "gpu_pcie": boards and 2.0 * table.trained_parameters > LARGE_GRADIENTS,
        "gpu_experts": table.active_parameters < table.parameters,
        **unusual_masks(scenario, plans),
        "gpu_adapters": table.trained_parameters < table.parameters,
        "gpu_long_sequence": table.tokens > LONG_SEQUENCE,
    }
    return {name: np.asarray(mask) for name, mask in masks.items()}


def _ipu_masks(
    scenario: Scenario, chip: IpuChip, plans: Plans, family: str, is_measured: bool
) -> dict[str, Mask]:
    phased = unusual_masks(scenario, plans)["ipu_phased"]
    decoder = family in DECODERS or (scenario.table.tokens > 1 and family == "t5")
    small = not decoder and family in SMALL_OPERATIONS
    plain = not decoder and not small
    masks: dict[str, Mask | bool] = {
        "ipu_phased": phased,
        "ipu_decoder": decoder & ~phased,
        "ipu_small_operations": small & ~phased,
        "ipu_known": (plain and is_measured) & ~phased,
        "ipu_other_family": (not decoder and not is_measured) & ~phased,
        "ipu_few_accumulations": plans.accumulation < FEW_ACCUMULATIONS,
        "ipu_gateway": plans.devices > chip.pod_size,
    }
    return {name: np.asarray(mask) for name, mask in masks.items()}


def unusual_masks(scenario: Scenario, plans: Plans) -> dict[str, Mask]:
    """Return which plans are of a kind that no published run used."""
    if isinstance(scenario.hardware, IpuChip):
        return {"ipu_phased": (plans.tensor > 1) | (plans.phases > 1)}
    return {
        "gpu_wide_tensor": plans.tensor > scenario.hardware.machine.devices,
        "gpu_deep_interleave": plans.interleave > DEEPEST_INTERLEAVE,
        "gpu_offload": plans.offload > 0,
    }


def known_regimes(scenario: Scenario, family: str) -> frozenset[str]:
    """Return the regimes that a calibration has measured."""
    calibration = scenario.software.calibration
    if calibration is None or not calibration.holds_for(family, scenario.chip.name):
        return frozenset()
    return ENDED | calibration.regimes
