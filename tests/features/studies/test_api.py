"""Studies through the API: versions, conflicts, states, files from hostile hands."""

from __future__ import annotations

from typing import Any

import pytest

from app.platform.web.examples import STUDY, STUDY_FILE
from tests.conftest import problem_of
from tests.support.application import Ask

PATH = "/api/v1/studies"


@pytest.fixture
def study(ask: Ask) -> str:
    made = ask("POST", PATH, json=STUDY)
    assert made.status_code == 201, made.text
    return f"{PATH}/{made.json()['id']}"


def test_edits_meet_at_the_version(ask: Ask, study: str) -> None:
    tag = ask("GET", study).headers["etag"]
    changed = ask("PATCH", study, json={"knobs": {"count.a": 4}}, headers={"If-Match": tag})
    assert changed.json()["version"] == 2 and changed.headers["etag"].startswith('"2-')
    late = ask("PATCH", study, json={"notes": "mine"}, headers={"If-Match": tag})
    assert problem_of(late) == (412, "precondition_failed", "If-Match", "options.a.system.count")
    assert "options.a.system.count" in {error["field"] for error in late.json()["errors"]}
    versions = ask("GET", f"{study}/versions").json()["items"]
    assert [one["version"] for one in versions] == [2, 1]
    assert ask("GET", study, params={"version": 1}).json()["content"]["options"][0]["system"]["count"] == 2
    assert ask("GET", study, params={"version": 9}).status_code == 404


def test_a_state_is_answered_and_nothing_is_stored(ask: Ask, study: str) -> None:
    state = {"knobs": {"count.a": 4}, "pair": ["a", "b"]}
    found = ask("POST", f"{study}/answers", json=state).json()
    assert found["knobs"] == {"count.a": "4"} and found["changes"][0]["after"] == 4
    assert (found["why"]["first"], found["why"]["second"]) == ("a", "b")
    assert sum(part["difference"] for part in found["why"]["parts"]) == pytest.approx(
        found["why"]["difference"]
    )
    assert {one["kind"] for one in found["options"]} == {"modelled", "vendor", "linear"}
    assert ask("GET", study).json()["version"] == 1


@pytest.mark.parametrize(
    ("state", "status", "field"),
    [
        ({"knobs": {"count.a": "x"}}, 422, "count.a"),
        ({"knobs": {"nope": 1}}, 422, "nope"),
        ({"knobs": {"count.a": 0}}, 400, "count.a"),
        ({"knobs": {"fabric.a": "nothing"}}, 404, "fabric.a"),
        ({"knobs": {"batch": 10**13}}, 400, "batch"),
        ({"pair": ["a", "z"]}, 404, "pair"),
        ({"version": 7}, 404, "version"),
        ({"knobs": [1]}, 422, "knobs"),
    ],
)
def test_wrong_states_are_refused_by_name(
    ask: Ask, study: str, state: dict[str, Any], status: int, field: str
) -> None:
    refused = ask("POST", f"{study}/answers", json=state)
    assert refused.status_code == status, refused.text
    assert field in {error["field"] for error in refused.json()["errors"]}


def broken(**change: Any) -> dict[str, Any]:
    return {**STUDY_FILE, **change}


@pytest.mark.parametrize(
    "file",
    [
        {},
        broken(format="something-else"),
        broken(format_version=2),
        broken(surplus=1),
        broken(study={**STUDY, "options": []}),
        broken(study={**STUDY, "options": [{"system": {"id": "bow-pod16"}}] * 9}),
        broken(study={**STUDY, "options": [{"key": "A/../b", "system": {"id": "bow-pod16"}}]}),
        broken(study={**STUDY, "options": [{"system": {"id": "no-such"}}]}),
        broken(study={**STUDY, "options": "abc"}),
        broken(study={**STUDY, "options": [None]}),
        broken(study={**STUDY, "options": {"a": 1}}),
        broken(study={**STUDY, "name": " "}),
        broken(study={**STUDY, "name": "x" * 201}),
        broken(study={**STUDY, "notes": "x" * 10_001}),
        broken(study={**STUDY, "base": {**STUDY["base"], "scaling_efficiency": 0}}),
        broken(study={**STUDY, "base": {**STUDY["base"], "model": {}}}),
        broken(study=[STUDY]),
    ],
)
def test_hostile_files_are_refused(ask: Ask, file: dict[str, Any]) -> None:
    refused = ask("POST", f"{PATH}/import", json=file)
    assert 400 <= refused.status_code < 500, refused.text
    assert refused.json()["detail"]


def test_what_is_read_can_be_sent_back(ask: Ask, study: str) -> None:
    """A field that an answer shows as null is one that nobody stated."""
    content = ask("GET", study).json()["content"]
    same = ask("PATCH", study, json={"base": content["base"], "options": content["options"]})
    assert same.status_code == 200, same.text
    before, after = (
        ask("POST", f"{study}/answers", json={"version": version}).json()["options"]
        for version in (1, same.json()["version"])
    )
    assert [one["time"] for one in before] == [one["time"] for one in after]
