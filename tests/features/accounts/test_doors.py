"""Every door asks who it is; nothing leads or writes anywhere else."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator
from http.cookies import SimpleCookie
from urllib.parse import quote, urlsplit

import httpx
import pytest
from fastapi import FastAPI
from fastapi.routing import iter_route_contexts

from app.errors import Unavailable
from app.features.accounts import people
from app.features.accounts import service as accounts
from app.main import create_app, identity_of
from app.platform.admission import Principal, Role
from app.platform.store.database import Store
from app.platform.web import security
from app.settings import Settings
from tests.features.accounts.conftest import PASSWORD, Browser

OPEN = {
    "/healthz", "/readyz", "/metrics",
    "/static", "/api/v1/openapi.json", "/sign-in", "/sign-in/code", "/sign-in/oidc",
    "/sign-in/oidc/callback", "/sign-out", "/forgotten",
    "/password/{token}", "/invitations/{token}", "/invitations/{token}/join",
    "/s/{token}", "/s/{token}/answer",
    "/s/{token}.json", "/s/{token}.pdf", "/s/{token}.xlsx", "/s/{token}.csv",
}  # fmt: skip
"""What is open to nobody known: whether the server serves, its styles, its API's description, where sessions
begin, and links that are secrets themselves."""

HTTPS = "https://rackline.example"

PROXY = "10.0.0.2"


def doors(app: FastAPI) -> Iterator[tuple[str, str]]:
    """Return method and path of every route."""
    for context in iter_route_contexts(app.routes):
        path = str(context.path)
        methods = getattr(context, "methods", None) or getattr(context.original_route, "methods", None)
        for method in sorted(methods or {"GET"}):
            yield method, path


def test_every_route_asks_who_it_is(server_app: FastAPI) -> None:
    nobody = Browser(server_app)
    tried = set()
    for method, path in doors(server_app):
        if path in OPEN:
            continue
        address = re.sub(r"\{[^}]+\}", "x", path)
        page = nobody.ask(method, address)
        data = nobody.ask(method, address, headers={"accept": "application/json"}, content=b"{broken")
        assert data.status_code == 401, (method, path, data.status_code)
        assert data.headers["www-authenticate"] == "Bearer"
        if path.startswith("/api/") or path.endswith(".json"):
            assert page.status_code == 401, (method, path)
        else:
            assert page.status_code == 303 and page.headers["location"].startswith("/sign-in"), (method, path)
        tried.add((method, path))
    assert len(tried) > 150


def test_what_is_open_is_there(server_app: FastAPI) -> None:
    assert {path for _, path in doors(server_app)} >= OPEN


def test_a_key_nobody_made_is_nobody(server_app: FastAPI) -> None:
    answer = Browser(server_app).get("/api/v1/estimates", headers={"authorization": "Bearer rk_x_y"})
    assert answer.status_code == 401
    assert answer.headers["content-type"] == "application/problem+json"


def test_a_body_is_not_read_for_nobody(server_app: FastAPI) -> None:
    read = 0

    async def endless() -> object:
        nonlocal read
        for _ in range(50):
            read += 1
            yield b" " * 100_000

    answer = Browser(server_app).ask(
        "POST", "/api/v1/estimates", content=endless(), headers={"content-type": "application/json"}
    )
    assert answer.status_code == 401
    assert read <= 1


def test_no_file_is_read_for_nobody(server_app: FastAPI) -> None:
    read = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal read
        yield b'--b\r\nContent-Disposition: form-data; name="email"; filename="a"\r\n\r\n'
        for _ in range(50):
            read += 1
            yield b" " * 100_000

    nobody, answers = Browser(server_app), {}
    kind = {"content-type": "multipart/form-data; boundary=b"}
    for method, path in doors(server_app):
        if method == "POST" and not path.startswith("/api/"):
            address, read = re.sub(r"\{[^}]+\}", "x", path), 0
            answers[path] = nobody.ask("POST", address, content=endless(), headers=kind).status_code
            assert read <= 1, path
    read_at_all = {path for path, status in answers.items() if status == 415}
    assert read_at_all == {
        "/sign-in", "/sign-in/code", "/forgotten", "/password/{token}", "/s/{token}", "/s/{token}/answer",
    }  # fmt: skip


def test_who_signs_in_goes_where_they_wanted(visitor: Browser) -> None:
    answer = visitor.get("/studies?q=한빛&archived=1")
    wanted = answer.headers["location"]
    form = visitor.page(wanted).select_one("input[name=next]")
    assert form is not None
    answer = visitor.enter("owner@example.com", following=str(form["value"]))
    assert answer.status_code == 303
    assert httpx.URL(answer.headers["location"]) == httpx.URL("/studies?q=한빛&archived=1")
    assert visitor.get(answer.headers["location"]).status_code == 200


ELSEWHERE = [
    "https://evil.example", "//evil.example", "///evil.example", "////evil.example", "/\\evil.example",
    "\\\\evil.example", "/\\/evil.example", "/\t/evil.example", "/\n/evil.example", "/\r\n/evil.example",
    "\t//evil.example", " //evil.example", "javascript:alert(1)", "data:text/html,x", "http:evil.example",
    "evil.example", "@evil.example", "/\u2028/evil.example", "/ /evil.example", "%2f%2fevil.example",
    "/sign-in", "/sign-out", "/sign-in/code", "/" + "x" * 3000, "",
]  # fmt: skip


@pytest.mark.parametrize("following", ELSEWHERE)
def test_no_sign_in_leads_elsewhere(server_app: FastAPI, following: str) -> None:
    browser = Browser(server_app)
    answer = browser.enter("owner@example.com", following=following)
    assert answer.headers.get("location") == "/"
    shown = browser.get("/sign-in", params={"next": following})
    assert shown.headers.get("location") == "/"
    nobody = Browser(server_app).get("/sign-in", params={"next": following}).text
    assert 'name="next" value="/"' in nobody


@pytest.mark.parametrize(
    "following", ["/a\r\nSet-Cookie: x=1", "/a%0d%0aSet-Cookie:%20x=1", "/a\x00b", "/é\r", "/a\x0bb"]
)
def test_no_header_is_written_by_an_address(server_app: FastAPI, following: str) -> None:
    answer = Browser(server_app).enter("owner@example.com", following=following)
    assert [name for name, _ in SimpleCookie(answer.headers["set-cookie"]).items()] == ["rackline_session"]
    assert not re.search(r"[\r\n\0]", answer.headers["location"])
    assert urlsplit(answer.headers["location"]).netloc == ""


@pytest.mark.parametrize(
    "path", ["//evil.example/", "/%0d%0aSet-Cookie:x=1", "/\\evil.example", "/studies%0a"]
)
def test_being_sent_to_sign_in_leads_back_here(server_app: FastAPI, path: str) -> None:
    answer = Browser(server_app).get(f"http://localhost{path}")
    assert answer.status_code in {303, 404}
    assert not re.search(r"[\r\n]", answer.headers.get("location", ""))
    assert "set-cookie" not in answer.headers


def test_a_stranger_s_browser_cannot_be_made_to_post(owner: Browser) -> None:
    for headers in (
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"sec-fetch-site": "cross-site", "origin": "null"},
    ):
        for path in ("/sign-out", "/sign-in", "/account/sign-out-everywhere", "/people/invitations"):
            assert owner.ask("POST", path, headers=headers).status_code == 403, (path, headers)
    assert owner.inside


def test_a_page_of_ours_that_hides_its_address_may_post(owner: Browser) -> None:
    answer = owner.ask(
        "POST",
        "/account",
        data={"name": "Olga Owner"},
        headers={"sec-fetch-site": "same-origin", "origin": "null"},
    )
    assert answer.status_code == 303


def test_a_planted_session_is_not_taken_over(server_app: FastAPI) -> None:
    """Session fixation: what the browser came with ends, whoever planted it."""
    attacker, victim = Browser(server_app), Browser(server_app)
    attacker.enter("reader@example.com")
    planted = attacker.token
    victim.token = planted
    victim.enter("owner@example.com")
    assert victim.token != planted
    assert not attacker.inside
    made_up = Browser(server_app)
    made_up.token = "A" * 43
    made_up.enter("owner@example.com")
    assert made_up.token != "A" * 43


def test_signing_out_ends_the_session_itself(server_app: FastAPI) -> None:
    browser = Browser(server_app)
    browser.enter("owner@example.com")
    kept = browser.token
    answer = browser.submit("/sign-out")
    assert answer.status_code == 303 and 'rackline_session=""' in answer.headers["set-cookie"]
    browser.token = kept
    assert not browser.inside


def test_changing_the_password_renews_this_session_and_ends_the_others(server_app: FastAPI) -> None:
    invited = newcomer(server_app, "change@example.com")
    other = Browser(server_app)
    other.enter("change@example.com")
    before = invited.token
    wrong = invited.submit("/account/password", present="not it at all", password="a newer one!", again="x")
    assert wrong.status_code == 400 and invited.inside and other.inside
    done = invited.submit(
        "/account/password", present=PASSWORD, password="a newer password", again="a newer password"
    )
    assert done.status_code == 303, done.text
    assert invited.token != before and invited.inside and not other.inside


def newcomer(app: FastAPI, email: str, role: Role = Role.CONSULTANT) -> Browser:
    """Return the browser of somebody who has just become a member."""
    accounts.add_account(app.state.identity, email, "", role=role, workspace="ws_local", password=PASSWORD)
    browser = Browser(app)
    browser.enter(email)
    assert browser.inside
    return browser


def test_invitations_look_alike_whether_the_address_has_an_account_or_not(owner: Browser) -> None:
    identity = owner.app.state.identity
    other = accounts.add_workspace(identity, "Elsewhere")
    accounts.add_account(identity, "known@example.com", "", workspace=other.id, password=PASSWORD)
    host, nobody, pages = Principal("ws_local", "Olga Owner", Role.OWNER), Browser(owner.app), []
    for email in ("known@example.com", "unknown@example.com"):
        link = urlsplit(people.invite(identity, host, email, Role.VIEWER, "en").link).path
        shown = nobody.get(link)
        answers = [nobody.submit(link, name="Eve", password=PASSWORD * 2, again=PASSWORD * 2)]
        answers.append(nobody.submit(f"{link}/join"))
        token = link.rpartition("/")[2]
        pages.append(
            [(one.status_code, one.text.replace(email, "").replace(token, "")) for one in (shown, *answers)]
        )
    assert pages[0] == pages[1]
    assert [status for status, _ in pages[0]] == [200, 405, 303]
    nobody.enter("known@example.com")
    assert nobody.inside


def test_people_are_the_owners_business(server_app: FastAPI) -> None:
    viewer = newcomer(server_app, "viewer@example.com", Role.VIEWER)
    assert viewer.get("/people").status_code == 403
    assert viewer.get("/people.json", headers={"accept": "application/json"}).status_code == 403
    assert viewer.submit("/people/invitations", email="x@example.com", role="owner").status_code == 403


def test_the_page_of_people(owner: Browser) -> None:
    shown = owner.submit("/people/invitations", email="guest@example.com", role="viewer")
    link = re.search(r"http://localhost/invitations/[\w-]{43}", shown.text)
    assert link is not None
    assert link[0] not in owner.get("/people").text
    assert "guest@example.com" in owner.get("/people.json").text
    assert owner.submit("/people/invitations", email="guest@example.com", role="king").status_code == 422
    assert owner.submit("/people/members/acc_x", role="viewer").status_code == 404
    me = owner.get("/account.json").json()["id"]
    refused = owner.submit(f"/people/members/{me}/remove")
    assert refused.status_code == 409


def test_the_name_of_who_is_signed_in_stands_on_every_page(owner: Browser) -> None:
    reader = owner.page("/studies").select_one(".reader")
    assert reader is not None and "Olga Owner" in reader.text


def test_too_many_failures_are_told_when_to_come_back(server_app: FastAPI) -> None:
    browser = Browser(server_app, address="198.51.100.9")
    answers = [browser.enter("target@example.com", "wrong password") for _ in range(6)]
    assert [one.status_code for one in answers] == [403] * 5 + [429]
    assert int(answers[-1].headers["retry-after"]) >= 1
    assert browser.token == ""


def test_pages_of_the_entrance_are_not_stored(visitor: Browser) -> None:
    assert visitor.get("/sign-in").headers["cache-control"] == "no-store"


def test_cookies_on_http(visitor: Browser) -> None:
    said = visitor.enter("owner@example.com").headers["set-cookie"]
    assert said.startswith("rackline_session=")
    assert "HttpOnly" in said and "SameSite=lax" in said and "Path=/" in said
    assert "Secure" not in said and "Domain" not in said


def public(app: FastAPI, address: str = PROXY) -> Browser:
    """Return a browser that comes through the proxy."""
    return Browser(app, base=HTTPS, address=address)


CAME = {"x-forwarded-for": "203.0.113.5", "x-forwarded-proto": "https"}


def test_cookies_on_https(public_app: FastAPI) -> None:
    browser = public(public_app)
    answer = browser.ask(
        "POST", "/sign-in", data={"email": "owner@example.com", "password": PASSWORD}, headers=CAME
    )
    said = answer.headers["set-cookie"]
    assert said.startswith("__Host-rackline_session=")
    assert "Secure" in said and "HttpOnly" in said and "Path=/" in said and "Domain" not in said
    assert answer.headers["strict-transport-security"] == "max-age=31536000"
    shown = browser.get("/account", headers=CAME)
    assert shown.status_code == 200 and "203.0.113.5" in shown.text
    dropped = browser.ask("POST", "/sign-out", headers=CAME).headers["set-cookie"]
    assert dropped.startswith('__Host-rackline_session=""') and "Secure" in dropped


def test_a_cookie_without_the_prefix_is_nobody_on_https(public_app: FastAPI) -> None:
    browser = public(public_app)
    browser.ask("POST", "/sign-in", data={"email": "owner@example.com", "password": PASSWORD}, headers=CAME)
    answer = Browser(public_app, base=HTTPS, address=PROXY).get(
        "/account", headers={**CAME, "cookie": f"rackline_session={browser.token}"}
    )
    assert answer.status_code == 303


def test_a_page_without_encryption_is_another_site(public_app: FastAPI) -> None:
    answer = public(public_app).ask("POST", "/sign-in", headers={**CAME, "origin": "http://rackline.example"})
    assert answer.status_code == 403


@pytest.mark.parametrize(
    ("address", "came", "status", "seen"),
    [
        (PROXY, {"x-forwarded-for": "203.0.113.5"}, 200, "203.0.113.5"),
        ("10.1.2.3", {"x-forwarded-for": "6.6.6.6, 203.0.113.5"}, 200, "203.0.113.5"),
        (PROXY, {"x-forwarded-for": "6.6.6.6, 203.0.113.5, 10.1.0.9"}, 200, "203.0.113.5"),
        (PROXY, {"x-forwarded-for": "::ffff:203.0.113.5"}, 200, "203.0.113.5"),
        (PROXY, {"x-forwarded-for": "2001:db8::7"}, 200, "2001:db8::7"),
        (PROXY, {"x-forwarded-for": "unknown"}, 403, ""),
        (PROXY, {"x-forwarded-for": "<script>"}, 403, ""),
        (PROXY, {"x-forwarded-for": ", ".join(["203.0.113.5"] * 50)}, 403, ""),
        (PROXY, {"x-forwarded-proto": "gopher"}, 403, ""),
        ("198.51.100.1", {"x-forwarded-for": "127.0.0.1"}, 403, ""),
        ("127.0.0.1", {"x-forwarded-for": "203.0.113.5"}, 403, ""),
        ("198.51.100.1", {}, 200, "198.51.100.1"),
    ],
)
def test_proxies_are_believed_that_are_trusted(
    public_app: FastAPI, address: str, came: dict[str, str], status: int, seen: str
) -> None:
    browser = Browser(public_app, base=HTTPS, address=address)
    assert browser.get("/healthz", headers=came).status_code == status
    if status == 200:
        form = {"email": "reader@example.com", "password": PASSWORD}
        assert browser.ask("POST", "/sign-in", data=form, headers=came).status_code == 303
        found = browser.get("/account.json", headers=came).json()["sessions"]
        assert [one["address"] for one in found if one["here"]] == [seen]


@pytest.mark.parametrize(
    ("host", "status"),
    [("rackline.example", 200), ("rackline.example:443", 200), ("localhost", 200), ("evil.example", 421)],
)
def test_names_that_are_answered_to(public_app: FastAPI, host: str, status: int) -> None:
    browser = Browser(public_app, base=HTTPS, address="198.51.100.1")
    assert browser.get("/healthz", headers={"host": host}).status_code == status


def test_without_accounts_only_this_machine_is_answered(tmp_path_factory: pytest.TempPathFactory) -> None:
    settings = Settings.at(tmp_path_factory.mktemp("local"), public_url=HTTPS, trusted_proxies="0.0.0.0/0")
    app = create_app(settings)
    assert Browser(app, address="127.0.0.1").get("/studies").status_code == 200
    assert Browser(app, address="192.0.2.1").get("/studies").status_code == 403
    assert Browser(app, base=HTTPS, address="127.0.0.1").get("/studies").status_code == 421
    assert Browser(app, address="127.0.0.1").get("/studies", headers=CAME).status_code == 403
    for path in ("/sign-in", "/account", "/people", f"/invitations/{quote('x' * 43)}"):
        assert Browser(app, address="127.0.0.1").get(path).status_code == 404
    assert ".reader" not in Browser(app, address="127.0.0.1").get("/").text


def test_the_first_account_ends_local_mode_on_every_server(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings.at(tmp_path_factory.mktemp("local"), public_url=HTTPS)
    servers = [create_app(settings) for _ in range(3)]
    local, remote, untouched = servers
    assert Browser(local, address="127.0.0.1").get("/studies").status_code == 200
    assert Browser(remote, base=HTTPS).get("/studies").status_code == 421
    # Another process makes it: nothing but the database tells these servers.
    accounts.add_account(identity_of(settings, Store(settings.database_url)), "ann@example.com", "Ann")
    assert Browser(local, address="127.0.0.1").get("/studies").status_code == 303
    assert Browser(local, address="127.0.0.1").get("/sign-in").status_code == 200
    monkeypatch.setattr(security, "STRANGERS_LOOK", 0.0)
    assert Browser(remote, base=HTTPS).get("/sign-in").status_code == 200
    # Once it has been seen, it is not looked for any more, and a server never falls back.
    for server in (local, remote):
        monkeypatch.setattr(server.state.access, "_any_account", lambda: False)
        assert Browser(server, address="127.0.0.1").get("/studies").status_code == 303
    # A database that is away lets nobody in whom only a server without accounts would let in.
    untouched.state.installation.store.close()
    monkeypatch.setattr(untouched.state.access, "_any_account", failing)
    assert Browser(untouched, address="127.0.0.1").get("/studies").status_code == 503
    assert Browser(untouched, base=HTTPS).get("/healthz").status_code == 421
    assert Browser(untouched, address="127.0.0.1").get("/healthz").status_code == 200


def failing() -> bool:
    raise Unavailable("the database cannot be reached")


def test_what_somebody_may_not_send_is_not_read(server_app: FastAPI) -> None:
    reader = Browser(server_app, address="192.0.2.78")
    reader.enter("reader@example.com")
    sent = {"content": b"[" * 1000, "headers": {"content-type": "application/json"}}
    assert reader.ask("POST", "/api/v1/estimates", **sent).status_code == 403
    assert reader.ask("POST", "/api/v1/mappings", **sent).status_code == 400
