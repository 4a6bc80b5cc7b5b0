"""The fit: it finds what is there, stays near what is expected, and is the one the files hold."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.catalog.software import FigureRange, ProfileFigure, SoftwareCatalog, SoftwareProfile
from app.engine.records import Floats
from app.estimating.validation.run import group_weights, read_rows
from app.features.accuracy.fitted import fitted_figures
from tests.conftest import DATA, sizing_context
from tools.evidence import counts_of, in_headline
from tools.fitting.least_squares import (
    Miss,
    Solution,
    by_group,
    by_scale,
    fit,
    fit_residuals,
    without_profile,
    worth,
)
from tools.fitting.refit import fit_software, software_text
from tools.fitting.runs import Figures, FitRun, Key

PRIORS = {
    "elementwise_factor": FigureRange(1.25, 0.35, 0.3, 2.8),
    "step_overhead": FigureRange(0.01, 1.0, 1e-4, 1.0),
}

CLASS: Key = ("gpu-fused", "elementwise_factor")


def profile(name: str, extends: tuple[str, ...], figures: Mapping[str, ProfileFigure]) -> SoftwareProfile:
    return SoftwareProfile(name, name, "gpu", "fused", "2026-11-21", "rackline-fit", extends, figures)


def figure(owner: str, name: str, status: str = "fitted") -> ProfileFigure:
    return ProfileFigure(name, 1.0, 0.1, status, "", owner)


@pytest.fixture
def software() -> SoftwareCatalog:
    """Three profiles of one class, each with a factor of its own."""
    shared = {CLASS[1]: figure(*CLASS)}
    known = {"gpu-fused": profile("gpu-fused", (), shared)}
    for name in ("one", "two", "three"):
        known[name] = profile(name, ("gpu-fused",), {CLASS[1]: figure(name, CLASS[1])})
    return SoftwareCatalog(known, sizing_context().software.kernels, (), PRIORS)


def run(owner: str, factor: float, products: float, number: int, group: str = "", devices: int = 8) -> FitRun:
    """A run whose step is products plus traffic; measured with a factor of traffic."""

    def predict(figures: Mapping[str, Floats]) -> Floats:
        moved = figures.get(CLASS[1], np.array([1.0]))
        return np.asarray(np.log(products + moved) - np.log(products + factor))

    return FitRun(
        id=f"{owner}-{number}",
        group=group or f"{owner}-{number}",
        family="gpt",
        chip="a100-sxm-80gb",
        profile=owner,
        devices=devices,
        regimes=("gpu_profile_known",),
        laboratory=f"{owner} {number}",
        assumed=False,
        rests_on_runs=True,
        stack=(owner,),
        keys=((owner, CLASS[1]),),
        predict=predict,
    )


def solved(software: SoftwareCatalog, runs: list[FitRun]) -> Solution:
    return fit(runs, Figures(software, sorted({key for one in runs for key in one.keys})))


def value(solution: Solution, key: Key) -> float:
    return float(solution.figures.values(solution.point)[solution.figures.place[key]])


@settings(max_examples=20, deadline=None)
@given(true=st.floats(0.7, 2.2), count=st.integers(20, 60))
def test_many_runs_that_agree_are_believed(true: float, count: int) -> None:
    shared = {CLASS[1]: figure(*CLASS)}
    known = {
        "gpu-fused": profile("gpu-fused", (), shared),
        "one": profile("one", ("gpu-fused",), {CLASS[1]: figure("one", CLASS[1])}),
    }
    catalog = SoftwareCatalog(known, sizing_context().software.kernels, (), PRIORS)
    runs = [run("one", true, 0.2 * (1 + number % 7), number) for number in range(count)]
    assert value(solved(catalog, runs), ("one", CLASS[1])) == pytest.approx(true, rel=0.05)


def test_a_class_is_the_middle_of_its_profiles(software: SoftwareCatalog) -> None:
    runs = [
        run(owner, factor, 0.5, number)
        for owner, factor in (("one", 1.0), ("two", 1.5), ("three", 2.25))
        for number in range(200)
    ]
    solution = solved(software, runs)
    # The class also stays near its own expectation, by the weight of one profile.
    logs = np.log([1.0, 1.5, 2.25, PRIORS[CLASS[1]].value])
    assert value(solution, CLASS) == pytest.approx(float(np.exp(np.mean(logs))), rel=0.02)


def test_a_profile_without_runs_is_like_its_class(software: SoftwareCatalog) -> None:
    runs = [run("one", 2.0, 0.5, number) for number in range(50)]
    keys = [("one", CLASS[1]), ("two", CLASS[1])]
    solution = fit(runs, Figures(software, keys))
    assert value(solution, ("two", CLASS[1])) == pytest.approx(value(solution, CLASS))


def test_one_wild_run_moves_little(software: SoftwareCatalog) -> None:
    calm = [run("one", 1.4, 0.5, number) for number in range(12)]
    wild = [*calm, run("one", 40.0, 0.5, 99)]
    before, after = (value(solved(software, runs), ("one", CLASS[1])) for runs in (calm, wild))
    assert abs(np.log(after / before)) < 0.15


def test_a_group_counts_once(software: SoftwareCatalog) -> None:
    runs = [run("one", 1.0, 0.5, 0), *(run("one", 2.0, 0.5, number, "series") for number in range(1, 10))]
    weights = group_weights([one.group for one in runs])
    assert weights[0] == 1.0
    assert weights[1:].sum() == pytest.approx(1.0)


def test_leaving_a_group_out_is_nearly_a_fit_without_it(software: SoftwareCatalog) -> None:
    runs = [run("one", 1.2 + 0.1 * (number % 4), 0.4, number) for number in range(12)]
    solution = solved(software, runs)
    left_out = np.array([number == 5 for number in range(12)])
    again = solved(software, [one for number, one in enumerate(runs) if number != 5])
    assert solution.without(left_out) == pytest.approx(again.point, abs=0.01)
    worse = np.abs(by_group(solution).values) >= np.abs(solution.errors) - 1e-9
    assert worse.all()


def test_large_runs_are_predicted_from_small_ones_alone(software: SoftwareCatalog) -> None:
    runs = [
        *(run("one", 1.5, 0.5, number) for number in range(20)),
        run("one", 1.5, 0.5, 77, devices=64),
        run("two", 2.0, 0.5, 78, devices=64),
    ]
    errors = by_scale(solved(software, runs)).values
    assert np.isnan(errors[:20]).all()
    assert abs(errors[20]) < 0.02
    assert errors[21] < -0.05


def test_a_figure_is_worth_what_its_runs_would_lose_without_it(software: SoftwareCatalog) -> None:
    of_the_class = [replace(run("one", 1.25, 0.5, number), keys=(CLASS,)) for number in range(20)]
    alike = [run("two", 1.25, 0.5, number) for number in range(20)]
    unlike = [run("three", 2.4, 0.5, number) for number in range(20)]
    solution = solved(software, [*of_the_class, *alike, *unlike])
    found = worth(solution, by_group(solution))
    assert found["three", CLASS[1]] > 0.1
    assert abs(found["two", CLASS[1]]) < 0.01


def test_widths_follow_the_scatter_of_the_misses() -> None:
    quantiles = np.linspace(0.01, 0.99, 199)
    # Student's t with four degrees of freedom has closed quantiles.
    share = 4.0 * quantiles * (1.0 - quantiles)
    cosine = np.cos(np.arccos(np.sqrt(share)) / 3.0) / np.sqrt(share)
    student = np.sign(quantiles - 0.5) * 2.0 * np.sqrt(np.maximum(cosine - 1.0, 0.0)) / np.sqrt(2.0)
    found = [
        Miss(run("one", 1.0, 0.5, number), 0.12 * float(error), 0.0) for number, error in enumerate(student)
    ]
    widths = fit_residuals(found, {}, ("gpu_profile_known",))
    assert widths["gpu_profile_known"] == pytest.approx(0.12, rel=0.15)
    known = [Miss(miss.run, miss.error, 0.12**2) for miss in found]
    assert fit_residuals(known, {}, ("gpu_profile_known",))["gpu_profile_known"] < 0.05


def test_only_fitted_figures_of_the_file_change(software: SoftwareCatalog) -> None:
    text = (DATA / "software.csv").read_text(encoding="utf-8")
    assert software_text(text, {}) == text


def test_an_unknown_stack_is_taken_as_its_class() -> None:
    context = sizing_context()
    unknown = without_profile(context, "fsdp-flash")
    facts = {"software": "MosaicML llm-foundry/Composer FSDP PURE, FlashAttention", "family": "gpt"}
    assert context.rules.profile(facts) == "fsdp-flash"
    assert unknown.rules.profile(facts) == "gpu-eager-flash"


@pytest.fixture(scope="module")
def today() -> Solution:
    rows = read_rows((DATA / "validation" / "measured.csv").read_text(encoding="utf-8"))
    headline = [row for row in rows if in_headline(row)]
    return fit_software(headline, sizing_context())


def test_the_files_hold_what_the_fit_gives(today: Solution) -> None:
    software = sizing_context().software
    values = today.figures.values(today.point)
    stated = [software.profiles[owner].figures[name].value for owner, name in today.figures.keys]
    assert values == pytest.approx(stated, rel=0.01, abs=0.002), "run “python -m tools fit”"


def test_every_figure_pays_for_itself_out_of_sample(today: Solution) -> None:
    found = worth(today, by_group(today))
    classes = {key for key in found if key[0].startswith("gpu-")}
    assert all(value > 0 for key, value in found.items() if key not in classes), found


def test_few_figures_were_chosen_by_looking_at_measured_runs() -> None:
    counts = counts_of(sizing_context(), fitted_figures(sizing_context(), DATA))
    assert sum(counts.fitted.values()) <= 125


TOLD = frozenset({"held_out", "predictions", "errors", "left_out", "ratios"})
"""Tables that tell of runs and move no prediction."""


def test_nothing_in_the_rules_knows_who_measured() -> None:
    measured = [DATA / "validation" / name for name in ("measured.csv", "measured-2026.csv")]
    rows = [row for path in measured for row in read_rows(path.read_text(encoding="utf-8"))]
    identifiers = {row["id"] for row in rows} | {row["group"] for row in rows}
    for path in sorted((DATA / "validation").glob("*.csv")):
        if path.stem.startswith(("measured", "memory")) or path.stem in TOLD:
            continue
        text = path.read_text(encoding="utf-8")
        assert not [name for name in identifiers if name in text], path.name
