"""What a new study starts from: a workload that is usual for the model, and systems that hold it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from app.errors import Message
from app.services.workbench import Workbench
from app.sizing.catalogue.documents import Model
from app.sizing.request import EstimateRequest
from app.sizing.study.answering import DEFAULTS
from app.sizing.study.starting import holds

TARGETS = {
    "bert-large": "mlperf-bert",
    "resnet50": "mlperf-resnet50",
    "maskrcnn": "mlperf-maskrcnn",
    "ssd300-resnet34": "mlperf-ssd",
    "retinanet": "mlperf-retinanet",
    "unet3d": "mlperf-unet3d",
    "dlrm": "mlperf-dlrm",
}
"""Models that MLPerf trains → its target."""

LANGUAGE = ("gpt", "llama", "t5", "bert")
IMAGES = ("resnet50", "resnext101", "efficientnet", "vit", "swin")
IMAGENET = "mlperf-resnet50"

SYSTEMS = ("dgx-a100-640gb", "ipu-pod16", "bow-pod16")
LARGE_SYSTEMS = ("dgx-a100-640gb", "aws-p4de")
"""Suggested where the model does not fit one of the first."""

COUNTS = (1, 2, 4, 8, 16, 32, 64, 128)
"""Counts that are tried, the smallest first."""


@dataclass(frozen=True, slots=True)
class Suggestion:
    """What the guide fills in."""

    workload: Mapping[str, str | int]
    why: Message | None
    """Where the workload comes from; None where nothing is suggested."""
    systems: Mapping[str, int]
    """Count by system, the smallest that holds the model."""


def suggested(bench: Workbench, model: str) -> Suggestion:
    """Return what to start from with a model preset."""
    document = bench.catalogue.models.get(model)
    workload, why = _workload(bench, document)
    return Suggestion(workload, why, _systems(bench, model, workload))


def _workload(bench: Workbench, model: Model) -> tuple[dict[str, str | int], Message | None]:
    catalog = bench.sizing.catalog
    if model.id in TARGETS:
        name = catalog.items[TARGETS[model.id]].name
        return {"target": TARGETS[model.id]}, Message("the target of MLPerf: {name}", {"name": name})
    if model.family in LANGUAGE:
        figure = catalog.figure(DEFAULTS, "tokens_per_parameter")
        tokens = round(float(f"{figure.si * model.parameters.value:.3g}"))
        values = {"count": figure.si, "publisher": figure.source.publisher}
        return {"tokens": tokens}, Message("{count} tokens per parameter: {publisher}", values)
    if model.family in IMAGES:
        figure = catalog.figure(DEFAULTS, "image_epochs")
        images = catalog.figure(IMAGENET, "dataset_samples")
        values = {"count": figure.si, "publisher": figure.source.publisher}
        why = Message("{count} epochs of ImageNet: {publisher}", values)
        return {"epochs": round(figure.si), "dataset_samples": round(images.si)}, why
    return {}, None


def _systems(bench: Workbench, model: str, workload: Mapping[str, str | int]) -> dict[str, int]:
    """Return systems with the smallest counts that hold the model, as estimates say."""
    asked = dict(workload) or {"samples": 1_000_000}
    single = {name: 1 for name in SYSTEMS if _fits(bench, model, asked, name, 1)}
    if len(single) > 1:
        return single
    found = {
        name: count
        for name in LARGE_SYSTEMS
        if (count := next((count for count in COUNTS if _fits(bench, model, asked, name, count)), None))
    }
    return {**single, **found} or {SYSTEMS[0]: 1}


def _fits(bench: Workbench, model: str, workload: Mapping[str, str | int], system: str, count: int) -> bool:
    request = EstimateRequest.model_validate(
        {"model": {"preset": model}, "workload": workload, "system": {"id": system, "count": count}}
    )
    return holds(request, bench.sizing)
