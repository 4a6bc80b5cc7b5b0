"""What one layer, the embedding and the head bring to an IPU."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from app.engine.ipu.activations import Activations, kept_activations
from app.engine.ipu.geometry import forward_products
from app.engine.ipu.keys import distinct_keys
from app.engine.ipu.products import element_bytes, tile_surface, usable_tiles
from app.engine.ipu.shares import by_operator, weight_ways
from app.engine.operators import OperatorTable, Section
from app.engine.plans import Plans
from app.engine.records import Floats, IpuChip, IpuSoftware, Precision


@dataclass(frozen=True, slots=True)
class Loads:
    """What one layer, the embedding and the head bring to an IPU, for every plan."""

    layer_weights: Floats
    """Parameters. [-]"""
    embedding_weights: Floats
    head_weights: Floats
    layer_buffers: Floats
    """Temporaries of the largest product of a layer. [B]"""
    embedding_buffers: Floats
    head_buffers: Floats
    activations: Activations

    def weights(self, layers: Floats, embedding: Floats, head: Floats) -> Floats:
        """Return the parameters of a stage. [-]"""
        return layers * self.layer_weights + embedding * self.embedding_weights + head * self.head_weights


def ipu_capacity(chip: IpuChip, software: IpuSoftware) -> float:
    """Return the SRAM of the tiles that compute.

    Parameters
    ----------
    chip : IpuChip
        The IPU. [-]
    software : IpuSoftware
        The software stack, which may set tiles aside. [-]

    Returns
    -------
    capacity : float
        Bytes that a plan may fill. [B]

    References
    ----------
    .. [1] Graphcore, PopART tests (638,976 bytes a tile).

    Examples
    --------
    >>> from app.engine.ipu.examples import BOW, POPART
    >>> round(ipu_capacity(BOW, POPART) / 1e6, 1)
    940.6
    """
    return usable_tiles(chip, software) * chip.sram_per_tile


def stage_loads(
    table: OperatorTable, plans: Plans, chip: IpuChip, software: IpuSoftware, precision: Precision
) -> Loads:
    """Return what a layer, the embedding and the head bring to an IPU.

    Parameters
    ----------
    table : OperatorTable
        Operators per sample. [-]
    plans : Plans
        How the model is laid over devices. [-]
    chip : IpuChip
        The IPU. [-]
    software : IpuSoftware
        The software stack. [-]
    precision : Precision
        Number format. [-]

    Returns
    -------
    loads : Loads
        Weights as parameters; temporaries and activations of every plan. [B]

    Notes
    -----
    A product's temporaries are both factors and the result of its piece on each tile, up to the
    share of the SRAM that the software allows.

    References
    ----------
    .. [1] Graphcore, "Available memory proportion" technical note, 2021.

    Examples
    --------
    The largest product of BERT-Large at 1,024 tokens needs 122 kB a tile:

    >>> from app.engine.ipu.examples import BOW, POPART
    >>> from app.engine.operators import dense_layer
    >>> table = OperatorTable.of([dense_layer(name="ffn", inputs=1024, outputs=4096)], depth=1,
    ...     hidden=1024, tokens=1)
    >>> loads = stage_loads(table, Plans.of(micro_batch=1024), BOW, POPART, Precision.FP16_16)
    >>> round(float(loads.layer_buffers) / 1472 / 1e3)
    123
    """
    keys = distinct_keys(plans)
    size = element_bytes(precision)
    tiles = usable_tiles(chip, software)
    weights = by_operator(table.weights * table.count, keys.tensor) / weight_ways(table, keys.tensor)
    products = forward_products(table, keys.micro_batch, keys.tensor)
    _, surface = tile_surface(products, tiles, patches=True)
    needed = np.where(products.repeats > 0, surface * size, 0.0).max(axis=0)
    limit = software.available_memory * chip.sram_per_tile
    buffers = np.minimum(needed * tiles, limit * chip.tiles)
    section = by_operator(table.section, keys.tensor)

    def total(values: Floats, where: Section) -> Floats:
        return keys.gather(np.sum(np.where(section == where, values, 0.0), axis=0))

    def largest(where: Section) -> Floats:
        return keys.gather(np.max(np.where(section == where, buffers, 0.0), axis=0, initial=0.0))

    kept = kept_activations(table, keys.micro_batch, keys.tensor, keys.sequence_parallel, size)
    return Loads(
        layer_weights=total(weights, Section.LAYER) / table.depth,
        embedding_weights=total(weights, Section.EMBEDDING),
        head_weights=total(weights, Section.HEAD),
        layer_buffers=largest(Section.LAYER),
        embedding_buffers=largest(Section.EMBEDDING),
        head_buffers=largest(Section.HEAD),
        activations=Activations(
            *(
                keys.gather(part)
                for part in (kept.boundary, kept.layer, kept.checkpoints, kept.live, kept.embedding)
            )
        ),
    )
