"""Units of the edges: exact factors to the unit each kind of quantity has inside.

The engine computes in seconds, bytes, FLOP, watts and joules; data/, requests and pages speak of
hours, gibibytes and kilowatt-hours. A factor is a ratio of whole numbers, so a conversion and the
way back lose at most the last digit. A bit is an eighth of a byte, a year has 365.25 days and a
month is a twelfth of it. Currencies are not units here: ``1/kWh`` converts the price per
kilowatt-hour in whatever currency it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from types import MappingProxyType

import numpy as np

from app.engine.records import FloatLike, Floats
from app.errors import BadInput, Message

KIBIBYTE = 2**10
MEBIBYTE = 2**20
GIBIBYTE = 2**30
TEBIBYTE = 2**40
MINUTE = 60
HOUR = 60 * MINUTE
DAY = 24 * HOUR
YEAR = 1461 * DAY // 4
HOURS_PER_YEAR = YEAR // HOUR

_MONTH = Fraction(YEAR, 12)
_KILOWATT_HOUR = 1000 * HOUR
_DECIMAL = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15, "E": 10**18}


def _scaled(unit: str, prefixes: str, factor: Fraction | int = 1) -> dict[str, Fraction]:
    names = ("", *prefixes)
    return {prefix + unit: Fraction(_DECIMAL[prefix]) * factor for prefix in names}


_BINARY = {
    "KiB": Fraction(KIBIBYTE),
    "MiB": Fraction(MEBIBYTE),
    "GiB": Fraction(GIBIBYTE),
    "TiB": Fraction(TEBIBYTE),
}

_KINDS: tuple[dict[str, Fraction], ...] = (
    {"1": Fraction(1), "%": Fraction(1, 100)},
    {
        "s": Fraction(1),
        "ms": Fraction(1, 10**3),
        "us": Fraction(1, 10**6),
        "ns": Fraction(1, 10**9),
        "min": Fraction(MINUTE),
        "h": Fraction(HOUR),
        "day": Fraction(DAY),
        "week": Fraction(7 * DAY),
        "month": _MONTH,
        "year": Fraction(YEAR),
    },
    {
        "1/s": Fraction(1),
        **_scaled("Hz", "kMG"),
        "1/h": Fraction(1, HOUR),
        "1/day": Fraction(1, DAY),
        "1/(1000 node day)": Fraction(1, 1000 * DAY),
        "1/month": 1 / _MONTH,
        "1/year": Fraction(1, YEAR),
    },
    {**_scaled("B", "kMGTP"), **_BINARY},
    {
        **_scaled("B/s", "kMGTP"),
        **{f"{name}/s": factor for name, factor in _BINARY.items()},
        **_scaled("b/s", "MGT", Fraction(1, 8)),
    },
    _scaled("FLOP", "MGTPE"),
    _scaled("FLOP/s", "MGTPE"),
    _scaled("W", "kM"),
    {**_scaled("J", "kMG"), "kWh": Fraction(_KILOWATT_HOUR), "MWh": Fraction(1000 * _KILOWATT_HOUR)},
    {"1/J": Fraction(1), "1/kWh": Fraction(1, _KILOWATT_HOUR), "1/MWh": Fraction(1, 1000 * _KILOWATT_HOUR)},
    {"1/(W s)": Fraction(1), "1/(kW month)": 1 / (1000 * _MONTH), "1/(kW year)": Fraction(1, 1000 * YEAR)},
    {"1/(B s)": Fraction(1), "1/(GB month)": 1 / (10**9 * _MONTH), "1/(TB month)": 1 / (10**12 * _MONTH)},
    {"1/B": Fraction(1), "1/GB": Fraction(1, 10**9), "1/TB": Fraction(1, 10**12)},
    {"kg": Fraction(1), "g": Fraction(1, 1000), "t": Fraction(1000)},
    {"kg/J": Fraction(1), "kg/kWh": Fraction(1, _KILOWATT_HOUR), "g/kWh": Fraction(1, 1000 * _KILOWATT_HOUR)},
)

UNITS: Mapping[str, str] = MappingProxyType({unit: next(iter(kind)) for kind in _KINDS for unit in kind})
"""Every unit of the edges and the engine's unit for the same kind of quantity."""

_FACTORS = {unit: factor for kind in _KINDS for unit, factor in kind.items()}


def engine_unit(unit: str) -> str:
    """Return the unit the engine computes in for the kind of quantity that ``unit`` measures.

    Parameters
    ----------
    unit : str
        One of :data:`UNITS`. [-]

    Returns
    -------
    name : str
        Its counterpart inside. [-]

    Raises
    ------
    BadInput
        Where the unit is not known.

    References
    ----------
    .. [1] BIPM, "The International System of Units (SI)," 9th ed., 2019, tables 4 and 8.

    Examples
    --------
    >>> engine_unit("Gb/s"), engine_unit("GiB"), engine_unit("1/(1000 node day)")
    ('B/s', 'B', '1/s')
    """
    if unit not in UNITS:
        known = ", ".join(UNITS)
        raise BadInput(Message("“{unit}” is not a unit; known are {known}", {"unit": unit, "known": known}))
    return UNITS[unit]


def convert(value: FloatLike, unit: str, to: str) -> Floats:
    """Return a value in another unit of the same kind.

    Parameters
    ----------
    value : FloatLike
        Number, or array of numbers, in ``unit``. [unit]
    unit : str
        One of :data:`UNITS`. [-]
    to : str
        One of :data:`UNITS` that measures the same kind of quantity. [-]

    Returns
    -------
    converted : Floats
        The value in ``to``, rounded twice at most. [to]

    Raises
    ------
    BadInput
        Where a unit is not known, or the two measure different things.

    References
    ----------
    .. [1] BIPM, "The International System of Units (SI)," 9th ed., 2019, tables 4, 7 and 8.
    .. [2] IEC 80000-13:2008, "Quantities and units: information science and technology," clause 4
       (binary prefixes).

    Examples
    --------
    A 200 Gb/s port moves 25 GB/s:

    >>> float(convert(200.0, "Gb/s", "GB/s"))
    25.0
    """
    if engine_unit(unit) != engine_unit(to):
        raise BadInput(Message("{unit} cannot be converted to {to}", {"unit": unit, "to": to}))
    ratio = _FACTORS[unit] / _FACTORS[to]
    return np.asarray(np.asarray(value, dtype=float) * float(ratio.numerator) / float(ratio.denominator))
