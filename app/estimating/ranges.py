"""Quantities with their 80 % interval, and the samples behind them."""

from __future__ import annotations

import csv
import math
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from app.catalog.figures import Spread
from app.catalog.own import PREFIX
from app.catalog.software import OFFSET
from app.engine.plans import Plans
from app.engine.records import Floats, GpuChip, GpuSoftware, IpuChip, IpuSoftware
from app.engine.uncertainty import band, standard_normals, student_t_samples
from app.engine.units import DAY, HOUR, MINUTE, YEAR
from app.errors import CatalogError, Message
from app.estimating.regimes import REGIMES
from app.estimating.scenario import Scenario
from app.estimating.schema import Quantity


def quantity(value: float, samples: Floats, unit: str) -> Quantity:
    """Return a value with the 10th and 90th percentile of its samples, widened to contain it."""
    low, high = band(np.asarray(samples, dtype=float), value)
    return Quantity(value=float(value), low=float(low), high=float(high), unit=unit)


def scaled(amount: Quantity, factor: float) -> Quantity:
    ends = (factor * end for end in (amount.value, amount.low, amount.high))
    return Quantity(**dict(zip(("value", "low", "high"), ends, strict=True)), unit=amount.unit)


def shifted(amount: Quantity, by: float) -> Quantity:
    return Quantity(value=amount.value + by, low=amount.low + by, high=amount.high + by, unit=amount.unit)


def spread_quantity(spread: Spread) -> Quantity:
    return Quantity(value=spread.value, low=spread.low, high=spread.high, unit=spread.unit)


MONEY = "{amount} {currency}"
"""Template of an amount of money in a sentence, localised by each language."""


def money(value: float, currency: str) -> Message:
    """Return an amount of money with its unrounded value, so that a sentence rounds as a cell does."""
    return Message(MONEY, {"amount": significant(value), "currency": currency, "whole": value})


LEAST_CHANCE = 0.01
"""Smallest probability that samples can tell from 0, and its complement from 1."""


def chance(probability: float) -> Message:
    """Return a probability for a sentence, never as impossible or certain."""
    if probability < LEAST_CHANCE:
        return Message("under {share} %", {"share": 1})
    if probability > 1.0 - LEAST_CHANCE:
        return Message("over {share} %", {"share": 99})
    return Message("{share} %", {"share": round(100.0 * probability)})


def significant(value: float, digits: int = 3) -> float:
    return float(f"{value:.{digits}g}")


TENS = np.array([float(f"1e{power}") for power in range(300)])


def stated_samples(samples: Floats) -> list[float]:
    """Return samples with five digits, as answers state them.

    A whole number of so few digits times or over a power of ten is the nearest number to its decimals.

    >>> stated_samples(np.array([123456.0, 0.00123456, 0.0]))
    [123460.0, 0.0012346, 0.0]
    """
    counted = np.isfinite(samples) & (samples != 0.0)
    digits = 4 - np.floor(np.log10(np.abs(samples), where=counted, out=np.full(samples.shape, 4.0)))
    digits = np.clip(digits, -TENS.size + 1, TENS.size - 1).astype(int)
    up, down = TENS[np.maximum(digits, 0)], TENS[np.maximum(-digits, 0)]
    return [float(sample) for sample in np.rint(samples * up / down) * down / up]


TIMES = (
    (90.0, 1.0, "s"),
    (90 * MINUTE, MINUTE, "min"),
    (96 * HOUR, HOUR, "h"),
    (2 * YEAR, DAY, "d"),
    (math.inf, YEAR, "years"),
)
"""Upper limit in seconds, seconds per unit and symbol of each unit."""

COUNTS = ((1e12, "trillion"), (1e9, "billion"), (1e6, "million"))
"""Least count and word."""

SENTENCES = {
    "s": "{number} seconds",
    "min": "{number} minutes",
    "h": "{number} hours",
    "d": "{number} days",
    "years": "{number} years",
    "trillion": "{number} trillion",
    "billion": "{number} billion",
    "million": "{number} million",
}
"""Wording by unit of time or word of a count."""


def duration(seconds: float) -> Message:
    """Return a time in its usual unit.

    >>> str(duration(4010 * DAY)), str(duration(5 * DAY))
    ('11 years', '5 days')
    """
    size, unit = next((size, unit) for limit, size, unit in TIMES if seconds < limit)
    return Message(SENTENCES[unit], {"number": significant(seconds / size, 2 if size == YEAR else 3)})


def count_of(value: float) -> Message | float:
    """Return a large count in words, as 300 billion; a smaller one unchanged.

    >>> str(count_of(3.49e12)), str(count_of(1281167)), count_of(40_000.0)
    ('3.49 trillion', '1.28 million', 40000.0)
    """
    for size, word in COUNTS:
        if value >= size:
            return Message(SENTENCES[word], {"number": significant(value / size), "count": value})
    return significant(value, 6)


SAMPLES = 256
"""Samples of one estimate; the ends of an 80 % band then stand on 26 samples each."""
SEED = 20_211_208
"""All estimates share one table of normals, so that options share their common errors."""
TEAM = "team"
"""Column of what ordinary teams lose: one team runs all options."""
TAILS = ("tail_1", "tail_2", "tail_3", "tail_4")
"""Columns that give residuals the tails of Student's t with as many degrees of freedom: a few measured
runs are missed by far more than a normal law allows."""
OWN = tuple(f"own_{number:02d}" for number in range(32))
"""Columns of errors of one option alone; two options rarely share one."""
SHARED = 0.5
"""Share of a residual's variance that runs of a regime have in common. In chains of measured runs of one
model and software the offsets of the chains scatter about as much as the runs around them."""
WHOLLY_SHARED = frozenset({"gpu_software_unnamed"})
"""Regimes whose error is the same for all options: they all run the same unnamed software."""
SCATTER = "calibration_scatter"
EXCHANGE = "exchange_rate"
"""Column of exchange rates, drawn from a seed of its own so that adding it changed no other."""
OTHERS = ("run_length", "failure_rate", "price", "power", SCATTER)

NETWORK = (
    *("network_bandwidth", "network_latency"),
    *(f"{name}_{number:02d}" for name in ("bandwidth", "latency") for number in range(16)),
)
"""Columns of network performance: two shared by all networks of a cluster, and two for each."""

LATER = (
    *("gpu_software_unnamed", "gpu_adapters", "layer_overlap", "native_attention"),
    *("gpu_newer_chip", "gpu_profile_assumed", "gpu_eager_assumed", "gpu_recommender"),
    "gpu_inference",
    "expert_overhead",
    "input_bytes",
    "team",
)
"""Regimes and figures added after the networks."""

COLUMNS = (
    *sorted(
        {
            *REGIMES,
            *TAILS,
            *OWN,
            *OTHERS,
            *GpuSoftware._fields,
            *IpuSoftware._fields,
        }
        - set(LATER)
    ),
    OFFSET,
    *NETWORK,
    *LATER,
)
"""Everything uncertain in one fixed order; later additions are appended so that earlier columns stay."""


@dataclass(frozen=True, slots=True, eq=False)
class Residuals:
    """Log-deviation by regime."""

    deviations: Mapping[str, float]
    fitted: int

    def __getitem__(self, regime: str) -> float:
        return self.deviations[regime]


def load_residuals(directory: Path) -> Residuals:
    with (directory / "residuals.csv").open(encoding="utf-8", newline="") as handle:
        rows = list(csv.DictReader(handle))
    try:
        deviations = {row["regime"]: float(row["deviation"]) for row in rows}
    except ValueError as error:
        raise CatalogError("residuals.csv: every deviation must be a number") from error
    missing = sorted(set(REGIMES) - set(deviations))
    if missing:
        raise CatalogError(f"residuals.csv: no row for {', '.join(missing)}")
    return Residuals(deviations, sum(row["basis"] == "fitted" for row in rows))


def _table(names: tuple[str, ...], samples: int, seed: int = SEED) -> dict[str, Floats]:
    columns = standard_normals(samples, len(names), seed)
    return {name: columns[:, number] for number, name in enumerate(names)}


@lru_cache(maxsize=8)
def common_normals(samples: int = SAMPLES) -> Mapping[str, Floats]:
    """Return standard normals by uncertain quantity, the same for every option."""
    return _table(COLUMNS, samples) | _table((EXCHANGE,), samples, SEED + 1)


def residual_samples(
    names: list[str], residuals: Residuals, normals: Mapping[str, Floats], own: str, scatter: float = 0.0
) -> Floats:
    r"""Return factors on a time for what the figures of the software do not explain.

    .. math:: \ln f = \tau \left(\sum_r \sqrt{s_r} \sigma_r z_r
        + z_{own} \sqrt{\sum_r (1 - s_r) \sigma_r^2}\right)

    Parameters
    ----------
    names : list of str
        Regimes, rows of data/residuals.csv.
    residuals : Residuals
        Log-deviation of each, :math:`\sigma_r`.
    normals : mapping
        Standard normals by name, :math:`z_r`; four of them make the common :math:`\tau` of Student's t.
    own : str
        Column of what belongs to this option alone, :math:`z_{own}`.
    scatter : float
        Log-deviation that the runs of a calibration show among themselves beyond what is known.
    """
    shares = {name: 1.0 if name in WHOLLY_SHARED else SHARED for name in names}
    common = sum(math.sqrt(shares[name]) * residuals[name] * normals[name] for name in names)
    alone = math.sqrt(sum((1.0 - shares[name]) * residuals[name] ** 2 for name in names)) * normals[own]
    together = common + alone + scatter * normals[SCATTER]
    mixing = np.stack([normals[name] for name in TAILS], axis=-1)
    return np.exp(student_t_samples(np.asarray(together), mixing))


@lru_cache(maxsize=512)
def _common_residuals(names: tuple[str, ...], residuals: Residuals, own: str, scatter: float) -> Floats:
    """Return the residual samples that options of the same regimes and chance have in common."""
    return residual_samples(list(names), residuals, common_normals(), own, scatter)


@lru_cache(maxsize=32)
def residual_quantile(probability: float) -> float:
    """Return the quantile of residuals of deviation 1, on the samples behind the ranges."""
    normals = common_normals()
    mixing = np.stack([normals[name] for name in TAILS], axis=-1)
    samples = np.concatenate([student_t_samples(normals[own], mixing) for own in OWN])
    return float(np.quantile(samples, probability))


def own_column(chip: GpuChip | IpuChip, plans: Plans) -> str:
    """Return the column of errors of one option alone, by its chip and plan.

    The identifier of a workspace's chip does not count: two entries of one data sheet have the same range.
    """
    identity: object = chip.name
    if isinstance(chip, GpuChip) and chip.name.startswith(PREFIX):
        identity = replace(chip, name=PREFIX)
    layout = [float(np.ravel(getattr(plans, entry.name))[0]) for entry in fields(Plans)]
    return OWN[zlib.crc32(repr((identity, layout)).encode()) % len(OWN)]


NOT_UNDERSTOOD = "model_not_understood"
"""Row of data/residuals.csv: what an unknown type of model is off by where its fields alone are read."""


def residual_factors(
    names: list[str],
    residuals: Residuals,
    normals: Mapping[str, Floats],
    scenario: Scenario,
    plans: Plans,
    *,
    understood: bool = True,
) -> Floats:
    """Return the residual samples of one plan; wider where the model is not understood."""
    calibration = scenario.software.calibration
    scatter = 0.0 if calibration is None else calibration.scatter
    if not understood:
        scatter = math.hypot(scatter, residuals[NOT_UNDERSTOOD])
    own = own_column(scenario.chip, plans)
    if normals is common_normals():
        factors = _common_residuals(tuple(names), residuals, own, scatter)
    else:
        factors = residual_samples(names, residuals, normals, own, scatter)
    team = scenario.team
    if team is None:
        return factors
    middle = 1.0 if team.headline else team.factor
    return np.asarray(factors * middle * np.exp(team.deviation * normals[TEAM]))
