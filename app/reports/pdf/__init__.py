"""Proposals on paper, set by Typst."""

from app.reports.pdf.logo import read_logo
from app.reports.pdf.render import proposal_pdf

__all__ = ["proposal_pdf", "read_logo"]
