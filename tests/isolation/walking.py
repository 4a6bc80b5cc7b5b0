"""A walk through every address with every identifier of another workspace."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx
from fastapi import FastAPI

from tests.isolation.doors import FORMS, METHODS, Door, doors, examples, references
from tests.isolation.statements import listening
from tests.isolation.tenants import ONE, TWO, BearerKind, Tenant, compact, filled, never, rows_by_table
from tests.support.described import resolved

OPEN = (
    "/healthz", "/readyz", "/metrics",
    "/api/v1/openapi.json", "/s/", "/static", "/sign-in", "/sign-out", "/forgotten",
    "/password/", "/invitations/",
)  # fmt: skip
"""What nobody may ask for too."""

PUBLISHED = (
    "/api/v1/catalog",
    "/catalog",
    "/api/v1/claims",
    "/claims",
    "/examples",
    "/accuracy",
    "/methodology",
    "/docs",
    "/problems",
)
"""Where identifiers are those of the catalogue; nothing a workspace keeps is asked for there."""

PEOPLE = ("/people", "/account")
"""Where people are asked for; whose they are tests/isolation/test_people.py tells."""

KINDS = {
    "profile_id": "prf", "workload_id": "wkl", "software": "cal", "price_book_id": "pbk",
    "estimate_id": "est", "comparison_id": "cmp", "calibration_id": "cal",
    "study_id": "stu",
}  # fmt: skip
"""Field of a body that names something kept → the kind of thing."""

UNREAD = {
    ("/api/v1/searches", "assumptions.price_book_id"),
    ("/api/v1/calibrations", "estimate.assumptions.price_book_id"),
}
"""Fields that are not looked up, because nothing is priced there."""

NAMES = {
    "estimate": "est", "estimate_id": "est", "teams.0.estimate_id": "est", "comparison": "cmp", "ids": "bom",
    "study": "stu",
    "price_book_id": "pbk", "software": "cal", "model": "prf", "model.profile_id": "prf",
    "workload.workload_id": "wkl", "software.a": "cal", "book": "pbk", "fit": "cal", "calibration_id": "cal",
}  # fmt: skip
"""Parameters of addresses that may name something kept → the kind of thing."""

READ_THERE = {
    "/claims": ("price_book_id",),
    "/estimates/{identifier}/costs": ("price_book_id",),
    "/proposals/new": ("comparison", "study"),
    "/studies/{identifier}": ("software.a", "price_book_id"),
    "/studies/{identifier}/runs": ("fit",),
    "/studies/{identifier}/queues": ("teams.0.estimate_id",),
    "/studies/{identifier}/proposal": ("calibration_id",),
}
"""Beginning of an address → parameters that are tried there one by one; elsewhere all are tried at once."""


@dataclass
class Walk:
    """What was tried and what was found."""

    doors: int = 0
    objects: int = 0
    tried: int = 0
    leaks: list[str] = field(default_factory=list)
    """Answers that hold something of the other workspace."""
    told: list[str] = field(default_factory=list)
    """Answers that differ from the one for what never was, or are no 404."""
    let_in: list[str] = field(default_factory=list)
    """Addresses that answer nobody."""
    unreached: list[str] = field(default_factory=list)
    """Addresses that do not find their owner's object either: what was sent there proves nothing."""
    changed: list[str] = field(default_factory=list)
    """Tables of the workspace in which something has changed."""
    untold: list[str] = field(default_factory=list)
    """Changes of which the audit trail says nothing."""
    unbound: list[str] = field(default_factory=list)
    """Statements on a workspace's tables that do not name the workspace."""

    def findings(self) -> list[str]:
        """Return everything that is wrong."""
        return [*self.leaks, *self.told, *self.let_in, *self.unreached, *self.changed, *self.untold]


class Walker:
    """Asks, and writes down what should not be."""

    def __init__(self, app: FastAPI, *, thorough: bool = False) -> None:
        self.app = app
        self.thorough = thorough
        """Whether every address is asked for objects of every kind, or for its own and two others."""
        self.ask = BearerKind(app)
        self.openapi = resolved(app.openapi())
        self.doors = [door for door in doors(app) if not door.path.startswith("/static")]
        self.walk = Walk(doors=len(self.doors))
        self.one = self.two = Tenant("")
        self.filled: set[str] = set()
        """Tables in which workspace one keeps something."""

    async def fill(self) -> None:
        """Keep one of everything in both workspaces."""
        self.one = await filled(self.app, self.ask, "one", ONE)
        self.two = await filled(self.app, self.ask, "two", TWO)
        self.walk.objects = len(self.one.everything)

    async def send(self, who: str, door: Door, *given: str, **more: Any) -> httpx.Response:
        """Send to an address what it takes."""
        self.walk.tried += 1
        if door.method in {"POST", "PUT", "PATCH"} and not more:
            bodies = examples(self.openapi, door)
            if bodies:
                more = {"json": bodies[0]}
            elif door.pattern in FORMS:
                # A browser sends a form with a table, or with a file, in parts.
                more = {"data": FORMS[door.pattern]}
        return await self.ask(who, door.method, door.at(*given), page=not door.api, **more)

    def look(self, answer: httpx.Response, asked: str, *said: str) -> None:
        """Look for anything of workspace one in an answer, apart from what was asked."""
        text = f"{answer.text}\n{answer.headers.get('location', '')}\n{answer.headers.get('etag', '')}"
        for one in said:
            text = text.replace(one, "…")
        secret = [self.one.mark, self.one.token, *self.one.everything]
        found = [word for word in secret if word in text]
        if found:
            self.walk.leaks.append(f"{asked} → {answer.status_code} with {found[:3]}")

    def sample(self, door: Door, chosen: Sequence[str]) -> list[str]:
        """Return what an address is asked for: all, or objects of its kind and two others."""
        if self.thorough:
            return list(chosen)
        own = tuple(self.kinds_at(door)) if not door.path.startswith((*OPEN, *PEOPLE)) else ()
        return list(dict.fromkeys([*(name for name in chosen if name.startswith(own)), *chosen[:2]]))

    async def paths(self, who: str, chosen: Sequence[str]) -> None:
        """Ask for every identifier of workspace one in every place of every address."""
        for door in self.doors:
            if not door.places or door.path.startswith(OPEN):
                continue
            expected: dict[str, tuple[int, str]] = {}
            for identifier in self.sample(door, chosen):
                rest = ["a"] * (door.places - 1)
                if door.places == 2 and not door.path.startswith(PUBLISHED):
                    rest = [self.one.options.get(identifier[:3], "a")]
                if door.path.startswith("/catalog/{kind}/"):
                    given, nothing = ["chips", identifier], ["chips", never(identifier)]
                else:
                    given, nothing = [identifier, *rest], [never(identifier), *rest]
                kind = never(identifier)
                if kind not in expected:
                    answer = await self.send(who, door, *nothing)
                    expected[kind] = compact(answer, kind)
                answer = await self.send(who, door, *given)
                asked = f"{who or 'nobody'}: {door.method} {door.at(*given)}"
                self.look(answer, asked, identifier, *rest)
                found = compact(answer, identifier)
                refused = {404} if who else {401, 303}
                if found != expected[kind] or found[0] not in refused:
                    self.walk.told.append(f"{asked} → {found[0]}, and {expected[kind][0]} for none")

    async def other_methods(self) -> None:
        """Ask for one object of workspace one by every method that an address does not take."""
        taken: dict[str, set[str]] = {}
        for door in self.doors:
            taken.setdefault(door.path, set()).add(door.method)
        for path, methods in taken.items():
            for method in METHODS:
                door = Door(method, path, path.startswith("/api/"))
                if method in methods or door.places != 1 or path.startswith(OPEN):
                    continue
                identifier = self.one.ids["prp"]
                answer = await self.send("two", door, identifier)
                other = await self.send("two", door, never(identifier))
                asked = f"two: {method} {path}"
                self.look(answer, asked, identifier)
                if compact(answer, identifier) != compact(other, never(identifier)):
                    self.walk.told.append(f"{asked} tells what is there from what is not")

    async def bodies(self) -> None:
        """Name every object of workspace one in every field of every body that may name one."""
        for door in self.doors:
            for reference in references(self.openapi, door):
                own = [self.two.ids[kind] for kind in self.kinds_at(door)]
                if door.path.startswith("/api/v1/proposals"):
                    # What is frozen takes no reference any more, and a price book comes after a comparison.
                    own = [self.two.draft] * door.places
                    if reference.field == "study_id":
                        # In place of a comparison.
                        reference.body.pop("comparison_id", None)
                    elif reference.field != "comparison_id":
                        reference.body["comparison_id"] = self.two.ids["cmp"]
                for kind in (KINDS[str(reference.path[-1])], "swp"):
                    identifier = self.one.ids[kind]
                    answers = []
                    for named in (identifier, never(identifier)):
                        body = reference.naming(named)
                        answers.append((await self.send("two", door, *own, json=body), named))
                    asked = f"two: {door.method} {door.path} with {reference.field} = {kind}"
                    self.look(answers[0][0], asked, identifier)
                    if (door.path, reference.field) in UNREAD:
                        continue
                    found, other = (compact(answer, named) for answer, named in answers)
                    if found != other or found[0] != 404 or str(reference.path[-1]) not in found[1]:
                        told = f"{asked} → {found[0]}, and {other[0]} for none: {found[1][:200]}"
                        self.walk.told.append(told)

    def kinds_at(self, door: Door) -> list[str]:
        """Return the kinds of the identifiers in an address; none where they are the catalogue's."""
        if not door.places or door.path.startswith(PUBLISHED):
            return []
        for kind, start in AREAS.items():
            if door.path.removeprefix("/api/v1").startswith(start):
                return [kind, "swp"] if "/many/{" in door.path else [kind]
        raise AssertionError(f"nothing is known of {door.path}")

    async def queries(self) -> None:
        """Name objects of workspace one in the query of every address that is read."""
        for door in self.doors:
            apart = (*PUBLISHED[:2], *PUBLISHED[4:], *OPEN)
            if door.method != "GET" or door.path.startswith(apart):
                continue
            if door.path.startswith(PEOPLE):
                continue
            own = [self.two.ids[kind] for kind in self.kinds_at(door)] if door.places else []
            if "/claims/{" in door.path:
                own = ["bert-large-3-dgx"]
            tried = [dict(NAMES)]
            tried += [
                {name: NAMES[name]}
                for start, names in READ_THERE.items()
                if door.path.startswith(start)
                for name in names
            ]
            if door.path.startswith("/api/"):
                # What an address does not take is refused there before anything is looked up.
                taken = self.parameters_of(door)
                tried = [{name: kind for name, kind in kinds.items() if name in taken} for kinds in tried]
            for kinds in filter(None, tried):
                answers = []
                for twin in (str, never):
                    named = {name: twin(self.one.ids[kind]) for name, kind in kinds.items()}
                    if "ids" in named:
                        named["ids"] = f"{self.two.ids['bom']},{named['ids']}"
                    answer = await self.send("two", door, *own, params=named)
                    words = [*named.values(), *(twin(self.one.ids[one]) for one in kinds.values())]
                    answers.append((answer, words))
                asked = f"two: {door.method} {door.path}?{'&'.join(kinds)}"
                self.look(answers[0][0], asked, *answers[0][1])
                if compact(answers[0][0], *answers[0][1]) != compact(answers[1][0], *answers[1][1]):
                    self.walk.told.append(f"{asked} tells what is there from what is not")

    def parameters_of(self, door: Door) -> set[str]:
        """Return the query parameters that an address of the API takes."""
        operations = self.openapi["paths"].get(door.path, {})
        parameters = operations.get(door.method.lower(), {}).get("parameters", [])
        return {one["name"] for one in parameters if one["in"] == "query"}

    async def lists(self) -> None:
        """Read everything that has no identifier, as workspace two and as nobody."""
        for door in self.doors:
            if door.places:
                continue
            if door.method in {"GET", "HEAD"}:
                self.look(await self.send("two", door), f"two: {door.method} {door.path}")
            answer = await self.send("", door)
            self.look(answer, f"nobody: {door.method} {door.path}")
            if not door.path.startswith(OPEN) and answer.status_code not in {401, 303}:
                self.walk.let_in.append(f"nobody: {door.method} {door.path} → {answer.status_code}")

    async def reach(self) -> None:
        """Ask as the owner, so that what was refused before is known to be there."""
        # What is read changes nothing that is compared; what is deleted cannot be asked for after.
        known: dict[str, list[str]] | None = None
        for door in sorted(self.doors, key=lambda one: (one.method == "DELETE", one.method != "GET")):
            # The page of a deletion does what the address of the API does, which can be done once.
            if door.method == "POST" and door.path.endswith("/delete"):
                continue
            if not door.places or door.path.startswith((*PUBLISHED, *OPEN, *PEOPLE, *REVOCABLE)):
                continue
            kind = self.kinds_at(door)[0]
            rest = [self.one.options[kind]] if door.places == 2 else []
            if door.method != "GET" and known is None:
                known = rows_by_table(self.app, ONE)
            answer = await self.send("one", door, self.one.ids[kind], *rest)
            if answer.status_code in {401, 403, 404, 405, 415, 422} or answer.status_code >= 500:
                self.walk.unreached.append(f"one: {door.method} {door.path} → {answer.status_code}")
            if known is not None:
                before, known = known, rows_by_table(self.app, ONE)
                # A state has a short name so that its address is short: to look at it is no change.
                moved = [name for name in before if before[name] != known[name] and name != "study_state"]
                if moved and "audit_event" not in moved:
                    self.walk.untold.append(f"{door.method} {door.path} changes {moved}")

    async def link(self) -> None:
        """Open the link of workspace one: it shows its proposal and leads nowhere else."""
        for door in self.doors:
            if door.path.startswith("/s/") and door.method == "GET":
                answer = await self.send("", door, self.one.token)
                if answer.status_code != 200:
                    self.walk.unreached.append(f"link: {door.path} → {answer.status_code}")
                if self.one.mark not in answer.text and not door.path.endswith((".pdf", ".xlsx")):
                    self.walk.unreached.append(f"link: {door.path} does not show what is shared")
                if self.one.apart in answer.text:
                    self.walk.leaks.append(f"link: {door.path} shows what was not shared")
                for wrong in (never("tok_"), self.one.ids["prp"], self.one.ids["est"]):
                    answer = await self.send("", door, wrong)
                    if answer.status_code != 404:
                        self.walk.told.append(f"link: {door.at(wrong)} → {answer.status_code}")

    async def all(self) -> Walk:
        """Walk through everything."""
        with listening(self.app.state.installation.store.engine) as unbound:
            await self.fill()
            before = rows_by_table(self.app, ONE)
            self.filled = {name for name, rows in before.items() if rows}
            await self.paths("two", [*self.one.ids.values(), self.one.draft])
            # Nobody is refused before anything is looked up, whatever is asked for.
            await self.paths("", [self.one.ids["prp"], self.one.ids["est"]])
            await self.other_methods()
            await self.lists()
            await self.bodies()
            await self.queries()
            self.compare(before)
            await self.link()
            await self.reach()
        self.walk.unbound = sorted(unbound)
        return self.walk

    def compare(self, before: dict[str, list[str]]) -> None:
        """Write down which tables of workspace one have changed though only others asked."""
        after = rows_by_table(self.app, ONE)
        self.walk.changed += [name for name in before if before[name] != after[name]]


REVOCABLE = ("/keys", "/webhooks", "/api/v1/keys", "/api/v1/webhooks")
"""What one call ends for the next; their own tests reach them as the owner."""

AREAS = {
    "prf": ("/profiles", "/uploads"), "wkl": "/workloads", "est": "/estimates", "siz": "/sizings",
    "cmp": "/comparisons", "stu": "/studies", "cal": "/calibrations", "swp": ("/sweeps", "/jobs"),
    "prp": "/proposals", "pbk": "/price-books", "own": "/accelerators", "bom": "/boms",
    "key": "/keys", "whk": "/webhooks",
}  # fmt: skip
"""Kind of object → the addresses under which it is asked for."""
