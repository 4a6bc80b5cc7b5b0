"""Matrix products: tiles and waves, and the limits they approach."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.engine.gpu.gemm import misalignment, roofline_time, tiled_gemm_time
from app.engine.records import TILE_COLUMNS, TILE_ROWS
from tests.engine.conftest import dgx, gpu_case, software, table

CASE = gpu_case(table("bert-large"), software(), dgx()).case

PEAK = 312e12

MULTIPROCESSORS = 108

sides = st.integers(1, 20_000)


def seconds(rows: float, columns: float, inner: float, batch: float = 1.0) -> float:
    return tiled_gemm_time(
        *(rows, columns, inner, batch, PEAK, MULTIPROCESSORS),
        *(CASE.kernels.tiles, CASE.kernels.tile_prologue, CASE.kernels.split_bandwidth),
    )


def ideal(rows: float, columns: float, inner: float, batch: float = 1.0) -> float:
    return 2.0 * rows * columns * inner * batch / PEAK


@given(rows=sides, columns=sides, inner=sides, batch=st.integers(1, 64))
def test_no_product_is_faster_than_the_peak(rows: int, columns: int, inner: int, batch: int) -> None:
    assert seconds(rows, columns, inner, batch) >= ideal(rows, columns, inner, batch)


def test_a_large_product_approaches_the_peak() -> None:
    assert seconds(16384, 16384, 16384) == pytest.approx(ideal(16384, 16384, 16384), rel=0.02)


def test_a_wave_of_an_a100_is_108_tiles() -> None:
    """NVIDIA's guide on matrix products: 2304 × 1536 is 9 × 12 tiles of 256 × 128, one full wave."""
    full = seconds(2304, 1536, 4096)
    assert full == pytest.approx(ideal(2304, 1536, 4096), rel=0.06)
    assert seconds(2304, 1537, 4096) > 1.2 * full


def test_a_product_smaller_than_a_tile_costs_a_whole_one() -> None:
    rows, columns = CASE.kernels.tiles[TILE_ROWS].min(), CASE.kernels.tiles[TILE_COLUMNS].min()
    assert seconds(1, 1, 255) == seconds(rows, columns, 255)


@given(rows=sides, columns=sides, inner=sides, more=st.integers(1, 5_000))
def test_more_rows_or_columns_are_never_faster(rows: int, columns: int, inner: int, more: int) -> None:
    before = seconds(rows, columns, inner)
    assert seconds(rows + more, columns, inner) >= before
    assert seconds(rows, columns + more, inner) >= before
    assert seconds(rows, columns, inner, 2) >= before


@given(rows=sides, columns=sides, inner=sides)
def test_twice_the_rows_take_at_most_twice_the_time(rows: int, columns: int, inner: int) -> None:
    assert seconds(2 * rows, columns, inner) <= 2.0 * seconds(rows, columns, inner) * (1 + 1e-12)


@pytest.mark.parametrize(
    ("compute", "traffic", "expected"),
    [(1.0, 0.0, 2.0), (0.0, 1e12, 0.5), (1.0, 4e12, 2.0), (1.0, 8e12, 4.0)],
)
def test_the_roofline_takes_the_slower_side(compute: float, traffic: float, expected: float) -> None:
    assert roofline_time(compute, 0.5, traffic, 2e12) == expected


@given(columns=sides, inner=sides)
def test_aligned_products_alone_run_at_full_rate(columns: int, inner: int) -> None:
    slow = misalignment(columns, inner, 2.2)
    assert (slow == 1.0) == (columns % 8 == 0 and inner % 8 == 0)
    assert (slow == 2.2) == (columns % 8 != 0 or inner % 8 != 0)
