"""A server that is killed while it computes goes on when it is started again."""

from __future__ import annotations

import signal
import time
from pathlib import Path

from app.platform.web.examples import FLEET_PLAN
from tests.support.serving import all_rows, serving, wait_for

MANY = {
    **FLEET_PLAN,
    "systems": [{"id": "dgx-a100-640gb", "counts": list(range(1, 21)), "fabric": "hdr-infiniband"}],
}

TOTAL = 20 * 3


def test_a_killed_server_goes_on_from_the_rows_it_has(tmp_path: Path) -> None:
    with serving(tmp_path) as (server, client):
        made = client.post("/api/v1/sweeps", json=MANY).json()
        address = f"/api/v1/sweeps/{made['id']}"
        before = wait_for(client, address, rows=8)
        server.kill()
        server.wait()
    assert before["status"] == "running" and 8 <= before["done"] < TOTAL
    with serving(tmp_path) as (server, client):
        found = wait_for(client, address)
        rows = all_rows(client, address)
        assert (found["status"], found["done"]) == ("done", TOTAL)
        assert [row["position"] for row in rows] == list(range(TOTAL))
        assert all(row["problem"] is None for row in rows)


def test_a_server_that_ends_waits_neither_for_a_sweep_nor_for_who_follows_it(tmp_path: Path) -> None:
    with serving(tmp_path) as (server, client):
        address = f"/api/v1/sweeps/{client.post('/api/v1/sweeps', json=MANY).json()['id']}"
        with client.stream("GET", f"{address}/events") as events:
            assert next(events.iter_lines()) == "event: progress"
            asked = time.monotonic()
            server.send_signal(signal.SIGTERM)
            server.wait(20)
        assert time.monotonic() - asked < 10
    with serving(tmp_path) as (_, client):
        assert client.get(address, params={"limit": 1}).json()["status"] in {"queued", "running"}
