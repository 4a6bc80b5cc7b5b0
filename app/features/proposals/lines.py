"""The figures of a proposal line by line, its canonical form, and what changed since."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeGuard

import rfc8785
from pydantic import JsonValue

from app.estimating.documents import PlanSummary
from app.estimating.schema import Quantity
from app.features.comparisons.model import ComparisonRow
from app.features.proposals.model import Evidence, GainFound, ProposalContent, ReplayChange


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

UNITS = {
    **dict.fromkeys(("threshold", "gain", "gap", "gap_before", "gap_after"), "1"),
    **dict.fromkeys(("idle_share", "probability"), "1"),
    **dict.fromkeys(("mean", "deviation", "samples_per_s"), RATE),
    "measured": "s",
    "years": "a",
    "useful_hours_per_year": "h",
}
"""Field that is a bare number → its unit; all others are counts or words."""

NAMES = {
    "system.devices": "devices",
    "cost.carbon.run": "carbon",
    "validation.basis_text.message": "basis",
    "samples_per_s": "rate",
    "count": "quantity",
}
"""Field → name of its line, if different."""

ESTIMATED = (
    *("fits", "step_time", "throughput", "tokens_per_second", "mfu", "time_to_train", "energy"),
    *("memory.per_device", "memory.capacity", "memory.usable"),
)

PLANNED = tuple(
    name for name in PlanSummary.model_fields if name not in ("stage_layers", "idle_machines", "searched")
)


def lines_of(content: ProposalContent) -> list[ProposalLine]:
    """Return every figure of a proposal in the order of the document."""
    return [
        *_advice(content),
        *(line for index, row in enumerate(content.comparison.rows) for line in _row(row, index)),
        *_ratios(content),
        *(() if content.evidence is None else _evidence(content.evidence)),
        *_bills(content),
        *_term(content),
        *_acceptance(content),
    ]


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines of one section about one option, with the prefix of their names."""

    section: str
    option: str | None
    prefix: str = ""

    def of(self, path: str, name: str, value: JsonValue | Quantity, unit: str = "") -> ProposalLine:
        """Return one line; exact quantities have no range."""
        if isinstance(value, Quantity):
            return self.ranged(path, name, value.value, value.low, value.high, value.unit)
        return ProposalLine(path, self.section, self.option, self.prefix + name, value, unit=unit)

    def ranged(
        self, path: str, name: str, value: float, low: float | None, high: float | None, unit: str
    ) -> ProposalLine:
        ends = (None, None) if low == high else (low, high)
        return ProposalLine(path, self.section, self.option, self.prefix + name, value, *ends, unit)

    def fields(self, document: Any, path: str, *fields: str, unknown: bool = False) -> Iterator[ProposalLine]:
        """Return the lines of some fields of a document, including empty ones if ``unknown`` is set."""
        for field in fields:
            value = document
            for name in field.split("."):
                value = None if value is None else getattr(value, name)
            if value is not None or unknown:
                yield self.of(f"{path}.{field}", NAMES.get(field, field), value, UNITS.get(field, ""))


def _advice(content: ProposalContent) -> Iterator[ProposalLine]:
    yield from Lines("advice", None).fields(content.advice, "advice", "recommended", unknown=True)
    for index, option in enumerate(content.decision.options if content.decision else ()):
        lines = Lines("advice", option.id)
        yield from lines.fields(option, f"decision.options.{index}", "outlay", "idle_share", "probability")
    for index, avoided in enumerate(content.advice.avoid):
        reason = avoided.reasons[0].message
        yield Lines("advice", avoided.label).of(f"advice.avoid.{index}.label", "avoid", reason)


def _row(row: ComparisonRow, index: int) -> Iterator[ProposalLine]:
    path, lines = f"comparison.rows.{index}", Lines("comparison", row.label)
    if row.hours is not None:
        yield lines.ranged(f"{path}.hours", "hours", row.hours, row.low, row.high, "h")
    yield lines.of(f"{path}.kind", "kind", row.kind)
    estimate = row.estimate
    if estimate is None:
        return
    at = f"{path}.estimate"
    yield from lines.fields(estimate, at, *ESTIMATED)
    if estimate.cost is not None:
        own = next((position for position, cost in enumerate(row.costs) if cost.own), None)
        costs = f"{at}.cost" if own is None else f"{path}.costs.{own}"
        yield from replace(lines, prefix="cost.").fields(row.own_cost, costs, "run", "capex", "hourly")
    yield from lines.fields(estimate, at, "cost.carbon.run", "system.power", "system.devices")
    if estimate.validation.basis_text is not None:
        yield from lines.fields(estimate, at, "validation.basis_text.message")
    logic = Lines("logic", row.label)
    yield from logic.fields(estimate, at, "steps", "samples")
    for i, part in enumerate(estimate.breakdown or ()):
        yield logic.of(f"{at}.breakdown.{i}.seconds", f"part.{part.part}", part.seconds, "s")
    if estimate.plan is not None:
        yield from Lines("plan", row.label).fields(estimate.plan, f"{at}.plan", *PLANNED, unknown=True)


def _ratios(content: ProposalContent) -> Iterator[ProposalLine]:
    for index, ratio in enumerate(content.comparison.ratios):
        path, pair = f"comparison.ratios.{index}.ratio", f"{ratio.slower} / {ratio.faster}"
        yield ProposalLine(path, "comparison", pair, "ratio", ratio.ratio, ratio.low, ratio.high, "1")


def _evidence(evidence: Evidence) -> Iterator[ProposalLine]:
    for index, gain in enumerate(evidence.gains):
        yield from _gain(gain, f"evidence.gains.{index}")
    if evidence.fit is None:
        return
    path = "evidence.fit"
    yield from Lines("measured", None, "fit.").fields(evidence.fit, path, "gap_before", "gap_after")
    compared = ("measured", "samples_per_s", "before", "gap_before", "after", "gap_after")
    for index, run in enumerate(evidence.fit.runs):
        yield from Lines("measured", run.label, "fit.").fields(run, f"{path}.runs.{index}", *compared)


def _gain(gain: GainFound, path: str) -> Iterator[ProposalLine]:
    kind = f"{gain.basis}."
    compared = ("taken", "threshold", "gain", "money_saved", "switches_saved", "cables_saved")
    yield from Lines("measured", gain.label, kind).fields(gain, path, *compared)
    for index, option in enumerate(gain.options):
        at, lines = f"{path}.options.{index}", Lines("measured", option.label, kind)
        for i, run in enumerate(option.runs):
            yield lines.of(f"{at}.runs.{i}", f"run.{i + 1}", run, RATE)
        own = () if option.label == gain.reference else ("gain",)
        yield from lines.fields(option, at, "mean", "deviation", "predicted", "gap", *own, "price")
    for index, part in enumerate(gain.left_out):
        lines = Lines("measured", gain.against, f"left_out.{index}.{part.item}.")
        yield from lines.fields(part, f"{path}.left_out.{index}", "count", "unit_price")


def _bills(content: ProposalContent) -> Iterator[ProposalLine]:
    for index, bill in enumerate(content.bills):
        path, lines = f"bills.{index}", Lines("bill", bill.label, "bill.")
        for i, part in enumerate(bill.lines):
            priced = replace(lines, prefix=f"bill.{part.item} ({part.use}).")
            yield from priced.fields(part, f"{path}.lines.{i}", "quantity", "unit_price", "total")
        for i, group in enumerate(bill.groups):
            yield lines.of(f"{path}.groups.{i}.total", f"group.{group.group}", group.total)
        yield from lines.fields(bill, path, "total", "equipment", "power", "racks", "rack_units")


def _term(content: ProposalContent) -> Iterator[ProposalLine]:
    if content.term is None:
        return
    yield from Lines("term", None, "term.").fields(content.term, "term", "years", "useful_hours_per_year")
    for index, option in enumerate(content.term.options):
        path = f"term.options.{index}"
        lines = Lines("term", option.label if option.own else f"{option.label} ({option.rental})", "term.")
        yield from lines.fields(option, path, "hourly", "yearly", "over_term")
        for i, line in enumerate(option.lines):
            yield lines.of(f"{path}.lines.{i}.amount", f"line.{line.item}", line.amount, content.currency)


def _acceptance(content: ProposalContent) -> Iterator[ProposalLine]:
    for index, commitment in enumerate(content.acceptance):
        lines, unit = Lines("acceptance", commitment.option, "acceptance."), commitment.expected.unit
        yield lines.of(f"acceptance.{index}.committed", commitment.figure, commitment.committed, unit)


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
        about = Lines("warnings", ", ".join(warning.options) or None)
        lines.append(about.of(f"warnings.{index}", warning.text.message, warning.severity))
    for index, assumption in enumerate(content.assumptions):
        about = Lines("assumptions", ", ".join(assumption.options))
        lines.append(about.of(f"assumptions.{index}.value", assumption.field, assumption.value))
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
