"""Every operation of the API under every check of schemathesis, in all phases, for as long as it takes."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.main import create_app
from app.settings import Settings
from tests.support.conformance import examine

pytestmark = pytest.mark.endurance


@pytest.mark.parametrize(
    ("phases", "examples", "seconds"),
    [(("examples", "coverage"), 1, None), (("fuzzing",), 40, 900), (("stateful",), 30, 600)],
)
def test_the_api_is_what_it_says(
    tmp_path: Path,
    phases: tuple[str, ...],
    examples: int,
    seconds: int | None,
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = examine(create_app(Settings.at(tmp_path)), *phases, examples=examples, seconds=seconds)
    with capsys.disabled():
        print(f"{' and '.join(phases)}: {len(found.operations)} operations, {found.cases} cases")
        if found.given_up:
            print(f"schemathesis gave up making cases of {', '.join(sorted(found.given_up))}")
    assert not found.failures, found.report()
