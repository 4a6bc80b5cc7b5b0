"""What the customer does on a link: signs, declines, asks; and what never works."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import httpx
import pytest
from bs4 import BeautifulSoup
from fastapi import FastAPI

from app.features.proposals.customers import MOST_QUESTIONS, choices_of
from app.features.proposals.model import MOST_SAID, ProposalContent
from app.platform.rates import ClientKind, CostClass
from tests.support.application import Reader, allowed, sentences
from tests.support.objects import moved_clock


@pytest.fixture(scope="module")
def comparison(reader: Reader, modelled: str) -> str:
    return modelled.rpartition("/")[2]


TIE = ["IPU-POD16", "Bow Pod16"]
"""Options of the comparison that nothing separates."""

ONE = TIE[:1]


class Deal:
    """A frozen proposal, its author, and the customer with the link."""

    def __init__(self, reader: Reader, comparison: str, share: dict[str, Any], **asked: Any) -> None:
        self.reader = reader
        body = {"comparison_id": comparison, "customer": "하이퍼커넥트", "locale": "en", "options": ONE}
        body |= asked
        self.id = self.api("", body)["id"]
        self.sha256 = self.api(f"/{self.id}/freeze", {})["sha256"]
        self.link = self.api(f"/{self.id}/share", share)["path"]

    def api(self, path: str, body: dict[str, Any] | None = None) -> Any:
        method = "GET" if body is None else "POST"
        answer = self.reader.ask(method, f"/api/v1/proposals{path}", json=body)
        assert answer.is_success, answer.text
        return answer.json()

    def act(self, act: str, **fields: str) -> httpx.Response:
        return self.reader.submit(f"{self.link}/answer", {"act": act, "sha256": self.sha256, **fields})

    @property
    def events(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.api(f"/{self.id}/events")["items"]
        return found

    def page(self) -> BeautifulSoup:
        return self.reader.page(self.link)


@pytest.fixture
def deal(reader: Reader, comparison: str) -> Deal:
    return Deal(reader, comparison, {})


def kinds(deal: Deal) -> list[str]:
    return [event["kind"] for event in deal.events if event["kind"] != "opened"]


def test_an_acceptance_is_signed_kept_and_seen_by_both(deal: Deal) -> None:
    page = deal.page()
    order = [one["id"] for one in page.select("article > section[id]")]
    assert order[:2] == ["summary", "answer"], "the answer comes before the files"
    signed = deal.act("accept", name="김철수")
    assert signed.status_code == 303, signed.text
    assert signed.headers["location"] == f"{deal.link}#answer"
    event = deal.events[-1]
    offered = deal.api(f"/{deal.id}")["content"]["decision"]["recommended"]
    assert (event["kind"], event["by"]) == ("accepted", None)
    assert event["detail"].items() >= {"name": "김철수", "option": offered, "sha256": deal.sha256}.items()
    for _ in range(2):
        said = deal.page().find(id="answered").get_text()
        assert "김철수" in said and deal.sha256 in said and offered in said
    assert deal.page().find("button", string=re.compile("Accept")) is None
    author = deal.reader.page(f"/proposals/{deal.id}")
    assert "김철수" in author.find(id="events").get_text()
    assert deal.api(f"/{deal.id}")["review"] == "accepted"
    assert deal.reader.data(f"{deal.link}.json")["events"][0]["detail"]["name"] == "김철수"
    trail = deal.reader.ask("GET", "/api/v1/audit-events?action=proposal.accepted").json()["items"]
    assert trail[0]["object"]["id"] == deal.id if "object" in trail[0] else trail[0]["object_id"] == deal.id


def test_only_one_answer_stands(deal: Deal) -> None:
    assert deal.act("decline", text="no budget", name="A").status_code == 303
    assert (deal.events[-1]["kind"], deal.events[-1]["detail"]["note"]) == ("declined", "no budget")
    assert deal.act("accept", name="A").status_code == 409
    assert kinds(deal) == ["created", "frozen", "shared", "declined"]


def test_a_question_is_answered_on_the_link(deal: Deal) -> None:
    assert deal.reader.submit(f"/proposals/{deal.id}/reply", {"text": "early"}).status_code == 409
    deal.act("ask", text="Is installation <b>included</b>?", name="B")
    author = deal.reader.page(f"/proposals/{deal.id}")
    assert "<b>included</b>?" in author.find(id="conversation").get_text()
    form = author.find("form", action=f"/proposals/{deal.id}/reply")
    assert deal.reader.submit(form["action"], {"text": ""}).status_code in {400, 422}
    assert deal.reader.submit(form["action"], {"text": "Yes."}).status_code == 303
    again = {"Idempotency-Key": "reply-1"}
    deal.act("ask", text="And training?")
    path = f"/api/v1/proposals/{deal.id}/replies"
    for _ in range(2):
        made = deal.reader.ask("POST", path, json={"text": "Also."}, headers=again)
        assert made.status_code == 201 and made.json()["text"] == "Also."
    said = [one.select("p")[1].get_text() for one in deal.page().select("#conversation li")]
    assert said == ["Is installation <b>included</b>?", "Yes.", "And training?", "Also."]
    assert deal.act("accept", name="B").status_code == 303, "asking answers nothing"


@pytest.mark.parametrize(
    ("fields", "status", "field"),
    [
        ({"act": "accept"}, 422, "name"),
        ({"act": "accept", "name": "A", "sha256": "0" * 64}, 409, None),
        ({"act": "accept", "name": "A" * 201}, 422, "name"),
        ({"act": "accept", "name": "A", "option": "not asked"}, 303, None),
        ({"act": "decline", "name": "A"}, 422, "text"),
        ({"act": "ask", "text": "x" * (MOST_SAID + 1)}, 422, "text"),
        ({"act": "ask", "text": " "}, 422, "text"),
        ({"act": "dance"}, 422, None),
        ({"act": "ask", "text": "x", "more": "y"}, 422, None),
    ],
)
def test_what_is_missing_or_too_long_is_said_beside_its_field(
    deal: Deal, fields: dict[str, str], status: int, field: str | None
) -> None:
    response = deal.act(**fields)
    assert response.status_code == status, response.text
    if status != 303:
        page = BeautifulSoup(response.text, "lxml")
        assert page.find(attrs={"role": "alert"}) is not None
        if field is not None:
            assert page.select_one(f'#answer [name="{field}"][aria-invalid="true"]') is not None
        assert kinds(deal) == ["created", "frozen", "shared"]


def test_of_options_that_tie_one_is_chosen(reader: Reader, comparison: str) -> None:
    deal = Deal(reader, comparison, {}, options=TIE)
    content = ProposalContent.model_validate(deal.api(f"/{deal.id}")["content"])
    assert set(choices_of(content)) == set(TIE)
    boxes = [one["value"] for one in deal.page().select('[name="option"][type="radio"]')]
    assert boxes == choices_of(content)
    assert deal.act("accept", name="A").status_code == 422
    assert deal.act("accept", name="A", option="another").status_code == 400
    assert deal.act("accept", name="A", option=boxes[1]).status_code == 303
    assert deal.events[-1]["detail"]["option"] == boxes[1]


def test_what_the_author_recommends_otherwise_is_the_only_choice(reader: Reader, comparison: str) -> None:
    deal = Deal(reader, comparison, {}, options=TIE, recommended=TIE[0])
    by_rule = deal.api(f"/{deal.id}")["content"]["advice"]["by_rule"]
    assert by_rule == TIE[1] and deal.page().select('[type="radio"]') == []
    deal.act("accept", name="A")
    assert deal.events[-1]["detail"]["option"] == TIE[0]


def test_nothing_is_done_without_the_link(deal: Deal) -> None:
    deal.reader.ask("DELETE", f"/api/v1/proposals/{deal.id}/share")
    assert deal.act("accept", name="A").status_code == 404
    assert deal.act("ask", text="why").status_code == 404
    again = deal.api(f"/{deal.id}/share", {"expires_in_days": 1})["path"]
    with moved_clock() as clock:
        clock.by = timedelta(days=2)
        answer = deal.reader.submit(f"{again}/answer", {"act": "ask", "text": "late"})
        assert answer.status_code == 404
    assert kinds(deal) == ["created", "frozen", "shared", "unshared", "shared"]


def test_a_passphrase_is_asked_first(reader: Reader, comparison: str) -> None:
    deal = Deal(reader, comparison, {"passphrase": "open sesame"})
    assert deal.act("accept", name="A").status_code == 403
    proof = deal.reader.submit(deal.link, {"passphrase": "open sesame"}).headers["set-cookie"]
    cookie = {"cookie": proof.partition(";")[0]}
    fields = {"act": "accept", "name": "A", "sha256": deal.sha256}
    assert reader.ask("POST", f"{deal.link}/answer", data=fields, headers=cookie).status_code == 303
    assert kinds(deal)[-1] == "accepted"


def test_what_has_expired_is_not_accepted_but_asked_about(reader: Reader, comparison: str) -> None:
    with moved_clock() as clock:
        deal = Deal(reader, comparison, {}, valid_until="2099-12-31")
        clock.by = timedelta(days=0)
        today = deal.api(f"/{deal.id}")["created_at"][:10]
        deal = Deal(reader, comparison, {}, valid_until=today)
        clock.by = timedelta(days=2)
        assert deal.page().find("button", string=re.compile("Accept")) is None
        assert deal.act("accept", name="A").status_code == 409
        assert deal.act("decline", text="late").status_code == 409
        assert deal.act("ask", text="A new one?").status_code == 303


def test_pages_of_other_sites_cannot_answer(deal: Deal) -> None:
    fields = {"act": "accept", "name": "A", "sha256": deal.sha256}
    for headers in ({"origin": "https://evil.example"}, {"sec-fetch-site": "cross-site"}):
        answer = deal.reader.ask("POST", f"{deal.link}/answer", data=fields, headers=headers)
        assert answer.status_code == 403
    own = {"origin": "null", "sec-fetch-site": "same-origin"}
    assert deal.reader.ask("POST", f"{deal.link}/answer", data=fields, headers=own).status_code == 303


def test_questions_are_counted_and_end(deal: Deal, app: FastAPI) -> None:
    with allowed(app, {ClientKind.LINK: {CostClass.ESTIMATE: 2}}):
        answers = [deal.act("ask", text="why").status_code for _ in range(3)]
    assert answers == [303, 303, 429]
    with allowed(app, {ClientKind.LINK: {CostClass.ESTIMATE: 1000}}):
        for _ in range(MOST_QUESTIONS - 2):
            deal.act("ask", text="why")
        assert deal.act("ask", text="why").status_code == 409
        deal.api(f"/{deal.id}/replies", {"text": "so"})
        assert deal.act("ask", text="why").status_code == 303


def test_a_link_is_in_the_language_of_its_proposal(reader: Reader, comparison: str) -> None:
    deal = Deal(reader, comparison, {}, locale="ko")
    deal.act("ask", text="설치가 포함됩니까?")
    page = deal.page()
    assert page.html["lang"] == "ko"
    assert list(sentences(page)) == []
    deal.act("accept", name="김철수")
    assert list(sentences(deal.page())) == []
