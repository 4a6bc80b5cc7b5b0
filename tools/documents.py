"""Every file that is generated from the program, so that none can disagree with it."""

from __future__ import annotations

import tempfile
from pathlib import Path

from app.estimating.context import load_context
from app.estimating.golden import GOLDEN, golden_answers
from app.estimating.nearest import NAMED, PRESUMED
from app.features.accuracy.famous import famous_of
from app.features.accuracy.memory import MEMORY_PEAKS
from app.features.accuracy.predictions import FAMOUS_PREDICTIONS, PREDICTIONS
from app.features.operation.api import DESCRIPTION
from app.main import create_app
from app.platform.workspace import LOCAL_WORKSPACE
from app.settings import Settings
from tools import client
from tools.accuracy import accuracy_document
from tools.api_reference import api_page
from tools.command_line import with_printed
from tools.description import description, document
from tools.error_tables import errors_table, left_out_table
from tools.evidence import collect, peaks_text
from tools.famous import famous_document, famous_predictions
from tools.markdown import filled
from tools.methodology import read_constants, refreshed
from tools.network_bills import network_document, network_picture
from tools.network_choice import network_tables
from tools.predictions import predictions_text
from tools.readme import HEADLINES, with_answers
from tools.settings import settings_table
from tools.sizings import sizings_document

ROOT = Path(__file__).parents[1]
API, COMMANDS, SETTINGS = "docs/api.md", "docs/command-line.md", "docs/operations.md"
NETWORKS = "docs/methodology/20-network-choice.md"


def generated_documents() -> dict[str, str]:
    """Return the text of every generated file by its path in the repository."""
    data = ROOT / "data"
    context = load_context(data)
    evidence = collect(context, data)
    famous = famous_predictions(context, data)
    constants = read_constants(data)
    documents = {page: with_answers(written(page), context, evidence, page) for page in HEADLINES}
    for page in methodology():
        documents[page] = refreshed(written(page), constants, page)
    tables = {"network_choice": f"\n{network_tables(context)}\n"}
    documents[NETWORKS] = filled(documents[NETWORKS], tables, NETWORKS)
    documents[COMMANDS] = with_printed(written(COMMANDS), context)
    documents[SETTINGS] = filled(written(SETTINGS), {"settings": settings_table()}, SETTINGS)
    with tempfile.TemporaryDirectory() as folder:
        app = create_app(Settings.at(Path(folder)))
        openapi = document(app.routes)
        documents[API] = api_page(written(API), app, openapi)
        documents[DESCRIPTION] = description(openapi, app.state.installation.workspace(LOCAL_WORKSPACE))
    stated, presumed = (evidence.headline, evidence.newer), (evidence.defaults, evidence.newer_defaults)
    return documents | {
        "docs/accuracy.md": accuracy_document(evidence),
        "docs/famous-runs.md": famous_document(famous_of(famous)),
        "docs/sizings.md": sizings_document(context),
        "docs/networks-by-count.md": network_document(context),
        "docs/img/networks-by-count.svg": network_picture(context),
        "data/validation/errors.csv": errors_table({NAMED: stated, PRESUMED: presumed}, evidence.predictions),
        "data/validation/left_out.csv": left_out_table(evidence.predictions, context.measured),
        f"data/{GOLDEN}": golden_answers(context),
        f"data/{PREDICTIONS}": predictions_text(evidence.predictions),
        f"data/{MEMORY_PEAKS}": peaks_text(evidence.peaks),
        f"data/{FAMOUS_PREDICTIONS}": predictions_text(famous),
        client.MODULE: client.client_documents(),
    }


def methodology() -> list[str]:
    """Return the pages of the methodology."""
    return [path.relative_to(ROOT).as_posix() for path in sorted((ROOT / "docs/methodology").glob("*.md"))]


def written(name: str) -> str:
    """Return a file of the repository as it is; empty where there is none yet."""
    path = ROOT / name
    return path.read_text(encoding="utf-8") if path.is_file() else ""
