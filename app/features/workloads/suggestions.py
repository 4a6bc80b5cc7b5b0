"""Suggestions of a form: training of a model, and systems that finish it in reasonable time."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import product
from typing import TypeAlias

from pydantic import ValidationError

from app.catalog.catalog import Catalog
from app.catalog.figures import Source
from app.errors import AppError, Message
from app.estimating.context import SizingContext
from app.estimating.deciding import choose, question_of
from app.estimating.decision import USUAL_PROBABILITY
from app.estimating.estimate import seconds_to_train
from app.estimating.ranges import count_of
from app.estimating.request import EstimateRequest
from app.estimating.workload import resolve_model, targets_of
from app.platform.workspace import Workspace
from app.profiles.model import ModelProfile

DEFAULTS = "study-defaults"

Model: TypeAlias = Mapping[str, object]
"""Model of a request: a preset or an upload."""

LANGUAGE = ("gpt", "llama", "t5", "bert")

IMAGES = ("resnet50", "resnext101", "efficientnet", "vit", "swin", "cnn")

IMAGENET = "mlperf-resnet50"

COUNTS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048)
"""Counts that are tried first, ascending."""


@dataclass(frozen=True, slots=True)
class UsualTraining:
    """Default training of a model."""

    workload: Mapping[str, str | int | float]
    """Fields of a request; empty if unknown."""
    why: Message | None = None
    """Amount in words with its origin."""
    assumed: bool = False
    """Whether it is an assumption, not published."""
    global_batch: int | None = None
    """Batch of that training, not part of the request; None for a target. [samples]"""
    source: Source | None = None
    """Source; None for an assumption."""


def usual_training(profile: ModelProfile, catalog: Catalog) -> UsualTraining:
    """Return the published training of a model, else the default of its family, marked as assumed."""
    published = profile.published
    if published.amount is None:
        return _of_family(profile, catalog)
    amount, figure = _amount(profile, catalog), published.amount
    why = amount
    if published.assumed:
        why = Message("{amount} (assumption: {note})", {"amount": amount, "note": Message(figure.note)})
    elif figure.recalled:
        why = Message("{amount}; from memory, not checked", {"amount": amount})
    batch = None if published.target else published.global_batch
    source = None if published.assumed else figure.source
    return UsualTraining(published.workload, why, published.assumed, batch, source)


def _amount(profile: ModelProfile, catalog: Catalog) -> Message:
    published = profile.published
    if published.target:
        return Message("trained to {target}", {"target": catalog.items[published.target].name})
    if published.tokens and published.seq_len:
        return Message(
            "{tokens} tokens in sequences of {seq_len}",
            {"tokens": count_of(published.tokens), "seq_len": published.seq_len},
        )
    if published.epochs and published.dataset_samples:
        return Message(
            "{epochs} epochs of {samples} samples",
            {"epochs": published.epochs, "samples": count_of(published.dataset_samples)},
        )
    return Message("{samples} samples", {"samples": count_of(published.samples or 0.0)})


def _of_family(profile: ModelProfile, catalog: Catalog) -> UsualTraining:
    if profile.family in LANGUAGE and profile.usual_seq_len:
        figure = catalog.figure(DEFAULTS, "tokens_per_parameter")
        tokens = round(float(f"{figure.si * profile.parameters:.3g}"))
        values = {"amount": count_of(tokens), "count": figure.si, "publisher": figure.source.publisher}
        why = Message("{amount} tokens (assumption: {count} per parameter, {publisher})", values)
        return UsualTraining({"seq_len": profile.usual_seq_len, "tokens": tokens}, why, assumed=True)
    if profile.family in IMAGES:
        figure = catalog.figure(DEFAULTS, "image_epochs")
        values = {"count": figure.si, "publisher": figure.source.publisher}
        why = Message("{count} epochs of ImageNet (assumption: {publisher})", values)
        workload = {"epochs": round(figure.si), "dataset_samples": dataset_of(profile, catalog) or 0}
        return UsualTraining(workload, why, assumed=True)
    return UsualTraining({})


def dataset_of(profile: ModelProfile, catalog: Catalog) -> int | None:
    """Return the samples of an epoch of a model: as published, or those of ImageNet for images."""
    if samples := profile.published.dataset_samples:
        return round(samples)
    return round(catalog.figure(IMAGENET, "dataset_samples").si) if profile.family in IMAGES else None


def starting_counts(
    model: Model,
    workload: Mapping[str, object],
    systems: Iterable[str],
    context: SizingContext,
    deadline: float | None = None,
    apart: float | None = None,
) -> dict[str, int]:
    """Return systems with the smallest count that likely meets a deadline, or finishes in the start time.

    ``apart`` is the time from one run to the next, which a run then takes at most. If no count does, it is
    the largest that fits the model; systems that never fit it are omitted.
    """
    usual = context.catalog.figure(DEFAULTS, "start_time").si
    limits = [(usual, None) if deadline is None else (deadline, USUAL_PROBABILITY)]
    if apart is not None and apart < limits[0][0]:
        limits.append((apart, None))
    found = {
        system: [_starting_count(model, workload, system, context, *limit) for limit in limits]
        for system in systems
    }
    return {
        system: max(count for count in counts if count is not None)
        for system, counts in found.items()
        if any(counts)
    }


def _starting_count(
    model: Model,
    workload: Mapping[str, object],
    system: str,
    context: SizingContext,
    limit: float,
    share: float | None,
) -> int | None:
    def seconds(count: int) -> float | None:
        request = {"model": model, "workload": workload, "system": {"id": system, "count": count}}
        return seconds_to_train(EstimateRequest.model_validate(request), context, share)

    def make() -> int | None:
        least_useful, short, largest = 1.0, 0, None
        for count in COUNTS:
            if count < least_useful:
                short = count
                continue
            time = seconds(count)
            if time is not None and time <= limit:
                return _fewest(seconds, limit, short, count)
            short = count
            if time is not None:
                largest = count
                # Speed-up is hardly ever superlinear: skip counts that cannot be enough.
                least_useful = count * time / limit / 2.0
        return largest

    count: int | None = context.remember(("start", json.dumps([model, workload, system, limit, share])), make)
    return count


def _fewest(seconds: Callable[[int], float | None], limit: float, short: int, enough: int) -> int:
    """Return the fewest systems that keep a limit, between a count that does not and one that does."""
    while enough - short > 1:
        middle = (short + enough) // 2
        time = seconds(middle)
        if time is not None and time <= limit:
            enough = middle
        else:
            short = middle
    return enough


SYSTEMS = ("dgx-h100", "aws-p5")
"""What is suggested: a system that is sold today, and one with the same accelerators that is rented."""

RENTED = ("aws-p5", "azure-nd-h100-v5", "gcp-a3-mega")
"""What is suggested where only renting is asked about."""

NEWER = ("dgx-b200", "mi300x-8")
"""What is suggested beside them where there is a deadline to meet."""


def suggested_systems(
    model: Model,
    workload: Mapping[str, object],
    context: SizingContext,
    deadline: float | None = None,
    apart: float | None = None,
    *,
    rent: bool = True,
    own: bool = True,
) -> dict[str, int]:
    """Return suggested systems, each with the smallest count that likely meets the deadline.

    Where only one of renting and owning is asked about, the other is not suggested.
    """
    systems: Sequence[str] = SYSTEMS if deadline is None else (*SYSTEMS, *NEWER)
    if rent != own:
        systems = RENTED if rent else (SYSTEMS[0], *NEWER)
    return starting_counts(model, workload or UNKNOWN, systems, context, deadline, apart) or {SYSTEMS[0]: 1}


UNKNOWN: Mapping[str, object] = {"samples": 1_000_000}
"""Training with which counts are tried if it is unknown."""

HOLDERS = ("dgx-a100-640gb", "ipu-pod16", "ipu-pod64")
"""Common systems whose smallest count is shown."""

MOST_HOLDING = 512


def least_counts(model: Model, workload: Mapping[str, object], context: SizingContext) -> dict[str, int]:
    """Return the smallest count of common systems that fits the model; empty for an invalid request.

    An amount of training that is not stated in full, such as epochs of a data set of unknown size, does not
    decide whether a model fits.
    """
    kind = {"kind": workload["kind"]} if "kind" in workload else {}
    trainings = [workload or UNKNOWN, {**kind, **UNKNOWN}]

    def smallest(system: str, training: Mapping[str, object]) -> int | None:
        request = EstimateRequest.model_validate(
            {"model": model, "workload": training, "system": {"id": system}}
        )
        profile = resolve_model(request.model, context)
        question = question_of(request, profile, context.hardware.system(system, 1), context)

        def fits(count: int) -> bool:
            return choose(question, context.hardware.system(system, count), context).choice.fits

        low, high = 0, 1
        while not fits(high):
            low, high = high, 2 * high
            if high > MOST_HOLDING:
                return None
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if fits(middle) else (middle, high)
        return high

    def make() -> dict[str, int]:
        found: dict[str, int | None] = {}
        for training, system in product(trainings, HOLDERS):
            if system not in found:
                with suppress(AppError, ValidationError):
                    found[system] = smallest(system, training)
        return {system: count for system in HOLDERS if (count := found.get(system))}

    counts: dict[str, int] = context.remember(("least", json.dumps([model, trainings])), make)
    return counts


def targets_for(workspace: Workspace, profile: ModelProfile | None) -> list[str]:
    """Return the targets of a model; all without a model."""
    catalog = workspace.sizing.catalog
    return list(catalog.names("target")) if profile is None else targets_of(profile, catalog)
