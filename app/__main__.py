"""The ``rackline`` command."""

from __future__ import annotations

import json
import socket
import sys
from pathlib import Path
from typing import Annotated

import typer
from pydantic import ValidationError

from app import key_command, storage_command
from app.account_commands import users, workspaces
from app.catalog import check_directory
from app.errors import AppError, BadInput, Message
from app.executors import crew
from app.logs import set_up_logs
from app.main import reach_now
from app.profiles.presets import models_directory
from app.profiles.readers import read_profile
from app.reports.evidence import HELD_OUT, counts_of, in_headline
from app.reports.fits import count_lines, error_cells, figure_cells
from app.reports.generated import generated_documents
from app.reports.text import (
    SUMMARY,
    estimate_text,
    plain,
    search_text,
    sizing_text,
    summary_cells,
    table,
)
from app.services.searches import timed_search
from app.serving import serve_by_several, serve_here, work
from app.settings import Settings, with_settings
from app.sizing.context import load_context
from app.sizing.estimate import estimate
from app.sizing.fitting.refit import differences, held_out_text, refit, residuals_text, software_text
from app.sizing.request import EstimateRequest
from app.sizing.search_documents import SearchRequest
from app.sizing.size.answering import size
from app.sizing.size.request import SizingRequest
from app.sizing.sweep.request import SweepRequest
from app.sizing.validation.run import read_rows, validate
from app.sweep_command import Interrupted, broken_off, sweep_to_file
from app.web.api.reference import PAGE, with_reference
from app.web.bodies import read_json
from app.web.problems import Problem, from_validation
from app.web.reach import Reach

FAILED = 2
"""Exit code of every error; 1 says that a check found something."""
OPERATIONS = "docs/operations.md"
"""Page with the table of settings."""
INTERRUPTED = 130
"""Exit code after Ctrl-C, as shells give it."""

cli = typer.Typer(
    name="rackline",
    help="Sizes AI-training infrastructure: how long a training run takes, what it costs and why.",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
cli.add_typer(key_command.cli)
storage_command.add_to(cli)
cli.add_typer(users, name="user")
cli.add_typer(workspaces, name="workspace")
AsJson = Annotated[bool, typer.Option("--json", help="Write JSON instead of text.")]


@cli.command()
def serve(
    host: Annotated[str, typer.Option(help="Address to listen on; one of this machine's own.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on.")] = 8000,
    workers: Annotated[int, typer.Option(min=1, max=256, help="Processes that answer.")] = 1,
) -> None:
    """Serve pages and JSON API."""
    settings = logging_settings()
    check_reach(host, reach_now(settings))
    with listening(host, port) as listener:
        address = f"[{host}]" if ":" in host else host
        typer.echo(f"Rackline answers at http://{address}:{listener.getsockname()[1]}", err=True)
        if workers == 1:
            serve_here(listener, settings)
        else:
            # Several processes count the requests of a key together.
            serve_by_several(listener, settings.model_copy(update={"shared_limits": True}), workers)


@cli.command("worker")
def worker_command(
    threads: Annotated[
        int, typer.Option(min=1, max=64, help="Jobs done at once; each uses every processor it may.")
    ] = 1,
) -> None:
    """Do the jobs of servers that leave them to others, beside them or on another machine."""
    work(logging_settings(), threads)


def logging_settings() -> Settings:
    """Return the settings, with the log set up by them."""
    settings = Settings.from_environment()
    set_up_logs(settings.log, settings.log_level)
    return settings


def check_reach(host: str, reach: Reach) -> None:
    """Refuse to be reached from elsewhere without accounts, or under a name nobody was told.

    Raises
    ------
    BadInput
        Says how it is done.
    """
    if host in LISTENED_ALONE:
        return
    if reach.alone:
        raise BadInput.at(
            "--host",
            "without accounts Rackline answers on this machine only: 127.0.0.1, ::1 or localhost; "
            "make the first account with “rackline user add EMAIL --name NAME”, "
            "or reach it from elsewhere over ssh (ssh -L 8000:localhost:8000 …)",
        )
    if not reach.public_url:
        raise BadInput.at(
            "--host",
            "to be reached from elsewhere, set RACKLINE_PUBLIC_URL to the address people write, "
            "such as https://rackline.example.com",
        )
    if not reach.https:
        typer.echo("warning: without https passwords and figures can be read on the way", err=True)


LISTENED_ALONE = frozenset({"127.0.0.1", "localhost", "::1"})
"""Addresses that only this machine reaches."""


def listening(host: str, port: int) -> socket.socket:
    """Return a socket that listens; before the server starts, so that a taken port is said plainly."""
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family)
    except OSError as error:
        raise BadInput.at(
            "--port",
            "{host}:{port} cannot be listened on: {reason}",
            host=host,
            port=str(port),
            reason=error.strerror,
        ) from None


@cli.command("estimate")
def estimate_command(
    request: Annotated[Path, typer.Argument(metavar="REQUEST.json", help="An estimate request.")],
    as_json: AsJson = False,
) -> None:
    """Estimate one scenario."""
    try:
        asked = EstimateRequest.model_validate(read_json(content(request)))
    except ValidationError as error:
        raise from_validation(error.errors()) from None
    answer = estimate(asked, load_context(data_directory()))
    typer.echo(answer.model_dump_json(indent=2) if as_json else "\n".join(estimate_text(answer)))


@cli.command("search")
def search_command(
    request: Annotated[Path, typer.Argument(metavar="REQUEST.json", help="A search request.")],
    as_json: AsJson = False,
) -> None:
    """Search for the best plans of a model on a system."""
    try:
        asked = SearchRequest.model_validate(read_json(content(request)))
    except ValidationError as error:
        raise from_validation(error.errors()) from None
    answer = timed_search(asked, load_context(data_directory()))
    typer.echo(answer.model_dump_json(indent=2) if as_json else "\n".join(search_text(answer)))


@cli.command("size")
def size_command(
    request: Annotated[Path, typer.Argument(metavar="REQUEST.json", help="A sizing request.")],
    as_json: AsJson = False,
) -> None:
    """Find the systems that keep a deadline and a budget."""
    try:
        asked = SizingRequest.model_validate(read_json(content(request)))
    except ValidationError as error:
        raise from_validation(error.errors()) from None
    answer = size(asked, load_context(data_directory())).document
    typer.echo(answer.model_dump_json(indent=2) if as_json else "\n".join(sizing_text(answer)))


@cli.command()
def profile(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="ONNX, config.json or a layer table.")],
    as_json: AsJson = False,
) -> None:
    """Read a model and show how it was understood."""
    found = read_profile(file.name, content(file))
    summary: dict[str, object] = {
        "name": found.name,
        "kind": found.origin,
        "parameters": found.parameters,
        "forward_flop_per_sample": found.forward_flop_per_sample,
        "seq_len": found.default_seq_len,
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


@cli.command("check-catalog")
def check_catalog() -> None:
    """Check every figure of the catalogue for unit, source, date and reason."""
    problems = check_directory(data_directory())
    for problem in problems:
        typer.echo(str(problem))
    if problems:
        raise typer.Exit(1)
    load_context(data_directory())
    typer.echo("the catalogue is in order")


@cli.command("validate")
def validate_command(
    cases: Annotated[Path, typer.Argument(metavar="CASES.csv", help="Measured runs; values may be empty.")],
    as_json: AsJson = False,
) -> None:
    """Predict measured runs without looking at their values, then compare."""
    rows = read_rows(decoded(cases))
    report = validate(rows, load_context(data_directory()))
    if as_json:
        typer.echo(json.dumps(report.to_json(), indent=2))
        return
    parts = [*report.by_family_and_chip, report.overall]
    refused = [f"{row.id}: not predicted: {row.reason}" for row in report.rows if not row.supported]
    lines = table([SUMMARY, *(summary_cells(part) for part in parts)])
    typer.echo("\n".join([*refused, "", *lines]))


@cli.command("sweep")
def sweep_command(
    request: Annotated[Path, typer.Argument(metavar="REQUEST.json", help="A sweep request.")],
    output: Annotated[Path, typer.Option(metavar="FILE", help="Where results go: .csv or .parquet.")],
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a run that was broken off.")] = False,
    workers: Annotated[
        int | None, typer.Option(min=1, max=1024, help="Processes; left out, one for each processor.")
    ] = None,
) -> None:
    """Estimate every combination of models, systems, prices and scenarios."""
    try:
        asked = SweepRequest.model_validate(read_json(content(request)))
    except ValidationError as error:
        raise from_validation(error.errors()) from None
    try:
        refused = sweep_to_file(asked, output, crew(Settings.from_environment().dask, workers), resume=resume)
    except Interrupted:
        typer.echo(str(broken_off(output)), err=True)
        raise typer.Exit(INTERRUPTED) from None
    typer.echo(
        f"{output} is complete; {refused} points could not be estimated"
        if refused
        else f"{output} is complete"
    )


@cli.command()
def docs(
    check: Annotated[
        bool, typer.Option("--check", help="Change nothing; fail where a file is stale.")
    ] = False,
) -> None:
    """Write the generated parts of the documentation."""
    root = data_directory().parent
    page = root / PAGE
    if not page.is_file():
        raise BadInput(Message("the documentation is written in a copy of the repository only"))
    documents = generated_documents(load_context(data_directory()))
    documents[PAGE] = with_reference(page.read_text(encoding="utf-8"))
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
        bool, typer.Option("--check", help="Change nothing; fail where the files are not what the fit gives.")
    ] = False,
) -> None:
    """Refit the software profiles and the widths of the bands to the measured runs of data/validation."""
    directory = data_directory()
    context = load_context(directory)
    rows = read_rows(decoded(directory / "validation" / "measured.csv"))
    found = refit([row for row in rows if in_headline(row)], context)
    typer.echo("\n".join([*table(figure_cells(found)), "", *table(error_cells(found)), ""]))
    typer.echo("\n".join(count_lines(counts_of(context))))
    if check:
        moved = differences(found, context)
        typer.echo("\n".join(moved) or "the files are what the fit gives")
        raise typer.Exit(1 if moved else 0)
    changed = {
        "software.csv": software_text(written(directory / "software.csv"), found.figures),
        "residuals.csv": residuals_text(written(directory / "residuals.csv"), found.residuals),
        HELD_OUT: held_out_text(found),
    }
    for name, text in changed.items():
        (directory / name).write_text(text, encoding="utf-8")


def written(path: Path) -> str:
    """Return the text of a file; empty where there is none yet."""
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def data_directory() -> Path:
    """Return the directory of the catalogue."""
    return models_directory().parent


def content(path: Path) -> bytes:
    """Return the bytes of a file, or of the standard input for ``-``."""
    try:
        return sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes()
    except OSError as error:
        raise BadInput(
            Message("{file} cannot be read: {reason}", {"file": str(path), "reason": error.strerror})
        ) from None


def decoded(path: Path) -> str:
    """Return the text of a file in UTF-8."""
    try:
        return content(path).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise BadInput(Message("{file} is not text in UTF-8", {"file": str(path)})) from None


def main() -> None:
    """Run the command; an error of ours becomes a sentence, never a traceback."""
    try:
        cli()
    except AppError as error:
        problem = Problem.of(error)
        typer.echo(f"error: {problem.detail}", err=True)
        if len(problem.errors) > 1:
            for entry in problem.errors:
                typer.echo(f"  {entry.field}: {entry.message}", err=True)
        sys.exit(FAILED)


if __name__ == "__main__":
    main()
