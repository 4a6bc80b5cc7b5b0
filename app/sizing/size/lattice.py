"""Counts of a system that are worth a search."""

from __future__ import annotations

from app.catalog import ChipKind, SystemEntry

SCALABLE_UNIT = 20
"""Nodes of one scalable unit of a DGX SuperPOD, in which clusters of A100 are ordered."""

TRIED_BETWEEN = 4
"""Counts tried between one that misses and the next of the lattice that meets."""


def lattice(entry: SystemEntry, most: int) -> list[int]:
    """Return the counts of a system that are considered, rising.

    IPU systems are sold and partitioned by powers of two; nodes are counted by powers of two and by scalable
    units of twenty.
    """
    counts = range(1, most // entry.devices + 1)
    if entry.chip_kind is ChipKind.IPU:
        return [count for count in counts if is_power_of_two(count)]
    nodes = ((count, count * entry.machines) for count in counts)
    return [count for count, number in nodes if is_power_of_two(number) or number % SCALABLE_UNIT == 0]


def is_power_of_two(number: int) -> bool:
    """Return True for 1, 2, 4, 8 and so on."""
    return number & (number - 1) == 0


def between(low: int, high: int) -> list[int]:
    """Return a few counts between two, those first that divide most evenly."""
    step = 1 << max(((high - low) // TRIED_BETWEEN).bit_length() - 1, 0)
    first = (low // step + 1) * step
    return list(range(first, high, step))
