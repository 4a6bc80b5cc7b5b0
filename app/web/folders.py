"""Where the files beside the package are."""

from __future__ import annotations

import importlib.util
from pathlib import Path


def folder(name: str) -> Path:
    """Return a folder beside the package: in the repository, or inside the installed package."""
    found = importlib.util.find_spec("app")
    assert found is not None and found.submodule_search_locations is not None
    package = Path(next(iter(found.submodule_search_locations)))
    bundled = package / "_bundled" / name
    return bundled if bundled.is_dir() else package.parent / name
