"""Samples of a workload."""

import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.errors import BadInput, TooLarge, Unprocessable
from app.profiles import sample_files, samples
from app.profiles.samples import LengthSample, packed_rows, read_sample

LENGTHS = [100, 300, 3, 512, 700]


def _jsonl(column: str, value: Callable[[int], object]) -> bytes:
    return "\n".join(json.dumps({column: value(length)}) for length in LENGTHS).encode()


@pytest.mark.parametrize(
    "data",
    [
        _jsonl("length", int),
        _jsonl("num_tokens", float),
        _jsonl("input_ids", lambda length: [1] * length),
        ("id,length\n" + "".join(f"{n},{length}\n" for n, length in enumerate(LENGTHS))).encode(),
        ("id;num_tokens\n" + "".join(f"{n};{length}\n" for n, length in enumerate(LENGTHS))).encode(),
    ],
)
def test_given_lengths_are_exact(data: bytes) -> None:
    sample = read_sample("data", data, seq_len=512)
    assert (sample.samples, sample.tokens, sample.max, sample.p50, sample.p95) == (5, 1615, 700, 300, 700)
    assert sample.mean_tokens == sample.mean_low == sample.mean_high == 323
    used = [min(length, 512) for length in LENGTHS]
    assert sample.padding_share == pytest.approx(1 - sum(used) / (5 * 512))
    assert sample.mean_squared == sum(length**2 for length in used) / 5
    assert sample.packing_factor == pytest.approx(5 / 3)
    assert sum(count for _, _, count in sample.histogram) == 5
    assert "truncated" in str(sample.assumptions[0])
    assert LengthSample.from_json(json.loads(json.dumps(sample.to_json()))) == sample


def test_text_is_estimated_with_a_range_and_forgotten() -> None:
    secret = "the quick brown fox jumps over the lazy dog"
    sample = read_sample("data.txt", f"{secret}\n\n한국어 문장입니다\n".encode())
    assert sample.samples == 2
    assert sample.mean_low < sample.mean_tokens < sample.mean_high
    assert "4 characters" in str(sample.assumptions[0])
    assert "fox" not in json.dumps(sample.to_json())


def test_conversations_count_all_their_turns() -> None:
    turns = {"messages": [{"role": "user", "content": "안녕"}, {"role": "assistant", "content": "하세요"}]}
    assert read_sample("chat.jsonl", json.dumps(turns).encode()).tokens >= 5


def test_a_stream_is_read_as_it_comes() -> None:
    assert read_sample("data", io.BytesIO(_jsonl("length", int))).samples == 5


@pytest.mark.parametrize("column", ["length", "input_ids", "text"])
def test_parquet(column: str, tmp_path: Path) -> None:
    polars = pytest.importorskip("polars")
    values = {
        "length": LENGTHS,
        "input_ids": [[1] * n for n in LENGTHS],
        "text": ["abcd" * n for n in LENGTHS],
    }
    polars.DataFrame({column: values[column]}).write_parquet(tmp_path / "d.parquet")
    sample = read_sample("d.parquet", (tmp_path / "d.parquet").read_bytes(), seq_len=512)
    assert (sample.samples, sample.tokens) == (5, 1615)
    assert (sample.mean_low < sample.mean_high) == (column == "text")


def test_parquet_without_a_column_to_measure(tmp_path: Path) -> None:
    polars = pytest.importorskip("polars")
    polars.DataFrame({"colour": [1]}).write_parquet(tmp_path / "d.parquet")
    with pytest.raises(Unprocessable, match="its columns are colour"):
        read_sample("d.parquet", (tmp_path / "d.parquet").read_bytes())


@pytest.mark.parametrize("data", [b"PAR1garbage", b"PAR1" + bytes(100) + b"PAR1"])
def test_broken_parquet_is_refused(data: bytes) -> None:
    with pytest.raises(Unprocessable, match="Parquet"):
        read_sample("d.parquet", data)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "empty"),
        (b"\n\n", "no samples"),
        (b'{"length": 1}\n{"length": "x"}', "line 2"),
        (b'{"length": 1}\n{"length": -5}', "line 2"),
        (b'{"length": 1}\n{"length": NaN}', "line 2"),
        (b'{"length": 1}\n{"length": 1e999}', "line 2"),
        (b'{"length": 1}\n[1]', "line 2"),
        (b'{"length": 1}\n{"size": 3}', "line 2"),
        (b'{"length": 1}\n{"length"', "line 2"),
        (b'{"length": 99999999999}', "line 1"),
        (b"length\n5\n1.5\n", "line 3"),
        (b"length\n5\ntrue\n", "line 3"),
        (b"fine\n\xff\n", "line 2"),
        (b"fine\na\0b\n", "line 2"),
        (b"\x1f\x8b1234", "compressed"),
        (b'{"length": 1, "length": 2}', "appears twice"),
        (b'{"text": ' + b"[" * 5000 + b"]" * 5000 + b"}", "deeper"),
        (b'{"text": ' + b"[" * 100 + b"]" * 100 + b"}", "deeper"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(data: bytes, said: str) -> None:
    with pytest.raises(Unprocessable, match=said):
        read_sample("data", data)


def test_limits_are_stated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(samples, "MOST_SAMPLES", 3)
    with pytest.raises(TooLarge, match="more than 3 samples"):
        read_sample("data", _jsonl("length", int))
    monkeypatch.setattr(samples, "MOST_BYTES", 10)
    with pytest.raises(TooLarge, match="exceeds the limit"):
        read_sample("data", _jsonl("length", int))
    monkeypatch.setattr(samples, "MOST_BYTES", 1000)
    monkeypatch.setattr(sample_files, "MOST_LINE", 5)
    with pytest.raises(Unprocessable, match="line 1: longer"):
        read_sample("data", b"a line of more than five")


@pytest.mark.parametrize("seq_len", [0, -1, 10**9])
def test_an_impossible_row_is_refused(seq_len: int) -> None:
    with pytest.raises(BadInput):
        read_sample("data", b"text", seq_len=seq_len)


@given(st.lists(st.integers(1, 64), min_size=1, max_size=200), st.integers(64, 100))
def test_packing_needs_at_least_the_tokens_and_at_most_the_samples(lengths: list[int], row: int) -> None:
    counts = {length: lengths.count(length) for length in set(lengths)}
    rows = packed_rows(counts, row)
    assert -(-sum(lengths) // row) <= rows <= len(lengths)
    # First and best fit decreasing need at most 11/9 of the fewest rows and one more.
    assert rows <= 11 / 9 * -(-sum(lengths) // row) * 2 + 1
