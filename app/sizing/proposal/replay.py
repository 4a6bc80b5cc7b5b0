"""What today's catalogue would say otherwise, line by line."""

from __future__ import annotations

import math
from collections.abc import Iterable

from pydantic import JsonValue

from app.sizing.proposal.documents import Change, ProposalContent, ProposalLine
from app.sizing.proposal.lines import lines_of, plain

ROUNDING = 1e-9
"""Relative difference of two numbers that are the same: JSON keeps every digit, sums may not."""


def compared_lines(content: ProposalContent) -> dict[tuple[str, str | None, str], ProposalLine]:
    """Return the lines of a content by what they are about: places shift where options come and go."""
    lines: Iterable[ProposalLine] = [
        *lines_of(content),
        *(
            plain(
                f"warnings.{index}",
                "warnings",
                ", ".join(one.options) or None,
                one.text.message,
                one.severity,
            )
            for index, one in enumerate(content.warnings)
        ),
        *(
            plain(f"assumptions.{index}.value", "assumptions", ", ".join(one.options), one.field, one.value)
            for index, one in enumerate(content.assumptions)
        ),
    ]
    return {(line.section, line.option, line.name): line for line in lines}


def changes_between(then: ProposalContent, now: ProposalContent) -> tuple[int, list[Change]]:
    """Return how many lines were held against each other, and those that differ."""
    before, after = compared_lines(then), compared_lines(now)
    changes = [
        change
        for key in [*before, *(key for key in after if key not in before)]
        if (change := change_of(before.get(key), after.get(key))) is not None
    ]
    return len(before.keys() | after.keys()), changes


def change_of(then: ProposalLine | None, now: ProposalLine | None) -> Change | None:
    """Return what is different about a line; None where nothing is."""
    line = then or now
    assert line is not None, "a key comes from one of both"
    name = line.name
    old, new = (None if one is None else one.value for one in (then, now))
    if alike(old, new):
        name = f"{line.name}.range"
        before, after = ends(then), ends(now)
        if all(alike(*pair) for pair in zip(before, after, strict=True)):
            return None
        old, new = before, after
    relative = None
    if isinstance(old, int | float) and isinstance(new, int | float) and number(old) and number(new) and old:
        relative = new / old - 1.0
    return Change(
        path=line.path,
        section=line.section,
        option=line.option,
        name=name,
        unit=line.unit,
        then=old,
        now=new,
        relative=relative,
    )


def ends(line: ProposalLine | None) -> list[JsonValue]:
    """Return the ends of the range of a line; empty ones where it is exact."""
    return [None, None] if line is None else [line.low, line.high]


def number(value: JsonValue) -> bool:
    """Tell whether a value is a number; true and false are none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def alike(then: JsonValue, now: JsonValue) -> bool:
    """Tell whether two values say the same."""
    if isinstance(then, int | float) and isinstance(now, int | float) and number(then) and number(now):
        return math.isclose(then, now, rel_tol=ROUNDING)
    return then == now
