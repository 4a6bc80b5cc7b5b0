"""Comparisons and an estimate to look at."""

from __future__ import annotations

import httpx
import pytest


def example(server: str, identifier: str) -> str:
    """Open a ready-made comparison and return its path."""
    answer = httpx.post(f"{server}/examples/{identifier}", headers={"accept-language": "en"})
    assert answer.status_code == 303, answer.text
    return str(answer.headers["location"])


@pytest.fixture(scope="session")
def claimed(server: str) -> str:
    """Path of a comparison of a vendor's figures."""
    return example(server, "vendor-claim")


@pytest.fixture(scope="session")
def modelled(server: str) -> str:
    """Path of a comparison of estimates."""
    return example(server, "bert-large")


@pytest.fixture(scope="session")
def estimated(server: str, modelled: str) -> str:
    """Path of an estimate."""
    rows = httpx.get(f"{server}{modelled}.json").json()["rows"]
    return f"/estimates/{rows[1]['estimate']['id']}"


@pytest.fixture(scope="session")
def calibrations(server: str) -> list[str]:
    """Paths of a calibration with a warning and of measured alternatives."""
    from app.web.api.examples import CALIBRATION, FABRIC_GAIN

    slow = {**CALIBRATION, "runs": [{**CALIBRATION["runs"][0], "samples_per_s": 900}]}
    made = [httpx.post(f"{server}/api/v1/calibrations", json=body).json() for body in (slow, FABRIC_GAIN)]
    return [f"/calibrations/{one['id']}" for one in made]
