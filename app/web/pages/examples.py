"""Ready-made comparisons that one click opens."""

from __future__ import annotations

from typing import Any

from app.web.contexts import Example

Option = tuple[str, dict[str, Any]]

POD16: list[Option] = [
    ("DGX A100 640GB", {"id": "dgx-a100-640gb"}),
    ("IPU-POD16", {"id": "ipu-pod16"}),
    ("Bow Pod16", {"id": "bow-pod16"}),
]

EXAMPLES: dict[str, tuple[Example, dict[str, Any], list[Option]]] = {
    "gpt3-175b": (
        Example(
            "gpt3-175b",
            "GPT-3 175B on 300 billion tokens",
            "128 × DGX A100 640 GB against one IPU-POD256: what fits, and in how many days",
        ),
        {
            "model": {"preset": "gpt3-175b"},
            "workload": {"tokens": 300e9, "global_batch": 1536, "seq_len": 2048},
        },
        [
            ("128 × DGX A100 640GB", {"id": "dgx-a100-640gb", "count": 128}),
            ("IPU-POD256", {"id": "ipu-pod256"}),
        ],
    ),
    "bert-large": (
        Example(
            "bert-large",
            "BERT-Large to the MLPerf target",
            "DGX A100 against IPU-POD16 and Bow Pod16: one node, two pods",
        ),
        {"model": {"preset": "bert-large"}, "workload": {"target": "mlperf-bert"}},
        POD16,
    ),
    "resnet50": (
        Example(
            "resnet50",
            "ResNet-50 to the MLPerf target",
            "DGX A100 against IPU-POD16 and Bow Pod16 on ImageNet",
        ),
        {"model": {"preset": "resnet50"}, "workload": {"target": "mlperf-resnet50"}},
        POD16,
    ),
}
"""Identifier → what is shown, what is shared by all rows, and the systems with their labels."""

CLAIM = Example(
    "vendor-claim",
    "A vendor's claim, taken apart",
    "BERT-Large: 69.5 h on a DGX A100 against 13.2 h on an IPU-POD64, and what that assumes",
)
CLAIMED_ROWS: list[dict[str, Any]] = [
    {"label": "1 × DGX A100", "hours": 69.5, "kind": "vendor", "system": "dgx-a100-320gb"},
    {
        "label": "3 × DGX A100",
        "kind": "linear",
        "scaled_from": "1 × DGX A100",
        "factor": 3,
        "system": "dgx-a100-320gb",
    },
    {"label": "1 × IPU-POD64", "hours": 13.2, "kind": "vendor", "system": "ipu-pod64"},
]


def shown() -> list[Example]:
    """Return the examples in the order they are offered."""
    return [*(example for example, _, _ in EXAMPLES.values()), CLAIM]


def rows_of(identifier: str) -> tuple[Example, list[dict[str, Any]]] | None:
    """Return an example and the rows of its comparison; None for an unknown identifier."""
    if identifier == CLAIM.id:
        return CLAIM, CLAIMED_ROWS
    if identifier not in EXAMPLES:
        return None
    example, asked, systems = EXAMPLES[identifier]
    return example, [{**asked, "label": label, "system": system} for label, system in systems]
