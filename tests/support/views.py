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
class ViewQuestion:
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

RESNET: dict[str, Any] = {"model": {"preset": "resnet50"}, "workload": {"target": "mlperf-resnet50"}}

GPT3_BATCH: dict[str, Any] = {
    "model": {"preset": "gpt3-175b"},
    "workload": {"tokens": 300e9, "global_batch": 1536, "seq_len": 2048},
}

POD16: list[dict[str, Any]] = [
    {"system": {"id": name}} for name in ("dgx-a100-640gb", "ipu-pod16", "bow-pod16")
]

NEWER: list[dict[str, Any]] = [
    {"system": {"id": name}} for name in ("dgx-a100-640gb", "dgx-h100", "dgx-b200", "mi300x-8", "bow-pod16")
]

POD256: list[dict[str, Any]] = [
    {"system": {"id": "dgx-a100-640gb", "count": 128}},
    {"system": {"id": "ipu-pod256"}},
]

CLAIMED: list[dict[str, Any]] = [
    {
        "key": "a",
        "label": "1 × DGX A100",
        "figure": {"hours": 69.5, "kind": "vendor", "system": "dgx-a100-320gb"},
    },
    {
        "key": "b",
        "label": "3 × DGX A100",
        "figure": {"kind": "linear", "scaled_from": "a", "factor": 3, "system": "dgx-a100-320gb"},
    },
    {
        "key": "c",
        "label": "1 × IPU-POD64",
        "figure": {"hours": 13.2, "kind": "vendor", "system": "ipu-pod64"},
    },
]

EXAMPLES: Mapping[str, tuple[str, Mapping[str, Any], list[dict[str, Any]]]] = {
    "gpt3-175b": ("GPT-3 175B on 300 billion tokens", GPT3_BATCH, POD256),
    "bert-large": ("BERT-Large to the MLPerf target", BERT, POD16),
    "resnet50": ("ResNet-50 to the MLPerf target", RESNET, POD16),
    "newer-accelerators": ("BERT-Large on newer accelerators", BERT, NEWER),
    "vendor-claim": ("A vendor claim, examined", BERT, CLAIMED),
}
"""Identifier → name, base and options of a study."""

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
        "workload.seq_len": CALIBRATION["estimate"]["workload"]["seq_len"],
        "note": run.get("note", ""),
    }.items()
}

VIEWS = {
    "plan": ViewQuestion({**GPT3, "workload": {"tokens": 3e11, "global_batch": 1536}}, "dgx-a100-640gb", 128),
    "mapping": ViewQuestion(GPT3, "ipu-pod256", 1, MAPPED),
    "network": ViewQuestion(BERT_BY_SAMPLES, "dgx-a100-640gb", 4),
    "switches": ViewQuestion(BERT_BY_SAMPLES, "dgx-a100-640gb", 20, SWITCHES),
    "bill": ViewQuestion(BERT, "dgx-a100-640gb"),
    "rent": ViewQuestion({**GPT3, "currency": "KRW"}, "dgx-a100-320gb", 20, ARTICLE),
    "partitions": ViewQuestion(BERT, "bow-pod64", 1, FIVE_TEAMS),
    "queues": ViewQuestion(BERT, "dgx-a100-640gb", 4, JOBS),
    "runs": ViewQuestion(BERT_BY_SAMPLES, "dgx-a100-640gb", 8, RUNS),
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


LABELS = {
    "dgx-a100-640gb": "DGX A100 640GB",
    "ipu-pod16": "IPU-POD16",
    "bow-pod16": "Bow Pod16",
    "ipu-pod256": "IPU-POD256",
}


def comparison_of(identifier: str, language: str = "en") -> dict[str, Any]:
    """Return the request of a comparison of an example's options."""
    name, base, options = EXAMPLES[identifier]
    return {
        "title": name,
        "locale": language,
        "currency": "KRW" if language == "ko" else "USD",
        "rows": [_row(base, option) for option in options],
    }


def _row(base: Mapping[str, Any], option: dict[str, Any]) -> dict[str, Any]:
    if figure := option.get("figure"):
        scaled = {"scaled_from": "1 × DGX A100"} if "scaled_from" in figure else {}
        return {"label": option["label"], **figure, **scaled}
    system = option["system"]
    name, count = LABELS[system["id"]], system.get("count", 1)
    return {**base, "label": name if count == 1 else f"{count} × {name}", "system": system}


PUBLISHED = [
    {"label": "1 × DGX A100", "hours": 69.5, "kind": "vendor", "system": "dgx-a100-320gb"},
    {"label": "3 × DGX A100", "kind": "linear", "scaled_from": "1 × DGX A100", "factor": 3},
    {"label": "1 × IPU-POD64", "hours": 13.2, "kind": "vendor", "system": "ipu-pod64"},
]


LLAMA_7B = {
    "architectures": ["LlamaForCausalLM"],
    "bos_token_id": 1,
    "eos_token_id": 2,
    "hidden_act": "silu",
    "hidden_size": 4096,
    "initializer_range": 0.02,
    "intermediate_size": 11008,
    "max_position_embeddings": 2048,
    "max_sequence_length": 2048,
    "model_type": "llama",
    "num_attention_heads": 32,
    "num_hidden_layers": 32,
    "pad_token_id": 0,
    "rms_norm_eps": 1e-06,
    "tie_word_embeddings": False,
    "torch_dtype": "float16",
    "transformers_version": "4.28.0.dev0",
    "use_cache": True,
    "vocab_size": 32000,
}
"""config.json of huggyllama/llama-7b."""


QWEN2_7B = {
    "architectures": ["Qwen2ForCausalLM"],
    "model_type": "qwen2",
    "hidden_size": 3584,
    "intermediate_size": 18944,
    "num_hidden_layers": 28,
    "num_attention_heads": 28,
    "num_key_value_heads": 4,
    "vocab_size": 152064,
    "max_position_embeddings": 131072,
    "tie_word_embeddings": False,
}
