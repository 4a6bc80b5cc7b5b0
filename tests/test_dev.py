"""The set-up script: what it hands on, when it installs, how it reports."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import dev

RUNTIME = dev.RUNTIME_LOCK
DEV = dev.DEV_LOCK


@pytest.fixture
def environment(tmp_path: Path) -> dev.Environment:
    """An environment with an interpreter and two locks, and nothing installed."""
    (tmp_path / RUNTIME).write_text("one==1\n")
    (tmp_path / DEV).write_text("one==1\ntwo==2\n")
    (tmp_path / dev.PROJECT).write_text("[project]\n")
    environment = dev.Environment(tmp_path)
    interpreter = Path(environment.command("python"))
    interpreter.parent.mkdir(parents=True)
    interpreter.touch()
    return environment


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Commands the script would have run, all of them with success."""
    seen: list[list[str]] = []

    def record(command: list[str], *, quiet: bool = False) -> int:
        seen.append(list(command))
        return 0

    monkeypatch.setattr(dev, "call", record)
    return seen


def test_an_environment_is_current_after_its_lock_was_marked(environment: dev.Environment) -> None:
    assert not environment.is_current(RUNTIME)
    environment.mark(RUNTIME)
    assert environment.is_current(RUNTIME)
    assert not environment.is_current(DEV)


def test_the_dev_lock_brings_the_runtime_lock(environment: dev.Environment) -> None:
    environment.mark(DEV)
    assert environment.is_current(RUNTIME)


def test_a_changed_lock_is_not_current(environment: dev.Environment) -> None:
    environment.mark(DEV)
    (environment.root / RUNTIME).write_text("one==1.1\n")
    assert not environment.is_current(RUNTIME)
    assert environment.is_current(DEV)


def test_a_project_that_is_made_up_otherwise_is_installed_again(environment: dev.Environment) -> None:
    environment.mark(DEV)
    (environment.root / dev.PROJECT).write_text("[project.scripts]\n")
    assert not environment.is_current(DEV)


@pytest.mark.parametrize("damage", ["", "not json"])
def test_a_damaged_stamp_is_not_current(environment: dev.Environment, damage: str) -> None:
    environment.stamp.write_text(damage)
    assert not environment.is_current(RUNTIME)


def test_an_interpreter_that_went_away_is_not_current(environment: dev.Environment) -> None:
    environment.mark(RUNTIME)
    Path(environment.command("python")).unlink()
    assert not environment.is_current(RUNTIME)


def test_installing_takes_hashes_and_nothing_for_the_project_itself(
    environment: dev.Environment, calls: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dev.shutil, "which", lambda name: f"/bin/{name}")
    environment.install(DEV)
    locked, project = calls
    assert "--require-hashes" in locked
    assert {"--no-deps", "--no-build-isolation", "--editable"} <= set(project)
    assert environment.is_current(DEV)
    environment.install(DEV)
    assert len(calls) == 2


def test_a_failed_installation_is_tried_by_pip_and_leaves_no_stamp(
    environment: dev.Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment.mark(RUNTIME)
    seen: list[list[str]] = []

    def fail(command: list[str], *, quiet: bool = False) -> int:
        seen.append(list(command))
        return 1

    monkeypatch.setattr(dev, "call", fail)
    monkeypatch.setattr(dev.shutil, "which", lambda name: f"/bin/{name}")
    with pytest.raises(SystemExit, match="failed"):
        environment.install(DEV)
    assert seen[0][0] == "/bin/uv"
    assert "pip" in seen[-1]
    assert not environment.stamp.exists()


def test_what_was_compiled_is_kept_for_the_processes_of_the_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.setenv("RACKLINE_LOG", "json")
    given = dev.plain_environment()
    assert "PYTHONDONTWRITEBYTECODE" not in given and given["RACKLINE_LOG"] == "json"


def test_arguments_of_test_go_to_pytest_alone(
    calls: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dev.Environment, "install", lambda self, lock: None)
    monkeypatch.setattr(dev, "install_generator", lambda environment: None)
    assert dev.main(["test", "tests/test_dev.py", "-k", "stamp"]) == 0
    assert [command[1:] for command in calls] == [
        ["-m", "app.engine.compiled"],
        ["-m", "pytest", "tests/test_dev.py", "-k", "stamp"],
    ]


def test_arguments_of_run_go_to_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[list[str]] = []
    monkeypatch.setattr(dev.Environment, "install", lambda self, lock: None)
    monkeypatch.setattr(dev.os, "execv", lambda path, command: seen.append(command))
    dev.main(["run", "--port", "8123"])
    assert [command[1:] for command in seen] == [["serve", "--port", "8123"]]


def test_every_check_runs_even_after_one_failed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(dev, "call", lambda command, **more: int("mypy" in command))
    monkeypatch.setattr(dev, "find", lambda tests: "/bin/true")
    assert dev.test_everything(dev.Environment(dev.ROOT)) == 1
    printed = capsys.readouterr().out
    assert "=== pytest ===" in printed
    assert printed.endswith("FAILED: mypy --strict\n")


@pytest.mark.parametrize(("ci", "code"), [("true", 1), ("", 0)])
def test_leaving_tests_out_fails_in_ci_only(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], ci: str, code: int
) -> None:
    monkeypatch.setenv("CI", ci)
    monkeypatch.setattr(dev, "call", lambda command, **more: 0)
    monkeypatch.setattr(dev, "find", lambda tests: None)
    assert dev.test_everything(dev.Environment(dev.ROOT)) == code
    assert "Skipped: browser tests" in capsys.readouterr().out


def test_one_requirement_is_cut_out_with_its_hashes() -> None:
    lock = "uvicorn==1 \\\n    --hash=a\nuv==2 \\\n    --hash=b \\\n    --hash=c\nwheel==3 \\\n    --hash=d\n"
    assert dev.requirement(lock, "uv") == "uv==2 \\\n    --hash=b \\\n    --hash=c\n"


def requirements(lock: str) -> set[str]:
    """Lines of a lock that name a version."""
    return {line for line in (dev.ROOT / lock).read_text().splitlines() if "==" in line}


def test_the_dev_lock_holds_the_whole_runtime_lock() -> None:
    assert requirements(RUNTIME) <= requirements(DEV)


def test_what_makes_clients_is_installed_once_and_apart(
    environment: dev.Environment, calls: list[list[str]]
) -> None:
    (environment.root / dev.GENERATOR_LOCK).write_text("three==3\n")
    (environment.folder / "generator").mkdir()
    first = dev.install_generator(environment)
    assert environment.folder / "generator" in first.parents
    assert "--require-hashes" in calls[1] and len(calls) == 2
    assert dev.install_generator(environment) == first and len(calls) == 2


@pytest.mark.parametrize("lock", [RUNTIME, DEV, dev.GENERATOR_LOCK])
def test_locks_name_no_host(lock: str) -> None:
    assert "://" not in (dev.ROOT / lock).read_text()


def test_the_script_works_from_anywhere(tmp_path: Path) -> None:
    """Its help needs no environment, and an unknown task says what there is."""
    script = [sys.executable, str(dev.ROOT / "dev.py")]
    shown = subprocess.run([*script, "--help"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "dev.py run" in shown.stdout
    unknown = subprocess.run([*script, "dance"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert unknown.returncode == 2
    assert "dev.py test" in unknown.stdout


def test_ci_runs_the_documented_command() -> None:
    script = dev.ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    assert script.read_text().rstrip().endswith("exec python3 dev.py test")
    assert "\npython3 dev.py audit || " in script.read_text()


REPORT = {
    "dependencies": [
        {"name": "one", "version": "1", "vulns": []},
        {"name": "two", "version": "2", "vulns": [{"id": "CVE-1", "fix_versions": ["3"]}]},
        {"name": "three", "skip_reason": "not on the list"},
    ],
}


def test_an_audit_fails_for_a_weakness_only(
    environment: dev.Environment, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    environment.mark(DEV)
    nothing = json.dumps({"dependencies": []})
    answers = ["", nothing, nothing, json.dumps(REPORT), "not json", nothing]

    def audited(command: list[str], *, quiet: bool = False) -> int:
        answer = answers.pop(0)
        if answer:
            Path(command[command.index("--output") + 1]).write_text(answer)
        return 1

    monkeypatch.setattr(dev, "call", audited)
    assert dev.audit(environment) == 0, "without a network nothing is said, and nothing fails"
    assert dev.audit(environment) == 1
    said = capsys.readouterr().out
    assert said.count("cannot be reached") == 2
    assert said.count("no known vulnerabilities") == 3
    assert "two 2: CVE-1, fixed in 3" in said


def test_whatever_is_measured_is_where_the_script_looks_for_it() -> None:
    marked = [
        path for path in (dev.ROOT / "tests").rglob("*.py") if "pytest.mark.benchmark\n" in path.read_text()
    ]
    assert marked
    assert {path.parent for path in marked} == {dev.ROOT / dev.MEASURED}
