"""Addresses of lists in stretches."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from app.sizing.kept.documents import Page


def older(path: str, stretch: Page[Any]) -> str:
    """Return the address of what comes after a stretch of a list; empty at the end."""
    return at(path, stretch.next) if stretch.next else ""


def at(path: str, cursor: str | None) -> str:
    """Return the address of the stretch that begins at a cursor.

    >>> at("/comparisons.json", "MjAy="), at("/comparisons.json", "")
    ('/comparisons.json?cursor=MjAy%3D', '/comparisons.json')
    """
    return f"{path}?{urlencode({'cursor': cursor})}" if cursor else path
