"""``rackline webhook``: webhooks from the command line, on the database of the settings."""

from __future__ import annotations

from typing import Annotated, get_args

import typer

from app.commands.keys import LISTED, OfWorkspace, moment, opened
from app.features.integrations import webhooks
from app.features.integrations.model import EventName, WebhookRequest
from app.platform.json_bodies import checked
from app.platform.wording.lines import table
from app.platform.workspace import LOCAL_WORKSPACE

cli = typer.Typer(
    name="webhook", help="Create, list and delete webhooks.", no_args_is_help=True, rich_markup_mode=None
)

EVENTS = f"Events: {', '.join(get_args(EventName))}; default: all (*)."


@cli.command()
def create(
    url: Annotated[str, typer.Argument(metavar="URL", help="Address that messages are sent to.")],
    events: Annotated[list[str] | None, typer.Option("--event", help=EVENTS)] = None,
    name: Annotated[str, typer.Option("--name", help="Purpose; default: the host of the address.")] = "",
    workspace_id: OfWorkspace = LOCAL_WORKSPACE,
) -> None:
    """Create a webhook and print its signing secret. It is shown only once."""
    request = checked(WebhookRequest, {"url": url, "events": events or ["*"], "name": name})
    with opened(workspace_id) as workspace:
        hook = webhooks.create_webhook(workspace, request)
    typer.echo(f"{hook.id} is told of {', '.join(hook.events)}; the secret is not shown again:", err=True)
    typer.echo(hook.secret)


@cli.command("list")
def list_webhooks(workspace_id: OfWorkspace = LOCAL_WORKSPACE) -> None:
    """List webhooks without their secrets."""
    with opened(workspace_id) as workspace:
        listed = webhooks.list_webhooks(workspace, LISTED, None).items
    rows = [["id", "name", "address", "events", "status", "last delivery"]]
    for hook in listed:
        status, last = "on" if hook.active else "off", moment(hook.succeeded_at)
        rows.append([hook.id, hook.name, hook.url, " ".join(hook.events), status, last])
    typer.echo("\n".join(table(rows)) if listed else "there is no webhook")


@cli.command()
def delete(
    webhook: Annotated[str, typer.Argument(metavar="ID", help="Identifier of the webhook (whk_…).")],
    workspace_id: OfWorkspace = LOCAL_WORKSPACE,
) -> None:
    """Delete a webhook, its secret and its log."""
    with opened(workspace_id) as workspace:
        webhooks.remove_webhook(workspace, webhook)
    typer.echo(f"{webhook} is deleted")
