"""Samples to target against MLPerf reference convergence points and the laws' limits."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.engine.convergence import (
    evaluation_time,
    samples_law,
    samples_to_target,
    training_steps,
)

# mlcommons/logging, rcp_checker/training_2.0.0: mean samples (BERT) and epochs (ResNet) of 20 runs.
BERT_BATCHES = np.array(
    [256, 448, 1536, 3072, 4096, 4608, 6144, 6912, 8192, 8704, 12288, 13056, 16384], dtype=float
)
BERT_SAMPLES = np.array(
    [
        2_552_704, 2_625_459, 2_777_588, 2_768_215, 2_843_443, 2_794_752, 3_321_446,
        3_596_122, 4_191_437, 4_278_144, 4_470_336, 4_632_576, 5_504_307,
    ],
    dtype=float,
)  # fmt: skip
RESNET_BATCHES = np.array([1632, 3264, 4096, 8192, 13056, 32768, 49152, 58880, 65536, 67840], dtype=float)
RESNET_EPOCHS = np.array([35, 35.2, 40, 42, 45.4, 56, 68, 79.9, 84.5, 85.86])
IMAGENET = 1_281_167

# Fits of those points with the errors they were published with.
BERT_LAW = (2.53e6, 14_200.0, 1.32)
RESNET_LAW = (4.44e7, 47_100.0, 1.0)

batches = st.floats(1.0, 1e6)


def bert(batch: float) -> float:
    return float(samples_to_target(batch, BERT_BATCHES, BERT_SAMPLES, *BERT_LAW))


def test_reference_points_are_reproduced() -> None:
    found = [samples_to_target(batch, BERT_BATCHES, BERT_SAMPLES, *BERT_LAW) for batch in BERT_BATCHES]
    assert found == pytest.approx(BERT_SAMPLES, rel=1e-12)
    images = RESNET_EPOCHS * IMAGENET
    found = [samples_to_target(batch, RESNET_BATCHES, images, *RESNET_LAW) for batch in RESNET_BATCHES]
    assert np.array(found) / IMAGENET == pytest.approx(RESNET_EPOCHS, rel=1e-12)


def test_the_geometric_mean_of_two_batches_has_the_geometric_mean_of_their_samples() -> None:
    assert bert(math.sqrt(8704 * 12288)) == pytest.approx(math.sqrt(4_278_144 * 4_470_336), rel=1e-12)


@pytest.mark.parametrize(
    ("points", "samples", "law", "median", "worst"),
    [
        (BERT_BATCHES, BERT_SAMPLES, BERT_LAW, 0.035, 0.14),
        (RESNET_BATCHES, RESNET_EPOCHS * IMAGENET, RESNET_LAW, 0.028, 0.08),
    ],
)
def test_laws_fit_the_points_as_published(
    points: np.ndarray, samples: np.ndarray, law: tuple[float, float, float], median: float, worst: float
) -> None:
    error = np.abs(np.log(samples_law(points, *law) / samples))
    assert np.median(error) == pytest.approx(median, abs=0.004)
    assert np.max(error) < worst


def test_resnet_law_at_its_critical_batch() -> None:
    assert float(samples_law(47_100.0, *RESNET_LAW)) == pytest.approx(8.88e7)
    assert float(samples_law(1e-6, *RESNET_LAW)) == pytest.approx(4.44e7)


@given(batches)
def test_never_below_the_smallest_reference_point(batch: float) -> None:
    assert bert(batch) >= 2_552_704 * (1 - 1e-12)


@given(st.floats(16384.0, 1e6), st.floats(1.0, 10.0))
def test_above_the_table_more_batch_needs_more_samples(batch: float, factor: float) -> None:
    assert bert(batch * factor) >= bert(batch)


@pytest.mark.parametrize("end", [256.0, 16384.0])
def test_continues_without_a_step(end: float) -> None:
    assert bert(end * (1 - 1e-9)) == pytest.approx(bert(end * (1 + 1e-9)), rel=1e-7)


def test_far_above_the_table_grows_as_the_law() -> None:
    assert bert(2e6) / bert(1e6) == pytest.approx(2**1.32, rel=0.01)


def test_steps_of_published_runs() -> None:
    gpt3 = training_steps(300e9 / 2048, 1536)
    assert int(gpt3) == 95_368
    assert int(training_steps(36 * IMAGENET, 3264)) == 14_131


@given(st.integers(1, 10**9), st.integers(1, 10**5))
def test_steps_are_whole_and_just_enough(samples: int, batch: int) -> None:
    steps = int(training_steps(float(samples), float(batch)))
    assert steps == -(-samples // batch)


@given(st.integers(1, 10**6), st.floats(1e-3, 1e3))
def test_rounding_adds_no_step(steps: int, batch: float) -> None:
    assert int(training_steps(steps * batch, batch)) == steps


def test_evaluation_of_bert_runs() -> None:
    # 22 ms per second of training at a forward pass of a third, and 0.44 s each.
    throughput = 2000.0
    seconds = float(evaluation_time(3e6, 150e3, 0.44, 10e3, 3 * throughput))
    assert seconds / (3e6 / throughput) == pytest.approx(0.0222 + 0.44 * throughput / 150e3, abs=1e-4)


def test_no_evaluation_costs_nothing() -> None:
    assert float(evaluation_time(1e6, np.inf, 0.3, 50e3, 1e4)) == 0.0


def test_evaluation_broadcasts_over_samples_of_its_overhead() -> None:
    overheads = np.array([0.0, 1.0, 2.0])
    assert evaluation_time(100.0, 10.0, overheads, 0.0, 1.0).tolist() == [0.0, 10.0, 20.0]
