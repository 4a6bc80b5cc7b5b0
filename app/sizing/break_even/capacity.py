"""Whether a cluster does the work of what is rented: accelerator-hours at the dense peak."""

from __future__ import annotations

from app.catalog.entries import ChipKind
from app.sizing.break_even.lines import HOURS_PER_MONTH
from app.sizing.context import SizingContext
from app.sizing.hardware import Hardware

PEAK = "fp16_dense"


def used_share(own: Hardware, rented: Hardware, hours: float, context: SizingContext) -> float | None:
    """Return the share of a cluster that rented hours would fill; None where peaks do not compare.

    Peaks compare between GPUs only: what IPUs attain of theirs differs too much from what GPUs do.
    """
    if ChipKind.IPU in (own.entry.chip_kind, rented.entry.chip_kind):
        return None
    return _rate(rented, context) * hours / (_rate(own, context) * HOURS_PER_MONTH)


def _rate(hardware: Hardware, context: SizingContext) -> float:
    """Dense half-precision peak of all accelerators. [FLOP/s]"""
    return context.catalog.peak(hardware.entry.chip, PEAK).value * hardware.devices
