"""Common units in SI units."""

from __future__ import annotations

GIBIBYTE = 2**30
"""[B]"""
GIGABYTE = 1e9
"""[B]"""
TERABYTE = 1e12
"""[B]"""
MINUTE = 60.0
"""[s]"""
HOUR = 3_600.0
"""[s]"""
DAY = 86_400.0
"""[s]"""
YEAR = 31_557_600.0
"""365.25 days. [s]"""
MONTH = YEAR / 12.0
"""[s]"""
MONTHS = 12.0
"""In a year."""
HOURS_PER_YEAR = YEAR / HOUR
KILOWATT = 1e3
"""[W]"""
KILOWATT_HOUR = 3.6e6
"""[J]"""
