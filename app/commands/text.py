"""Answers as aligned lines for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from app.errors import Message
from app.estimating.documents import Estimate
from app.estimating.validation.run import ErrorSummary
from app.features.plans.model import Search
from app.features.sizings.model import Sizing
from app.features.sizings.words import sentences
from app.platform.wording.voice import voice


def estimate_text(answer: Estimate) -> list[str]:
    speaker = voice("en")
    rows = [
        ("model", answer.model.name),
        ("system", f"{answer.system.count} × {answer.system.name}, {answer.system.fabric}"),
        ("software", answer.software or "–"),
        ("precision", answer.precision_used or "–"),
        ("fits", "yes" if answer.fits else "no"),
        ("memory per device", speaker.quantity(answer.memory.per_device if answer.memory else None)),
        ("step time", speaker.quantity(answer.step_time)),
        ("steps", speaker.number(answer.steps)),
        ("throughput", speaker.quantity(answer.throughput)),
        ("model FLOP utilisation", speaker.quantity(answer.mfu)),
        ("training time", speaker.quantity(answer.time_to_train)),
        ("energy", speaker.quantity(answer.energy)),
        ("cost of the run", speaker.quantity(answer.cost.run if answer.cost else None)),
        ("validation", answer.validation.status),
    ]
    if answer.validation.basis_text is not None:
        rows.append(("rests on", answer.validation.basis_text.message))
    if answer.plan is not None:
        plan = answer.plan.model_dump(exclude={"stage_layers", "searched"}, exclude_none=True)
        rows.append(("plan", ", ".join(f"{name} {plain(value)}" for name, value in plan.items())))
    lines = [answer.label, "", *table(rows)]
    if answer.breakdown:
        total = sum(part.seconds for part in answer.breakdown)
        shares = sorted(answer.breakdown, key=lambda part: -part.seconds)
        parts = [(speaker.label(part.part), speaker.percent(part.seconds / total)) for part in shares]
        lines += ["", *table(parts)]
    lines += ["", *(f"{warning.severity}: {warning.message} [{warning.code}]" for warning in answer.warnings)]
    lines += [f"default: {entry.field} = {plain(entry.value)}: {entry.why}" for entry in answer.defaults]
    return lines


SEARCH_COLUMNS = (
    *("tensor", "pipeline", "data", "micro_batch", "interleave", "recompute", "sequence_parallel"),
    *("sharding", "offload", "expert", "context", "rts", "rts_optimizer", "phases"),
)


def search_text(answer: Search) -> list[str]:
    """Return the best plans as aligned lines, without the columns in which they are all alike and neutral."""
    speaker = voice("en")
    plans = [entry.plan.model_dump() for entry in answer.plans]
    shown = [
        name
        for name in SEARCH_COLUMNS
        if any(plain(plan[name]) not in ("1", "no", "none") for plan in plans) or name == "data"
    ]
    rows = [["step time", "behind", "MFU", "memory", *shown]]
    for entry, plan in zip(answer.plans, plans, strict=True):
        figures = (
            speaker.quantity(entry.step_time),
            speaker.percent(entry.behind),
            speaker.percent(entry.mfu.value),
            speaker.percent(entry.memory_share),
        )
        rows.append([*figures, *(plain(plan[name]) for name in shown)])
    changes = [
        [f"{speaker.label(entry.change)} × {entry.factor:g}", f"{speaker.percent(entry.gain)} faster"]
        for entry in answer.what_if
    ]
    return [
        f"{answer.model.name} on {answer.system.count} × {answer.system.name}, "
        f"global batch {answer.global_batch}",
        f"{answer.enumerated:,} combinations, {answer.evaluated:,} legal plans, {answer.feasible:,} fit; "
        f"{answer.seconds:.3f} s",
        "",
        *table(rows if answer.plans else [["no plan fits"]]),
        *(["", *table(changes)] if changes else []),
        "",
        *(f"{warning.severity}: {warning.message} [{warning.code}]" for warning in answer.warnings),
    ]


SHOWN_OPTIONS = 20
"""Options of a sizing that are written as text; JSON has them all."""


def sizing_text(answer: Sizing) -> list[str]:
    """Return a sizing as aligned lines: the answer in a sentence, then the options."""
    speaker = voice("en")
    head = (
        *("system", "accelerators", "idle machines", "training time", "purchase", "run", "term"),
        *("held against", "probability", "meets", "front"),
    )
    rows = [
        (
            f"{option.count} × {option.system}",
            plain(option.accelerators),
            plain(option.idle_machines),
            speaker.quantity(option.time_to_train),
            *(speaker.quantity(one) for one in (option.costs.purchase, option.costs.run, option.costs.term)),
            option.budget_kind or "–",
            "–" if option.probability is None else speaker.chance(option.probability),
            plain(option.meets),
            plain(option.on_front),
        )
        for option in answer.options[:SHOWN_OPTIONS]
    ]
    counts = f"{answer.considered} considered, {answer.searched} searches"
    lines = [answer.label, "", *(str(sentence) for sentence in sentences(answer)), "", *table([head, *rows])]
    if answer.scaling is not None and answer.scaling.knee_inside:
        lines += ["", f"adding machines stops paying at {answer.scaling.knee} × {answer.scaling.name}"]
    lines += ["", *(f"{entry.severity}: {entry.message} [{entry.code}]" for entry in answer.warnings), counts]
    lines += [f"default: {entry.field} = {plain(entry.value)}: {entry.why}" for entry in answer.defaults]
    return lines


NOTHING_FITS = 1
"""Exit code where no plan fits into memory, or no system meets what is asked."""

SUMMARY = ("family × chip", "rows", "supported", "groups", "median", "90 %", "in the band")


def summary_cells(part: ErrorSummary) -> list[str]:
    """Return one line of the summary of a validation."""
    shares = (part.median, part.ninetieth, part.coverage)
    return [
        part.name,
        *(plain(count) for count in (part.rows, part.supported, part.groups)),
        *("–" if share is None else f"{100 * share:.1f} %" for share in shares),
    ]


def table(rows: Iterable[Sequence[str]]) -> list[str]:
    cells = [list(row) for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in cells
    ]


def plain(value: object) -> str:
    """Return a value as text; numbers in at most six digits."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(plain, value))
    return str(Message("{value}", {"value": "–" if value is None else value}))
