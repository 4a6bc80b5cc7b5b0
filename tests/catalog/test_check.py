"""Every kind of fault in data/ is refused, with the file, the line and the column."""

from collections.abc import Callable
from pathlib import Path

import pytest

from app.catalog.catalog import load_catalog
from app.catalog.check import check_directory
from app.errors import CatalogError

BANDWIDTH = {"item": "a100-sxm-40gb", "parameter": "memory_bandwidth"}

FRACTION = {"item": "a100-sxm-40gb", "parameter": "achieved_bandwidth"}

MACHINE = {"item": "dgx-a100-320gb", "parameter": "chip"}

REJECTED_CLOCK = {"item": "gc200", "parameter": "clock", "value": "1.35"}


def test_the_repository_has_no_fault(copied: Path) -> None:
    assert check_directory(copied) == []


@pytest.mark.parametrize(
    ("file", "where", "change", "column", "message"),
    [
        ("chips.csv", BANDWIDTH, {"unit": "furlong"}, "unit", "unknown unit"),
        ("chips.csv", BANDWIDTH, {"unit": ""}, "unit", "the unit is missing"),
        ("chips.csv", BANDWIDTH, {"unit": "GB"}, "unit", "does not measure memory_bandwidth"),
        ("chips.csv", BANDWIDTH, {"source": ""}, "source", "the source is missing"),
        ("chips.csv", BANDWIDTH, {"source": "hearsay"}, "source", "unknown source"),
        ("chips.csv", BANDWIDTH, {"as_of": ""}, "as_of", "the date is missing"),
        ("chips.csv", BANDWIDTH, {"as_of": "last week"}, "as_of", "not a date"),
        ("chips.csv", BANDWIDTH, {"as_of": "2021-13"}, "as_of", "not a date"),
        ("chips.csv", BANDWIDTH, {"value": "fast"}, "value", "not a number"),
        ("chips.csv", BANDWIDTH, {"value": "inf"}, "value", "not finite"),
        ("chips.csv", BANDWIDTH, {"value": "1e400"}, "value", "not finite"),
        ("chips.csv", BANDWIDTH, {"value": "nan"}, "value", "not finite"),
        ("chips.csv", BANDWIDTH, {"value": ""}, "value", "the value is missing"),
        ("chips.csv", FRACTION, {"value": "0.5"}, "value", "lies outside"),
        ("chips.csv", FRACTION, {"high": "soon"}, "high", "not a number"),
        ("chips.csv", BANDWIDTH, {"direction": "sideways"}, "direction", "unknown direction"),
        ("chips.csv", BANDWIDTH, {"status": "maybe"}, "status", "unknown status"),
        ("chips.csv", BANDWIDTH, {"item": "a100-sxm-41gb"}, "item", "unknown item"),
        ("chips.csv", BANDWIDTH, {"parameter": "memory_speed"}, "parameter", "unknown parameter"),
        ("chips.csv", REJECTED_CLOCK, {"note": ""}, "note", "needs the reason"),
        ("chips.csv", REJECTED_CLOCK, {"status": "accepted"}, "parameter", "a second accepted clock"),
        ("chips.csv", BANDWIDTH, {"source": "recalled"}, "note", "must say so"),
        ("machines.csv", MACHINE, {"value": "a101"}, "value", "unknown item"),
        ("items.csv", {"item": "bow-pod1024"}, {"item": "bow-pod-1024"}, "item", "the system “bow-pod1024”"),
        ("items.csv", {"item": "roce-100"}, {"kinds": "link"}, "item", "the fabric “roce-100”"),
        ("items.csv", {"item": "gc2"}, {"item": "gc200"}, "item", "declared twice"),
        ("sources.csv", {"id": "kaplan-2020"}, {"kind": "rumour"}, "kind", "unknown kind"),
        ("sources.csv", {"id": "kaplan-2020"}, {"published": ""}, "published", "the date is missing"),
        ("units.csv", {"unit": "GB"}, {"factor": "-1"}, "factor", "must be positive"),
        ("fields.csv", {"parameter": "price"}, {"description": ""}, "description", "needs a description"),
        ("fields.csv", {"parameter": "price"}, {"units": "dollars"}, "units", "unknown unit"),
        ("claims.csv", {"claim": "seed-hdr"}, {"verdict": ""}, "verdict", "a verdict"),
        ("collectives.csv", {"x": "65536"}, {"x": "1024"}, "x", "must rise"),
        ("collectives.csv", {"x": "65536"}, {"y": ""}, "x", "both numbers"),
        ("collectives.csv", {"x": "65536"}, {"y_unit": "ms"}, "curve", "share units"),
    ],
)  # fmt: skip
def test_a_fault_is_named_with_its_place(
    spoil: Callable[[str, dict[str, str], dict[str, str]], Path],
    file: str,
    where: dict[str, str],
    change: dict[str, str],
    column: str,
    message: str,
) -> None:
    directory = spoil(file, where, change)
    problems = check_directory(directory)
    matching = [problem for problem in problems if problem.column == column and message in problem.message]
    assert matching, [str(problem) for problem in problems]
    named = matching[0]
    assert named.file == file
    if named.line:
        changed = directory.joinpath(file).read_text(encoding="utf-8").splitlines()[named.line - 1]
        assert all(value in changed for value in change.values())
    with pytest.raises(CatalogError) as raised:
        load_catalog(directory)
    assert file in str(raised.value)
    assert message in str(raised.value)


def test_an_item_without_what_it_needs_is_named(
    spoil: Callable[[str, dict[str, str], dict[str, str]], Path],
) -> None:
    where = {"item": "ipu-m2000", "parameter": "power_typical"}
    problems = check_directory(spoil("machines.csv", where, {"status": "rejected", "note": "wrong"}))
    assert [("ipu-m2000" in one.message, "power_typical" in one.message) for one in problems] == [
        (True, True)
    ]


def test_a_missing_file_is_named(copied: Path) -> None:
    (copied / "prices.csv").unlink()
    with pytest.raises(CatalogError, match=r"prices\.csv"):
        load_catalog(copied)


def test_a_row_with_a_cell_too_many_is_named(copied: Path) -> None:
    path = copied / "tco.csv"
    lines = path.read_text(encoding="utf-8").splitlines()
    path.write_text("\n".join([*lines, lines[-1] + ",more"]) + "\n", encoding="utf-8")
    with pytest.raises(CatalogError, match=rf"tco\.csv:{len(lines) + 1}: 13 cells"):
        load_catalog(copied)


def test_columns_may_not_change(copied: Path) -> None:
    path = copied / "energy.csv"
    path.write_text(path.read_text(encoding="utf-8").replace("as_of", "date", 1), encoding="utf-8")
    assert "the columns must be" in str(check_directory(copied)[0])


def test_a_recalled_rent_may_not_replace_a_checked_one(
    spoil: Callable[[str, dict[str, str], dict[str, str]], Path],
) -> None:
    directory = spoil("cloud.csv", {"item": "coreweave-8xa100", "source": "recalled"}, {"as_of": "2026-10"})
    assert [problem.column for problem in check_directory(directory)] == ["source"]
