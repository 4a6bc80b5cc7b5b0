"""What an integrator installs: both wheels, in an environment that knows nothing of the repository.

Third-party packages are those of the locks, seen through a path file; nothing is fetched.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import sysconfig
import tomllib
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from rackline_client.version import __version__ as client_version

from app import __version__
from app.engine.compiled import FOLDER, is_whole
from tests.conftest import ROOT

REQUEST = {
    "model": {"preset": "bert-large"},
    "workload": {"samples": 1e6, "global_batch": 512, "seq_len": 512},
    "system": {"id": "dgx-a100-640gb"},
}

SWEEP = {
    "models": [{"model": REQUEST["model"], "workload": REQUEST["workload"]}],
    "systems": [REQUEST["system"]],
}

ROWS = {"rows": [{"label": "A", "hours": 69.5, "kind": "vendor", "system": "dgx-a100-320gb"}]}

CALLS = """
import sys
import httpx, pydantic, rackline_client
from rackline_client import Rackline
with Rackline(sys.argv[1]) as rackline:
    estimate = rackline.create_estimate({request})
    comparison = rackline.create_comparison({rows})
    asked = {{"comparison_id": comparison.id, "customer": "하이퍼커넥트", "locale": "ko", "currency": "KRW"}}
    pdf = rackline.proposal_pdf(rackline.create_proposal(asked).id)
assert "app" not in sys.modules
print(rackline_client.__file__, estimate.time_to_train.unit, pdf[:5].decode())
"""


class WheelInstallation:
    """An environment with the wheels in it, run from a folder that holds nothing."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.python = folder / "environment" / "bin" / "python"
        self.settings = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("RACKLINE_", "PYTHONPATH"))
        }

    def run(self, *command: str, hidden: str = "") -> subprocess.CompletedProcess[str]:
        """Run a command of the environment, perhaps with a package that cannot be found."""
        if hidden:
            start = f"import sys; sys.modules[{hidden!r}] = None; import rackline; rackline.main()"
            command = ("python", "-c", start, *command[1:])
        place = self.python.with_name(command[0])
        return subprocess.run(
            [place, *command[1:]],
            cwd=self.folder,
            env=self.settings,
            capture_output=True,
            text=True,
            check=False,
        )


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> WheelInstallation:
    made = WheelInstallation(tmp_path_factory.mktemp("wheels"))
    environment = made.python.parents[1]
    wheels = made.folder / "dist"
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(wheels)]
    for project in (ROOT, ROOT / "client"):
        subprocess.run(build, cwd=project, check=True, capture_output=True)
    uv = str(Path(sys.executable).with_name("uv"))
    subprocess.run([uv, "venv", "--quiet", "--python", sys.executable, environment], check=True)
    install = [uv, "pip", "install", "--quiet", "--offline", "--no-deps", "--python", str(made.python)]
    subprocess.run([*install, *map(str, wheels.glob("*.whl"))], check=True)
    packages = next((environment / "lib").glob("python*")) / "site-packages"
    (packages / "locked.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")
    (made.folder / "request.json").write_text(json.dumps(REQUEST), encoding="utf-8")
    return made


@pytest.fixture(scope="module")
def address(installed: WheelInstallation) -> Iterator[str]:
    """Address of the server of the wheel."""
    environment = {**installed.settings, "RACKLINE_DATA_DIR": str(installed.folder / "kept")}
    command = [installed.python.with_name("rackline"), "serve", "--port", "0"]
    with subprocess.Popen(
        command, cwd=installed.folder, env=environment, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        try:
            yield next(filter(None, (re.search(r"http://\S+", line) for line in process.stderr)))[0]
        finally:
            process.kill()


def test_the_package_leaves_the_name_app_to_others(installed: WheelInstallation) -> None:
    assert installed.run("python", "-c", "import app").returncode != 0
    (installed.folder / "app.py").write_text("raise SystemExit('another app')", encoding="utf-8")
    try:
        assert "BERT-Large" in installed.run("python", "-m", "rackline", "estimate", "request.json").stdout
    finally:
        (installed.folder / "app.py").unlink()


def test_the_wheel_brings_its_compiled_engine(installed: WheelInstallation) -> None:
    (wheel,) = installed.folder.glob("dist/rackline-*manylinux_2_17_*.whl")
    assert wheel.stem.split("-")[2:4] == ["py3", "none"]
    folders = list(
        installed.folder.glob(f"environment/lib/python*/site-packages/rackline/app/engine/{FOLDER}/*")
    )
    assert len(folders) == 1 and is_whole(folders[0])
    done = installed.run("rackline", "estimate", "request.json", hidden="numba")
    assert "BERT-Large" in done.stdout and "interpreted" not in done.stderr
    assert not (installed.python.parents[1] / FOLDER).exists()


def test_nothing_is_installed_that_only_the_repository_needs(installed: WheelInstallation) -> None:
    (home,) = installed.folder.glob("environment/lib/python*/site-packages/rackline")
    folders = {place.name for place in home.iterdir() if place.is_dir()} - {"__pycache__"}
    assert folders == {"app", "data", "docs", "static", "templates"}


def test_an_estimate_is_that_of_the_repository(installed: WheelInstallation) -> None:
    said = installed.run("rackline", "estimate", "request.json", "--json")
    here = [sys.executable, "-m", "app", "estimate", str(installed.folder / "request.json"), "--json"]
    asked = subprocess.run(here, cwd=ROOT, env=installed.settings, capture_output=True, text=True, check=True)
    ours, theirs = json.loads(asked.stdout), json.loads(said.stdout)
    for name in ("time_to_train", "engine_version", "catalog_version"):
        assert theirs[name] == ours[name]


def test_pages_come_with_their_styles_documents_and_languages(address: str) -> None:
    with httpx.Client(base_url=address, timeout=30, trust_env=False) as client:
        page = client.get("/", params={"lang": "ko"})
        assert page.status_code == 200 and 'lang="ko"' in page.text
        paths = {*re.findall(r'(?:href|src)="(/static/[^"]+)"', page.text)}
        paths |= {"/methodology", "/accuracy", "/docs", "/api/v1/openapi.json"}
        assert len(paths) > 3
        assert {path: client.get(path).status_code for path in paths} == dict.fromkeys(paths, 200)


def test_the_client_gets_an_estimate_and_a_pdf(installed: WheelInstallation, address: str) -> None:
    said = installed.run("python", "-c", CALLS.format(request=REQUEST, rows=ROWS), address)
    place, *answered = said.stdout.split()
    assert Path(place).is_relative_to(installed.folder)
    assert answered == ["s", "%PDF-"]


def test_the_command_makes_a_proposal_on_a_server(installed: WheelInstallation, address: str) -> None:
    (installed.folder / "rows.json").write_text(json.dumps(ROWS), encoding="utf-8")
    made = json.loads(
        installed.run(
            "rackline", "compare", "rows.json", "--json", "--server", address, hidden="uvicorn"
        ).stdout
    )
    asked = {"comparison_id": made["id"], "customer": "하이퍼커넥트", "locale": "ko", "currency": "KRW"}
    # Published figures are recommended by their author alone.
    asked["recommended"] = "A"
    (installed.folder / "asked.json").write_text(json.dumps(asked), encoding="utf-8")
    done = installed.run(
        *("rackline", "proposal", "asked.json", "--freeze", "--out", "offer.pdf", "--server", address),
        hidden="sqlalchemy",
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert (installed.folder / "offer.pdf").read_bytes().startswith(b"%PDF-")


@pytest.mark.parametrize(
    ("module", "extra", "command"),
    [
        ("uvicorn", "server", ("rackline", "serve")),
        ("sqlalchemy", "server", ("rackline", "check-store")),
        ("onnx", "files", ("rackline", "profile", "model.onnx")),
        ("polars", "parquet", ("rackline", "sweep", "sweep.json", "--output", "rows.parquet")),
    ],
)
def test_a_missing_extra_is_named_in_a_sentence(
    installed: WheelInstallation, module: str, extra: str, command: tuple[str, ...]
) -> None:
    (installed.folder / "model.onnx").write_bytes(b"\x08\x07\x12\x00:\x00")
    (installed.folder / "sweep.json").write_text(json.dumps(SWEEP), encoding="utf-8")
    refused = installed.run(*command, hidden=module)
    assert refused.returncode == 2
    assert refused.stderr.startswith("error: ") and refused.stderr.count("\n") == 1
    assert f"pip install 'rackline[{extra}]'" in refused.stderr


@pytest.mark.parametrize("command", ["estimate", "search", "size", "sweep", "compare", "bill", "break-even"])
def test_a_command_that_computes_needs_no_extra(command: str) -> None:
    """The packages that come without extras suffice to load the command."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    served = {re.split(r"[\[>=]", one)[0] for one in project["optional-dependencies"]["server"]} - {
        "rackline"
    }
    load = f"import sys; sys.argv[1:] = []; from app.__main__ import command_line; command_line({command!r})"
    code = f"{load}; print(*{{name.partition('.')[0] for name in sys.modules}})"
    loaded = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert not served & set(loaded.stdout.split())


def test_versions_agree_and_every_bound_is_that_of_the_locks() -> None:
    assert client_version == __version__
    for project in (ROOT, ROOT / "client"):
        stated = tomllib.loads((project / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        extras = stated.get("optional-dependencies", {}).values()
        for one in [*stated["dependencies"], *(one for extra in extras for one in extra)]:
            assert re.search(r"[>=]=\d", one) or one == "rackline[files]", one
