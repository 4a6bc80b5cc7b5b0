"""The figures of a proposal line by line, its canonical form, and what changed since."""

from __future__ import annotations

import hashlib
import math
import re
from dataclasses import dataclass
from typing import Any, TypeGuard

import rfc8785
from pydantic import JsonValue

from app.estimating.documents import PlanSummary
from app.estimating.rows import Row, walk
from app.features.proposals.model import ProposalContent, ReplayChange


@dataclass(frozen=True, slots=True)
class ProposalLine:
    """One figure of a proposal with its name: what tables, CSV and the replay are made of."""

    path: str
    """Path in the content."""
    section: str
    option: str | None
    """Label of the option; None for all."""
    name: str
    value: JsonValue
    low: float | None = None
    """10th percentile; None if exact or not a number."""
    high: float | None = None
    unit: str = ""
    """SI unit or currency."""


RATE = "samples/s"

PLANNED = tuple(
    name for name in PlanSummary.model_fields if name not in ("stage_layers", "idle_machines", "searched")
)

ROW, GAIN = r"comparison\.rows\.\d+", r"evidence\.gains\.\d+"

PRINTED = tuple(
    (re.compile(path.replace("#", r"\d+").replace("ROW", ROW).replace("GAIN", GAIN)), section, name, unit)
    for path, section, name, unit in (
        (r"advice\.(recommended)", "advice", "{0}", ""),
        (r"decision\.options\.#\.(outlay)", "advice", "{0}", ""),
        (r"decision\.options\.#\.(idle_share|probability)", "advice", "{0}", "1"),
        (r"advice\.avoid\.#\.(label)", "advice", "avoid", ""),
        (r"ROW\.(hours)", "comparison", "{0}", "h"),
        (r"ROW\.(kind)", "comparison", "{0}", ""),
        (r"ROW\.costs\.#\.(run|capex|hourly)", "comparison", "cost.{0}", ""),
        (r"ROW\.estimate\.cost\.(run|capex|hourly)", "comparison", "cost.{0}", ""),
        (r"ROW\.estimate\.cost\.(carbon)\.run", "comparison", "{0}", ""),
        (r"ROW\.estimate\.(memory\.(?:per_device|capacity))", "comparison", "{0}", ""),
        (
            r"comparison\.rows\.#\.estimate\.(fits|step_time|throughput|tokens_per_second)",
            "comparison",
            "{0}",
            "",
        ),
        (r"ROW\.estimate\.(mfu|time_to_train|energy|system\.power)", "comparison", "{0}", ""),
        (r"ROW\.estimate\.system\.(devices)", "comparison", "{0}", ""),
        (r"ROW\.estimate\.validation\.(basis)_text\.message", "comparison", "{0}", ""),
        (r"ROW\.estimate\.(steps|samples)", "logic", "{0}", ""),
        (r"ROW\.estimate\.breakdown\.#\.seconds", "logic", "part.{item}", "s"),
        (rf"ROW\.estimate\.plan\.({'|'.join(PLANNED)})", "plan", "{0}", ""),
        (r"comparison\.ratios\.#\.(ratio)", "comparison", "{0}", "1"),
        (
            r"evidence\.gains\.#\.(taken|money_saved|switches_saved|cables_saved)",
            "measured",
            "{kind}.{0}",
            "",
        ),
        (r"GAIN\.(threshold|gain)", "measured", "{kind}.{0}", "1"),
        (r"GAIN\.options\.#\.runs\.#", "measured", "{kind}.run.{item}", RATE),
        (r"GAIN\.options\.#\.(mean|deviation)", "measured", "{kind}.{0}", RATE),
        (r"GAIN\.options\.#\.(gap|gain)", "measured", "{kind}.{0}", "1"),
        (r"GAIN\.options\.#\.(predicted|price)", "measured", "{kind}.{0}", ""),
        (r"GAIN\.(left_out\.#)\.count", "measured", "{0}.{item}.quantity", ""),
        (r"GAIN\.(left_out\.#)\.unit_price", "measured", "{0}.{item}.unit_price", ""),
        (r"evidence\.fit\.(gap_before|gap_after)", "measured", "fit.{0}", "1"),
        (r"evidence\.fit\.runs\.#\.(gap_before|gap_after)", "measured", "fit.{0}", "1"),
        (r"evidence\.fit\.runs\.#\.(measured)", "measured", "fit.{0}", "s"),
        (r"evidence\.fit\.runs\.#\.samples_per_s", "measured", "fit.rate", RATE),
        (r"evidence\.fit\.runs\.#\.(before|after)", "measured", "fit.{0}", ""),
        (r"bills\.#\.lines\.#\.(quantity|unit_price|total)", "bill", "bill.{item}.{0}", ""),
        (r"bills\.#\.groups\.#\.total", "bill", "bill.group.{item}", ""),
        (r"bills\.#\.(total|equipment|power|racks|rack_units)", "bill", "bill.{0}", ""),
        (r"term\.(years)", "term", "term.{0}", "a"),
        (r"term\.(useful_hours_per_year)", "term", "term.{0}", "h"),
        (r"term\.options\.#\.(hourly|yearly|over_term)", "term", "term.{0}", ""),
        (r"term\.options\.#\.lines\.#\.amount", "term", "term.line.{item}", ""),
        (r"acceptance\.#\.committed", "acceptance", "acceptance.{item}", ""),
    )
)
"""Path of the figures that the document prints → section, name, and unit of a bare number."""


def lines_of(content: ProposalContent) -> list[ProposalLine]:
    """Return every figure of a proposal that is printed, the advice first."""
    lines = [line for row in walk(content) if (line := _line(row, content)) is not None]
    return sorted(lines, key=lambda line: line.section != "advice")


def _line(row: Row, content: ProposalContent) -> ProposalLine | None:
    """Return the line of a row that is printed; what is unknown only of recommendation and plans."""
    matches = ((pattern.fullmatch(row.path), place) for pattern, *place in PRINTED)
    found, place = next(((match, place) for match, place in matches if match), (None, []))
    if found is None:
        return None
    section, called, unit = place
    if row.value is None and section != "plan" and row.path != "advice.recommended":
        return None
    places = [int(place) for place in row.path.split(".") if place.isdecimal()]
    option, value, kind = row.subject, row.value, ""
    if section == "measured" and ".gains." in row.path:
        gain = content.evidence.gains[places[0]] if content.evidence else None
        assert gain is not None, "the row is of it"
        kind = gain.basis
        if ".left_out." in row.path:
            option = gain.against
        elif row.path.endswith(".gain") and option == gain.reference:
            return None
    elif section == "term" and len(places) > 0 and content.term is not None:
        paid = content.term.options[places[0]]
        option = paid.label if paid.own else f"{paid.label} ({paid.rental})"
        unit = content.currency if ".lines." in row.path else unit
    elif called.startswith("cost."):
        costs = content.comparison.rows[places[0]].costs
        own = next((index for index, cost in enumerate(costs) if cost.own), None)
        if own != (places[1] if len(places) > 1 else None):
            return None
    elif called == "avoid":
        value = content.advice.avoid[places[0]].reasons[0].message
    elif ".ratios." in row.path:
        ratio = content.comparison.ratios[places[0]]
        option = f"{ratio.slower} / {ratio.faster}"
    elif section == "acceptance":
        unit = content.acceptance[places[0]].expected.unit
    name = called.format(*found.groups(), item=row.item, kind=kind)
    return ProposalLine(row.path, section, option, name, value, row.low, row.high, row.unit or unit)


LARGEST_EXACT = 2**53 - 1
"""Larger whole numbers have no canonical JSON of their own (RFC 8785, section 3.2.2.3)."""


def canonical(content: JsonValue) -> bytes:
    """Return the canonical form (RFC 8785) of the JSON of a content, of whatever edition."""
    return rfc8785.dumps(exact(content))


def content_hash(content: JsonValue) -> str:
    return hashlib.sha256(canonical(content)).hexdigest()


def exact(value: Any) -> Any:
    """Return a JSON value whose whole numbers are all exact doubles, as RFC 8785 requires."""
    if isinstance(value, dict):
        return {name: exact(part) for name, part in value.items()}
    if isinstance(value, list):
        return [exact(part) for part in value]
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > LARGEST_EXACT:
        return float(value)
    return value


ROUNDING = 1e-9
"""Relative difference below which two numbers are the same."""


def changes_between(then: ProposalContent, now: ProposalContent) -> tuple[int, list[ReplayChange]]:
    before, after = _by_subject(then), _by_subject(now)
    subjects = dict.fromkeys([*before, *after])
    changes = [_change(before.get(subject), after.get(subject)) for subject in subjects]
    return len(subjects), [change for change in changes if change is not None]


def _by_subject(content: ProposalContent) -> dict[tuple[str, str | None, str], ProposalLine]:
    """Return the lines of a content by subject, since positions shift when options come and go."""
    lines = lines_of(content)
    for index, warning in enumerate(content.warnings):
        about, said = ", ".join(warning.options) or None, warning.text.message
        lines.append(ProposalLine(f"warnings.{index}", "warnings", about, said, warning.severity))
    for index, assumption in enumerate(content.assumptions):
        at, about = f"assumptions.{index}.value", ", ".join(assumption.options)
        lines.append(ProposalLine(at, "assumptions", about, assumption.field, assumption.value))
    return {(line.section, line.option, line.name): line for line in lines}


def _change(then: ProposalLine | None, now: ProposalLine | None) -> ReplayChange | None:
    """Return how a line differs, in its value or else in its range; None if it does not."""
    line = then or now
    assert line is not None, "a subject comes from one of both"
    name = line.name
    old, new = (None if side is None else side.value for side in (then, now))
    if _alike(old, new):
        before, after = ([None, None] if side is None else [side.low, side.high] for side in (then, now))
        if all(map(_alike, before, after)):
            return None
        name, old, new = f"{line.name}.range", list(before), list(after)
    relative = new / old - 1.0 if _is_number(old) and _is_number(new) and old else None
    changed = {"name": name, "then": old, "now": new, "relative": relative}
    return ReplayChange(path=line.path, section=line.section, option=line.option, unit=line.unit, **changed)


def _is_number(value: JsonValue) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _alike(then: JsonValue, now: JsonValue) -> bool:
    if _is_number(then) and _is_number(now):
        return math.isclose(then, now, rel_tol=ROUNDING)
    return then == now
