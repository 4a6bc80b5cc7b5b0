"""The tables of the methodology on networks are what the program computes."""

from __future__ import annotations

import re

import pytest

from app.errors import CatalogError
from tests.sizing.asking import DATA, sizing_context
from tools.network_choice import (
    ACCUMULATIONS,
    CASES,
    MACHINES,
    NETWORKS_PAGE,
    with_network_tables,
)

ROOT = DATA.parent


def test_the_page_is_up_to_date() -> None:
    text = (ROOT / NETWORKS_PAGE).read_text(encoding="utf-8")
    assert with_network_tables(text, sizing_context()) == text, "run “rackline docs”"


def test_a_page_without_a_place_is_refused() -> None:
    with pytest.raises(CatalogError):
        with_network_tables("# Nothing\n", sizing_context())


def test_the_tables_show_every_case_falling_with_bandwidth_and_accumulation() -> None:
    text = (ROOT / NETWORKS_PAGE).read_text(encoding="utf-8")
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
