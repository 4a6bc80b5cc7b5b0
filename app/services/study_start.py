"""What a new study starts from: the training that is usual for the model, and systems that finish it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from app.errors import Message
from app.profiles.model import ModelProfile
from app.profiles.presets import preset
from app.services.workbench import Workbench
from app.sizing.quantities import duration
from app.sizing.study.answering import DEFAULTS
from app.sizing.study.starting import UsualTraining, finishes_alone, starting_counts, usual_training
from app.sizing.workload import targets_of

SYSTEMS = ("dgx-a100-640gb", "ipu-pod16", "bow-pod16")
LARGE_SYSTEMS = ("dgx-a100-640gb", "aws-p4de")
"""Suggested where one of the first does not do."""


@dataclass(frozen=True, slots=True)
class Suggestion:
    """What the guide fills in."""

    training: UsualTraining
    systems: Mapping[str, int]
    """Count by system, the smallest that finishes in sensible time."""
    within: Message | None
    """Time within which the counts finish; None where one of each system does."""


def suggested(bench: Workbench, model: str) -> Suggestion:
    """Return what to start from with a model preset."""
    training = training_of(bench, preset(model))
    found = _systems(bench, model, training)
    limit = duration(bench.sizing.catalog.figure(DEFAULTS, "start_time").si)
    return Suggestion(training, found, limit if any(count > 1 for count in found.values()) else None)


def training_of(bench: Workbench, profile: ModelProfile) -> UsualTraining:
    """Return the training of a model: as published, else what is usual for its family."""
    return usual_training(profile, bench.sizing.catalog)


def targets_for(bench: Workbench, profile: ModelProfile | None) -> list[str]:
    """Return the targets that are defined for a model; all where none is known yet."""
    catalog = bench.sizing.catalog
    return list(catalog.names("target")) if profile is None else targets_of(profile, catalog)


def _systems(bench: Workbench, model: str, training: UsualTraining) -> dict[str, int]:
    asked = dict(training.workload) or {"samples": 1_000_000}
    single = {name: 1 for name in SYSTEMS if finishes_alone(model, asked, name, bench.sizing)}
    if len(single) > 1:
        return single
    return starting_counts(model, asked, LARGE_SYSTEMS, bench.sizing) or {SYSTEMS[0]: 1}
