"""The work of one micro-batch on one tensor rank, over the whole model.

It depends on few of a plan's coordinates: tensor ranks, micro-batch, experts' ranks, recomputation and
whether tokens are split, and its operators on the first three alone. A search over many thousand plans has a
few hundred combinations of them, so it is computed once for each.
"""

from __future__ import annotations

from typing import NamedTuple

from app.engine.collectives import (
    all_to_all_time,
    collective_time,
    distinct_share,
    intra_node_allreduce_time,
    ring_pass_time,
)
from app.engine.compiled import Matrix, inner, record
from app.engine.gpu.case import COUNTS, ELEMENTS, STATISTICS, Case, GpuOperator, MicroBatch, SoftwareStack
from app.engine.gpu.operators import ATTENTION, EMBEDDING, POINTWISE, OperatorCost, operator_time
from app.engine.operators.table import Section, Split
from app.engine.plans import MODULES, Recompute

EXCHANGES_OF_EXPERTS = 2.0
"""Tokens travel to their experts and back."""
SELECTIVE, FULL = float(Recompute.SELECTIVE), float(Recompute.FULL)
LAYER, HEAD = float(Section.LAYER), float(Section.HEAD)
SEQUENCE = float(Split.SEQUENCE)


class Work(NamedTuple):
    """Forward and backward of one micro-batch on one tensor rank, repeated forward passes included."""

    layers_gemm: float
    """Matrix products of all layers. [s]"""
    layers_attention: float
    layers_memory: float
    embedding_gemm: float
    """The same of what precedes the layers. [s]"""
    embedding_attention: float
    embedding_memory: float
    head_gemm: float
    """The same of what follows them. [s]"""
    head_attention: float
    head_memory: float
    kernels: float
    """Kernels that are launched. [-]"""
    tensor_comm: float
    """What tensor ranks exchange in all layers. [s]"""
    expert_comm: float
    """What experts that are spread over ranks exchange in all layers. [s]"""
    context_comm: float
    """What ranks of a context exchange in all layers and attention does not hide. [s]"""
    sample_comm: float
    """What the parts of a sample exchange. [s]"""


@inner
def full_share(recompute: float) -> float:
    """Return the share of layers that are fully recomputed.

    >>> full_share(0.0), full_share(1.0), full_share(1.25), full_share(2.0)
    (0.0, 0.0, 0.25, 1.0)
    """
    return max(recompute - SELECTIVE, 0.0)


@inner
def repeated(case: Case, row: GpuOperator, recompute: float) -> float:
    """Return the share of a forward pass that runs again for the backward pass (Korthikanti et al. 2023)."""
    share = full_share(recompute) if row.section == LAYER else 0.0
    if recompute == MODULES and row.section == LAYER and row.kind == POINTWISE:
        return 1.0
    if recompute >= SELECTIVE and row.kind == ATTENTION and case.fused_attention == 0.0:
        return 1.0
    return share


@inner
def passes_of(recompute: float) -> float:
    """Return the passes of a micro-batch through a layer, each with its exchange, repeated ones included."""
    return 2.0 + full_share(recompute)


@inner
def micro_batch_work(case: Case, stack: SoftwareStack, micro: MicroBatch, costs: Matrix) -> Work:
    """Return the work of one micro-batch over the whole model, from the costs of its operators."""
    layers_gemm, layers_attention, layers_memory = 0.0, 0.0, 0.0
    embedding_gemm, embedding_attention, embedding_memory = 0.0, 0.0, 0.0
    head_gemm, head_attention, head_memory = 0.0, 0.0, 0.0
    for index in range(case.operators.shape[0]):
        row = record(GpuOperator, case.operators, index)
        forward, backward = operator_time(case, stack, row, record(OperatorCost, costs, index))
        seconds = forward + backward
        seconds += forward * (repeated(case, row, micro.recompute) + case.frozen_models)
        seconds *= row.repeats
        if micro.sequence_parallel > 0.0 and row.split == SEQUENCE:
            seconds /= micro.tensor
        in_memory = row.kind in (POINTWISE, EMBEDDING)
        if row.section == LAYER:
            if in_memory:
                layers_memory += seconds
            elif row.kind == ATTENTION:
                layers_attention += seconds
            else:
                layers_gemm += seconds
        elif row.section == HEAD:
            if in_memory:
                head_memory += seconds
            elif row.kind == ATTENTION:
                head_attention += seconds
            else:
                head_gemm += seconds
        elif in_memory:
            embedding_memory += seconds
        elif row.kind == ATTENTION:
            embedding_attention += seconds
        else:
            embedding_gemm += seconds
    context_comm = max(context_exchange_time(case, stack, micro) - layers_attention, 0.0)
    return Work(
        layers_gemm=layers_gemm,
        layers_attention=layers_attention,
        layers_memory=layers_memory,
        embedding_gemm=embedding_gemm,
        embedding_attention=embedding_attention,
        embedding_memory=embedding_memory,
        head_gemm=head_gemm,
        head_attention=head_attention,
        head_memory=head_memory,
        kernels=kernel_count(case, micro.recompute, stack),
        tensor_comm=tensor_parallel_time(case, stack, micro),
        expert_comm=expert_exchange_time(case, stack, micro),
        context_comm=context_comm,
        sample_comm=split_sample_time(case, micro.samples),
    )


@inner
def kernel_count(case: Case, recompute: float, stack: SoftwareStack) -> float:
    """Kernels that one micro-batch launches on all its layers, forward and backward (Ivanov et al. 2021).

    An operator of a loop in time counts those of every step.
    """
    extra = case.kernels.recompute_kernels * full_share(recompute)
    layers = case.layers_launched * (stack.software.kernels_per_layer + extra)
    return layers + case.convolutions_launched * stack.software.kernels_per_convolution + case.own_kernels


@inner
def tensor_parallel_time(case: Case, stack: SoftwareStack, micro: MicroBatch) -> float:
    """Time of two all-reduces a layer forward and two backward, none of it hidden. [s]

    Forward passes that are repeated repeat theirs (Narayanan et al. 2021, section 3.2).
    """
    if micro.tensor == 1.0:
        return 0.0
    total = 0.0
    for index in range(case.messages.shape[1]):
        size = micro.samples * case.size * case.messages[ELEMENTS, index]
        if micro.tensor > case.links.devices:
            once = collective_time(size, micro.tensor, case.links.devices, case.links, stack.network, 2.0)
        else:
            once = intra_node_allreduce_time(size, micro.tensor, case.links)
        total += once * case.messages[COUNTS, index] * (passes_of(micro.recompute) + case.frozen_models)
    return total * case.kernels.sequence_parallel_volume if micro.sequence_parallel > 0.0 else total


@inner
def expert_exchange_time(case: Case, stack: SoftwareStack, micro: MicroBatch) -> float:
    """Time of the all-to-all of tokens to their experts and back, none of it hidden. [s]

    The busiest rank decides.
    """
    if micro.expert == 1.0 or case.expert_layers == 0.0:
        return 0.0
    # Tensor ranks of a token each send their share of it.
    message = case.size * micro.samples * case.expert_elements / case.expert_layers / micro.tensor
    message *= case.expert_imbalance
    local = max(case.links.devices // micro.tensor, 1.0)
    machines = max(micro.expert / local, 1.0)
    distinct = distinct_share(case.experts_visited, machines)
    once = all_to_all_time(message, micro.expert, local, case.links, stack.network, distinct)
    passes = passes_of(micro.recompute) + case.frozen_models
    return case.expert_layers * EXCHANGES_OF_EXPERTS * passes * once


GRADIENT_EXCHANGES = 1.0
"""Beside each pass of keys and values around the ring, their gradients go round once (Liu et al. 2023)."""


@inner
def context_exchange_time(case: Case, stack: SoftwareStack, micro: MicroBatch) -> float:
    """Time of passing keys and values between the ranks of a context in one micro-batch. [s]

    Attention to one part hides the transfer of the next. Ranks of a context lie next to those of a tensor.
    """
    if micro.context == 1.0 or case.attentions == 0.0:
        return 0.0
    links, network = case.links, stack.network
    size = case.size * micro.samples * case.keys_values / case.attentions / micro.tensor
    if micro.tensor * micro.context <= links.devices:
        once = ring_pass_time(size, micro.context, links.bus_bandwidth, links.latency)
    else:
        port = network.bandwidth / links.devices
        once = ring_pass_time(size, micro.context, port, network.message_latency)
    return case.attentions * (passes_of(micro.recompute) + GRADIENT_EXCHANGES) * once


EDGE_KERNELS = 10.0
"""Kernels of one cut convolution beside those of a whole one: halos are packed and unpacked forward
and backward, and two thin convolutions compute the edges in each of the three products."""


@inner
def split_sample_time(case: Case, micro_batch: float) -> float:
    r"""Time that the parts of a sample spend on each other in one micro-batch.

    A micro-batch below one sample is a share of it: a slab of the image or volume. Every wide convolution
    fetches a halo forward and one backward, both neighbours at once, and every norm over positions sums its
    statistics over all parts, forward and backward. An exchange starts like a small all-reduce, and a
    cut convolution launches more kernels:

    .. math:: t = \sum_{conv} \left(2 t_{ar}(1) + \frac{2 H b}{B} + 10 t_k\right) + 2 \sum_{norm} t_{ar}(8 C)

    Parameters
    ----------
    case : Case
        Convolutions, norms, links, :math:`B`, bytes of an element, :math:`b`, and launches, :math:`t_k`. [-]
    micro_batch : float
        Says how many parts there are, which lie in one machine. [-]

    Returns
    -------
    seconds : float
        Nothing where a micro-batch is at least one sample. [s]

    References
    ----------
    .. [1] N. Dryden et al., "Improving strong-scaling of CNN training by exploiting finer-grained
       parallelism," IPDPS, 2019.
    .. [2] NVIDIA, MLPerf training 2.0, unet3d: spatial groups of eight GPUs; NVIDIA apex,
       contrib.bottleneck: halos exchanged while the inner part is computed.

    Examples
    --------
    ``tests/engine/gpu/test_spatial.py`` holds worked values.
    """
    if micro_batch >= 1.0:
        return 0.0
    links = case.links
    local = min(1.0 / micro_batch, links.devices)
    start = intra_node_allreduce_time(1.0, local, links)
    exchange = case.cut_convolutions * start + case.halo * case.size / links.bus_bandwidth
    statistics = 0.0
    for index in range(case.norms.shape[1]):
        once = intra_node_allreduce_time(case.norms[STATISTICS, index], local, links)
        statistics += case.norms[COUNTS, index] * once
    return 2.0 * (exchange + statistics) + EDGE_KERNELS * case.cut_convolutions * case.launch


@inner
def forward_share(case: Case, stack: SoftwareStack, micro: MicroBatch, costs: Matrix) -> float:
    r"""Share of a micro-batch's time in the layers that its forward pass takes.

    .. math:: s = \frac{\sum_i f_i + c / k}{\sum_i \left( (1 + a_i) f_i + b_i \right) + c}

    Parameters
    ----------
    case : Case
        The model on its system; operators of its layers count, :math:`i`. [-]
    stack : SoftwareStack
        Software, and the network as it reaches it. [-]
    micro : MicroBatch
        Says what is computed again, :math:`a_i`. [-]
    costs : array
        :class:`~app.engine.gpu.operators.OperatorCost` of every operator, at full rates. [s]

    Returns
    -------
    share : float
        Between 0 and 1: forward passes of operators, :math:`f_i`, over forward passes, those that are
        repeated for the backward pass, :math:`a_i`, and backward passes, :math:`b_i`; ranks exchange
        :math:`c` in :math:`k` passes, two, or three where layers are computed again. [-]

    Notes
    -----
    Valid for layers of one kind; embedding and head are left out, for most stages have neither. What a
    micro-batch waits for beside operators and exchanges, launches and transfers between stages, is not
    divided here: a schedule divides it alike.

    References
    ----------
    .. [1] D. Narayanan et al., "Efficient large-scale language model training on GPU clusters using
       Megatron-LM," SC, 2021, section 2.2 and appendix.

    Examples
    --------
    ``tests/engine/gpu/test_directions.py`` holds worked values: about a third, a quarter where layers are
    computed again.
    """
    ahead, behind = 0.0, 0.0
    for index in range(case.operators.shape[0]):
        row = record(GpuOperator, case.operators, index)
        if row.section != LAYER:
            continue
        forward, backward = operator_time(case, stack, row, record(OperatorCost, costs, index))
        share = row.repeats
        if micro.sequence_parallel > 0.0 and row.split == SEQUENCE:
            share /= micro.tensor
        ahead += forward * share
        behind += (forward * repeated(case, row, micro.recompute) + backward) * share
    exchanged = tensor_parallel_time(case, stack, micro) + expert_exchange_time(case, stack, micro)
    whole = ahead + behind + exchanged
    return (ahead + exchanged / passes_of(micro.recompute)) / (whole if whole > 0.0 else 1.0)
