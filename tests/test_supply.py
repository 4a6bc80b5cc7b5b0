"""What Rackline brings along: packages, files of others, and wheels that are the same for everybody."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tomllib
from fnmatch import fnmatch
from pathlib import Path

import dev
from tests.conftest import ROOT

DEPENDENCIES = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")

OWN = ("static/js/*", "static/css/*", "static/img/*")

LICENCE = "*LICENSE*.txt"


def named(requirement: object) -> str:
    found = re.match(r"[A-Za-z0-9._-]+", str(requirement))
    assert found is not None
    return found[0]


def test_every_direct_dependency_says_why_it_is_there() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    extras = project["project"]["optional-dependencies"].values()
    groups = project["dependency-groups"].values()
    stated = [*project["project"]["dependencies"], *(entry for part in (*extras, *groups) for entry in part)]
    told = dict(re.findall(r"^\| `([a-z0-9.-]+)` \| (.+) \|$", DEPENDENCIES, re.MULTILINE))
    assert {named(entry) for entry in stated} - {"rackline"} == told.keys()
    assert all(reason.endswith(".") and len(reason) > 5 for reason in told.values())


def test_files_of_others_have_their_licence() -> None:
    page = (ROOT / "docs" / "licences.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([^`]+)` \| [^|]+ \| ([A-Z0-9][\w.-]+) \| `([^`]+)` \|$", page, re.MULTILINE)
    paths = [path.relative_to(ROOT).as_posix() for path in (ROOT / "static").rglob("*") if path.is_file()]
    assert len(rows) >= 6
    for pattern, _, text in rows:
        assert any(fnmatch(path, pattern) or path.startswith(f"{pattern}/") for path in paths), pattern
        assert len((ROOT / text).read_text(encoding="utf-8")) > 300, text
    known = [*OWN, LICENCE, *(end for pattern, _, _ in rows for end in (pattern, f"{pattern}/*"))]
    assert [path for path in paths if not any(fnmatch(path, pattern) for pattern in known)] == []
    texts = {path for path in paths if fnmatch(path, LICENCE)}
    assert texts == {text for _, _, text in rows}


def test_the_bill_of_materials_is_the_lock() -> None:
    lock = (ROOT / dev.RUNTIME_LOCK).read_text(encoding="utf-8")
    bill = dev.bill_of_materials(lock, "1.2.3")
    components = bill["components"]
    assert isinstance(components, list) and bill["specVersion"] == "1.6"
    assert {(part["name"], part["version"]) for part in components} == set(
        re.findall(r"^([a-z0-9.-]+)==([^ \n]+)", lock, re.MULTILINE)
    )
    hashes = [note["value"] for part in components for note in part["properties"] if "hash" in note["name"]]
    assert len(hashes) == lock.count("--hash=") and all(text.startswith("sha256:") for text in hashes)
    assert len({part["purl"] for part in components}) == len(components)


def test_two_builds_give_the_same_bytes(tmp_path: Path) -> None:
    # Elsewhere, later and as somebody else: neither folder nor times nor rights of the files come in.
    other = tmp_path / "elsewhere"
    shutil.copytree(
        ROOT / "client", other, ignore=shutil.ignore_patterns("__pycache__"), copy_function=shutil.copyfile
    )
    for path in other.rglob("*"):
        os.utime(path, (1_000_000_000, 1_000_000_000))
    sums = set()
    for number, project in enumerate((ROOT / "client", other)):
        made = tmp_path / str(number)
        command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(made)]
        environment = {**os.environ, "SOURCE_DATE_EPOCH": "1700000000"}
        subprocess.run(command, cwd=project, env=environment, check=True, capture_output=True)
        (wheel,) = made.glob("*.whl")
        sums.add(hashlib.sha256(wheel.read_bytes()).hexdigest())
    assert len(sums) == 1
