"""``rackline sweep``: a file of results, progress on the error output, an end that can be gone on from."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx
import polars
import pytest

from app.__main__ import main
from app.commands.sweeping import (
    ProgressBar,
    RowsFile,
    SweepInterrupt,
    interrupted_message,
    sweep_on_server,
    sweep_to_file,
)
from app.errors import BadInput
from app.features.sweeps.run import run_sweep
from app.platform.wording.voice import voice
from tests.conftest import ROOT, sizing_context
from tests.support.sweeping import Threads, sweep, wide


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.commands.sweeping.installed_context", sizing_context)


def positions(path: Path) -> list[int]:
    if path.suffix == ".parquet":
        return polars.read_parquet(path)["position"].to_list()
    with path.open(encoding="utf-8", newline="") as file:
        return [int(row["position"]) for row in csv.DictReader(file)]


@pytest.mark.parametrize("name", ["out.csv", "out.parquet"])
def test_results_are_in_the_order_of_the_sweep(tmp_path: Path, name: str) -> None:
    output = tmp_path / name
    assert sweep_to_file(wide(20).request, output, Threads(), resume=False) == 0
    assert positions(output) == list(range(20))
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_refused_points_are_counted(tmp_path: Path) -> None:
    systems = [{"id": "dgx-a100-640gb"}, {"id": "nosuch"}]
    assert sweep_to_file(sweep(systems=systems).request, tmp_path / "out.csv", Threads(), resume=False) == 1


def leave_rows(output: Path, rows: int, points: int = 40, *, replaces: bool = False) -> None:
    """Leave the rows of a run that ended in the middle of a line."""
    asked = wide(points)
    kept = RowsFile(output.with_name(f"{output.name}.rows"), asked, replaces)
    kept.open(resume=False)
    with kept.writing() as file:
        first = [point for point in asked.points() if point.position < rows]
        for found in run_sweep(first, sizing_context, Threads()):
            file.writelines(row.model_dump_json() + "\n" for row in found)
        file.write('{"position": 39, "key"')


def test_a_run_goes_on_from_its_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "out.csv"
    leave_rows(output, 30)
    crew = Threads()
    sweep_to_file(wide(40).request, output, crew, resume=True)
    assert positions(output) == list(range(40))
    assert "40 of 40 points, 100 %" in capsys.readouterr().err


@pytest.mark.parametrize("replaces", [True, False])
def test_a_run_that_may_replace_a_result_may_do_so_once_it_is_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, replaces: bool
) -> None:
    monkeypatch.setattr("app.commands.sweeping.crew", lambda *_: Threads())
    request, output = tmp_path / "request.json", tmp_path / "out.csv"
    request.write_text(wide(40).request.model_dump_json(exclude_unset=True), encoding="utf-8")
    output.write_text("an older result", encoding="utf-8")
    leave_rows(output, 30, replaces=replaces)
    command = ["rackline", "sweep", str(request), "--output", str(output), "--resume"]
    monkeypatch.setattr(sys, "argv", command)
    with pytest.raises(SystemExit) as ended:
        main()
    if replaces:
        assert ended.value.code == 0 and positions(output) == list(range(40))
    else:
        assert ended.value.code == 2 and output.read_text(encoding="utf-8") == "an older result"


class SweepServer:
    """A server that computes two more points of a sweep whenever it is looked at."""

    def __init__(self, interrupts: bool = False) -> None:
        self.done = 0
        self.interrupts = interrupts

    def post(self, path: str, body: bytes) -> dict[str, str]:
        assert path == "sweeps" and json.loads(body)
        return {"id": "swp_a2b3c4d5e6f7g2h3"}

    def get(self, path: str) -> dict[str, object]:
        assert path == "sweeps/swp_a2b3c4d5e6f7g2h3?limit=1"
        if self.interrupts and self.done:
            raise KeyboardInterrupt
        self.done += 2
        return {"status": "done" if self.done > 4 else "running", "total": 6, "done": self.done, "refused": 1}

    def call(self, method: str, path: str) -> httpx.Response:
        assert (method, path) == ("GET", "sweeps/swp_a2b3c4d5e6f7g2h3.csv")
        return httpx.Response(200, content=b"position\r\n")


def test_a_server_computes_a_sweep_that_is_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("app.commands.sweeping.LOOK_SECONDS", 0.0)
    request, output = tmp_path / "request.json", tmp_path / "out.csv"
    request.write_text('{"models": []}', encoding="utf-8")
    left = SweepServer(interrupts=True)
    with pytest.raises(SweepInterrupt) as interrupted:
        sweep_on_server(request, output, left, voice("en"))  # type: ignore[arg-type]
    assert "swp_a2b3c4d5e6f7g2h3" in str(interrupted_message(output, interrupted.value.sweep))
    assert not output.exists()
    known = Path("swp_a2b3c4d5e6f7g2h3")
    assert sweep_on_server(known, output, SweepServer(), voice("ko")) == 1  # type: ignore[arg-type]
    assert output.read_bytes() == b"position\r\n"
    assert "6개 중 6개, 100%" in capsys.readouterr().err


def test_a_run_that_was_broken_off_is_not_written_over(tmp_path: Path) -> None:
    output = tmp_path / "out.csv"
    leave_rows(output, 8)
    with pytest.raises(BadInput, match="--resume, or delete"):
        sweep_to_file(wide(40).request, output, Threads(), resume=False)
    with pytest.raises(BadInput, match="another sweep"):
        sweep_to_file(wide(41).request, output, Threads(), resume=True)
    with pytest.raises(BadInput, match="no run to resume"):
        sweep_to_file(wide(40).request, tmp_path / "other.csv", Threads(), resume=True)


@pytest.mark.parametrize("name", ["out.xlsx", "out", "no/such/folder/out.csv"])
def test_an_unusable_output_is_a_sentence(tmp_path: Path, name: str) -> None:
    with pytest.raises(BadInput) as caught:
        sweep_to_file(wide(2).request, tmp_path / name, Threads(), resume=False)
    assert caught.value.errors[0].field == "--output"


def test_a_run_without_a_row_leaves_nothing_behind(tmp_path: Path) -> None:
    def interrupted(chunk: object) -> bool:
        raise KeyboardInterrupt

    output = tmp_path / "out.csv"
    with pytest.raises(SweepInterrupt):
        sweep_to_file(wide(20).request, output, Threads(kills=interrupted), resume=False)
    assert list(tmp_path.iterdir()) == []
    assert interrupted_message(output).values == {}


def test_an_interruption_keeps_the_rows(tmp_path: Path) -> None:
    output = tmp_path / "out.csv"
    kept = tmp_path / "out.csv.rows"

    def interrupted(chunk: object) -> bool:
        # The first line names the sweep, the second is a row.
        if kept.exists() and len(kept.read_text(encoding="utf-8").splitlines()) > 1:
            raise KeyboardInterrupt
        return False

    with pytest.raises(SweepInterrupt):
        sweep_to_file(wide(80).request, output, Threads(kills=interrupted), resume=False)
    assert not output.exists()
    sweep_to_file(wide(80).request, output, Threads(), resume=True)
    assert positions(output) == list(range(80))


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_shows_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.commands.sweeping.BAR_SECONDS", 0.0)
    shown = Terminal()
    progress = ProgressBar(shown, 4, 0)
    progress.advance(1)
    progress.advance(3)
    progress.end()
    pictures = shown.getvalue().split("\r")
    assert pictures[1].startswith("[########......................] 1 of 4 points, 25 %")
    assert "[##############################] 4 of 4 points, 100 %" in pictures[-1]
    assert shown.getvalue().endswith("\n")


def test_elsewhere_there_is_a_line_now_and_then() -> None:
    shown = io.StringIO()
    progress = ProgressBar(shown, 1000, 0)
    for _ in range(1000):
        progress.advance(1)
    progress.end()
    assert len(shown.getvalue().splitlines()) <= 2
    assert "\r" not in shown.getvalue()


def test_the_command_stops_at_ctrl_c_and_goes_on(tmp_path: Path) -> None:
    request, output = tmp_path / "request.json", tmp_path / "out.csv"
    request.write_text(wide(160).request.model_dump_json(exclude_unset=True), encoding="utf-8")
    command = [sys.executable, "-W", "error", "-m", "app", "sweep", str(request), "--output", str(output)]
    command += ["--workers", "1"]
    with subprocess.Popen(
        command, cwd=ROOT, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as run:
        rows, deadline = tmp_path / "out.csv.rows", time.monotonic() + 60
        while time.monotonic() < deadline and (not rows.exists() or len(rows.read_bytes()) < 500):
            time.sleep(0.02)
        os.killpg(run.pid, signal.SIGINT)
        _, said = run.communicate(timeout=20)
    assert run.returncode == 130, said
    assert "Traceback" not in said
    assert str(rows) in said and "--resume" in said
    kept = len(rows.read_text(encoding="utf-8").splitlines()) - 1
    assert 0 < kept < 160
    done = subprocess.run(
        [*command, "--resume"], cwd=ROOT, capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stdout) == (0, f"{output} is complete\n"), done.stderr
    assert positions(output) == list(range(160))


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({}, "models"),
        ({"models": [{"model": {"profile_id": "prf_a"}}], "systems": [{"id": "ipu-pod16"}]}, "prf_a"),
    ],
)
def test_a_wrong_request_is_a_sentence(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    body: object,
    said: str,
) -> None:
    request, output = tmp_path / "request.json", tmp_path / "out.csv"
    request.write_text(json.dumps(body), encoding="utf-8")
    monkeypatch.setattr(sys, "argv", ["rackline", "sweep", str(request), "--output", str(output)])
    with pytest.raises(SystemExit) as caught:
        main()
    assert caught.value.code == 2
    assert said in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == [request]
