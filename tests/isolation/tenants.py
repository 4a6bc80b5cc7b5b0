"""Two workspaces that know nothing of each other, and everything that can be kept, kept in one of them."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import sqlalchemy as sa
from fastapi import FastAPI
from sqlmodel import SQLModel

from app.main import create_app
from app.platform import rates
from app.platform.admission import Credentials, Principal, Role
from app.platform.rates import CostClass, Rates
from app.platform.web.examples import ACCELERATOR, BOOK, BOOK_CHANGE, RESNET, STUDY
from app.settings import Settings
from tests.support.jobs import do_next
from tests.support.sweeping import BASE, Threads

ONE, TWO = "ws_one", "ws_two"

TABLES: Mapping[str, str | None] = {
    "profile": "id",
    "upload_file": "profile_id",
    "workload_sample": "id",
    "estimate": "id",
    "calibration": "id",
    "sweep": "id",
    "sweep_row": "sweep_id",
    "job": "id",
    "sizing": "id",
    "price_book": "id",
    "price_book_version": "book_id",
    "accelerator": "id",
    "accelerator_version": "accelerator_id",
    "bill": "id",
    "study": "id",
    "study_version": "study_id",
    "proposal": "id",
    "proposal_event": "proposal_id",
    "proposal_artifact": "proposal_id",
    "proposal_share": "proposal_id",
    "api_key": "id",
    "webhook": "id",
    "webhook_delivery": "id",
    "idempotency_key": None,
    "audit_event": None,
}
"""Table → column of the identifier by which its rows are asked for; none where they cannot be."""

MOMENT = re.compile(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")

STATE = re.compile(r"(?<=[?&;]state=)[a-z2-7]{10}\b")
"""Short name of a state of a study, which is made of what was asked."""


class KnownBearers:
    """Admission by a word in place of a key: who it is."""

    def __init__(self, **principals: Principal) -> None:
        self.principals = principals

    def principal(self, credentials: Credentials) -> Principal | None:
        return self.principals.get(credentials.bearer or "")


def principals() -> dict[str, Principal]:
    """Return who asks in the tests: an owner of each workspace."""
    return {
        "one": Principal(ONE, "First", Role.OWNER, account_id="acc_first"),
        "two": Principal(TWO, "Second", Role.OWNER, account_id="acc_second"),
    }


def tenants(directory: Path, **settings: Any) -> FastAPI:
    """Return an application with two workspaces."""
    app = create_app(Settings.at(directory, **settings))
    app.state.admission = KnownBearers(**principals())
    # Everybody asks here more often than they may.
    app.state.rates = Rates(dict.fromkeys(rates.ClientKind, dict.fromkeys(CostClass, 1_000_000)))
    for workspace in (ONE, TWO):
        with app.state.installation.workspace(workspace).transaction() as repository:
            repository.ensure_workspace(workspace)
    return app


class BearerKind:
    """Sends requests to an application in this process, as one of the principals or as nobody."""

    def __init__(self, app: FastAPI) -> None:
        self.client = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost")
        self.asked = 0

    async def __call__(
        self, who: str, method: str, path: str, *, page: bool = False, **more: Any
    ) -> httpx.Response:
        accepted = "text/html" if page else "application/json"
        # The same for every request: answers are compared letter by letter.
        headers = {"accept": accepted, "x-request-id": "the-walk", **more.pop("headers", {})}
        if who:
            headers["authorization"] = f"Bearer {who}"
        self.asked += 1
        return await self.client.request(method, path, headers=headers, **more)


Ask = Callable[..., Awaitable[httpx.Response]]


@dataclass
class Tenant:
    """What a workspace keeps."""

    mark: str
    """A word in every text of the workspace, and nowhere else."""
    apart: str = ""
    """A word in the texts of what no proposal is made of."""
    ids: dict[str, str] = field(default_factory=dict)
    """Kind of object → one of them."""
    options: dict[str, str] = field(default_factory=dict)
    """Kind of object → a second identifier in its addresses."""
    draft: str = ""
    """A second proposal, which can still be changed."""
    token: str = ""
    """Of the link to its proposal."""
    everything: set[str] = field(default_factory=set)
    """Every identifier of the workspace."""

    def own(self, identifier: str) -> str:
        """Return the object of the same kind as another's."""
        return self.ids[identifier[:3]]


async def filled(app: FastAPI, ask: Ask, who: str, workspace: str) -> Tenant:
    """Keep one of everything in a workspace."""
    kept = Tenant(f"zq{secrets.token_hex(6)}", f"xq{secrets.token_hex(6)}")
    mark, api, apart = kept.mark, "/api/v1", f"{kept.mark} {kept.apart}"

    async def made(path: str, **body: Any) -> Any:
        answer = await ask(who, "POST", f"{api}{path}", headers={"idempotency-key": f"key-{path}"}, **body)
        assert answer.status_code in {200, 201}, (path, answer.text)
        document = answer.json()
        if isinstance(document, dict) and "id" in document:
            kept.ids.setdefault(document["id"][:3], document["id"])
        return document

    model = json.dumps({"model_type": "gpt2", "n_layer": 4, "n_head": 4, "n_embd": 256, "vocab_size": 1000})
    profile = await made("/profiles", files={"file": (f"model {mark}.json", model.encode())})
    sample = await made("/workloads", files={"file": (f"data {mark}.txt", b"one two three\nfour\n" * 20)})
    book = await made("/price-books", json=marked(BOOK, apart) | {"name": f"book {mark}"})
    await ask(who, "PATCH", f"{api}/price-books/{book['id']}", json={**BOOK_CHANGE, "comment": apart})
    accelerator = {**ACCELERATOR, "name": f"accelerator {apart}", "data_sheet": f"data sheet {apart}"}
    await made("/accelerators", json=accelerator)
    measured = {
        "label": f"calibration {mark}",
        "estimate": {**RESNET, "label": mark, "software": "gpu-tuned"},
        "runs": [{"samples_per_s": 20000, "note": f"run {apart}"}],
    }
    fitted = await made("/calibrations", json=measured)
    asked = {
        "label": f"estimate {mark}",
        "model": {"profile_id": profile["id"]},
        "workload": {"workload_id": sample["id"], "samples": 1e5, "global_batch": 64},
        "system": {"id": "dgx-a100-640gb"},
        "software": fitted["software"],
        "assumptions": {"price_book_id": book["id"]},
    }
    estimate = await made("/estimates", json=asked)
    figure = {"label": f"figure {mark}", "hours": 3.5, "kind": "vendor"}
    rows = [figure, asked, {**RESNET, "label": f"option {mark}"}]
    comparison = await made("/comparisons", json={"title": f"comparison {mark}", "rows": rows})
    sizing = {
        "label": f"sizing {apart}",
        "model": {"profile_id": profile["id"]},
        "workload": {"samples": 1e6, "global_batch": 64, "seq_len": 128},
        "systems": ["dgx-a100-640gb"],
        "counts": [1],
        "deadline_s": 1e6,
    }
    await made("/sizings", json=sizing)
    await made("/boms", json={"label": f"bill {apart}", "estimate_id": estimate["id"]})
    # A search over all systems is soonest done for a network without plans to search.
    base = STUDY["base"] | {"model": RESNET["model"], "workload": RESNET["workload"]}
    study = {**STUDY, "base": base, "name": f"study {apart}", "notes": f"notes {apart}"}
    study = await made("/studies", json=study)
    await ask(who, "PATCH", f"{api}/studies/{study['id']}", json={"name": f"again {apart}"})
    sweep = {**BASE, "title": f"sweep {apart}", "scenarios": [{"label": f"scenario {apart}"}]}
    # Who follows a search hears how far it is, which is never twice the same: it is made before.
    await ask(who, "GET", f"/studies/{study['id']}/systems?run=wait", page=True)
    kept.options["stu"] = (await made("/sweeps", json=sweep))["id"]
    assert do_next(app.state.installation, Threads)
    proposal = {
        "comparison_id": comparison["id"],
        "customer": f"customer {mark}",
        "title": f"proposal {mark}",
        "reason": f"reason {mark}",
        "locale": "en",
        "currency": "USD",
    }
    frozen = await made("/proposals", json=proposal)
    kept.draft = (await ask(who, "POST", f"{api}/proposals", json=proposal)).json()["id"]
    path = f"{api}/proposals/{frozen['id']}"
    assert (await ask(who, "POST", f"{path}/freeze")).status_code == 200
    kept.token = (await ask(who, "POST", f"{path}/share", json={})).json()["token"]
    await ask("", "GET", f"/s/{kept.token}")
    await made("/keys", json={"name": f"key {apart}", "scopes": ["read"]})
    hook = await made("/webhooks", json={"name": f"webhook {apart}", "url": "https://hooks.example.com/told"})
    tried = await ask(who, "POST", f"{api}/webhooks/{hook['id']}/test")
    assert tried.status_code == 202, tried.text
    kept.options["whk"] = tried.json()["id"]
    kept.everything = identifiers(app, workspace)
    assert set(kept.ids.values()) <= kept.everything
    return kept


def marked(body: Mapping[str, Any], mark: str) -> dict[str, Any]:
    """Return a price book with a word in each of its texts."""
    rows = [{**row, "note": f"note {mark}"} for row in body["rows"]]
    return {**body, "rows": rows, "comment": f"comment {mark}"}


def identifiers(app: FastAPI, workspace: str) -> set[str]:
    """Return every identifier of a workspace, by its tables."""
    found: set[str] = set()
    with app.state.installation.store.engine.connect() as connection:
        for name, column in TABLES.items():
            if column is not None:
                table = SQLModel.metadata.tables[name]
                query = sa.select(table.c[column]).where(table.c.workspace_id == workspace)
                found |= set(connection.scalars(query))
    return found


def rows_by_table(app: FastAPI, workspace: str) -> dict[str, list[str]]:
    """Return what the tables hold of a workspace."""
    found = {}
    with app.state.installation.store.engine.connect() as connection:
        for name, table in SQLModel.metadata.tables.items():
            if "workspace_id" in table.c:
                query = sa.select(table).where(table.c.workspace_id == workspace)
                found[name] = sorted(map(repr, connection.execute(query).all()))
    return found


def never(identifier: str) -> str:
    """Return an identifier of the same kind that never was; in Korean its last letter decides a particle."""
    return f"{identifier[:4]}aaaaaaaaaaaaaaa{identifier[-1]}"


def compact(answer: httpx.Response, *said: str) -> tuple[int, str]:
    """Return status and body of an answer, without the identifiers that were asked for and the moment."""
    if "spreadsheet" in answer.headers.get("content-type", ""):
        return answer.status_code, ""
    text = STATE.sub("…", MOMENT.sub("…", answer.text))
    if "event-stream" in answer.headers.get("content-type", ""):
        # How far something is differs from moment to moment; how it ends does not.
        text = "\n\n".join(event for event in text.split("\n\n") if "event: " in event)
    for one in said:
        text = text.replace(one, "…")
    return answer.status_code, text
