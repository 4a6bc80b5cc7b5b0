"""How long lists take when much is kept: fills a database and asks for every list, page and endpoint.

``python -m tests.endurance.lists --estimates 100000 [--postgres]`` prints median and p95 of each,
on the clock and of this process's processor.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import sqlalchemy as sa
from fastapi import FastAPI

from app.main import create_app
from app.platform.store.database import Store
from app.platform.store.tables import EstimateRow
from app.platform.web.examples import BILL, CALIBRATION, CONFIG, GPT3, HEAD_TO_HEAD, SIZING, STUDY
from app.platform.workbench import LOCAL_WORKSPACE
from app.settings import Settings
from tests.loops import run
from tests.postgres import own_cluster

LISTS = (
    "/api/v1/profiles", "/api/v1/workloads", "/api/v1/estimates", "/api/v1/comparisons", "/api/v1/studies",
    "/api/v1/studies?search=seoul", "/api/v1/studies?archived=true", "/api/v1/calibrations",
    "/api/v1/sizings", "/api/v1/sweeps", "/api/v1/proposals", "/api/v1/price-books", "/api/v1/accelerators",
    "/api/v1/boms",
)  # fmt: skip

PAGES = (
    "/",
    "/studies", "/studies?search=seoul", "/studies.json", "/uploads", "/uploads.json", "/proposals",
    "/proposals.json", "/price-books", "/price-books.json", "/accelerators",
    "/calibrations/new", "/boms/new",
)  # fmt: skip

MANY = {"estimate": 1.0, "study": 0.01, "comparison": 0.02, "proposal": 0.01, "sizing": 0.02, "bill": 0.02,
        "calibration": 0.02, "profile": 0.02, "workload_sample": 0.02, "sweep": 0.02}  # fmt: skip
"""Rows of each kind for every estimate."""


def examples(app: FastAPI) -> None:
    """Make one of everything through the API, as the pattern of the many."""

    async def walk() -> None:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost", timeout=300) as client:
            made: dict[str, Any] = {}
            for path, body in {
                "estimates": GPT3, "studies": STUDY, "comparisons": HEAD_TO_HEAD, "sizings": SIZING,
                "boms": BILL, "calibrations": CALIBRATION, "profiles": {"config": CONFIG},
                "price-books": {"name": "House prices", "rows": []},
            }.items():  # fmt: skip
                response = await client.post(f"/api/v1/{path}", json=body)
                assert response.status_code == 201, (path, response.text[:300])
                made[path] = response.json()
            body = {"comparison_id": made["comparisons"]["id"], "customer": "Example", "locale": "en"}
            response = await client.post("/api/v1/proposals", json={**body, "currency": "USD"})
            assert response.status_code == 201, response.text[:300]
            files = {"file": ("lengths.csv", b"length\n128\n256\n512\n")}
            assert (await client.post("/api/v1/workloads", files=files)).status_code == 201

    run(walk())


def multiply(store: Store, estimates: int) -> None:
    """Put many copies of the newest row of each kind in, an apart in time, by the database itself."""
    metadata = sa.MetaData()
    metadata.reflect(store.engine)
    postgres = store.engine.dialect.name == "postgresql"
    with store.engine.begin() as connection:
        if postgres:
            connection.execute(sa.text("SET LOCAL statement_timeout = 0"))
        for name, share in MANY.items():
            table = metadata.tables[name]
            pattern = connection.execute(
                sa.select(table.c.id).order_by(table.c.created_at.desc()).limit(1)
            ).scalar()
            if pattern is None:
                continue
            shown = []
            for column in table.columns:
                if column.name == "id":
                    shown.append(f"'{name[:3]}_' || lpad_i")
                elif column.name == "created_at":
                    shown.append(
                        "t.created_at - i * interval '7 minutes'"
                        if postgres
                        else "strftime('%Y-%m-%d %H:%M:%S.000000', t.created_at, (i * -7) || ' minutes')"
                    )
                elif column.name == "archived":
                    shown.append("i % 5 = 0")
                elif column.name in {"name", "label", "title"}:
                    shown.append(f"substr(t.{column.name} || ' ' || i, 1, 200)")
                elif column.name == "status":
                    shown.append("'done'")
                else:
                    shown.append(f't."{column.name}"')
            number = "to_char(i, 'FM0000000000000000')" if postgres else "printf('%016d', i)"
            rows = (
                "generate_series(1, :count) AS s(i)"
                if postgres
                else "(WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < :count)"
                " SELECT i FROM n) AS s"
            )
            columns = ", ".join(f'"{column.name}"' for column in table.columns)
            values = ", ".join(shown).replace("lpad_i", number)
            chosen = f'SELECT {values} FROM "{name}" AS t, {rows} WHERE t.id = :id'
            statement = f'INSERT INTO "{name}" ({columns}) {chosen}'
            count = max(1, round(estimates * share))
            connection.execute(sa.text(statement), {"count": count, "id": pattern})
    with store.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(sa.text("ANALYZE"))


def timed(app: FastAPI, requests: int) -> dict[str, tuple[float, float, float, float]]:
    """Return median and p95 of each list on the clock, then of the processor. [s]"""

    async def walk() -> dict[str, tuple[float, float, float, float]]:
        found = {}
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost", timeout=300) as client:
            for path in (*LISTS, *PAGES):
                headers = {"accept": "application/json" if "api" in path else "text/html"}
                taken, worked = [], []
                addresses = [path, path]
                first = await client.get(path, headers=headers)
                assert first.status_code == 200, (path, first.text[:300])
                if path.startswith("/api") and first.json().get("next"):
                    mark = "&" if "?" in path else "?"
                    addresses[1] = f"{path}{mark}cursor={first.json()['next']}"
                for number in range(requests):
                    start, before = time.perf_counter(), time.process_time()
                    answer = await client.get(addresses[number % 2], headers=headers)
                    taken.append(time.perf_counter() - start)
                    worked.append(time.process_time() - before)
                    assert answer.status_code == 200
                found[path] = (
                    float(np.median(taken)), float(np.percentile(taken, 95)),
                    float(np.median(worked)), float(np.percentile(worked, 95)),
                )  # fmt: skip
        return found

    return run(walk())


def measure(url: str | None, directory: Path, estimates: int, requests: int = 40) -> Mapping[str, Any]:
    """Fill a database and ask for every list."""
    settings = Settings.at(directory, **({"database_url": url} if url else {}))
    app = create_app(settings)
    store: Store = app.state.workbench.store
    examples(app)
    start = time.perf_counter()
    multiply(store, estimates)
    filled = time.perf_counter() - start
    with store.transaction(LOCAL_WORKSPACE) as repository:
        row = repository.page(EstimateRow, 1, None).rows[0]
        found = repository.get(EstimateRow, row.id)
        assert found is not None
        size = len(json.dumps(found.document))
    answer = {"filled_s": filled, "document_bytes": size, "lists": timed(app, requests)}
    store.close()
    return answer


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", default=None)
    parser.add_argument("--postgres", action="store_true", help="start a PostgreSQL of its own")
    parser.add_argument("--estimates", type=int, default=100_000)
    parser.add_argument("--requests", type=int, default=40)
    given = parser.parse_args()
    with contextlib.ExitStack() as stack:
        url = stack.enter_context(own_cluster()).make() if given.postgres else given.url
        directory = stack.enter_context(tempfile.TemporaryDirectory())
        found = measure(url, Path(directory), given.estimates, given.requests)
    print(f"filled in {found['filled_s']:.0f} s; a document has {found['document_bytes']:,} bytes")
    print(f"{'list':<36}{'p50':>9}{'p95':>9}{'p50 cpu':>9}{'p95 cpu':>9}  [ms]")
    for path, numbers in found["lists"].items():
        print(f"{path:<36}" + "".join(f"{number * 1000:9.1f}" for number in numbers))


if __name__ == "__main__":
    main()
