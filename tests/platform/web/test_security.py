"""Who may ask: this machine's browser on this server's pages, and local tools."""

import pytest
from fastapi import FastAPI
from starlette.routing import Mount

from app.catalog.books import BookRow
from app.features.price_books.sheets import write_rows
from app.platform.tables import written
from app.platform.web.examples import CHECK
from app.platform.web.security import HEADERS_OF_FAULTS
from tests.conftest import run
from tests.support.application import Ask
from tests.support.direct import Request, send


@pytest.mark.parametrize("host", ["localhost", "localhost:8000", "127.0.0.1:1", "[::1]:8000", "LOCALHOST"])
def test_names_of_this_machine_are_answered(ask: Ask, host: str) -> None:
    assert ask("GET", "/healthz", headers={"host": host}).json() == {"status": "ok"}


@pytest.mark.parametrize(
    "host",
    ["", "rackline.example", "localhost.evil.example", "localhost:8000@evil", "127.0.0.1.nip.io", "[::1"],
)
def test_other_names_are_refused(ask: Ask, host: str) -> None:
    assert ask("GET", "/healthz", headers={"host": host}).status_code == 421


@pytest.mark.parametrize("name", ["Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-IP", "Via"])
def test_what_came_through_a_proxy_is_refused(ask: Ask, name: str) -> None:
    assert ask("GET", "/healthz", headers={name: "x"}).status_code == 403


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"sec-fetch-site": "same-origin", "origin": "http://localhost"}, 200),
        ({"sec-fetch-site": "none"}, 200),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"sec-fetch-site": "same-site"}, 403),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "http://localhost:9999"}, 403),
        ({"origin": "null"}, 403),
    ],
)
def test_changes_are_asked_for_by_our_own_pages_only(ask: Ask, headers: dict[str, str], status: int) -> None:
    assert ask("POST", "/api/v1/checks", json=CHECK, headers=headers).status_code == status


def test_reading_across_sites_is_left_to_the_browser_to_refuse(ask: Ask) -> None:
    response = ask("GET", "/api/v1/catalog/chips", headers={"sec-fetch-site": "cross-site"})
    assert response.headers["cross-origin-resource-policy"] == "same-origin"
    assert "access-control-allow-origin" not in response.headers


@pytest.mark.parametrize("path", ["/", "/healthz", "/api/v1/openapi.json", "/nowhere", "/static/nothing"])
def test_every_answer_is_strict(ask: Ask, path: str) -> None:
    headers = ask("GET", path, headers={"accept": "text/html"}).headers
    assert "unsafe" not in headers["content-security-policy"]
    assert "default-src 'none'" in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"


def test_refusals_are_strict_too(ask: Ask) -> None:
    assert "content-security-policy" in ask("GET", "/", headers={"host": "evil"}).headers


@pytest.mark.parametrize("accept", ["text/html", "application/json"])
def test_an_answer_about_a_fault_is_strict_as_well(
    application: FastAPI, monkeypatch: pytest.MonkeyPatch, accept: str, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("secret cause")

    monkeypatch.setattr(application.state.admission.__class__, "principal", broken)
    request = Request("GET", b"/api/v1/estimates/x" if "json" in accept else b"/estimates/x", b"",
                      ((b"accept", accept.encode()),))  # fmt: skip
    answer = run(send(application, request))
    assert answer.status == 500
    assert {name: answer.headers[name.lower()] for name in HEADERS_OF_FAULTS} == HEADERS_OF_FAULTS
    assert b"secret cause" not in answer.body
    assert "secret cause" in caplog.text, "the log has it"


def test_no_route_documents_itself_from_elsewhere(application: FastAPI) -> None:
    assert application.docs_url is None
    assert application.redoc_url is None
    mounts = [route.path for route in application.routes if isinstance(route, Mount)]
    assert mounts == ["/static"]


def test_a_form_is_not_read_where_json_is_due(ask: Ask) -> None:
    response = ask("POST", "/api/v1/checks", files={"file": ("a", b"x" * 300_000)})
    assert response.status_code == 415


@pytest.mark.parametrize("name", ["a\u202ecod.exe", "a\x07b.txt", "a\x00b.txt"])
def test_names_of_files_are_kept_without_control_characters(ask: Ask, name: str) -> None:
    head = (
        f'--b\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\nsome text\r\n--b--\r\n'
    )
    kind = {"content-type": "multipart/form-data; boundary=b"}
    response = ask("POST", "/api/v1/workloads", content=head.encode(), headers=kind)
    assert response.status_code < 500
    if response.status_code == 201:
        assert response.json()["name"].isprintable()


@pytest.mark.parametrize("path", ["//evil.example/", "///evil.example", "/nowhere"])
def test_no_link_of_ours_leads_to_another_site(ask: Ask, path: str) -> None:
    page = ask("GET", f"http://localhost{path}", headers={"accept": "text/html"}).text
    assert 'href="//' not in page


def test_what_a_customer_keeps_is_not_stored_on_the_way(ask: Ask) -> None:
    assert ask("GET", "/", headers={"accept": "text/html"}).headers["cache-control"] == "private, no-cache"
    assert ask("GET", "/api/v1/workloads").headers["cache-control"] == "no-store"


def test_long_answers_are_compressed(ask: Ask) -> None:
    for path, coding in (("/", "gzip"), ("/api/v1/catalog/chips", "gzip"), ("/healthz", None)):
        assert ask("GET", path).headers.get("content-encoding") == coding
    plain = ask("GET", "/", headers={"accept-encoding": "identity"})
    assert "content-encoding" not in plain.headers


@pytest.mark.parametrize("sign", ["=", "+", "-", "@", "\t", "＝", "＋", "－", "＠"])
def test_no_cell_of_text_begins_as_a_formula(sign: str) -> None:
    note = f"{sign}HYPERLINK(1)"
    assert written(note) == f"'{note}"
    row = BookRow(item="h100", parameter="price", condition="", value=1.0, unit="USD", note=note)
    assert f"'{note}" in write_rows([row])
