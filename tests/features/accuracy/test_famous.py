"""Famous runs: shown beside their predictions, never fitted."""

import csv
import math
from pathlib import Path

import pytest

from app.features.accuracy.famous import HOURS, famous_runs
from tests.support.application import Reader

DATA = Path(__file__).parents[3] / "data" / "validation"


def test_nothing_is_fitted_to_a_famous_run() -> None:
    fitted = set()
    for name in ("measured.csv", "measured-2026.csv"):
        with (DATA / name).open(encoding="utf-8", newline="") as handle:
            fitted |= {row["id"] for row in csv.DictReader(handle)}
    assert not fitted & {one.run.id for one in famous_runs().runs}


def test_runs_stated_whole_agree_with_what_was_published() -> None:
    found = famous_runs()
    counted = [one for one in found.runs if not one.uncounted]
    assert found.steps.runs + found.hours.runs == len(counted)
    assert found.steps.median < 0.09
    assert found.hours.median < 0.16
    errors = sorted(abs(one.run.log_error or math.inf) for one in counted if one.run.metric == HOURS)
    assert errors[len(errors) // 2 - 1] <= found.hours.median <= errors[len(errors) // 2]
    assert (found.steps.inside + found.hours.inside) / len(counted) >= 0.77


@pytest.mark.parametrize("run", ["llama3-405b-8192-8192", "llama3-405b-16384-8192"])
def test_the_best_known_run_is_within_15_percent(run: str) -> None:
    error = next(one.run.log_error for one in famous_runs().runs if one.run.id == run)
    assert error is not None
    assert abs(math.expm1(error)) <= 0.15


def test_the_page_shows_what_the_data_say(reader: Reader) -> None:
    page, data = reader.page("/accuracy/famous-runs"), reader.data("/accuracy/famous-runs.json")
    rows = [row["id"] for row in page.select("tbody tr")]
    assert sorted(rows) == sorted(one["run"]["id"] for one in data["runs"])
    assert not any("h100-sxm-80gb" in row.get_text() for row in page.select("tbody tr"))
