"""Ready-made studies that one click opens."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.platform.web.contexts import Example

BERT: dict[str, Any] = {"model": {"preset": "bert-large"}, "workload": {"target": "mlperf-bert"}}

RESNET: dict[str, Any] = {"model": {"preset": "resnet50"}, "workload": {"target": "mlperf-resnet50"}}

GPT3: dict[str, Any] = {
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

EXAMPLES: Mapping[str, tuple[Example, dict[str, Any], list[dict[str, Any]]]] = {
    example.id: (example, base, options)
    for example, base, options in (
        (
            Example(
                "gpt3-175b",
                "GPT-3 175B on 300 billion tokens",
                "128 × DGX A100 640 GB versus one IPU-POD256: what fits, and in how many days",
            ),
            GPT3,
            POD256,
        ),
        (
            Example(
                "bert-large",
                "BERT-Large to the MLPerf target",
                "DGX A100 versus IPU-POD16 and Bow Pod16: one node, two pods",
            ),
            BERT,
            POD16,
        ),
        (
            Example(
                "resnet50",
                "ResNet-50 to the MLPerf target",
                "DGX A100 versus IPU-POD16 and Bow Pod16 on ImageNet",
            ),
            RESNET,
            POD16,
        ),
        (
            Example(
                "newer-accelerators",
                "BERT-Large on newer accelerators",
                "DGX A100 versus DGX H100, DGX B200, MI300X and Bow Pod16: time, cost and energy",
            ),
            BERT,
            NEWER,
        ),
        (
            Example(
                "vendor-claim",
                "A vendor claim, examined",
                "BERT-Large: 69.5 h on a DGX A100 versus 13.2 h on an IPU-POD64, and what that assumes",
            ),
            BERT,
            CLAIMED,
        ),
    )
}
"""Identifier → what is shown, the base of the study and its options."""
