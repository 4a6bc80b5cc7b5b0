from __future__ import annotations

from typing import Any

from app.features.studies.model import StudyContent

BASE: dict[str, Any] = {
    "model": {"preset": "bert-large"},
    "workload": {"samples": 1e7, "global_batch": 1024, "seq_len": 128},
}


OPTIONS: list[dict[str, Any]] = [
    {"system": {"id": "dgx-a100-640gb", "count": 2}},
    {"system": {"id": "bow-pod16"}},
    {"key": "p", "label": "Reported", "figure": {"hours": 2.0, "kind": "vendor"}},
    {"key": "q", "label": "Scaled", "figure": {"kind": "linear", "scaled_from": "p", "factor": 4}},
]


def study(options: list[dict[str, Any]] | None = None, **base: Any) -> StudyContent:
    return StudyContent.model_validate(
        {"name": "BERT", "base": {**BASE, **base}, "options": OPTIONS if options is None else options}
    )
