from __future__ import annotations

from typing import Any

from tests.support.application import Reader


def made(reader: Reader, model: str, batch: int, *systems: dict[str, Any], **plan: Any) -> str:
    """Keep a study of a model on systems; return its address."""
    options = [{"system": system, "plan": plan} for system in systems]
    body = {
        "name": model,
        "base": {"model": {"preset": model}, "workload": {"tokens": 1e10, "global_batch": batch}},
        "options": options,
    }
    answer = reader.ask("POST", "/api/v1/studies", json=body)
    assert answer.status_code == 201, answer.text
    return f"/studies/{answer.json()['id']}"
