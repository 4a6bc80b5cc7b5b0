"""PostgreSQL goes away while the server is written to: nothing is lost."""

from __future__ import annotations

import random
import threading
import time
from pathlib import Path

import httpx
import pytest

from app.platform.web.examples import RESNET
from tests.support.postgres import DURABLE, own_cluster
from tests.support.serving import serving, spoken

LATEST = 2.0
"""How late, at nine of ten, it may be said that the database is away. [s]"""


@pytest.mark.parametrize(
    ("rounds", "away"),
    [
        (2, 0.5),
        pytest.param(30, 0.5, marks=pytest.mark.endurance),
        pytest.param(1, 30.0, marks=pytest.mark.endurance),
    ],
)
def test_postgresql_loses_its_power_again_and_again(tmp_path: Path, rounds: int, away: float) -> None:
    chance = random.Random(3)
    with own_cluster(DURABLE) as server:
        url = server.make()
        with serving(tmp_path, RACKLINE_DATABASE_URL=url) as (process, client):
            stop, kept, refused, waited = threading.Event(), [], [], []

            def write() -> None:
                number = 0
                # At full speed the refusals would keep the processors from what starts again.
                while not stop.wait(0.01):
                    number += 1
                    body = {"name": f"book {threading.get_ident()} {number}", "rows": []}
                    asked = time.monotonic()
                    try:
                        answer = client.post("/api/v1/price-books", json=body)
                    except httpx.HTTPError as error:
                        refused.append(str(error))
                        continue
                    if answer.status_code == 201:
                        kept.append(answer.json()["id"])
                    else:
                        refused.append(answer.status_code)
                        waited.append(time.monotonic() - asked)

            writers = [threading.Thread(target=write) for _ in range(2)]
            for writer in writers:
                writer.start()
            for _ in range(rounds):
                time.sleep(chance.uniform(0.2, 1.0))
                server.stop(chance.choice(["immediate", "fast"]))
                assert client.get("/healthz").status_code == 200
                told = client.get("/readyz")
                assert told.status_code == 503 and int(told.headers["retry-after"]) > 0
                time.sleep(away if rounds == 1 else chance.uniform(away / 5, away))
                server.start()
                before = len(kept)
                deadline = time.monotonic() + 60
                while len(kept) == before and time.monotonic() < deadline:
                    time.sleep(0.05)
                assert len(kept) > before, "it does not work again"
            stop.set()
            for writer in writers:
                writer.join()
            assert set(refused) <= {503} and refused
            late = sorted(waited)[len(waited) * 9 // 10]
            assert late < LATEST, late
            missing = [one for one in kept if client.get(f"/api/v1/price-books/{one}").status_code != 200]
            assert missing == [], (len(missing), len(kept))
            assert client.post("/api/v1/estimates", json=RESNET).status_code == 201
            assert "Traceback" not in "".join(spoken(process))
            print(
                f"\n{rounds} outages, {len(kept)} kept, {len(refused)} refused, p90 {late:.2f} s, none lost"
            )
