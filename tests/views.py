"""Studies whose views tests look at, with the fields that the addresses of the views hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

import httpx

from app.platform.web.examples import CALIBRATION, QUEUE

Post = Callable[[str, dict[str, Any]], httpx.Response]


@dataclass(frozen=True)
class View:
    """What a study asks, on how many of a system, and the fields of one of its views."""

    base: Mapping[str, Any]
    system: str
    count: int = 1
    fields: Mapping[str, str] = field(default_factory=dict)


BERT = {"model": {"preset": "bert-large"}, "workload": {"target": "mlperf-bert"}}

BERT_BY_SAMPLES = {
    "model": {"preset": "bert-large"},
    "workload": {"samples": 1e8, "global_batch": 1024, "seq_len": 512, "precision": "fp16"},
}

GPT3 = {"model": {"preset": "gpt3-175b"}, "workload": {"tokens": 3e11}}

MAPPED = {
    "parameters": "175e9",
    "layers": "96",
    "tensor": "8",
    "pipeline": "8",
    "replicas": "4",
    "replica_batch": "8",
    "replicated_tensor_sharding": "4",
}

ARTICLE = {
    "capex": "4,378,000,000",
    "onprem_monthly": "50,000,000",
    "cloud_monthly": "300,000,000",
    "horizon_months": "48",
    "discount_percent": "",
    "residual_percent": "",
}
"""Build or rent as an article asks it: in won, without discount and resale."""

SWITCHES = {
    "nodes": "20",
    "ports_per_node": "8",
    "port_gbps": "200",
    "switch_ports": "40",
    "declared_switches": "14",
}

FIVE_TEAMS = {
    name: text
    for row, (team, devices) in enumerate(zip("ABCDE", ("16", "16", "8", "4", "16"), strict=True))
    for name, text in ((f"requests.{row}.team", team), (f"requests.{row}.devices", devices))
}

JOBS = {
    f"teams.{row}.{name}": str(value)
    for row, team in enumerate(QUEUE["teams"])
    for name, value in team.items()
}

RUNS = {
    f"runs.{row}.{name}": str(value)
    for row, run in enumerate(CALIBRATION["runs"])
    for name, value in {
        "unit": "samples_per_s" if "samples_per_s" in run else "step_time_s",
        "value": run.get("samples_per_s", run.get("step_time_s")),
        "system.count": run["system"]["count"],
        "workload.global_batch": run["workload"]["global_batch"],
        "note": run.get("note", ""),
    }.items()
}

VIEWS = {
    "plan": View({**GPT3, "workload": {"tokens": 3e11, "global_batch": 1536}}, "dgx-a100-640gb", 128),
    "mapping": View(GPT3, "ipu-pod256", 1, MAPPED),
    "network": View(BERT_BY_SAMPLES, "dgx-a100-640gb", 4),
    "switches": View(BERT_BY_SAMPLES, "dgx-a100-640gb", 20, SWITCHES),
    "bill": View(BERT, "dgx-a100-640gb"),
    "rent": View({**GPT3, "currency": "KRW"}, "dgx-a100-320gb", 20, ARTICLE),
    "partitions": View(BERT, "bow-pod64", 1, FIVE_TEAMS),
    "queues": View(BERT, "dgx-a100-640gb", 4, JOBS),
    "runs": View(BERT_BY_SAMPLES, "dgx-a100-640gb", 8, RUNS),
}
"""Last part of an address → what is seen there."""


def served_view(server: str, name: str, fields: Mapping[str, str] | None = None) -> str:
    """Keep the study of a view on a server; return the path of the view."""
    return view_of(lambda path, body: httpx.post(f"{server}{path}", json=body, timeout=60), name, fields)


def view_of(post: Post, name: str, fields: Mapping[str, str] | None = None) -> str:
    """Keep the study of a view; return the address of the view with its fields, or with others.

    Among the others, ``system``, ``count`` and ``currency`` are the study's.
    """
    view = VIEWS[name]
    known = dict(view.fields if fields is None else fields)
    count = known.pop("count", "1" if "system" in known else str(view.count))
    system = {"id": known.pop("system", view.system), "count": int(count)}
    currency = known.pop("currency", view.base.get("currency", "USD"))
    body = {"name": name, "base": {**view.base, "currency": currency}, "options": [{"system": system}]}
    made = post("/api/v1/studies", body)
    assert made.status_code == 201, made.text
    address = f"/studies/{made.json()['id']}/{name}"
    return f"{address}?{urlencode(known)}" if known else address
