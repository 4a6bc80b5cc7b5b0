"""Sections of docs/accuracy.md beside the runs: refusals, memory, what was fitted and assumed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from app.reports.evidence import Counts, MemoryCase, Row
from app.reports.markdown import percent, table
from app.sizing.validation.run import ValidationReport

MEMORY = """## Memory of one GPU

Korthikanti et al. 2022, figure 1. The published parameters leave the embedding out, which the fullest stage
holds here."""

RULES_WRITTEN = """Rules complete what the rows leave out. They were written with the rows in view, and some
values (a micro-batch, a split over stages) are those that agree best:"""

FIGURES = {
    "software.csv": "`data/software.csv`: software profiles",
    "kernels.csv": "`data/kernels.csv`: kernel libraries",
    "residuals.csv": "`data/residuals.csv`: width of the ranges",
    "validation/completion.csv": "`data/validation/completion.csv`: rules that were fitted",
    "validation/networks.csv": "`data/validation/networks.csv`: rules that were fitted",
    "catalogue": "catalogue: achieved rates, latencies, laws of convergence, cost assumptions",
}
RULES = {
    "software.csv": "text of a software stack to its profile",
    "completion.csv": "what a row leaves out: batch, lengths, layout",
    "networks.csv": "text of a network to fabric and ports",
    "models.csv": "name of a model to its preset",
    "systems.csv": "name of a system to the catalogue's",
}
DESCRIBED = (
    ("global_batch", "batch"),
    ("micro_batch", "micro-batch"),
    ("dp", "data"),
    ("tp", "tensor"),
    ("pp", "pipeline"),
    ("zero", "ZeRO"),
    ("recompute", "recompute"),
)
"""Columns of a measured row that tell its plan, and how they are called."""


def configuration(row: Row) -> str:
    """Return what a measured row says of its run, in one line."""
    parts = [row["model_name"], f"{row['accelerators']} × {row['system']}", row["precision"]]
    parts += [f"{name} {row[column]}" for column, name in DESCRIBED if row.get(column) not in ("", "0", None)]
    return ", ".join([*parts, row["software"]])


def refusals(*reports: ValidationReport) -> str:
    """Return which rows are not predicted, and why."""
    rows = [row for report in reports for row in report.rows]
    found = Counter((row.family, row.reason) for row in rows if not row.supported)
    told = f"{found.total()} rows of all {len(rows):,} are refused rather than guessed."
    lines = [
        [family, str(count), reason]
        for (family, reason), count in sorted(found.items(), key=lambda entry: (-entry[1], entry[0]))
    ]
    return "\n\n".join(("## Not predicted, and why", told, table(("family", "rows:", "reason"), lines)))


def memory_section(cases: Iterable[MemoryCase]) -> str:
    """Return published memory beside what is computed for it."""
    lines = [
        [
            case.model,
            case.part,
            case.recompute,
            case.layout,
            f"{case.published:.1f}",
            f"{case.computed:.1f}",
            percent(case.computed / case.published - 1.0, signed=True),
        ]
        for case in cases
    ]
    layout = "tensor × pipeline × chunks"
    headings = (
        *("model", "part", "recomputation", layout),
        *("published, GiB:", "computed, GiB:", "difference:"),
    )
    return "\n\n".join((MEMORY, table(headings, lines)))


def counts_section(counts: Counts) -> str:
    """Return how many figures were fitted, assumed and chosen as a rule."""
    fitted, assumed = counts.fitted, counts.assumed
    figures = [[text, str(fitted[name]), str(assumed.get(name, 0))] for name, text in FIGURES.items()]
    figures.append(["all", str(sum(fitted.values())), str(sum(assumed.values()))])
    rules = [[f"`data/validation/{name}`", text, str(counts.rules[name])] for name, text in RULES.items()]
    told = (
        f"{sum(fitted.values())} figures were fitted to measured runs and {sum(assumed.values())} assumed or "
        f"estimated.\nThe other {counts.sourced:,} accepted figures of the catalogue were read from a source."
    )
    sections = (
        "## What was fitted",
        told,
        table(("figures in", "fitted:", "assumed or estimated:"), figures),
        RULES_WRITTEN,
        table(("rules in", "what they decide", "rules:"), rules),
    )
    return "\n\n".join(sections)
