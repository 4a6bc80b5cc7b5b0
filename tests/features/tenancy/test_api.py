"""Partitions and queues through the API: the shape of the contract, statuses, bounds, time."""

import time

from app.platform.web.examples import QUEUE
from tests.support.application import Ask


def test_a_queue_is_answered_in_two_seconds(ask: Ask) -> None:
    began = time.perf_counter()
    response = ask("POST", "/api/v1/queues", json=QUEUE)
    assert response.status_code == 200
    assert time.perf_counter() - began < 4.0, "twice what it may take, for a busy machine"
    found = response.json()
    assert found == ask("POST", "/api/v1/queues", json=QUEUE).json()
    assert found["machines_needed"] >= 1 and len(found["teams"]) == 3
