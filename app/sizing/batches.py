"""Global batches up to which convergence holds: data/batch_limits.csv."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from app.catalog import Catalog
from app.engine.convergence import samples_law
from app.engine.loss import critical_batch_at_loss, language_loss
from app.errors import Message
from app.sizing.document import CheckWarning
from app.sizing.quantities import significant


@dataclass(frozen=True, slots=True)
class BatchLimit:
    """Global batch up to which convergence holds, as far as published recipes show."""

    kind: str
    """Kind of workload, as finetune; blank for pre-training."""
    family: str
    limit: float
    unit: str
    source: str
    note: str


BatchLimits = Mapping[tuple[str, str], BatchLimit]
"""Batch limits by kind of workload and family; blank is pre-training, and any other family."""


def load_batch_limits(directory: Path) -> BatchLimits:
    """Load data/batch_limits.csv by kind of workload and family."""
    with (directory / "batch_limits.csv").open(encoding="utf-8", newline="") as handle:
        return {
            (row["kind"], row["family"]): BatchLimit(
                row["kind"], row["family"], float(row["limit"]), row["unit"], row["source"], row["note"]
            )
            for row in csv.DictReader(handle)
        }


def batch_limit(limits: BatchLimits, kind: str, family: str, convolutional: bool) -> BatchLimit:
    """Return the limit of a kind of workload; what has no rows of its own is held to that of pre-training.

    A family without a row takes that of ResNet-50 where it is convolutional and the kind has one, else the
    kind's default.
    """
    families = (family, "resnet50", "") if convolutional else (family, "")
    keys = [(of_kind, of_family) for of_kind in (kind, "") for of_family in families]
    return next(limits[key] for key in keys if key in limits)


LANGUAGE = frozenset({"gpt", "llama"})
"""Families whose loss the law of language models gives."""


def critical_batch(parameters: float, tokens: float, catalog: Catalog) -> float:
    """Return the batch at which a language model needs twice its fewest tokens. [tokens]"""

    def law(parameter: str) -> float:
        return catalog.figure("loss-law", parameter).si

    names = ("parameters_scale", "parameters_exponent", "tokens_scale", "tokens_exponent")
    loss = language_loss(parameters, tokens, *(law(name) for name in names))
    return float(critical_batch_at_loss(loss, law("critical_batch_scale"), law("critical_batch_exponent")))


def critical_batch_checks(
    family: str, parameters: float, tokens: float, batch_tokens: float, catalog: Catalog
) -> list[CheckWarning]:
    """Return advice where a language model is trained on steps above its critical batch. [tokens]"""
    if family not in LANGUAGE:
        return []
    critical = critical_batch(parameters, tokens, catalog)
    if batch_tokens <= critical:
        return []
    more = samples_law(batch_tokens, 1.0, critical, 1.0) / samples_law(critical, 1.0, critical, 1.0)
    return [
        CheckWarning.of(
            "batch_beyond_critical",
            "caution",
            Message(
                "steps of {batch} million tokens lie above the critical batch of some {critical} million: "
                "the same loss takes about {factor} times the tokens it takes there",
                {
                    "batch": significant(batch_tokens / 1e6),
                    "critical": significant(critical / 1e6),
                    "factor": significant(float(more)),
                },
            ),
            "workload.global_batch",
        )
    ]
