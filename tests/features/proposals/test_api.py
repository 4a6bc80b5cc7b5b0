"""Proposals through the API: drafts, freezing, files, links, replay."""

from __future__ import annotations

import csv
import dataclasses
import hashlib
import io
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import httpx
import openpyxl
import pypdf
import pytest
import rfc8785
from fastapi import FastAPI

from app.catalog.catalog import load_catalog
from app.errors import TooMany
from app.features.comparisons import service as comparisons
from app.features.proposals import service as proposals
from app.features.proposals import sharing
from app.features.proposals.model import SECTIONS
from app.platform.identity import Identity, token_hash
from app.platform.references import no_such
from app.platform.store.trail import TrailFilter
from app.platform.web.examples import BOW, HEAD_TO_HEAD, RESNET, STUDY
from tests.conftest import DATA, problem_of
from tests.support.application import Ask
from tests.support.objects import moved_clock

TODAY = datetime.now(UTC).date().isoformat()


@pytest.fixture(scope="module")
def claimed(ask: Ask) -> str:
    """Identifier of a comparison of published figures."""
    return str(ask("POST", "/api/v1/comparisons", json=HEAD_TO_HEAD).json()["id"])


@pytest.fixture(scope="module")
def modelled(ask: Ask) -> str:
    """Identifier of a comparison of estimates in dollars."""
    return str(ask("POST", "/api/v1/comparisons", json={"rows": [RESNET, BOW]}).json()["id"])


def made(ask: Ask, comparison: str, **more: Any) -> dict[str, Any]:
    body = {
        "comparison_id": comparison,
        "customer": "하이퍼커넥트",
        "locale": "ko",
        "currency": "KRW",
        **more,
    }
    response = ask("POST", "/api/v1/proposals", json=body)
    assert response.status_code == 201, response.text
    return dict(response.json())


def frozen(ask: Ask, comparison: str, **more: Any) -> dict[str, Any]:
    draft = made(ask, comparison, **more)
    response = ask("POST", f"/api/v1/proposals/{draft['id']}/freeze")
    assert response.status_code == 200, response.text
    return dict(ask("GET", f"/api/v1/proposals/{draft['id']}").json())


def test_claims_are_recommended_by_nobody_but_the_author(ask: Ask, claimed: str) -> None:
    content = made(ask, claimed)["content"]
    assert content["decision"]["recommended"] is None and content["advice"]["recommended"] is None
    assert {one["why_not"] for one in content["decision"]["options"]} == {"published"}
    advice = made(ask, claimed, recommended="IPU-POD64")["content"]["advice"]
    assert advice["recommended"] == "IPU-POD64"
    assert any("stated by its vendor" in reason["message"] for reason in advice["reasons"])


def test_a_currency_of_its_own_is_that_of_every_price(ask: Ask, modelled: str) -> None:
    content = made(ask, modelled)["content"]
    costs = [row["estimate"]["cost"]["run"]["unit"] for row in content["comparison"]["rows"]]
    prices = [line["unit_price"]["unit"] for bill in content["bills"] for line in bill["lines"]]
    assert {*costs, *prices, content["term"]["options"][0]["hourly"]["unit"]} == {"KRW"}


def test_a_draft_changes_and_a_frozen_proposal_does_not(ask: Ask, claimed: str) -> None:
    draft = made(ask, claimed, deadline_s=86400)
    address = f"/api/v1/proposals/{draft['id']}"
    changed = ask("PATCH", address, json={"customer": "다른 고객", "deadline_s": None})
    assert changed.status_code == 200
    assert changed.json()["content"]["customer"] == "다른 고객"
    assert changed.json()["content"]["advice"]["deadline_s"] is None
    refusal = ask("PATCH", address, json={}, headers={"If-Match": '"1"'})
    assert problem_of(refusal) == (412, "precondition_failed", "If-Match")
    first = ask("POST", f"{address}/freeze").json()
    assert first.keys() == {"id", "status", "sha256", "frozen_at"}
    assert ask("POST", f"{address}/freeze").json() == first
    before = ask("GET", address).json()
    assert ask("PATCH", address, json={"customer": "x"}).status_code == 409
    assert ask("GET", address).json() == before


def test_the_hash_is_that_of_the_canonical_content(ask: Ask, modelled: str) -> None:
    found = frozen(ask, modelled)
    assert hashlib.sha256(rfc8785.dumps(found["content"])).hexdigest() == found["sha256"]
    assert ask("GET", f"/api/v1/proposals/{found['id']}.json").json() == found


def test_a_frozen_document_is_rendered_once_and_given_out_again(
    ask: Ask, modelled: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = frozen(ask, modelled)
    monkeypatch.setattr(proposals, "proposal_pdf", lambda proposal: pytest.fail("rendered anew"))
    first, second = (ask("GET", f"/api/v1/proposals/{found['id']}.pdf") for _ in range(2))
    assert first.headers["content-type"] == "application/pdf"
    assert first.content == second.content
    reader = pypdf.PdfReader(io.BytesIO(first.content))
    assert found["sha256"][:12] in reader.pages[0].extract_text()
    day = datetime.fromisoformat(found["frozen_at"])
    assert reader.metadata is not None and reader.metadata.creation_date is not None
    assert reader.metadata.creation_date.date() == day.date()


def test_tables_are_files_that_programs_read(ask: Ask, modelled: str) -> None:
    identifier = frozen(ask, modelled)["id"]
    table = ask("GET", f"/api/v1/proposals/{identifier}.csv")
    assert table.headers["content-type"].startswith("text/csv")
    rows = list(csv.DictReader(io.StringIO(table.text)))
    assert {"proposal", "comparison", "bill", "term", "assumptions", "sources"} <= {
        row["section"] for row in rows
    }
    book = ask("GET", f"/api/v1/proposals/{identifier}.xlsx")
    assert len(openpyxl.load_workbook(io.BytesIO(book.content)).sheetnames) == 7


def test_tables_are_in_the_language_of_the_proposal_unless_another_is_asked_for(
    ask: Ask, modelled: str
) -> None:
    path = f"/api/v1/proposals/{frozen(ask, modelled)['id']}"

    def heads(query: str, language: str) -> tuple[object, str, str]:
        headers = {"accept-language": language}
        book = ask("GET", f"{path}.xlsx{query}", headers=headers).content
        first, *rows = csv.reader(io.StringIO(ask("GET", f"{path}.csv{query}", headers=headers).text))
        label = next(row[3] for row in rows if row[2] == "step_time")
        return openpyxl.load_workbook(io.BytesIO(book)).worksheets[1].cell(1, 4).value, first[0], label

    assert heads("", "en") == ("수량", "section", "스텝 시간")
    assert heads("?lang=en", "ko") == ("Quantity", "section", "Step time")


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        ({"comparison_id": "cmp_none"}, 404, "comparison_id"),
        ({"customer": ""}, 400, "customer"),
        ({"customer": None}, 422, "customer"),
        ({"valid_until": "2000-01-01"}, 400, "valid_until"),
        ({"valid_until": "tomorrow"}, 422, "valid_until"),
        ({"options": ["nothing"]}, 404, "options[0]"),
        ({"options": []}, 400, "options"),
        ({"recommended": "nothing"}, 400, "recommended"),
        ({"branding": {"accent": "red"}}, 400, "branding.accent"),
        ({"branding": {"logo": {"media_type": "image/png", "data": "!"}}}, 400, "branding.logo.data"),
        ({"term_years": 0}, 400, "term_years"),
        ({"scaling_efficiency": 1.5}, 400, "scaling_efficiency"),
        ({"locale": "fr"}, 422, "locale"),
        ({"price_book_id": "prb_none"}, 404, "price_book_id"),
        ({"unknown": 1}, 422, "unknown"),
    ],
)
def test_what_cannot_be_used_is_named(
    ask: Ask, claimed: str, body: dict[str, Any], status: int, field: str
) -> None:
    whole = {"comparison_id": claimed, "customer": "x", **body}
    response = ask("POST", "/api/v1/proposals", json=whole)
    assert response.status_code == status, response.text
    assert field in [error["field"] for error in response.json()["errors"]]


def test_any_characters_in_any_field_are_taken_and_printed(ask: Ask, claimed: str) -> None:
    name = "#x *b* <b>👩🏽‍💻 مرحبا 漢 " + "W" * 60
    hostile = f"\u202e\u0007{name}"
    found = frozen(ask, claimed, customer=name, title=name, reason=hostile, branding={"footer": hostile})
    for kind in ("pdf", "xlsx", "csv", "json"):
        assert ask("GET", f"/api/v1/proposals/{found['id']}.{kind}").status_code == 200


def test_what_happened_is_told_in_order(ask: Ask, claimed: str) -> None:
    found = made(ask, claimed)
    address = f"/api/v1/proposals/{found['id']}"
    ask("PATCH", address, json={"title": "x"})
    ask("POST", f"{address}/freeze")
    ask("POST", f"{address}/freeze")
    token = ask("POST", f"{address}/share", json={}).json()["token"]
    ask("GET", f"/s/{token}")
    ask("DELETE", f"{address}/share")
    ask("POST", f"{address}/replay")
    kinds = [event["kind"] for event in ask("GET", f"{address}/events").json()["items"]]
    assert kinds == ["created", "changed", "frozen", "shared", "opened", "unshared", "replayed"]


def stepped(ask: Ask, identifier: str, step: str, **more: Any) -> httpx.Response:
    headers = {"Idempotency-Key": more.pop("key")} if "key" in more else {}
    body = {"step": step, **more}
    return ask("POST", f"/api/v1/proposals/{identifier}/review", json=body, headers=headers)


def test_numbers_run_on_by_workspace_and_year(ask: Ask, claimed: str) -> None:
    first, second = (made(ask, claimed)["number"] for _ in range(2))
    year, count = first.split("-")
    assert year == str(datetime.now(UTC).year) and len(count) == 4
    assert second == f"{year}-{int(count) + 1:04}"
    kept = made(ask, claimed)
    changed = ask("PATCH", f"/api/v1/proposals/{kept['id']}", json={"customer": "다른 고객"}).json()
    assert changed["number"] == changed["content"]["number"] == kept["number"]


def test_a_year_begins_anew_and_never_goes_back(application: FastAPI) -> None:
    store, found = application.state.installation.store, []
    with pytest.raises(KeyError), store.transaction("ws_local") as repository:
        found = [repository.next_proposal_number(year) for year in (2090, 2090, 2091, 2089)]
        raise KeyError("and none of them counts")
    assert found == ["2090-0001", "2090-0002", "2091-0001", "2091-0002"]


def test_steps_lead_from_the_draft_to_the_answer(ask: Ask, claimed: str) -> None:
    draft = made(ask, claimed)
    assert (draft["review"], draft["steps"]) == ("draft", ["submit", "approve"])
    found = stepped(ask, draft["id"], "submit", note="look").json()
    assert (found["review"], found["status"], found["steps"]) == ("in_review", "draft", ["return", "approve"])
    same = ask("PATCH", f"/api/v1/proposals/{draft['id']}", json={}).json()
    assert (same["review"], same["version"]) == ("in_review", found["version"]), "nothing was changed"
    changed = ask("PATCH", f"/api/v1/proposals/{draft['id']}", json={"title": "x"}).json()
    assert changed["review"] == "draft", "nobody has reviewed what it says now"
    refused = stepped(ask, draft["id"], "accept")
    assert problem_of(refused) == (409, "conflict", "step")
    stepped(ask, draft["id"], "submit")
    approved = stepped(ask, draft["id"], "approve").json()
    assert (approved["review"], approved["status"], approved["steps"]) == ("approved", "frozen", ["send"])
    assert approved["sha256"] and ask("PATCH", f"/api/v1/proposals/{draft['id']}", json={}).status_code == 409
    assert stepped(ask, draft["id"], "send").json()["review"] == "sent"
    assert stepped(ask, draft["id"], "decline", note="too late").json()["review"] == "declined"
    assert problem_of(stepped(ask, draft["id"], "accept")) == (409, "conflict", "step")
    events = ask("GET", f"/api/v1/proposals/{draft['id']}/events").json()["items"]
    kinds = [event["kind"] for event in events]
    assert kinds == ["created", "submitted", "changed", "submitted", "frozen", "sent", "declined"]
    assert events[-1]["detail"]["note"] == "too late"
    listed = ask("GET", "/api/v1/proposals?review=declined&limit=200").json()["items"]
    assert {one["review"] for one in listed} == {"declined"} and draft["id"] in {one["id"] for one in listed}


def test_an_answer_stays_when_the_last_day_is_over(ask: Ask, claimed: str) -> None:
    answered, silent = (frozen(ask, claimed, valid_until=TODAY)["id"] for _ in range(2))
    for one in (answered, silent):
        stepped(ask, one, "send")
    stepped(ask, answered, "accept")
    with moved_clock() as clock:
        clock.by = timedelta(days=2)
        late = {name: ask("GET", f"/api/v1/proposals/{name}").json() for name in (answered, silent)}
        assert [one["status"] for one in late.values()] == ["expired", "expired"]
        assert (late[answered]["review"], late[silent]["review"]) == ("accepted", "expired")
        assert problem_of(stepped(ask, silent, "accept")) == (409, "conflict", "step")
        over = ask("GET", "/api/v1/proposals?review=expired&limit=200").json()["items"]
        assert silent in {one["id"] for one in over} and answered not in {one["id"] for one in over}


@pytest.fixture
def mails(application: FastAPI) -> Iterator[list[tuple[str, str, str]]]:
    """Mails that a server took, which loses those to one address."""
    before: Identity = application.state.identity
    found: list[tuple[str, str, str]] = []

    def post(address: str, subject: str, text: str) -> bool:
        found.append((address, subject, text))
        return address != "lost@example.com"

    application.state.identity = dataclasses.replace(before, mail=post)
    yield found
    application.state.identity = before


def test_without_a_mail_server_a_link_is_sent_by_hand(ask: Ask, claimed: str) -> None:
    found = frozen(ask, claimed)
    refused = stepped(ask, found["id"], "send", to="buyer@example.com")
    assert problem_of(refused) == (409, "conflict", "to")
    assert ask("GET", f"/api/v1/proposals/{found['id']}").json()["share"] is None
    assert stepped(ask, found["id"], "send").json()["review"] == "sent"


def test_a_link_is_mailed_and_its_openings_are_told(
    ask: Ask, claimed: str, application: FastAPI, mails: list[tuple[str, str, str]]
) -> None:
    found = frozen(ask, claimed, sender={"organization": "래블업"})
    assert problem_of(stepped(ask, found["id"], "send", to="nobody")) == (400, "bad_input", "to")
    lost = stepped(ask, found["id"], "send", to="lost@example.com")
    assert (
        problem_of(lost) == (409, "conflict", "to")
        and ask("GET", f"/api/v1/proposals/{found['id']}").json()["review"] == "approved"
    )
    assert stepped(ask, found["id"], "send", to="buyer@example.com", note="안녕하십니까").status_code == 200
    again = [stepped(ask, found["id"], "send", to="buyer@example.com", key="mail-1") for _ in range(2)]
    assert again[0].json() == again[1].json() and len(mails) == 3
    address, subject, text = mails[-1]
    assert address == "buyer@example.com" and found["number"] in subject
    assert "래블업" in text and "안녕하십니까" in mails[-2][2]
    link = next(line for line in text.split() if "/s/" in line)
    path = link[link.index("/s/") :]
    assert ask("GET", path).status_code == ask("GET", path).status_code == 200
    ask("GET", f"{path}.pdf")
    now = ask("GET", f"/api/v1/proposals/{found['id']}").json()
    assert now["opened"] == 2 and now["first_opened_at"] < now["last_opened_at"]
    seen = ask("GET", f"{path}.json").json()
    assert (seen["opened"], seen["steps"], seen["first_opened_at"]) == (0, [], None)
    listed = ask("GET", "/api/v1/proposals?review=sent&limit=200").json()["items"]
    assert next(one["opened"] for one in listed if one["id"] == found["id"]) == 2


def test_files_are_named_after_customer_day_and_number(ask: Ask, claimed: str) -> None:
    found = frozen(ask, claimed, customer='../하이퍼커넥트 "주식회사"')
    day = found["frozen_at"][:10]
    said = ask("GET", f"/api/v1/proposals/{found['id']}.pdf").headers["content-disposition"]
    assert f'filename="{day}-{found["number"]}.pdf"' in said
    assert (
        unquote(said.partition("filename*=UTF-8''")[2])
        == f"하이퍼커넥트-주식회사-{day}-{found['number']}.pdf"
    )


def test_sections_are_ordered_named_once_and_part_of_what_is_hashed(ask: Ask, claimed: str) -> None:
    twice = {"comparison_id": claimed, "customer": "x", "sections": [{"id": "terms"}, {"id": "terms"}]}
    refused = ask("POST", "/api/v1/proposals", json=twice)
    assert problem_of(refused) == (400, "bad_input", "sections[1].id")
    draft = made(
        ask, claimed, sections=[{"id": "terms", "text": "  우리 조건  "}, {"id": "plan", "shown": False}]
    )
    order = [one["id"] for one in draft["content"]["sections"]]
    assert order[:3] == ["summary", "terms", "plan"] and sorted(order) == sorted(SECTIONS)
    figures = {**draft["content"], "sections": None}
    patch = {"sections": [{"id": "terms", "text": "other"}]}
    changed = ask("PATCH", f"/api/v1/proposals/{draft['id']}", json=patch).json()["content"]
    assert {**changed, "sections": None} == figures
    assert next(one["text"] for one in changed["sections"] if one["id"] == "terms") == "other"


def test_what_is_left_out_is_told_to_nobody(ask: Ask, claimed: str) -> None:
    hidden = [{"id": name, "shown": False, "text": f"inside {name}"} for name in ("scope", "reasons")]
    draft = made(ask, claimed, sections=[*hidden, {"id": "terms", "text": "our terms"}])
    address = f"/api/v1/proposals/{draft['id']}"
    assert "inside scope" in ask("GET", address).text, "its author may still show it"
    assert ask("POST", f"{address}/freeze").status_code == 200
    kept = ask("GET", address).json()
    data = ask("GET", f"{ask('POST', f'{address}/share', json={}).json()['url']}.json")
    assert "our terms" in data.text and "inside" not in data.text
    assert kept["content"]["reason"] is None
    assert kept["sha256"] == hashlib.sha256(rfc8785.dumps(kept["content"])).hexdigest()


def test_a_study_is_proposed_as_it_stands(ask: Ask) -> None:
    study = ask("POST", "/api/v1/studies", json=STUDY).json()
    found = made(ask, "", comparison_id=None, study_id=study["id"])
    assert found["study_id"] == study["id"] and found["comparison_id"].startswith("cmp_")
    assert len(found["content"]["comparison"]["rows"]) == len(study["content"]["options"])
    again = ask("PATCH", f"/api/v1/proposals/{found['id']}", json={"study_id": study["id"]}).json()
    assert again["comparison_id"] != found["comparison_id"]
    for body, status in (({"study_id": "stu_none"}, 404), ({}, 422)):
        refused = ask("POST", "/api/v1/proposals", json={"customer": "x", **body})
        assert refused.status_code == status, refused.text


@pytest.fixture
def dearer(application: FastAPI, tmp_path: Path) -> Iterator[None]:
    """A catalogue in which a DGX A100 costs twice as much."""
    installation = application.state.installation
    before = installation.sizing
    for path in DATA.iterdir():
        (tmp_path / path.name).symlink_to(path)
    lines = (DATA / "prices.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    changed = []
    for line in lines:
        cells = next(csv.reader([line]))
        if cells[:2] == ["dgx-a100-640gb", "price"] and "accepted" in cells:
            cells[3:7] = [str(2 * float(cells[3])), cells[4], "", ""]
            buffer = io.StringIO()
            csv.writer(buffer, lineterminator="\n").writerow(cells)
            line = buffer.getvalue()
        changed.append(line)
    assert changed != lines
    (tmp_path / "prices.csv").unlink()
    (tmp_path / "prices.csv").write_text("".join(changed), encoding="utf-8")
    installation.sizing = dataclasses.replace(before, catalog=load_catalog(tmp_path))
    yield
    installation.sizing = before


def test_a_replay_without_a_change_finds_none(ask: Ask, modelled: str) -> None:
    replay = ask("POST", f"/api/v1/proposals/{frozen(ask, modelled)['id']}/replay").json()
    assert replay["changes"] == replay["refused"] == []
    assert replay["compared"] > 50
    for versions in (replay["engine_version"], replay["catalog_version"]):
        assert versions["then"] == versions["now"]


def test_a_replay_lists_what_a_new_price_changes_and_touches_nothing(
    ask: Ask, modelled: str, request: pytest.FixtureRequest
) -> None:
    found = frozen(ask, modelled)
    address = f"/api/v1/proposals/{found['id']}"
    before = ask("GET", f"{address}.pdf").content
    request.getfixturevalue("dearer")
    replay = ask("POST", f"{address}/replay").json()
    by_name = {(one["option"], one["name"]): one for one in replay["changes"]}
    price = by_name["One DGX A100", "bill.dgx-a100-640gb (machine).unit_price"]
    assert price["now"] == pytest.approx(2 * price["then"])
    assert price["relative"] == pytest.approx(1.0)
    assert ("One DGX A100", "cost.run") in by_name
    assert not any(option == "One Bow Pod16" for option, _ in by_name)
    assert ("One DGX A100", "hours") not in by_name
    for versions in (replay["engine_version"], replay["catalog_version"]):
        assert versions["then"] != versions["now"]
    assert ask("GET", f"{address}.pdf").content == before
    assert ask("GET", address).json() == found


def test_an_option_that_is_not_there_any_more_is_named(
    ask: Ask, modelled: str, application: FastAPI, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = frozen(ask, modelled)
    installation = application.state.installation

    def gone(*_: object) -> Any:
        raise no_such("system", "dgx-a100-640gb")

    monkeypatch.setattr(comparisons, "estimate_option", gone)
    replay = ask("POST", f"/api/v1/proposals/{found['id']}/replay").json()
    assert [one["label"] for one in replay["refused"]] == ["One DGX A100", "One Bow Pod16"]
    assert replay["changes"] == []
    assert installation is application.state.installation


def test_a_draft_cannot_be_shared(ask: Ask, claimed: str) -> None:
    address = f"/api/v1/proposals/{made(ask, claimed)['id']}/share"
    assert ask("POST", address, json={}).status_code == 409


def test_a_link_shows_its_proposal_alone_and_can_be_taken_back(ask: Ask, claimed: str) -> None:
    found = frozen(ask, claimed)
    address = f"/api/v1/proposals/{found['id']}"
    shared = ask("POST", f"{address}/share", json={"expires_in_days": 7}).json()
    page = ask("GET", shared["url"])
    assert page.status_code == 200
    assert "noindex" in page.headers["x-robots-tag"]
    assert page.headers["referrer-policy"] == "no-referrer"
    assert "no-store" in page.headers["cache-control"]
    for inside in ("/comparisons/", "/estimates/", "/catalog", found["id"], found["comparison_id"]):
        assert inside not in page.text
    kept = ask("GET", f"{address}.pdf").content
    assert ask("GET", f"{shared['url']}.pdf").content == kept
    data = ask("GET", f"{shared['url']}.json").json()
    assert data["content"] == found["content"] and data["share"] is None
    assert ask("GET", address).json()["share"]["opened"] >= 1
    assert ask("DELETE", f"{address}/share").status_code == 204
    for path in ("", ".pdf", ".json", ".csv", ".xlsx"):
        gone = ask("GET", shared["url"] + path)
        assert gone.status_code == 404
    assert ask("GET", address).json()["share"] is None


def read_events(application: FastAPI, identifier: str) -> list[tuple[str, str]]:
    """Return action and form of what was noted of a proposal that was looked at through links."""
    with application.state.installation.workspace("ws_local").transaction() as repository:
        rows, _ = repository.trail.listing(TrailFilter({"object_id": identifier}), 200, None)
    read = {"proposal.read", "proposal.unlocked", "proposal.refused"}
    return sorted((row.action, row.detail.get("form", "")) for row in rows if row.action in read)


def test_a_link_that_is_asked_for_again_and_again_fills_no_table(
    ask: Ask, claimed: str, application: FastAPI
) -> None:
    found = frozen(ask, claimed)
    address = f"/api/v1/proposals/{found['id']}"
    with moved_clock() as clock:
        url = ask("POST", f"{address}/share", json={"passphrase": "open sesame"}).json()["url"]
        tries = ("wrong", "open sesame", "wrong", "open sesame")
        answers = [ask("POST", url, data={"passphrase": given}) for given in tries]
        headers = {"cookie": answers[-1].headers["set-cookie"].split(";")[0]}
        for path in ("", ".json", ".csv") * 3:
            assert ask("GET", url + path, headers=headers).status_code == 200
        once = [("proposal.read", form) for form in ("csv", "json", "page")]
        once += [("proposal.refused", ""), ("proposal.unlocked", "")]
        assert read_events(application, found["id"]) == once
        assert ask("GET", address).json()["share"]["opened"] == 9
        # An hour later, and a day earlier by a clock that was put back, it is worth a line again.
        for by in (timedelta(hours=1, minutes=1), timedelta(hours=-23)):
            clock.by = by
            ask("GET", url, headers=headers)
            ask("GET", url, headers=headers)
        assert read_events(application, found["id"]).count(("proposal.read", "page")) == 3


def test_openings_at_the_same_time_are_each_counted(ask: Ask, claimed: str, application: FastAPI) -> None:
    address = f"/api/v1/proposals/{frozen(ask, claimed)['id']}"
    token = ask("POST", f"{address}/share", json={}).json()["token"]
    installation = application.state.installation
    with ThreadPoolExecutor(8) as readers:
        list(readers.map(lambda _: sharing.open_share(installation, token), range(40)))
    assert ask("GET", address).json()["share"]["opened"] == 40


def test_a_new_link_ends_the_earlier_one(ask: Ask, claimed: str) -> None:
    address = f"/api/v1/proposals/{frozen(ask, claimed)['id']}/share"
    first, second = (ask("POST", address, json={}).json()["url"] for _ in range(2))
    assert ask("GET", first).status_code == 404
    assert ask("GET", second).status_code == 200


def test_a_link_ends_with_its_time(ask: Ask, claimed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    address = f"/api/v1/proposals/{frozen(ask, claimed)['id']}/share"
    url = ask("POST", address, json={"expires_in_days": 1}).json()["url"]
    later = datetime.now(UTC) + timedelta(days=1, minutes=1)
    monkeypatch.setattr(sharing, "now", lambda: later)
    assert ask("GET", url).status_code == 404


@pytest.mark.parametrize("passphrase", [" " * 8, "1234567" + " " * 9, "short"])
def test_a_passphrase_of_spaces_is_none(ask: Ask, claimed: str, passphrase: str) -> None:
    answer = ask(
        "POST", f"/api/v1/proposals/{frozen(ask, claimed)['id']}/share", json={"passphrase": passphrase}
    )
    assert answer.status_code == 400
    assert [error["field"] for error in answer.json()["errors"]] == ["passphrase"]


def test_neither_token_nor_passphrase_is_kept(ask: Ask, claimed: str, application: FastAPI) -> None:
    address = f"/api/v1/proposals/{frozen(ask, claimed)['id']}/share"
    key = {"Idempotency-Key": "share-1"}
    body = {"passphrase": "unmistakable words"}
    first = ask("POST", address, json=body, headers=key).json()
    again = ask("POST", address, json=body, headers=key).json()
    assert again == {**first, "url": None, "path": None, "token": None}
    database = Path(application.state.installation.store.engine.url.database)
    stored = b"".join(path.read_bytes() for path in database.parent.iterdir() if path.is_file())
    assert first["token"].encode() not in stored
    assert b"unmistakable words" not in stored
    # Nor a fast hash of the passphrase in what a key repeats.
    assert hashlib.sha256(b"unmistakable words").hexdigest().encode() not in stored


def test_a_passphrase_stands_before_everything_and_guesses_are_slowed(
    ask: Ask, claimed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = f"/api/v1/proposals/{frozen(ask, claimed)['id']}/share"
    url = ask("POST", address, json={"passphrase": "open sesame"}).json()["url"]
    asked = ask("GET", url)
    assert asked.status_code == 200 and "하이퍼커넥트" not in asked.text
    assert "noindex" in asked.headers["x-robots-tag"]
    assert ask("GET", f"{url}.pdf").status_code == 403
    assert ask("POST", url, data={"passphrase": "wrong"}).status_code == 403
    opened = ask("POST", url, data={"passphrase": "open sesame"})
    assert opened.status_code == 303
    cookie = opened.headers["set-cookie"]
    assert "HttpOnly" in cookie and "open sesame" not in cookie
    headers = {"cookie": cookie.split(";")[0]}
    assert "하이퍼커넥트" in ask("GET", url, headers=headers).text
    assert ask("GET", f"{url}.pdf", headers=headers).status_code == 200
    assert ask("GET", f"{url}.pdf", headers={"cookie": headers["cookie"][:-1] + "x"}).status_code == 403
    guesses = [ask("POST", url, data={"passphrase": f"guess {index}"}) for index in range(7)]
    assert [one.status_code for one in guesses] == [403] * 5 + [429] * 2
    assert 0 < int(guesses[-1].headers["retry-after"]) <= 15 * 60
    assert ask("POST", url, data={"passphrase": "open sesame"}).status_code == 429
    later = datetime.now(UTC) + sharing.PAUSE + timedelta(seconds=5)
    monkeypatch.setattr(sharing, "now", lambda: later)
    assert ask("POST", url, data={"passphrase": "open sesame"}).status_code == 303


def test_one_key_does_not_stand_for_two_passphrases(ask: Ask, claimed: str) -> None:
    address = f"/api/v1/proposals/{frozen(ask, claimed)['id']}/share"

    def share(passphrase: str | None) -> int:
        body = {"passphrase": passphrase}
        return ask("POST", address, json=body, headers={"Idempotency-Key": "share-2"}).status_code

    assert [share("open sesame"), share("open sesame")] == [201, 201]
    assert [share("another sesame"), share(None)] == [409, 409]


def test_guesses_at_the_same_time_are_each_counted(ask: Ask, claimed: str, application: FastAPI) -> None:
    address = f"/api/v1/proposals/{frozen(ask, claimed)['id']}/share"
    token = ask("POST", address, json={"passphrase": "open sesame"}).json()["token"]
    installation = application.state.installation

    def guess(number: int) -> type[Exception]:
        with pytest.raises((sharing.WrongPassphrase, TooMany)) as refused:
            sharing.unlock_share(installation, token, f"guess {number}")
        return refused.type

    with ThreadPoolExecutor(8) as guessers:
        answers = list(guessers.map(guess, range(16)))
    assert answers.count(sharing.WrongPassphrase) == sharing.MOST_FAILURES


def test_nobody_waits_while_a_passphrase_is_looked_at(
    ask: Ask, claimed: str, application: FastAPI, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = f"/api/v1/proposals/{frozen(ask, claimed)['id']}"
    token = ask("POST", f"{address}/share", json={"passphrase": "open sesame"}).json()["token"]
    store, slow = application.state.installation.store, sharing.passphrase_hash
    found: list[int] = []

    def slowly(passphrase: str, salt: str) -> str:
        # Another one guesses meanwhile: the right passphrase does not forgive what it came before.
        with store.transaction("ws_local") as repository:
            queries = repository.of_proposal(address.rpartition("/")[2])
            queries.count_attempt(token_hash(token))
            share = queries.share_of(token_hash(token), datetime.now(UTC))
            assert share is not None
            found.append(share.failures)
        return slow(passphrase, salt)

    monkeypatch.setattr(sharing, "passphrase_hash", slowly)
    assert sharing.unlock_share(application.state.installation, token, "open sesame")
    assert sharing.unlock_share(application.state.installation, token, "open sesame")
    assert found == [2, 3]


@pytest.mark.parametrize("token", ["x", "a" * 43, "x" * 5000])
def test_a_token_nobody_has_leads_nowhere(ask: Ask, token: str) -> None:
    assert ask("GET", f"/s/{token}").status_code == 404


def test_a_proposal_past_its_last_day_is_expired(
    ask: Ask, claimed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    day = (datetime.now(UTC) + timedelta(days=1)).date().isoformat()
    identifier = frozen(ask, claimed, valid_until=day)["id"]
    draft = made(ask, claimed, valid_until=day)["id"]
    url = ask("POST", f"/api/v1/proposals/{identifier}/share", json={}).json()["url"]
    later = datetime.now(UTC) + timedelta(days=3)
    monkeypatch.setattr(proposals, "now", lambda: later)
    assert ask("GET", f"/api/v1/proposals/{identifier}").json()["status"] == "expired"
    assert problem_of(ask("POST", f"/api/v1/proposals/{draft}/freeze")) == (409, "conflict", "valid_until")
    assert ask("POST", f"/api/v1/proposals/{identifier}/share", json={}).status_code == 409
    assert 'role="status"' in ask("GET", url, headers={"accept": "text/html"}).text


def test_the_list_can_be_asked_for_one_status(
    ask: Ask, claimed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    draft, kept = made(ask, claimed)["id"], frozen(ask, claimed)["id"]
    ending = made(ask, claimed, valid_until=datetime.now(UTC).date().isoformat())["id"]

    def listed(status: str) -> set[str]:
        found = ask("GET", "/api/v1/proposals", params={"status": status, "limit": 100}).json()["items"]
        assert {one["status"] for one in found} <= {status}
        return {one["id"] for one in found}

    assert {draft, ending} <= listed("draft") and kept in listed("frozen") and ending not in listed("expired")
    monkeypatch.setattr(proposals, "now", lambda: datetime.now(UTC) + timedelta(days=2))
    assert ending in listed("expired") and ending not in listed("draft")
    assert {draft, kept}.isdisjoint(listed("expired"))
    refusal = ask("GET", "/api/v1/proposals", params={"status": "sent"})
    assert problem_of(refusal) == (422, "not_a_choice", "status")


def test_measured_runs_come_into_a_proposal(ask: Ask, claimed: str) -> None:
    runs = {"infiniband": [1003, 998, 999], "roce": [985, 990, 980]}
    asked = {"system": "dgx-a100-640gb", "reference": "roce", "runs": runs}
    gain = ask("POST", "/api/v1/calibrations", json=asked).json()["id"]
    draft = made(ask, claimed, calibration_id=gain, locale="en")
    (found,) = draft["content"]["evidence"]["gains"]
    assert (found["taken"], found["against"], found["worth"]) == ("roce", "infiniband", False)
    assert found["gain"]["value"] == pytest.approx(1000 / 985 - 1)
    assert draft["content"]["advice"]["avoid"][-1]["label"] == "infiniband"
    address = f"/api/v1/proposals/{draft['id']}"
    assert "1,000 samples/s" in pypdf_text(ask("GET", f"{address}.pdf").content)
    left = ask("PATCH", address, json={"calibration_id": None}).json()["content"]
    assert "evidence" not in left
    refused = ask("PATCH", address, json={"calibration_id": "cal_none"})
    assert refused.status_code == 404 and refused.json()["errors"][0]["field"] == "calibration_id"
    choice = {"estimate": {**RESNET, "system": {"id": "ipu-pod16"}}}
    refused = ask("PATCH", address, json={"fabric_choice": choice})
    assert problem_of(refused) == (409, "conflict", "fabric_choice.estimate.system.id")
    assert refused.json()["errors"][0]["field"] == "fabric_choice.estimate.system.id"


def test_what_names_no_runs_is_hashed_as_before_there_were_any(ask: Ask, claimed: str) -> None:
    content = made(ask, claimed)["content"]
    assert "evidence" not in content


def pypdf_text(data: bytes) -> str:
    return "\n".join(page.extract_text() for page in pypdf.PdfReader(io.BytesIO(data)).pages)
