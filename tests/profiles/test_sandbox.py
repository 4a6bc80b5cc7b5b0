"""Files whose readers are native code: read by a process of their own, within bounds."""

from time import monotonic

import pytest

from app.errors import TooLarge, TooMany, Unprocessable
from app.profiles import onnx_file, sandbox
from app.profiles.onnx_file import answer_of, read_onnx_file, refusal_from_json
from app.profiles.onnx_graph import read_onnx
from app.profiles.sandbox import read_in_subprocess
from tests.support.graphs import encoder, resnet50


@pytest.mark.parametrize("graph", [encoder(), resnet50()])
def test_a_graph_read_apart_is_the_graph_read_here(graph: bytes) -> None:
    assert read_onnx_file("graph.onnx", graph) == read_onnx("graph.onnx", graph)


def test_the_server_does_not_load_the_native_reader() -> None:
    said = read_in_subprocess("x", "tests.profiles.loaded", seconds=60)
    assert said == {"onnx": False}


def test_a_refusal_arrives_as_it_was_meant() -> None:
    with pytest.raises(Unprocessable, match=r"m\.onnx is neither") as apart_from_here:
        read_onnx_file("m.onnx", b"\x08\xff\xff")
    with pytest.raises(Unprocessable) as here:
        read_onnx("m.onnx", b"\x08\xff\xff")
    assert apart_from_here.value.message == here.value.message
    assert apart_from_here.value.errors == here.value.errors
    refused = answer_of("m.onnx", b"\x08\xff\xff")["refused"]
    assert isinstance(refused, dict) and isinstance(refusal_from_json(refused), Unprocessable)


def test_a_reader_that_wants_more_memory_than_it_may_have_refuses_the_file(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert read_in_subprocess("x", "tests.profiles.greedy", "memory", seconds=60) is None
    monkeypatch.setattr(onnx_file, "read_in_subprocess", lambda *_, **__: None)
    with pytest.raises(Unprocessable, match="within 1 GB"):
        read_onnx_file("m.onnx", b"\x08\x07")


@pytest.mark.parametrize("how", ["disk", "fault"])
def test_a_reader_that_breaks_down_says_nothing(how: str) -> None:
    assert read_in_subprocess("x", "tests.profiles.greedy", how, seconds=60) is None


def test_a_reader_that_does_not_come_to_an_end_is_ended() -> None:
    begun = monotonic()
    with pytest.raises(TooLarge, match="longer than 1 s"):
        read_in_subprocess("x", "tests.profiles.greedy", "time", seconds=1)
    assert monotonic() - begun < 5


def test_a_file_waits_for_its_turn_and_is_sent_away_when_it_takes_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sandbox, "PATIENCE", 0.01)
    for _ in range(sandbox.AT_ONCE):
        assert sandbox._turns.acquire(timeout=1)
    try:
        with pytest.raises(TooMany) as caught:
            read_onnx_file("m.onnx", encoder())
        assert caught.value.retry_after == sandbox.AGAIN
    finally:
        for _ in range(sandbox.AT_ONCE):
            sandbox._turns.release()
    assert read_onnx_file("m.onnx", encoder()).parameters > 0
