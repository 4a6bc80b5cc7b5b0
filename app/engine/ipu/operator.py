"""One operator of a table, as compiled loops read it."""

from __future__ import annotations

from typing import NamedTuple


class IpuOperator(NamedTuple):
    """One operator, per sample."""

    attends: float
    """1 for attention. [-]"""
    convolution: float
    runs: float
    """1 for a product other than attention. [-]"""
    split: float
    rows: float
    inner: float
    columns: float
    batch: float
    area: float
    width: float
    spread: float
    """Input positions per output position of a strided convolution. [-]"""
    keys: float
    """Keys each query meets: the mean product of the two lengths over the queries. [-]"""
    steps: float
    input_gradient: float
    elements: float
    """Elements that its passes go over. [-]"""
    forward_passes: float
    backward_passes: float
    forward_operations: float
    backward_operations: float
    bias: float
    """Elements of its result where a bias is added. [-]"""
    accumulated: float
    """Elements of its weight gradient, added to the accumulator. [-]"""
    results: float
    """Elements that tensor parallelism reduces forward. [-]"""
    sources: float
    """Elements that it reduces backward. [-]"""
    divided: float
    """1 where tensor parallelism divides the weights. [-]"""
    weights: float
    """Of one repeat. [-]"""
    saved: float
    masks: float
    saved_split: float
    section: float
    number: float
    """Times it occurs in the model. [-]"""
    place: float
    """Section, or unit of unlike layers, whose time it is part of. [-]"""
    share: float
    """Times it occurs in one layer, embedding or head, or in one repeat of its unit. [-]"""
    recomputed: float
    """Share of its repeats that one device alone computes again. [-]"""
