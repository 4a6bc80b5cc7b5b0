"""Sections of docs/accuracy.md that name single cases: chains, worst rows, refusals, memory, counts."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from app.reports.evidence import Counts, MemoryCase, Row
from app.reports.markdown import UNKNOWN, number, percent, table
from app.sizing.validation.report import RowResult
from app.sizing.validation.run import ValidationReport

WORST_SHOWN = 20
CHAINS_SHOWN = 20
IN_ORDER = 1.0 - 1e-9
NEARLY = 0.9

CHAINS = """## Scaling chains

A chain holds rows alike but for the number of devices or the batch, three at least. Rank is Spearman's
correlation of predicted with measured. More devices are nearly always faster, so the spread of the errors
along a chain says more than its rank."""

WORST = """## Worst cases

The largest error of each group, all metrics."""

MEMORY = """## Memory of one GPU

Korthikanti et al. 2022, figure 1. The published parameters leave the embedding out, which the fullest stage
holds here."""

RULES_WRITTEN = """Rules complete what the rows leave out. They were written with the rows in view, and some
values (a micro-batch, a split over stages) are those that agree best:"""

FIGURES = {
    "software.csv": "`data/software.csv`: software profiles",
    "kernels.csv": "`data/kernels.csv`: kernel libraries",
    "residuals.csv": "`data/residuals.csv`: width of the ranges",
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


def chain_section(report: ValidationReport, rows: Iterable[RowResult]) -> str:
    """Return how well scaling chains are followed, those over the widest range of devices first."""
    chains: dict[str, list[RowResult]] = defaultdict(list)
    for row in rows:
        if row.chain in report.chains and row.log_error is not None:
            chains[row.chain].append(row)

    def span(name: str) -> tuple[float, str]:
        devices = [row.devices for row in chains[name]]
        return -max(devices) / min(devices), name

    scaled = [name for name in chains if span(name)[0] < -1.0]
    lines = [
        _chain(name, chains[name], report.chains[name]) for name in sorted(scaled, key=span)[:CHAINS_SHOWN]
    ]
    ranks = list(report.chains.values())
    told = (
        f"Of {len(ranks)} chains {sum(rank >= IN_ORDER for rank in ranks)} are in exact order and "
        f"{sum(rank >= NEARLY for rank in ranks)} reach {NEARLY}. Those over the widest range of devices:"
    )
    headings = ("model", "software", "chip", "devices", "rows:", "rank:", "lowest error:", "highest error:")
    return "\n\n".join((CHAINS, told, table(headings, lines)))


def _chain(name: str, rows: Sequence[RowResult], rank: float) -> list[str]:
    _, model, software, chip, length, precision, _ = name.split(" | ")
    errors = [row.log_error for row in rows if row.log_error is not None]
    devices = [row.devices for row in rows]
    return [
        f"{model}, {length}" if length else model,
        f"{software}, {precision}",
        chip,
        f"{min(devices)} to {max(devices):,}",
        str(len(rows)),
        f"{rank:.2f}",
        percent(min(errors), signed=True),
        percent(max(errors), signed=True),
    ]


def worst_cases(report: ValidationReport, configurations: Mapping[str, Row]) -> str:
    """Return the row with the largest error of each of the worst groups, with its configuration."""
    compared = [(row.log_error, row) for row in report.rows if row.log_error is not None]
    # Rounded, so that equal errors stand in the same order on every machine.
    compared.sort(key=lambda pair: (-round(abs(pair[0]), 6), pair[1].id))
    chosen: dict[str, tuple[float, RowResult]] = {}
    for error, row in compared:
        chosen.setdefault(row.group, (error, row))
    lines = [
        [
            f"`{row.id}`",
            configuration(configurations[row.id]),
            row.software or UNKNOWN,
            f"{number(row.measured)} {row.metric}",
            number(row.predicted),
            percent(error, signed=True),
        ]
        for error, row in list(chosen.values())[:WORST_SHOWN]
    ]
    headings = ("row", "configuration", "profile", "measured", "predicted:", "error:")
    return "\n\n".join((WORST, table(headings, lines)))


def configuration(row: Row) -> str:
    """Return what a measured row says of its run, in one line."""
    parts = [row["model_name"], f"{row['accelerators']} × {row['system']}", row["precision"]]
    parts += [f"{name} {row[column]}" for column, name in DESCRIBED if row[column] not in ("", "0")]
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
    figures = [[text, str(fitted[name]), str(assumed[name])] for name, text in FIGURES.items()]
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
