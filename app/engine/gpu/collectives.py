"""Collectives of a step on GPUs, and the weights they carry."""

from __future__ import annotations

import math
from typing import NamedTuple

from app.engine.collectives import IntraLinks, Network, collective_time
from app.engine.compiled import formula, inner, record
from app.engine.gpu.case import ALL, QUANTISED, TRAINED, Case, SectionSums, WeightSums
from app.engine.pipeline import fullest_stage, relieved_layers
from app.engine.plans import Plan


class Weights(NamedTuple):
    share: float
    """Share of the layers on the fullest stage. [-]"""
    stage_layers: float
    """Layers of that stage. [-]"""
    relieved: float
    """Layers that the last stage holds fewer. [-]"""
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
def stage_share(depth: float, pipeline: float) -> float:
    """Share of the layers that the fullest pipeline stage holds (Narayanan et al. 2021, section 2.2).

    >>> stage_share(24, 4), stage_share(26, 4)
    (0.25, 0.2692307692307692)
    """
    return fullest_stage(depth, pipeline) / depth


@inner
def _section(sums: SectionSums, tensor: float, expert: float) -> float:
    """Return the weights of a section on one tensor rank."""
    return sums.whole + sums.split / tensor + (sums.whole_experts + sums.split_experts / tensor) / expert


class RankWeights(NamedTuple):
    """Weights on one rank of the fullest stage, of all, of trained or of 4-bit ones. [-]"""

    layers: float
    outside: float
    """Of the embedding or the head."""
    experts: float
    """Those of the layers that belong to experts."""
    sharded: float
    """All of them, each divided by the ranks that share its copy."""


@inner
def rank_weights(case: Case, plan: Plan, counted: int) -> RankWeights:
    """Return the weights on one rank of a row of :class:`WeightSums`.

    Experts spread over ranks have as many times fewer copies, which at most as many ranks share (Rajbhandari
    et al. 2020, section 5; Lepikhin et al. 2021, section 3).
    """
    sums = record(WeightSums, case.weights, counted)
    share = stage_share(case.depth, plan.pipeline)
    layers = _section(sums.layers, plan.tensor, plan.expert) * share
    first = _section(sums.embedding, plan.tensor, plan.expert)
    last = _section(sums.head, plan.tensor, plan.expert)
    outside = first + last
    if plan.pipeline > 1.0:
        # First and last stage hold a layer fewer where layers do not divide.
        layer = layers / (case.depth * share)
        fewer = relieved_layers(case.depth, plan.pipeline)
        missing = plan.pipeline * share * case.depth - case.depth
        outside = max(first - (missing - fewer) * layer, last - fewer * layer, 0.0)
    experts = (sums.split_experts / plan.tensor + sums.whole_experts) / plan.expert * share
    shards = min(plan.sharding_ranks, plan.data / plan.expert)
    sharded = (layers + outside - experts) / plan.sharding_ranks + experts / shards
    return RankWeights(layers=layers, outside=outside, experts=experts, sharded=sharded)


@inner
def device_weights(case: Case, plan: Plan) -> Weights:
    """Return the weights of the fullest device, whole and sharded."""
    every = rank_weights(case, plan, ALL)
    trained = rank_weights(case, plan, TRAINED)
    quantised = rank_weights(case, plan, QUANTISED)
    return Weights(
        share=stage_share(case.depth, plan.pipeline),
        stage_layers=fullest_stage(case.depth, plan.pipeline),
        relieved=relieved_layers(case.depth, plan.pipeline),
        layers=every.layers,
        outside=every.outside,
        experts=every.experts,
        sharded=every.sharded,
        trained=trained.layers + trained.outside,
        trained_experts=trained.experts,
        trained_sharded=trained.sharded,
        quantised=quantised.layers,
        quantised_experts=quantised.experts,
        quantised_sharded=quantised.sharded,
    )


class GradientCollectives(NamedTuple):
    """Collectives over the data-parallel group of the fullest device, nothing hidden."""

    reduced: float
    """All-reduce of all gradients, in buckets. [s]"""
    scattered: float
    """Reduce-scatter of all gradients; an all-reduce where several groups each hold a copy. [s]"""
    scattered_once: float
    """Reduce-scatter of the gradients of one micro-batch inside a group. [s]"""
    gathered: float
    """All-gather of the weights. [s]"""
    streamed: float
    """Weights gathered layer by layer twice, gradients scattered, for one micro-batch. [s]"""
    between: float
    """All-reduce between groups that each hold a copy of what they share. [s]"""


class MessageGroup(NamedTuple):
    """Weights copied over the same ranks, and the messages these exchange."""

    gradients: float
    """Gradients of one device. [B]"""
    copied: float
    """Trained weights of one device, as they are gathered after an update. [B]"""
    stored: float
    """All weights of one device, as they are gathered where each rank holds its share of them. [B]"""
    buckets: float
    """Messages into which an all-reduce of the gradients is cut. [-]"""
    ranks: float
    """Ranks that hold a copy. [-]"""
    shards: float
    """Ranks that share one copy where it is sharded. [-]"""
    inside: float
    """Ranks of the group in one machine. [-]"""


@inner
def message_group(case: Case, plan: Plan, weights: Weights, of_experts: bool) -> MessageGroup:
    """Return the messages of the weights that every rank copies, or of experts spread over ranks.

    Experts spread over ranks have as many times fewer copies (Rajbhandari et al. 2022, section 5);
    experts that every rank holds travel with the others. Buckets: Li et al. 2020.
    """
    spread = plan.expert > 1.0
    local = max(case.links.devices // plan.tensor, 1.0)
    whole, trained, quantised = weights.experts, weights.trained_experts, weights.quantised_experts
    ranks, shards, inside = plan.data, plan.sharding_ranks, local
    if of_experts:
        ranks = plan.data / plan.expert
        shards, inside = min(plan.sharding_ranks, ranks), max(local // plan.expert, 1.0)
    else:
        whole = weights.layers + weights.outside - (whole if spread else 0.0)
        trained = weights.trained - (trained if spread else 0.0)
        quantised = weights.quantised - (quantised if spread else 0.0)
    gradients = trained * max(case.size, case.sent_gradient_bytes)
    buckets = min(max(math.ceil(gradients / case.kernels.bucket_bytes), 1.0), case.kernels.most_buckets)
    stored = (whole - quantised) * case.size + quantised * case.quantised_size
    return MessageGroup(
        gradients=gradients,
        copied=trained * case.size,
        stored=stored,
        buckets=buckets,
        ranks=ranks,
        shards=shards,
        inside=inside,
    )


@inner
def gradient_collectives(case: Case, plan: Plan, weights: Weights, network: Network) -> GradientCollectives:
    """Time of the collectives that keep the copies of a device's weights equal (Rajbhandari et al. 2020)."""
    layers = max(case.depth, 1.0) * weights.share
    collectives = _group_collectives(message_group(case, plan, weights, False), layers, case.links, network)
    if plan.expert == 1.0 or weights.experts == 0.0:
        return collectives
    more = _group_collectives(message_group(case, plan, weights, True), layers, case.links, network)
    return GradientCollectives(
        reduced=collectives.reduced + more.reduced,
        scattered=collectives.scattered + more.scattered,
        scattered_once=collectives.scattered_once + more.scattered_once,
        gathered=collectives.gathered + more.gathered,
        streamed=collectives.streamed + more.streamed,
        between=collectives.between + more.between,
    )


@inner
def _group_collectives(
    group: MessageGroup, layers: float, links: IntraLinks, network: Network
) -> GradientCollectives:
    gradients, ranks, shards, inside = group.gradients, group.ranks, group.shards, group.inside
    of_layer = collective_time(group.stored / layers, shards, inside, links, network, 1.0)
    if gradients == 0.0:
        return GradientCollectives(
            reduced=0.0,
            scattered=0.0,
            scattered_once=0.0,
            gathered=0.0,
            streamed=layers * 2.0 * of_layer,
            between=0.0,
        )
    bucket = collective_time(gradients / group.buckets, ranks, inside, links, network, 2.0)
    once = collective_time(gradients, shards, inside, links, network, 1.0)
    scattered = collective_time(gradients, ranks, inside, links, network, 2.0) if shards < ranks else once
    gathered = collective_time(group.copied, shards, inside, links, network, 1.0)
    layer_gradients = collective_time(gradients / layers, shards, inside, links, network, 1.0)
    between = collective_time(gradients / shards, ranks / shards, 1.0, links, network, 2.0)
    return GradientCollectives(
        reduced=group.buckets * bucket,
        scattered=scattered,
        scattered_once=once,
        gathered=gathered,
        streamed=layers * (2.0 * of_layer + layer_gradients),
        between=between,
    )
