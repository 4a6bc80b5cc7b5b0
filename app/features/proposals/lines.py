"""What today's catalogue would say otherwise, line by line."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

import rfc8785
from pydantic import JsonValue

from app.estimating.schema import Quantity
from app.features.comparisons.model import ComparisonRow
from app.features.proposals.model import Change, GainFound, ProposalContent, ProposalLine

ESTIMATED = ("step_time", "throughput", "tokens_per_second", "mfu", "time_to_train", "energy")
"""Quantities of an estimate."""

MEASURED, RATE = "measured", "samples/s"

MEMORY = ("per_device", "capacity", "usable")

COSTS = ("run", "capex", "hourly")

PLANNED = (
    *("tensor", "pipeline", "data", "micro_batch", "accumulation", "global_batch", "interleave"),
    *("recompute", "sequence_parallel", "sharding", "sharding_ranks", "expert", "offload"),
    *("rts", "rts_optimizer", "phases"),
)


def lines_of(content: ProposalContent) -> list[ProposalLine]:
    """Return every figure of a proposal in the order of the document."""
    return [
        *of_advice(content),
        *of_rows(content),
        *of_ratios(content),
        *of_evidence(content),
        *of_bills(content),
        *of_term(content),
    ]


def plain(
    path: str, section: str, option: str | None, name: str, value: JsonValue, unit: str = ""
) -> ProposalLine:
    """Return a line without a range."""
    return ProposalLine(
        path=path, section=section, option=option, name=name, value=value, low=None, high=None, unit=unit
    )


def ranged(
    path: str, section: str, option: str | None, name: str, one: Quantity | None
) -> Iterator[ProposalLine]:
    """Return the line of a quantity, where there is one."""
    if one is None:
        return
    exact = one.low == one.high
    yield ProposalLine(
        path=path,
        section=section,
        option=option,
        name=name,
        value=one.value,
        low=None if exact else one.low,
        high=None if exact else one.high,
        unit=one.unit,
    )


def of_advice(content: ProposalContent) -> Iterator[ProposalLine]:
    """Return what is recommended."""
    for name in ("recommended", "cheapest", "fastest"):
        yield plain(f"advice.{name}", "advice", None, name, getattr(content.advice, name))
    for position, one in enumerate(content.advice.avoid):
        yield plain(f"advice.avoid.{position}.label", "advice", one.label, "avoid", one.reasons[0].message)


def of_rows(content: ProposalContent) -> Iterator[ProposalLine]:
    """Return the figures of every option."""
    for position, row in enumerate(content.comparison.rows):
        place = f"comparison.rows.{position}"
        if row.hours is not None:
            exact = row.low == row.high
            yield ProposalLine(
                path=f"{place}.hours",
                section="comparison",
                option=row.label,
                name="hours",
                value=row.hours,
                low=None if exact else row.low,
                high=None if exact else row.high,
                unit="h",
            )
        yield plain(f"{place}.kind", "comparison", row.label, "kind", row.kind)
        yield from of_estimate(row, f"{place}.estimate")


def of_estimate(row: ComparisonRow, place: str) -> Iterator[ProposalLine]:
    """Return the figures of an estimate."""
    one = row.estimate
    if one is None:
        return
    section, label = "comparison", row.label
    yield plain(f"{place}.fits", section, label, "fits", one.fits)
    for name in ESTIMATED:
        yield from ranged(f"{place}.{name}", section, label, name, getattr(one, name))
    if one.memory is not None:
        for name in MEMORY:
            yield from ranged(
                f"{place}.memory.{name}", section, label, f"memory.{name}", getattr(one.memory, name)
            )
    if one.cost is not None:
        own = next((index for index, cost in enumerate(row.costs) if cost.own), None)
        costs = f"{place}.cost" if own is None else f"{place.removesuffix('estimate')}costs.{own}"
        for name in COSTS:
            yield from ranged(f"{costs}.{name}", section, label, f"cost.{name}", getattr(row.own_cost, name))
        if one.cost.carbon is not None:
            yield from ranged(f"{place}.cost.carbon.run", section, label, "carbon", one.cost.carbon.run)
    yield from ranged(f"{place}.system.power", section, label, "system.power", one.system.power)
    yield plain(f"{place}.system.devices", section, label, "devices", one.system.devices)
    for name in ("steps", "samples"):
        if getattr(one, name) is not None:
            yield plain(f"{place}.{name}", "logic", label, name, getattr(one, name))
    for index, part in enumerate(one.breakdown or ()):
        yield plain(
            f"{place}.breakdown.{index}.seconds", "logic", label, f"part.{part.part}", part.seconds, "s"
        )
    if one.plan is not None:
        for name in PLANNED:
            yield plain(f"{place}.plan.{name}", "plan", label, name, getattr(one.plan, name))


def of_ratios(content: ProposalContent) -> Iterator[ProposalLine]:
    """Return how many times as long one option takes as another."""
    for position, one in enumerate(content.comparison.ratios):
        yield ProposalLine(
            path=f"comparison.ratios.{position}.ratio",
            section="comparison",
            option=f"{one.slower} / {one.faster}",
            name="ratio",
            value=one.ratio,
            low=one.low,
            high=one.high,
            unit="1",
        )


def of_evidence(content: ProposalContent) -> Iterator[ProposalLine]:
    """Return the customer's measured runs and what they say."""
    if content.evidence is None:
        return
    for position, one in enumerate(content.evidence.gains):
        yield from of_gain(one, f"evidence.gains.{position}")
    fit = content.evidence.fit
    for name in () if fit is None else ("gap_before", "gap_after"):
        yield plain(f"evidence.fit.{name}", MEASURED, None, f"fit.{name}", getattr(fit, name), "1")
    for index, run in enumerate(() if fit is None else fit.runs):
        place = f"evidence.fit.runs.{index}"
        yield plain(f"{place}.measured", MEASURED, run.label, "fit.measured", run.measured, "s")
        yield plain(f"{place}.samples_per_s", MEASURED, run.label, "fit.rate", run.samples_per_s, RATE)
        for name in ("before", "after"):
            yield from ranged(f"{place}.{name}", MEASURED, run.label, f"fit.{name}", getattr(run, name))
            gap = getattr(run, f"gap_{name}")
            yield plain(f"{place}.gap_{name}", MEASURED, run.label, f"fit.gap_{name}", gap, "1")


def of_gain(one: GainFound, place: str) -> Iterator[ProposalLine]:
    """Return the figures of one verdict on alternatives."""
    plainly = partial(plain, section=MEASURED)
    kind = one.basis
    yield plainly(f"{place}.taken", option=one.label, name=f"{kind}.taken", value=one.taken)
    yield plainly(
        f"{place}.threshold", option=one.label, name=f"{kind}.threshold", value=one.threshold, unit="1"
    )
    yield from ranged(f"{place}.gain", MEASURED, one.label, f"{kind}.gain", one.gain)
    yield from ranged(f"{place}.money_saved", MEASURED, one.label, f"{kind}.money_saved", one.money_saved)
    for name in ("switches_saved", "cables_saved"):
        if (count := getattr(one, name)) is not None:
            yield plainly(f"{place}.{name}", option=one.label, name=f"{kind}.{name}", value=count)
    for index, option in enumerate(one.options):
        at = f"{place}.options.{index}"
        told = partial(plainly, option=option.label)
        for number, run in enumerate(option.runs):
            yield told(f"{at}.runs.{number}", name=f"{kind}.run.{number + 1}", value=run, unit=RATE)
        for name in ("mean", "deviation"):
            if (rate := getattr(option, name)) is not None:
                yield told(f"{at}.{name}", name=f"{kind}.{name}", value=rate, unit=RATE)
        yield from ranged(f"{at}.predicted", MEASURED, option.label, f"{kind}.predicted", option.predicted)
        if option.gap is not None:
            yield told(f"{at}.gap", name=f"{kind}.gap", value=option.gap, unit="1")
        if option.label != one.reference:
            yield told(f"{at}.gain", name=f"{kind}.gain", value=option.gain, unit="1")
        yield from ranged(f"{at}.price", MEASURED, option.label, f"{kind}.price", option.price)
    for index, part in enumerate(one.left_out):
        at, name = f"{place}.left_out.{index}", f"left_out.{index}.{part.item}"
        yield plainly(f"{at}.count", option=one.against, name=f"{name}.quantity", value=part.count)
        yield from ranged(f"{at}.unit_price", MEASURED, one.against, f"{name}.unit_price", part.unit_price)


def of_bills(content: ProposalContent) -> Iterator[ProposalLine]:
    """Return the parts of every option."""
    for position, bill in enumerate(content.bills):
        for index, line in enumerate(bill.lines):
            place, name = f"bills.{position}.lines.{index}", f"bill.{line.item} ({line.use})"
            yield plain(f"{place}.quantity", "bill", bill.label, f"{name}.quantity", line.quantity)
            yield from ranged(
                f"{place}.unit_price", "bill", bill.label, f"{name}.unit_price", line.unit_price
            )
            yield from ranged(f"{place}.total", "bill", bill.label, f"{name}.total", line.total)
        for index, group in enumerate(bill.groups):
            place, name = f"bills.{position}.groups.{index}.total", f"bill.group.{group.group}"
            yield from ranged(place, "bill", bill.label, name, group.total)
        yield from ranged(f"bills.{position}.total", "bill", bill.label, "bill.total", bill.total)
        yield from ranged(f"bills.{position}.equipment", "bill", bill.label, "bill.equipment", bill.equipment)
        yield from ranged(f"bills.{position}.power", "bill", bill.label, "bill.power", bill.power)
        for name in ("racks", "rack_units"):
            if getattr(bill, name) is not None:
                yield plain(
                    f"bills.{position}.{name}", "bill", bill.label, f"bill.{name}", getattr(bill, name)
                )


def of_term(content: ProposalContent) -> Iterator[ProposalLine]:
    """Return what every option costs over the term."""
    if content.term is None:
        return
    yield plain("term.years", "term", None, "term.years", content.term.years, "a")
    yield plain(
        "term.useful_hours_per_year",
        "term",
        None,
        "term.useful_hours_per_year",
        content.term.useful_hours_per_year,
        "h",
    )
    for position, one in enumerate(content.term.options):
        place = f"term.options.{position}"
        label = one.label if one.own else f"{one.label} ({one.rental})"
        for name in ("hourly", "yearly", "over_term"):
            yield from ranged(f"{place}.{name}", "term", label, f"term.{name}", getattr(one, name))
        for index, line in enumerate(one.lines):
            yield plain(
                f"{place}.lines.{index}.amount",
                "term",
                label,
                f"term.line.{line.item}",
                line.amount,
                content.currency,
            )


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
        return {name: exact(one) for name, one in value.items()}
    if isinstance(value, list):
        return [exact(one) for one in value]
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > LARGEST_EXACT:
        return float(value)
    return value


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
