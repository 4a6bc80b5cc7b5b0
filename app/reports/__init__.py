"""Renderings of a document: words and numbers, figures, sheets, proposals."""
