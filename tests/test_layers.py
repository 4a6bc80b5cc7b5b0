"""What the import contracts of pyproject.toml cannot say about a module that may not exist."""

import ast
import functools
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.conftest import ROOT

APP = ROOT / "app"


def imported(source: str) -> set[str]:
    """Names of the packages a module imports from outside, and "." for a relative import."""
    packages = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            packages |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            packages.add("." if node.level else (node.module or "").split(".")[0])
    return packages


@functools.cache
def imports() -> Mapping[str, set[str]]:
    """What each module imports from outside."""
    return {
        path.relative_to(APP).as_posix(): imported(path.read_text(encoding="utf-8"))
        for path in sorted(APP.rglob("*.py"))
    }


def modules_that_import(package: str) -> list[str]:
    return [module for module, packages in imports().items() if package in packages]


def test_only_the_executors_know_the_cluster() -> None:
    assert set(modules_that_import("distributed")) | set(modules_that_import("dask")) == {
        "features/sweeps/executors.py"
    }


def test_imports_are_absolute() -> None:
    assert modules_that_import(".") == []


def test_every_form_of_import_is_seen() -> None:
    source = "import os.path, httpx.api as queue\nfrom json import loads\nfrom . import sibling\n"
    assert imported(source) == {"os", "httpx", "json", "."}


def imported_modules(path: Path) -> Iterator[str]:
    """Full names of what a module imports, and of what it imports from there."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, path
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_no_test_imports_another() -> None:
    """Helpers are in the conftest.py of a folder and in tests/support."""
    found = {
        f"{path.relative_to(ROOT)}: {name}"
        for path in sorted((ROOT / "tests").rglob("*.py"))
        for name in imported_modules(path)
        if name.startswith("tests.") and ".test_" in name
    }
    assert found == set()


def test_helpers_stay_in_their_room() -> None:
    """What measures or goes through the whole may use the helpers of each room."""
    found = set()
    for path in sorted((ROOT / "tests").rglob("*.py")):
        room = path.relative_to(ROOT).parts[:-1]
        if room[1:2] not in {("endurance",), ("benchmarks",)}:
            for name in imported_modules(path):
                home = tuple(name.split(".")[:-2])
                if (
                    name.startswith("tests.")
                    and home[:2] != ("tests", "support")
                    and room[: len(home)] != home
                ):
                    found.add(f"{path.relative_to(ROOT)}: {name}")
    assert found == set()


def test_tests_lie_where_their_room_lies() -> None:
    """The kinds of test that have no single room keep a folder of their own."""
    kinds = {
        "benchmarks",
        "browser",
        "client",
        "endurance",
        "generated",
        "isolation",
        "journeys",
        "support",
        "tools",
    }
    folders = {path.parent.relative_to(ROOT / "tests") for path in (ROOT / "tests").rglob("test_*.py")}
    homeless = [
        each
        for each in folders
        if each.parts[:1] and each.parts[0] not in kinds and not (APP / each).is_dir()
    ]
    assert homeless == []
