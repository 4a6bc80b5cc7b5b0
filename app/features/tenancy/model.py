"""What is answered: who gets which devices, and why."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from app.estimating.documents import CheckWarning
from app.estimating.naming import SystemName
from app.estimating.request import NamedSystem, Number, Schema, Whole
from app.estimating.schema import Document, Quantity, SourceRef

MOST_REQUESTS = 200
MOST_COUNT = 1024
MOST_TEAMS = 20
MOST_DEVICES = 65_536
SHORTEST = 0.001
"""Shortest duration that is taken for a job and not for a slip of the unit. [h]"""

Team = Annotated[str, Field(min_length=1, max_length=60)]


class TeamRequest(Schema):
    """Devices requested by one team."""

    team: Team = Field(description="Name of the team.", examples=["vision"])
    devices: Whole = Field(ge=1, le=MOST_DEVICES)
    """Number of accelerators; with `slice`, number of instances of that profile."""
    slice: str | None = Field(None, max_length=40, examples=["1g.10gb"])
    """MIG profile, if part of a GPU is enough."""
    spanning: bool | None = None
    """True for a session that spans several pods, which an orchestrator must join. If omitted, the session
    spans pods if one pod is too small and the orchestrator supports it.
    """
    pod: Whole | None = Field(None, ge=0, le=MOST_DEVICES)
    """Pod or node on which the team already runs, from 0; requires `first_device`."""
    first_device: Whole | None = Field(None, ge=0, le=MOST_DEVICES)
    """First device that the team holds there, from 0."""


class PartitionRequest(NamedSystem):
    """Teams that share a system."""

    system: SystemName = Field(description="Identifier of a system.", examples=["bow-pod64"])
    count: Whole = Field(1, ge=1, le=MOST_COUNT, description="Number of systems.")
    isolation: Literal["none", "strict"] = "none"
    """Whether teams must be isolated from each other."""
    orchestrator: Literal["none", "gc-docker", "backend.ai"] = "none"
    """Orchestrator of the teams' containers."""
    requests: list[TeamRequest] = Field(min_length=1, max_length=MOST_REQUESTS)
    """Devices requested by each team."""


class TeamLoad(Schema):
    """Jobs of one team, with random arrivals."""

    team: Team = Field(description="Name of the team.", examples=["vision"])
    jobs_per_month: Number = Field(ge=0.001, le=100_000)
    """Mean number of jobs that arrive per month of 30.4375 days. [1/month]"""
    devices: Whole | None = Field(None, ge=1, le=MOST_DEVICES)
    """Number of accelerators per job; if omitted, that of the estimate."""
    hours: Number | None = Field(
        None,
        ge=SHORTEST,
        le=8766,
        description="Mean duration; if omitted, the time to train of the estimate. [h]",
    )
    hours_deviation: Number | None = Field(
        None, ge=SHORTEST, le=87_660, description="Standard deviation of the duration, for “lognormal”. [h]"
    )
    distribution: Literal["exponential", "lognormal", "fixed"] | None = None
    """Distribution of the duration. If omitted, lognormal if a deviation is given, otherwise exponential."""
    estimate_id: str | None = Field(None, max_length=60)
    """Identifier of an estimate that gives the duration of a job."""


class QueueRequest(NamedSystem):
    """Teams whose jobs share machines over time."""

    system: SystemName = Field(description="Identifier of a system.", examples=["dgx-a100-640gb"])
    count: Whole = Field(1, ge=1, le=MOST_COUNT, description="Number of systems.")
    teams: list[TeamLoad] = Field(min_length=1, max_length=MOST_TEAMS)
    """Teams and the jobs they submit."""
    discipline: Literal["fifo", "backfill", "fair"] = "fifo"
    """Queueing discipline: fifo, in order of arrival; backfill, in order of arrival, but short jobs can
    overtake if they delay no job ahead of them; fair, the team with the least usage first, with backfill.
    """
    failures: bool = False
    """Whether machine failures interrupt jobs, at the catalogue's rate."""
    days: Number = Field(365, ge=7, le=1830, description="Length of the run, excluding warm-up. [day]")
    target_wait_hours: Number = Field(
        24, gt=0, le=8766, description="Target for the P90 wait of every team. [h]"
    )
    seed: Whole = Field(1, ge=0, le=2**31 - 1, description="Seed of the random number generator.")


class TeamPlacement(Document):
    """Devices of one team on one pod or node."""

    request: int = Field(description="Position of the request, from 0.")
    team: str = Field(description="Name of the team.")
    devices: int = Field(description="Number of accelerators; one for an instance of a GPU.")
    pod: int = Field(description="Pod or node, from 0.")
    first_device: int = Field(description="First device on the pod or node, from 0.")
    partition: str = Field(description="Name of the partition, unique in the plan.")
    part: int = Field(description="Number of this part within the request, from 1.")
    parts: int = Field(description="Number of parts of the request.")
    slice: str | None = Field(description="MIG profile; null for whole accelerators.")
    first_slice: int | None
    """First memory slice of the instance; null for whole accelerators."""
    memory_slices: int | None
    """Number of memory slices of the instance; null for whole accelerators."""


class FreeBlock(Document):
    """A contiguous block of free devices."""

    pod: int = Field(description="Pod or node, from 0.")
    first_device: int = Field(description="First device of the block, from 0.")
    devices: int = Field(description="Number of devices; on a pod, a power of two.")


class SliceRoom(Document):
    """Room for more instances on GPUs that are already split into slices."""

    slice: str = Field(description="MIG profile.")
    more: int = Field(description="Number of instances of this profile alone that still fit on those GPUs.")


class OtherClaim(Document):
    """A published value that was rejected."""

    value: float = Field(description="Value, in the unit as stated.")
    unit: str = Field(description="Unit as stated.")
    source: SourceRef = Field(description="Source of the value.")
    reason: str = Field(description="Reason for the rejection.")


class PlanFigure(Document):
    """A figure of the system, with its source."""

    name: str = Field(description="Identifier of the figure.")
    quantity: Quantity = Field(description="Value.")
    source: SourceRef = Field(description="Source of the figure.")
    url: str = Field(description="URL of the catalogue page of the figure.")
    rejected: list[OtherClaim] = Field(description="Competing claims.")


class PlanRule(Document):
    """A rule that the plan follows, or on which a warning is based."""

    id: str = Field(description="Identifier of the claim in the catalogue.")
    code: str = Field(description="Code of the warning based on the rule; empty for a rule of the plan.")
    statement: str = Field(description="Statement of the source.")
    verdict: str = Field(description="Our assessment of the statement.")
    source: SourceRef = Field(description="Source of the statement.")


class PartitionPlan(Document):
    """Allocation of the devices of a system to teams."""

    system: str = Field(description="Identifier of the system.")
    name: str = Field(description="Name of the system.")
    count: int = Field(description="Number of systems.")
    isolation: str = Field(description="Whether teams are isolated from each other.")
    orchestrator: str = Field(description="Container orchestrator.")
    devices: int = Field(description="Total number of accelerators.")
    pods: int = Field(description="Number of pods or nodes that contain partitions.")
    devices_per_pod: int = Field(description="Number of accelerators per pod or node.")
    devices_per_machine: int = Field(description="Number of accelerators per machine.")
    ipus: bool = Field(description="True for pods of IPUs, false for nodes of GPUs.")
    allocated: int = Field(description="Number of accelerators allocated to teams.")
    free: int = Field(description="Number of accelerators not allocated.")
    largest_free: int = Field(description="Size of the largest single request that still fits.")
    fragmentation: float = Field(description="Fragmentation: 1 − largest_free / free; 0 if nothing is free.")
    utilisation: float = Field(description="Share of accelerators allocated to teams.")
    placements: list[TeamPlacement] = Field(description="Placements, in the order of the requests.")
    free_blocks: list[FreeBlock] = Field(description="Free blocks of devices, by pod.")
    slice_room: list[SliceRoom]
    """Remaining room on GPUs that are split into slices; empty if there are none."""
    figures: list[PlanFigure] = Field(description="Figures of the system that the plan uses.")
    rules: list[PlanRule] = Field(description="Rules behind the plan and its warnings.")
    warnings: list[CheckWarning] = Field(description="Warnings.")


class TeamWait(Document):
    """Waiting times of one team over the run."""

    team: str = Field(description="Name of the team.")
    devices: int = Field(description="Number of accelerators per job.")
    hours: float = Field(description="Mean duration of a job, as requested. [h]")
    distribution: str = Field(description="Distribution of the duration.")
    jobs: Quantity = Field(description="Number of jobs that arrived in a run.")
    finished: Quantity = Field(description="Number of those jobs that finished before the run ended.")
    mean_wait: Quantity = Field(description="Mean wait.")
    median_wait: Quantity = Field(description="Median wait.")
    ninetieth_wait: Quantity = Field(description="P90 wait.")
    longest_wait: Quantity = Field(description="Longest wait in a run.")
    at_once: Quantity = Field(description="Share of jobs that start without waiting.")
    meets: bool = Field(description="Whether the P90 wait meets the target.")


class LinePoint(Document):
    """The queue at one point in time."""

    day: float = Field(description="Time since the start. [day]")
    jobs: Quantity = Field(description="Number of waiting jobs, averaged over the interval.")
    busy: Quantity = Field(description="Share of accelerators in use, averaged over the interval.")


class CountPoint(Document):
    """Waiting times at another number of systems."""

    count: int = Field(description="Number of systems.")
    devices: int = Field(description="Total number of accelerators.")
    worst_wait: Quantity = Field(description="P90 wait of the team with the longest P90 wait.")
    worst_team: str = Field(description="Team with the longest P90 wait.")
    mean_wait: Quantity = Field(description="Mean wait over all jobs.")
    utilisation: Quantity = Field(description="Share of accelerators in use.")
    meets: bool = Field(description="Whether every team meets the target.")


class ClosedForm(Document):
    """Result of Erlang's formula, if jobs are similar enough for it to apply."""

    servers: int = Field(description="Number of jobs that run in parallel.")
    offered_load: float
    """Offered load: how many parallel jobs the workload keeps running on average."""
    waiting_probability: float = Field(description="Probability that a job waits.")
    mean_wait: float = Field(description="Mean wait. [s]")
    ninetieth_wait: float = Field(description="P90 wait. [s]")


class QueueAnswer(Document):
    """Simulated queue of teams that share machines."""

    system: str = Field(description="Identifier of the system.")
    name: str = Field(description="Name of the system.")
    count: int = Field(description="Number of systems.")
    devices: int = Field(description="Total number of accelerators.")
    discipline: str = Field(description="Queueing discipline.")
    days: float = Field(description="Length of each run. [day]")
    warm_up_days: float
    """Warm-up period before each run, simulated but not counted. [day]"""
    runs: int = Field(description="Number of simulated runs, each with different arrivals.")
    batches: int = Field(description="Number of batches of these runs from which the ranges are computed.")
    seed: int = Field(description="Seed of the random number generator.")
    failures_per_1000_node_days: float | None
    """Rate at which machine failures interrupt jobs; null if failures are not simulated."""
    offered_load: float
    """Offered load: mean number of accelerators that the workload occupies, including those held but not
    used.
    """
    utilisation: Quantity = Field(description="Share of accelerators in use.")
    mean_line: Quantity = Field(description="Mean number of waiting jobs over time.")
    target_wait: float = Field(description="Target for the P90 wait. [s]")
    meets: bool = Field(description="Whether every team meets the target.")
    teams: list[TeamWait] = Field(description="Waiting times of each team.")
    line: list[LinePoint] = Field(description="Queue over time.")
    machines_needed: int | None = Field(
        description="Smallest number of systems with which every team meets the target; null "
        "if none of the numbers tried is enough."
    )
    most_searched: int = Field(description="Largest number of systems tried.")
    by_count: list[CountPoint]
    """Waiting times at other numbers of systems, in ascending order."""
    closed_form: ClosedForm | None = Field(
        description="Result of Erlang's formula for comparison, if all jobs have the same "
        "size, exponential durations and run in order of arrival."
    )
    warnings: list[CheckWarning] = Field(description="Warnings.")
