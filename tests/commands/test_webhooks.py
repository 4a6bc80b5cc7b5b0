"""``rackline webhook``: a secret on the standard output once, and nothing of it afterwards."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from app.commands.webhooks import cli
from app.errors import BadInput, NotFound

runner = CliRunner()


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RACKLINE_DATA_DIR", str(tmp_path))
    monkeypatch.delenv("RACKLINE_DATABASE_URL", raising=False)


def test_a_webhook_is_made_listed_and_deleted(monkeypatch: pytest.MonkeyPatch) -> None:
    inside = ["create", "https://crm.corp.internal/in", "--event", "sweep.done"]
    assert isinstance(runner.invoke(cli, inside).exception, BadInput)
    monkeypatch.setenv("RACKLINE_WEBHOOK_HOSTS", "crm.corp.internal")
    made = runner.invoke(cli, inside)
    assert made.exit_code == 0 and made.stdout.startswith("whsec_")
    identifier = made.stderr.split()[0]
    assert isinstance(
        runner.invoke(cli, ["create", "https://a.example/", "--event", "x"]).exception, Exception
    )
    listed = runner.invoke(cli, ["list"]).stdout
    assert identifier in listed and "sweep.done" in listed and "whsec_" not in listed
    assert runner.invoke(cli, ["delete", identifier]).exit_code == 0
    assert identifier not in runner.invoke(cli, ["list"]).stdout
    assert isinstance(runner.invoke(cli, ["delete", identifier]).exception, NotFound)
