"""Documents as rows: every figure once, under a path that leads back to it."""

from __future__ import annotations

from app.estimating.rows import walk
from app.estimating.schema import Quantity
from tests.support.documents import modelled_comparison


def test_every_quantity_is_a_row_under_its_own_path() -> None:
    document = modelled_comparison()
    rows = {row.path: row for row in walk(document)}
    assert len(rows) == sum(1 for _ in walk(document))
    tree = document.model_dump(mode="json")
    for path, row in rows.items():
        if row.value is None:
            continue  # What is unknown may be left out of the JSON.
        found = tree
        for name in path.split("."):
            found = found[int(name)] if isinstance(found, list) else found[name]
        if isinstance(found, dict) and found.keys() == Quantity.model_fields.keys():
            assert (found["value"], found["unit"]) == (row.value, row.unit)
        else:
            assert found == row.value


def test_rows_are_about_the_item_that_holds_them_and_ranges_stand_with_their_number() -> None:
    document = modelled_comparison()
    hours = [row for row in walk(document) if row.path.endswith(".hours")]
    assert [row.subject for row in hours] == [row.label for row in document.rows]
    assert [(row.low, row.high) for row in hours] == [(row.low, row.high) for row in document.rows]
    gemm = next(row for row in walk(document) if row.path == "rows.0.estimate.breakdown.0.seconds")
    assert (gemm.subject, gemm.item) == (document.rows[0].label, "gemm")
