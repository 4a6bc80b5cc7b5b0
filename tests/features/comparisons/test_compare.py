"""Comparisons: the reseller's three bars, restated scaling, ratios and warnings."""

from collections.abc import Sequence

import pytest
from pydantic import JsonValue

from app.errors import BadInput, NotFound, Unprocessable
from app.estimating.estimate import estimate
from app.estimating.request import EstimateRequest, Limits
from app.features.comparisons.compare import check_labels, comparison_of, question_of, side_by_side
from app.features.comparisons.model import Comparison
from app.features.studies.options import PublishedFigure
from app.features.studies.side_by_side import OptionEntry
from tests.conftest import sizing_context


def figure(
    label: str, hours: float | None = None, kind: str = "published", **more: JsonValue
) -> PublishedFigure:
    return PublishedFigure.model_validate({"label": label, "hours": hours, "kind": kind, **more})


HEAD_TO_HEAD = (
    figure("DGX A100", 69.5, "vendor"),
    figure("3 × DGX A100", kind="linear", scaled_from="DGX A100", factor=3),
    figure("IPU-POD64", 13.2, "vendor", system="ipu-pod64"),
)


def compare(options: Sequence[OptionEntry], scaling_efficiency: float = 1.0) -> Comparison:
    side = side_by_side(options, sizing_context(), "USD", scaling_efficiency)
    return comparison_of(side, question_of(side, Limits()))


def compared(rows: Sequence[PublishedFigure], scaling_efficiency: float = 1.0) -> Comparison:
    return compare([OptionEntry(row) for row in rows], scaling_efficiency)


def ratio(comparison: Comparison, slower: str, faster: str) -> float:
    return next(
        entry.ratio for entry in comparison.ratios if (entry.slower, entry.faster) == (slower, faster)
    )


@pytest.mark.parametrize(
    ("efficiency", "hours", "to_one", "to_three"), [(1.0, 23.17, 5.27, 1.755), (0.85, 27.25, 5.27, 2.06)]
)
def test_head_to_head_of_the_article(efficiency: float, hours: float, to_one: float, to_three: float) -> None:
    comparison = compared(HEAD_TO_HEAD, efficiency)
    assert comparison.rows[1].hours == pytest.approx(hours, abs=0.005)
    assert ratio(comparison, "DGX A100", "IPU-POD64") == pytest.approx(to_one, abs=0.005)
    assert ratio(comparison, "3 × DGX A100", "IPU-POD64") == pytest.approx(to_three, abs=0.005)
    assert comparison.scaling_efficiency == efficiency
    assert {warning.code for warning in comparison.warnings} == {
        "vendor_figure",
        "linear_scaling_assumed",
        "generation_mk2",
    }


def test_the_ratios_of_the_fastest_row_come_first() -> None:
    pairs = [(entry.slower, entry.faster) for entry in compared(HEAD_TO_HEAD).ratios]
    assert pairs == [("DGX A100", "IPU-POD64"), ("3 × DGX A100", "IPU-POD64"), ("DGX A100", "3 × DGX A100")]


def test_scaling_down_loses_nothing() -> None:
    half = figure("half", kind="linear", scaled_from="whole", factor=0.5)
    assert compared([figure("whole", 10), half], 0.8).rows[1].hours == 20


def test_a_linear_figure_without_a_base_is_restated_too() -> None:
    row = figure("extrapolated", 10, "linear")
    assert compared([row], 0.8).rows[0].hours == 12.5
    assert compared([row]).rows[0].hours == 10


def test_scaling_may_go_through_another_scaled_row() -> None:
    rows = [
        figure("c", kind="linear", scaled_from="b", factor=2),
        figure("b", kind="linear", scaled_from="a", factor=2),
        figure("a", 8),
    ]
    assert [row.hours for row in compared(rows).rows] == [2, 4, 8]


def test_rounded_linear_hours_agree_with_their_base() -> None:
    rows = [figure("one", 69.5), figure("three", 23.2, "linear", scaled_from="one", factor=3)]
    assert compared(rows).rows[1].hours == pytest.approx(23.1667, abs=1e-4)


@pytest.mark.parametrize(
    ("rows", "kind", "field"),
    [
        ([], BadInput, "rows"),
        ([figure(str(number), 1) for number in range(9)], BadInput, "rows"),
        ([figure("a")], Unprocessable, "rows.0.hours"),
        ([figure("a", kind="linear")], Unprocessable, "rows.0.hours"),
        ([figure("a", 1), figure("b", kind="linear", scaled_from="a")], Unprocessable, "rows.1.factor"),
        ([figure("b", kind="linear", scaled_from="x", factor=2)], NotFound, "rows.0.scaled_from"),
        ([figure("a", 1, system="ipu-pod63")], NotFound, "rows.0.system"),
        ([figure("a", kind="linear", scaled_from="a", factor=2)], BadInput, "rows.0.scaled_from"),
        (
            [figure("one", 69.5), figure("three", 13.2, "linear", scaled_from="one", factor=3)],
            BadInput,
            "rows.1.hours",
        ),
    ],
)
def test_rows_that_cannot_be_are_refused_by_field(
    rows: list[PublishedFigure], kind: type[BadInput], field: str
) -> None:
    with pytest.raises(kind) as caught:
        compared(rows)
    assert [error.field for error in caught.value.errors] == [field]


def test_rows_of_one_label_are_refused_when_they_are_stated_and_told_apart_when_they_are_kept() -> None:
    rows = [figure("a", 1), figure("a", 2)]
    with pytest.raises(BadInput, match="different labels"):
        check_labels(rows)
    assert [row.label for row in compared(rows).rows] == ["a", "a (2)"]


@pytest.mark.parametrize("efficiency", [0.0, -1.0, 1.01, float("nan"), float("inf")])
def test_scaling_efficiency_is_a_share(efficiency: float) -> None:
    with pytest.raises(BadInput) as caught:
        compared(HEAD_TO_HEAD, efficiency)
    assert caught.value.errors[0].field == "scaling_efficiency"


@pytest.mark.parametrize(
    ("label", "system", "warned"),
    [
        ("any", "ipu-pod64", True),
        ("Graphcore IPU-POD64", None, True),
        ("any", "bow-pod64", False),
        ("Bow Pod64", None, False),
        ("DGX A100", None, False),
        ("IPU-POD640", None, False),
    ],
)
def test_the_second_ipu_generation_is_named(label: str, system: str | None, warned: bool) -> None:
    comparison = compared([figure(label, 1, system=system)])
    assert ("generation_mk2" in {warning.code for warning in comparison.warnings}) == warned


def test_measured_figures_need_no_warning() -> None:
    assert compared([figure("a", 1, "measured"), figure("b", 2, "measured")]).warnings == []


def test_the_title_is_made_of_the_labels() -> None:
    assert compared(HEAD_TO_HEAD).title == "DGX A100 · 3 × DGX A100 · IPU-POD64"


def test_options_that_share_their_software_are_told_apart_better_than_their_ranges() -> None:
    """A node more of the same is surely faster, though the two ranges overlap widely."""
    request = {"model": {"preset": "bert-large"}, "workload": {"samples": 2.5e6, "global_batch": 448}}
    small, large = (
        estimate(
            EstimateRequest.model_validate(request | {"system": {"id": "dgx-a100-640gb", "count": count}}),
            sizing_context(),
        )
        for count in (1, 2)
    )
    options = [
        OptionEntry(
            EstimateRequest.model_validate(request | {"system": {"id": "dgx-a100-640gb"}, "label": name}), one
        )
        for name, one in (("small", small), ("large", large))
    ]
    found = compare(options).ratios[0]
    assert (found.slower, found.faster) == ("small", "large")
    assert found.probability == 1.0
    assert found.low is not None and found.high is not None
    assert found.low <= found.ratio <= found.high
    time, other = small.time_to_train, large.time_to_train
    assert time is not None and other is not None
    assert found.high / found.low < (time.high / other.low) / (time.low / other.high)


def test_figures_without_a_range_have_no_probability() -> None:
    options = [
        OptionEntry(PublishedFigure(label=label, hours=hours, kind="vendor"))
        for label, hours in (("a", 10.0), ("b", 5.0))
    ]
    found = compare(options).ratios[0]
    assert (found.ratio, found.probability, found.low) == (2.0, None, None)
