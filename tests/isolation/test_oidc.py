"""Signing in through a provider: the good way, and every way it must not go."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import httpx2
import pytest
import sqlalchemy as sa
from authlib.oauth2.rfc7636 import create_s256_code_challenge
from fastapi import FastAPI
from joserfc import jwt
from joserfc.jwk import OctKey, RSAKey
from joserfc.jws import JWSRegistry

from app.errors import BadInput, Conflict
from app.features.accounts import oidc, second_factor
from app.features.accounts.oidc import SingleSignOn
from app.features.accounts.oidc_provider import Provider
from app.features.accounts.service import SignInRefusal, add_account, set_disabled, sign_in
from app.main import create_app, identity_of
from app.platform.admission import Credentials, Role
from app.platform.identity import Visitor, folded, new_token, token_hash
from app.platform.passwords import begin_attempt, of_address
from app.platform.sessions import AccountsAdmission
from app.platform.store.account_queries import ExternalQueries
from app.platform.store.account_tables import Account, Invitation
from app.platform.store.database import Store
from app.platform.store.queries import new_id, now
from app.platform.store.trail import TrailFilter
from app.platform.web.auth import SESSION_COOKIE
from app.settings import Settings
from tests.conftest import run

OWNER = "owner@example.com"
ISSUER, CLIENT, SECRET = "https://provider.example", "rackline-test", "a secret of the client's"


@dataclass
class Stub:
    """A provider that vouches for one person, and states what a test tells it to."""

    person: dict[str, Any] = field(
        default_factory=lambda: {
            "sub": "person-1", "email": "minji@example.com", "email_verified": True, "name": "Minji Kim",
        }
    )  # fmt: skip
    claims: dict[str, Any] = field(default_factory=dict)
    """Claims in place of the right ones; those that are None are left out."""
    metadata: dict[str, Any] = field(default_factory=dict)
    key: RSAKey = field(default_factory=lambda: RSAKey.generate_key(2048, {"kid": "first"}))
    algorithm: str = "RS256"
    status: int = 200
    codes: dict[str, dict[str, str]] = field(default_factory=dict)

    def consent(self, address: str) -> dict[str, str]:
        """Return the parameters that the browser comes back with."""
        query = {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}
        assert query["code_challenge_method"] == "S256" and SECRET not in str(query)
        code = f"code-{len(self.codes)}"
        self.codes[code] = query
        return {"code": code, "state": query["state"]}

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        path = request.url.path
        if self.status != 200:
            return httpx2.Response(self.status, headers={"location": "https://evil.example/"})
        if path == "/token":
            form = {name: values[0] for name, values in parse_qs(request.content.decode()).items()}
            query = self.codes.pop(form["code"], {"code_challenge": "", "redirect_uri": "", "nonce": ""})
            if (create_s256_code_challenge(form["code_verifier"]), form["redirect_uri"]) != (
                query["code_challenge"],
                query["redirect_uri"],
            ):
                return httpx2.Response(400, json={"error": "invalid_grant"})
            token = {"access_token": "a", "token_type": "Bearer", "id_token": self.id_token(query["nonce"])}
            return httpx2.Response(200, json=token)
        if path == "/keys":
            return httpx2.Response(200, json={"keys": [self.key.as_dict(private=False)]})
        assert path == "/.well-known/openid-configuration"
        endpoints = {"authorization_endpoint": "authorize", "token_endpoint": "token", "jwks_uri": "keys"}
        published = {name: f"{ISSUER}/{path}" for name, path in endpoints.items()}
        return httpx2.Response(200, json={"issuer": ISSUER, **published, **self.metadata})

    def id_token(self, nonce: str) -> str:
        moment = int(time.time())
        stated = {
            "iss": ISSUER, "aud": CLIENT, "iat": moment, "exp": moment + 300, "nonce": nonce,
            **self.person, **self.claims,
        }  # fmt: skip
        claims = {name: value for name, value in stated.items() if value is not None}
        header = {"alg": self.algorithm, "kid": self.key.kid}
        key = self.key if self.algorithm == "RS256" else OctKey.import_key(SECRET)
        return jwt.encode(header, claims, key, registry=JWSRegistry(algorithms=[self.algorithm]))


@dataclass
class House:
    """A server with one account and a provider."""

    app: FastAPI
    provider: Stub

    def invite(self, email: str, role: Role = Role.CONSULTANT) -> None:
        """Invite somebody to the workspace."""
        with self.app.state.identity.store.identity() as queries:
            moment = now()
            queries.people.add_invitation(
                Invitation(
                    token_sha256=token_hash(new_token()), id=new_id("inv"), workspace_id="ws_local",
                    email=email, sought=folded(email), role=role, created_at=moment,
                    expires_at=moment + timedelta(days=1), used_at=None,
                )
            )  # fmt: skip

    def members(self) -> dict[str, str]:
        """Return address and role of the members of the workspace."""
        with self.app.state.identity.store.identity() as queries:
            return {account.email: member.role for member, account in queries.people.members("ws_local")}

    def actions(self) -> list[str]:
        """Return what the audit trail says was done, the latest first."""
        with self.app.state.installation.workspace("ws_local").transaction() as repository:
            return [row.action for row in repository.trail.listing(TrailFilter(), 50, None)[0]]


@pytest.fixture(scope="module")
def application(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FastAPI]:
    """A server with one account."""
    settings = Settings.at(tmp_path_factory.mktemp("oidc"))
    store = Store(settings.database_url)
    store.migrate()
    with store.transaction("ws_local") as repository:
        repository.ensure_workspace("Local")
    add_account(identity_of(settings, store), OWNER, "Owner", password="a long enough password")
    store.close()
    app = create_app(settings)
    yield app
    app.state.installation.store.close()


@pytest.fixture
def house(application: FastAPI) -> Iterator[House]:
    """The server with a provider nobody has come from yet."""
    stub, provider = Stub(), Provider(ISSUER, CLIENT, SECRET)
    provider.client_kwargs["transport"] = httpx2.MockTransport(stub)
    application.state.single_sign_on = SingleSignOn(provider, frozenset({"trusted.example"}))
    yield House(application, stub)
    with application.state.installation.store.engine.begin() as connection:
        for table in ("external_identity", "account_session", "invitation", "login_attempt"):
            connection.execute(sa.text(f"DELETE FROM {table}"))
        others = "(SELECT id FROM account WHERE email != 'owner@example.com')"
        connection.execute(sa.text(f"DELETE FROM membership WHERE account_id IN {others}"))
        connection.execute(sa.text("DELETE FROM account WHERE email != 'owner@example.com'"))


async def there_and_back(
    house: House,
    changed: dict[str, str] | None = None,
    following: str = "/studies",
    session: str = "",
    away: int = 200,
) -> tuple[httpx.Response, httpx.Response]:
    """Go to the provider and come back; return the answer and that of the page then asked for."""
    transport = httpx.ASGITransport(house.app)
    async with httpx.AsyncClient(
        transport=transport,
        base_url="http://localhost",
        headers={"accept": "text/html"},
        cookies={SESSION_COOKIE: session} if session else {},
    ) as browser:
        left = await browser.get("/sign-in/oidc", params={"next": following})
        assert left.status_code == 303, left.text
        assert "HttpOnly" in left.headers["set-cookie"]
        back = house.provider.consent(left.headers["location"]) | (changed or {})
        house.provider.status = away
        found = await browser.get("/sign-in/oidc/callback", params=back)
        house.provider.status = 200
        return found, await browser.get("/account")


def signed_in(house: House, session: str = "", **changed: str) -> tuple[int, str, int]:
    """Return status and address of the way back, and the status of a page for members."""
    found, page = run(there_and_back(house, changed, session=session))
    return found.status_code, found.headers.get("location", ""), page.status_code


def test_who_is_invited_comes_in_with_the_role_of_the_invitation(house: House) -> None:
    house.invite("Minji@Example.com")
    assert signed_in(house) == (303, "/studies", 200)
    assert house.members() == {OWNER: "owner", "minji@example.com": "consultant"}
    assert "session.started" in house.actions()
    assert "member.created" in house.actions()
    # The second time the account is known by issuer and subject, whatever address it has by then.
    house.provider.person["email"] = "other@elsewhere.example"
    assert signed_in(house) == (303, "/studies", 200)
    assert len(house.members()) == 2


def test_who_is_of_a_trusted_domain_comes_in_as_a_viewer(house: House) -> None:
    house.provider.person["email"] = "jiho@trusted.example"
    assert signed_in(house)[0] == 303
    assert house.members()["jiho@trusted.example"] == "viewer"


def test_an_account_of_the_address_is_the_persons(house: House) -> None:
    house.provider.person["email"] = OWNER
    assert signed_in(house)[0] == 303
    assert house.members() == {OWNER: "owner"}
    # Somebody else who has the address later is not the same person.
    house.provider.person["sub"] = "person-2"
    assert signed_in(house) == (403, "", 303)


def test_a_password_that_somebody_else_chose_for_an_address_opens_it_no_more(house: House) -> None:
    identity, visitor = house.app.state.identity, Visitor("192.0.2.9", "curl/8")
    add_account(identity, "minji@example.com", "Squatter", password="a long enough password")
    squatter = sign_in(identity, "minji@example.com", "a long enough password", visitor)
    with identity.store.identity() as queries:
        account = queries.people.account_of("minji@example.com")
        assert account is not None and queries.people.take_second_factor(account.id, "sealed", 1)
    house.invite("minji@example.com", Role.OWNER)
    assert signed_in(house) == (303, "/studies", 200)
    assert AccountsAdmission(identity).principal(Credentials(session=squatter.token)) is None
    with pytest.raises(SignInRefusal):
        sign_in(identity, "minji@example.com", "a long enough password", visitor)
    assert "account.changed" in house.actions()


def test_who_has_no_password_sets_no_second_factor_up_here(house: House) -> None:
    house.invite("minji@example.com")
    assert signed_in(house)[0] == 303
    identity = house.app.state.identity
    with identity.store.identity() as queries:
        minji = queries.people.account_of("minji@example.com")
    assert minji is not None
    with pytest.raises(Conflict, match="through a provider"):
        second_factor.offer(identity, minji)


@pytest.mark.parametrize("has_account", [True, False])
def test_who_comes_for_the_first_time_twice_at_once_comes_in_once(
    house: House, monkeypatch: pytest.MonkeyPatch, has_account: bool
) -> None:
    if has_account:
        add_account(house.app.state.identity, "minji@example.com", "Minji", password="a long enough password")
    house.invite("minji@example.com")
    invitation_for = ExternalQueries.invitation_for

    def meanwhile(self: ExternalQueries, *asked: Any) -> Invitation | None:
        found = invitation_for(self, *asked)
        monkeypatch.undo()
        assert signed_in(house) == (303, "/studies", 200)
        return found

    monkeypatch.setattr(ExternalQueries, "invitation_for", meanwhile)
    assert signed_in(house)[0] == (303 if has_account else 403)
    assert signed_in(house) == (303, "/studies", 200)
    assert house.members()["minji@example.com"] == "consultant"


def test_a_password_stays_where_its_owner_was_signed_in_with_it(house: House) -> None:
    identity, visitor = house.app.state.identity, Visitor("192.0.2.9", "curl/8")
    add_account(identity, "minji@example.com", "Minji", password="a long enough password")
    own = sign_in(identity, "minji@example.com", "a long enough password", visitor)
    assert signed_in(house, session=own.token)[0] == 303
    assert sign_in(identity, "minji@example.com", "a long enough password", visitor).complete


@pytest.mark.parametrize("email", ["\uff4fwner@example.com", "strasse@example.com"])
def test_an_address_that_only_looks_alike_is_another_persons(house: House, email: str) -> None:
    house.invite("stra\u00dfe@example.com")
    house.provider.person["email"] = email
    assert signed_in(house)[0] == 403


@pytest.mark.parametrize(
    "person",
    [
        {"email": "stranger@example.com"},
        {"email": "minji@nottrusted.example"},
        {"email": "a@trusted.example.evil.example"},
        {"email": "a@\uff54rusted.example"},
        {"email": "jiho@trusted.example", "email_verified": False},
        {"email": "jiho@trusted.example", "email_verified": "true"},
        {"email": ["jiho@trusted.example"]},
        {"email": "x@evil.example,jiho@trusted.example"},
    ],
)
def test_nobody_else_is_let_in(house: House, person: dict[str, Any]) -> None:
    house.provider.person |= person
    assert signed_in(house) == (403, "", 303)
    assert house.members() == {OWNER: "owner"}


@pytest.mark.parametrize(
    "claims",
    [
        {"nonce": "another"},
        {"nonce": None},
        {"aud": "another-client"},
        {"aud": "another-client", "azp": CLIENT},
        {"aud": [CLIENT, "another-client"]},
        {"azp": "another-client"},
        {"iss": "https://evil.example"},
        {"iss": None},
        {"exp": 1_600_000_000},
        {"exp": None},
        {"exp": "tomorrow"},
        {"iat": 9_000_000_000},
        {"sub": ""},
        {"sub": 7},
        {"sub": "a\0b"},
    ],
    ids=str,
)
def test_a_token_for_something_else_is_refused(house: House, claims: dict[str, Any]) -> None:
    house.provider.person["email"] = OWNER
    house.provider.claims = claims
    assert signed_in(house) == (403, "", 303)


@pytest.mark.filterwarnings("ignore::joserfc.errors.SecurityWarning")
@pytest.mark.parametrize("algorithm", ["none", "HS256"])
def test_a_token_without_the_providers_signature_is_refused(house: House, algorithm: str) -> None:
    house.provider.person["email"] = OWNER
    house.provider.algorithm = algorithm
    house.provider.metadata = {"id_token_signing_alg_values_supported": ["RS256", algorithm]}
    assert signed_in(house) == (403, "", 303)


def test_a_key_is_the_providers_and_may_be_replaced(house: House) -> None:
    house.provider.person["email"] = OWNER
    assert signed_in(house)[0] == 303
    for name, status in (("second", 303), ("second", 403)):
        house.provider.key = RSAKey.generate_key(2048, {"kid": name})
        assert signed_in(house)[0] == status


@pytest.mark.parametrize(
    "changed", [{"state": "another"}, {"state": "\ud55c"}, {"state": ""}, {"code": ""}, {"code": "code-99"}]
)
def test_a_way_back_that_is_not_the_browsers_own_is_refused(house: House, changed: dict[str, str]) -> None:
    house.provider.person["email"] = OWNER
    assert signed_in(house, **changed) == (403, "", 303)


def test_a_state_is_of_one_browser_for_one_sign_in_and_ten_minutes(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    house.provider.person["email"] = OWNER

    async def come() -> list[int]:
        transport, statuses = httpx.ASGITransport(house.app), []
        async with (
            httpx.AsyncClient(transport=transport, base_url="http://localhost") as browser,
            httpx.AsyncClient(transport=transport, base_url="http://localhost") as other,
        ):
            other.cookies.set("rackline_provider", "eyJhbGciOiJkaXIiLCJlbmMiOltdfQ..AAAA.AAAA.AAAA")
            back = [house.provider.consent((await browser.get("/sign-in/oidc")).headers["location"])]
            for one in (other, browser, browser):
                found = await one.get("/sign-in/oidc/callback", params=back[0])
                statuses.append(found.status_code)
            back.append(house.provider.consent((await browser.get("/sign-in/oidc")).headers["location"]))
            late = now() + timedelta(seconds=oidc.LASTS + 1)
            monkeypatch.setattr(oidc, "now", lambda: late)
            statuses.append((await browser.get("/sign-in/oidc/callback", params=back[1])).status_code)
        return statuses

    assert run(come()) == [403, 303, 403, 403]


def test_only_what_is_not_proven_counts_against_a_network(house: House) -> None:
    house.provider.person["email"] = OWNER
    office = of_address("127.0.0.1")
    for _ in range(office.free - 1):
        begin_attempt(house.app.state.identity.store, (office,), now())
    assert signed_in(house)[0] == 303
    back = run(there_and_back(house, away=503))[0]
    assert back.status_code == 503
    assert signed_in(house)[0] == 303
    with house.app.state.identity.store.identity() as queries:
        counted = queries.sessions.attempts(office.sha256)
    assert counted is not None and counted.failures == office.free - 1


def test_the_way_back_leads_nowhere_else(house: House) -> None:
    house.provider.person["email"] = OWNER
    for following in ("https://evil.example/", "//evil.example"):
        found, _ = run(there_and_back(house, following=following))
        assert found.headers["location"] == "/"


@pytest.mark.parametrize("change", ["disabled", "second factor"])
def test_what_changes_while_the_person_arrives_holds(
    house: House, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    house.invite("minji@example.com")
    assert signed_in(house)[0] == 303
    identity, finds = house.app.state.identity, oidc.let_in

    def slow(*values: Any) -> Account:
        account = finds(*values)
        if change == "disabled":
            set_disabled(identity, "minji@example.com", True)
        else:
            with identity.store.identity() as queries:
                queries.people.take_second_factor(account.id, "sealed", 1)
        return account

    monkeypatch.setattr(oidc, "let_in", slow)
    status, _, page = signed_in(house)
    assert (status, page) == ((403, 303) if change == "disabled" else (303, 303))


async def leave(house: House) -> httpx.Response:
    """Set out for the provider."""
    transport = httpx.ASGITransport(house.app)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as browser:
        return await browser.get("/sign-in/oidc", headers={"accept": "text/html"})


@pytest.mark.parametrize(
    "published",
    [
        {"issuer": "https://evil.example"},
        {"authorization_endpoint": "http://evil.example/authorize"},
        {"authorization_endpoint": "javascript:alert(1)"},
        {"token_endpoint": None},
        {"jwks_uri": "file:///etc/passwd"},
        {"id_token_signing_alg_values_supported": 7},
    ],
    ids=str,
)
def test_a_provider_that_misbehaves_is_down_until_it_is_right(
    house: House, published: dict[str, Any]
) -> None:
    house.provider.metadata = published
    assert [run(leave(house)).status_code for _ in range(2)] == [503, 503]
    house.provider.metadata = {"verify": False, "follow_redirects": True}
    assert run(leave(house)).headers["location"].startswith(f"{ISSUER}/authorize?")


@pytest.mark.parametrize("status", [302, 500])
def test_a_provider_that_does_not_answer_is_down(house: House, status: int) -> None:
    house.provider.status = status
    assert run(leave(house)).status_code == 503


def test_without_a_provider_there_is_no_such_way(house: House) -> None:
    house.app.state.single_sign_on = None
    assert run(leave(house)).status_code == 404


@pytest.mark.parametrize(
    "values",
    [
        {"RACKLINE_OIDC_ISSUER": "http://provider.example"},
        {"RACKLINE_OIDC_ISSUER": "https://provider.example?x=1"},
        {"RACKLINE_OIDC_DOMAINS": "trusted.example, *"},
        {"RACKLINE_OIDC_DOMAINS": "com"},
    ],
)
def test_settings_that_let_in_too_many_are_refused(values: dict[str, str]) -> None:
    with pytest.raises(BadInput) as caught:
        Settings.from_environment(values)
    assert caught.value.errors[0].field in values
