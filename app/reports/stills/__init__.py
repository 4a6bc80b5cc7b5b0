"""Figures and drawings as pictures and tables, drawn without a browser."""

from app.reports.stills.picture import Format, darkened, still
from app.reports.stills.sketch import sketch
from app.reports.stills.table import figure_csv, rows_csv

__all__ = ["Format", "darkened", "figure_csv", "rows_csv", "sketch", "still"]
