"""A proposal in words: the blocks that page and PDF both are made of."""

from app.reports.wording.proposals.blocks import View
from app.reports.wording.proposals.writing import write_proposal

__all__ = ["View", "write_proposal"]
