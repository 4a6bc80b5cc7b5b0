"""A system is stated alike in every request: by name and count, or as one object of both."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.application import Ask

MAPPED = {"parameters": 1.3e9, "layers": 24, "pipeline": 16, "replicas": 4, "replica_batch": 64}
SHARED = {"requests": [{"team": "vision", "devices": 16}]}
QUEUED = {"teams": [{"team": "vision", "jobs_per_month": 4, "devices": 8, "hours": 10}], "days": 30}


@pytest.mark.parametrize(
    ("path", "system", "rest"),
    [
        ("boms", "dgx-h100", {}),
        ("mappings", "bow-pod64", MAPPED),
        ("partitions", "bow-pod64", SHARED),
        ("queues", "dgx-a100-640gb", QUEUED),
    ],
)
def test_an_object_says_what_name_and_count_say(
    ask: Ask, path: str, system: str, rest: dict[str, Any]
) -> None:
    apart = ask("POST", f"/api/v1/{path}", json={"system": system, "count": 2, **rest})
    together = ask("POST", f"/api/v1/{path}", json={"system": {"id": system, "count": 2}, **rest})
    assert apart.status_code == together.status_code < 300, (apart.text, together.text)
    own = {"id", "created_at", "url", "request"}
    assert {name: part for name, part in apart.json().items() if name not in own} == {
        name: part for name, part in together.json().items() if name not in own
    }


def test_what_a_request_lacks_is_refused_in_the_object_too(ask: Ask) -> None:
    answer = ask(
        "POST", "/api/v1/partitions", json={"system": {"id": "bow-pod64", "fabric": "roce-100"}, **SHARED}
    )
    assert answer.status_code == 422
    assert [(entry["field"], entry["code"]) for entry in answer.json()["errors"]] == [
        ("fabric", "unknown_field")
    ]
