"""What is chosen, held against what could have been: counts and batches, over models and systems."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.errors import AppError
from app.estimating.context import SizingContext
from app.estimating.documents import Estimate
from app.estimating.estimate import estimate
from app.estimating.request import EstimateRequest

MODELS: Mapping[str, Mapping[str, Any]] = {
    "bert-large": {"target": "mlperf-bert"},
    "resnet50": {"target": "mlperf-resnet50"},
    "gpt3-175b": {"tokens": 300e9},
    "llama2-70b": {"tokens": 2e12},
    "llama-7b": {"tokens": 1e12},
    "gpt2-1.5b": {"tokens": 1e10},
    "t5-11b": {"tokens": 1e11},
    "vit-large": {"epochs": 300, "dataset_samples": 1_281_167},
}

SYSTEMS = (
    *("dgx-a100-640gb", "dgx-a100-320gb", "a100-pcie-80gb", "a100-sxm-40gb", "aws-p4d", "azure-nd96amsr"),
    *("gcp-a2-highgpu-8g", "dgx1-v100", "bow-pod16", "ipu-pod64"),
)

COUNTS = (
    *(1, 2, 3, 4, 5, 7, 8, 11, 13, 16, 20, 23, 32, 40, 47, 64, 80, 97, 128, 140, 160, 180, 191),
    *(220, 256, 300, 307, 400, 512),
)

MOST_IPUS = 4096

RISES = 0.005
"""Share by which a time may rise with the count."""


@dataclass(frozen=True)
class ChoiceRow:
    """Times of a model on a system over rising counts."""

    model: str
    system: str
    seconds: Mapping[int, float | None]
    """By count; None where the model does not fit."""

    @property
    def worst_rise(self) -> float:
        """Return the largest share by which a count takes longer than a smaller one."""
        least, worst = float("inf"), 0.0
        for seconds in self.seconds.values():
            if seconds is None:
                worst = worst if least == float("inf") else float("inf")
                continue
            worst = max(worst, seconds / least - 1.0)
            least = min(least, seconds)
        return worst


def asked(model: str, system: str, count: int, **workload: Any) -> EstimateRequest:
    return EstimateRequest.model_validate(
        {
            "model": {"preset": model},
            "workload": {**MODELS[model], **workload},
            "system": {"id": system, "count": count},
        }
    )


def seconds_of(found: Estimate) -> float | None:
    return found.time_to_train.value if found.time_to_train is not None else None


def over_counts(model: str, system: str, context: SizingContext, counts: Sequence[int] = COUNTS) -> ChoiceRow:
    """Return the times of a model on a system at every count of at most so many IPUs."""
    entry = context.catalog.system(system)
    most = MOST_IPUS // entry.devices if "pod" in system else max(counts)
    found = {
        count: seconds_of(estimate(asked(model, system, count), context)) for count in counts if count <= most
    }
    return ChoiceRow(model, system, found)


def batches_by_hand(chosen: int, number: int, seed: int) -> Iterator[int]:
    """Yield batches around a chosen one: powers of two, halves and thirds, and any numbers."""
    draw = random.Random(seed)
    tried: set[int] = {chosen}
    fixed = [1 << power for power in range(14)] + [chosen // 2, chosen // 3, chosen * 3 // 4, chosen - 1]
    near = [value for value in fixed if chosen // 8 <= value <= chosen]
    while len(near) < 4 * number:
        near.append(draw.randint(max(chosen // 4, 1), chosen))
    for value in near:
        if value > 0 and value not in tried and len(tried) <= number:
            tried.add(value)
            yield value


def lead_of_others(
    model: str, system: str, count: int, context: SizingContext, number: int = 20
) -> tuple[float, int, int] | None:
    """Return by how much the best of other batches is faster, and both batches; None without a plan."""
    found = estimate(asked(model, system, count), context)
    seconds = seconds_of(found)
    if seconds is None:
        return None
    best, at = 0.0, found.plan.global_batch
    for batch in batches_by_hand(found.plan.global_batch, number, count):
        try:
            other = seconds_of(estimate(asked(model, system, count, global_batch=batch), context))
        except AppError:
            continue
        if other is not None and seconds / other - 1.0 > best:
            best, at = seconds / other - 1.0, batch
    return best, found.plan.global_batch, at
