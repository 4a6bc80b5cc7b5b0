"""Commands that answer from a file and the catalogue: estimate, size, profile, validate."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from app.commands.inputs import AsJson, content, data_directory, decoded, read_request
from app.commands.text import NOTHING_FITS, SUMMARY, estimate_text, plain, sizing_text, summary_cells, table
from app.estimating.context import load_context
from app.estimating.estimate import estimate
from app.estimating.request import EstimateRequest
from app.estimating.validation.run import read_rows, validate
from app.features.sizings.answering import size
from app.features.sizings.model import SizingRequest
from app.profiles.readers import read_profile

cli = typer.Typer(rich_markup_mode=None)


@cli.command("estimate")
def estimate_command(
    request: Annotated[Path, typer.Argument(metavar="REQUEST.json", help="An estimate request.")],
    as_json: AsJson = False,
) -> None:
    """Estimate one scenario; exits with 1 if no plan fits into memory."""
    asked = read_request(EstimateRequest, request)
    answer = estimate(asked, load_context(data_directory()))
    typer.echo(answer.model_dump_json(indent=2) if as_json else "\n".join(estimate_text(answer)))
    if answer.time_to_train is None:
        raise typer.Exit(NOTHING_FITS)


@cli.command("size")
def size_command(
    request: Annotated[Path, typer.Argument(metavar="REQUEST.json", help="A sizing request.")],
    as_json: AsJson = False,
) -> None:
    """Find the systems that meet a deadline and a budget; exits with 1 if none does."""
    asked = read_request(SizingRequest, request)
    answer = size(asked, load_context(data_directory())).document
    typer.echo(answer.model_dump_json(indent=2) if as_json else "\n".join(sizing_text(answer)))
    if answer.outcome == "not_met":
        raise typer.Exit(NOTHING_FITS)


@cli.command()
def profile(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="ONNX file, config.json or layer table.")],
    as_json: AsJson = False,
) -> None:
    """Read a model file and show its operators, parameters and assumptions."""
    found = read_profile(file.name, content(file))
    summary: dict[str, object] = {
        "name": found.name,
        "kind": found.origin,
        "parameters": found.parameters,
        "forward_flop_per_sample": found.forward_flop_per_sample,
        "seq_len": found.usual_seq_len,
        "image_size": found.default_image_size,
    }
    operators = found.summary()
    notes = [str(message) for message in found.assumptions]
    if as_json:
        typer.echo(json.dumps({**summary, "operators": operators, "assumptions": notes}, indent=2))
        return
    columns = ("name", "kind", "count", "parameters", "forward_flop")
    rows = [[plain(operator[column]) for column in columns] for operator in operators]
    lines = [*table([[name, plain(value)] for name, value in summary.items()]), "", *table([columns, *rows])]
    typer.echo("\n".join([*lines, *(f"assumed: {note}" for note in notes)]))


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
