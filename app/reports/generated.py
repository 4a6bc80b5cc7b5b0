"""Documents that the program writes about itself, so that they cannot disagree with it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from app.profiles.presets import models_directory
from app.reports.accuracy import accuracy_document
from app.reports.constants import read_constants, refreshed
from app.reports.evidence import collect
from app.reports.network_choice import PAGE as NETWORKS
from app.reports.network_choice import with_network_tables
from app.reports.predictions import PREDICTIONS, predictions_text
from app.reports.readme import with_answers
from app.reports.sizing_cases import PAGE as SIZINGS
from app.reports.sizing_cases import sizings_document
from app.sizing.context import SizingContext
from app.sizing.nearest import NAMED, PRESUMED
from app.sizing.validation.run import ValidationReport

ACCURACY = "docs/accuracy.md"
README = "README.md"
KOREAN_README = "README.ko.md"
METHODOLOGY = "docs/methodology"
ERRORS = "data/validation/errors.csv"
RUNS = f"data/{PREDICTIONS}"


def generated_documents(context: SizingContext) -> dict[str, str]:
    """Return every generated document by its path in the repository."""
    data = models_directory().parent
    root = data.parent
    evidence = collect(context, data)
    documents = {ACCURACY: accuracy_document(evidence.headline, evidence.counts, evidence)}
    documents[ERRORS] = errors_table({NAMED: evidence.headline, PRESUMED: evidence.defaults})
    documents[RUNS] = predictions_text(evidence.predictions)
    documents[README] = with_answers((root / README).read_text(encoding="utf-8"), context, evidence)
    korean = (root / KOREAN_README).read_text(encoding="utf-8")
    documents[KOREAN_README] = with_answers(korean, context, evidence, KOREAN_README)
    constants = read_constants(data)
    for path in methodology(root):
        name = path.relative_to(root).as_posix()
        documents[name] = refreshed(path.read_text(encoding="utf-8"), constants, name)
    documents[NETWORKS] = with_network_tables(documents[NETWORKS], context)
    documents[SIZINGS] = sizings_document(context)
    return documents


def errors_table(reports: Mapping[str, ValidationReport]) -> str:
    """Return the errors by family, chip and kind of software as a table that every estimate quotes from."""
    lines = ["family,chip,software,rows,supported,groups,median,ninetieth,coverage"]
    for software, report in reports.items():
        for part in report.by_family_and_chip:
            family, chip = part.name.split(" × ")
            counts = (str(count) for count in (part.rows, part.supported, part.groups))
            figures = (part.median, part.ninetieth, part.coverage)
            shown = ("" if figure is None else f"{figure:.3f}" for figure in figures)
            lines.append(",".join([family, chip, software, *counts, *shown]))
    return "\n".join(lines) + "\n"


def methodology(root: Path) -> list[Path]:
    """Return the pages of the methodology, the index first."""
    return sorted((root / METHODOLOGY).glob("*.md"), key=lambda path: (path.name != "index.md", path.name))
