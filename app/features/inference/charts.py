"""Figure of serving: tokens per second of an accelerator against the time per output token."""

from __future__ import annotations

from collections.abc import Sequence

from app.features.inference.model import ServingAnswer, ServingFigures
from app.platform.charts import figures
from app.platform.charts.figures import Figure, axis, figure
from app.platform.wording.scales import scale_of
from app.platform.wording.voice import Voice


def trade_off(answers: Sequence[ServingAnswer], limit: float | None, voice: Voice) -> Figure:
    """Draw one line per system over its batches, and the latency limit."""
    served = [(answer, answer.serving) for answer in answers if answer.serving is not None]
    points = [point for _, serving in served for point in serving.curve]
    times = [point.time_per_output_token.value for point in points] + ([limit] if limit else [])
    scale = scale_of(max(times), "s")
    rates = [point.tokens_per_second_per_accelerator for point in points]
    traces = [
        trace
        for index, (answer, serving) in enumerate(served)
        for trace in _line(answer, serving, index, scale.size, voice)
    ]
    ends = figures.reach(rates, 1.0)
    if limit:
        name = voice.gettext("Limit per output token")
        traces.append(figures.limit(name, [limit / scale.size] * 2, [min(ends), max(ends)]))
    across = axis(
        voice.gettext("Time per output token"),
        [time / scale.size for time in times],
        voice.number,
        unit=voice.gettext(scale.unit),
        log=True,
    )
    rate = voice.gettext("Output tokens/s per accelerator")
    up = axis(rate, ends, voice.number, log=True)
    columns = [voice.gettext("Batch"), voice.gettext("Time per output token"), rate]
    return figure(traces, across, up, columns)


def _line(
    answer: ServingAnswer, serving: ServingFigures, index: int, size: float, voice: Voice
) -> list[figures.Trace]:
    return figures.curve(
        answer.label,
        [point.time_per_output_token.value / size for point in serving.curve],
        [point.tokens_per_second_per_accelerator for point in serving.curve],
        1.0,
        figures.SERIES[index % len(figures.SERIES)],
        [
            (
                voice.number(point.batch),
                voice.quantity(point.time_per_output_token),
                voice.quantity(point.tokens_per_second_per_accelerator),
            )
            for point in serving.curve
        ],
        figures.SYMBOLS[index % len(figures.SYMBOLS)],
    )
