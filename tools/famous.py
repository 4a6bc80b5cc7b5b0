"""The document of famous runs: published beside predicted."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from app.estimating.context import SizingContext
from app.estimating.validation.run import UNITS, read_rows, validate
from app.features.accuracy.famous import FamousErrors, FamousRun, FamousRuns
from app.features.accuracy.predictions import COUNTED, FAMOUS_RUNS, Prediction
from tools.markdown import number, percent, table
from tools.predictions import predictions_of

HEAD = """# Famous runs

Published training runs with the plans of their authors. Nothing is fitted to them: they are predicted as a
customer's would be, with the software that their text names, and shown beside what was published.

"""


def famous_predictions(context: SizingContext, data: Path) -> tuple[Prediction, ...]:
    """Return the predictions of the famous runs, each made without its measured value."""
    rows = read_rows((data / FAMOUS_RUNS).read_text(encoding="utf-8"))
    results = ((COUNTED, result) for result in validate(rows, context).rows)
    return predictions_of(results, {row["id"]: row for row in rows}, None, ())


def famous_document(found: FamousRuns) -> str:
    """Return the page with the errors of those that count, and a row for each run."""
    counted, others = ([one for one in found.runs if bool(one.uncounted) is apart] for apart in (False, True))
    parts = [
        f"- Steps: {_said(found.steps)}.\n- Whole runs, in hours of accelerators: {_said(found.hours)}.\n",
        _table(counted),
        "## Shown and not counted\n",
        _table(others),
    ]
    return HEAD + "\n".join(parts)


def _said(errors: FamousErrors) -> str:
    median = percent(errors.median)
    return f"median error {median}, {errors.inside} of {errors.runs} inside the 80 % interval"


def _table(runs: Iterable[FamousRun]) -> str:
    rows = [
        [
            one.run.model,
            f"{one.run.devices:,} × {one.run.chip}",
            one.run.plan,
            one.run.profile,
            UNITS.get(one.run.metric, one.run.metric),
            number(one.run.measured),
            f"{number(one.run.predicted)} ({number(one.run.low)} to {number(one.run.high)})",
            percent(one.run.log_error, signed=True),
            "yes" if one.inside else "no",
            "; ".join(filter(None, (one.source, one.note, one.uncounted))),
        ]
        for one in runs
    ]
    heads = (
        "model",
        "system",
        "plan",
        "software",
        "unit",
        "published:",
        "predicted:",
        "error:",
        "inside",
        "source",
    )
    return f"{table(heads, rows)}\n"
