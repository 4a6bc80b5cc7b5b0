"""A plan as it is asked for: its values as numbers and names, and what can never be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from app.engine.plans import Recompute, Sharding
from app.engine.search import Space
from app.errors import BadInput, Conflict
from app.sizing.request import PlanInput
from app.sizing.scenario import Scenario

RECOMPUTE = {"none": 0.0, "selective": 1.0, "full": 2.0}
SHARDING = {"none": 0.0, "optimizer": 1.0, "gradients": 2.0, "parameters": 3.0}


def given_fields(plan: PlanInput) -> dict[str, float]:
    """Return the fields of a request's plan as numbers; refuse what can never be right."""
    given: dict[str, float] = {}
    for name in PlanInput.model_fields:
        value = getattr(plan, name)
        if value is not None:
            given[name] = plan_number(name, value)
    return given


def plan_number(name: str, value: object) -> float:
    """Return the number that stands for a value of a plan's field."""
    if name == "recompute":
        return RECOMPUTE[str(value)]
    if name == "sharding":
        return SHARDING[str(value)]
    number = float(value)  # type: ignore[arg-type]
    if not isinstance(value, bool) and not 1 <= number <= MOST:
        raise BadInput.at(f"plan.{name}", "{value} is not between 1 and {most}", value=value, most=MOST)
    return number


MOST = 1_000_000


def recompute_name(value: float) -> str:
    """Return the name of a recompute mode."""
    return Recompute(int(value)).name.lower()


def sharding_name(value: float) -> str:
    """Return the name of a sharding mode."""
    return Sharding(int(value)).name.lower()


IPU_ONLY = {"rts": 1.0, "rts_optimizer": 1.0, "phases": 1.0}
GPU_ONLY = {"interleave": 1.0, "sequence_parallel": 0.0, "sharding": 0.0, "expert": 1.0}
"""Fields of a plan that one kind of hardware has, with the value that changes nothing."""


def check_kind(scenario: Scenario, allowed: Mapping[str, Sequence[float]]) -> None:
    """Refuse fields of a plan that the kind of hardware does not have."""
    other, kind = (GPU_ONLY, "GPU") if scenario.is_ipu else (IPU_ONLY, "IPU")
    for name, neutral in other.items():
        if any(value != neutral for value in allowed.get(name, ())):
            raise BadInput.at(
                f"plan.{name}", "{name} applies to {kind} systems only; leave it out", name=name, kind=kind
            )


def check_devices(scenario: Scenario, given: Mapping[str, float], devices: int) -> None:
    """Refuse degrees that the devices, the layers or the heads can never take."""
    degrees = [given.get(name, 1.0) for name in ("tensor", "pipeline", "data")]
    needed = int(np.prod(degrees))
    if needed > devices:
        raise Conflict.at(
            next(f"plan.{name}" for name in ("data", "pipeline", "tensor") if name in given),
            "{tensor} × {pipeline} × {data} needs {needed} devices; the system has {devices}",
            tensor=int(degrees[0]),
            pipeline=int(degrees[1]),
            data=int(degrees[2]),
            needed=needed,
            devices=devices,
        )
    if given.get("pipeline", 1) > scenario.table.depth:
        raise BadInput.at(
            "plan.pipeline", "{value} stages: the model has {depth} layers to cut between",
            value=int(given["pipeline"]), depth=scenario.table.depth,
        )  # fmt: skip
    heads = int(scenario.table.attention_heads)
    tensor = int(given.get("tensor", 1))
    if tensor > 1 and not heads:
        raise BadInput.at("plan.tensor", "tensor parallelism does not apply to this model; leave it out")
    if tensor > 1 and heads % tensor and not scenario.is_ipu:
        raise BadInput.at(
            "plan.tensor",
            "{tensor} does not divide the {heads} heads of the model",
            tensor=tensor,
            heads=heads,
        )
    if scenario.is_ipu:
        for name in ("tensor", "pipeline", "data"):
            value = int(given.get(name, 1))
            if value & (value - 1):
                raise BadInput.at(
                    f"plan.{name}", "{value} is no power of two; replicas on an IPU-POD are", value=value
                )


def nothing_legal(space: Space) -> BadInput:
    """Return the error of a space without any legal plan."""
    asked = [
        f"{name} {' | '.join(f'{value:g}' for value in values)}" for name, values in space.allowed.items()
    ]
    return BadInput.at(
        "plan",
        "no plan divides {devices} devices and a global batch of {batch} as asked ({given}); leave a field "
        "out, or choose degrees whose product divides the devices and a batch that the replicas divide",
        devices=space.devices,
        batch=space.global_batch,
        given=", ".join(asked) or "-",
    )
