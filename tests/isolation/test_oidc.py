"""Signing in through a provider: the good way, and every way it must not go."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

import httpx
import pyotp
import pytest
import sqlalchemy as sa
from fastapi import FastAPI
from joserfc.jwk import RSAKey

from app.errors import AppError, BadInput, Conflict
from app.features.accounts import oidc, oidc_provider, second_factor
from app.features.accounts.oidc import Person, ProviderDown, SingleSignOn
from app.features.accounts.oidc_provider import Provider
from app.features.accounts.service import SignInRefused, add_account, set_disabled, sign_in
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
from tests.isolation.provider import CLIENT, SECRET, LocalProvider, running
from tests.loops import run

OWNER = "owner@example.com"


@dataclass
class House:
    """A server with one account and a provider."""

    app: FastAPI
    provider: LocalProvider

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
        with self.app.state.workbench.store.transaction("ws_local") as repository:
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
    app.state.workbench.store.close()


@pytest.fixture
def house(application: FastAPI) -> Iterator[House]:
    """The server with a provider nobody has come from yet."""
    with running() as provider:
        known = Provider(provider.issuer, CLIENT, SECRET)
        application.state.single_sign_on = SingleSignOn(known, frozenset({"trusted.example"}))
        yield House(application, provider)
    with application.state.workbench.store.engine.begin() as connection:
        for table in ("external_identity", "account_session", "invitation", "login_attempt"):
            connection.execute(sa.text(f"DELETE FROM {table}"))
        others = "(SELECT id FROM account WHERE email != 'owner@example.com')"
        connection.execute(sa.text(f"DELETE FROM membership WHERE account_id IN {others}"))
        connection.execute(sa.text("DELETE FROM account WHERE email != 'owner@example.com'"))


async def there_and_back(
    house: House, changed: dict[str, str] | None = None, following: str = "/studies", session: str = ""
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
        found = await browser.get("/sign-in/oidc/callback", params=back)
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
    house.invite("minji@example.com", Role.OWNER)
    assert signed_in(house)[0] == 303
    assert AccountsAdmission(identity).principal(Credentials(session=squatter.token)) is None
    with pytest.raises(SignInRefused):
        sign_in(identity, "minji@example.com", "a long enough password", visitor)
    assert "account.changed" in house.actions()


def test_a_second_factor_that_somebody_else_set_up_is_not_asked_for(house: House) -> None:
    identity = house.app.state.identity
    squatter = add_account(
        identity, "minji@example.com", "Squatter", password="a long enough password"
    ).account
    offered = second_factor.offer(identity, squatter)
    code = pyotp.TOTP(offered.secret).now()
    second_factor.turn_on(identity, squatter.id, "a long enough password", offered.sealed, code)
    house.invite("minji@example.com")
    assert signed_in(house) == (303, "/studies", 200)
    assert second_factor.existing_of(identity, squatter.id).totp_sealed is None


def test_who_has_no_password_sets_no_second_factor_up_here(house: House) -> None:
    house.invite("minji@example.com")
    assert signed_in(house)[0] == 303
    identity = house.app.state.identity
    with identity.store.identity() as queries:
        minji = queries.people.account_of("minji@example.com")
    assert minji is not None
    with pytest.raises(Conflict, match="through a provider"):
        second_factor.offer(identity, minji)
    sealed = identity.sealer.seal(f"enrolment:{minji.id}", "A" * 32)
    for password in ("", "a long enough password"):
        with pytest.raises(AppError):
            second_factor.turn_on(identity, minji.id, password, sealed, pyotp.TOTP("A" * 32).now())
    assert second_factor.existing_of(identity, minji.id).totp_sealed is None


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
        {"email": "a@evil.example\uff20trusted.example"},
        {"email": "jiho@trusted.example", "email_verified": False},
        {"email": "jiho@trusted.example", "email_verified": "true"},
        {"email": None},
        {"email": ["jiho@trusted.example"]},
        {"email": "x@evil.example,jiho@trusted.example"},
    ],
)
def test_nobody_else_is_let_in(house: House, person: dict[str, Any]) -> None:
    house.provider.person |= person
    assert signed_in(house) == (403, "", 303)
    assert house.members() == {OWNER: "owner"}


EARLIER, LATER = 1_600_000_000, 9_000_000_000
"""Moments long over and far ahead. [s since 1970]"""

WRONG: list[dict[str, Any]] = [
    {"nonce": "another"},
    {"nonce": None},
    {"aud": "another-client"},
    {"aud": [CLIENT, "another-client"]},
    {"aud": []},
    {"azp": "another-client"},
    {"iss": "https://evil.example"},
    {"iss": None},
    {"exp": EARLIER},
    {"exp": None},
    {"exp": "tomorrow"},
    {"iat": LATER},
    {"sub": ""},
    {"sub": None},
    {"sub": 7},
    {"sub": "x" * 300},
    {"sub": "a\0b"},
]


@pytest.mark.parametrize("claims", WRONG, ids=str)
def test_a_token_for_something_else_is_refused(house: House, claims: dict[str, Any]) -> None:
    house.provider.person["email"] = OWNER
    house.provider.claims = claims
    assert signed_in(house) == (403, "", 303)


@pytest.mark.parametrize("sign", ["none", "HS256"])
def test_a_token_without_the_providers_signature_is_refused(house: House, sign: str) -> None:
    house.provider.person["email"] = OWNER
    house.provider.sign = sign
    assert signed_in(house) == (403, "", 303)


def test_a_token_signed_by_another_key_is_refused(house: House) -> None:
    house.provider.person["email"] = OWNER
    assert signed_in(house)[0] == 303
    published = house.provider.key
    house.provider.key = RSAKey.generate_key(2048, {"kid": str(published.kid)})
    assert signed_in(house)[0] == 403


def test_a_key_that_was_replaced_is_asked_for_again(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(oidc_provider, "REFRESH_SECONDS", 0.0)
    house.provider.person["email"] = OWNER
    assert signed_in(house)[0] == 303
    house.provider.key = RSAKey.generate_key(2048, {"kid": "second"})
    assert signed_in(house)[0] == 303
    assert house.provider.asked.count("/keys") == 2
    assert signed_in(house)[0] == 303
    assert house.provider.asked.count("/keys") == 2


@pytest.mark.parametrize(
    "changed", [{"state": "another"}, {"state": ""}, {"code": ""}, {"code": "code-99"}, {"state": "\ud55c"}]
)
def test_a_way_back_that_is_not_the_browsers_own_is_refused(house: House, changed: dict[str, str]) -> None:
    house.provider.person["email"] = OWNER
    assert signed_in(house, **changed) == (403, "", 303)


def test_a_browser_that_was_not_sent_is_refused(house: House) -> None:
    house.provider.person["email"] = OWNER

    async def stolen() -> int:
        transport = httpx.ASGITransport(house.app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as one:
            left = await one.get("/sign-in/oidc")
        back = house.provider.consent(left.headers["location"])
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as other:
            return (await other.get("/sign-in/oidc/callback", params=back)).status_code

    assert run(stolen()) == 403


def test_a_cookie_that_was_made_up_is_refused(house: House) -> None:
    head = base64.urlsafe_b64encode(b'{"alg":"dir","enc":[]}').rstrip(b"=").decode()

    async def come() -> int:
        transport = httpx.ASGITransport(house.app)
        cookies = {"rackline_provider": f"{head}..AAAA.AAAA.AAAA"}
        async with httpx.AsyncClient(
            transport=transport, base_url="http://localhost", cookies=cookies
        ) as browser:
            back = {"state": "s", "code": "c"}
            return (await browser.get("/sign-in/oidc/callback", params=back)).status_code

    assert run(come()) == 403


def test_who_proves_right_does_not_count_against_their_network(house: House) -> None:
    house.provider.person["email"] = OWNER
    office = of_address("127.0.0.1")
    for _ in range(office.free - 1):
        begin_attempt(house.app.state.identity.store, (office,), now())
    assert [signed_in(house)[0] for _ in range(2)] == [303, 303]
    with house.app.state.identity.store.identity() as queries:
        counted = queries.sessions.attempts(office.sha256)
    assert counted is not None and counted.failures == office.free - 1


def test_a_provider_that_is_down_does_not_make_a_network_wait(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    house.invite("minji@example.com")

    def down(*_: object) -> Person:
        raise ProviderDown("the provider does not answer")

    with monkeypatch.context() as patch:
        patch.setattr(Provider, "person", down)
        assert {signed_in(house)[0] for _ in range(35)} == {503}
    assert signed_in(house)[0] == 303


def test_the_way_back_leads_nowhere_else(house: House) -> None:
    house.provider.person["email"] = OWNER
    found, _ = run(there_and_back(house, following="https://evil.example/"))
    assert found.headers["location"] == "/"


def test_who_is_disabled_stays_out(house: House) -> None:
    house.invite("minji@example.com")
    assert signed_in(house)[0] == 303
    set_disabled(house.app.state.identity, "minji@example.com", True)
    assert signed_in(house) == (403, "", 303)


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


def broken(house: House, **changed: Any) -> int:
    """Return the status of leaving for a provider that misbehaves."""
    for name, value in changed.items():
        setattr(house.provider, name, value)

    async def leave() -> httpx.Response:
        transport = httpx.ASGITransport(house.app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as browser:
            return await browser.get("/sign-in/oidc", headers={"accept": "text/html"})

    found = run(leave())
    assert "evil" not in found.headers.get("location", "")
    return found.status_code


@pytest.mark.parametrize(
    "changed",
    [
        {"metadata": {"issuer": "https://evil.example"}},
        {"metadata": {"authorization_endpoint": "http://evil.example/authorize"}},
        {"metadata": {"authorization_endpoint": "javascript:alert(1)"}},
        {"metadata": {"token_endpoint": None}},
        {"metadata": {"jwks_uri": "file:///etc/passwd"}},
        {"redirect_to": "https://evil.example/"},
        {"too_long": True},
    ],
    ids=str,
)
def test_a_provider_that_misbehaves_is_down(house: House, changed: dict[str, Any]) -> None:
    assert broken(house, **changed) == 503


def test_a_provider_that_does_not_answer_is_down(house: House) -> None:
    house.app.state.single_sign_on.provider.issuer = "http://127.0.0.1:9"
    assert broken(house) == 503


def test_without_a_provider_there_is_no_such_way(house: House) -> None:
    house.app.state.single_sign_on = None

    async def ask() -> int:
        transport = httpx.ASGITransport(house.app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as browser:
            return (await browser.get("/sign-in/oidc")).status_code

    assert run(ask()) == 404


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


def test_the_secret_of_the_client_is_not_shown(house: House) -> None:
    single = house.app.state.single_sign_on
    assert SECRET not in repr(single)
    left = urlsplit(single.provider.address("http://localhost/x", "s", "n", "v" * 43))
    assert SECRET not in left.query
