"""Weights of the fullest GPU of a plan."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from app.engine.operators import Kind, OperatorTable, Section, Split
from app.engine.plans import Plans
from app.engine.records import Floats, Indices


def rank_weights(table: OperatorTable, plans: Plans, counted: Floats | None = None) -> tuple[Floats, Floats]:
    """Parameters of the fullest device: those of its layers, and those outside the layers.

    Parameters
    ----------
    table : OperatorTable
        The model. [-]
    plans : Plans
        Tensor, pipeline and expert degrees, interleave. [-]
    counted : array or None
        1 for operators whose weights count and 0 for others, (O,); all of them where None. [-]

    Returns
    -------
    weights : tuple of arrays
        Of the layers of one stage, and of the embedding and the head that this stage holds. [-]

    References
    ----------
    .. [1] M. Shoeybi et al., "Megatron-LM," arXiv:1909.08053, 2019, section 3.

    Examples
    --------
    >>> from app.engine.operators import dense_layer
    >>> layer = OperatorTable.of([dense_layer(name="d", inputs=9, outputs=10)], depth=4, hidden=8, tokens=1)
    >>> [float(part) for part in rank_weights(layer, Plans.of(pipeline=2))]
    [50.0, 0.0]
    """
    shape = (-1,) + (1,) * np.broadcast(plans.tensor, plans.expert).ndim
    divided = np.isin(table.split, (Split.COLUMNS, Split.INNER, Split.BATCH)).reshape(shape)
    lookup = (table.kind == Kind.EMBEDDING).reshape(shape)
    routed = (table.active < 1.0).reshape(shape)
    dense = np.where(table.sparse > 0, 0.0, table.weights * table.count)
    dense = dense if counted is None else dense * counted
    weights = dense.reshape(shape) / np.where(divided | lookup, plans.tensor, 1.0)
    weights = weights / np.where(routed, plans.expert, 1.0)
    section = table.section.reshape(shape)
    layers = np.sum(np.where(section == Section.LAYER, weights, 0.0), axis=0)
    first = np.sum(np.where(section == Section.EMBEDDING, weights, 0.0), axis=0)
    last = np.sum(np.where(section == Section.HEAD, weights, 0.0), axis=0)
    outside = np.where(plans.pipeline > 1, np.maximum(first, last), first + last)
    return layers * stage_share(table.depth, plans), outside


def expert_weights(table: OperatorTable, plans: Plans, counted: Floats | None = None) -> Floats:
    """Parameters of the experts on the fullest device.

    Parameters
    ----------
    table : OperatorTable
        The model. [-]
    plans : Plans
        Tensor, pipeline and expert degrees, interleave. [-]
    counted : array or None
        As in :func:`rank_weights`. [-]

    Returns
    -------
    weights : array
        Part of the layers' weights of :func:`rank_weights`; zero without experts. [-]

    References
    ----------
    .. [1] D. Lepikhin et al., "GShard," ICLR, 2021, section 3.

    Examples
    --------
    >>> from app.engine.operators import feed_forward_operators
    >>> block = feed_forward_operators(prefix="", count=1, hidden=8, feed_forward=16, tokens=1, gated=False,
    ...     biases=False, experts=4, experts_per_token=1)
    >>> table = OperatorTable.of(block, depth=1, hidden=8, tokens=1)
    >>> [float(expert_weights(table, Plans.of(data=4, expert=degree))) for degree in (1, 4)]
    [1024.0, 256.0]
    """
    routed = np.where(table.active < 1.0, table.weights * table.count, 0.0)
    routed = routed if counted is None else routed * counted
    divided = np.isin(table.split, (Split.COLUMNS, Split.INNER, Split.BATCH))
    split, whole = float(routed[divided].sum()), float(routed[~divided].sum())
    return np.asarray((split / plans.tensor + whole) / plans.expert * stage_share(table.depth, plans))


@dataclass(frozen=True, slots=True)
class DeviceWeights:
    """Weights of the fullest device, which depend on few of a plan's coordinates (:data:`WEIGHT_KEYS`)."""

    share: Floats
    """Share of the layers on the fullest stage. [-]"""
    layers: Floats
    """Weights of its layers. [-]"""
    outside: Floats
    """Weights of the embedding or the head that it holds. [-]"""
    experts: Floats
    """Those weights of the layers that belong to experts. [-]"""
    sharded: Floats
    """All of them, each divided by the ranks that share its copy. [-]"""
    trained: Floats
    """Those of all weights that training changes: all of them unless some are frozen. [-]"""
    trained_experts: Floats
    """Those that belong to experts. [-]"""
    trained_sharded: Floats
    """Trained weights, each divided by the ranks that share its copy. [-]"""
    quantised: Floats
    """Weights of the layers that are stored in 4 bit. [-]"""
    quantised_experts: Floats
    """Those that belong to experts. [-]"""
    quantised_sharded: Floats
    """Weights in 4 bit, each divided by the ranks that share its copy. [-]"""

    @property
    def total(self) -> Floats:
        """All weights of the device. [-]"""
        return np.asarray(self.layers + self.outside)

    def gather(self, index: Indices) -> DeviceWeights:
        """Return the weights of every plan from those of distinct keys; ``index`` says which is whose."""
        return DeviceWeights(*(getattr(self, entry.name)[..., index] for entry in fields(self)))


WEIGHT_KEYS = ("tensor", "pipeline", "interleave", "data", "sharding_ranks", "expert")
"""Fields of a plan that its weights on a device, and the exchange of their gradients, depend on."""


def device_weights(table: OperatorTable, plans: Plans) -> DeviceWeights:
    """Weights of the fullest device, whole and as ranks share them.

    Parameters
    ----------
    table : OperatorTable
        The model. [-]
    plans : Plans
        Fields of :data:`WEIGHT_KEYS`. [-]

    Returns
    -------
    weights : DeviceWeights
        By where they belong. [-]

    Notes
    -----
    Experts spread over :math:`e` ranks have :math:`e` times fewer copies, which at most as many ranks share.

    References
    ----------
    .. [1] S. Rajbhandari et al., "ZeRO: memory optimizations toward training trillion parameter
       models," SC, 2020, section 5.

    Examples
    --------
    >>> from app.engine.operators import dense_layer
    >>> layer = OperatorTable.of([dense_layer(name="d", inputs=9, outputs=10)], depth=1, hidden=8, tokens=1)
    >>> float(device_weights(layer, Plans.of(data=4)).sharded)
    25.0
    """
    copies = np.minimum(plans.sharding_ranks, plans.data / plans.expert)

    def held(counted: Floats | None) -> tuple[Floats, Floats, Floats, Floats]:
        layers, outside = rank_weights(table, plans, counted)
        experts = expert_weights(table, plans, counted)
        sharded = (layers + outside - experts) / plans.sharding_ranks + experts / copies
        return layers, outside, experts, np.asarray(sharded)

    layers, outside, experts, sharded = held(None)
    of_layers, of_ends, trained_experts, trained_sharded = (
        (layers, outside, experts, sharded) if np.all(table.trained > 0) else held(table.trained)
    )
    none = np.zeros_like(sharded)
    quantised, _, quantised_experts, quantised_sharded = (
        held(table.quantised) if np.any(table.quantised > 0) else (none, none, none, none)
    )
    shape = np.shape(sharded)
    every = (
        *(stage_share(table.depth, plans), layers, outside, experts, sharded),
        *(of_layers + of_ends, trained_experts, trained_sharded),
        *(quantised, quantised_experts, quantised_sharded),
    )
    return DeviceWeights(*(np.broadcast_to(part, shape) for part in every))


def spread_tables(table: OperatorTable, plans: Plans) -> Floats:
    """Parameters of the looked-up tables on one device, spread evenly over all.

    Parameters
    ----------
    table : OperatorTable
        The model. [-]
    plans : Plans
        Plans, whose devices share the tables. [-]

    Returns
    -------
    parameters : array
        Zero for models without such tables. [-]

    References
    ----------
    .. [1] M. Naumov et al., "Deep learning recommendation model," arXiv:1906.00091, 2019, section 4
       (tables model-parallel, the rest data-parallel).

    Examples
    --------
    >>> from app.engine.operators import embedding_bag
    >>> bags = OperatorTable.of(
    ...     [embedding_bag(name="users", entries=1e6, width=128, lookups=1)], depth=1, hidden=8, tokens=1)
    >>> float(spread_tables(bags, Plans.of(data=8)))
    16000000.0
    """
    held = float(np.sum(np.where(table.sparse > 0, table.weights * table.count, 0.0)))
    return np.asarray(held / plans.devices)


def stage_share(depth: int, plans: Plans) -> Floats:
    """Share of the layers that the fullest pipeline stage holds.

    Parameters
    ----------
    depth : int
        Layers of the model. [-]
    plans : Plans
        Pipeline degree and interleave. [-]

    Returns
    -------
    share : array
        1 over the stages where the layers divide evenly, more where they do not. [-]

    References
    ----------
    .. [1] D. Narayanan et al., "Efficient large-scale language model training on GPU clusters using
       Megatron-LM," SC, 2021, section 2.2.

    Examples
    --------
    >>> float(stage_share(24, Plans.of(pipeline=4))), float(stage_share(26, Plans.of(pipeline=4)))
    (0.25, 0.2692307692307692)
    """
    chunks = plans.pipeline * plans.interleave
    return np.asarray(np.ceil(depth / chunks) * plans.interleave / depth)
