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
from app.reports.figures.comparisons import Series, breakdown, cost_to_train, roofline, scaling, time_to_train
from app.reports.figures.estimates import sensitivity

__all__ = [
    "MemoryBar",
    "RangeBar",
    "Segment",
    "Series",
    "breakdown",
    "cost_to_train",
    "memory_bar",
    "range_bars",
    "roofline",
    "scaling",
    "sensitivity",
    "share_bar",
    "time_to_train",
]
