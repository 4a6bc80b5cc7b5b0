"""``python -m tools``: generated documents, pictures, the fit, and what a change moved."""

from __future__ import annotations

from typing import Annotated

import typer

from app.estimating.context import MEASURED, load_context
from app.estimating.validation.run import read_rows
from app.features.accuracy.fitted import fitted_figures
from app.platform.wording.lines import table
from tools.documents import ROOT, generated_documents, written
from tools.evidence import HELD_OUT, count_lines, counts_of, in_headline
from tools.fitting.refit import (
    differences,
    effects_text,
    error_cells,
    figure_cells,
    held_out_text,
    refit,
    residuals_text,
    software_text,
)
from tools.fitting.teams import fit_teams, misses_of, public_runs, team_cells, teams_text
from tools.moved import PINNED, answers, drawn, famous_told, moves, pinned, pinned_text, told
from tools.pictures import take

DATA = ROOT / "data"

Check = Annotated[bool, typer.Option("--check", help="Change nothing; fail if a file is out of date.")]

cli = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False, no_args_is_help=True)


@cli.command()
def documents(check: Check = False) -> None:
    """Update the generated documents, the description of the API and the classes of the client."""
    stale = {name: text for name, text in generated_documents().items() if written(name) != text}
    for name, text in stale.items():
        if check:
            typer.echo(f"{name} is stale; run “python -m tools documents”")
        else:
            (ROOT / name).write_text(text, encoding="utf-8")
    if check and stale:
        raise typer.Exit(1)


@cli.command()
def pictures(browser: str = "/usr/bin/chromium") -> None:
    """Take the pictures of the README files from the product."""
    take(browser)


Pin = Annotated[bool, typer.Option("--pin", help="Pin the answers as they are.")]


@cli.command()
def moved(pin: Pin = False) -> None:
    """Print what a change moved in the famous runs and in the pinned answers."""
    context, path = load_context(DATA), ROOT / PINNED
    if pin:
        path.write_text(pinned_text(answers(context, drawn(context))), encoding="utf-8")
        return
    before = pinned(path)
    typer.echo("famous runs, errors before and after:")
    typer.echo("\n".join(famous_told(context, DATA)) or "  none moved")
    after = dict(answers(context, list(before)))
    typer.echo("\n".join(told(moves(before, after), len(before))))


@cli.command()
def fit(check: Check = False) -> None:
    """Refit software profiles and range widths to the measured runs of data/validation."""
    context = load_context(DATA)
    rows, newer = (read_rows(written(f"data/validation/{name}")) for name in MEASURED)
    known = [row for row in newer if row["confidence"] != "memory"]
    public = public_runs(context, DATA)
    fitted = refit([row for row in rows if in_headline(row)], known, context, misses_of(public))
    typer.echo(
        "\n".join(
            [*table(figure_cells(fitted)), "", *table(error_cells(fitted)), "", *table(fitted.asked), ""]
        )
    )
    typer.echo("\n".join([*table(team_cells(public)), ""]))
    typer.echo("\n".join(count_lines(counts_of(context, fitted_figures(context, DATA)))))
    if check:
        moved = differences(fitted, context)
        typer.echo("\n".join(moved) or "the files are what the fit gives")
        raise typer.Exit(1 if moved else 0)
    changed = {
        "software.csv": software_text(written("data/software.csv"), fitted.figures),
        "effects.csv": effects_text(fitted.effects),
        "residuals.csv": residuals_text(written("data/residuals.csv"), fitted.residuals),
        HELD_OUT: held_out_text(fitted),
        "teams.csv": teams_text(written("data/teams.csv"), fit_teams(public)),
    }
    for name, text in changed.items():
        (DATA / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    cli()
