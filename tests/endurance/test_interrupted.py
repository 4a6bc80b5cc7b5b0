"""kill -9 in the middle of a migration, a freeze, a copy, an upload, a compilation.

A small one is in the suite; `-m endurance` kills each of them at every step.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.endurance.interrupted import WORKS, Installation, document, installed, interrupt, interrupt_each
from tests.support.buckets import bucket_server
from tests.support.postgres import PostgresCluster

MOST = 60
"""Steps at which a work is killed; a copy has some hundred."""

PDF = "app.features.proposals.service.proposal_pdf"


@pytest.fixture(autouse=True)
def _without_a_renderer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PDF, document)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Installation:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PDF, document)
        return installed(tmp_path_factory.mktemp("filled") / "first")


@pytest.mark.parametrize("name", WORKS)
def test_work_that_is_killed_is_whole_and_done_again(name: str, filled: Installation, tmp_path: Path) -> None:
    work, first = WORKS[name], filled.copy(tmp_path / "first")
    work.begin(first)
    interrupt(work, first, work.decisive)


@pytest.mark.endurance
@pytest.mark.parametrize("work", WORKS)
@pytest.mark.parametrize("shared", [False, True], ids=["folder", "bucket"])
@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_work_that_is_killed_step_by_step(
    work: str, shared: bool, database: str, tmp_path: Path, postgres: PostgresCluster
) -> None:
    server = postgres if database == "postgresql" else None
    with bucket_server() as bucket:
        first = installed(tmp_path / "first", server, bucket if shared else None)
        print(f"{database}, {'bucket' if shared else 'folder'}, {interrupt_each(WORKS[work], first, MOST)}")
