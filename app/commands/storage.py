"""Commands on the store: backup, restore, check, erase, export, rotate the secret, purge."""

from __future__ import annotations

from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from app.commands.asking import Lang, language_of
from app.commands.keys import OfWorkspace, opened
from app.errors import Conflict
from app.estimating.context import load_context
from app.features.erasure.certificate import attachment, certificate_pdf
from app.features.erasure.model import ErasureRequest
from app.features.erasure.service import erase_customer
from app.features.operation.chores import purge
from app.features.operation.secret_rotation import rotate_secret
from app.features.operation.store_check import check_store
from app.features.trail.service import events_jsonl, filter_of
from app.main import file_storage_of, make_bench, upload_files_of
from app.platform.retention import Retention
from app.platform.store.archives.backup import make_backup
from app.platform.store.archives.restore import restore_backup
from app.platform.store.database import Store
from app.platform.store.queries import now
from app.platform.store.trail import Actor, acting
from app.platform.web.forms import checked
from app.platform.wording.voice import voice
from app.platform.workbench import LOCAL_WORKSPACE, Workbench
from app.profiles.presets import models_directory
from app.settings import Settings

FOUND = 1
"""Exit code of a check that found something."""

cli = typer.Typer(rich_markup_mode=None)

Archive = Annotated[Path, typer.Argument(metavar="FILE", help="Archive file.")]


def workbench(settings: Settings) -> Workbench:
    """Return a workbench of the settings, without migrating the tables."""
    files, store = upload_files_of(settings), Store(settings.database_url)
    bench = Workbench(load_context(models_directory().parent), store, files)
    bench.retention = Retention.read(settings.retention_days)
    return bench


@cli.command()
def backup(file: Archive) -> None:
    """Back up the database and uploads to one archive. The server may keep running."""
    settings = Settings.from_environment()
    store = Store(settings.database_url)
    archive = make_backup(store, upload_files_of(settings), file)
    store.close()
    typer.echo(f"{file}: {archive.rows:,} rows, {archive.files:,} files, {archive.size:,} bytes")


@cli.command()
def restore(
    file: Archive,
    into: Annotated[str | None, typer.Option(help="Database URL; default: RACKLINE_DATABASE_URL.")] = None,
) -> None:
    """Restore an archive into an empty database, SQLite or PostgreSQL."""
    settings = Settings.from_environment()
    url, storage = into or settings.database_url, file_storage_of(settings)
    done = restore_backup(file, url, settings.data_dir, storage)
    typer.echo(f"{file}: {done.rows:,} rows and {done.files:,} files are back")


@cli.command("check-store")
def check() -> None:
    """Check the integrity of the database, frozen proposals and uploaded files. Nothing is changed."""
    bench = workbench(Settings.from_environment())
    faults = list(check_store(bench))
    bench.store.close()
    for fault in faults:
        typer.echo(str(fault.message))
    if not faults:
        typer.echo("what is kept is whole")
    if not all(fault.harmless for fault in faults):
        raise typer.Exit(FOUND)


@cli.command("erase-customer")
def erase_command(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the customer.")],
    replacement: Annotated[str, typer.Option("--replacement", help="Text in its place.")] = "[erased]",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Count without erasing.")] = False,
    certificate: Annotated[
        Path | None,
        typer.Option(
            "--certificate",
            metavar="FILE",
            help="Write the certificate: PDF if FILE ends in .pdf, else JSON.",
        ),
    ] = None,
    lang: Lang = None,
    workspace: OfWorkspace = LOCAL_WORKSPACE,
) -> None:
    """Erase a customer's name from everything that is stored, except uploaded files and archives."""
    stated = {"customer": name, "replacement": replacement, "dry_run": dry_run}
    with opened(workspace) as bench:
        done = erase_customer(bench, workspace, checked(ErasureRequest, stated))
    if certificate is not None:
        printed = certificate.suffix.lower() == ".pdf"
        content = certificate_pdf(done, voice(language_of(lang))) if printed else attachment(done).encode()
        certificate.write_bytes(content)
    for kind, count in done.rows.items():
        typer.echo(f"{kind}: {count:,} {'would be changed' if dry_run else 'changed'}")


@cli.command("export-audit")
def export_audit(
    since: Annotated[datetime | None, typer.Option(help="Only events from this time on (UTC).")] = None,
    until: Annotated[datetime | None, typer.Option(help="Only events before this time (UTC).")] = None,
    workspace: OfWorkspace = LOCAL_WORKSPACE,
) -> None:
    """Print the audit log as JSON Lines, newest first."""
    moments = [moment and moment.replace(tzinfo=moment.tzinfo or UTC) for moment in (since, until)]
    with opened(workspace) as bench:
        for lines in events_jsonl(bench, workspace, filter_of({}, *moments)):
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
    bench = make_bench(Settings.from_environment())
    with closing(bench.store):
        done = rotate_secret(bench, dry_run=dry_run)
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
    bench = workbench(Settings.from_environment())
    with closing(bench.store), acting(Actor("operator")):
        if not bench.store.is_ready():
            raise Conflict("the database tables do not match this version of Rackline; start the server once")
        purged = purge(bench, now(), dry_run=dry_run, at_once=True)
    verb = "would go" if dry_run else "have gone"
    for kind, count in purged.counts.items():
        typer.echo(f"{kind}: {count:,} {verb}")
