"""What a new study starts from: the training that is usual for the model, and systems that finish it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from app.profiles.presets import preset
from app.services.workbench import Workbench
from app.sizing.study.starting import UsualTraining, finishes_alone, starting_counts, usual_training

SYSTEMS = ("dgx-a100-640gb", "ipu-pod16", "bow-pod16")
LARGE_SYSTEMS = ("dgx-a100-640gb", "aws-p4de")
"""Suggested where one of the first does not do."""


@dataclass(frozen=True, slots=True)
class Suggestion:
    """What the guide fills in."""

    training: UsualTraining
    systems: Mapping[str, int]
    """Count by system, the smallest that finishes in sensible time."""


def suggested(bench: Workbench, model: str) -> Suggestion:
    """Return what to start from with a model preset."""
    training = usual_training(preset(model), bench.sizing.catalog)
    found: dict[str, int] = bench.sizing.remember(("start", model), lambda: _systems(bench, model, training))
    return Suggestion(training, found)


def _systems(bench: Workbench, model: str, training: UsualTraining) -> dict[str, int]:
    asked = dict(training.workload) or {"samples": 1_000_000}
    single = {name: 1 for name in SYSTEMS if finishes_alone(model, asked, name, bench.sizing)}
    if len(single) > 1:
        return single
    return starting_counts(model, asked, LARGE_SYSTEMS, bench.sizing) or {SYSTEMS[0]: 1}
