"""What runs Rackline elsewhere: containers and units are well-formed, careful, and name what is there."""

from __future__ import annotations

import configparser
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.core import TyperGroup
from typer.main import get_command

from app.__main__ import COMMANDS, command_line
from app.commands.serving import check_reach
from app.main import public_access, sealer_of
from app.settings import SECRETS, VARIABLES, Settings
from tests.conftest import ROOT

DEPLOY = ROOT / "deploy"
UNITS = ("rackline.service", "rackline-worker.service")


def steps(text: str) -> list[tuple[str, str]]:
    """Return the instructions of a Dockerfile."""
    joined = re.sub(r"\\\n", " ", re.sub(r"^#.*\n", "", text, flags=re.M))
    return [(line.split()[0], line.partition(" ")[2]) for line in joined.splitlines() if line.strip()]


@pytest.fixture
def dockerfile() -> list[tuple[str, str]]:
    return steps((DEPLOY / "Dockerfile").read_text(encoding="utf-8"))


@pytest.fixture
def compose() -> dict[str, Any]:
    return dict(yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8")))


def test_the_image_is_locked_and_runs_as_nobody_in_particular(dockerfile: list[tuple[str, str]]) -> None:
    last_stage = max(place for place, (name, _) in enumerate(dockerfile) if name == "FROM")
    names = [name for name, _ in dockerfile[last_stage:]]
    assert {"USER", "HEALTHCHECK", "STOPSIGNAL", "ENTRYPOINT"} <= set(names)
    assert all(text not in {"root", "0"} for name, text in dockerfile if name == "USER")
    assert any("--require-hashes" in text for name, text in dockerfile if name == "RUN")
    for name, text in dockerfile:
        if name == "FROM":
            assert re.fullmatch(r"\$\{PYTHON_IMAGE\}( AS \w+)?", text), "all stages stand on one image"
        if name == "ARG" and text.startswith("PYTHON_IMAGE"):
            assert re.fullmatch(r"PYTHON_IMAGE=\S+:\S*3\.11\S*", text), "the Python of the project, by a tag"
        if name == "COPY" and "--from" not in text:
            assert all((ROOT / source).exists() for source in text.split()[:-1]), text
    assert not any(name == "ADD" for name, _ in dockerfile)


def test_the_context_of_the_image_holds_what_it_copies_and_no_more(dockerfile: list[tuple[str, str]]) -> None:
    let_in = {
        line[1:] for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").split() if line[0] == "!"
    }
    copied = {source for name, text in dockerfile if name == "COPY" and "--from" not in text
              for source in text.split()[:-1]}  # fmt: skip
    assert copied == let_in


def test_the_services_fit_together(compose: dict[str, Any]) -> None:
    services, volumes = compose["services"], compose["volumes"]
    assert set(services) == {"app", "worker", "postgres"}
    for name, service in services.items():
        for volume in service["volumes"]:
            assert volume.partition(":")[0] in volumes
        for variable in service["environment"]:
            assert variable in VARIABLES or name == "postgres", variable
    app, worker = services["app"], services["worker"]
    assert app["environment"]["RACKLINE_JOBS"] == "elsewhere" and "RACKLINE_JOBS" not in worker["environment"]
    assert worker["command"][0] == "worker" and app["command"][0] == "serve"
    # One directory: the worker takes away what the server has taken in, and knows its secret.
    assert app["volumes"] == worker["volumes"]
    for service in (app, worker):
        assert service["read_only"] and service["cap_drop"] == ["ALL"]
        assert service["depends_on"]["postgres"]["condition"] == "service_healthy"
    assert all(port.startswith("127.0.0.1:") for port in app["ports"])
    assert app["env_file"] == worker["env_file"] == [{"path": "rackline.env", "required": False}]


def test_a_proxy_on_the_machine_is_believed(compose: dict[str, Any]) -> None:
    (network,) = compose["networks"]["default"]["ipam"]["config"]
    stated = compose["services"]["app"]["environment"]["RACKLINE_TRUSTED_PROXIES"]
    trusted = re.fullmatch(r"\$\{RACKLINE_TRUSTED_PROXIES:-(.+)\}", stated)
    assert trusted is not None and trusted[1] == network["gateway"]
    settings = Settings.at(Path("unused"), public_url="https://rackline.example", trusted_proxies=trusted[1])
    reach = public_access(settings)
    assert reach.trusts(network["gateway"]) and not reach.trusts("172.31.253.2")


GIVEN = {
    "POSTGRES_PASSWORD": "p",
    "RACKLINE_SECRET": "s" * 32,
    "RACKLINE_PUBLIC_URL": "https://rackline.example.com",
}


def interpolated(text: str, given: dict[str, str]) -> str:
    """Return a value as Compose reads it: ``${NAME:-default}`` and ``${NAME:?why it is needed}``."""

    def value(found: re.Match[str]) -> str:
        name, sort, said = found.groups()
        if not given.get(name) and sort == "?":
            raise KeyError(f"{name}: {said}")
        return given.get(name) or said

    return re.sub(r"\$\{(\w+):([-?])([^}]*)\}", value, text)


def test_what_the_services_are_told_lets_them_start(compose: dict[str, Any], tmp_path: Path) -> None:
    told = {}
    for name in ("app", "worker"):
        stated = compose["services"][name]["environment"].items()
        environment = {variable: interpolated(text, GIVEN) for variable, text in stated}
        told[name] = Settings.from_environment({**environment, "RACKLINE_DATA_DIR": str(tmp_path)})
    command = compose["services"]["app"]["command"]
    check_reach(command[command.index("--host") + 1], public_access(told["app"]))
    sealed = sealer_of(told["app"]).seal("webhook:a", "whsec_a")
    assert sealer_of(told["worker"]).open("webhook:a", sealed) == "whsec_a"


@pytest.mark.parametrize("missing", GIVEN)
def test_what_must_be_set_is_asked_for(compose: dict[str, Any], missing: str) -> None:
    given = {name: text for name, text in GIVEN.items() if name != missing}
    for name in ("app", "worker"):
        with pytest.raises(KeyError, match=f"{missing}: set {missing}"):
            [interpolated(text, given) for text in compose["services"][name]["environment"].values()]


def test_no_secret_is_written_down(compose: dict[str, Any]) -> None:
    text = (DEPLOY / "compose.yaml").read_text(encoding="utf-8")
    assert "${POSTGRES_PASSWORD:?" in text and "${RACKLINE_SECRET:?" in text
    for secret in re.findall(r"(?im)^ *\w*(?:password|token|secret)\w*: *(\S.*)$", text):
        assert "${" in secret, secret


@pytest.mark.parametrize("name", UNITS)
def test_a_unit_locks_itself_in(name: str) -> None:
    unit = configparser.ConfigParser(strict=False, interpolation=None, comment_prefixes=("#",))
    unit.optionxform = str  # type: ignore[assignment]
    unit.read(DEPLOY / name, encoding="utf-8")
    service = unit["Service"]
    assert service["User"] == "rackline" and service["Restart"] == "on-failure"
    for name in ("NoNewPrivileges", "ProtectHome", "PrivateTmp", "PrivateDevices", "RestrictNamespaces"):
        assert service[name] == "yes"
    assert service["ProtectSystem"] == "strict" and service["CapabilityBoundingSet"] == ""
    command = service["ExecStart"].split()
    assert command[0].endswith("/rackline") and command[1] in {"serve", "worker"}
    # Jobs are put down within their own limit after requests have ended within theirs.
    assert int(service["TimeoutStopSec"]) > Settings.model_fields["stop_seconds"].default + 10


@pytest.mark.parametrize("name", UNITS)
def test_systemd_has_nothing_to_say_about_a_unit(name: str, tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        return
    text = (DEPLOY / name).read_text(encoding="utf-8")
    # The command is not installed where tests run.
    found = tmp_path / name
    found.write_text(re.sub(r"ExecStart=.*", "ExecStart=/bin/true", text), encoding="utf-8")
    done = subprocess.run(
        ["systemd-analyze", "verify", str(found)], capture_output=True, text=True, timeout=60, check=False
    )
    assert not [line for line in done.stderr.splitlines() if name in line], done.stderr


RUNBOOK = ROOT / "docs" / "runbook.md"


def commands_of(page: str) -> set[tuple[str, ...]]:
    """Return every command of ours that a page states, in words."""
    stated = re.findall(r"(?:^|`)rackline ([^`\n]+)", page, re.MULTILINE)
    lines = (re.sub(r"\$\([^)]*\)", "today", line.partition(" > ")[0]) for line in stated)
    return {tuple(shlex.split(line, comments=True)) for line in lines}


@pytest.mark.parametrize("words", sorted(commands_of(RUNBOOK.read_text(encoding="utf-8"))), ids=" ".join)
def test_every_command_of_the_runbook_is_understood(words: tuple[str, ...]) -> None:
    command, context, rest = get_command(command_line(words[0])), None, list(words)
    while True:
        context = command.make_context(command.name, rest, parent=context)
        if not isinstance(command, TyperGroup):
            return
        _, found, rest = command.resolve_command(context, [*context._protected_args, *context.args])
        assert found is not None, words
        command = found


def test_the_runbook_names_commands_and_settings_that_there_are() -> None:
    page = RUNBOOK.read_text(encoding="utf-8")
    named = set(re.findall(r"(?:^|`)rackline ([a-z-]+)", page, re.MULTILINE))
    assert named <= COMMANDS.keys() and {"copy-database", "check-store", "serve", "worker"} <= named
    settings = set(re.findall(r"RACKLINE_[A-Z0-9_]+\b(?!…)", page))
    known = VARIABLES.keys() | {f"{name}_FILE" for name in SECRETS}
    assert {name for name in settings if not name.endswith("_")} <= known
    alerts = (DEPLOY / "alerts.yml").read_text(encoding="utf-8")
    assert set(re.findall(r"`(Rackline\w+)`", page)) == set(re.findall(r"alert: (\w+)", alerts))
