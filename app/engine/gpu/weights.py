"""Weights of the fullest GPU of a plan.

They and the exchange of their gradients follow from its tensor ranks, stages, copies, experts' ranks and the
copies that share one; the chunks of a stage are equal and change neither.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from app.compiled import formula, inner
from app.engine.gpu.case import Case, Plan

ALL, TRAINED, QUANTISED = 0, 1, 2


class Weights(NamedTuple):
    """Weights of the fullest device."""

    share: float
    """Share of the layers on the fullest stage. [-]"""
    layers: float
    """Weights of its layers. [-]"""
    outside: float
    """Weights of the embedding or the head that it holds. [-]"""
    experts: float
    """Those weights of the layers that belong to experts. [-]"""
    sharded: float
    """All of them, each divided by the ranks that share its copy. [-]"""
    trained: float
    """Those of all weights that training changes: all of them unless some are frozen. [-]"""
    trained_experts: float
    trained_sharded: float
    quantised: float
    """Weights of the layers that are stored in 4 bit. [-]"""
    quantised_experts: float
    quantised_sharded: float


@formula
def stage_share(depth: float, pipeline: float, interleave: float) -> float:
    """Share of the layers that the fullest pipeline stage holds (Narayanan et al. 2021, section 2.2).

    >>> stage_share(24, 4, 1), stage_share(26, 4, 1)
    (0.25, 0.2692307692307692)
    """
    return math.ceil(depth / (pipeline * interleave)) * interleave / depth


@inner
def _section(case: Case, counted: int, section: int, tensor: float, expert: float) -> float:
    """Return the weights of a section on one tensor rank."""
    first = 4 * section
    sums = case.weights
    own = sums[counted, first] + sums[counted, first + 1] / tensor
    return own + (sums[counted, first + 2] + sums[counted, first + 3] / tensor) / expert


@inner
def rank_weights(case: Case, plan: Plan, counted: int) -> tuple[float, float, float, float]:
    """Return the weights of a stage's layers, of its ends, of its experts, and all as they are shared.

    Experts spread over ranks have as many times fewer copies, which at most as many ranks share (Rajbhandari
    et al. 2020, section 5; Lepikhin et al. 2021, section 3).
    """
    share = stage_share(case.depth, plan.pipeline, plan.interleave)
    layers = _section(case, counted, 1, plan.tensor, plan.expert) * share
    first = _section(case, counted, 0, plan.tensor, plan.expert)
    last = _section(case, counted, 2, plan.tensor, plan.expert)
    outside = max(first, last) if plan.pipeline > 1.0 else first + last
    split, whole = case.weights[counted, 12], case.weights[counted, 13]
    experts = (split / plan.tensor + whole) / plan.expert * share
    copies = min(plan.sharding_ranks, plan.data / plan.expert)
    return layers, outside, experts, (layers + outside - experts) / plan.sharding_ranks + experts / copies


@inner
def device_weights(case: Case, plan: Plan) -> Weights:
    """Return the weights of the fullest device, whole and as ranks share them."""
    layers, outside, experts, sharded = rank_weights(case, plan, ALL)
    of_layers, of_ends, trained_experts, trained_sharded = rank_weights(case, plan, TRAINED)
    quantised, _, quantised_experts, quantised_sharded = rank_weights(case, plan, QUANTISED)
    return Weights(
        stage_share(case.depth, plan.pipeline, plan.interleave),
        layers,
        outside,
        experts,
        sharded,
        of_layers + of_ends,
        trained_experts,
        trained_sharded,
        quantised,
        quantised_experts,
        quantised_sharded,
    )
