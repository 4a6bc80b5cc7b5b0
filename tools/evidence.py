"""The data of the accuracy document: measured rows, predictions and fitted figures."""

from __future__ import annotations

import csv
import io
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path

import numpy as np

from app.engine.gpu.case import GpuCase
from app.engine.gpu.plan_steps import memory_use
from app.engine.operators.transformer import Stack, TransformerShape, transformer_operators
from app.engine.plans import Plans, Recompute
from app.engine.records import GpuSystem, Precision, Tokens
from app.engine.units import GIBIBYTE
from app.estimating.context import MEASURED, SizingContext
from app.estimating.validation.cases import number, read_case, read_table, without_answers
from app.estimating.validation.predict import build
from app.estimating.validation.run import SLOWER_IS_MORE, RowResult, ValidationReport, read_rows, validate
from app.features.accuracy.agreement import Gaps, gaps
from app.features.accuracy.fitted import FittedFigure, accepted_figures, fitted_figures, own_figures
from app.features.accuracy.memory import LoggedPeak
from app.features.accuracy.predictions import (
    APART,
    COUNTED,
    LEFT_OUT,
    Pattern,
    Prediction,
    load_patterns,
    reason_texts,
)
from tools.predictions import predictions_of

FITTED_FILES = (
    *("software.csv", "effects.csv", "teams.csv", "kernels.csv", "residuals.csv"),
    *("validation/completion.csv", "validation/networks.csv"),
    "catalogue",
)

Row = Mapping[str, str]

LEAST_IMPORTANT = 2
"""Priority of a measured row up to which it counts for the headline."""

HELD_OUT = "validation/held_out.csv"
"""Log-error of each run left out of the fit, as `python -m tools fit` last wrote it."""

MEMORY_SYSTEM = "dgx-a100-640gb"

MEMORY_SOFTWARE = "megatron-2022"
"""Chip and software of the published memory figures."""

MANY_MICRO_BATCHES = 1024.0
"""More micro-batches than any of these pipelines has stages, so that every stage is full."""


@dataclass(frozen=True, slots=True)
class Counts:
    """How many figures were fitted to measured runs, assumed, or chosen as a rule."""

    fitted: Mapping[str, int]
    assumed: Mapping[str, int]
    rules: Mapping[str, int]
    sourced: int
    """Accepted figures of the catalogue that were read from a source."""


@dataclass(frozen=True, slots=True)
class MemoryCase:
    model: str
    part: str
    recompute: str
    layout: str
    published: float
    """[GiB]"""
    computed: float
    """[GiB]"""


@dataclass(frozen=True, slots=True)
class AccuracyEvidence:
    """Predictions of all measured rows, with the data behind them."""

    headline: ValidationReport
    """Rows of priority 1 and 2 that were read from a source."""
    outside_headline: ValidationReport
    """All other rows."""
    newer: ValidationReport
    """Rows of chips beyond A100 and IPU, and of newer software on A100."""
    defaults: ValidationReport
    """The headline rows with the default software of an estimate in place of a row's own."""
    newer_defaults: ValidationReport
    left_out: Mapping[str, tuple[RowResult, ...]]
    """Throughput rows of the headline predicted by a fit without them, by what was left out."""
    configurations: Mapping[str, Row]
    """Measured rows by identifier, as they were read."""
    memory: tuple[MemoryCase, ...]
    peaks: tuple[LoggedPeak, ...]
    """One of each group and logged value, where the model is known and the row states its layout."""
    counts: Counts
    predictions: tuple[Prediction, ...]
    """All rows as data/validation/predictions.csv holds them: rounded, with the left-out errors."""
    figures: tuple[FittedFigure, ...]
    gaps: Gaps
    reasons: Mapping[str, str]
    """Sentence of every likely reason by its code."""
    repeats: tuple[Pattern, ...]


def collect(context: SizingContext, directory: Path) -> AccuracyEvidence:
    """Predict every measured row and count what was fitted."""
    rows, newer_rows = (
        read_rows((directory / "validation" / name).read_text(encoding="utf-8")) for name in MEASURED
    )
    headline, newer = ([row for row in table if in_headline(row)] for table in (rows, newer_rows))
    report, newer_report = validate(headline, context), validate(newer, context)
    outside = validate([row for row in (*rows, *newer_rows) if not in_headline(row)], context)
    configurations = {row["id"]: row for row in (*rows, *newer_rows)}
    scoped = [
        *((COUNTED, row) for row in (*report.rows, *newer_report.rows)),
        *((APART, row) for row in outside.rows),
    ]
    usual = with_default_software(context)
    reasons = load_patterns(directory / "validation" / "reasons.csv")
    predictions = predictions_of(scoped, configurations, directory / HELD_OUT, reasons)
    figures = fitted_figures(context, directory)
    return AccuracyEvidence(
        headline=report,
        outside_headline=outside,
        newer=newer_report,
        defaults=validate(headline, usual),
        newer_defaults=validate(newer, usual),
        left_out=left_out(report, directory / HELD_OUT),
        configurations=configurations,
        memory=tuple(
            _memory_case(row, context) for row in read_table(directory / "validation" / "memory.csv")
        ),
        peaks=logged_peaks(context, configurations, directory / "validation" / "memory-2026.csv"),
        counts=counts_of(context, figures),
        predictions=predictions,
        figures=figures,
        gaps=gaps(predictions, context),
        reasons=reason_texts(directory),
        repeats=load_patterns(directory / "validation" / "repeats.csv"),
    )


def in_headline(row: Row) -> bool:
    """Return True for a row that was read from its source and is of the first two priorities."""
    priority = row.get("priority", "")
    return row.get("confidence") != "memory" and priority.isdigit() and int(priority) <= LEAST_IMPORTANT


def with_default_software(context: SizingContext) -> SizingContext:
    """Return a context that predicts rows with the default software of an estimate."""
    return replace(context, rules=replace(context.rules, software=()))


def left_out(report: ValidationReport, path: Path) -> dict[str, tuple[RowResult, ...]]:
    """Return rows predicted with software figures that were fitted without them, by what was left out."""
    known = {row.id: row for row in report.rows if row.supported and row.measured is not None}
    errors = [line for line in read_table(path) if line["id"] in known]
    return {
        name: tuple(
            _predicted_at(
                known[line["id"]],
                float(line[name]),
                # If more than a group is left out, the band has its own width.
                number(line.get(f"{name}_half_width", "")),
            )
            for line in errors
            if line[name]
        )
        for name in LEFT_OUT
    }


def _predicted_at(row: RowResult, slower: float, width: float | None) -> RowResult:
    """Return a row with another log-error of its time, and its band with a width or as wide as before."""
    error = slower if row.metric in SLOWER_IS_MORE else -slower
    predicted = (row.measured or 0.0) * math.exp(error)
    if width is not None:
        low, high = predicted * math.exp(-width), predicted * math.exp(width)
    else:
        moved = predicted / (row.predicted or 1.0)
        low, high = (row.low or 0.0) * moved, (row.high or 0.0) * moved
    return replace(row, predicted=predicted, low=low, high=high)


def _exactly(text: str) -> re.Pattern[str]:
    return re.compile(f"^{re.escape(text)}$")


def counts_of(context: SizingContext, figures: Iterable[FittedFigure]) -> Counts:
    software, rules, accepted = context.software, context.rules, accepted_figures(context)
    estimated = sum(figure.estimated and not figure.fitted for figure in accepted)
    chosen = Counter(figure.file for figure in figures)
    return Counts(
        fitted={file: chosen[file] for file in FITTED_FILES},
        assumed={
            "software.csv": sum(figure.status == "assumed" for figure in own_figures(context)),
            "kernels.csv": sum(row["status"] == "assumed" for row in software.kernel_rows),
            "residuals.csv": len(context.residuals.deviations) - context.residuals.fitted,
            "catalogue": estimated,
        },
        rules={
            "software.csv": len(rules.software),
            "completion.csv": len(rules.completion),
            "networks.csv": len(rules.networks),
            "models.csv": len(rules.models),
            "systems.csv": len(rules.systems),
        },
        sourced=len(accepted) - estimated - sum(figure.fitted for figure in accepted),
    )


def count_lines(counts: Counts) -> list[str]:
    """Return the number of figures fitted to measured runs, by file and in total."""
    return [
        "figures chosen by looking at measured runs:",
        *(f"{number:4d}  data/{name}" for name, number in counts.fitted.items()),
        f"{sum(counts.fitted.values()):4d}  in all",
    ]


PEAK_FAMILIES = frozenset({"llama", "gpt", "diffusion"})
"""Families whose peak lies in training; that of MLPerf's detectors lies in their evaluation."""


def logged_peaks(
    context: SizingContext, configurations: Mapping[str, Row], path: Path
) -> tuple[LoggedPeak, ...]:
    """Return the logged peaks of language models and diffusion, each group and value once."""
    rows: dict[tuple[str, str], Row] = {}
    for row in read_table(path):
        stated = all(row[name] for name in ("dp", "tp", "pp", "micro_batch"))
        if row["family"] in PEAK_FAMILIES and stated and row["id"] in configurations:
            rows.setdefault((row["group"], row["peak_per_device"]), row)
    return tuple(_logged_peak(row, configurations[row["id"]], context) for row in rows.values())


def _logged_peak(row: Row, configuration: Row, context: SizingContext) -> LoggedPeak:
    stated = {name: row[name] for name in ("dp", "tp", "pp", "micro_batch", "global_batch") if row[name]}
    ranks = f"CP {row['cp'] or 1}"
    case = read_case(without_answers({**configuration, **stated, "notes": ranks}), context.rules)
    profile = context.software.profile(case.profile or MEMORY_SOFTWARE)
    scenario, _, plans = build(case, context, profile)
    parts = {name: float(np.ravel(size)[0]) for name, size in scenario.memory(plans).parts.items()}
    degrees = (int(np.ravel(degree)[0]) for degree in (plans.tensor, plans.pipeline, plans.context))
    return LoggedPeak(
        id=row["id"],
        group=row["group"],
        model=row["model_name"],
        family=row["family"],
        kind="pretrain" if np.all(scenario.table.trained > 0) else "lora",
        software=profile.id,
        system=row["system"],
        devices=int(row["accelerators"]),
        layout=" × ".join(map(str, degrees)),
        logged=float(row["peak_per_device"]),
        # What a framework logs leaves out the driver, and what the allocator reserves beside.
        computed=round((sum(parts.values()) - parts["framework"]) / GIBIBYTE, 2),
    )


def peaks_text(peaks: Iterable[LoggedPeak]) -> str:
    written = io.StringIO()
    writer = csv.DictWriter(written, [entry.name for entry in fields(LoggedPeak)], lineterminator="\n")
    writer.writeheader()
    writer.writerows(map(asdict, peaks))
    return written.getvalue()


def _memory_case(row: Row, context: SizingContext) -> MemoryCase:
    hidden, length, heads = (int(row[name]) for name in ("hidden", "seq_len", "heads"))
    shape = TransformerShape(
        layers=int(row["layers"]),
        hidden=hidden,
        heads=heads,
        key_heads=heads,
        head_dimension=hidden // heads,
        feed_forward=4 * hidden,
        vocabulary=int(row["vocab"]),
        stack=Stack.DECODER,
        positions=length,
    )
    lengths = Tokens(rows=length, mean=length, squared=float(length) ** 2, scored=length)
    selective = row["recompute"].startswith("selective")
    plans = Plans.of(
        tensor=float(row["tensor"]),
        pipeline=float(row["pipeline"]),
        interleave=float(row["interleave"]),
        micro_batch=float(row["micro_batch"]),
        accumulation=MANY_MICRO_BATCHES,
        recompute=float(Recompute.SELECTIVE if selective else Recompute.NONE),
        sequence_parallel=float("sequence-parallel" in row["recompute"]),
    )
    system = context.hardware.system(MEMORY_SYSTEM, 1).engine
    assert isinstance(system, GpuSystem)
    software = context.software.profile(MEMORY_SOFTWARE).gpu()
    case = GpuCase.of(transformer_operators(shape, lengths), system, software, Precision.BF16, "adam")
    use = memory_use(case, plans)
    names: Sequence[str] = (
        ("activations",) if row["part"] == "activations" else ("weights", "gradients", "optimizer")
    )
    return MemoryCase(
        model=row["model"],
        part=row["part"],
        recompute=row["recompute"],
        layout=f"{row['tensor']} × {row['pipeline']} × {row['interleave']}",
        published=float(row["gib"]),
        computed=sum(float(np.ravel(use.parts[name])[0]) for name in names) / GIBIBYTE,
    )
