"""Backup, check-store and purge from the command line, beside a server that runs."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
import threading
from datetime import timedelta
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from app.__main__ import command_line
from app.errors import AppError, Conflict
from app.main import make_installation
from app.platform.store.database import Store
from app.platform.store.migrate import REVISIONS
from app.platform.store.tables import EstimateRow
from app.platform.store.trail import TrailFilter
from app.platform.web.examples import GPT3
from app.platform.workspace import LOCAL_WORKSPACE
from app.settings import Settings
from tests.conftest import ROOT
from tests.support.objects import moved_clock, step
from tests.support.serving import serving

LAYERS = b"name,kind,count,rows,inner,columns\nproject,gemm,12,128,1024,1024\n"


def rackline(data_dir: Path, *arguments: str) -> Result:
    """Run a command on a directory; errors of ours come through."""
    done = CliRunner().invoke(
        command_line(arguments[0]), [*arguments], env={"RACKLINE_DATA_DIR": str(data_dir)}
    )
    if isinstance(done.exception, AppError):
        raise done.exception
    return done


RUNBOOK = ROOT / "docs" / "runbook.md"


def back_up(data: Path, backup: Path) -> None:
    """Do what the runbook says, in its own words."""
    (command,) = re.findall(
        r'^(python3 -c .*) "\$FROM" "\$TO"', RUNBOOK.read_text(encoding="utf-8"), re.MULTILINE
    )
    _, option, program = shlex.split(command)
    backup.mkdir()
    files = [str(folder / "rackline.sqlite3") for folder in (data, backup)]
    subprocess.run([sys.executable, option, program, *files], check=True)
    shutil.copytree(data / "uploads", backup / "uploads")


def test_a_backup_beside_a_server_that_is_written_to(tmp_path: Path) -> None:
    data, again = tmp_path / "data", tmp_path / "again"
    data.mkdir(mode=0o700)
    with serving(data) as (process, client):
        profile = client.post("/api/v1/profiles", files={"file": ("layers.csv", LAYERS)}).json()["id"]
        kept = [client.post("/api/v1/estimates", json=GPT3).json()["id"] for _ in range(3)]
        # A gap among the rows, which the index of words must not notice.
        assert client.delete(f"/api/v1/estimates/{kept.pop(1)}").status_code == 204
        stop, answers = threading.Event(), []

        def write() -> None:
            while not stop.is_set():
                answers.append(client.post("/api/v1/estimates", json=GPT3).status_code)

        writer = threading.Thread(target=write)
        writer.start()
        back_up(data, again)
        stop.set()
        writer.join()
        assert set(answers) <= {201}
        process.kill()
    assert rackline(data, "check-store").exit_code == 0
    assert rackline(again, "check-store").exit_code == 0
    with serving(again) as (_, client):
        assert client.get(f"/api/v1/estimates/{kept[0]}").status_code == 200
        assert client.get(f"/api/v1/profiles/{profile}/file").content == LAYERS
    counted = rackline(again, "purge", "--dry-run")
    assert counted.exit_code == 0 and "estimates: 0 would go" in counted.stdout
    file = next(again.glob("uploads/*/*/*"))
    file.write_bytes(b"x")
    found = rackline(again, "check-store")
    assert found.exit_code == 1 and str(file) in found.stdout
    with again.joinpath("rackline.sqlite3").open("r+b") as database:
        database.write(bytes(4096))
    found = rackline(again, "check-store")
    assert found.exit_code == 1 and "restore the newest backup" in found.stdout


@pytest.mark.parametrize("revision", [None, REVISIONS[0]])
def test_tables_of_another_version_are_said_and_left_alone(tmp_path: Path, revision: str | None) -> None:
    if revision is not None:
        store = Store(Settings.at(tmp_path).database_url)
        step(store, revision)
        store.close()
    found = rackline(tmp_path, "check-store")
    assert found.exit_code == 1 and len(found.stdout.splitlines()) == 1
    for arguments in (("purge",), ("purge", "--dry-run")):
        with pytest.raises(Conflict, match="start the server once"):
            rackline(tmp_path, *arguments)


def test_what_is_purged_by_hand_is_put_down_to_the_operator(tmp_path: Path) -> None:
    installation = make_installation(Settings.at(tmp_path))
    with moved_clock() as clock, installation.workspace(LOCAL_WORKSPACE).transaction() as repository:
        clock.by = timedelta(days=-100)
        repository.add(EstimateRow(id="est_old", label="old", request={}, document={}))
    environment = {"RACKLINE_DATA_DIR": str(tmp_path), "RACKLINE_RETENTION_DAYS": "estimates=90"}
    done = CliRunner().invoke(command_line("purge"), ["purge"], env=environment)
    assert "estimates: 1 have gone" in done.stdout
    with installation.workspace(LOCAL_WORKSPACE).transaction() as repository:
        (event, _), _ = repository.trail.listing(TrailFilter(), 10, None)
    assert (event.action, event.actor_kind) == ("estimate.deleted", "operator")
    installation.store.close()
