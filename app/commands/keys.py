"""``rackline key``: keys of the API from the command line, on the database of the settings."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, get_args

import typer

from app.errors import BadInput
from app.features.integrations import keys
from app.features.integrations.model import ApiKey, KeyRequest, KeyScope, RotationRequest
from app.main import make_installation
from app.platform.json_bodies import checked
from app.platform.references import no_such
from app.platform.store.trail import Actor, acting
from app.platform.wording.lines import table
from app.platform.workspace import LOCAL_WORKSPACE, Workspace
from app.settings import Settings

cli = typer.Typer(
    name="key", help="Create, list, rotate and revoke API keys.", no_args_is_help=True, rich_markup_mode=None
)

LISTED = 200

OfWorkspace = Annotated[str, typer.Option("--workspace", metavar="ID", help="Workspace of the key.")]

KeyName = Annotated[str, typer.Argument(metavar="KEY", help="Identifier or prefix (rk_…) of the key.")]


@contextmanager
def opened(identifier: str) -> Iterator[Workspace]:
    """Open a workspace of the settings, which must exist."""
    installation = make_installation(Settings.from_environment())
    try:
        workspace = installation.workspace(identifier)
        with workspace.transaction() as repository:
            if not repository.has_workspace():
                raise no_such("workspace", identifier)
        with acting(Actor("operator")):
            yield workspace
    finally:
        installation.store.close()


@cli.command()
def create(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What the key is for.")],
    scopes: Annotated[
        list[str] | None,
        typer.Option("--scope", help=f"Allowed scope: {', '.join(get_args(KeyScope))}; default: read."),
    ] = None,
    days: Annotated[
        int, typer.Option("--expires-in-days", min=0, help="Validity in days; 0: no expiry.")
    ] = 365,
    workspace_id: OfWorkspace = LOCAL_WORKSPACE,
) -> None:
    """Create a key and print it. It is shown only once."""
    fields = {"name": name, "scopes": scopes or ["read"], "expires_in_days": days or None}
    request = checked(KeyRequest, fields)
    with opened(workspace_id) as workspace:
        key = keys.create_key(workspace, request)
    typer.echo(f"{key.id} may {', '.join(key.scopes)}; it is not shown again:", err=True)
    typer.echo(key.secret)


@cli.command("list")
def list_keys(workspace_id: OfWorkspace = LOCAL_WORKSPACE) -> None:
    """List keys without their secrets."""
    with opened(workspace_id) as workspace:
        listed = keys.list_keys(workspace, LISTED, None)
    rows = [
        [
            key.id,
            key.prefix,
            key.name,
            " ".join(key.scopes),
            key.status,
            moment(key.expires_at),
            moment(key.last_used_at),
        ]
        for key in listed.items
    ]
    head = ["id", "begins with", "name", "scopes", "status", "works until", "last used"]
    typer.echo("\n".join(table([head, *rows])) if rows else "there is no key")
    if listed.next:
        typer.echo(f"only the newest {LISTED} are listed", err=True)


@cli.command()
def revoke(key: KeyName, workspace_id: OfWorkspace = LOCAL_WORKSPACE) -> None:
    """Revoke a key immediately."""
    with opened(workspace_id) as workspace:
        revoked = keys.revoke_key(workspace, key_named(workspace, key).id)
    typer.echo(f"{revoked.id} ({revoked.name}) is revoked")


@cli.command()
def rotate(
    key: KeyName,
    grace: Annotated[
        int, typer.Option("--grace-hours", help="Hours for which the old key stays valid.")
    ] = 24,
    workspace_id: OfWorkspace = LOCAL_WORKSPACE,
) -> None:
    """Replace a key and print the new one. It is shown only once."""
    request = checked(RotationRequest, {"grace_hours": grace})
    with opened(workspace_id) as workspace:
        rotated = keys.rotate_key(workspace, key_named(workspace, key).id, request)
    typer.echo(f"{rotated.id} takes its place; the old key works for {grace} h more:", err=True)
    typer.echo(rotated.secret)


def key_named(workspace: Workspace, name: str) -> ApiKey:
    if name.startswith(keys.MARK):
        if keys.FORM.fullmatch(name):
            raise BadInput.at("KEY", "enter the identifier or the beginning of the key, never the whole key")
        record = workspace.installation.store.key_of(name)
        if record is None or record.workspace_id != workspace.id:
            raise no_such("key", name)
        name = record.id
    return keys.get_key(workspace, name)


def moment(value: object) -> str:
    """Format a time to the minute; a dash for None."""
    return "–" if value is None else f"{value:%Y-%m-%d %H:%M}"
