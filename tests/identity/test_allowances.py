"""Nobody takes everything: people who are signed in may ask so often, each for themselves."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from bs4 import BeautifulSoup
from fastapi import FastAPI

from app.platform.rates import ClientKind, CostClass
from tests.allowances import allowed
from tests.identity.conftest import Browser


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
