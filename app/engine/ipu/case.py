"""The inputs of kernels: figures of a case, plans and operators as flat records of numbers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from app.engine.compiled import inner
from app.engine.ipu.chains import (
    chain_elements,
    handed_on,
    has_unlike_layers,
    head_shares_embedding,
    input_elements,
    model_units,
    recomputed_uncut,
    repeats_layers,
)
from app.engine.ipu.operator import IpuOperator
from app.engine.ipu.vector import (
    CTC_OPERATIONS_PER_FRAME,
    EMBEDDING_UPDATE_SHARE,
    RECURRENT_OPERATIONS_PER_STEP,
    own_counts,
)
from app.engine.operators.table import Kind, OperatorTable, Pointwise, Section, Split
from app.engine.plans import Plan
from app.engine.records import Floats, Indices, IpuChip, IpuSoftware, Precision

STATE_BYTES = {
    "sgd": 0.0,
    "momentum": 2.0,
    "adam": 8.0,
    "lamb": 8.0,
    "adafactor": 4.0,
    "distributed-shampoo": 16.0,
}
"""Optimizer state per parameter beside fp16 weights: momentum in fp16; two moments in fp32 (Kingma
and Ba 2015; You et al. 2020); one fp32 copy with factored moments (Shazeer and Stern 2018); four
matrices of about the weights' size (Anil et al. 2020). [B]"""


class IpuCase(NamedTuple):
    """Figures of chip, software and model that all plans share."""

    chip: IpuChip
    available_memory: float
    sample_bytes: float
    """Input of one sample on its way from the host. [B]"""
    usable: float
    """Tiles that compute. [-]"""
    size: float
    """One element. [B]"""
    state: float
    """Optimizer state per parameter. [B]"""
    depth: float
    hidden: float
    tokens: float
    repeats: float
    """1 for a stack of like layers. [-]"""
    tied: float
    """1 where the head uses the weights of the embedding. [-]"""
    checkpoints: float
    """Elements of all checkpoints of a chain of unlike layers, per sample. [-]"""
    live: float
    """Elements of its largest segment. [-]"""


@inner
def recomputes(plan: Plan) -> bool:
    """Return whether the backward pass recomputes activations, as it always does in phases."""
    return plan.recompute > 0.0 or plan.phases > 1.0


@dataclass(frozen=True, slots=True, eq=False)
class IpuModel:
    """A table of operators, read once for all kernels."""

    operators: Floats
    """:class:`IpuOperator` of each operator, (O, …). [-]"""
    figures: dict[str, float]
    """Fields of :class:`IpuCase` that come from the model."""
    unlike: bool
    """True where stages are cut between blocks that differ."""
    places: int
    """Sections, or units of unlike layers. [-]"""
    chain: Indices
    """Unit of every repeat of one, in order; of unlike layers. [-]"""
    counted: Floats
    """1 for those that count as a layer, else 0. [-]"""
    saved: Floats
    """Elements that each keeps. [-]"""
    entering: Floats
    """Elements that each is handed by the one before. [-]"""
    skipping: Floats
    """Elements of skip connections that pass over a cut before each. [-]"""
    input_elements: float
    """Of one sample, as the host sends it. [-]"""


@lru_cache(maxsize=64)
def model_of(table: OperatorTable) -> IpuModel:
    """Return a table of operators as kernels read it."""
    attends, lookup = table.kind == Kind.ATTENTION, table.kind == Kind.EMBEDDING
    convolution = np.isin(table.kind, (Kind.CONVOLUTION, Kind.DEPTHWISE))
    products = convolution | np.isin(table.kind, (Kind.MATMUL, Kind.RECURRENT))
    plain = table.kind == Kind.MATMUL
    counts = own_counts(table)
    steps = np.where(table.kind == Kind.RECURRENT, RECURRENT_OPERATIONS_PER_STEP * table.steps, 0.0)
    frames = np.where(table.pointwise == Pointwise.CTC_LOSS, CTC_OPERATIONS_PER_FRAME * table.tokens, 0.0)
    matrix, outputs = table.inner * table.columns * table.batch, table.rows * table.columns * table.batch
    biased = products & (table.weights > matrix)
    scattered = np.where(lookup, EMBEDDING_UPDATE_SHARE * table.weights, 0.0)
    unlike = has_unlike_layers(table)
    units = model_units(table)
    if unlike:
        section, share = units.unit.astype(float), table.count / table.block_repeats
    else:
        # One layer is a share of all of them; embedding and head are taken whole.
        section = table.section
        share = table.count / np.where(section == Section.LAYER, table.depth, 1.0)
    checkpoints, live = chain_elements(table)
    columns = {
        **{name: getattr(table, name) for name in IpuOperator._fields if hasattr(table, name)},
        "attends": attends,
        "convolution": convolution,
        "runs": products,
        "rows": np.maximum(table.rows, 1.0),
        "area": np.maximum(table.kernel_area, 1.0),
        "width": table.kernel_width,
        "spread": np.where(table.kernel_area > 1.0, table.stride**2, 1.0),
        "keys": np.maximum(table.squared / np.maximum(table.rows, 1.0), 1.0),
        "elements": np.where(attends, table.batch * table.squared, table.elements),
        "forward_passes": counts.forward_passes,
        "backward_passes": counts.backward_passes,
        "forward_operations": counts.forward_operations + biased + steps + frames,
        "backward_operations": counts.backward_operations + biased + products + steps + frames,
        "bias": biased * outputs * table.steps,
        "accumulated": np.where(products, matrix, scattered),
        "results": np.where((table.split == Split.INNER) & plain | lookup, outputs, 0.0),
        "sources": np.where(
            (table.split == Split.COLUMNS) & plain, table.rows * table.inner * table.batch, 0.0
        ),
        "divided": np.isin(table.split, (Split.COLUMNS, Split.INNER, Split.BATCH)) | lookup,
        "number": table.count,
        "place": section,
        "share": share,
        "recomputed": recomputed_uncut(table),
    }
    saved = np.bincount(units.unit, table.saved * table.count / table.block_repeats)
    chain = np.repeat(np.arange(len(units.repeats)), units.repeats)
    entering, skipping = handed_on(table, units)
    sent = products & (table.input_gradient <= 0.0)
    return IpuModel(
        operators=np.stack([np.asarray(columns[name], dtype=float) for name in IpuOperator._fields], axis=1),
        figures={
            "depth": table.depth,
            "hidden": table.hidden,
            "tokens": table.tokens,
            "repeats": repeats_layers(table),
            "tied": head_shares_embedding(table),
            "checkpoints": checkpoints,
            "live": live,
        },
        unlike=unlike,
        places=len(units.repeats) if unlike else len(Section),
        chain=chain.astype(np.int64),
        counted=units.layers[chain].astype(float),
        saved=np.asarray(saved[chain], dtype=float),
        entering=entering[chain],
        skipping=skipping[chain],
        input_elements=float(np.sum(input_elements(table)[sent])),
    )


def element_bytes(precision: Precision) -> float:
    """Return the bytes of one element; whatever is not full precision runs as fp16.16."""
    return 4.0 if precision in (Precision.FP32, Precision.TF32) else 2.0


def usable_tiles(chip: IpuChip, software: IpuSoftware) -> int:
    """Return the tiles left for computation beside those for input and output."""
    return chip.tiles - software.io_tiles


def ipu_capacity(chip: IpuChip, software: IpuSoftware) -> float:
    """Return the SRAM of the tiles that compute. [B]"""
    return usable_tiles(chip, software) * chip.sram_per_tile


def figures_of(
    model: IpuModel, chip: IpuChip, software: IpuSoftware, precision: Precision, optimizer: str
) -> IpuCase:
    """Return the figures that all plans share."""
    return IpuCase(
        chip=chip,
        **{name: float(figure) for name, figure in model.figures.items()},
        available_memory=software.available_memory,
        sample_bytes=model.input_elements * software.input_bytes,
        usable=float(usable_tiles(chip, software)),
        size=element_bytes(precision),
        state=STATE_BYTES[optimizer],
    )
