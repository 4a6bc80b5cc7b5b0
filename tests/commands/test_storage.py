"""Backup, restore, check-store and purge from the command line, beside a server that runs."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from app.__main__ import command_line
from app.errors import AppError, Conflict
from app.web.api.examples import GPT3
from tests.serving import serving

LAYERS = b"name,kind,count,rows,inner,columns\nproject,gemm,12,128,1024,1024\n"


def rackline(data_dir: Path, *arguments: str) -> Result:
    """Run a command on a directory; errors of ours come through."""
    done = CliRunner().invoke(
        command_line(arguments[0]), [*arguments], env={"RACKLINE_DATA_DIR": str(data_dir)}
    )
    if isinstance(done.exception, AppError):
        raise done.exception
    return done


def test_a_backup_beside_a_server_that_is_written_to(tmp_path: Path) -> None:
    data, again, archive = tmp_path / "data", tmp_path / "again", tmp_path / "backup.tar.gz"
    data.mkdir(mode=0o700)
    with serving(data) as (process, client):
        profile = client.post("/api/v1/profiles", files={"file": ("layers.csv", LAYERS)}).json()["id"]
        kept = [client.post("/api/v1/estimates", json=GPT3).json()["id"]]
        stop, answers = threading.Event(), []

        def write() -> None:
            while not stop.is_set():
                answers.append(client.post("/api/v1/estimates", json=GPT3).status_code)

        writer = threading.Thread(target=write)
        writer.start()
        done = rackline(data, "backup", str(archive))
        stop.set()
        writer.join()
        assert done.exit_code == 0 and "1 files" in done.stdout
        assert set(answers) <= {201}
        process.kill()
    assert rackline(data, "check-store").stdout == "what is kept is whole\n"
    with pytest.raises(Conflict):
        rackline(data, "restore", str(archive))
    assert rackline(again, "restore", str(archive)).exit_code == 0
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
