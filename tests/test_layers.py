"""What the import contracts of pyproject.toml cannot say about a module that may not exist."""

import ast
import functools
from collections.abc import Mapping
from pathlib import Path

APP = Path(__file__).parents[1] / "app"


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
