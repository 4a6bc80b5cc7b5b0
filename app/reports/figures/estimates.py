"""Figures of one estimate."""

from __future__ import annotations

from app.reports.figures import palette
from app.reports.figures.layout import Figure, axis, figure, legend_above, names
from app.reports.wording import Voice
from app.reports.wording.scales import scale_of
from app.sizing.document import Estimate

INPUTS_SHOWN = 10


def sensitivity(estimate: Estimate, voice: Voice) -> Figure:
    """Return what each input alone does to the time to train, the strongest on top.

    Ends are those of the time: which end of an input shortens it differs from input to input.
    """
    central = estimate.time_to_train.value if estimate.time_to_train else 0.0
    scale = scale_of(central, "s")
    ranked = sorted(estimate.sensitivity, key=lambda one: -abs(one.high - one.low))[:INPUTS_SHOWN]
    rows = list(range(len(ranked)))

    def side(name: str, colour: str, pattern: str, ends: list[float]) -> dict[str, object]:
        return {
            "type": "bar",
            "orientation": "h",
            "name": name,
            "base": central / scale.size,
            "y": rows,
            "x": [(end - central) / scale.size for end in ends],
            "width": 0.6,
            "marker": {"color": colour, "pattern": palette.hatched(pattern)},
            "hovertext": [voice.value(end, "s", scale, exact=False) for end in ends],
            "hoverinfo": "text+name",
        }

    data = [
        side(voice.gettext("less time"), palette.BLUE, "", [one.low for one in ranked]),
        side(voice.gettext("more time"), palette.ORANGE, "/", [one.high for one in ranked]),
    ]
    labels = [voice.label(one.input) for one in ranked]
    return figure(
        data,
        barmode="overlay",
        showlegend=True,
        legend=legend_above(),
        xaxis=axis(f"{voice.gettext('Time to train')} ({voice.gettext(scale.unit)})"),
        yaxis=names(labels) | {"type": "linear", "range": [len(labels) - 0.5, -0.5], "autorange": False},
    )
