"""Commands for developers of Rackline: check-catalog, docs, fit."""

from __future__ import annotations

from typing import Annotated

import typer

from app.catalog.check import check_directory
from app.commands.inputs import data_directory, decoded, written
from app.errors import BadInput, Message
from app.estimating.context import load_context
from app.estimating.fitting.refit import (
    differences,
    effects_text,
    error_cells,
    figure_cells,
    held_out_text,
    refit,
    residuals_text,
    software_text,
)
from app.estimating.validation.run import read_rows
from app.features.accuracy.evidence import HELD_OUT, count_lines, counts_of, in_headline
from app.platform.wording.lines import table

OPERATIONS = "docs/operations.md"
"""Page with the table of settings."""

cli = typer.Typer(rich_markup_mode=None)


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


@cli.command()
def docs(
    check: Annotated[
        bool, typer.Option("--check", help="Change nothing; fail if a file is out of date.")
    ] = False,
) -> None:
    """Update the generated parts of the documentation."""
    # Imported here because the server takes long to load.
    from app.api_reference import PAGE, api_documents
    from app.client_documents import MODULE, client_documents
    from app.commands.shown import PAGE as COMMANDS
    from app.commands.shown import with_printed
    from app.features.accuracy.generated import generated_documents
    from app.settings import with_settings

    root = data_directory().parent
    page = root / PAGE
    if not page.is_file():
        raise BadInput(Message("the documentation can only be written in a copy of the repository"))
    context = load_context(data_directory())
    documents = generated_documents(context)
    documents[COMMANDS] = with_printed(written(root / COMMANDS), context)
    documents |= api_documents(page.read_text(encoding="utf-8"))
    documents[MODULE] = client_documents()
    documents[OPERATIONS] = with_settings(written(root / OPERATIONS))
    wrong = {name: text for name, text in documents.items() if written(root / name) != text}
    for name, text in wrong.items():
        if check:
            typer.echo(f"{name} is stale; run “rackline docs”")
        else:
            (root / name).write_text(text, encoding="utf-8")
    if check and wrong:
        raise typer.Exit(1)


@cli.command("fit")
def fit_command(
    check: Annotated[
        bool, typer.Option("--check", help="Change nothing; fail if the files differ from the fit.")
    ] = False,
) -> None:
    """Refit software profiles and range widths to the measured runs of data/validation."""
    directory = data_directory()
    context = load_context(directory)
    rows = read_rows(decoded(directory / "validation" / "measured.csv"))
    newer = read_rows(decoded(directory / "validation" / "measured-2026.csv"))
    known = [row for row in newer if row["confidence"] != "memory"]
    fit = refit([row for row in rows if in_headline(row)], known, context)
    typer.echo("\n".join([*table(figure_cells(fit)), "", *table(error_cells(fit)), ""]))
    typer.echo("\n".join(count_lines(counts_of(context))))
    if check:
        moved = differences(fit, context)
        typer.echo("\n".join(moved) or "the files are what the fit gives")
        raise typer.Exit(1 if moved else 0)
    changed = {
        "software.csv": software_text(written(directory / "software.csv"), fit.figures),
        "effects.csv": effects_text(fit.effects),
        "residuals.csv": residuals_text(written(directory / "residuals.csv"), fit.residuals),
        HELD_OUT: held_out_text(fit),
    }
    for name, text in changed.items():
        (directory / name).write_text(text, encoding="utf-8")
