"""Time and memory of generation on GPUs, from the operators, products and collectives of training.

Arrays have the axes of the batches and of the samples of software.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from app.engine.collectives import IntraLinks, intra_node_allreduce_time
from app.engine.gpu.case import NARROW_BYTES, element_bytes
from app.engine.gpu.plan_steps import gpu_operator_times
from app.engine.gpu.step import exposed_dispatch_time
from app.engine.inference import prompt_operators, token_attention, token_operators, visited_by
from app.engine.operators.table import Kind, OperatorTable, Section, Split
from app.engine.operators.transformer import TransformerShape
from app.engine.plans import Plans
from app.engine.records import Floats, GpuSoftware, GpuSystem, Precision

REDUCTIONS = 2.0
"""All-reduces of a layer between tensor ranks in a forward pass. Narayanan et al. 2021, section 3.2."""


class PassTime(NamedTuple):
    """Time of one forward pass, by part. [s]"""

    gemm: Floats
    attention: Floats
    memory_bound: Floats
    tensor_comm: Floats
    fixed: Floats

    @property
    def total(self) -> Floats:
        """Time of the pass. [s]"""
        return np.asarray(self.gemm + self.attention + self.memory_bound + self.tensor_comm + self.fixed)


def weight_bytes(table: OperatorTable, precision: Precision, tensor: int) -> float:
    r"""Memory of the weights on one of the tensor ranks.

    .. math:: W = \sum_i \frac{w_i e_i}{t_i}

    Parameters
    ----------
    table : OperatorTable
        Operators with :math:`w_i` weights. [-]
    precision : Precision
        Format of the products: those of the layers are stored in it where it has 8 or 4 bit, all others in
        16 bit, :math:`e_i`. [-]
    tensor : int
        Ranks, which divide products and embedding, :math:`t_i`, and repeat norms. [-]

    Returns
    -------
    bytes : float
        On one device; nothing is kept for training. [B]

    References
    ----------
    .. [1] M. Shoeybi et al., "Megatron-LM," arXiv:1909.08053, 2019, section 3.

    Examples
    --------
    ``tests/engine/gpu/test_inference.py`` holds worked values.
    """
    products = (table.kind == Kind.MATMUL) & (table.section == Section.LAYER)
    size = np.where(products, NARROW_BYTES.get(precision, element_bytes(precision)), element_bytes(precision))
    divided = np.isin(table.split, (Split.COLUMNS, Split.INNER, Split.BATCH))
    ranks = np.where(divided | (table.kind == Kind.EMBEDDING), float(tensor), 1.0)
    return float(np.sum(table.weights * table.count * size / ranks))


def working_bytes(table: OperatorTable, precision: Precision, tensor: int) -> float:
    """Memory of input and output of the widest product of one sample, the most that is live at once. [B]

    Nothing is kept for a backward pass.
    """
    split = table.split
    inner = np.where(split == Split.INNER, table.inner / tensor, table.inner)
    columns = np.where(split == Split.COLUMNS, table.columns / tensor, table.columns)
    live = np.where(table.kind == Kind.MATMUL, table.rows * table.batch * (inner + columns), 0.0)
    return float(np.max(live)) * element_bytes(precision)


@dataclass(frozen=True, slots=True)
class Generation:
    """A decoder that generates on the tensor ranks of one machine."""

    shape: TransformerShape
    system: GpuSystem
    precision: Precision
    tensor: int
    cache_size: float
    """Bytes of an element of the key-value cache. [B]"""

    def prompt_time(self, software: GpuSoftware, tokens: float) -> PassTime:
        """Return the time of the forward pass of one prompt alone, an array for each sample of software.

        The host launches one kernel for each operator.
        """
        table = prompt_operators(self.shape, tokens)
        return self._pass(visited_by(table, tokens), software, np.array([1.0]), recorded=False)

    def token_time(self, software: GpuSoftware, batches: Sequence[int], tokens: float) -> PassTime:
        """Return the time of a step that gives every sequence of a batch one more token behind ``context``.

        Weights are read once, the cache of each sequence once, and the kernels of a step are launched as one
        recorded graph. Arrays (B, …) over batches and samples of software.
        """
        table = token_operators(self.shape)
        attention = self._token_attention_time(software, np.asarray(batches, dtype=float), tokens)
        if np.any(table.active < 1.0):
            # Each batch reads experts of its own.
            parts = [
                self._pass(visited_by(table, batch), software, np.array([float(batch)])) for batch in batches
            ]
            times = PassTime(*(np.concatenate(part) for part in zip(*parts, strict=True)))
        else:
            times = self._pass(table, software, np.asarray(batches, dtype=float))
        return times._replace(attention=times.attention + attention)

    def _pass(
        self, table: OperatorTable, software: GpuSoftware, batches: Floats, *, recorded: bool = True
    ) -> PassTime:
        plans = Plans.of(tensor=self.tensor, micro_batch=self._rows(batches, software))
        seconds = gpu_operator_times(table, plans, self.system, software, self.precision).forward
        in_memory = np.isin(table.kind, (Kind.POINTWISE, Kind.EMBEDDING))
        attends = table.kind == Kind.ATTENTION
        gemm, attention, memory = (
            np.sum(seconds[chosen], axis=0) for chosen in (~in_memory & ~attends, attends, in_memory)
        )
        kernels = float(np.sum(table.count))
        launches = kernels * self.system.chip.kernel_overhead
        busy = gemm + attention + memory + launches
        waiting = 0.0 if recorded else exposed_dispatch_time(kernels, software.dispatch_interval, busy)
        messages = element_bytes(self.precision) * table.tokens * table.hidden * batches
        links = IntraLinks.of(self.system.machine)
        reduced = [intra_node_allreduce_time(float(size), float(self.tensor), links) for size in messages]
        exchanged = REDUCTIONS * self.shape.layers * self._rows(np.array(reduced), software)
        parts = (gemm, attention, memory, exchanged, launches + waiting)
        return PassTime(*(np.broadcast_to(part, gemm.shape) for part in parts))

    def _token_attention_time(self, software: GpuSoftware, batches: Floats, tokens: float) -> Floats:
        chip = self.system.chip
        narrow = self.precision in NARROW_BYTES
        peak = chip.matrix_peak[Precision.BF16 if narrow else self.precision] * chip.sustained_clock
        bandwidth = chip.memory_bandwidth * chip.achieved_bandwidth
        rows = self._rows(batches, software)
        return np.asarray(
            sum(
                part.layers
                * np.maximum(
                    rows * part.flop / peak / software.attention_efficiency,
                    rows * part.elements * self.cache_size / bandwidth,
                )
                for part in token_attention(self.shape, tokens, self.tensor)
            )
        )

    def _rows(self, values: Floats, software: GpuSoftware) -> Floats:
        """Return values of batches, shaped to broadcast against samples of software."""
        return values[:, np.newaxis] if np.ndim(software.matrix_efficiency) else values
