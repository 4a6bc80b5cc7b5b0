"""Files beside the package: where they are, and how browsers keep them."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from fastapi.staticfiles import StaticFiles
from starlette.datastructures import QueryParams
from starlette.responses import Response
from starlette.types import Scope

VERSIONED = ("fonts/", "vendor/")
"""Folders of static files whose names or folders carry a version."""

KEPT = "public, max-age=31536000, immutable"
"""For a file whose address changes with its content."""
ASKED_AGAIN = "no-cache"
"""For any other: kept, but asked for each time whether it changed."""


class Assets(StaticFiles):
    """Static files; those with a version in their address are kept for a year."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        """Return a file with what browsers may do with it."""
        response = await super().get_response(path, scope)
        versioned = path.startswith(VERSIONED) or "v" in QueryParams(scope["query_string"])
        response.headers["Cache-Control"] = KEPT if versioned else ASKED_AGAIN
        return response


def folder(name: str) -> Path:
    """Return a folder beside the package: in the repository, or inside the installed package."""
    found = importlib.util.find_spec("app")
    assert found is not None and found.submodule_search_locations is not None
    package = Path(next(iter(found.submodule_search_locations)))
    bundled = package / "_bundled" / name
    return bundled if bundled.is_dir() else package.parent / name
