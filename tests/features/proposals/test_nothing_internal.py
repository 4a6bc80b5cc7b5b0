"""What a customer is given holds nothing of the workspace but what it is meant to hold."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator
from typing import Any

import pypdf
import pytest
from fastapi import FastAPI

from app.features.proposals import service as proposals
from app.features.proposals.customers import reply_to
from app.features.proposals.lines import content_hash
from app.features.proposals.model import ReplyRequest, ReviewRequest
from app.features.proposals.review import Mailer, take_step
from app.platform.identity import Identity
from app.platform.store.trail import Actor, acting
from app.platform.web.examples import ACCELERATOR
from tests.support.application import Reader

POISON = "zqpoison"
"""A word in every text that is not for the customer."""

INTERNAL = re.compile(r"\b(?:est|cmp|stu|cal|prb|pbk|prf|wkl|upl|acc|key|ws|siz|bom|swp)_[a-z0-9]{6,}")
"""Identifiers of what a proposal is made of."""

RAW = re.compile(r"procurement|A Dutch university", re.IGNORECASE)
"""Words of sources that sellers do not name."""

AUTHOR = Actor("person", "acc_poisoned", f"{POISON}@example.com", "192.0.2.7", "")


def made(reader: Reader, path: str, **body: Any) -> Any:
    answer = reader.ask("POST", f"/api/v1{path}", **body)
    assert answer.is_success, answer.text
    return answer.json()


@pytest.fixture(scope="module")
def poisoned(reader: Reader) -> dict[str, Any]:
    """The request of a proposal of a study whose every source has a poisoned text."""
    layers = "name,kind,count,rows,inner,columns\nproject,gemm,12,128,1024,1024\n"
    file = (f"{POISON}.csv", layers.encode())
    profile = made(reader, "/profiles", files={"file": file})["id"]
    own = {**ACCELERATOR, "data_sheet": f"{POISON} sheet.pdf"}
    with acting(AUTHOR):
        accelerator = made(reader, "/accelerators", json=own)["id"]
    sample = (f"{POISON}.txt", b"one two three\nfour\n" * 20)
    made(reader, "/workloads", files={"file": sample})
    rows = [
        {"item": item, "parameter": "price", "value": value, "unit": "USD", "note": f"{POISON} offer"}
        for item, value in (("dgx-a100-640gb", 150_000), ("qm8790", 9_000))
    ]
    book = made(reader, "/price-books", json={"name": f"{POISON} prices", "rows": rows, "comment": POISON})[
        "id"
    ]
    work = {"samples": 1e7, "global_batch": 512, "precision": "fp16"}
    system = {"id": "dgx-a100-640gb", "count": 2, "fabric": "hdr-infiniband"}
    estimate = {"model": {"profile_id": profile}, "workload": work, "system": system, "label": POISON}
    runs = [
        {"samples_per_s": rate, "system": {"count": count}, "note": f"{POISON} run"}
        for rate, count in ((20_000, 1), (38_000, 2))
    ]
    fit = made(reader, "/calibrations", json={"label": f"{POISON} fit", "estimate": estimate, "runs": runs})
    study = made(
        reader,
        "/studies",
        json={
            "name": "Training",
            "notes": f"{POISON} notes",
            "customer": "하이퍼커넥트",
            "base": {
                "model": {"profile_id": profile},
                "workload": work,
                "software": fit["software"],
                "assumptions": {"price_book_id": book},
                "currency": "USD",
            },
            "options": [
                {"system": system},
                {"system": {"id": "aws-p4d", "count": 2}, "software": None},
                {"system": {"id": accelerator, "count": 1}, "software": None},
                {"system": {"id": "dgx-h100", "count": 1}, "software": None},
            ],
        },
    )["id"]
    network = estimate
    return {
        "study_id": study,
        "customer": "하이퍼커넥트",
        "locale": "en",
        "currency": "USD",
        "price_book_id": book,
        "calibration_id": fit["id"],
        "fabric_choice": {"estimate": network, "price_book_id": book},
        "bill": {"storage_tb": 100, "spare": 1},
        "sender": {"organization": "Rackline GmbH", "email": "sales@example.com"},
    }


def texts_of(kind: str, data: bytes) -> Iterator[tuple[str, str]]:
    """Return every text of a file, with where it stands."""
    if kind == "xlsx":
        with zipfile.ZipFile(io.BytesIO(data)) as book:
            for name in book.namelist():
                yield name, book.read(name).decode()
    elif kind == "pdf":
        paper = pypdf.PdfReader(io.BytesIO(data))
        yield "text", re.sub(r"\s+", " ", "\n".join(page.extract_text() for page in paper.pages))
        yield "metadata", str(paper.metadata) + str(paper.xmp_metadata)
        for name, files in paper.attachments.items():
            for file in files:
                yield name, file.decode()
    else:
        yield "", data.decode()


def test_no_export_page_or_event_holds_what_is_not_for_the_customer(
    reader: Reader, app: FastAPI, poisoned: dict[str, Any]
) -> None:
    workspace = app.state.installation.workspace("ws_local")
    mailer = Mailer(Identity(workspace.installation.store, workspace.installation.sealer), "http://localhost")
    with acting(AUTHOR):
        identifier = made(reader, "/proposals", json=poisoned)["id"]
        for step in ("submit", "approve", "send"):
            take_step(
                workspace, identifier, ReviewRequest.model_validate({"step": step, "note": POISON}), mailer
            )
    link = made(reader, f"/proposals/{identifier}/share", json={})["path"]
    reader.submit(f"{link}/answer", {"act": "ask", "text": "When?"})
    with acting(AUTHOR):
        reply_to(workspace, identifier, ReplyRequest(text="In May."))
    found = []
    for kind in ("", "json", "csv", "xlsx", "pdf"):
        answer = reader.get(f"{link}.{kind}" if kind else link)
        assert answer.status_code == 200
        for place, text in texts_of(kind, answer.content):
            for wrong in (re.compile(POISON), INTERNAL, RAW):
                for hit in wrong.finditer(text):
                    around = text[max(0, hit.start() - 60) : hit.end() + 40]
                    found.append((kind or "page", place, around.replace("\n", " ")))
    assert found == []
    shown = reader.get(link).text
    assert "하이퍼커넥트" in shown and "Rackline GmbH" in shown and "In May." in shown
    given = reader.data(f"{link}.json")
    titles = {source["id"]: source["title"] for source in given["content"]["sources"]}
    assert {"pbk_", "own-", "dutch-hpc-prices-2023"} <= titles.keys()
    assert content_hash(given["content"]) == given["sha256"], "what is given is what was signed"
    assert proposals.replay_proposal(workspace, identifier, note=False).refused == []
