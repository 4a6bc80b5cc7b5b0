"""The posterior of uncertain figures against closed forms, limits and its own coverage."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.engine.calibration import (
    HUBER,
    Posterior,
    effective_parameters,
    laplace_posterior,
    log_spread,
    posterior_transform,
)
from app.engine.errors import EngineError
from app.engine.records import Floats

FAR = 50.0


def linear(slopes: Floats) -> Callable[[Floats], Floats]:
    return lambda figures: slopes @ figures.T


def posterior(
    predict: Callable[[Floats], Floats],
    measured: Floats,
    count: int,
    *,
    shared: float = 0.0,
    own: float = 0.03,
    ends: float = FAR,
) -> Posterior:
    size = measured.size
    return laplace_posterior(
        predict,
        measured,
        np.full(size, shared),
        np.full(size, own),
        np.full(count, -ends),
        np.full(count, ends),
    )


@st.composite
def problems(draw: st.DrawFn) -> tuple[Floats, Floats, float, float]:
    """Slopes of some runs with some figures, gaps, and the two deviations."""
    runs, figures = draw(st.integers(1, 6)), draw(st.integers(1, 5))
    numbers = st.floats(-0.5, 0.5)
    slopes = np.array(draw(st.lists(numbers, min_size=runs * figures, max_size=runs * figures)))
    gaps = np.array(draw(st.lists(numbers, min_size=runs, max_size=runs)))
    return slopes.reshape(runs, figures), gaps, draw(st.floats(0.0, 0.2)), draw(st.floats(0.02, 0.2))


@given(problems())
def test_the_posterior_is_never_wider_than_the_prior(problem: tuple[Floats, Floats, float, float]) -> None:
    slopes, gaps, shared, own = problem
    found = posterior(linear(slopes), gaps, slopes.shape[1], shared=shared, own=own)
    assert np.all(np.linalg.eigvalsh(found.covariance) <= 1.0 + 1e-9)
    assert 0.0 <= effective_parameters(found.covariance) <= gaps.size + 1e-9
    prior = log_spread(found.slopes_after, np.eye(found.mean.size))
    assert np.all(log_spread(found.slopes_after, found.covariance) <= prior + 1e-9)


@given(problems())
def test_the_fit_is_never_worse_than_the_prior(problem: tuple[Floats, Floats, float, float]) -> None:
    slopes, gaps, shared, own = problem
    found = posterior(linear(slopes), gaps, slopes.shape[1], shared=shared, own=own)

    def loss(predicted: Floats) -> float:
        size = np.abs(predicted - gaps) / own
        return float(np.sum(np.where(size <= HUBER, size**2 / 2, HUBER * (size - HUBER / 2))))

    assert loss(found.after) + 0.5 * found.mean @ found.mean <= loss(found.before) + 1e-9


def test_linear_runs_give_the_posterior_of_gaussian_conditioning() -> None:
    """Mean H' S^-1 y with S = H H' + s^2 1 1' + t^2 I, as long as no run stands out."""
    slopes = np.array([[0.10, 0.05, 0.0], [0.12, 0.01, 0.03], [0.08, 0.06, 0.01]])
    measured, shared, own = np.array([0.05, 0.06, 0.045]), 0.04, 0.05
    found = posterior(linear(slopes), measured, 3, shared=shared, own=own)
    augmented = np.column_stack([slopes, np.full(3, shared)])
    evidence = augmented @ augmented.T + own**2 * np.eye(3)
    gain = augmented.T @ np.linalg.inv(evidence)
    np.testing.assert_allclose(found.mean, gain @ measured, rtol=1e-5, atol=1e-8)
    np.testing.assert_allclose(found.covariance, np.eye(4) - gain @ augmented, rtol=1e-5, atol=1e-8)


def test_one_exact_run_closes_the_gap() -> None:
    found = posterior(linear(np.array([[0.1, 0.2]])), np.array([0.3]), 2, own=1e-4)
    assert found.before[0] == 0.0
    assert found.after[0] == pytest.approx(0.3, abs=1e-4)
    # The figures share the gap as their spread has it: the one twice as uncertain moves twice as far.
    assert found.mean[1] == pytest.approx(2.0 * found.mean[0], rel=1e-3)


def test_what_no_figure_explains_goes_into_the_common_offset() -> None:
    found = posterior(linear(np.zeros((3, 1))), np.full(3, 0.1), 1, shared=0.1, own=0.01)
    assert found.mean[0] == pytest.approx(0.0, abs=1e-9)
    assert 0.1 * found.mean[1] == pytest.approx(0.1, rel=0.01)


def nonlinear(figures: Floats) -> Floats:
    """Three runs of a machine whose step is products over an efficiency and a fixed time."""
    efficiency = 0.7 * np.exp(0.1 * figures[:, 0])
    fixed = 0.02 * np.exp(0.5 * figures[:, 1])
    return np.log(np.stack([work / efficiency + fixed for work in (0.05, 0.2, 0.8)]))


def test_known_figures_are_found_within_the_posterior() -> None:
    """Drawn from the prior and measured with noise, the truth lies within the posterior's own width."""
    random = np.random.default_rng(7)
    scores = []
    for _ in range(60):
        truth = random.standard_normal((1, 2))
        measured = nonlinear(truth)[:, 0] + 0.03 * random.standard_normal(3)
        found = posterior(nonlinear, measured, 2)
        error = found.mean[:2] - truth[0]
        scores.append(error @ np.linalg.solve(found.covariance[:2, :2], error))
    # A chi-squared number of two degrees of freedom has a mean of two and a variance of four.
    assert np.mean(scores) == pytest.approx(2.0, abs=4.0 * 2.0 / np.sqrt(60))


@pytest.mark.parametrize("more", [1, 5, 17])
def test_another_run_never_widens_what_is_known(more: int) -> None:
    slopes = np.array([[0.1, 0.05]])
    few = posterior(linear(slopes), np.zeros(1), 2)
    many = posterior(linear(np.repeat(slopes, 1 + more, axis=0)), np.zeros(1 + more), 2)
    assert np.all(np.linalg.eigvalsh(few.covariance - many.covariance) >= -1e-9)


def test_a_run_that_stands_out_pulls_no_harder_however_far_it_is() -> None:
    predict = linear(np.full((3, 1), 0.2))
    near = posterior(predict, np.array([0.1, 0.1, 0.7]), 1)
    far = posterior(predict, np.array([0.1, 0.1, 7.0]), 1)
    assert near.mean[0] == pytest.approx(far.mean[0], rel=1e-6)
    assert far.weights[2] < 0.02 < 0.99 < far.weights[0]
    assert abs(far.after[0] - 0.1) < 0.04


def test_a_figure_stops_at_its_end_and_leaves_the_rest_to_the_others() -> None:
    found = laplace_posterior(
        linear(np.array([[0.3, 0.1]])), np.array([0.5]), np.zeros(1), np.array([0.01]),
        np.array([-5.0, -5.0]), np.array([1.0, 5.0]),
    )  # fmt: skip
    assert found.mean[0] == 1.0
    assert found.mean[1] == pytest.approx(2.0, rel=0.02)


def test_the_transform_turns_normals_into_the_posterior() -> None:
    slopes = np.array([[0.3, 0.1, 0.0], [0.1, 0.2, 0.0]])
    covariance = posterior(linear(slopes), np.zeros(2), 3).covariance
    root = posterior_transform(covariance)
    np.testing.assert_allclose(root @ root, covariance, atol=1e-12)
    np.testing.assert_allclose(root, root.T, atol=1e-12)
    # Nothing was learnt of the third figure: its samples stay what they were.
    np.testing.assert_allclose(root[2], [0.0, 0.0, 1.0, 0.0], atol=1e-9)


@pytest.mark.parametrize(("runs", "own"), [(0, 0.1), (1, 0.0)])
def test_no_runs_or_runs_without_noise_are_refused(runs: int, own: float) -> None:
    with pytest.raises(EngineError):
        posterior(linear(np.zeros((runs, 1))), np.zeros(runs), 1, own=own)
