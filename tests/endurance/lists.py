"""How long lists take when much is kept: fills a database and asks for every list and page, however narrowed.

``python -m tests.endurance.lists --estimates 1000000 [--postgres] [--copy]`` prints what takes longest, on
the clock and of the processor. Lists and what narrows them are read from the description of the API, so that
none is left out: each value alone and each two together, its first stretch, the next, and one far down.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import itertools
import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import sqlalchemy as sa
from fastapi import FastAPI

from app.main import create_app
from app.platform.listing import write_cursor
from app.platform.store.database import Store
from app.platform.store.queries import After, now
from app.platform.store.tables import AcceleratorRecord, EstimateRow
from app.platform.web.examples import (
    ACCELERATOR,
    BARE_FIGURE,
    BILL,
    CALIBRATION,
    CONFIG,
    GPT3,
    HEAD_TO_HEAD,
    SIZING,
    STUDY,
    WEBHOOK,
)
from app.platform.workspace import LOCAL_WORKSPACE
from app.serving import settle
from app.settings import Settings
from tests.conftest import ROOT, run
from tests.support.described import resolved
from tests.support.postgres import own_cluster
from tests.support.serving import descendants
from tests.support.sweeping import wide

SHARES = {
    "estimate": 1.0, "audit_event": 1.0, "webhook_delivery": 0.05, "sizing": 0.02,
    "bill": 0.02, "calibration": 0.02, "profile": 0.02, "workload_sample": 0.02, "sweep": 0.02, "study": 0.03,
    "proposal": 0.01, "price_book": 0.001, "accelerator": 0.0001, "api_key": 0.001,
}  # fmt: skip
"""Rows of each kind for every estimate."""

PARTS = {
    "study_version": ("study", "study_id"), "job": ("sweep", "id"),
    "price_book_version": ("price_book", "book_id"), "accelerator_version": ("accelerator", "accelerator_id"),
}  # fmt: skip
"""Tables whose rows belong to those of another: which, and by which column."""

WORDS = (
    "'Case ' || i || ' gpt-' || (i % 40) || ' for customer ' || (i % 300)"
    " || CASE WHEN i % 5000 = 7 THEN ' 서울' ELSE '' END"
    " || CASE WHEN i > :count * 0.9 AND i % 2 = 0 THEN ' Legacy' ELSE '' END"
)

VALUES = {
    "name": WORDS, "title": WORDS, "label": WORDS, "sought": f"lower({WORDS})",
    "customer": "'Customer ' || (i % 300)",
    "model": "CASE WHEN i % 2 = 0 THEN 'gpt3-175b' ELSE 'model-' || (i % 4000) END",
    "archived": "i % 5 = 0", "status": "'done'", "number": "'2026-' || i", "prefix": "'rk_' || i",
    "action": "CASE WHEN i % 50000 = 7 THEN 'webhook.changed' ELSE t.action END",
    "actor_id": "'acc_' || (i % 2000)", "object_id": "'est_' || NUMBER",
    "created_at": "MOMENT", "updated_at": "MOMENT", "at": "MOMENT",
}  # fmt: skip
"""Column → what a copy has in it, of its number i."""

SPECIAL = {
    "webhook_delivery": {"status": "'delivered'"},
    **{name: {"document": "'{}'"} for name in ("estimate", "calibration", "bill")},
    "sizing": {"document": "'{}'", "samples": "'{}'"}, "proposal": {"content": "'{}'"},
}  # fmt: skip
"""The same of one table; lists read no documents, which are empty unless they are asked for."""

LISTED = {"study": {"kind": "CASE WHEN i % 3 = 0 THEN 'study' ELSE 'comparison' END"}}
"""Column of a table of several lists → in which of them a copy is."""

APART = timedelta(minutes=1)
"""Between one copy and the next."""

NARROWING: dict[str, tuple[str, ...]] = {
    "search": ("case", "gpt-7", "CUSTOMER 299", "9973", "99731", "서울", "q", "legacy", "nowhere"),
    "customer": ("Customer 7", "Nobody"),
    "model": ("gpt3-175b", "model-1777", "nothing"),
    "archived": ("true",),
    "action": ("estimate.created", "webhook.changed", "proposal.frozen"),
    "actor_id": ("acc_7", "acc_none"),
    "object_id": ("est_none",),
    "object_kind": ("estimate", "study"),
    "actor_kind": ("local", "key"),
}
"""Parameter → values that narrow much, little, or leave nothing; those of a fixed set are read with it."""

ASIDE = {"limit", "cursor", "fields", "view", "If-None-Match"}

PAGES = (
    "/", "/studies", "/studies?archived=1", "/studies?unsaved=1", "/studies.json",
    *(f"/studies?search={word}" for word in NARROWING["search"]),
    "/uploads", "/proposals", "/proposals?review=sent", "/proposals?status=expired", "/price-books",
    "/accelerators", "/keys", "/webhooks",
    "/audit", "/audit?action=webhook.changed", "/audit?actor=acc_7", "/audit?object=est_none",
    "/audit?actor=key",
)  # fmt: skip


def examples(app: FastAPI) -> None:
    """Make one of everything through the API, as the pattern of the many."""

    async def walk() -> None:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost", timeout=600) as client:
            made: dict[str, Any] = {}
            for path, body in (
                ("webhooks", WEBHOOK), ("estimates", GPT3), ("studies", STUDY), ("comparisons", HEAD_TO_HEAD),
                ("sizings", SIZING), ("boms", BILL), ("calibrations", CALIBRATION),
                ("profiles", {"config": CONFIG}), ("price-books", {"name": "House prices", "rows": []}),
                ("sweeps", wide(4).request.model_dump(mode="json", exclude_unset=True)),
                ("accelerators", ACCELERATOR), ("keys", {"name": "Key"}), ("estimates", BARE_FIGURE),
            ):  # fmt: skip
                response = await client.post(f"/api/v1/{path}", json=body)
                assert response.status_code == 201, (path, response.text[:300])
                made[path] = response.json()
            body = {"comparison_id": made["comparisons"]["id"], "customer": "Example", "locale": "en"}
            response = await client.post("/api/v1/proposals", json={**body, "currency": "USD"})
            assert response.status_code == 201, response.text[:300]
            files = {"file": ("lengths.csv", b"length\n128\n256\n512\n")}
            assert (await client.post("/api/v1/workloads", files=files)).status_code == 201

    run(walk())


def multiply(store: Store, estimates: int, documents: bool = False) -> None:
    """Put many copies of the newest row of each kind in, apart in time, by the database itself."""
    metadata = sa.MetaData()
    metadata.reflect(store.engine)
    postgres = store.engine.dialect.name == "postgresql"
    number, many, moment = (
        (
            "to_char(i, 'FM0000000000000000')",
            "generate_series(1, CAST(:count AS integer)) AS s(i)",
            "t.MADE - i * interval '1 minute'",
        )
        if postgres
        else (
            "printf('%016d', i)",
            "(WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < :count)"
            " SELECT i FROM n) AS s",
            "strftime('%Y-%m-%d %H:%M:%S.000000', t.MADE, (-i) || ' minutes')",
        )
    )
    for name in (*SHARES, *PARTS):
        table, (kind, key) = metadata.tables[name], PARTS.get(name, (name, "id"))
        made = next(column for column in ("created_at", "at") if column in {*table.c.keys(), "at"})
        made = made if made in table.c else ""
        more = {**LISTED.get(name, {}), **({} if documents else SPECIAL.get(name, {}))}
        special = {**VALUES, **more, key: f"'{kind[:3]}_' || NUMBER"}
        shown = [special.get(column.name, f't."{column.name}"') for column in table.columns]
        values = ", ".join(shown).replace("NUMBER", number).replace("MOMENT", moment).replace("MADE", made)
        columns = ", ".join(f'"{column.name}"' for column in table.columns)
        newest = f" ORDER BY {made} DESC" if made else ""
        pattern = f'(SELECT * FROM "{name}"{newest} LIMIT 1) AS t'
        statement = f'INSERT INTO "{name}" ({columns}) SELECT {values} FROM {pattern}, {many}'
        with store.engine.begin() as connection:
            if postgres:
                connection.execute(sa.text("SET LOCAL statement_timeout = 0"))
            bound = sa.text(statement).bindparams(count=max(1, round(estimates * SHARES[kind])))
            print(f"{name}: {connection.execute(bound).rowcount:,}", flush=True)
    with store.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        if postgres:
            connection.execute(sa.text("SET statement_timeout = 0"))
        # As autovacuum does when it comes by.
        connection.execute(sa.text("VACUUM ANALYZE" if postgres else "ANALYZE"))


def addresses(app: FastAPI) -> Iterator[str]:
    """Return the address of every list, of each value that narrows it, and of each two values."""
    for path, methods in resolved(app.openapi())["paths"].items():
        names = {one["name"]: one["schema"] for one in methods.get("get", {}).get("parameters", [])}
        if "cursor" not in names or "{" in path:
            continue
        values = []
        for name, schema in names.items():
            if name in ASIDE:
                continue
            moments = [(now() - APART * count).isoformat()[:19] + "Z" for count in (50, 9000)]
            kinds = [one for part in (schema, *schema.get("anyOf", [])) for one in part.get("enum", [])]
            known = moments if name in {"since", "until"} else NARROWING.get(name) or tuple(kinds)
            assert known, f"no values for {name} of {path}"
            values += [(name, value) for value in known]
        yield path
        for one, other in itertools.combinations(values, 2):
            if one[0] != other[0]:
                yield str(httpx.URL(path, params=[one, other]))
        for one in values:
            yield str(httpx.URL(path, params=[one]))


def processor_seconds(server: int | None) -> float:
    """Return the processor time of this process, and of a server of PostgreSQL. [s]"""
    found = time.process_time()
    for pid in descendants(server) if server else ():
        with contextlib.suppress(OSError):
            found += int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9
    return found


Times = tuple[float, float, float, float]


def timed(
    app: FastAPI, paths: list[str], requests: int, estimates: int, server: int | None
) -> dict[str, Times]:
    """Return median and p95 of each list and page on the clock, then of the processor. [s]"""
    far = write_cursor(After(now() - APART * round(estimates * 0.005), "m"))

    async def walk() -> dict[str, Times]:
        found = {}
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost", timeout=300) as client:

            async def ask(address: str, times: int) -> tuple[Times, httpx.Response]:
                taken, worked = [], []
                headers = {"accept": "application/json" if "/api/" in address else "text/html"}
                for number in range(times + 1):
                    before, start = processor_seconds(server), time.perf_counter()
                    answer = await client.get(address, headers=headers)
                    seconds = time.perf_counter() - start
                    assert answer.status_code == 200, (address, answer.text[:300])
                    if number:
                        taken.append(seconds)
                        worked.append(processor_seconds(server) - before)
                    if seconds > 2 and len(taken) > 1:
                        break
                marks = [float(np.percentile(every, mark)) for every in (taken, worked) for mark in (50, 95)]
                return (marks[0], marks[1], marks[2], marks[3]), answer

            for path in paths:
                found[path], answer = await ask(path, requests)
                if not path.startswith("/api") or answer.json().get("next") is None:
                    continue
                for cursor in (answer.json()["next"], *([] if "catalog" in path else [far])):
                    address = str(httpx.URL(path).copy_merge_params({"cursor": cursor}))
                    found[address], _ = await ask(address, requests)
        return found

    return run(walk())


def copied(folder: Path, url: str, into: str) -> Iterator[str]:
    """Copy to another database and check it; tell how long each takes."""
    for arguments in (["copy-database", url, into], ["check-store"]):
        home, database, name = folder / "copied", into, arguments[0]
        environment = {"RACKLINE_DATA_DIR": str(home), "RACKLINE_DATABASE_URL": database}
        begun = time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-m", "app", *arguments],
            cwd=ROOT, env={**os.environ, **environment}, capture_output=True, text=True, check=False,
        )  # fmt: skip
        yield f"{name}: {time.perf_counter() - begun:.0f} s; {done.stdout.strip()}{done.stderr[-500:]}"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--postgres", action="store_true", help="start a PostgreSQL of its own")
    parser.add_argument("--url", help="a database that is empty, or was filled before")
    parser.add_argument("--into", help="an empty database to copy to")
    parser.add_argument("--server", type=int, help="process of its server, whose time counts")
    parser.add_argument("--documents", action="store_true", help="with documents of the usual size")
    parser.add_argument("--copy", action="store_true", help="also copy to another database")
    parser.add_argument("--estimates", type=int, default=100_000)
    parser.add_argument("--requests", type=int, default=20)
    parser.add_argument("--shown", type=int, default=40, help="how many of the slowest are printed")
    parser.add_argument("--only", default="", help="only addresses that contain this")
    given = parser.parse_args()
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        url, server = given.url, given.server
        into = given.into or f"sqlite:///{folder / 'copied.sqlite3'}"
        if given.postgres:
            cluster = stack.enter_context(own_cluster())
            server = int((cluster.data / "postmaster.pid").read_text().split()[0])
            url, into = cluster.make(), cluster.make()
        kept = Settings.at(folder / "kept", **({"database_url": url} if url else {}))
        app = create_app(kept)
        store: Store = app.state.installation.store
        with store.transaction(LOCAL_WORKSPACE) as repository:
            filled = repository.page(EstimateRow, 100, None).next is not None
        if not filled:
            examples(app)
            begun = time.perf_counter()
            multiply(store, given.estimates, given.documents)
            print(f"filled in {time.perf_counter() - begun:.0f} s")
        with store.transaction(LOCAL_WORKSPACE) as repository:
            accelerator = repository.page(AcceleratorRecord, 1, None).rows[0].id
        shown = (f"/api/v1/accelerators/{accelerator}", f"/accelerators/{accelerator}")
        paths = [path for path in (*addresses(app), *PAGES, *shown) if given.only in path]
        # As a server does when it has started.
        gc.collect()
        settle()
        found = timed(app, paths, given.requests, given.estimates, server)
        store.close()
        print(f"{'slowest':<90}{'p50':>9}{'p95':>9}{'p50 cpu':>9}{'p95 cpu':>9}  [ms]")
        slowest = sorted(found, key=lambda path: -found[path][3])
        for path in slowest[: given.shown]:
            print(f"{path[:89]:<90}" + "".join(f"{number * 1000:9.1f}" for number in found[path]))
        groups = defaultdict(list)
        for path, numbers in found.items():
            groups[path.partition("?")[0]].append(numbers)
        print(f"{'list or page':<40}{'ways':>6}{'p50':>9}{'p95':>9}{'p50 cpu':>9}{'p95 cpu':>9}  worst [ms]")
        for path, several in groups.items():
            worst = np.max(several, axis=0) * 1000
            print(f"{path:<40}{len(several):>6}" + "".join(f"{number:9.1f}" for number in worst))
        over = [sum(numbers[place] > 0.1 for numbers in found.values()) for place in (1, 3)]
        print(f"{len(found)} ways; p95 above 100 ms: {over[0]} on the clock, {over[1]} of the processor")
        if given.copy:
            for line in copied(folder, kept.database_url, into):
                print(line, flush=True)


if __name__ == "__main__":
    main()
