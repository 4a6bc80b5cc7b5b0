"""Rights by role and scope: said of every route, held before it, and shown on the pages."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import pytest
from bs4 import BeautifulSoup
from fastapi import FastAPI

from app.platform.admission import Principal, Role, Scope
from app.platform.web.requirements import Right, right_of
from app.platform.web.rights import ACCESS_RULES, RANK, allows
from tests.conftest import run
from tests.isolation.doors import Door, doors
from tests.isolation.tenants import ONE, TWO, BearerKind, KnownBearers, never, tenants
from tests.isolation.walking import OPEN


def person(role: Role) -> Principal:
    """Return a member of workspace one."""
    return Principal(ONE, role.value, role, account_id=f"acc_{role.value}")


def key(*scopes: Scope) -> Principal:
    """Return a key of workspace one, with the role that keys have."""
    role = Role.VIEWER if set(scopes) <= {Scope.READ} else Role.CONSULTANT
    return Principal(ONE, "key", role, key_id="key_a", scopes=frozenset(scopes))


WHO = {
    "viewer": person(Role.VIEWER),
    "consultant": person(Role.CONSULTANT),
    "owner": person(Role.OWNER),
    "key-read": key(Scope.READ),
    "key-estimate": key(Scope.ESTIMATE),
    "key-propose": key(Scope.PROPOSE),
    "key-webhooks": key(Scope.WEBHOOKS),
    "key-all": key(*Scope),
    "two": Principal(TWO, "Second", Role.OWNER, account_id="acc_second"),
}

MAY = {
    Right.READ: {"viewer", "consultant", "owner", "key-read", "key-all"},
    Right.ASK: {"viewer", "consultant", "owner", "key-estimate", "key-all"},
    Right.MAKE: {"consultant", "owner", "key-estimate", "key-all"},
    Right.PROPOSE: {"consultant", "owner", "key-propose", "key-all"},
    Right.HOOK: {"owner", "key-webhooks", "key-all"},
    Right.MANAGE: {"owner"},
    Right.OWN: {"viewer", "consultant", "owner"},
}


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FastAPI]:
    made = tenants(tmp_path_factory.mktemp("rights"))
    made.state.admission = KnownBearers(**WHO)
    yield made
    made.state.installation.store.close()


@pytest.fixture(scope="module")
def guarded(app: FastAPI) -> list[Door]:
    """Every method of every address that is for members."""
    return [door for door in doors(app) if not door.path.startswith(OPEN)]


def test_every_route_says_which_right_it_needs(guarded: list[Door]) -> None:
    missing = [
        f"{door.method} {door.path}" for door in guarded if right_of(door.method, door.endpoint) is None
    ]
    assert missing == [], "mark the route with @needs"


def test_roles_and_scopes_as_they_are_meant() -> None:
    for right, (name, principal) in product(Right, WHO.items()):
        if name != "two":
            assert allows(principal, right) is (name in MAY[right]), (right, name)
    assert set(ACCESS_RULES) == set(Right)
    assert [*RANK] == [Role.VIEWER, Role.CONSULTANT, Role.OWNER]


def test_who_has_no_right_is_refused_everywhere_and_told_what_is_missing(
    app: FastAPI, guarded: list[Door]
) -> None:
    async def refused() -> list[str]:
        ask, wrong = BearerKind(app), []
        for who in ("viewer", "consultant", "key-read", "key-propose"):
            for door in guarded:
                right = right_of(door.method, door.endpoint)
                assert right is not None
                if allows(WHO[who], right) or door.places:
                    continue
                answer = await ask(who, door.method, door.path)
                if answer.status_code != 403 or "/problems/forbidden" not in answer.text:
                    wrong.append(f"{who}: {door.method} {door.path} → {answer.status_code}")
        await ask.client.aclose()
        return wrong

    assert run(refused()) == []


def test_a_refusal_speaks_of_own_things_only(app: FastAPI) -> None:
    async def answers() -> list[tuple[int, str]]:
        ask = BearerKind(app)
        made = await ask("owner", "POST", "/api/v1/boms", json={"system": "ipu-pod64"})
        cost = await ask("owner", "POST", "/api/v1/estimates", json=ESTIMATE)
        assert made.status_code == cost.status_code == 201
        own, foreign = (
            cost.json()["id"],
            (await ask("two", "POST", "/api/v1/estimates", json=ESTIMATE)).json()["id"],
        )
        found = []
        for identifier in (own, foreign, never(foreign)):
            answer = await ask("viewer", "POST", f"/estimates/{identifier}/costs")
            found.append((answer.status_code, answer.text.replace(identifier, "…")))
        await ask.client.aclose()
        return found

    own, foreign, nothing = run(answers())
    assert own[0] == 403
    assert foreign == nothing
    assert foreign[0] == 404


ESTIMATE = {
    "model": {"preset": "resnet50"},
    "workload": {"target": "mlperf-resnet50"},
    "system": {"id": "dgx-a100-640gb"},
}


@pytest.mark.parametrize("who", ["viewer", "consultant", "owner"])
def test_pages_offer_what_their_reader_may_do(app: FastAPI, guarded: list[Door], who: str) -> None:
    async def offered() -> list[str]:
        ask, wrong = BearerKind(app), []
        study = {"name": "s", "base": BASE, "options": [{"key": "a", **FIGURE}]}
        made = await ask("owner", "POST", "/api/v1/studies", json=study)
        assert made.status_code == 201, made.text
        estimate = (await ask("owner", "POST", "/api/v1/estimates", json=ESTIMATE)).json()["id"]
        pages = [door.path for door in guarded if door.method == "GET" and not door.api and not door.places]
        kept = f"/studies/{made.json()['id']}"
        pages += [kept, f"{kept}/proposal", f"/estimates/{estimate}/costs"]
        for path in pages:
            answer = await ask(who, "GET", path, page=True, follow_redirects=True)
            if "text/html" not in answer.headers.get("content-type", ""):
                continue
            for form in BeautifulSoup(answer.text, "lxml").select('form[method="post"]'):
                action = str(form["action"]).partition("?")[0]
                right = right_for(guarded, action)
                if right is not None and not allows(WHO[who], right):
                    wrong.append(f"{path} offers {action}")
        await ask.client.aclose()
        return wrong

    assert run(offered()) == []


def test_who_may_not_propose_sees_no_form_and_is_refused(app: FastAPI) -> None:
    async def seen() -> dict[str, tuple[bool, int]]:
        ask, found = BearerKind(app), {}
        study = {"name": "s", "base": BASE, "options": [{"key": "a", **FIGURE}]}
        kept = (await ask("owner", "POST", "/api/v1/studies", json=study)).json()["id"]
        view = f"/studies/{kept}/proposal"
        fields = {"customer": "Lab", "locale": "en", "currency": "USD"}
        for who in ("viewer", "key-estimate", "consultant"):
            page = await ask(who, "GET", view, page=True)
            form = BeautifulSoup(page.text, "lxml").select_one("form.proposal-form")
            sent = await ask(who, "POST", view, page=True, data=fields)
            found[who] = (form is not None, sent.status_code)
        await ask.client.aclose()
        return found

    assert run(seen()) == {"viewer": (False, 403), "key-estimate": (False, 403), "consultant": (True, 303)}


BASE = {"model": {"preset": "bert-large"}, "workload": {"target": "mlperf-bert"}}

FIGURE = {"label": "Reported", "figure": {"hours": 3.5, "kind": "vendor"}}


def right_for(guarded: list[Door], action: str) -> Right | None:
    """Return the right that posting to an address needs; None where anybody may."""
    for door in guarded:
        parts, asked = door.path.split("/"), action.split("/")
        same = len(parts) == len(asked) and all(
            one == other or one.startswith("{") for one, other in zip(parts, asked, strict=True)
        )
        if door.method == "POST" and not door.api and same:
            return right_of("POST", door.endpoint)
    return None
