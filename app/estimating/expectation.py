"""What ordinary teams reach beside published records, where nothing of the asker's own is known.

Published records are tuned runs. Runs of teams that are not a vendor's differ from them in plan, kernels,
input and clocks; each kind of stack has one factor and one deviation of what such runs take over the tuned
time, fitted to runs that people report in public (`tools/fitting/teams.py`, data/teams.csv).
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from app.catalog.software import SoftwareProfile
from app.engine.operators.table import OperatorTable
from app.engine.records import GpuSystem, IpuChip, Precision
from app.errors import CatalogError, Message
from app.estimating.documents import Expectation, Text
from app.estimating.request import PlanInput
from app.estimating.schema import Quantity

Kind = Literal["usual_stack", "other_stack", "plan_left_open"]
KINDS: tuple[Kind, ...] = ("usual_stack", "other_stack", "plan_left_open")
"""Software unnamed: a chip with the usual stack of language models of its time, or another chip or stack;
software named that no figure was fitted to, and a plan left to the search."""
USUAL_MAKERS = frozenset({"NVIDIA"})
TRAINED_BYTES = 16.0
"""Weights, gradients and states of a parameter that Adam trains in mixed precision. [B]"""


@dataclass(frozen=True, slots=True)
class TeamTerm:
    """What runs of ordinary teams take over the time of a tuned run."""

    kind: Kind
    factor: float
    """Their median time over that of a tuned run. [-]"""
    deviation: float
    """Log-deviation between teams, without what is uncertain of a tuned run."""
    runs: int
    """Public runs it was fitted to."""
    headline: bool
    """Whether an estimate takes the time of such a run in place of a tuned one."""


Teams = Mapping[str, TeamTerm]


def load_teams(directory: Path) -> Teams:
    with (directory / "teams.csv").open(encoding="utf-8", newline="") as handle:
        rows = {row["kind"]: row for row in csv.DictReader(handle)}
    if missing := sorted(set(KINDS) - rows.keys()):
        raise CatalogError(f"teams.csv: no row for {', '.join(missing)}")
    return {
        kind: TeamTerm(
            kind,
            float(rows[kind]["factor"]),
            float(rows[kind]["deviation"]),
            int(rows[kind]["runs"]),
            headline=kind != "plan_left_open",
        )
        for kind in KINDS
    }


def team_of(
    teams: Teams,
    software: SoftwareProfile,
    table: OperatorTable,
    hardware: GpuSystem | IpuChip,
    plan: PlanInput,
    *,
    benchmark: bool,
) -> TeamTerm | None:
    """Return the term of an asker's team; None where the time of a tuned run stands alone.

    The software of an IPU is its maker's, a benchmark brings a tuned team, and own runs say more.
    """
    if isinstance(hardware, IpuChip) or benchmark or software.calibration is not None:
        return None
    if software.presumed:
        usual = Precision.BF16 in hardware.chip.matrix_peak and software.makers <= USUAL_MAKERS
        return teams["usual_stack" if usual else "other_stack"]
    states = TRAINED_BYTES * table.trained_parameters
    open_plan = plan.recompute is None and plan.sharding is None and plan.tensor is None
    if not software.rests_on_runs and open_plan and states > hardware.chip.memory_capacity:
        return teams["plan_left_open"]
    return None


def expectation_of(team: TeamTerm | None, tuned: Quantity, reported: Quantity | None) -> Expectation:
    if team is None or reported is None:
        return Expectation(headline="tuned", tuned=tuned, reported=None)
    return Expectation(
        headline="reported" if team.headline else "tuned",
        tuned=tuned,
        reported=reported,
        factor=team.factor,
        runs=team.runs,
        text=Text.of(sentence_of(team)),
    )


ALIKE = 1.05
"""Factor up to which ordinary runs take as long as published ones."""


def sentence_of(team: TeamTerm) -> Message:
    if team.headline and team.factor < ALIKE:
        return Message(AS_LONG, {"runs": team.runs})
    return Message(SENTENCES[team.headline], {"times": float(f"{team.factor:.2g}"), "runs": team.runs})


AS_LONG = (
    "as people report: ordinary runs of such stacks take about as long as published ones in the median of "
    "{runs} runs; name your software, or give runs of your own, and the estimate moves to what it reaches"
)
SENTENCES = {
    True: (
        "as people report: ordinary runs of such stacks take {times} times as long as published records in "
        "the median of {runs} runs; name your software, or give runs of your own, and the estimate moves to "
        "what it reaches"
    ),
    False: (
        "as published records of this software: teams that leave the plan open take {times} times as long in "
        "the median of {runs} runs, and the range holds both; state your plan, or give runs of your own"
    ),
}
"""Sentence by whether the headline is what people report."""


def spanning(quantity: Quantity, other: Quantity | None) -> Quantity:
    """Return a quantity whose range also holds the range of another."""
    if other is None:
        return quantity
    low, high = min(quantity.low, other.low), max(quantity.high, other.high)
    return quantity.model_copy(update={"low": low, "high": high})
