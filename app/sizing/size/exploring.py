"""Every system at every count that is considered, searched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from app.catalog import ChipKind
from app.sizing.size.candidates import Candidate, Candidates
from app.sizing.size.judging import SizingLimits, judge
from app.sizing.size.lattice import between
from app.sizing.size.searching import CandidateResult, Searcher


@dataclass(slots=True)
class Exploration:
    """Options found, and candidates without a legal plan."""

    options: list[CandidateResult] = field(default_factory=list)
    impossible: list[Candidate] = field(default_factory=list)

    def of(self, system: str) -> dict[int, CandidateResult]:
        """Return the options of one system by count."""
        entries = (option for option in self.options if option.candidate.hardware.entry.id == system)
        return {option.candidate.hardware.count: option for option in entries}


class Explorer:
    """Explores the candidates of one request."""

    def __init__(self, candidates: Candidates, searcher: Searcher, limits: SizingLimits) -> None:
        self._candidates = candidates
        self._searcher = searcher
        self._limits = limits
        self.explored = Exploration()

    def explore(self, systems: Mapping[str, Sequence[int]], refine: bool) -> Exploration:
        """Search the lattice, then counts between one that misses and the next that meets."""
        self._search([self._candidates.candidate(name, count) for name in systems for count in systems[name]])
        if refine and self._limits.given:
            self._search([entry for name in self._on_front() for entry in self._finer(name, systems[name])])
        return self.explored

    def _on_front(self) -> list[str]:
        front = judge(self.explored.options, self._limits).front
        pairs = zip(self.explored.options, front, strict=True)
        return sorted({option.candidate.hardware.entry.id for option, on_front in pairs if on_front})

    def _search(self, candidates: Sequence[Candidate]) -> None:
        for candidate, option in zip(candidates, self._searcher.options(candidates), strict=True):
            if option is None:
                self.explored.impossible.append(candidate)
            else:
                self.explored.options.append(option)

    def _finer(self, system: str, counts: Sequence[int]) -> list[Candidate]:
        """Return candidates between a count of the lattice that misses and the next, which meets."""
        known = self.explored.of(system)
        meets = dict(zip(known, judge(list(known.values()), self._limits).meets, strict=True))
        entry = next(iter(known.values())).candidate.hardware.entry
        if entry.chip_kind is ChipKind.IPU:
            return []
        return [
            self._candidates.candidate(system, count)
            for low, high in pairwise(counts)
            if not meets.get(low, False) and meets.get(high, False)
            for count in between(low, high)
        ]
