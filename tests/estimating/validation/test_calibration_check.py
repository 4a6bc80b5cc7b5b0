"""What calibrating is worth on measured runs whose profile is left out."""

from __future__ import annotations

import pytest

from app.estimating.regimes import FITTED_FAMILIES
from app.estimating.validation.cases import read_case
from app.estimating.validation.run import read_rows
from tests.conftest import DATA, sizing_context
from tests.estimating.validation.conftest import (
    LARGE,
    RUNS,
    SMALL,
    HoldOutErrors,
    check_calibration,
    medians,
    residual_deviation,
)

ROWS = read_rows((DATA / "validation" / "measured.csv").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def large() -> list[HoldOutErrors]:
    return check_calibration(ROWS, sizing_context())


@pytest.fixture(scope="module")
def every() -> list[HoldOutErrors]:
    return check_calibration(ROWS, sizing_context(), least=1)


def test_three_small_runs_halve_the_error_of_large_ones(large: list[HoldOutErrors]) -> None:
    before, after = medians(large)
    assert sum(len(code.runs) for code in large) >= 12
    assert after <= 0.5 * before


def test_they_nearly_halve_the_error_of_all_runs_left_out(every: list[HoldOutErrors]) -> None:
    before, after = medians(every)
    assert after <= 0.55 * before


def test_runs_are_chosen_by_their_configuration_alone() -> None:
    """Other answers, other errors, but the same three runs of the same presets."""
    changed = [{**row, "value": "7"} for row in ROWS]
    plain = [
        (code.software, code.preset, code.calibrated_with)
        for code in check_calibration(ROWS, sizing_context())
    ]
    other = [
        (code.software, code.preset, code.calibrated_with)
        for code in check_calibration(changed, sizing_context())
    ]
    assert plain == other


def test_runs_that_calibrate_are_small_and_not_predicted(
    large: list[HoldOutErrors], every: list[HoldOutErrors]
) -> None:
    by_id = {row["id"]: read_case(row, sizing_context().rules) for row in ROWS if row["id"] in _used(large)}
    for code in (*large, *every):
        assert len(code.calibrated_with) == RUNS
        assert not set(code.calibrated_with) & {run.id for run in code.runs}
        assert code.preset != code.profile
    assert all(case.devices <= SMALL for case in by_id.values())
    assert all(run.devices >= LARGE for code in large for run in code.runs)


def _used(codes: list[HoldOutErrors]) -> set[str]:
    return {name for code in codes for name in code.calibrated_with}


def test_the_residual_of_calibrated_profiles_is_what_the_runs_left_out_show(
    every: list[HoldOutErrors], large: list[HoldOutErrors]
) -> None:
    residuals = sizing_context().residuals
    base = residuals["gpu_calibrated"]
    known = [code for code in every if code.family in FITTED_FAMILIES]
    assert residual_deviation(known) == pytest.approx(base, abs=0.01)
    beyond = (base**2 + residuals["gpu_beyond_calibration"] ** 2) ** 0.5
    assert residual_deviation(large) == pytest.approx(beyond, abs=0.01)
