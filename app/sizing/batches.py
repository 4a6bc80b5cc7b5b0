"""Global batches up to which convergence holds: data/batch_limits.csv."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from app.catalog import Catalog
from app.engine.loss import critical_batch_at_loss, language_loss
from app.errors import Message
from app.sizing.document import CheckWarning
from app.sizing.quantities import significant


@dataclass(frozen=True, slots=True)
class BatchLimit:
    """Global batch up to which convergence holds, as far as published recipes show."""

    family: str
    limit: float
    unit: str
    source: str
    note: str


def load_batch_limits(directory: Path) -> Mapping[str, BatchLimit]:
    """Load data/batch_limits.csv by family; the empty family is the default."""
    with (directory / "batch_limits.csv").open(encoding="utf-8", newline="") as handle:
        return {
            row["family"]: BatchLimit(
                row["family"], float(row["limit"]), row["unit"], row["source"], row["note"]
            )
            for row in csv.DictReader(handle)
        }


LANGUAGE = frozenset({"gpt", "llama"})
"""Families whose loss the law of language models gives."""


def critical_batch_checks(
    family: str, parameters: float, tokens: float, batch_tokens: float, catalog: Catalog
) -> list[CheckWarning]:
    """Return advice where a language model is trained on steps above its critical batch.

    Parameters
    ----------
    family : str
        Family of the model. [-]
    parameters : float
        Weights. [-]
    tokens : float
        Tokens trained on. [tokens]
    batch_tokens : float
        Tokens of one step. [tokens]
    catalog : Catalog
        Figures of the loss law. [-]
    """
    if family not in LANGUAGE:
        return []

    def law(parameter: str) -> float:
        return catalog.figure("loss-law", parameter).si

    names = ("parameters_scale", "parameters_exponent", "tokens_scale", "tokens_exponent")
    loss = language_loss(parameters, tokens, *(law(name) for name in names))
    critical = critical_batch_at_loss(loss, law("critical_batch_scale"), law("critical_batch_exponent"))
    if batch_tokens <= float(critical):
        return []
    return [
        CheckWarning.of(
            "batch_beyond_critical",
            "info",
            Message(
                "steps of {batch} million tokens lie above the critical batch of some {critical} million; "
                "more accelerators on a larger batch buy little",
                {"batch": significant(batch_tokens / 1e6), "critical": significant(float(critical) / 1e6)},
            ),
            "workload.global_batch",
        )
    ]
