"""The ``rackline`` command: finds out which command is meant, and loads what that one needs."""

from __future__ import annotations

import gc
import json
import os
import sys
from importlib import import_module
from typing import Annotated

import typer

from app import __version__
from app.engine.errors import EngineError
from app.errors import AppError, of_engine, path

FAILED = 2
"""Exit code of every error; 1 says that a check found something, that nothing fits or no system does."""

COMMANDS = {
    "serve": ("serving", "Serve the web pages and the JSON API."),
    "worker": ("serving", "Run background jobs for servers."),
    "estimate": ("estimating", "Estimate one scenario."),
    "search": ("searching", "Search for the best plans for a model on a system."),
    "size": ("estimating", "Find the systems that meet a deadline and a budget."),
    "compare": ("deciding", "Compare options side by side."),
    "bill": ("deciding", "List the parts of a system with their prices."),
    "break-even": ("deciding", "Find when owning pays off against renting."),
    "proposal": ("proposing", "Make a proposal, freeze it and fetch its files."),
    "sweep": ("sweeping", "Estimate models × systems × prices × scenarios."),
    "profile": ("estimating", "Read a model file and show its operators."),
    "read": ("estimating", "Say what a file is and what it says of a model, data or prices."),
    "validate": ("estimating", "Compare predictions with measured runs."),
    "check-catalog": ("estimating", "Check every figure of the catalogue."),
    "key": ("keys", "Create, list, rotate and revoke API keys."),
    "webhook": ("webhooks", "Create, list and delete webhooks."),
    "user": ("people", "Manage accounts."),
    "workspace": ("people", "Manage workspaces."),
    "copy-database": ("storage", "Copy a database and its uploads to an empty one."),
    "check-store": ("storage", "Check the integrity of stored data."),
    "export-audit": ("storage", "Print the audit log as JSON Lines."),
    "rotate-secret": ("storage", "Encrypt stored secrets again with RACKLINE_SECRET."),
    "purge": ("storage", "Delete data past its retention period."),
}
"""The module of ``app.commands`` that each command is in, and what it does in a few words."""


def command_line(first: str | None = None) -> typer.Typer:
    """Return the commands of the module that a first word names; else all of them by their few words alone.

    An estimate, or the list of commands, need not wait for web server and database to be loaded.
    """
    cli = typer.Typer(
        name="rackline",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )
    cli.callback()(about)
    if first in COMMANDS:
        cli.add_typer(import_module(f"app.commands.{COMMANDS[first][0]}").cli)
    else:
        for name, (_, words) in COMMANDS.items():
            cli.command(name, short_help=words)(about)
    return cli


def show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"rackline {__version__}")
        raise typer.Exit


def about(
    version: Annotated[
        bool, typer.Option("--version", callback=show_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Size AI training infrastructure: how long a training run takes, what it costs and why.

    Exit codes: 0 done, 1 nothing fits or a check found something, 2 error.
    """


def first_word() -> str | None:
    """Return the command that is meant, also where a shell asks how its line could be completed."""
    line = os.environ.get("COMP_WORDS") or os.environ.get("_TYPER_COMPLETE_ARGS")
    words = line.split() if line else sys.argv
    return words[1] if len(words) > 1 else None


def tell(error: AppError) -> None:
    """Say what is wrong on the error output: in sentences, or in JSON where that was asked for."""
    from app.commands.asking import stated_language
    from app.platform.wording.lines import printed
    from app.platform.wording.voice import voice

    speaker = voice(stated_language())
    faults = [(path(entry.field), speaker.say(entry.message)) for entry in error.errors]
    text = speaker.say(error.message)
    if len(faults) == 1 and faults[0][1] == text:
        text = f"{faults[0][0]}: {text}"
    listed = len(faults) > 1 or not all(text.endswith(message) for _, message in faults)
    if "--json" in sys.argv:
        errors = [{"field": field, "message": message} for field, message in faults]
        typer.echo(json.dumps({"detail": text, "errors": errors}, ensure_ascii=False), err=True)
        return
    lines = [f"  {field}: {message}" for field, message in faults] if listed else []
    typer.echo(printed([f"{speaker.gettext('error')}: {text}", *lines]), err=True)


def main() -> None:
    """Run the command; an error of ours becomes a sentence, never a traceback."""
    # What is loaded stays; to look through it for garbage would take a seventh of the time.
    gc.disable()
    try:
        commands = command_line(first_word())
        gc.freeze()
        gc.enable()
        commands()
    except ModuleNotFoundError as error:
        # Estimates are installed without what only a server needs.
        if (error.name or "").partition(".")[0] == "app":
            raise
        typer.echo(
            f"error: rackline {sys.argv[1]} needs the extra “server”: pip install 'rackline[server]'",
            err=True,
        )
        sys.exit(FAILED)
    except (AppError, EngineError) as error:
        tell(of_engine(error) if isinstance(error, EngineError) else error)
        sys.exit(FAILED)


if __name__ == "__main__":
    main()
