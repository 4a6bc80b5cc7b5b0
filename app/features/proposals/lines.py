"""The figures of a proposal line by line, its canonical form, and what changed since."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeGuard

import rfc8785
from pydantic import JsonValue

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
    """Label of the option; None where it concerns all."""
    name: str
    value: JsonValue
    low: float | None = None
    """10th percentile; None where it is exact or no number."""
    high: float | None = None
    unit: str = ""
    """SI unit or currency."""


RATE = "samples/s"

UNITS = {
    **dict.fromkeys(("threshold", "gain", "gap", "gap_before", "gap_after"), "1"),
    **dict.fromkeys(("mean", "deviation", "samples_per_s"), RATE),
    "measured": "s",
    "years": "a",
    "useful_hours_per_year": "h",
}
"""Field that is a bare number → its unit; all others are counts or words."""

NAMES = {
    "system.devices": "devices",
    "cost.carbon.run": "carbon",
    "samples_per_s": "rate",
    "count": "quantity",
}
"""Field → name of its line, where that is another."""

ESTIMATED = (
    *("fits", "step_time", "throughput", "tokens_per_second", "mfu", "time_to_train", "energy"),
    *("memory.per_device", "memory.capacity", "memory.usable"),
)

PLANNED = (
    *("tensor", "pipeline", "data", "micro_batch", "accumulation", "global_batch", "interleave"),
    *("recompute", "sequence_parallel", "sharding", "sharding_ranks", "expert", "offload"),
    *("rts", "rts_optimizer", "phases"),
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


def figures(
    document: Any,
    path: str,
    section: str,
    option: str | None,
    fields: Iterable[str],
    prefix: str = "",
    unknown: bool = False,
) -> Iterator[ProposalLine]:
    """Return the lines of some fields of a document; those that say nothing only where these count, too."""
    for field in fields:
        value = document
        for name in field.split("."):
            value = None if value is None else getattr(value, name)
        if value is not None or unknown:
            name = prefix + NAMES.get(field, field)
            yield figure(f"{path}.{field}", section, option, name, value, UNITS.get(field, ""))


def figure(
    path: str, section: str, option: str | None, name: str, value: JsonValue | Quantity, unit: str = ""
) -> ProposalLine:
    """Return one line; exact quantities have no range."""
    if not isinstance(value, Quantity):
        return ProposalLine(path, section, option, name, value, unit=unit)
    return ranged(path, section, option, name, value.value, value.low, value.high, value.unit)


def ranged(
    path: str,
    section: str,
    option: str | None,
    name: str,
    value: float,
    low: float | None,
    high: float | None,
    unit: str,
) -> ProposalLine:
    ends = {} if low == high else {"low": low, "high": high}
    return ProposalLine(path, section, option, name, value, unit=unit, **ends)


def _advice(content: ProposalContent) -> Iterator[ProposalLine]:
    leading = ("recommended", "cheapest", "fastest")
    yield from figures(content.advice, "advice", "advice", None, leading, unknown=True)
    for index, avoided in enumerate(content.advice.avoid):
        reason = avoided.reasons[0].message
        yield figure(f"advice.avoid.{index}.label", "advice", avoided.label, "avoid", reason)


def _row(row: ComparisonRow, index: int) -> Iterator[ProposalLine]:
    path, section, label = f"comparison.rows.{index}", "comparison", row.label
    if row.hours is not None:
        yield ranged(f"{path}.hours", section, label, "hours", row.hours, row.low, row.high, "h")
    yield figure(f"{path}.kind", section, label, "kind", row.kind)
    estimate = row.estimate
    if estimate is None:
        return
    at = f"{path}.estimate"
    yield from figures(estimate, at, section, label, ESTIMATED)
    if estimate.cost is not None:
        own = next((position for position, cost in enumerate(row.costs) if cost.own), None)
        costs = f"{at}.cost" if own is None else f"{path}.costs.{own}"
        yield from figures(row.own_cost, costs, section, label, ("run", "capex", "hourly"), "cost.")
    yield from figures(estimate, at, section, label, ("cost.carbon.run", "system.power", "system.devices"))
    yield from figures(estimate, at, "logic", label, ("steps", "samples"))
    for place, part in enumerate(estimate.breakdown or ()):
        name = f"part.{part.part}"
        yield figure(f"{at}.breakdown.{place}.seconds", "logic", label, name, part.seconds, "s")
    if estimate.plan is not None:
        yield from figures(estimate.plan, f"{at}.plan", "plan", label, PLANNED, unknown=True)


def _ratios(content: ProposalContent) -> Iterator[ProposalLine]:
    for index, found in enumerate(content.comparison.ratios):
        path, pair = f"comparison.ratios.{index}.ratio", f"{found.slower} / {found.faster}"
        yield ProposalLine(path, "comparison", pair, "ratio", found.ratio, found.low, found.high, "1")


def _evidence(evidence: Evidence) -> Iterator[ProposalLine]:
    for index, gain in enumerate(evidence.gains):
        yield from _gain(gain, f"evidence.gains.{index}")
    if evidence.fit is None:
        return
    path = "evidence.fit"
    yield from figures(evidence.fit, path, "measured", None, ("gap_before", "gap_after"), "fit.")
    compared = ("measured", "samples_per_s", "before", "gap_before", "after", "gap_after")
    for index, run in enumerate(evidence.fit.runs):
        yield from figures(run, f"{path}.runs.{index}", "measured", run.label, compared, "fit.")


def _gain(gain: GainFound, path: str) -> Iterator[ProposalLine]:
    kind = f"{gain.basis}."
    said = ("taken", "threshold", "gain", "money_saved", "switches_saved", "cables_saved")
    yield from figures(gain, path, "measured", gain.label, said, kind)
    for index, option in enumerate(gain.options):
        at = f"{path}.options.{index}"
        for place, run in enumerate(option.runs):
            name = f"{kind}run.{place + 1}"
            yield figure(f"{at}.runs.{place}", "measured", option.label, name, run, RATE)
        own = () if option.label == gain.reference else ("gain",)
        weighed = ("mean", "deviation", "predicted", "gap", *own, "price")
        yield from figures(option, at, "measured", option.label, weighed, kind)
    for index, part in enumerate(gain.left_out):
        at, name = f"{path}.left_out.{index}", f"left_out.{index}.{part.item}."
        yield from figures(part, at, "measured", gain.against, ("count", "unit_price"), name)


def _bills(content: ProposalContent) -> Iterator[ProposalLine]:
    for index, bill in enumerate(content.bills):
        path, label = f"bills.{index}", bill.label
        for place, part in enumerate(bill.lines):
            name = f"bill.{part.item} ({part.use})."
            priced = ("quantity", "unit_price", "total")
            yield from figures(part, f"{path}.lines.{place}", "bill", label, priced, name)
        for place, group in enumerate(bill.groups):
            name = f"bill.group.{group.group}"
            yield figure(f"{path}.groups.{place}.total", "bill", label, name, group.total)
        whole = ("total", "equipment", "power", "racks", "rack_units")
        yield from figures(bill, path, "bill", label, whole, "bill.")


def _term(content: ProposalContent) -> Iterator[ProposalLine]:
    if content.term is None:
        return
    yield from figures(content.term, "term", "term", None, ("years", "useful_hours_per_year"), "term.")
    for index, option in enumerate(content.term.options):
        path = f"term.options.{index}"
        label = option.label if option.own else f"{option.label} ({option.rental})"
        yield from figures(option, path, "term", label, ("hourly", "yearly", "over_term"), "term.")
        for place, line in enumerate(option.lines):
            at, name = f"{path}.lines.{place}.amount", f"term.line.{line.item}"
            yield figure(at, "term", label, name, line.amount, content.currency)


def _acceptance(content: ProposalContent) -> Iterator[ProposalLine]:
    for index, kept in enumerate(content.acceptance):
        path, name = f"acceptance.{index}.committed", f"acceptance.{kept.figure}"
        yield ProposalLine(path, "acceptance", kept.option, name, kept.committed, unit=kept.expected.unit)


LARGEST_EXACT = 2**53 - 1
"""Whole numbers beyond this have no form of their own in canonical JSON (RFC 8785, section 3.2.2.3)."""


def canonical(content: ProposalContent) -> bytes:
    """Return the canonical JSON of a content (RFC 8785): one form, whoever writes it."""
    return rfc8785.dumps(exact(content.model_dump(mode="json")))


def content_hash(content: ProposalContent) -> str:
    """Return the SHA-256 of the canonical JSON."""
    return hashlib.sha256(canonical(content)).hexdigest()


def exact(value: Any) -> Any:
    """Return a JSON value whose whole numbers all are doubles, as RFC 8785 reads every number."""
    if isinstance(value, dict):
        return {name: exact(part) for name, part in value.items()}
    if isinstance(value, list):
        return [exact(part) for part in value]
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > LARGEST_EXACT:
        return float(value)
    return value


ROUNDING = 1e-9
"""Relative difference of two numbers that are the same: JSON keeps every digit, sums may not."""


def changes_between(then: ProposalContent, now: ProposalContent) -> tuple[int, list[ReplayChange]]:
    """Return how many lines were compared, and those that differ."""
    before, after = _by_subject(then), _by_subject(now)
    subjects = dict.fromkeys([*before, *after])
    changes = [_change(before.get(subject), after.get(subject)) for subject in subjects]
    return len(subjects), [change for change in changes if change is not None]


def _by_subject(content: ProposalContent) -> dict[tuple[str, str | None, str], ProposalLine]:
    """Return the lines of a content by what they are about: places shift where options come and go."""
    lines = lines_of(content)
    for index, warning in enumerate(content.warnings):
        options = ", ".join(warning.options) or None
        lines.append(figure(f"warnings.{index}", "warnings", options, warning.text.message, warning.severity))
    for index, taken in enumerate(content.assumptions):
        path, options = f"assumptions.{index}.value", ", ".join(taken.options)
        lines.append(figure(path, "assumptions", options, taken.field, taken.value))
    return {(line.section, line.option, line.name): line for line in lines}


def _change(then: ProposalLine | None, now: ProposalLine | None) -> ReplayChange | None:
    """Return what is different about a line, its value or else its range; None where nothing is."""
    line = then or now
    assert line is not None, "a subject comes from one of both"
    name = line.name
    old, new = (None if one is None else one.value for one in (then, now))
    if _alike(old, new):
        before, after = ([None, None] if one is None else [one.low, one.high] for one in (then, now))
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
