"""Entity tags: what is at hand is not sent again, what was overtaken is not overwritten."""

from __future__ import annotations

import re

import pytest

from app.platform.web.examples import BOOK, HEAD_TO_HEAD, STUDY
from tests.conftest import problem_of
from tests.support.application import Ask


@pytest.fixture(scope="module", params=["comparisons", "price-books", "studies", "proposals"])
def address(request: pytest.FixtureRequest, ask: Ask) -> str:
    """Return the address of a document that can be changed."""
    bodies = {"comparisons": HEAD_TO_HEAD, "price-books": BOOK, "studies": STUDY}
    path = f"/api/v1/{request.param}"
    if request.param == "proposals":
        comparison = ask("POST", "/api/v1/comparisons", json=HEAD_TO_HEAD).json()["id"]
        bodies["proposals"] = {"comparison_id": comparison, "customer": "A customer"}
    return f"{path}/{ask('POST', path, json=bodies[request.param]).json()['id']}"


def test_what_is_at_hand_is_not_sent_again(ask: Ask, address: str) -> None:
    first = ask("GET", address)
    tag = first.headers["etag"]
    assert re.fullmatch(r'"1-[0-9a-f]{16}"', tag)
    for known in (tag, f"W/{tag}", f'"x", {tag}', "*"):
        again = ask("GET", address, headers={"If-None-Match": known})
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag), known
    for other in ('"1"', '"2-0123456789abcdef"', "nonsense"):
        assert ask("GET", address, headers={"If-None-Match": other}).json() == first.json()


def test_a_change_is_checked_against_the_version_that_was_read(ask: Ask, address: str) -> None:
    tag = ask("GET", address).headers["etag"]
    change = {
        "customer" if "proposals" in address else "title" if "comparisons" in address else "name": "Mine"
    }
    changed = ask("PATCH", address, json=change, headers={"If-Match": tag})
    assert changed.status_code == 200
    assert ask("GET", address).headers["etag"] == changed.headers["etag"] != tag
    late = ask("PATCH", address, json=change, headers={"If-Match": tag})
    assert late.status_code == 412
    assert late.headers["content-type"] == "application/problem+json"
    assert late.json()["type"] == "/problems/precondition-failed"
    assert late.json()["errors"][0]["field"] == "If-Match"
    for words in ("x", '"-1"', '"one-2"'):
        refusal = ask("PATCH", address, json=change, headers={"If-Match": words})
        assert problem_of(refusal) == (400, "bad_input", "If-Match")
    assert ask("PATCH", address, json=change, headers={"If-Match": "*"}).status_code == 200


def test_another_reading_of_one_version_has_a_tag_of_its_own(ask: Ask) -> None:
    found = ask("POST", "/api/v1/comparisons", json=HEAD_TO_HEAD).json()
    address = f"/api/v1/comparisons/{found['id']}"
    as_is, restated = (
        ask("GET", address, params={"scaling_efficiency": share}).headers["etag"] for share in (1, 0.85)
    )
    assert as_is.split("-")[0] == restated.split("-")[0] and as_is != restated
