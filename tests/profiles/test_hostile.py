"""Files meant to break the reader raise errors with an explanation, and nothing else."""

import json
from time import process_time
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from app.errors import AppError, TooLarge, Unprocessable
from app.profiles.layer_table import KINDS
from app.profiles.readers.models import MOST_TEXT_BYTES, read_profile
from app.profiles.samples import read_sample
from tests.profiles.conftest import CONFIGS, FVCORE, TABLE, TORCHINFO
from tests.support.graphs import encoder, resnet50

RELAXED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=60)
APART = settings(RELAXED, max_examples=25)
"""Each of these starts a process of a native reader, or two."""

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda children: (
        st.lists(children, max_size=4) | st.dictionaries(st.text(max_size=8), children, max_size=4)
    ),
    max_leaves=8,
)

COLUMNS = [
    "kind", "count", "inner", "columns", "rows", "op", "elements", "groups", "height", "channels_in", "steps",
    "hidden", "heads", "entries",
]  # fmt: skip

FILES = [encoder(), resnet50(), TABLE.encode(), TORCHINFO.encode(), FVCORE.encode()]


def _read(data: bytes) -> None:
    """Read as a model and as a sample; whatever is wrong is said."""
    for reader in (read_profile, read_sample):
        try:
            result: Any = reader("upload", data)
            json.dumps(result.to_json(), allow_nan=False).encode()
        except AppError as error:
            assert error.status < 500
            assert str(error)
            assert error.errors


@APART
@given(st.binary(max_size=300))
@example(b"\x08\x07")
@example(b"")
def test_random_bytes(data: bytes) -> None:
    _read(data)


@APART
@given(st.text(max_size=300))
@example("kind\n\ud7ff")
@example('{"model_type": "\\ud800"}')
def test_random_text(text: str) -> None:
    _read(text.encode("utf-8", "surrogatepass"))


@RELAXED
@given(st.sampled_from([document for _, document, _ in CONFIGS]), st.data())
def test_mutated_configurations(document: dict[str, Any], data: st.DataObject) -> None:
    field = data.draw(st.sampled_from(sorted(document)))
    changed = {**document, field: data.draw(VALUES)}
    _read(json.dumps(changed).encode())


@RELAXED
@given(st.dictionaries(st.sampled_from(COLUMNS), VALUES | st.sampled_from(sorted(KINDS))))
def test_mutated_layers(layer: dict[str, Any]) -> None:
    _read(json.dumps({"layers": [layer]}).encode())


@APART
@given(st.sampled_from(FILES), st.data())
def test_files_with_flipped_bytes(original: bytes, data: st.DataObject) -> None:
    changed = bytearray(original)
    for _ in range(data.draw(st.integers(1, 5))):
        changed[data.draw(st.integers(0, len(changed) - 1))] = data.draw(st.integers(0, 255))
    _read(bytes(changed[: data.draw(st.integers(1, len(changed)))]))


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "empty"),
        (b"PK\x03\x04rest", "archive"),
        (b"\x80\x02ccollections\n", "pickle"),
        (b"PAR1", "Parquet"),
        (b"\x00\x01\x02", "neither"),
        (b"{" * 5000, "line 1"),
        (b"[" * 5000 + b"]" * 5000, "deeper"),
        (b'{"a": ' * 100 + b"1" + b"}" * 100, "deeper"),
        (b'{"hidden_size": NaN}', "NaN"),
        (b'{"hidden_size": -Infinity}', "whole number"),
        (b'{"hidden_size": 1e400}', "too large"),
        (b'{"hidden_size": ' + b"9" * 5000 + b"}", "digits"),
        (b'{"a": 1, "a": 2}', "twice"),
        (b"kind," + b"a" * 100 + b"\0\n", "NUL"),
        (b"kind,\xe9\n", "UTF-8"),
        ("kind,é\n".encode("utf-16"), "no rows"),
    ],
)
def test_what_is_wrong_is_said(data: bytes, said: str) -> None:
    with pytest.raises(Unprocessable, match=said):
        read_profile("upload", data)


def test_a_large_text_is_refused() -> None:
    with pytest.raises(TooLarge, match="5 MB"):
        read_profile("upload", b"{" + b" " * MOST_TEXT_BYTES + b"}")


def test_control_characters_of_a_name_are_not_repeated() -> None:
    with pytest.raises(Unprocessable) as caught:
        read_profile("evil\x1b[31m\n.csv", b"")
    assert "\x1b" not in str(caught.value)


@pytest.mark.parametrize(
    "data", [b'{"length": ' + b"9" * 390 + b"}", b'[{"kind": "norm", "elements": %s}]' % (b"9" * 390)]
)
def test_a_number_beyond_every_float_is_refused(data: bytes) -> None:
    _read(data)


def test_a_name_that_occurs_twice_is_found_at_once() -> None:
    names = ",".join(f'"{index}": 1' for index in range(100_000))
    begun = process_time()
    with pytest.raises(Unprocessable, match="99999 appears twice"):
        read_profile("upload", f'{{{names}, "99999": 2}}'.encode())
    assert process_time() - begun < 3


def test_lengths_that_all_differ_are_packed_at_once() -> None:
    lengths = range(37, 3_700_037, 37)
    begun = process_time()
    sample = read_sample("data.csv", "\n".join(("length", *map(str, lengths))).encode(), seq_len=1 << 22)
    assert process_time() - begun < 5
    # No packing needs fewer rows than the tokens fill; rounding adds less than two in a thousand.
    least = sum(lengths) / (1 << 22)
    assert least <= sample.samples / sample.packing_factor < 1.005 * least


def test_a_name_in_a_graph_that_is_not_text_is_refused() -> None:
    with pytest.raises(Unprocessable, match="neither"):
        read_profile("upload", encoder().replace(b"MatMul_", b"MatMul\xff"))
