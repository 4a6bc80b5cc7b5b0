"""Whole numbers of bytes and seconds in the units that people speak of."""

from __future__ import annotations

GIBIBYTE = 2**30
"""[B]"""
HOUR = 3600
"""[s]"""
YEAR = 31_557_600
"""365.25 days. [s]"""
HOURS_PER_YEAR = YEAR // HOUR
