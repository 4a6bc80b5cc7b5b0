"""Nobody takes everything: people who are signed in may ask so often, each for themselves."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from bs4 import BeautifulSoup
from fastapi import FastAPI

from app.errors import Unavailable
from app.platform.rates import ClientKind, CostClass, Rates
from app.platform.web import bodies
from tests.conftest import problem_of, run
from tests.features.accounts.conftest import Browser
from tests.support.application import allowed


@pytest.fixture
def few(server_app: FastAPI) -> Iterator[None]:
    """Hardly anything is granted to a person."""
    with allowed(
        server_app, {ClientKind.PERSON: {CostClass.READ: 3, CostClass.ESTIMATE: 2, CostClass.SEARCH: 1}}
    ):
        yield


def test_a_person_who_asks_too_often_waits_and_others_do_not(
    owner: Browser, server_app: FastAPI, few: None
) -> None:
    other = Browser(server_app)
    other.enter("reader@example.com")
    answers = [owner.get("/studies", headers={"accept-language": "ko"}) for _ in range(3)]
    assert [one.status_code for one in answers] == [200, 200, 429]
    refused = BeautifulSoup(answers[-1].text, "lxml")
    assert 0 < int(answers[-1].headers["retry-after"]) <= 121
    assert "초 뒤에" in refused.main.get_text() and refused.html["lang"] == "ko"
    assert "ratelimit" not in answers[-1].headers, "what is left is told to programs"
    assert other.get("/studies").status_code == 200
    assert owner.get("/api/v1/studies").status_code == 200, "reading data is counted for itself"


def test_what_a_page_is_made_of_is_not_counted(owner: Browser, few: None) -> None:
    assert {owner.get("/static/css/rackline.css").status_code for _ in range(5)} == {200}
    assert owner.get("/studies").status_code == 200


def test_reading_large_bodies_is_on_account_of_the_workspace(
    owner: Browser, server_app: FastAPI, monkeypatch: pytest.MonkeyPatch
) -> None:
    large = {"model": {"config": {"a": [1] * 50_000}}}
    charged: list[float] = []
    with allowed(server_app, {ClientKind.PERSON: dict.fromkeys(CostClass, 100)}):
        rates = server_app.state.rates

        def charge(workspace_id: str, seconds: float) -> None:
            charged.append(seconds)
            Rates.charge(rates, workspace_id, 1_000.0)

        monkeypatch.setattr(rates, "charge", charge)
        refusal = owner.ask("POST", "/api/v1/estimates", json=large)
        assert problem_of(refusal) == (422, "unprocessable_input", "model.config.hidden_size", "system")
        assert len(charged) == 1 and 0 < charged[0] < 10
        refused = owner.ask("POST", "/api/v1/estimates", json=large)
        assert refused.status_code == 429 and int(refused.headers["retry-after"]) > 0
        assert "large requests" in refused.json()["detail"]
        assert problem_of(owner.ask("POST", "/api/v1/checks", json={})) == (
            422,
            "missing_field",
            "devices",
            "global_batch",
        ), "small ones are read"


def test_few_large_bodies_have_a_place_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "PATIENCE", 0.05)

    async def crowd() -> list[bool]:
        places, leave = bodies.BodyPlaces(), asyncio.Event()

        async def come(size: int) -> bool:
            try:
                async with places.place(size):
                    await leave.wait()
            except Unavailable as error:
                assert error.retry_after > 0
                return False
            return True

        sizes = [bodies.LARGE] * (bodies.PLACES + 2) + [bodies.LARGE - 1] * 5
        coming = [asyncio.create_task(come(size)) for size in sizes]
        await asyncio.sleep(0.3)
        leave.set()
        return [*await asyncio.gather(*coming), await come(bodies.LARGE)]

    assert run(crowd()) == [True] * bodies.PLACES + [False] * 2 + [True] * 6
