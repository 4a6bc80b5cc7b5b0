"""Charts for paper: SVG whose text stays text, the same bytes every time."""

from app.reports.prints.charts import breakdown, cost, sensitivity, term, time

__all__ = ["breakdown", "cost", "sensitivity", "term", "time"]
