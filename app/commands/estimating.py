"""Commands that answer from a file and the catalogue: estimate, size, profile, validate, check-catalog."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from app.catalog.check import check_directory
from app.commands.asking import ApiQuestion, KeyFile, Lang, Save, ServerUrl, indented, say, session
from app.commands.inputs import AsJson, content, decoded
from app.commands.text import SUMMARY, estimate_text, import_text, profile_text, sizing_text, summary_cells
from app.estimating.context import SizingContext, load_context
from app.estimating.documents import Estimate
from app.estimating.estimate import estimate
from app.estimating.request import EstimateRequest
from app.estimating.validation.run import read_rows, validate
from app.features.estimates.document import summary_of, with_request
from app.features.sizings.answering import size
from app.features.sizings.model import Sizing, SizingRequest
from app.features.uploads.model import ImportDocument, ImportFields, ProfileDocument
from app.platform.json_bodies import checked
from app.platform.wording.lines import table
from app.platform.wording.voice import voice
from app.profiles.presets import data_directory
from app.profiles.readers.models import read_profile
from app.profiles.readers.recognition import read_import

cli = typer.Typer(rich_markup_mode=None)


def estimated(request: EstimateRequest, context: SizingContext) -> Estimate:
    """Return an estimate as the API does, but without identifier and links."""
    answer = with_request(estimate(request, context), request, datetime.now(UTC))
    return answer.model_copy(update={"summary": summary_of(answer, voice("en"))})


ApiQuestion(
    "estimates",
    EstimateRequest,
    Estimate,
    estimated,
    estimate_text,
    holds=lambda answer: answer.time_to_train is not None,
).command(cli, "estimate", "Estimate one scenario; exits with 1 if no plan fits into memory.")

ApiQuestion(
    "sizings",
    SizingRequest,
    Sizing,
    lambda request, context: size(request, context).document,
    sizing_text,
    holds=lambda answer: any(option.meets for option in answer.decision.options),
).command(cli, "size", "Find the systems that meet a deadline and a budget; exits with 1 if none does.")


@cli.command()
def profile(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="ONNX file, config.json or layer table.")],
    as_json: AsJson = False,
    save: Save = False,
    server: ServerUrl = None,
    key_file: KeyFile = None,
    lang: Lang = None,
) -> None:
    """Read a model file and show its operators, parameters and assumptions."""
    data = content(file)
    if save or server is not None:
        with session(server, key_file, lang) as api:
            answer = api.document(api.call("POST", "profiles", files={"file": (file.name, data)}))
        say(answer, ProfileDocument, profile_text, as_json, lang)
        return
    model = read_profile(file.name, data)
    # Nothing is stored under the new identifier.
    document = ProfileDocument.of(model).model_copy(update={"id": ""})
    if as_json:
        assumptions = [str(message) for message in model.assumptions]
        typer.echo(indented({**document.model_dump(mode="json"), "assumptions": assumptions}))
    else:
        say(document, ProfileDocument, profile_text, as_json, lang)


@cli.command()
def read(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Any file: a model, data or prices.")],
    seq_len: Annotated[int | None, typer.Option(help="Length of a sample in tokens.")] = None,
    image_size: Annotated[int | None, typer.Option(help="Side of an image in pixels.")] = None,
    column: Annotated[
        list[str] | None,
        typer.Option(metavar="KIND=NAME", help="Column of prices, as unit_price=단가; repeatable."),
    ] = None,
    as_json: AsJson = False,
    server: ServerUrl = None,
    key_file: KeyFile = None,
    lang: Lang = None,
) -> None:
    """Say what a file is and what it says of a model, data, a plan or prices."""
    data = content(file)
    stated = dict(entry.partition("=")[::2] for entry in column or [])
    sizes: dict[str, Any] = {"seq_len": seq_len, "image_size": image_size}
    fields = {name: value for name, value in sizes.items() if value is not None}
    fields |= {f"{kind}_column": name for kind, name in stated.items()}
    if server is None:
        asked = checked(ImportFields, fields).asked()
        answer = ImportDocument.of(read_import(file.name, data, asked))
    else:
        with session(server, key_file, lang) as api:
            files = {"file": (file.name, data)}
            answer = api.document(api.call("POST", "imports", files=files, data=fields))
    say(answer, ImportDocument, import_text, as_json, lang)


@cli.command("validate")
def validate_command(
    cases: Annotated[
        Path, typer.Argument(metavar="CASES.csv", help="Measured runs; measured values may be empty.")
    ],
    as_json: AsJson = False,
) -> None:
    """Predict measured runs without using their values, then compare."""
    rows = read_rows(decoded(cases))
    report = validate(rows, load_context(data_directory()))
    if as_json:
        typer.echo(json.dumps(report.to_json(), indent=2))
        return
    parts = [*report.by_family_and_chip, report.overall]
    refused = [f"{row.id}: not predicted: {row.reason}" for row in report.rows if not row.supported]
    lines = table([SUMMARY, *(summary_cells(part) for part in parts)])
    typer.echo("\n".join([*refused, "", *lines]))


@cli.command("check-catalog")
def check_catalog() -> None:
    """Check unit, source, date and reason of every figure of the catalogue."""
    problems = check_directory(data_directory())
    for problem in problems:
        typer.echo(str(problem))
    if problems:
        raise typer.Exit(1)
    load_context(data_directory())
    typer.echo("the catalogue is in order")
