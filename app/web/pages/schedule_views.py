"""The pipeline's schedule on the page of an estimate."""

from __future__ import annotations

from collections.abc import Sequence

from app.errors import Message
from app.reports import figures
from app.reports.drawings.schedule import StageTimes, pipeline_drawing, schedule_rows, stage_times
from app.reports.figures import Segment
from app.reports.wording import Voice
from app.sizing.document import Estimate
from app.web.contexts import DrawingView

NOTES = {
    "one_forward_one_backward": Message(
        "Each stage takes forward and backward passes in turn once the first gradient is back; the numbers "
        "are those of micro-batches."
    ),
    "interleaved": Message(
        "Each stage has several chunks of the model, told apart by shade, and takes forward and backward "
        "passes in turn; that shortens the bubble."
    ),
    "lockstep": Message(
        "All stages finish a superstep before the next begins: forward passes of all micro-batches, then "
        "their backward passes."
    ),
}
"""Kind of schedule → how to read it."""


def schedule_view(estimate: Estimate, voice: Voice) -> DrawingView | None:
    """Return the passes of one step; none where the pipeline has one stage."""
    found = estimate.schedule
    if found is None:
        return None
    return DrawingView(
        "schedule",
        voice.gettext("Pipeline schedule"),
        pipeline_drawing(found, voice),
        "stages",
        schedule_rows(found),
        voice.say(NOTES[found.kind]),
    )


def stages(estimate: Estimate) -> Sequence[StageTimes]:
    """Return when each stage works."""
    return stage_times(estimate.schedule) if estimate.schedule else []


def superstep(estimate: Estimate) -> Sequence[Segment]:
    """Return one superstep as a bar of its parts."""
    return figures.share_bar(estimate.schedule.superstep or ()) if estimate.schedule else []
