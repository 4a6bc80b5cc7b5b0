"""``rackline search``: the best plans of a model on a system."""

from __future__ import annotations

import typer

from app.commands.asking import ApiQuestion
from app.commands.text import search_text
from app.features.plans.model import Search, SearchRequest
from app.features.plans.searching import timed_search

cli = typer.Typer(rich_markup_mode=None)

ApiQuestion(
    "searches",
    SearchRequest,
    Search,
    timed_search,
    search_text,
    holds=lambda answer: bool(answer.plans),
    stores=False,
).command(cli, "search", "Search for the best plans for a model on a system; exits with 1 if none fits.")
