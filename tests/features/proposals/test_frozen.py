"""Proposals that earlier versions froze: hashed, served and replayed by this one as they were stored.

The folder frozen holds a Korean proposal of a study and an English one of a comparison as each commit stored
them, and the PDF of the Korean one.
"""

from __future__ import annotations

import copy
import hashlib
import io
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx
import openpyxl
import pytest
import rfc8785

from app.features.operation.store_check import check_store
from app.features.proposals.lines import content_hash
from app.features.proposals.model import EDITION
from app.main import create_app
from app.platform.store.tables import ProposalRecord
from app.platform.workspace import Installation
from app.settings import Settings
from tests.support.application import asking

FROZEN = Path(__file__).parent / "frozen"

COMMITS = ("e31c2456", "79546105", "8d330211")

MOMENTS = ("created_at", "updated_at", "frozen_at")

LANGUAGES = {"korean": "ko", "english": "en"}

Ask = Callable[..., httpx.Response]


@dataclass(frozen=True, slots=True)
class FrozenServer:
    """A server of this version with proposals that were frozen by another."""

    ask: Ask
    installation: Installation
    rows: dict[str, dict[str, Any]]
    """Stored columns of each proposal, by the language of its name."""
    pdf: bytes

    def address(self, name: str) -> str:
        return f"/proposals/{self.rows[name]['id']}"

    def stored(self, name: str) -> dict[str, Any]:
        """Return the columns of a proposal and its PDF as they stand now."""
        with self.installation.store.transaction("ws_local") as repository:
            record = repository.get(ProposalRecord, self.rows[name]["id"])
            artifacts = repository.of_proposal(self.rows[name]["id"]).artifacts()
            assert record is not None
            return {**record.model_dump(), "artifacts": [one.data for one in artifacts]}


def install(folder: Path, rows: dict[str, dict[str, Any]], pdf: bytes) -> FrozenServer:
    application = create_app(Settings.at(folder))
    installation = application.state.installation

    ask = asking(application)
    assert ask("GET", "/healthz").status_code == 200
    for row in rows.values():
        moments = {name: row[name] and datetime.fromisoformat(row[name]) for name in MOMENTS}
        with installation.store.transaction("ws_local") as repository:
            repository.add(ProposalRecord(**{**row, **moments, "workspace_id": "ws_local"}))
        if row["frozen_at"] is None:
            continue
        with installation.store.transaction("ws_local") as repository:
            repository.of_proposal(row["id"]).add_artifact("pdf", hashlib.sha256(pdf).hexdigest(), pdf)
    return FrozenServer(ask, installation, rows, pdf)


def read_rows(commit: str) -> dict[str, dict[str, Any]]:
    return {name: json.loads((FROZEN / f"{commit}-{name}.json").read_text("utf-8")) for name in LANGUAGES}


@pytest.fixture(scope="module", params=COMMITS)
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[FrozenServer]:
    pdf = (FROZEN / f"{request.param}.pdf").read_bytes()
    made = install(tmp_path_factory.mktemp("frozen"), read_rows(request.param), pdf)
    yield made
    made.installation.store.close()


def check_content(server: FrozenServer, name: str) -> None:
    """Check that every answer holds the content as it was stored, with its hash."""
    row, address = server.rows[name], server.address(name)
    canonical = rfc8785.dumps(row["content"])
    assert hashlib.sha256(canonical).hexdigest() == row["sha256"]
    shared = server.ask("POST", f"/api/v1{address}/share").json()["path"]
    for path in (f"/api/v1{address}", f"/api/v1{address}.json", f"{address}.json", f"{shared}.json"):
        answer = server.ask("GET", path)
        assert answer.status_code == 200, answer.text
        assert rfc8785.dumps(answer.json()["content"]) == canonical, path
        assert answer.json()["sha256"] == row["sha256"]


def check_replay(server: FrozenServer, name: str) -> dict[str, Any]:
    """Check that a replay answers and alters nothing; return its answer."""
    before = server.stored(name)
    replayed = server.ask("POST", f"/api/v1{server.address(name)}/replay")
    assert replayed.status_code == 200, replayed.text
    assert server.ask("GET", f"{server.address(name)}/replay").status_code == 200
    assert server.stored(name) == before
    found: dict[str, Any] = replayed.json()
    assert found["sha256"] == before["sha256"]
    return found


def test_the_check_finds_no_fault(server: FrozenServer) -> None:
    assert list(check_store(server.installation)) == []


@pytest.mark.parametrize("name", LANGUAGES)
def test_the_content_is_given_out_as_it_was_stored(server: FrozenServer, name: str) -> None:
    check_content(server, name)


@pytest.mark.parametrize("name", LANGUAGES)
def test_every_file_is_served_in_its_language(server: FrozenServer, name: str) -> None:
    row, language = server.rows[name], LANGUAGES[name]
    address = server.address(name)
    shared = server.ask("POST", f"/api/v1{address}/share").json()["path"]
    recommended = {"ko": "추천", "en": "Recommended"}[language]
    for path in (f"/api/v1{address}", address, shared):
        assert server.ask("GET", f"{path}.pdf").content == server.pdf
        table = server.ask("GET", f"{path}.csv").text
        assert row["sha256"] in table and recommended in table
        book = openpyxl.load_workbook(io.BytesIO(server.ask("GET", f"{path}.xlsx").content))
        cells = [str(cell.value) for sheet in book for line in sheet.iter_rows() for cell in line]
        assert row["content"]["title"] in cells
        assert any(recommended in cell for cell in cells)
    for path in (f"{address}?lang={language}", shared):
        page = server.ask("GET", path)
        assert page.status_code == 200
        assert f'lang="{language}"' in page.text
        assert row["content"]["customer"] in page.text and row["sha256"][:12] in page.text
    assert list(check_store(server.installation)) == []


@pytest.mark.parametrize("name", LANGUAGES)
def test_a_replay_lists_what_changed_and_alters_nothing(server: FrozenServer, name: str) -> None:
    found = check_replay(server, name)
    assert found["refused"] == []
    assert found["compared"] > 50
    assert found["engine_version"]["then"] == server.rows[name]["content"]["engine_version"]


def with_unknown_fields(row: dict[str, Any]) -> dict[str, Any]:
    """Return a proposal as a version froze it whose fields this one does not know."""
    row = copy.deepcopy(row)
    content = row["content"]
    sections = content.get("sections", [])
    estimates = [one["estimate"] for one in content["comparison"]["rows"] if one["estimate"] is not None]
    for part in (
        content,
        content["advice"],
        content["branding"],
        *sections,
        *estimates,
        *content["requests"],
    ):
        part["twin"] = {"of": ["another", 1.5, None]}
    if "sender" in content:
        content["sender"]["twin"] = "fax"
    row["request"]["twin"] = "fax"
    row["sha256"] = content_hash(content)
    return row


@pytest.mark.parametrize("commit", COMMITS)
def test_fields_that_are_unknown_today_are_kept(commit: str, tmp_path: Path) -> None:
    rows = {name: with_unknown_fields(row) for name, row in read_rows(commit).items()}
    made = install(tmp_path, rows, (FROZEN / f"{commit}.pdf").read_bytes())
    assert list(check_store(made.installation)) == []
    for name in rows:
        check_content(made, name)
        for path in (made.address(name), f"{made.address(name)}.csv", f"{made.address(name)}.xlsx"):
            assert made.ask("GET", path).status_code == 200
        assert check_replay(made, name)["refused"] == []
    assert list(check_store(made.installation)) == []
    made.installation.store.close()


@pytest.mark.parametrize("commit", COMMITS)
def test_a_draft_of_an_earlier_version_freezes_in_the_layout_of_today(commit: str, tmp_path: Path) -> None:
    row = read_rows(commit)["english"] | {"frozen_at": None, "sha256": None, "review": "draft"}
    made = install(tmp_path, {"english": row}, b"")
    address = f"/api/v1{made.address('english')}"
    frozen = made.ask("POST", f"{address}/freeze")
    assert frozen.status_code == 200, frozen.text
    content = made.ask("GET", address).json()["content"]
    assert content["edition"] == EDITION
    assert content_hash(content) == frozen.json()["sha256"]
    assert list(check_store(made.installation)) == []
    made.installation.store.close()


def test_the_check_finds_a_content_that_was_altered(tmp_path: Path) -> None:
    rows = read_rows(COMMITS[-1])
    rows["korean"]["content"]["comparison"]["title"] += " "
    made = install(tmp_path, rows, b"%PDF-1.7")
    assert [fault.message.values["id"] for fault in check_store(made.installation)] == [rows["korean"]["id"]]
    made.installation.store.close()
