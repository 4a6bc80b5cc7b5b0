"""A client made from the description by a usual generator: complete, typed, and it works."""

from __future__ import annotations

import sys
from pathlib import Path

import dev
from tests.support.serving import serving, succeeded

HERE = Path(__file__).parent


def test_a_generated_client_is_typed_and_takes_a_proposal_to_its_pdf(tmp_path: Path) -> None:
    python = dev.install_generator(dev.Environment(dev.ROOT))
    made = tmp_path / "generated"
    generator = [str(python.with_name("openapi-python-client")), "generate", "--meta", "none"]
    with serving(tmp_path / "data") as (_, client):
        description = tmp_path / "openapi.json"
        description.write_bytes(client.get("/api/v1/openapi.json").content)
        generator += ["--path", str(description), "--config", str(HERE / "client.yaml")]
        said = succeeded([*generator, "--output-path", str(made)], tmp_path)
        assert "WARNING" not in said, said
        calls = tmp_path / "calls.py"
        calls.write_bytes((HERE / "calls.py").read_bytes())
        printed = succeeded([str(python), str(calls), str(client.base_url)], tmp_path).splitlines()
    assert printed[0] == "s a b %PDF-"
    assert int(printed[1]) > 100
    checked = [sys.executable, "-m", "mypy", "--strict", "--python-executable", str(python)]
    succeeded([*checked, "calls.py", "generated"], tmp_path)


def test_the_lock_of_the_types_names_no_host() -> None:
    assert "://" not in (HERE / "typescript" / "package-lock.json").read_text()
