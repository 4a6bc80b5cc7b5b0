"""A pipeline's step drawn: one row per stage, one box per pass, what idles left empty."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from app.engine.pipeline import Schedule, Whole, lockstep, one_forward_one_backward
from app.engine.records import Floats
from app.errors import Message
from app.estimating.documents import PipelineSchedule
from app.platform.charts.svg import Area, Box, Drawing, Label, Line
from app.platform.wording.scales import Scale, scale_of
from app.platform.wording.voice import Voice

FEWEST = 8
"""Micro-batches that are drawn where there are as many."""

SPARE = 2
"""Micro-batches drawn beyond the number of stages, so that one whole round repeats."""

NEAR = 1e-9


@dataclass(frozen=True, slots=True)
class Cut:
    """A point of the schedule at which rounds are left out."""

    at: float
    """Time on the excerpt's own clock. [s]"""
    seconds: float
    """Duration left out. [s]"""


@dataclass(frozen=True, slots=True)
class Excerpt:
    """The passes that are drawn, on a clock that stands still during what is left out."""

    passes: Schedule
    number: Whole
    """Micro-batch of each pass within the whole step, counted from 1."""
    cuts: tuple[Cut, ...]
    left_out: int
    """Micro-batches that are not drawn."""

    def true_time(self, clock: Floats) -> Floats:
        """Return times of the step from times on the excerpt's clock. [s]"""
        at = np.asarray(clock, dtype=float)
        return np.asarray(
            at + sum(cut.seconds * (at >= cut.at - NEAR * self.passes.length) for cut in self.cuts)
        )


def excerpt_of(schedule: PipelineSchedule) -> Excerpt:
    """Return the passes of a schedule that are worth drawing."""
    stages, chunks = schedule.stages, schedule.chunks
    count = max(FEWEST, stages + SPARE)
    if chunks > 1:
        count = stages * max(2, -(-FEWEST // stages))
    if schedule.kind == "lockstep":
        return _supersteps(schedule, min(count, schedule.micro_batches))
    return _rounds(schedule, min(count, schedule.micro_batches))


def _rounds(schedule: PipelineSchedule, count: int) -> Excerpt:
    stages, chunks = schedule.stages, schedule.chunks
    passes = one_forward_one_backward(stages, count, schedule.forward, schedule.backward, chunks)
    left_out = schedule.micro_batches - count
    if not left_out:
        return Excerpt(passes, passes.micro_batch + 1, (), 0)
    # The first stage is the last to repeat itself: after as many forward passes as it runs ahead.
    if chunks == 1:
        ahead = stages + (count - stages - SPARE) // 2
    else:
        ahead = 2 * (stages - 1) + (chunks - 1) * stages + stages - 1
    at = float(np.sort(passes.start[(passes.stage == 0) & ~passes.backward])[ahead])
    cut = Cut(at, left_out * (schedule.forward + schedule.backward))
    later = passes.start >= at - NEAR * passes.length
    return Excerpt(passes, passes.micro_batch + 1 + left_out * later, (cut,), left_out)


def _supersteps(schedule: PipelineSchedule, count: int) -> Excerpt:
    stages, forward, backward = schedule.stages, schedule.forward, schedule.backward
    passes = lockstep(stages, count, forward, backward)
    left_out = schedule.micro_batches - count
    if not left_out:
        return Excerpt(passes, passes.micro_batch + 1, (), 0)
    middle = stages + (count - stages - SPARE) // 2
    turn = (count + stages - 1) * forward
    cuts = (Cut(middle * forward, left_out * forward), Cut(turn + middle * backward, left_out * backward))
    own = np.where(passes.backward, cuts[1].at, cuts[0].at)
    later = passes.start >= own - NEAR * passes.length
    return Excerpt(passes, passes.micro_batch + 1 + left_out * later, cuts, left_out)


Cell = str | int | float | bool | None

Shape = Box | Line | Label | Area

WIDTH = 1160.0

LEFT, RIGHT, TOP, FOOT = 74.0, 14.0, 30.0, 64.0

ROW, GAP_ROW = 24.0, 26.0

CUT = 40.0
"""Width of a cut. [px]"""

MOST_ROWS, ENDS = 16, 6
"""Most stages that are all drawn; of more stages, the number drawn at either end."""

MOST_BOXES = 480
"""Most passes that get a box with its own tip."""

LETTER, LETTER_ROOM = 6.2, 4.0

LEAST_TICKS = 64.0
"""Smallest distance between ticks. [px]"""


@dataclass(frozen=True, slots=True)
class TimeScale:
    """Horizontal positions of times on the drawing, with a gap at every cut."""

    excerpt: Excerpt
    left: float
    pixels: float
    """Pixels per second. [px/s]"""

    def position(self, at: float, *, after: bool = False) -> float:
        """Return the position of a time on the excerpt's clock; at a cut, its near or far side."""
        near = NEAR * self.excerpt.passes.length * (1 if after else -1)
        passed = sum(cut.at < at + near for cut in self.excerpt.cuts)
        return self.left + at * self.pixels + passed * CUT


def pipeline_drawing(schedule: PipelineSchedule, voice: Voice) -> Drawing:
    """Draw the passes of one step on every stage, or on the first and last stages of many."""
    excerpt = excerpt_of(schedule)
    rows = drawn_stages(schedule.stages)
    tops: dict[int, float] = {}
    top = TOP
    for stage in rows:
        if stage is None:
            top += GAP_ROW
        else:
            tops[stage] = top
            top += ROW
    room = WIDTH - LEFT - RIGHT - CUT * len(excerpt.cuts)
    clock = TimeScale(excerpt, LEFT, room / excerpt.passes.length)
    shapes: list[Shape] = [
        Box(LEFT, tops[stage] + 2, WIDTH - LEFT - RIGHT, ROW - 4, "idle") for stage in tops
    ]
    shapes += _passes(excerpt, clock, tops, voice)
    shapes += _cuts(excerpt, clock, top, voice)
    for stage, row_top in tops.items():
        text = voice.say(Message("stage {number}", {"number": stage + 1}))
        shapes.append(Label(LEFT - 8, row_top + ROW / 2 + 4, text, 11.5, "end", "plain"))
    if None in rows:
        words = voice.say(Message("{count} more stages not shown", {"count": schedule.stages - len(tops)}))
        between = TOP + ENDS * ROW + GAP_ROW / 2 + 4
        shapes.append(Label(LEFT, between, f"⋮  {words}", 11.5, "start", "quiet"))
    shapes += _axis(excerpt, clock, top, voice)
    shapes += _key(schedule, top + 46, voice)
    return Drawing(
        WIDTH, top + FOOT, voice.gettext("Pipeline schedule"), voice.say(described(schedule)), tuple(shapes)
    )


def described(schedule: PipelineSchedule) -> Message:
    return Message(
        "{stages} stages process {count} micro-batches; each stage is idle for {share} % of "
        "the schedule while the pipeline fills and drains",
        {
            "stages": schedule.stages,
            "count": schedule.micro_batches,
            "share": float(f"{100 * schedule.bubble_share:.3g}"),
        },
    )


def drawn_stages(stages: int) -> list[int | None]:
    """Return the stages that are drawn, with None for those left out.

    >>> drawn_stages(3), len(drawn_stages(64))
    ([0, 1, 2], 13)
    """
    if stages <= MOST_ROWS:
        return list(range(stages))
    return [*range(ENDS), None, *range(stages - ENDS, stages)]


def kind_of(backward: bool, chunk: int) -> str:
    """Return the class of a pass; neighbouring chunks are told apart by a lighter colour."""
    return ("backward" if backward else "forward") + ("-light" if chunk % 2 else "")


def _passes(excerpt: Excerpt, clock: TimeScale, tops: dict[int, float], voice: Voice) -> list[Shape]:
    passes = excerpt.passes
    chosen = np.flatnonzero(np.isin(passes.stage, list(tops)))
    single = chosen.size <= MOST_BOXES
    shapes: list[Shape] = []
    areas: dict[str, list[tuple[float, float, float, float]]] = {}
    scale = scale_of(float(np.max(passes.seconds)), "s")
    for index in chosen:
        kind = kind_of(bool(passes.backward[index]), int(passes.chunk[index]))
        start, end = float(passes.start[index]), float(passes.start[index] + passes.seconds[index])
        top, number = tops[int(passes.stage[index])], int(excerpt.number[index])
        for behind, (x, width) in enumerate(_pieces(excerpt, clock, start, end)):
            if not single:
                areas.setdefault(kind, []).append((x, top + 2, width, ROW - 4))
                continue
            # What a cut severs is one pass before it and, as many rounds later, another one behind it.
            micro_batch = number + behind * excerpt.left_out
            tip = _tip(excerpt, int(index), micro_batch, scale, voice)
            shapes.append(Box(x, top + 2, width, ROW - 4, kind, tip))
            if width >= LETTER * len(str(micro_batch)) + LETTER_ROOM:
                ink = "inside" if kind == "forward" else "dark"
                shapes.append(Label(x + width / 2, top + ROW / 2 + 4, str(micro_batch), 10.5, kind=ink))
    return shapes + [Area(tuple(boxes), kind) for kind, boxes in areas.items()]


def _pieces(excerpt: Excerpt, clock: TimeScale, start: float, end: float) -> list[tuple[float, float]]:
    """Return left edge and width of a pass, or of its two pieces if a cut runs through it."""
    near = NEAR * excerpt.passes.length
    edges = [start, *(cut.at for cut in excerpt.cuts if start + near < cut.at < end - near), end]
    pieces = []
    for begin, finish in itertools.pairwise(edges):
        x = clock.position(begin, after=True)
        pieces.append((x + 0.3, max(clock.position(finish) - x - 0.6, 0.3)))
    return pieces


def _tip(excerpt: Excerpt, index: int, number: int, scale: Scale, voice: Voice) -> str:
    passes = excerpt.passes
    values = {"number": number, "stage": int(passes.stage[index]) + 1}
    words = (
        Message("backward pass of micro-batch {number} on stage {stage}", values)
        if passes.backward[index]
        else Message("forward pass of micro-batch {number} on stage {stage}", values)
    )
    return f"{voice.say(words)}: {voice.value(float(passes.seconds[index]), 's', scale, exact=False)}"


def _cuts(excerpt: Excerpt, clock: TimeScale, bottom: float, voice: Voice) -> list[Shape]:
    """Return a strip for each cut, with the number of micro-batches left out above it."""
    shapes: list[Shape] = []
    for cut in excerpt.cuts:
        x = clock.position(cut.at)
        shapes.append(Box(x + 1, TOP - 4, CUT - 2, bottom - TOP + 8, "gap"))
        shapes += [Line(x + side, TOP - 2, x + side, bottom + 2, 1.0, "gap") for side in (3.0, CUT - 3.0)]
        text = voice.say(Message("{count} micro-batches not shown", {"count": excerpt.left_out}))
        shapes.append(Label(x + CUT / 2, TOP - 12, text, 11.0, kind="quiet"))
        shapes.append(Label(x + CUT / 2, (TOP + bottom) / 2 + 4, "⋯", 16.0, kind="quiet"))
    return shapes


def _axis(excerpt: Excerpt, clock: TimeScale, bottom: float, voice: Voice) -> list[Shape]:
    """Return the time axis below the rows; behind a cut it continues with the time of the whole step."""
    whole = float(excerpt.true_time(np.asarray([excerpt.passes.length]))[0])
    scale = scale_of(whole, "s")
    step = round_step(LEAST_TICKS / clock.pixels / scale.size) * scale.size
    shapes: list[Shape] = []
    begins = [0.0, *(cut.at for cut in excerpt.cuts)]
    ends = [*(cut.at for cut in excerpt.cuts), excerpt.passes.length]
    skipped = 0.0
    last = -LEAST_TICKS
    for index, (begin, end) in enumerate(zip(begins, ends, strict=True)):
        if index:
            skipped += excerpt.cuts[index - 1].seconds
        first = int(np.ceil((begin + skipped) / step - 1e-9))
        for count in range(first, int((end + skipped) / step + 1e-9) + 1):
            x = clock.position(count * step - skipped, after=True)
            if x - last < LEAST_TICKS or x > WIDTH - RIGHT:
                continue
            last = x
            shapes.append(Line(x, bottom + 2, x, bottom + 7, 1.0, "tick"))
            shapes.append(
                Label(x, bottom + 20, voice.number(count * step / scale.size, digits=6), 11.0, kind="quiet")
            )
    unit = f"{voice.gettext('Time within the step')} ({voice.gettext(scale.unit)})"
    return [*shapes, Label(WIDTH - RIGHT, bottom + 36, unit, 11.0, "end", "quiet")]


def round_step(least: float) -> float:
    """Return the smallest round number that is at least the given one.

    >>> round_step(0.3), round_step(12.0), round_step(0.05)
    (0.5, 20.0, 0.05)
    """
    power = 10.0 ** np.floor(np.log10(least))
    return float(next(step * power for step in (1.0, 2.0, 5.0, 10.0) if step * power >= least * (1 - NEAR)))


def _key(schedule: PipelineSchedule, top: float, voice: Voice) -> list[Shape]:
    entries: list[tuple[Sequence[str], str]] = [
        (("forward", "forward-light")[: min(schedule.chunks, 2)], voice.gettext("forward pass")),
        (("backward", "backward-light")[: min(schedule.chunks, 2)], voice.gettext("backward pass")),
        (("idle",), voice.gettext("idle (bubble)")),
    ]
    shapes: list[Shape] = []
    x = LEFT
    for kinds, text in entries:
        for kind in kinds:
            shapes.append(Box(x, top - 10, 14, 12, kind))
            x += 16
        shapes.append(Label(x + 4, top, text, 11.5, "start", "plain"))
        x += 28 + sum(12.0 if letter >= "\u1100" else 6.4 for letter in text)
    return shapes


def schedule_rows(schedule: PipelineSchedule) -> list[list[Cell]]:
    """Return the drawn passes as rows for export, header first."""
    excerpt = excerpt_of(schedule)
    passes = excerpt.passes
    starts = excerpt.true_time(passes.start)
    rows: list[list[Cell]] = [["stage", "chunk", "micro_batch", "direction", "start_s", "seconds"]]
    rows += [
        [
            int(passes.stage[index]) + 1,
            int(passes.chunk[index]) + 1,
            int(excerpt.number[index]),
            "backward" if passes.backward[index] else "forward",
            float(starts[index]),
            float(passes.seconds[index]),
        ]
        for index in np.lexsort((starts, passes.stage))
    ]
    return rows


@dataclass(frozen=True, slots=True)
class StageTimes:
    """When one stage works. [s]"""

    stage: int
    first_forward: float
    first_backward: float
    end: float


def stage_times(schedule: PipelineSchedule) -> list[StageTimes]:
    """Return when each stage starts its first forward and backward pass, and when it ends."""
    excerpt = excerpt_of(schedule)
    passes = excerpt.passes
    starts = excerpt.true_time(passes.start)
    times = []
    for stage in range(schedule.stages):
        own = passes.stage == stage
        last = np.max(starts[own] + passes.seconds[own])
        first, turned = (float(np.min(starts[own & way])) for way in (~passes.backward, passes.backward))
        times.append(StageTimes(stage + 1, first, turned, float(last)))
    return times
