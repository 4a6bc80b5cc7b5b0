"""The command: text or JSON on the standard output, sentences on the error output, exit codes."""

import csv
import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from app import __version__
from app.__main__ import COMMANDS, command_line, main
from app.platform.web.examples import CONFIG, GPT3, SIZING
from app.profiles.presets import data_directory

ROOT = data_directory().parent

Rackline = Callable[..., "subprocess.CompletedProcess[str]"]


def rackline_apart(*arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run the command as its user does."""
    command = [sys.executable, "-W", "error", "-m", "app", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)


@pytest.fixture
def rackline(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Rackline:
    """Return the command, run in this process: a process of its own takes half a second to start."""

    # Whoever runs the tests may speak another language.
    monkeypatch.setenv("LC_ALL", "C")

    def run(*arguments: str, stdin: str = "") -> "subprocess.CompletedProcess[str]":
        monkeypatch.setattr(sys, "argv", ["rackline", *arguments])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        with pytest.raises(SystemExit) as ended:
            main()
        said, complained = capsys.readouterr()
        return subprocess.CompletedProcess(arguments, int(ended.value.code or 0), said, complained)

    return run


@pytest.fixture
def request_file(tmp_path: Path) -> str:
    path = tmp_path / "request.json"
    path.write_text(json.dumps(GPT3), encoding="utf-8")
    return str(path)


def test_estimate_in_json_is_the_document(request_file: str) -> None:
    done = rackline_apart("estimate", request_file, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["plan"]["tensor"] == 8


def test_an_error_ends_the_process_with_2_and_no_traceback() -> None:
    done = rackline_apart("estimate", "no-such-file.json")
    assert (done.returncode, done.stdout) == (2, "")
    assert "no-such-file.json" in done.stderr and "Traceback" not in done.stderr


def test_sizing_as_text_and_in_json(rackline: Rackline, tmp_path: Path) -> None:
    path = tmp_path / "sizing.json"
    path.write_text(json.dumps(SIZING), encoding="utf-8")
    text = rackline("size", str(path)).stdout
    for word in ("× AWS p4d.24xlarge", "dgx-a100-640gb", "probability", "options shown"):
        assert word in text
    done = rackline("size", str(path), "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["options"]
    path.write_text(json.dumps({**SIZING, "deadline_s": -1}), encoding="utf-8")
    refused = rackline("size", str(path))
    assert refused.returncode == 2 and "-1" in refused.stderr


def test_estimate_as_text_says_how_long_and_what_it_costs(rackline: Rackline, request_file: str) -> None:
    text = rackline("estimate", request_file).stdout
    for word in ("Training time", "Cost per run", "GPT-3 175B", "megatron-2022"):
        assert word in text


def test_a_request_may_come_from_the_standard_input(rackline: Rackline) -> None:
    assert rackline("estimate", "-", "--json", stdin=json.dumps(GPT3)).returncode == 0


@pytest.mark.parametrize(
    ("arguments", "stdin", "sentence"),
    [
        (("estimate", "-"), "{", "not JSON"),
        (("estimate", "-"), "{}", "model"),
        (("estimate", "-"), json.dumps(GPT3 | {"system": {"id": "dgx"}}), "system.id"),
        (("estimate", "no-such-file.json"), "", "no-such-file.json"),
        (("profile", "no-such-file"), "", "no-such-file"),
        (("validate", "no-such-file.csv"), "", "no-such-file.csv"),
        (("validate", "-"), "a,b\n1,2\n", "columns"),
        (("serve", "--host", "0.0.0.0"), "", "accounts"),
        (("serve", "--port", "99999"), "", "65535"),
        (("nonsense",), "", "nonsense"),
    ],
)
def test_errors_are_sentences_and_exit_with_2(
    rackline: Rackline, arguments: tuple[str, ...], stdin: str, sentence: str
) -> None:
    done = rackline(*arguments, stdin=stdin)
    assert done.returncode == 2
    assert done.stdout == ""
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr


def test_what_does_not_fit_ends_with_1(rackline: Rackline, tmp_path: Path) -> None:
    path = tmp_path / "request.json"
    small = {**GPT3, "system": {"id": "dgx-a100-640gb", "count": 1}, "plan": {}}
    path.write_text(json.dumps(small), encoding="utf-8")
    done = rackline("estimate", str(path))
    assert done.returncode == 1 and "memory" in done.stdout
    del small["plan"]
    path.write_text(json.dumps(small), encoding="utf-8")
    done = rackline("search", str(path))
    assert done.returncode == 1 and "no plan fits" in done.stdout
    path.write_text(json.dumps({**SIZING, "deadline_s": 60.0}), encoding="utf-8")
    done = rackline("size", str(path))
    assert done.returncode == 1
    path.write_text(json.dumps({**SIZING, "deadline_s": None, "budget": None}), encoding="utf-8")
    done = rackline("size", str(path))
    assert done.returncode == 0 and "Rent 1 × AWS p4d.24xlarge" in done.stdout


def test_errors_are_json_where_json_is_asked_for(rackline: Rackline, tmp_path: Path) -> None:
    path = tmp_path / "request.json"
    path.write_text(json.dumps({**GPT3, "plan": {"tensor": 0}}), encoding="utf-8")
    done = rackline("estimate", str(path), "--json")
    assert (done.returncode, done.stdout) == (2, "")
    assert [one["field"] for one in json.loads(done.stderr)["errors"]] == ["plan.tensor"]


def test_the_version_is_told(rackline: Rackline) -> None:
    done = rackline("--version")
    assert (done.returncode, done.stdout) == (0, f"rackline {__version__}\n")


def test_a_shell_is_told_how_a_line_may_go_on() -> None:
    asked = {"_RACKLINE_COMPLETE": "complete_bash", "COMP_WORDS": "rackline estimate --j", "COMP_CWORD": "2"}
    command = "import sys; sys.argv = ['rackline']; from app.__main__ import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", command],
        cwd=ROOT, env=os.environ | asked, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.stdout.split() == ["--json"], done.stderr


def test_profile_shows_how_a_model_was_understood(rackline: Rackline, tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(CONFIG), encoding="utf-8")
    assert "6,738,415,616" in rackline("profile", str(path)).stdout
    assert json.loads(rackline("profile", str(path), "--json").stdout)["parameters"] == 6738415616


def test_the_list_of_commands_names_each_and_what_is_listed_is_there(rackline: Rackline) -> None:
    listed = rackline("--help").stdout
    for name in COMMANDS:
        assert f"\n  {name} " in listed
        assert CliRunner().invoke(command_line(name), [name, "--help"]).exit_code == 0
    defined = {command for name in COMMANDS for command in get_command(command_line(name)).commands}
    assert defined == set(COMMANDS)


def test_an_estimate_waits_for_neither_server_nor_database() -> None:
    code = "import sys; from app.__main__ import command_line; command_line('estimate'); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    loaded = set(done.stdout.split())
    assert "app.estimating.estimate" in loaded
    assert not loaded & {"fastapi", "sqlalchemy", "uvicorn", "matplotlib"}


def test_the_catalogue_is_in_order(rackline: Rackline) -> None:
    assert rackline("check-catalog").returncode == 0


def test_validate_predicts_without_the_values(rackline: Rackline, tmp_path: Path) -> None:
    measured = data_directory() / "validation" / "measured.csv"
    with measured.open(encoding="utf-8", newline="") as handle:
        reader = csv.DictReader(handle)
        rows = [row for row in reader if row["family"] in {"bert", "gpt"}][:30]
        names = list(reader.fieldnames or [])
    predictions = []
    for value in (None, ""):
        path = tmp_path / f"cases{value}.csv"
        with path.open("w", encoding="utf-8", newline="") as handle:
            writer = csv.DictWriter(handle, names)
            writer.writeheader()
            writer.writerows([row if value is None else row | {"value": value} for row in rows])
        done = rackline("validate", str(path), "--json")
        assert done.returncode == 0, done.stderr
        found = json.loads(done.stdout)
        predictions.append([row["predicted"] for row in found["rows"]])
    assert predictions[0] == predictions[1]
    assert len(predictions[0]) == 30
    assert any(prediction is not None for prediction in predictions[0])
    assert "in the band" in rackline("validate", str(path)).stdout
