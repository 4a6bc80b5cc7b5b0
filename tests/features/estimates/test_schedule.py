"""Schedules drawn: what is left out changes nothing of what is shown, and every shape lies on the sheet."""

from __future__ import annotations

import csv
import io
from typing import Literal
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from app.engine.pipeline import Schedule, bubble_slots, lockstep, one_forward_one_backward
from app.estimating.documents import PipelineSchedule
from app.features.estimates.schedule import excerpt_of, pipeline_drawing, schedule_rows, stage_times
from app.platform.charts.figure_tables import rows_csv
from app.platform.charts.still_files import sketch
from app.platform.charts.svg import Area, Box, Label, written
from app.platform.wording.voice import voice

Kind = Literal["one_forward_one_backward", "interleaved", "lockstep"]

SECONDS = st.floats(0.1, 10.0)


def schedule(
    kind: Kind, stages: int, micro_batches: int, chunks: int = 1, forward: float = 1.0, backward: float = 2.0
) -> PipelineSchedule:
    slot = forward + backward
    bubble = float(bubble_slots(stages, chunks)) * slot
    length = micro_batches * slot + bubble
    return PipelineSchedule(
        kind=kind,
        stages=stages,
        micro_batches=micro_batches,
        chunks=chunks,
        forward=forward,
        backward=backward,
        length=length,
        bubble=bubble,
        bubble_share=bubble / length,
        after=0.5,
        superstep=None,
    )


def starts(
    passes: Schedule, number: np.ndarray, times: np.ndarray
) -> dict[tuple[int, int, int, bool], float]:
    columns = zip(passes.stage, number, passes.chunk, passes.backward, times, strict=True)
    return {(int(s), int(m), int(c), bool(b)): float(t) for s, m, c, b, t in columns}


def agrees(drawn: PipelineSchedule, whole: Schedule) -> None:
    """Every pass of the excerpt stands, on the step's clock, where the whole schedule has it."""
    cut = excerpt_of(drawn)
    found = starts(cut.passes, cut.number, cut.true_time(cut.passes.start))
    known = starts(whole, whole.micro_batch + 1, whole.start)
    assert len(found) == cut.passes.start.size
    for one, at in found.items():
        assert known[one] == pytest.approx(at, rel=1e-6, abs=1e-6), one
    end = float(cut.true_time(np.asarray([cut.passes.length]))[0])
    assert end == pytest.approx(drawn.length)


@settings(max_examples=40, deadline=None)
@given(stages=st.integers(2, 12), more=st.integers(0, 40), forward=SECONDS, backward=SECONDS)
def test_plain_and_lockstep_excerpts_are_parts_of_the_whole(
    stages: int, more: int, forward: float, backward: float
) -> None:
    count = 1 + more
    plain = schedule("one_forward_one_backward", stages, count, 1, forward, backward)
    agrees(plain, one_forward_one_backward(stages, count, forward, backward))
    agrees(
        schedule("lockstep", stages, count, 1, forward, backward), lockstep(stages, count, forward, backward)
    )


@settings(max_examples=30, deadline=None)
@given(
    stages=st.integers(2, 9),
    rounds=st.integers(1, 8),
    chunks=st.integers(2, 5),
    forward=SECONDS,
    backward=SECONDS,
)
def test_interleaved_excerpts_are_parts_of_the_whole(
    stages: int, rounds: int, chunks: int, forward: float, backward: float
) -> None:
    drawn = schedule("interleaved", stages, rounds * stages, chunks, forward, backward)
    agrees(drawn, one_forward_one_backward(stages, rounds * stages, forward, backward, chunks))


SHEETS = [
    schedule("one_forward_one_backward", 4, 4),
    schedule("one_forward_one_backward", 8, 512, forward=1e-4, backward=2e-4),
    schedule("interleaved", 16, 64, 3),
    schedule("lockstep", 8, 1024),
    schedule("one_forward_one_backward", 64, 512),
]


@pytest.mark.parametrize("language", ["en", "ko"])
@pytest.mark.parametrize("drawn", SHEETS, ids=lambda one: f"{one.kind}-{one.stages}-{one.micro_batches}")
def test_every_shape_lies_on_the_sheet_and_the_sheet_is_light(drawn: PipelineSchedule, language: str) -> None:
    drawing = pipeline_drawing(drawn, voice(language))
    boxes = [(one.x, one.y, one.width, one.height) for one in drawing.shapes if isinstance(one, Box)]
    boxes += [box for one in drawing.shapes if isinstance(one, Area) for box in one.boxes]
    for x, y, width, height in boxes:
        assert x >= 0 and y >= 0 and x + width <= drawing.width + 1e-6 and y + height <= drawing.height
    text = str(written(drawing, "one"))
    ElementTree.fromstring(text)
    assert len(text) < 100_000
    assert any(isinstance(one, Label) and one.kind == "plain" for one in drawing.shapes)


def test_boxes_are_as_wide_as_their_passes_take() -> None:
    drawing = pipeline_drawing(schedule("one_forward_one_backward", 4, 4), voice("en"))
    widths = {
        kind: {
            round(one.width, 3)
            for one in drawing.shapes
            if isinstance(one, Box) and one.kind == kind and one.title
        }
        for kind in ("forward", "backward")
    }
    (forward,), (backward,) = widths["forward"], widths["backward"]
    assert backward + 0.6 == pytest.approx(2 * (forward + 0.6), rel=1e-3)


def test_what_is_left_out_is_said() -> None:
    drawing = pipeline_drawing(schedule("one_forward_one_backward", 4, 128), voice("en"))
    texts = [one.text for one in drawing.shapes if isinstance(one, Label)]
    assert "120 micro-batches not shown" in texts
    assert "128" in texts and "60" not in texts


def test_stages_begin_one_after_the_other_and_the_first_ends_last() -> None:
    found = stage_times(schedule("one_forward_one_backward", 4, 128))
    assert [one.first_forward for one in found] == [0.0, 1.0, 2.0, 3.0]
    assert found[0].end == pytest.approx(131 * 3.0)
    assert found[-1].end < found[0].end


def test_a_drawing_is_a_picture_and_its_rows_are_a_table() -> None:
    drawn = schedule("interleaved", 4, 64, 2)
    drawing = pipeline_drawing(drawn, voice("ko"))
    picture = sketch(drawing)
    assert picture == sketch(drawing)
    with Image.open(io.BytesIO(picture)) as opened:
        assert opened.width == round(2 * drawing.width)
        assert len(opened.convert("RGB").getcolors(1 << 20) or ()) > 5
    head, *rows = csv.reader(io.StringIO(rows_csv(schedule_rows(drawn))))
    assert head == ["stage", "chunk", "micro_batch", "direction", "start_s", "seconds"]
    assert len(rows) == 2 * 4 * 2 * 8
    assert {row[3] for row in rows} == {"forward", "backward"}
