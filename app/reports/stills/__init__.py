"""Figures as pictures and tables, drawn without a browser."""

from app.reports.stills.picture import Format, still
from app.reports.stills.table import figure_csv

__all__ = ["Format", "figure_csv", "still"]
