"""Which candidates are searched: those that bounds cannot rule out, the most promising first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from app.catalog import ChipKind
from app.engine.cost import run_cost
from app.engine.frontier import dominated
from app.engine.records import Floats
from app.sizing.size.bounds import Bounds
from app.sizing.size.candidates import Candidate, Candidates
from app.sizing.size.judging import Limits, judge
from app.sizing.size.lattice import between
from app.sizing.size.searching import Option, Searcher

STRETCH = 24
"""Candidates searched before bounds are looked at again."""

SAFETY = 1.0 - 1e-9
"""A bound is taken a little lower than computed: sums in another order may differ by rounding."""


@dataclass(slots=True)
class Explored:
    """Options found, candidates left out by a bound and candidates without a legal plan."""

    options: list[Option] = field(default_factory=list)
    pruned: list[Candidate] = field(default_factory=list)
    impossible: list[Candidate] = field(default_factory=list)

    def of(self, system: str) -> dict[int, Option]:
        """Return the options of one system by count."""
        entries = (option for option in self.options if option.candidate.hardware.entry.id == system)
        return {option.candidate.hardware.count: option for option in entries}


class Explorer:
    """Explores the candidates of one request."""

    def __init__(
        self,
        candidates: Candidates,
        searcher: Searcher,
        bounds: Bounds,
        limits: Limits,
        *,
        exhaustive: bool = False,
    ) -> None:
        self._candidates = candidates
        self._searcher = searcher
        self._bounds = bounds
        self._limits = limits
        self._exhaustive = exhaustive
        self.explored = Explored()

    def explore(self, systems: Mapping[str, Sequence[int]], refine: bool) -> Explored:
        """Search the lattice, then counts between one that misses and the next that meets."""
        lattice = [
            self._candidates.candidate(system, count)
            for system, counts in systems.items()
            for count in counts
        ]
        if self._exhaustive:
            self._search(lattice)
        else:
            seeds = self._seeds(systems, lattice)
            self._search(seeds)
            chosen = {seed.identifier for seed in seeds}
            self._search_unbounded([entry for entry in lattice if entry.identifier not in chosen])
        if refine and self._limits.given:
            self._refine(systems)
        return self.explored

    def _refine(self, systems: Mapping[str, Sequence[int]]) -> None:
        """Search counts between one that misses and the next that meets, for the systems on the front.

        Which systems those are does not depend on what was left out, so that bounds change no answer.
        """
        front = judge(self.explored.options, self._limits).front
        best = {
            option.candidate.hardware.entry.id
            for option, on_front in zip(self.explored.options, front, strict=True)
            if on_front
        }
        whole = [
            entry
            for entry in self.explored.pruned
            if entry.hardware.entry.id in best and np.isfinite(self._bounds.seconds(entry))
        ]
        self.explored.pruned = [entry for entry in self.explored.pruned if entry not in whole]
        self._search(whole)
        finer = [entry for system in sorted(best) for entry in self._finer(system, systems[system])]
        if self._exhaustive:
            self._search(finer)
        else:
            self._search_unbounded(finer)

    def curve(self, system: str, counts: Sequence[int]) -> list[Option]:
        """Return the options of one system at all counts that have one, searching those left out."""
        known = self.explored.of(system)
        missing = [self._candidates.candidate(system, count) for count in counts if count not in known]
        missing = [entry for entry in missing if np.isfinite(self._bounds.seconds(entry))]
        found = [option for option in self._searcher.options(missing) if option is not None]
        return sorted([*known.values(), *found], key=lambda option: option.candidate.hardware.count)

    def least(self, candidate: Candidate) -> tuple[float, float]:
        """Return the least time and the least cost of a candidate. [s] [currency]"""
        seconds = self._bounds.seconds(candidate) * SAFETY
        return seconds, float(run_cost(candidate.hourly, seconds))

    def _search(self, candidates: Sequence[Candidate]) -> None:
        for candidate, option in zip(candidates, self._searcher.options(candidates), strict=True):
            if option is None:
                self.explored.impossible.append(candidate)
            else:
                self.explored.options.append(option)

    def _seeds(self, systems: Mapping[str, Sequence[int]], lattice: Sequence[Candidate]) -> list[Candidate]:
        """Return a candidate of each system: the first whose least time leaves room before the deadline."""
        deadline = self._limits.deadline
        found = []
        for system in systems:
            own = [entry for entry in lattice if entry.hardware.entry.id == system]
            if deadline is None:
                found.append(own[len(own) // 2])
                continue
            roomy = (entry for entry in own if self._bounds.seconds(entry) * ROOM <= deadline)
            found.append(next(roomy, own[-1]))
        return found

    def _search_unbounded(self, candidates: list[Candidate]) -> None:
        """Search candidates until those left are ruled out by their bounds."""
        bounds = self._bounds_of(candidates)
        # What is cheap at best comes first: a run costs about as much at any count of a system, so that the
        # counts of the cheapest systems are found before those they rule out.
        order = np.lexsort((bounds[:, 0], bounds[:, 1]))
        left = list(order)
        while left:
            # A search on one fabric bounds the others.
            ruled_out = self._ruled_out(self._bounds_of([candidates[place] for place in left]))
            self.explored.pruned += [
                candidates[place] for place, out in zip(left, ruled_out, strict=True) if out
            ]
            left = [place for place, out in zip(left, ruled_out, strict=True) if not out]
            self._search([candidates[place] for place in left[:STRETCH]])
            left = left[STRETCH:]

    def _bounds_of(self, candidates: Sequence[Candidate]) -> Floats:
        return np.array([self.least(entry) for entry in candidates], dtype=float).reshape(-1, 2)

    def _ruled_out(self, bounds: Floats) -> NDArray[np.bool_]:
        """Say which candidates can neither be on the front, nor the cheapest or the fastest that meets."""
        options = self.explored.options
        verdict = judge(options, self._limits)
        if verdict.cheapest is None or verdict.fastest is None:
            return ~np.isfinite(bounds[:, 0])
        seconds, costs = bounds.T
        beaten = dominated(seconds, costs, verdict.seconds, verdict.costs)
        not_cheapest = verdict.costs[verdict.cheapest] <= costs
        not_fastest = verdict.seconds[verdict.fastest] <= seconds
        return np.asarray(beaten & not_cheapest & not_fastest)

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


ROOM = 2.0
"""Time over its bound at which a plan may be expected."""
