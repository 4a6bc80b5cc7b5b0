"""Documents generated from the program, so that they cannot disagree with it."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from app.errors import CatalogError
from app.estimating.basis import chip_set, family_set
from app.estimating.context import SizingContext
from app.estimating.documents import CheckWarning, Estimate
from app.estimating.estimate import estimate
from app.estimating.nearest import NAMED, PRESUMED
from app.estimating.regimes import MeasurementCoverage
from app.estimating.request import EstimateRequest
from app.estimating.validation.run import ValidationReport, summaries
from app.features.accuracy.agreement import agreement, counted
from app.features.accuracy.document import (
    accuracy_document,
    accuracy_sentence,
    korean_accuracy_sentence,
    korean_newer_chips_sentence,
    newer_chips_sentence,
    throughput,
)
from app.features.accuracy.evidence import AccuracyEvidence, collect
from app.features.accuracy.network_choice import NETWORKS_PAGE, with_network_tables
from app.features.accuracy.predictions import PREDICTIONS, Prediction, predictions_text
from app.features.accuracy.sizing_cases import SIZINGS_PAGE as SIZINGS
from app.features.accuracy.sizing_cases import sizings_document
from app.features.plans.mapping import check_plan
from app.features.plans.model import ChecksRequest
from app.platform.wording.lines import estimate_rows, table
from app.platform.wording.voice import voice
from app.profiles.presets import models_directory

QUOTED = re.compile(
    r"^\| `(?P<name>\w+)` \| [^|]* \| [^|]* \| "
    r"`data/(?P<file>\w+)\.csv`(?: (?P<item>[\w. -]+))? \|(?P<rest>.*)$",
    re.MULTILINE,
)
"""A row of a table: name, value, status, file with item, and what the constant is."""

MADE_HERE = {
    "rackline-fit": "fitted",
    "rackline-regression": "curve through published points",
    "rackline-assumption": "assumed",
    "rackline-estimate": "estimated",
    "recalled": "recalled",
}

LONGEST_WHOLE = 1e6
"""Whole numbers up to this are written out."""
Constants = Mapping[tuple[str, str, str], tuple[str, str]]


def read_constants(directory: Path) -> Constants:
    """Return value and status of every constant by file, item and name."""
    constants: dict[tuple[str, str, str], tuple[str, str]] = {}
    for path in sorted(directory.glob("*.csv")):
        with path.open(encoding="utf-8", newline="") as handle:
            for row in csv.DictReader(handle):
                entry = _constant(row)
                if entry is not None:
                    item, name, value, status = entry
                    constants[path.stem, item, name] = (value, status)
    return constants


def _constant(row: Mapping[str, str]) -> tuple[str, str, str, str] | None:
    if "regime" in row:
        return "", row["regime"], row["deviation"], row["basis"]
    if "parameter" not in row or "value" not in row or row.get("status") == "rejected":
        return None
    if not row["value"]:
        return None
    # One of several conditions is named after its item.
    item = f"{row.get('item') or row.get('profile') or ''} {row.get('condition') or ''}".strip()
    unit = row.get("unit") or ""
    number = _plain(row["value"])
    value = number if unit in ("", "1", "id", "text") else f"{number} {unit}"
    status = row["status"]
    if status == "accepted":
        status = MADE_HERE.get(row.get("source") or "", "sourced")
    return item, row["parameter"], value, status


def _plain(text: str) -> str:
    """Return a number formatted for reading; other text unchanged."""
    try:
        value = float(text)
    except ValueError:
        return text
    if value.is_integer() and abs(value) < LONGEST_WHOLE:
        return f"{value:,.0f}"
    return f"{value:.4g}".replace("e+0", "e").replace("e+", "e")


def refreshed(text: str, constants: Constants, name: str) -> str:
    """Return a text with its tables of constants updated from the data."""

    def row(match: re.Match[str]) -> str:
        key = (match["file"], match["item"] or "", match["name"])
        if key not in constants:
            raise CatalogError(f"{name}: data/{key[0]}.csv has no {key[2]} {key[1]}".rstrip())
        value, status = constants[key]
        source = f"`data/{key[0]}.csv`" + (f" {key[1]}" if key[1] else "")
        return f"| `{key[2]}` | {value} | {status} | {source} |{match['rest']}"

    return QUOTED.sub(row, text)


PART = re.compile(r"(<!-- generated: (?P<name>\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
REQUEST = re.compile(r"```json\n(?P<text>.*?)```", re.DOTALL)
"""The first request shown is the one that is answered."""
NETWORKS = ("hdr-infiniband", "roce-100")
NODES = 4
NAMES = 4
"""Lines of an estimate that say what was asked; the figures follow."""

GPT3 = {"model": {"preset": "gpt3-175b"}, "workload": {"tokens": 300e9}, "system": {"id": "dgx-a100-640gb"}}

GPT3_BARE = {
    "model": {"total_flop": 3.14e23},
    "system": {"id": "dgx-a100-320gb"},
    "assumptions": {"peak_flops": 5e15},
}
"""The compute of GPT-3 over the peak that a data sheet prints for one DGX A100."""

HEADLINES = {
    "README.md": (accuracy_sentence, newer_chips_sentence),
    "README.ko.md": (korean_accuracy_sentence, korean_newer_chips_sentence),
}
"""Page → what it begins with of the agreement with measured runs."""


def with_answers(
    text: str, context: SizingContext, evidence: AccuracyEvidence, page: str = "README.md"
) -> str:
    """Return a README with its generated parts brought up to date."""
    request = request_shown(text, page)
    fitted, newer = HEADLINES[page]
    accuracy = f"{fitted(evidence)}\n{newer(context.left_out)}"
    parts = {"accuracy": accuracy, "estimate": printed(estimate(request, context))}
    if page == "README.md":
        parts["advice"] = advice(request, context)
    return filled(text, parts, page)


def request_shown(text: str, page: str) -> EstimateRequest:
    match = REQUEST.search(text)
    if match is None:
        raise CatalogError(f"{page} shows no request")
    return EstimateRequest.model_validate_json(match["text"])


def filled(text: str, parts: dict[str, str], page: str) -> str:
    unknown = {match["name"] for match in PART.finditer(text)} ^ set(parts)
    if unknown:
        raise CatalogError(f"{page}: generated parts do not match: {', '.join(sorted(unknown))}")
    return PART.sub(lambda match: f"{match[1]}{parts[match['name']]}\n{match[3]}", text)


def printed(answer: Estimate) -> str:
    """Return the main figures of an estimate as the command prints them."""
    figures = table(estimate_rows(answer, voice("en")))[NAMES:]
    return "\n".join(["```text", *figures, "```"])


def advice(request: EstimateRequest, context: SizingContext) -> str:
    """Return current examples of what Rackline advises against."""
    small = estimate(EstimateRequest.model_validate(GPT3), context)
    bare = estimate(EstimateRequest.model_validate(GPT3_BARE), context)
    plan = check_plan(ChecksRequest.model_validate({"devices": 160, "global_batch": 8192}))
    return "\n".join(
        (
            f"- GPT-3 175B on one DGX A100 640GB: {quoted('does_not_fit', small.warnings)}.",
            f"- A batch of 8,192 on 20 DGX A100: {quoted('batch_not_divisible', plan.warnings)}.",
            f"- 3.14e23 FLOP over “5 PFLOP/s”: {quoted('sparse_peak', bare.warnings)}.",
            f"- {network_gain(request, context)}",
        )
    )


def quoted(code: str, warnings: list[CheckWarning]) -> str:
    message = next(warning.message for warning in warnings if warning.code == code)
    return f"{message} (`{code}`)"


def network_gain(request: EstimateRequest, context: SizingContext) -> str:
    """Return the gain of the faster of two networks for the request shown."""
    speaker = voice("en")
    answers = []
    for fabric in NETWORKS:
        system = request.system.model_copy(update={"count": NODES, "fabric": fabric})
        answers.append(estimate(request.model_copy(update={"system": system}), context))
    times = [answer.time_to_train for answer in answers if answer.time_to_train is not None]
    if len(times) < len(NETWORKS):
        raise CatalogError("README.md: the example request does not fit on every network")
    first, second = times
    names = [context.catalog.fabric_entry(fabric).name for fabric in NETWORKS]
    gain = speaker.percent(second.value / first.value - 1.0, 2)
    return (
        f"BERT-Large on {NODES} × DGX A100 640GB takes {speaker.central(first)} on {names[0]} and "
        f"{speaker.central(second)} on {names[1]}: {gain} is all the faster network gains."
    )


ACCURACY = "docs/accuracy.md"
README = "README.md"
KOREAN_README = "README.ko.md"
METHODOLOGY = "docs/methodology"
ERRORS = "data/validation/errors.csv"
LEFT_OUT = "data/validation/left_out.csv"
RUNS = f"data/{PREDICTIONS}"


def generated_documents(context: SizingContext) -> dict[str, str]:
    data = models_directory().parent
    root = data.parent
    evidence = collect(context, data)
    documents = {ACCURACY: accuracy_document(evidence)}
    stated, presumed = (evidence.headline, evidence.newer), (evidence.defaults, evidence.newer_defaults)
    documents[ERRORS] = errors_table({NAMED: stated, PRESUMED: presumed})
    documents[LEFT_OUT] = left_out_table(evidence.predictions, context.measured)
    documents[RUNS] = predictions_text(evidence.predictions)
    documents[README] = with_answers((root / README).read_text(encoding="utf-8"), context, evidence)
    korean = (root / KOREAN_README).read_text(encoding="utf-8")
    documents[KOREAN_README] = with_answers(korean, context, evidence, KOREAN_README)
    constants = read_constants(data)
    for path in methodology(root):
        name = path.relative_to(root).as_posix()
        documents[name] = refreshed(path.read_text(encoding="utf-8"), constants, name)
    documents[NETWORKS_PAGE] = with_network_tables(documents[NETWORKS_PAGE], context)
    documents[SIZINGS] = sizings_document(context)
    return documents


def errors_table(reports: Mapping[str, tuple[ValidationReport, ...]]) -> str:
    """Return the errors by family, chip and kind of software, which every estimate quotes."""
    lines = ["family,chip,software,rows,supported,groups,median,ninetieth,coverage"]
    for software, tables in reports.items():
        rows = [row for report in tables for row in throughput(report)]
        for part in summaries(rows, lambda row: f"{row.family} × {row.chip or 'unknown'}"):
            family, chip = part.name.split(" × ")
            counts = (str(count) for count in (part.rows, part.supported, part.groups))
            figures = (part.median, part.ninetieth, part.coverage)
            cells = ("" if figure is None else f"{figure:.3f}" for figure in figures)
            lines.append(",".join([family, chip, software, *counts, *cells]))
    return "\n".join(lines) + "\n"


def left_out_table(predictions: Sequence[Prediction], measured: MeasurementCoverage) -> str:
    """Return the errors with a run's laboratory or chip left out, by sets of families and chips."""
    parts: dict[tuple[str, ...], list[Prediction]] = {}
    for left_out in ("laboratory", "chip"):
        for run in counted(predictions):
            if run.error(f"{left_out}_left_out") is not None:
                sets = family_set(run.family), chip_set(run.chip, measured)
                parts.setdefault((left_out, *sets), []).append(run)
    lines = ["left_out,families,chips,runs,groups,median,ninetieth"]
    for key, runs in sorted(parts.items()):
        errors = agreement(runs, f"{key[0]}_left_out")
        figures = (f"{figure:.3f}" for figure in (errors.median, errors.ninetieth))
        lines.append(",".join([*key, str(errors.runs), str(errors.groups), *figures]))
    return "\n".join(lines) + "\n"


def methodology(root: Path) -> list[Path]:
    """Return the pages of the methodology, the index first."""
    return sorted((root / METHODOLOGY).glob("*.md"), key=lambda path: (path.name != "index.md", path.name))
