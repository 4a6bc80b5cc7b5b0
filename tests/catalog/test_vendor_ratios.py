"""Published ratios as data: every fault of a row is refused with its place."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from app.catalog.check import check_directory


def changed(directory: Path, file: str, number: int, change: dict[str, str]) -> None:
    path = directory / file
    with path.open(encoding="utf-8", newline="") as handle:
        rows = list(csv.DictReader(handle))
    rows[number] |= change
    with path.open("w", encoding="utf-8", newline="") as handle:
        writer = csv.DictWriter(handle, rows[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


@pytest.mark.parametrize(
    ("file", "number", "change", "column"),
    [
        ("vendor_ratios.csv", 0, {"source": "hearsay"}, "source"),
        ("vendor_ratios.csv", 0, {"others": "hearsay"}, "others"),
        ("vendor_ratios.csv", 0, {"as_of": "last week"}, "as_of"),
        ("vendor_ratios.csv", 0, {"status": "maybe"}, "status"),
        ("vendor_ratios.csv", 0, {"unit": "furlong"}, "unit"),
        ("vendor_ratios.csv", 0, {"value": ""}, "value"),
        ("vendor_ratios.csv", 0, {"value": "-2"}, "value"),
        ("vendor_ratios.csv", 0, {"value": "many"}, "value"),
        ("vendor_ratios.csv", 0, {"metric": "speed"}, "metric"),
        ("vendor_ratios.csv", 0, {"claimed": "ipu-pod65"}, "claimed"),
        ("vendor_ratios.csv", 0, {"baseline_count": "1.5"}, "baseline_count"),
        ("vendor_ratios.csv", 0, {"statement": ""}, "statement"),
        ("vendor_ratios.csv", 0, {"unclear": ""}, "unclear"),
        ("vendor_ratios.csv", 0, {"modelled": "no"}, "reason"),
        ("vendor_ratios.csv", 1, {"ratio": "bert-large-1-dgx"}, "ratio"),
        ("vendor_ratios.csv", 8, {"modelled": "yes"}, "modelled"),
        ("vendor_ratios.csv", 8, {"reason": ""}, "reason"),
        ("vendor_runs.csv", 0, {"side": "third"}, "side"),
        ("vendor_runs.csv", 0, {"source": ""}, "source"),
        ("vendor_runs.csv", 0, {"samples": ""}, "samples"),
        ("vendor_runs.csv", 0, {"seq_len": "-128"}, "seq_len"),
        ("vendor_runs.csv", 0, {"software": ""}, "software"),
        ("vendor_runs.csv", 0, {"ratio": "nothing"}, "ratio"),
    ],
)
def test_a_fault_is_refused_at_its_column(
    copied: Path, file: str, number: int, change: dict[str, str], column: str
) -> None:
    changed(copied, file, number, change)
    assert column in {problem.column for problem in check_directory(copied)}
