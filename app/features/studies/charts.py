"""Figures of a study: parts of the time of each option, sensitivity of the best, and probabilities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from app.engine.units import DAY
from app.estimating.decision import Decision, DecisionOption
from app.estimating.schema import Quantity
from app.features.estimates.names import sides
from app.features.studies.model import PartAcross, StudyAnswer, StudyOptionAnswer, Swing, Tornado
from app.features.studies.options import ClaimKind
from app.platform.charts import figures
from app.platform.charts.figures import Figure, Trace, axis
from app.platform.wording.scales import Scale
from app.platform.wording.voice import Voice

SHADES = (0.97, 0.9, 0.75, 0.6)
"""Least probability of each shade, the strongest first."""


MAP_HEIGHT = 340

LINE = {"width": 3, "dash": "solid"}
"""Of a limit on the map: a pointer finds no gaps in it."""

CROSS = {"color": figures.GUIDE, "width": 0}
"""Ranges on the map, lighter than the points they belong to."""

WIDE = 8.0
"""Ratio of the largest to the least value from which an axis is logarithmic."""


def limited_money(decision: Decision, option: DecisionOption) -> Quantity | None:
    """Return the money of an option that the budget limits; without a budget its outlay."""
    question = decision.question
    kind = question.budget_kind or ("purchase" if option.purchase else "run")
    if question.budget is None or kind == "term":
        return option.outlay
    return option.purchase if kind == "purchase" else option.run


def time_and_money(answer: StudyAnswer, voice: Voice) -> Figure | None:
    """Draw time against money: a name at each option, its ranges as a cross, the limits as lines.

    Stated figures have no price; they stand as stars on the ground of the map.
    """
    stars = [MapStar(option.label, option.kind, option.time, option.key) for option in answer.options]
    return decision_map(
        answer.decision, {option.key: option.label for option in answer.options}, stars, voice
    )


ROOM = {True: 1.4, False: 1.1}
"""Factor on the largest amount that leaves room for its name, on a logarithmic axis and on another."""


class MapStar(NamedTuple):
    """A stated time on a map, which shows it unless its option has a price."""

    label: str
    kind: ClaimKind
    time: Quantity | None
    key: str = ""


def decision_map(
    decision: Decision, labels: Mapping[str, str], stated: Sequence[MapStar], voice: Voice
) -> Figure | None:
    """Draw the options of a decision; ``labels`` are their names."""
    question = decision.question
    placed = [
        (option, option.time, money)
        for option in decision.options
        if option.time is not None and (money := limited_money(decision, option)) is not None
    ]
    if not placed:
        return None
    known = {option.id for option, _, _ in placed}
    stars = [star for star in stated if star.time is not None and star.key not in known]
    scale = figures.time_scale([time for _, time, _ in placed])
    title = voice.gettext("Outlay" if question.budget is None else "What the budget pays for")
    time_title = voice.gettext("Training time with start-up")
    across = figures.reach([time for _, time, _ in placed] + [star.time for star in stars], scale.size)
    up = figures.reach([money for _, _, money in placed])
    shapes: list[dict[str, object]] = []
    meta: dict[str, list[float]] = {}
    across_limits: list[float] = []
    up_limits: list[float] = []
    if question.deadline_s is not None:
        at = question.deadline_s / scale.size
        across.append(at)
        across_limits.append(at)
        meta["deadline"] = [len(shapes), scale.size / DAY]
        ink = {"color": figures.LIMIT, **LINE}
        shapes.append(figures.upright(at) | {"line": ink, "editable": True})
    if question.budget is not None:
        up.append(question.budget)
        up_limits.append(question.budget)
        meta["budget"] = [len(shapes), 1.0]
        ink = {"color": figures.PURPLE, **LINE}
        ends = {"x0": 0, "x1": 1, "y0": question.budget, "y1": question.budget}
        shapes.append({"type": "line", "xref": "paper", "line": ink, "editable": True} | ends)
    wide = [max(ends) > WIDE * min(ends) > 0 for ends in (across, up)]
    floor = min(up) if wide[1] else 0.0
    up.append(max(up) * ROOM[wide[1]])
    x_axis = axis(time_title, across, voice.number, unit=voice.gettext(scale.unit), log=wide[0])
    y_axis = axis(title, up, voice.amount, unit=question.currency, log=wide[1], zero=not wide[1])
    # The recommended option's name has the best place.
    placed.sort(key=lambda one: (one[0].id != decision.recommended, one[1].value))
    spots = [((time.value / scale.size, money.value), labels[option.id]) for option, time, money in placed]
    ranges = [
        line
        for (x, y), (_, time, money) in zip((spot for spot, _ in spots), placed, strict=True)
        for line in (
            ((time.low / scale.size, y), (time.high / scale.size, y)),
            ((x, money.low), (x, money.high)),
        )
    ]
    (left, right), (bottom, top) = (
        [10.0**end if each["type"] == "log" else end for end in each["range"]] for each in (x_axis, y_axis)
    )
    limits = [((limit, bottom), (limit, top)) for limit in across_limits]
    limits += [((left, limit), (right, limit)) for limit in up_limits]
    where = sides(spots, x_axis, y_axis, lines=[*ranges, *limits])
    traces: list[Trace] = []
    for (option, time, money), side in zip(placed, where, strict=True):
        best = option.id == decision.recommended
        name = labels[option.id]
        traces.append(
            figures.points(
                [time.value / scale.size],
                [money.value],
                {
                    "color": figures.GOOD if best else figures.BLUE if option.meets else figures.GREY,
                    "size": 15 if best else 10,
                    "symbol": "diamond" if best else "circle",
                },
                [(name, voice.quantity(time, scale), voice.quantity(money))],
                name=name,
                mode="markers+text",
                text=[figures.plain(name)],
                textposition=side,
                error_x=figures.whiskers([time], scale.size) | CROSS,
                error_y=figures.whiskers([money], 1.0) | CROSS,
            )
        )
    traces += [
        figures.points(
            [star.time.value / scale.size if star.time else None],
            [floor],
            {"color": figures.KINDS[star.kind][0], "size": 13, "symbol": "star"},
            [(star.label, voice.quantity(star.time, scale), "–")],
            name=star.label,
            mode="markers+text",
            text=[figures.plain(star.label)],
            textposition="top center",
        )
        for star in stars
    ]
    drawn = figures.figure(
        traces,
        x_axis,
        y_axis,
        [voice.gettext("Option"), time_title, title],
        height=MAP_HEIGHT,
        shapes=shapes,
        showlegend=False,
    )
    drawn["layout"]["meta"]["limits"] = meta
    return drawn


@dataclass(frozen=True, slots=True)
class MatrixCell:
    """One cell of the matrix: a probability, if known, and its shade, from 0 for the strongest."""

    probability: float | None
    shade: int | None


def cell(probability: float | None) -> MatrixCell:
    if probability is None:
        return MatrixCell(None, None)
    shade = next((index for index, least in enumerate(SHADES) if probability >= least), None)
    return MatrixCell(probability, shade)


def parts(
    rows: Sequence[PartAcross], options: Sequence[StudyOptionAnswer], scale: Scale, voice: Voice
) -> Figure:
    """Draw the parts of the time to train of each option, stacked, with its range at the end."""
    shown = [option for option in options if any(option.key in row.seconds for row in rows)]
    indices = range(len(shown))
    traces = []
    by_name = {row.part: row for row in rows}
    for part, style in figures.PARTS.items():
        row = by_name.get(part)
        if row is None:
            continue
        seconds, name = [row.seconds.get(option.key, 0.0) for option in shown], voice.label(part, "part")
        texts = [
            f"{voice.value(value, 's', exact=False)} ({voice.share(row.share.get(option.key, 0.0))})"
            for value, option in zip(seconds, shown, strict=True)
        ]
        traces.append(figures.bar(name, [value / scale.size for value in seconds], indices, style, texts))
    if shown and traces:
        times = [option.time for option in shown]
        traces.append(
            figures.points(
                [time.value / scale.size if time else None for time in times],
                indices,
                {"size": 1, "color": figures.GUIDE},
                [voice.quantity(time, scale) for time in times],
                name=voice.gettext("Training time"),
                showlegend=False,
                error_x=figures.whiskers(times, scale.size),
            )
        )
    ends = figures.reach([option.time for option in shown], scale.size)
    title, unit = voice.gettext("Training time"), voice.gettext(scale.unit)
    across = axis(title, ends, voice.number, unit=unit, zero=True)
    return figures.stacked(traces, [option.label for option in shown], across)


def tornado(answer: Tornado, voice: Voice) -> Figure:
    """Draw the effect of each input alone on the lead of the best option, which is overtaken at 1."""

    def side(name: str, ends: Sequence[float]) -> tuple[str, Sequence[float], Sequence[str]]:
        return name, ends, [voice.ratio(end) for end in ends]

    return figures.tornado(
        answer.lead,
        1.0,
        [
            side(voice.gettext("input lower"), [swing.low for swing in answer.swings]),
            side(voice.gettext("input higher"), [swing.high for swing in answer.swings]),
        ],
        [swing_name(swing, voice) for swing in answer.swings],
        lambda ends: axis(
            voice.gettext("Lead of first over second place"), [1.0, *ends], voice.number, unit="×"
        ),
        shapes=[figures.upright(1)],
    )


def swing_name(swing: Swing, voice: Voice) -> str:
    """Return the label of an input, with the key of its option."""
    name = voice.label(swing.input)
    return name if swing.option is None else f"{name} ({swing.option})"
