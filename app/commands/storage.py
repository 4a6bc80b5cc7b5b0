"""Commands on the store: copy, check, export, rotate the secret, purge."""

from __future__ import annotations

from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from app.commands.keys import OfWorkspace, opened
from app.errors import Conflict
from app.estimating.context import load_context
from app.features.operation.chores import purge
from app.features.operation.secret_rotation import rotate_secret
from app.features.operation.store_check import check_store
from app.features.trail.service import events_jsonl, filter_of
from app.main import make_installation, upload_files_of
from app.platform.retention import Retention
from app.platform.store.database import Store
from app.platform.store.database_copy import copy_database
from app.platform.store.queries import now
from app.platform.store.trail import Actor, acting
from app.platform.store.upload_files import UploadFiles
from app.platform.wording.lines import table as lines
from app.platform.workspace import LOCAL_WORKSPACE, Installation
from app.profiles.presets import data_directory
from app.settings import Settings

FOUND = 1
"""Exit code of a check that found something."""

cli = typer.Typer(rich_markup_mode=None)


def unmigrated(settings: Settings) -> Installation:
    """Return the installation of the settings, without migrating the tables."""
    files, store = upload_files_of(settings), Store(settings.database_url)
    installation = Installation(load_context(data_directory()), store, files)
    installation.retention = Retention.read(settings.retention_days)
    return installation


@cli.command("copy-database")
def copy(
    source: Annotated[str, typer.Argument(metavar="FROM", help="URL of a database, or a SQLite file.")],
    target: Annotated[str, typer.Argument(metavar="TO", help="The same of an empty one.")],
) -> None:
    """Copy a database and its uploaded files to an empty database. Stop every server first."""
    settings = Settings.from_environment()
    urls = [name if "://" in name else f"sqlite:///{Path(name).absolute()}" for name in (source, target)]
    kept, target_files = (uploads_beside(url) or upload_files_of(settings) for url in urls)
    if settings.uploads:
        target_files = upload_files_of(settings)
    sources = [kept, upload_files_of(settings)]
    tables, files = copy_database(urls[0], urls[1], sources, target_files)
    rows = [(table.name, f"{table.rows:,}", table.sha256[:12], "equal") for table in tables]
    typer.echo("\n".join(lines([("table", "rows", "sha256", "copy"), *rows])))
    typer.echo(f"{files:,} files are in {target_files.storage.place('')}")


def uploads_beside(url: str) -> UploadFiles | None:
    """Return the files in the folder beside a SQLite database; None for any other database."""
    if not url.startswith("sqlite:///"):
        return None
    return UploadFiles(Path(url.removeprefix("sqlite:///")).parent / "uploads")


@cli.command("check-store")
def check() -> None:
    """Check the integrity of the database, frozen proposals and uploaded files. Nothing is changed."""
    installation = unmigrated(Settings.from_environment())
    faults = list(check_store(installation))
    installation.store.close()
    for fault in faults:
        typer.echo(str(fault.message))
    if not faults:
        typer.echo("what is kept is whole")
    if not all(fault.harmless for fault in faults):
        raise typer.Exit(FOUND)


@cli.command("export-audit")
def export_audit(
    since: Annotated[datetime | None, typer.Option(help="Only events from this time on (UTC).")] = None,
    until: Annotated[datetime | None, typer.Option(help="Only events before this time (UTC).")] = None,
    workspace_id: OfWorkspace = LOCAL_WORKSPACE,
) -> None:
    """Print the audit log as JSON Lines, newest first."""
    moments = [moment and moment.replace(tzinfo=moment.tzinfo or UTC) for moment in (since, until)]
    with opened(workspace_id) as workspace:
        for lines in events_jsonl(workspace, filter_of({}, *moments)):
            typer.echo(lines, nl=False)


LOST = {
    "account.totp_sealed": "second factor of {owner}: rackline user reset-second-factor {owner}",
    "webhook.sealed_secret": "secret of the webhook {owner} ({id}): give it a new one on its page",
    "webhook.previous_sealed": "earlier secret of the webhook {owner} ({id}): it is not signed with any more",
}
"""Column → what is lost with its secret, and what to do."""


@cli.command("rotate-secret")
def rotate_command(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Count without changing anything.")] = False,
) -> None:
    """Encrypt with RACKLINE_SECRET what a secret of RACKLINE_SECRET_FALLBACKS has encrypted."""
    installation = make_installation(Settings.from_environment())
    with closing(installation.store):
        done = rotate_secret(installation, dry_run=dry_run)
    verb = "would be encrypted" if dry_run else "encrypted"
    typer.echo(f"{done.resealed:,} secrets {verb} again, {done.current:,} are under the current one")
    for value in done.lost:
        typer.echo(f"no secret opens: {LOST[value.column].format(owner=value.owner, id=value.id)}")
    if done.lost:
        raise typer.Exit(FOUND)


@cli.command("purge")
def purge_command(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Count without deleting.")] = False,
) -> None:
    """Delete data past RACKLINE_RETENTION_DAYS, and files without a reference."""
    installation = unmigrated(Settings.from_environment())
    with closing(installation.store), acting(Actor("operator")):
        if not installation.store.is_ready():
            raise Conflict("the database tables do not match this version of Rackline; start the server once")
        purged = purge(installation, now(), dry_run=dry_run, at_once=True)
    verb = "would go" if dry_run else "have gone"
    for kind, count in purged.counts.items():
        typer.echo(f"{kind}: {count:,} {verb}")
