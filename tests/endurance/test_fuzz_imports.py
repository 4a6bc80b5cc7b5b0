"""A sample of the fuzz of files in the suite; the whole of it by ``-m endurance``."""

import subprocess
import sys

import pytest

from tests.endurance.fuzz_imports import run


def test_damaged_files_of_every_kind_are_read_or_refused() -> None:
    outcome = run(range(1, 400))
    assert not outcome.failures, "\n".join(outcome.lines())


@pytest.mark.endurance
def test_fifty_thousand_damaged_files_are_read_or_refused_in_time_and_memory() -> None:
    said = subprocess.run(
        [sys.executable, "-m", "tests.endurance.fuzz_imports"], capture_output=True, text=True, check=True
    )
    assert "failures: 0" in said.stdout, said.stdout
