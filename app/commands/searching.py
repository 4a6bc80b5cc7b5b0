"""``rackline search``: the best plans of a model on a system."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from app.commands.inputs import AsJson, data_directory, read_request
from app.commands.text import NOTHING_FITS, search_text
from app.estimating.context import load_context
from app.features.plans.model import SearchRequest
from app.features.plans.searching import timed_search

cli = typer.Typer(rich_markup_mode=None)


@cli.command("search")
def search_command(
    request: Annotated[Path, typer.Argument(metavar="REQUEST.json", help="A search request.")],
    as_json: AsJson = False,
) -> None:
    """Search for the best plans for a model on a system; exits with 1 if none fits into memory."""
    asked = read_request(SearchRequest, request)
    answer = timed_search(asked, load_context(data_directory()))
    typer.echo(answer.model_dump_json(indent=2) if as_json else "\n".join(search_text(answer)))
    if not answer.plans:
        raise typer.Exit(NOTHING_FITS)
