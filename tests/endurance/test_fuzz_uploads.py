"""A sample of the fuzz of uploads in the suite; the whole of it by ``-m endurance``."""

import pytest
from fastapi import FastAPI

from tests.endurance.fuzz_uploads import run
from tests.endurance.upload_mutations import bombs, mutated
from tests.support.application import Ask


# Of a form that breaks off in its file the framework leaves the temporary file to the garbage collector.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.filterwarnings("ignore:Unclosed file:ResourceWarning")
def test_broken_files_are_answered(application: FastAPI, ask: Ask) -> None:
    for number in range(1, 101):
        case = mutated(number)
        response = ask("POST", case.path, content=case.body, headers={"content-type": case.content_type})
        assert response.status_code < 500, f"case {number}"


@pytest.mark.endurance
def test_twenty_thousand_broken_files_are_answered_in_time_and_memory() -> None:
    outcome = run([*(name for name, _ in bombs()), *range(20_000)])
    assert not outcome.failures, "\n".join(outcome.lines())
