"""Failures and checkpoints of a run: what is assumed of them, and what they cost."""

from __future__ import annotations

import math
from dataclasses import dataclass

from app.catalog import Figure, ReliabilityDefaults
from app.engine.gpu.case import MASTER_BYTES, STATE_BYTES
from app.engine.units import DAY, MINUTE, TERABYTE
from app.errors import BadInput
from app.sizing.request import AssumptionsInput

DECILES = 2.0 * 1.2816
"""Standard deviations between the 10th and the 90th percentile of a normal distribution."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reliability:
    """Failures and checkpoints of a run on some machines."""

    rate: float
    """Of a job on one machine. [1/s]"""
    rate_deviation: float
    """Log-deviation of the rate."""
    growth: float
    """Power of the machines by which the rate of one of them grows."""
    taken_back: float
    """Share of the rate with which a provider takes machines back, which does not grow."""
    restart: float
    """From a failure to training again, with what starts anew. [s]"""
    interval: float | None
    """Between checkpoints; the optimum after Daly where None. [s]"""
    bandwidth: float
    """What one machine can send to storage. [B/s]"""
    storage: float
    """What shared storage of a stated size takes from all machines. [B/s]"""
    storage_per_machine: float
    """What shared storage that grows with the machines takes from one of them. [B/s]"""


def reliability(
    defaults: ReliabilityDefaults, asked: AssumptionsInput, interruptions: Figure | float = 0.0
) -> Reliability:
    """Return what is assumed of failures: what was asked, else the catalogue's figures."""
    for name in ("failures_per_1000_node_days", "restart_minutes", "checkpoint_minutes"):
        value = getattr(asked, name)
        least = 0.0 if name != "checkpoint_minutes" else 1e-3
        if value is not None and not least <= value <= 1e6:
            raise BadInput.at(
                f"assumptions.{name}",
                "{value} is not between {least} and 1,000,000",
                value=value,
                least=least,
            )
    figure = defaults.failure_rate
    deviation = log_deviation(figure)
    stated = asked.failures_per_1000_node_days
    failing = figure.si if stated is None else stated / (1000.0 * DAY)
    taken = interruptions if isinstance(interruptions, float) else interruptions.si
    spread = failing * (deviation if stated is None else 0.0)
    if not isinstance(interruptions, float):
        spread = math.hypot(spread, taken * log_deviation(interruptions))
    rate = failing + taken
    storage, storage_per_machine = storage_bandwidth(defaults, asked)
    return Reliability(
        rate=rate,
        rate_deviation=spread / rate if rate > 0 else 0.0,
        restart=defaults.restart.si if asked.restart_minutes is None else asked.restart_minutes * MINUTE,
        interval=None if asked.checkpoint_minutes is None else asked.checkpoint_minutes * MINUTE,
        growth=defaults.failure_growth.si if stated is None else 0.0,
        taken_back=taken / rate if rate > 0 else 0.0,
        bandwidth=defaults.checkpoint_bandwidth.si,
        storage=storage,
        storage_per_machine=storage_per_machine,
    )


def storage_bandwidth(defaults: ReliabilityDefaults, asked: AssumptionsInput) -> tuple[float, float]:
    """Return what shared storage takes: as a whole where its size is stated, else from each machine. [B/s]

    Storage that is counted takes what its size allows. Where none is counted the site is taken to have what
    a reference architecture asks for.
    """
    if asked.storage_tb:
        return asked.storage_tb * TERABYTE * defaults.storage_write_rate.si, 0.0
    if asked.include is not None and "storage" in asked.include:
        return 0.0, defaults.storage_per_node.si * defaults.storage_write_rate.si
    return 0.0, defaults.storage_bandwidth.si


def log_deviation(figure: Figure) -> float:
    """Return the log-deviation of a figure whose low and high are its 10th and 90th percentile."""
    return math.log(figure.si_high / figure.si_low) / DECILES


def checkpointed_bytes(optimizer: str) -> float:
    """Return the bytes of a checkpoint per parameter: half-precision and master weights, and the state."""
    return 2.0 + MASTER_BYTES + STATE_BYTES[optimizer]
