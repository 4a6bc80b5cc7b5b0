"""Journey 5 through the API: a tenancy plan on a Bow Pod64."""

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from tests.journeys.conftest import POD, TEAMS

Call = Callable[..., Any]
Ask = Callable[..., httpx.Response]


def test_the_pod_is_what_its_sources_say(get: Call) -> None:
    system = get("/catalog/systems/bow-pod64")
    machines = next(one for one in system["figures"] if one["parameter"] == "machines")
    assert machines["value"] == 16 and machines["source"]["id"]
    assert system["devices"] == 64
    figures = {one["parameter"]: one for one in get("/catalog/chips/bow")["figures"]}
    assert figures["sram_nominal"]["value"] == pytest.approx(900e6)
    peak = figures["published_peak_fp16"]
    assert peak["value"] == pytest.approx(350e12, rel=0.005)
    assert [one["value"] for one in peak["rejected"]] == [350e12]
    assert all(figures[name]["source"]["id"] for name in ("sram_nominal", "published_peak_fp16"))


def test_five_teams_then_one_too_odd(ask: Ask, post: Call) -> None:
    found = post("/partitions", POD)
    assert (found["allocated"], found["free"]) == (60, 4)
    assert found["warnings"] == []
    assert {one["name"]: one["source"]["id"] for one in found["figures"]}["machines"]
    refused = ask(
        "POST", "/api/v1/partitions", json=POD | {"requests": [*TEAMS, {"team": "late", "devices": 12}]}
    )
    assert refused.status_code == 409
    assert refused.headers["content-type"] == "application/problem+json"
    assert "8 and 16" in refused.json()["detail"]
    last = post("/partitions", POD | {"requests": [*TEAMS, {"team": "late", "devices": 4}]})
    assert last["free"] == 0


def test_isolation_depends_on_who_starts_the_containers(post: Call) -> None:
    exposed = post("/partitions", POD | {"orchestrator": "gc-docker"})
    (warning,) = exposed["warnings"]
    assert (warning["code"], warning["severity"]) == ("gc_docker_host_network", "serious")
    assert "network" in warning["message"]
    assert any(rule["code"] == warning["code"] and rule["source"]["id"] for rule in exposed["rules"])


def test_two_pods_are_one_session_of_128(ask: Ask, post: Call) -> None:
    job = [{"team": "language", "devices": 128}]
    found = post("/partitions", POD | {"count": 2, "requests": job})
    assert [(one["pod"], one["devices"]) for one in found["placements"]] == [(0, 64), (1, 64)]
    refused = ask(
        "POST", "/api/v1/partitions", json=POD | {"count": 2, "orchestrator": "none", "requests": job}
    )
    assert refused.status_code == 409 and "cannot span" in refused.json()["detail"]
