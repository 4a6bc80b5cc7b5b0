"""Tables and numbers of generated Markdown, rounded so that every machine writes the same text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from app.errors import CatalogError

UNKNOWN = "–"

PART = re.compile(r"(<!-- generated: (?P<name>\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def filled(text: str, parts: Mapping[str, str], page: str) -> str:
    """Return a page with its generated parts brought up to date, which must be exactly these."""
    unknown = {match["name"] for match in PART.finditer(text)} ^ set(parts)
    if unknown:
        raise CatalogError(f"{page}: generated parts do not match: {', '.join(sorted(unknown))}")
    return PART.sub(lambda match: f"{match[1]}{parts[match['name']]}\n{match[3]}", text)


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return rows as a Markdown table; headings that end in ``:`` stand to the right."""
    names = [heading.removesuffix(":") for heading in headings]
    rule = ["---:" if heading.endswith(":") else "---" for heading in headings]
    lines = [names, rule, *rows]
    return "\n".join(f"| {' | '.join(escaped(cell) for cell in line)} |" for line in lines)


def escaped(cell: str) -> str:
    """Return a cell without what would end it."""
    return cell.replace("|", "\\|").replace("\n", " ").strip()


def percent(share: float | None, *, signed: bool = False) -> str:
    if share is None:
        return UNKNOWN
    # No minus sign on what rounds to nothing.
    rounded = round(100.0 * share, 1) + 0.0
    return f"{rounded:+.1f} %" if signed else f"{rounded:.1f} %"


def whole_percent(share: float | None) -> str:
    return UNKNOWN if share is None else f"{100.0 * share:.0f} %"


def number(value: float | None) -> str:
    """Return a value to three significant digits, written out."""
    if value is None:
        return UNKNOWN
    rounded = float(f"{value:.3g}")
    return f"{rounded:,.0f}" if abs(rounded) >= 100 else f"{rounded:g}"
