"""The workbook computes what the engine computes, from inputs that can be changed."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import openpyxl
import pytest
from openpyxl.worksheet.worksheet import Worksheet

from app.catalog.books import BookRow, PriceBook
from app.engine.cost.outlay import paid_hours
from app.engine.units import HOUR, HOURS_PER_YEAR
from app.estimating.context import SizingContext
from app.estimating.outlay import COMMITMENTS, outlay_lines
from app.estimating.prices import prices
from app.estimating.request import EstimateRequest
from app.features.proposals import sheets
from tests.support.application import Reader

RUNS = 2000

STUDY = {
    "name": "Training",
    "base": {
        "model": {"preset": "bert-large"},
        "workload": {"target": "mlperf-bert"},
        "currency": "KRW",
        "assumptions": {"demand": {"runs": RUNS}},
    },
    "options": [
        {"system": {"id": "dgx-a100-640gb", "count": 4}},
        {"system": {"id": "aws-p4d", "count": 2}},
        {"system": {"id": "aws-p4d", "count": 2}, "assumptions": {"rental": "reserved-1-year"}},
        {"system": {"id": "bow-pod16"}},
    ],
}

COST = "Cost over the term"

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "ROUNDUP": lambda value, _: float(np.ceil(value)),
    "ROUNDDOWN": lambda value, _: float(np.floor(value)),
    "ROUND": lambda value, digits: float(np.floor(value * 10**digits + 0.5) / 10**digits),
    "IF": lambda test, yes, no: yes if test else no,
    "MAX": max,
    "SUM": lambda values: sum(value for value in values if isinstance(value, int | float)),
}


BLANK = float("0")
"""What an empty cell counts as."""


class Spreadsheet:
    """Formulas of a sheet, computed anew as a spreadsheet does: only what is used here is known."""

    def __init__(self, page: Worksheet) -> None:
        self.page = page

    def __getitem__(self, cell: str) -> Any:
        value = self.page[cell].value
        if value is None:
            return BLANK
        return self.computed(value[1:]) if isinstance(value, str) and value.startswith("=") else value

    def cells(self, area: str) -> list[Any]:
        return [self[cell.coordinate] for row in self.page[area] for cell in row]

    def computed(self, text: str) -> Any:
        text = text.replace("$", "").replace('=""', " is BLANK")
        text = re.sub(r"\b([A-Z]+\d+):([A-Z]+\d+)\b", r"cells('\1>\2')", text)
        text = re.sub(r"(?<!['>])\b([A-Z]{1,2}\d+)\b(?!['>])", r"at('\1')", text)
        known = {"cells": lambda area: self.cells(area.replace(">", ":")), "at": self.__getitem__}
        return eval(text, {"__builtins__": {}}, {**FUNCTIONS, **known, "BLANK": BLANK})


@pytest.fixture(scope="module")
def proposal(reader: Reader) -> Any:
    study = reader.ask("POST", "/api/v1/studies", json=STUDY).json()["id"]
    body = {"study_id": study, "customer": "A", "locale": "en", "currency": "KRW"}
    made = reader.ask("POST", "/api/v1/proposals", json=body)
    assert made.is_success, made.text
    return made.json()


@pytest.fixture(scope="module")
def data(reader: Reader, proposal: Any) -> bytes:
    return reader.get(f"/proposals/{proposal['id']}.xlsx").content


@pytest.fixture
def page(data: bytes) -> Worksheet:
    return openpyxl.load_workbook(io.BytesIO(data))[COST]


def sums(page: Worksheet, name: str = "Total") -> list[float]:
    (row,) = [cells[0].row for cells in page.iter_rows() if cells[0].value == name]
    found = Spreadsheet(page)
    return [found[page.cell(row, column).coordinate] for column in range(3, 3 + len(STUDY["options"]))]


def engine(context: SizingContext, proposal: Any, **changed: Any) -> list[float]:
    """Return the outlays as the engine gives them for other inputs."""
    found = []
    for request, formula in zip(proposal["content"]["requests"], proposal["content"]["outlays"], strict=True):
        asked = EstimateRequest.model_validate(request)
        terms = asked.assumptions.model_copy(
            update={"amortisation_years": changed.get("years", formula["years"])}
            | {name: changed[name] for name in ("electricity_per_kwh",) if name in changed}
        )
        rates = prices(context.hardware.asked(asked.system), terms, "KRW", context.catalog, [], "bert")
        assert rates is not None
        hours = changed.get("runs", RUNS) * formula["run_hours"]
        if "utilisation" in changed:
            # Every option does the runs that fill this share of the term of the least owned one.
            options = proposal["content"]["decision"]["options"]
            least = min((one for one in options if one["purchase"]), key=lambda one: one["purchase"]["value"])
            span = changed["utilisation"] * formula["years"] * HOURS_PER_YEAR
            hours = int(span / (least["time"]["value"] / HOUR)) * formula["run_hours"]
        factor = np.array([changed.get("price", 1.0)])
        lines = outlay_lines(
            context.hardware.asked(asked.system), rates, hours, factor, context.catalog, "bert"
        )
        total = sum(float(line[0]) for line in lines.values())
        if commitment := COMMITMENTS.get(rates.terms.rental or "", 0.0):
            price = 2 * (rates.hourly or 0.0) * changed.get("price", 1.0)
            total += float(paid_hours(hours, commitment)) * price
        found.append(total * rates.exchange.value)
    return found


def with_book(context: SizingContext, *rows: BookRow) -> SizingContext:
    return replace(context, catalog=context.catalog.overlaid(PriceBook("pbk_x", "x", 1, "2026-11-21", rows)))


CHANGES: dict[str, tuple[dict[int, float], dict[str, Any]]] = {
    "as proposed": ({}, {}),
    "years": ({sheets.YEARS: 6.0}, {"years": 6.0}),
    "runs": ({sheets.RUNS: 90_000.0}, {"runs": 90_000.0}),
    "utilisation": ({sheets.UTILISATION: 0.6}, {"utilisation": 0.6}),
    "price": ({sheets.PRICE: 1.2}, {"price": 1.2}),
    "electricity": ({sheets.ELECTRICITY: 200.0}, {"electricity_per_kwh": 200.0}),
}


@pytest.mark.parametrize("name", CHANGES)
def test_changed_inputs_give_the_outlay_of_the_engine(
    page: Worksheet, proposal: Any, context: SizingContext, name: str
) -> None:
    cells, changed = CHANGES[name]
    for row, value in cells.items():
        own = row in (sheets.PRICE, sheets.ELECTRICITY)
        for column in range(3, 3 + len(STUDY["options"]) if own else 4):
            page.cell(row, column).value = value
    found = sums(page)
    if name == "electricity":
        # A stated price of electricity has no charge for the highest load.
        demand = [
            sum(term["per_year"] * formula["years"] for term in formula["terms"] if term["item"] == "power")
            for formula in proposal["content"]["outlays"]
        ]
        found = [total - charge for total, charge in zip(found, demand, strict=True)]
    assert found == pytest.approx(engine(context, proposal, **changed), rel=0.005)


def test_another_rate_and_freight_give_the_outlay_of_the_engine(
    page: Worksheet, proposal: Any, context: SizingContext
) -> None:
    rate = BookRow("cost-defaults", "exchange_rate", "krw", 1_600.0, "KRW/USD", "")
    page.cell(sheets.RATE, 3).value = 1_600.0
    assert sums(page) == pytest.approx(engine(with_book(context, rate), proposal), rel=0.005)
    page.cell(sheets.RATE, 3).value = proposal["content"]["outlays"][0]["exchange_rate"]
    freight = BookRow("cost-defaults", "installation_share", "", 0.1, "1", "")
    before = proposal["content"]["outlays"][0]["freight_share"]
    other = with_book(context, freight)
    after = other.catalog.figure("cost-defaults", "installation_share").si
    usual = context.catalog.figure("cost-defaults", "installation_share").si
    for column in (3, 6):
        page.cell(sheets.FREIGHT, column).value = before - usual + after
    assert after != usual
    assert sums(page) == pytest.approx(engine(other, proposal), rel=0.005)


def test_tax_is_added_to_what_is_invoiced(page: Worksheet, proposal: Any) -> None:
    page.cell(sheets.TAX, 3).value = 0.1
    formulas = proposal["content"]["outlays"]
    own = [
        sum(
            t["once"] + t["per_year"] * formula["years"]
            for t in formula["terms"]
            if t["item"] in sheets.UNTAXED
        )
        for formula in formulas
    ]
    taxed = [total + 0.1 * (total - left) for total, left in zip(sums(page), own, strict=True)]
    assert sums(page, "Total with tax") == pytest.approx(taxed)


def test_every_formula_has_its_value(data: bytes, proposal: Any) -> None:
    """A program that only shows files shows the totals of the document."""
    formulas = openpyxl.load_workbook(io.BytesIO(data))
    values = openpyxl.load_workbook(io.BytesIO(data), data_only=True)
    count = 0
    for page in formulas.worksheets:
        found = Spreadsheet(page)
        for row in page.iter_rows():
            for cell in row:
                if isinstance(cell.value, str) and cell.value.startswith("=") and cell.data_type == "f":
                    count += 1
                    shown = values[page.title][cell.coordinate].value
                    assert shown == pytest.approx(found[cell.coordinate], abs=1e-6), cell.coordinate
    assert count > 50
    outlays = {one["id"]: one["outlay"]["value"] for one in proposal["content"]["decision"]["options"]}
    assert sums(values[COST]) == pytest.approx(list(outlays.values()), rel=1e-9)


def test_it_prints_on_fewer_than_twelve_pages(data: bytes) -> None:
    pages = openpyxl.load_workbook(io.BytesIO(data)).worksheets
    assert sum(page.page_setup.fitToHeight for page in pages) < 12
    for page in pages:
        assert page.sheet_properties.pageSetUpPr.fitToPage and page.page_setup.fitToWidth == 1
        assert page.page_setup.paperSize == 9
        assert page.freeze_panes is not None and page.print_title_rows == "$1:$1"


def test_rent_is_by_the_hour(data: bytes) -> None:
    page = openpyxl.load_workbook(io.BytesIO(data))["Bill of materials"]
    heads = {(row[4], row[5]) for row in page.iter_rows(values_only=True) if row[0] == "Option"}
    assert heads == {("Unit price", "Total"), ("Price per hour", "Total per hour")}
