"""PostgreSQL loses its power again and again while the server is written to: nothing acknowledged is lost."""

from __future__ import annotations

import random
import threading
import time
from pathlib import Path

import httpx
import pytest

from app.platform.web.examples import RESNET
from tests.postgres import DURABLE, own_cluster
from tests.serving import serving, spoken


@pytest.mark.parametrize("rounds", [2, pytest.param(30, marks=pytest.mark.endurance)])
def test_postgresql_loses_its_power_again_and_again(tmp_path: Path, rounds: int) -> None:
    chance = random.Random(3)
    with own_cluster(DURABLE) as server:
        url = server.make()
        with serving(tmp_path, RACKLINE_DATABASE_URL=url) as (process, client):
            stop, kept, refused = threading.Event(), [], []

            def write() -> None:
                number = 0
                # At full speed the refusals would keep the processors from what starts again.
                while not stop.wait(0.01):
                    number += 1
                    body = {"name": f"book {threading.get_ident()} {number}", "rows": []}
                    try:
                        answer = client.post("/api/v1/price-books", json=body)
                    except httpx.HTTPError as error:
                        refused.append(str(error))
                        continue
                    if answer.status_code == 201:
                        kept.append(answer.json()["id"])
                    else:
                        refused.append(answer.status_code)

            writers = [threading.Thread(target=write) for _ in range(2)]
            for writer in writers:
                writer.start()
            for _ in range(rounds):
                time.sleep(chance.uniform(0.2, 1.0))
                server.stop(chance.choice(["immediate", "fast"]))
                time.sleep(chance.uniform(0.1, 0.5))
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
            missing = [one for one in kept if client.get(f"/api/v1/price-books/{one}").status_code != 200]
            assert missing == [], (len(missing), len(kept))
            assert client.post("/api/v1/estimates", json=RESNET).status_code == 201
            assert "Traceback" not in "".join(spoken(process))
            print(f"\n{rounds} outages, {len(kept)} writes kept, {len(refused)} refused, none lost")
