"""Two servers and two workers, each as on a machine of its own, on one PostgreSQL, one bucket, one Dask."""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from distributed import Client, LocalCluster

from tests.conftest import ROOT
from tests.support.buckets import bucket_server
from tests.support.objects import LAYERS
from tests.support.postgres import DURABLE, own_cluster
from tests.support.serving import all_rows, serving, wait_for

pytestmark = [pytest.mark.endurance, pytest.mark.filterwarnings("ignore")]

COUNTS = list(range(1, 65))

SYSTEMS = ("dgx-a100-640gb", "dgx-a100-320gb", "dgx-h100", "dgx-h200", "dgx-b200", "mi300x-8", "aws-p5")

TOTAL = len(COUNTS) * len(SYSTEMS)

SWEEP = {
    "systems": [{"id": name, "counts": COUNTS} for name in SYSTEMS],
    "scenarios": [{"label": "usual"}],
}


@contextlib.contextmanager
def working(data_dir: Path, settings: dict[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    environment = {**os.environ, **settings, "RACKLINE_DATA_DIR": str(data_dir)}
    command = [sys.executable, "-m", "app", "worker"]
    log = data_dir.with_suffix(".log")
    with (
        log.open("ab") as said,
        subprocess.Popen(command, cwd=ROOT, env=environment, stderr=said) as process,
    ):
        try:
            yield process
        finally:
            process.kill()


def command(data_dir: Path, settings: dict[str, str], *arguments: str) -> str:
    environment = {**os.environ, **settings, "RACKLINE_DATA_DIR": str(data_dir)}
    done = subprocess.run(
        [sys.executable, "-m", "app", *arguments], cwd=ROOT, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def more_rows(client: httpx.Client, address: str, than: int) -> int:
    return int(wait_for(client, address, rows=than + 1, seconds=300)["done"])


def test_four_machines_that_lose_their_workers(tmp_path: Path) -> None:
    machines = [tmp_path / name for name in ("one", "two", "three", "four")]
    with (
        own_cluster(DURABLE) as database,
        bucket_server() as bucket,
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50) as cluster,
        Client(cluster, set_as_default=False) as dask,
    ):
        settings = {
            "RACKLINE_DATABASE_URL": database.make(),
            "RACKLINE_SECRET": secrets.token_hex(20),
            "RACKLINE_JOBS": "elsewhere",
            "RACKLINE_DASK": cluster.scheduler_address,
            "RACKLINE_LOG": "json",
            **{f"RACKLINE_{name.upper()}": value for name, value in bucket.settings.items()},
        }
        with contextlib.ExitStack() as running:
            _, first = running.enter_context(serving(machines[0], **settings))
            _, second = running.enter_context(serving(machines[1], **settings))
            workers = [running.enter_context(working(machine, settings)) for machine in machines[2:]]

            profile = first.post("/api/v1/profiles", files={"file": ("layers.csv", LAYERS)}).json()["id"]
            assert second.get(f"/api/v1/profiles/{profile}/file").content == LAYERS
            model = {"profile_id": profile}
            body = {**SWEEP, "models": [{"model": model, "workload": {"samples": 1e6, "global_batch": 256}}]}
            made = first.post("/api/v1/sweeps", json=body)
            assert made.status_code == 201, made.text
            address, lost = f"/api/v1/sweeps/{made.json()['id']}", 0
            done = more_rows(second, address, 0)
            # A worker of Dask, then each of our own: whichever of the two has the job, it is among them.
            os.kill(next(iter(dask.run(os.getpid).values())), signal.SIGKILL)
            for place, machine in enumerate(machines[2:]):
                done = more_rows(first, address, done)
                workers[place].kill()
                lost += 1
                running.enter_context(working(machine, settings))
                done = more_rows(second, address, done)
            found = wait_for(second, address, seconds=400)
            assert found["status"] == "done" and found["done"] == TOTAL and lost == 2
            rows = all_rows(first, address)
            assert [row["position"] for row in rows] == list(range(TOTAL))
            assert all(row["problem"] is None for row in rows)

            # What a server that died in the middle of an upload has left goes from any machine.
            bucket.storage().put(f"ws_local/ab/ab{'0' * 62}", b"nobody names it")
            assert "files: 1 have gone" in command(machines[3], settings, "purge")
            assert second.delete(f"/api/v1/profiles/{profile}").status_code == 204 and bucket.objects == {}
            assert first.get(f"/api/v1/profiles/{profile}").status_code == 404
            assert "whole" in command(machines[2], settings, "check-store")

            command(machines[2], settings, "user", "add", "ann@example.com", "--name", "Ann")
            asked = time.monotonic()
            assert [server.get("/api/v1/studies").status_code for server in (first, second)] == [401, 401]
            assert time.monotonic() - asked < 1.0
