"""Time of one micro-batch in the embedding, in one layer and in the head, or in each unlike layer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from app.engine.ipu.activations import recomputed_uncut
from app.engine.ipu.keys import Keys
from app.engine.ipu.products import element_bytes
from app.engine.ipu.shares import by_operator
from app.engine.ipu.update import allreduce_time
from app.engine.ipu.work import CYCLE_PARTS, operator_work
from app.engine.operators import Kind, OperatorTable, Section, Split
from app.engine.plans import Plans
from app.engine.records import Floats, IpuChip, IpuSoftware, Precision

SLOT_PARTS = (*CYCLE_PARTS, "tensor_comm")
"""What one micro-batch spends its time on inside a stage."""


@dataclass(frozen=True, slots=True)
class SectionTimes:
    """Seconds of one micro-batch, arrays (6, S, K): part, section (or block) of the model, key."""

    forward: Floats
    backward: Floats
    again: Floats
    """Forward once more, of what one device alone would recompute."""


def section_times(
    table: OperatorTable,
    keys: Keys,
    chip: IpuChip,
    software: IpuSoftware,
    precision: Precision,
    members: Floats | None = None,
) -> SectionTimes:
    """Return the time of one micro-batch in the embedding, in one layer and in the head.

    Parameters
    ----------
    table : OperatorTable
        Operators per sample. [-]
    keys : Keys
        Distinct micro-batches and tensor degrees. [-]
    chip : IpuChip
        The IPU. [-]
    software : IpuSoftware
        The software stack; its factors are applied by the caller. [-]
    precision : Precision
        Number format. [-]
    members : ndarray, optional
        Times each operator occurs in each block, (S, O), for the time of blocks instead. [-]

    Returns
    -------
    times : SectionTimes
        By part, section and key. [s]

    Notes
    -----
    Tensor parallelism reduces the output of each product divided by its inner dimension forward,
    and the input gradient of each product divided by columns backward; embedding rows found on
    other devices arrive by one more reduction. Nothing hides them.

    References
    ----------
    .. [1] M. Shoeybi et al., "Megatron-LM," arXiv:1909.08053, 2019, section 3.

    Examples
    --------
    >>> from app.engine.ipu.examples import BOW, POPART
    >>> from app.engine.operators import dense_layer
    >>> table = OperatorTable.of([dense_layer(name="a", inputs=1024, outputs=1024)], depth=1, hidden=1024,
    ...     tokens=1)
    >>> from app.engine.ipu.keys import distinct_keys
    >>> keys = distinct_keys(Plans.of(micro_batch=1024))
    >>> times = section_times(table, keys, BOW, POPART, Precision.FP16_16)
    >>> times.forward.shape, round(float(times.forward.sum()) * 1e6, 1)
    ((6, 3, 1), 22.3)
    """
    micro_batch, tensor = keys.micro_batch, keys.tensor
    work = operator_work(
        table, micro_batch, tensor, keys.sequence_parallel, chip, software, precision=precision
    )
    size = element_bytes(precision)
    inner = by_operator((table.split == Split.INNER) & (table.kind == Kind.MATMUL), tensor) > 0
    columns = by_operator((table.split == Split.COLUMNS) & (table.kind == Kind.MATMUL), tensor) > 0
    lookup = by_operator(table.kind == Kind.EMBEDDING, tensor) > 0
    results = by_operator(table.rows * table.columns * table.batch, tensor)
    sources = by_operator(table.rows * table.inner * table.batch, tensor)

    # Ranks of more than one rack wait for the GW-Links between them.
    bandwidth = np.where(tensor > chip.pod_size, chip.gateway_bandwidth, chip.allreduce_bandwidth)

    def reduced(elements: Floats) -> Floats:
        return allreduce_time(size * micro_batch * elements, tensor, bandwidth)

    forward_links = reduced(np.where(inner | lookup, results, 0.0))
    backward_links = reduced(np.where(columns, sources, 0.0))
    if members is None:
        # One layer is a share of all of them; embedding and head are taken whole.
        count = table.count / np.where(table.section == Section.LAYER, table.depth, 1.0)
        members = np.stack([(table.section == section) * count for section in Section])

    def by_section(cycles: Floats, links: Floats, counted: Floats) -> Floats:
        seconds = np.concatenate([cycles / chip.clock, links[None]])
        return np.asarray(np.einsum("so,pok->psk", counted, seconds))

    return SectionTimes(
        forward=by_section(work.forward, forward_links, members),
        backward=by_section(work.backward, backward_links, members),
        again=by_section(work.forward, forward_links, members * recomputed_uncut(table)),
    )


def end_layers(times: SectionTimes, keys: Keys, plans: Plans) -> tuple[Floats, Floats]:
    """Return how many layers' time the embedding and the head take.

    Parameters
    ----------
    times : SectionTimes
        Time of embedding, layer and head by key. [s]
    keys : Keys
        Key of each plan. [-]
    plans : Plans
        How the model is laid over devices. [-]

    Returns
    -------
    ends : tuple of ndarray
        Embedding and head, each over one layer, forward and backward; the head recomputes
        nothing, since its backward pass follows at once. [-]

    References
    ----------
    .. [1] D. Narayanan et al., "PipeDream," SOSP, 2019, section 3.1 (stages of equal time).

    Examples
    --------
    >>> times = SectionTimes(np.ones((6, 3, 1)), 2 * np.ones((6, 3, 1)), np.zeros((6, 3, 1)))
    >>> from app.engine.ipu.keys import distinct_keys
    >>> [part.tolist() for part in end_layers(times, distinct_keys(Plans.of()), Plans.of())]
    [1.0, 1.0]
    """
    forward, backward = (keys.gather(part.sum(axis=0)) for part in (times.forward, times.backward))
    again = np.where((plans.recompute > 0) | (plans.phases > 1), forward, 0.0)
    again[Section.HEAD] = 0.0
    seconds = forward + again + backward
    layer = np.maximum(seconds[Section.LAYER], np.finfo(float).tiny)
    # A model without layers has one stage; the ratio then decides nothing but stays finite.
    longest = 1e6
    embedding, head = (
        np.minimum(seconds[section] / layer, longest) for section in (Section.EMBEDDING, Section.HEAD)
    )
    return embedding, head
