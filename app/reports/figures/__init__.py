"""Figures: pure functions from a document to a Plotly figure, a JSON object without colours of ink.

Ink, grid and background follow the reader's scheme and are filled in where the figure is drawn;
the data's colours are here, so that page and print agree on what a colour means.
"""

from app.reports.figures.bars import (
    MemoryBar,
    RangeBar,
    Segment,
    memory_bar,
    range_bars,
    share_bar,
)
from app.reports.figures.comparisons import breakdown, cost_to_train, memory, roofline, time_to_train
from app.reports.figures.estimates import sensitivity
from app.reports.figures.scaling import Series, efficiency, scaling, scaling_cost, scaling_efficiency

__all__ = [
    "MemoryBar",
    "RangeBar",
    "Segment",
    "Series",
    "breakdown",
    "cost_to_train",
    "efficiency",
    "memory",
    "memory_bar",
    "range_bars",
    "roofline",
    "scaling",
    "scaling_cost",
    "scaling_efficiency",
    "sensitivity",
    "share_bar",
    "time_to_train",
]
