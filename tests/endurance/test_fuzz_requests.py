"""A sample of the fuzz of requests in the suite; the whole of it by ``-m endurance``."""

import pytest
from fastapi import FastAPI

from tests.conftest import run as run_loop
from tests.endurance.fuzz_requests import MODULE, told
from tests.endurance.fuzz_uploads import ServerProcess, run
from tests.endurance.request_seeds import seeds
from tests.support.direct import Request, send


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_broken_requests_are_answered(application: FastAPI) -> None:
    async def ask() -> list[str]:
        known = await seeds(application, pages=False)
        assert {seed.kind for seed in known} == {"json", "query"}
        return [f"{number}: {said[6]}" for number in range(150)
                if (said := (await told(application, known, number))[0])[6]]  # fmt: skip

    assert run_loop(ask()) == []


def test_a_request_that_is_not_broken_is_answered_as_by_a_server(application: FastAPI) -> None:
    answer = run_loop(send(application, Request("GET", b"/healthz")))
    assert (answer.status, answer.body) == (200, b'{"status":"ok"}')


@pytest.mark.endurance
def test_twenty_thousand_broken_requests_are_answered_in_time_and_memory() -> None:
    outcome = run(list(range(20_000)), ServerProcess(MODULE))
    assert not outcome.failures, "\n".join(outcome.lines())
