"""Several processes behind one port: one that dies is replaced, none outlives the one that started it."""

from __future__ import annotations

import os
import re
import signal
import socket
from pathlib import Path

import httpx

from tests.conftest import until
from tests.support.serving import serving

ESTIMATE = {"model": {"total_flop": 1e20}, "system": {"id": "dgx-a100-640gb"}}


def children(parent: int) -> set[int]:
    """Return the processes that a process has started and that answer requests."""
    found = Path(f"/proc/{parent}/task/{parent}/children").read_text(encoding="utf-8").split()
    return {int(pid) for pid in found if b"spawn_main" in command_of(pid)}


def command_of(pid: str) -> bytes:
    """Return what a process was started with; nothing of one that has just ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return b""


def answers(client: httpx.Client, path: str = "/healthz") -> bool:
    try:
        return client.get(path).status_code == 200
    except httpx.TransportError:
        return False


def counted(client: httpx.Client) -> float:
    """Return how many estimates all processes have made, as whichever of them answers knows."""
    found = re.search(r"^rackline_estimates_total (\S+)", client.get("/metrics").text, re.M)
    assert found is not None
    return float(found[1])


def test_processes_come_back_and_go_with_their_parent(tmp_path: Path) -> None:
    with serving(tmp_path, "--workers", "2") as (parent, client):
        until(lambda: answers(client, "/readyz"), 120)
        for count in range(1, 9):
            # Each on a connection of its own, so that now one process answers and now the other.
            with httpx.Client(base_url=client.base_url, timeout=30, trust_env=False) as other:
                assert other.post("/api/v1/estimates", json=ESTIMATE).status_code == 201
                assert counted(other) == count
        before = children(parent.pid)
        assert len(before) == 2
        os.kill(min(before), signal.SIGKILL)
        until(lambda: len(children(parent.pid)) == 2 and children(parent.pid) != before, 120)
        until(lambda: answers(client), 120)
        with httpx.Client(base_url=client.base_url, timeout=30, trust_env=False) as other:
            assert counted(other) == 8, "what a process has counted outlives it"
        parent.kill()
        parent.wait()
        port = client.base_url.port
        assert port is not None

        def free() -> bool:
            try:
                socket.create_server(("127.0.0.1", port)).close()
            except OSError:
                return False
            return True

        until(free, 60)


def test_several_processes_end_in_good_order(tmp_path: Path) -> None:
    with serving(tmp_path, "--workers", "2", RACKLINE_STOP_SECONDS="3") as (parent, client):
        until(lambda: answers(client, "/readyz"), 120)
        began = children(parent.pid)
        parent.send_signal(signal.SIGTERM)
        assert parent.wait(30) == 0
    assert not any(Path(f"/proc/{pid}").exists() for pid in began)
    assert not list(tmp_path.glob("metrics-*"))
