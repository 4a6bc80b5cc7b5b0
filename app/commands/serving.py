"""``rackline serve`` and ``rackline worker``."""

from __future__ import annotations

import socket
from typing import Annotated

import typer

from app.engine.compiled import make_ready
from app.errors import BadInput
from app.main import reach_now
from app.platform.web.security import ServerAccess
from app.serving import serve_by_several, serve_here, work
from app.settings import Settings
from app.telemetry import set_up_logs

LISTENED_ALONE = frozenset({"127.0.0.1", "localhost", "::1"})
"""Loopback addresses."""

cli = typer.Typer(rich_markup_mode=None)


@cli.command()
def serve(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on.")] = 8000,
    workers: Annotated[int, typer.Option(min=1, max=256, help="Number of server processes.")] = 1,
) -> None:
    """Serve the web pages and the JSON API."""
    settings = logging_settings()
    check_reach(host, reach_now(settings))
    make_ready()
    with listening(host, port) as listener:
        address = f"[{host}]" if ":" in host else host
        typer.echo(f"Rackline answers at http://{address}:{listener.getsockname()[1]}", err=True)
        if workers == 1:
            serve_here(listener, settings)
        else:
            # Several processes share their rate limits in the database, as far as it can be written.
            serve_by_several(listener, settings.model_copy(update={"shared_limits": True}), workers)


@cli.command("worker")
def worker(
    threads: Annotated[
        int, typer.Option(min=1, max=64, help="Concurrent jobs; each uses all available processors.")
    ] = 1,
) -> None:
    """Run background jobs for servers, on the same machine or another one."""
    settings = logging_settings()
    make_ready()
    work(settings, threads)


def logging_settings() -> Settings:
    settings = Settings.from_environment()
    set_up_logs(settings.log, settings.log_level)
    return settings


def check_reach(host: str, reach: ServerAccess) -> None:
    """Refuse access from other machines without accounts or a public address."""
    if host in LISTENED_ALONE:
        return
    if reach.alone:
        raise BadInput.at(
            "--host",
            "without accounts, Rackline answers on this machine only: 127.0.0.1, ::1 or "
            "localhost; create the first account with “rackline user add EMAIL --name NAME”, "
            "or connect from elsewhere over ssh (ssh -L 8000:localhost:8000 …)",
        )
    if not reach.public_url:
        raise BadInput.at(
            "--host",
            "to allow access from other machines, set RACKLINE_PUBLIC_URL to the address "
            "people use, such as https://rackline.example.com",
        )
    if not reach.https:
        typer.echo("warning: without https passwords and figures can be read on the way", err=True)


def listening(host: str, port: int) -> socket.socket:
    """Return a listening socket, before the server starts so that a port in use is reported plainly."""
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listener = socket.create_server((host, port), family=family)
    except OSError as error:
        raise BadInput.at(
            "--port",
            "cannot listen on {host}:{port}: {reason}",
            host=host,
            port=str(port),
            reason=error.strerror,
        ) from None
    # asyncio sets this only for sockets with a protocol number, which create_server does not give. Without
    # it a body waits for its head to be acknowledged: 40 ms on a reused connection. Connections inherit it.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener
