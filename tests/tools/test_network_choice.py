"""The tables of the methodology on networks are what the program computes."""

from __future__ import annotations

import re

from tests.conftest import DATA, sizing_context
from tools.documents import NETWORKS
from tools.network_choice import ACCUMULATIONS, CASES, MACHINES, network_tables

ROOT = DATA.parent


def test_the_page_is_up_to_date() -> None:
    page = (ROOT / NETWORKS).read_text(encoding="utf-8")
    assert network_tables(sizing_context()) in page, "run “python -m tools documents”"


def test_the_tables_show_every_case_falling_with_bandwidth_and_accumulation() -> None:
    text = (ROOT / NETWORKS).read_text(encoding="utf-8")
    ladders = re.findall(r"^\| (\d) × RoCE, (\d00) Gb/s \| (.*) \|$", text, re.MULTILINE)
    assert len(ladders) == 8 * len(CASES)
    cells = [[float(cell.split(" %")[0]) for cell in row.split(" | ")] for _, _, row in ladders]
    assert all(len(row) == len(MACHINES) * len(ACCUMULATIONS) for row in cells)
    for case in range(len(CASES)):
        rungs = cells[8 * case : 8 * case + 8]
        for column in zip(*rungs, strict=True):
            assert list(column) == sorted(column, reverse=True)
        for row in rungs:
            assert all(often <= once for once, often in zip(row[:3], row[3:], strict=True))
