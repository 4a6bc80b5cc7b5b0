"""Types for TypeScript made from the description: strictly checked, and a program with them works.

Not among the usual tests, since it takes Node.js 20 and what npm has to fetch.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.support.serving import serving, succeeded

pytestmark = pytest.mark.endurance

PROJECT = ROOT / "tests" / "generated" / "typescript"


def test_generated_types_are_strict_and_take_a_proposal_to_its_pdf(tmp_path: Path) -> None:
    npm, npx, node = (shutil.which(name) for name in ("npm", "npx", "node"))
    assert npm and npx and node, "Node.js is not on PATH"
    project = tmp_path / "typescript"
    shutil.copytree(PROJECT, project)
    succeeded([npm, "ci", "--silent", "--ignore-scripts"], project)
    with serving(tmp_path / "data") as (_, client):
        (project / "openapi.json").write_bytes(client.get("/api/v1/openapi.json").content)
        # What has a default may be left out of a request.
        made = ["openapi-typescript", "openapi.json", "--default-non-nullable=false", "-o", "schema.d.ts"]
        succeeded([npx, "--no-install", *made], project)
        succeeded([npx, "--no-install", "tsc", "--project", "."], project)
        said = succeeded([node, "built/calls.js", str(client.base_url)], project)
    assert said.split() == ["s", "a", "b", "frozen", "%PDF-"]
