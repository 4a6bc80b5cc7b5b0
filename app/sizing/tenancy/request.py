"""What is asked: partitions for teams, and a year of their jobs on shared machines."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from app.sizing.request import Number, Schema, Whole

MOST_REQUESTS = 200
MOST_COUNT = 1024
MOST_TEAMS = 20
MOST_DEVICES = 65_536
SHORTEST = 0.001
"""Shortest duration that is taken for a job and not for a slip of the unit. [h]"""

Team = Annotated[str, Field(min_length=1, max_length=60)]


class TeamRequest(Schema):
    """Devices for one team."""

    team: Team = Field(description="Who asks.", examples=["vision"])
    devices: Whole = Field(
        ge=1, le=MOST_DEVICES, description="Accelerators; with `slice`, instances of that profile."
    )
    slice: str | None = Field(
        None, max_length=40, description="MIG profile, where parts of a GPU will do.", examples=["1g.10gb"]
    )
    spanning: bool | None = Field(
        None,
        description="True for a session over several pods, which an orchestrator must join. Left out, it is "
        "one where a pod is too small and the orchestrator can.",
    )
    pod: Whole | None = Field(
        None,
        ge=0,
        le=MOST_DEVICES,
        description="Pod or node the team already runs on, from 0; with `first_device`.",
    )
    first_device: Whole | None = Field(
        None, ge=0, le=MOST_DEVICES, description="First device it holds there, from 0."
    )


class PartitionRequest(Schema):
    """Teams that are to share a system."""

    system: str = Field(description="Identifier of a system.", examples=["bow-pod64"])
    count: Whole = Field(1, ge=1, le=MOST_COUNT, description="How many of the system.")
    isolation: Literal["none", "strict"] = Field(
        "none", description="Whether teams must be kept apart from each other."
    )
    orchestrator: Literal["none", "gc-docker", "backend.ai"] = Field(
        "none", description="What starts the containers of the teams."
    )
    requests: list[TeamRequest] = Field(
        min_length=1, max_length=MOST_REQUESTS, description="What each team asks for."
    )


class TeamLoad(Schema):
    """Jobs of one team, arriving at random."""

    team: Team = Field(description="Whose jobs.", examples=["vision"])
    jobs_per_month: Number = Field(
        gt=0, le=100_000, description="Jobs that arrive in a month of 30.4375 days on average. [1/month]"
    )
    devices: Whole | None = Field(
        None,
        ge=1,
        le=MOST_DEVICES,
        description="Accelerators of one job; left out, those of the estimate.",
    )
    hours: Number | None = Field(
        None,
        ge=SHORTEST,
        le=8766,
        description="Mean duration; left out, the time to train of the estimate. [h]",
    )
    hours_deviation: Number | None = Field(
        None, ge=SHORTEST, le=87_660, description="Standard deviation of the duration, for “lognormal”. [h]"
    )
    distribution: Literal["exponential", "lognormal", "fixed"] | None = Field(
        None,
        description="Of the duration. Left out: lognormal where a deviation is given, else exponential.",
    )
    estimate_id: str | None = Field(
        None, max_length=60, description="Identifier of an estimate that says how long a job takes."
    )


class QueueRequest(Schema):
    """Teams whose jobs share machines over time."""

    system: str = Field(description="Identifier of a system.", examples=["dgx-a100-640gb"])
    count: Whole = Field(1, ge=1, le=MOST_COUNT, description="How many of the system.")
    teams: list[TeamLoad] = Field(min_length=1, max_length=MOST_TEAMS, description="Who sends which jobs.")
    discipline: Literal["fifo", "backfill", "fair"] = Field(
        "fifo",
        description="Order of the line: as they came; as they came, but short jobs may pass where they delay "
        "nobody in front; the team that has used least first, with passing.",
    )
    failures: bool = Field(
        False, description="Whether failing machines interrupt jobs, at the catalogue's rate."
    )
    days: Number = Field(365, ge=7, le=1830, description="Length of the run that is counted. [day]")
    target_wait_hours: Number = Field(
        24, gt=0, le=8766, description="Wait that nine jobs in ten of every team shall not exceed. [h]"
    )
    seed: Whole = Field(1, ge=0, le=2**31 - 1, description="Start of the random numbers.")
