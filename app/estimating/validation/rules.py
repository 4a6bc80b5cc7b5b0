"""Rules that complete a measured row, read from data/validation as data.

A row of a benchmark leaves things out: which software profile its text means, which network its
machines have, which batch a recipe used. What is filled in is looked up in these tables by
software text, family, chip, form factor, interconnect, precision and micro-batch; never by who
measured it.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from app.errors import CatalogError


@dataclass(frozen=True, slots=True)
class Rule:
    """One row of a table: patterns that must all be found, and what follows."""

    patterns: Mapping[str, re.Pattern[str]]
    result: Mapping[str, str]

    def matches(self, facts: Mapping[str, str]) -> bool:
        return all(pattern.search(facts.get(name, "")) for name, pattern in self.patterns.items())


@dataclass(frozen=True, slots=True)
class Rules:
    systems: Mapping[str, Mapping[str, str]]
    networks: tuple[Rule, ...]
    software: tuple[Rule, ...]
    completion: tuple[Rule, ...]
    models: tuple[Rule, ...]

    def network(self, facts: Mapping[str, str]) -> Mapping[str, str] | None:
        """Return fabric, ports and efficiency of the first rule that matches."""
        return next((rule.result for rule in self.networks if rule.matches(facts)), None)

    def profile(self, facts: Mapping[str, str]) -> str | None:
        return next((rule.result["profile"] for rule in self.software if rule.matches(facts)), None)

    def preset(self, facts: Mapping[str, str]) -> str | None:
        return next((rule.result["preset"] for rule in self.models if rule.matches(facts)), None)

    def completed(self, facts: Mapping[str, str]) -> dict[str, str]:
        """Return the fields that all matching rules fill in, later rules last."""
        found: dict[str, str] = {}
        for rule in self.completion:
            if rule.matches(facts):
                found[rule.result["field"]] = rule.result["value"]
        return {name: value for name, value in found.items() if value}


KEYS = (
    *("software", "family", "chip", "model", "form_factor", "interconnect", "seq_len", "precision"),
    *("metric", "micro_batch"),
)
WHOLE = frozenset({"family", "chip", "seq_len", "micro_batch"})
"""Facts that a pattern must match from end to end."""


def rule_of(row: Mapping[str, str], keys: Collection[str] = KEYS, whole: Collection[str] = WHOLE) -> Rule:
    """Return a row as a rule; columns that are no keys are what follows."""
    patterns = {
        name: re.compile(f"^(?:{row[name]})$" if name in whole else row[name], re.IGNORECASE)
        for name in keys
        if row.get(name)
    }
    return Rule(patterns, {name: value for name, value in row.items() if name not in keys})


def read_table(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as handle:
        rows = list(csv.DictReader(handle, restval=""))
    for line, row in enumerate(rows, start=2):
        if None in row:
            raise CatalogError(f"{path.name} line {line}: too many columns")
    return rows


def load_rules(directory: Path) -> Rules:
    def rules(name: str) -> tuple[Rule, ...]:
        return tuple(map(rule_of, read_table(directory / name)))

    return Rules(
        systems={row["measured"]: row for row in read_table(directory / "systems.csv")},
        networks=rules("networks.csv"),
        software=rules("software.csv"),
        completion=rules("completion.csv"),
        models=rules("models.csv"),
    )
