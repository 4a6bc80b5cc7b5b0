"""Checks of a plan by arithmetic alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.estimating.documents import CheckWarning
from app.features.plans.mapping import check_plan
from app.features.plans.model import Checks, ChecksRequest


def checked(**values: int) -> Checks:
    return check_plan(ChecksRequest.model_validate(values))


def codes(checks: Checks) -> set[str]:
    return {warning.code for warning in checks.warnings}


def only(checks: Checks) -> CheckWarning:
    (warning,) = checks.warnings
    return warning


def test_the_batch_of_imagenet_in_an_hour_does_not_divide_over_160() -> None:
    found = checked(devices=160, global_batch=8192)
    assert only(found).code == "batch_not_divisible"
    assert "51.2" in only(found).message
    assert found.suggested_devices == 128


@pytest.mark.parametrize("devices", [128, 256])
def test_where_it_divides_nothing_is_said(devices: int) -> None:
    found = checked(devices=devices, global_batch=8192)
    assert found.warnings == []
    assert found.suggested_devices == devices


@pytest.mark.parametrize(
    ("values", "found", "suggested"),
    [
        (
            {"devices": 160, "global_batch": 320, "tensor": 8, "pipeline": 3},
            {"devices_not_divisible", "batch_not_divisible"},
            120,
        ),
        (
            {"devices": 16, "global_batch": 64, "tensor": 16, "devices_per_node": 8},
            {"tensor_across_nodes"},
            16,
        ),
        ({"devices": 8, "global_batch": 64, "pipeline": 8, "layers": 12}, {"stages_uneven"}, 8),
        ({"devices": 8, "global_batch": 64, "tensor": 8, "heads": 12}, {"heads_not_divisible"}, 8),
        ({"devices": 8, "global_batch": 12, "micro_batch": 5}, {"batch_not_divisible"}, None),
        (
            {"devices": 4, "global_batch": 8, "tensor": 8},
            {"devices_not_divisible", "batch_not_divisible"},
            None,
        ),
    ],
)
def test_each_check_finds_its_fault(values: dict[str, int], found: set[str], suggested: int | None) -> None:
    checks = checked(**values)
    assert codes(checks) == found
    assert checks.suggested_devices == suggested


@given(st.integers(1, 5000), st.integers(1, 100_000))
def test_the_suggestion_passes_the_check_and_nothing_larger_does(devices: int, batch: int) -> None:
    suggested = checked(devices=devices, global_batch=batch).suggested_devices
    assert suggested is not None and suggested <= devices
    assert "batch_not_divisible" not in codes(checked(devices=suggested, global_batch=batch))
    if suggested < devices:
        assert "batch_not_divisible" in codes(checked(devices=suggested + 1, global_batch=batch))
