"""Series of chips: what was measured on one chip of a series holds for the others."""

IPU_SERIES = frozenset({"gc200", "bow"})

IPU_GENERATIONS = frozenset({"mk2", "bow"})


def chip_series(chip: str) -> str:
    """Return the series of a chip.

    >>> chip_series("h100-sxm-80gb"), chip_series("tpu-v5p"), chip_series("bow")
    ('h100', 'tpu-v5p', 'ipu')
    """
    parts = chip.split("-")
    return "ipu" if chip in IPU_SERIES else "-".join(parts[: 2 if parts[0] == "tpu" else 1])
