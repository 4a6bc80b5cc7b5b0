"""``rackline user`` and ``rackline workspace``: manage accounts and workspaces."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from app.errors import BadInput
from app.features.accounts import service as accounts
from app.main import identity_of, make_installation
from app.platform.admission import Role
from app.platform.identity import Identity
from app.platform.passwords import MOST
from app.platform.store.trail import Actor, acting
from app.platform.wording.lines import table
from app.settings import Settings

users = typer.Typer(name="user", no_args_is_help=True, help="Manage accounts.", rich_markup_mode=None)

workspaces = typer.Typer(
    name="workspace", no_args_is_help=True, help="Manage workspaces.", rich_markup_mode=None
)

cli = typer.Typer()

cli.add_typer(users)

cli.add_typer(workspaces)

Email = Annotated[str, typer.Argument(metavar="EMAIL", help="E-mail address of the account.")]


@contextmanager
def opened() -> Iterator[Identity]:
    settings = Settings.from_environment()
    installation = make_installation(settings)
    try:
        with acting(Actor("operator")):
            yield identity_of(settings, installation.store)
    finally:
        installation.store.close()


@users.command("add")
def add_user(
    email: Email,
    name: Annotated[str, typer.Option(help="Display name; default: taken from the address.")] = "",
    role: Annotated[
        Role | None, typer.Option(help="Default: owner if the workspace has none, else consultant.")
    ] = None,
    workspace: Annotated[
        str | None, typer.Option(help="Identifier or name; optional if there is only one workspace.")
    ] = None,
    password_stdin: Annotated[
        bool,
        typer.Option(
            "--password-stdin", help="Read the password from standard input instead of printing a link."
        ),
    ] = False,
) -> None:
    """Create an account. The first account owns the local workspace and turns sign-in on."""
    password = sys.stdin.readline(MOST + 3).rstrip("\r\n") if password_stdin else None
    with opened() as identity:
        first = not identity.store.any_account()
        added = accounts.add_account(identity, email, name, role=role, workspace=workspace, password=password)
    typer.echo(f"{added.account.email} is {added.role} of {added.workspace.name}")
    if added.link:
        typer.echo(f"the password is set here, within two days: {added.link}")
    if first:
        typer.echo("from now on every server of this database asks everybody to sign in", err=True)


@users.command("list")
def list_users() -> None:
    """List accounts with workspaces, state and second factor."""
    with opened() as identity:
        listed = accounts.list_accounts(identity)
    head = ["e-mail", "name", "workspaces", "state", "second factor"]
    rows = [
        [
            account.email,
            account.name,
            ", ".join(f"{workspace} ({role})" for workspace, role in memberships) or "–",
            "disabled" if account.disabled else "active" if account.password_hash else "no password yet",
            "on" if account.totp_sealed else "off",
        ]
        for account, memberships in listed
    ]
    typer.echo("\n".join(table([head, *rows])))


@users.command("disable")
def disable_user(email: Email) -> None:
    """Disable an account: its sessions end immediately, its data stays."""
    with opened() as identity:
        accounts.set_disabled(identity, email, disabled=True)
    typer.echo(f"{email} is disabled and signed out everywhere")


@users.command("enable")
def enable_user(email: Email) -> None:
    """Enable a disabled account."""
    with opened() as identity:
        accounts.set_disabled(identity, email, disabled=False)
    typer.echo(f"{email} may sign in again")


@users.command("reset-password")
def reset_password(email: Email) -> None:
    """Print a link to set a new password."""
    with opened() as identity:
        link = accounts.reset_password(identity, email)
    typer.echo(f"a new password is set here, within two days: {link}")


@users.command("reset-second-factor")
def reset_second_factor(email: Email) -> None:
    """Remove the second factor of an account whose device and recovery codes are lost."""
    with opened() as identity:
        accounts.reset_second_factor(identity, email)
    typer.echo(f"{email} signs in with the password alone, and should turn the second factor on again")


@workspaces.command("add")
def add_workspace(name: Annotated[str, typer.Argument(metavar="NAME", help="Name.")]) -> None:
    """Create a workspace. Its first member becomes its owner."""
    with opened() as identity:
        if not identity.store.any_account():
            raise BadInput("without accounts there is only one workspace; create the first account first")
        workspace = accounts.add_workspace(identity, name)
    typer.echo(f"{workspace.id} {workspace.name}")


@workspaces.command("list")
def list_workspaces() -> None:
    """List workspaces with their number of members."""
    with opened() as identity:
        rows = [
            [workspace.id, workspace.name, str(members)]
            for workspace, members in accounts.list_workspaces(identity)
        ]
    typer.echo("\n".join(table([["workspace", "name", "members"], *rows])))
