"""Collective operations inside a machine and between machines."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from app.engine.compiled import Matrix, Vector, called, formula, inner
from app.engine.records import FloatLike, Floats, Intra, Node, ScaleOutFabric

SIZES, LOG_SIZES, LOG_SECONDS = range(3)
"""Rows of a measured sweep of all-reduces over all accelerators of a machine, by rising size: bytes, and
logarithms of bytes and of seconds."""
UNMEASURED = np.empty((3, 0))


class IntraLinks(NamedTuple):
    """Links between the accelerators of a machine."""

    devices: float
    bus_bandwidth: float
    """Of an all-reduce at large messages. [B/s]"""
    latency: float
    """Start-up of a collective. [s]"""
    sweep: Matrix
    """Rows :data:`SIZES`, :data:`LOG_SIZES` and :data:`LOG_SECONDS`, (3, S)."""
    torus_axes: float = 0.0
    hop_latency: float = 0.0
    """From one accelerator of a torus to the next. [s]"""

    @classmethod
    def of(cls, machine: Node) -> IntraLinks:
        """Return the links of a machine; a measured sweep counts behind an NVSwitch alone."""
        sweep = UNMEASURED
        if machine.intra is Intra.NVSWITCH and machine.allreduce_bytes.size:
            curve = np.maximum.accumulate(machine.allreduce_seconds)
            sweep = np.stack([machine.allreduce_bytes, np.log(machine.allreduce_bytes), np.log(curve)])
        return cls(
            devices=float(machine.devices),
            bus_bandwidth=machine.bus_bandwidth,
            latency=machine.latency,
            sweep=sweep,
            torus_axes=float(machine.torus_axes),
            hop_latency=machine.hop_latency,
        )


class Network(NamedTuple):
    """Links between machines, as a software stack reaches them."""

    bandwidth: float
    """Of one machine into the fabric. [B/s]"""
    hop_latency: float
    """One step of a ring. [s]"""
    tree_latency: float
    """One level of a tree. [s]"""
    message_latency: float
    """One point-to-point message or the start of one collective. [s]"""
    tree_share: float
    """Bandwidth of a double binary tree over that of a ring. [-]"""
    in_network_reduction: float
    """1 where switches sum what an all-reduce sends, else 0. [-]"""

    @classmethod
    def of(cls, fabric: ScaleOutFabric, efficiency: float) -> Network:
        """Return a single network of which software reaches a share."""
        return cls(
            bandwidth=float(node_bandwidth(fabric, efficiency)),
            hop_latency=float(fabric.hop_latency),
            tree_latency=float(fabric.tree_latency),
            message_latency=float(fabric.message_latency),
            tree_share=fabric.tree_share,
            in_network_reduction=float(fabric.in_network_reduction),
        )


@inner
def interpolated(position: float, points: Vector, values: Vector) -> float:
    """Return the linearly interpolated value at a position; beyond the ends, that of the end."""
    last = points.size - 1
    if position >= points[last]:
        return values[last]
    if position <= points[0]:
        return values[0]
    low, high = 0, last
    while high - low > 1:
        middle = (low + high) // 2
        if points[middle] <= position:
            low = middle
        else:
            high = middle
    slope = (values[high] - values[low]) / (points[high] - points[low])
    return slope * (position - points[low]) + values[low]


@formula
def torus_latency(ranks: float, axes: float, hop_latency: float) -> float:
    r"""Latency of one pass over a torus, in both directions of every ring.

    .. math:: \alpha_{torus} = a \frac{n^{1/a}}{2} \alpha_{hop}

    Parameters
    ----------
    ranks : float
        Accelerators of the torus, :math:`n`, as many along each axis. [-]
    axes : float
        Axes, :math:`a`; without an axis there is no torus and no latency. [-]
    hop_latency : float
        From one accelerator to the next, :math:`\alpha_{hop}`. [s]

    Returns
    -------
    seconds : float
        Of a reduce-scatter or an all-gather; an all-reduce is both. [s]

    Notes
    -----
    Axes are passed one after the other; a message has half a ring to go.

    References
    ----------
    .. [1] J. Austin et al., "How to scale your model," Google DeepMind, 2025, chapter 3 (about a microsecond
       a hop; half of an axis).

    Examples
    --------
    A pod of 256 TPU v5e, 16 by 16:

    >>> round(float(torus_latency(256.0, 2.0, 1e-6)) * 1e6, 3)
    16.0
    """
    return axes * 0.5 * ranks ** (1.0 / max(axes, 1.0)) * hop_latency


@inner
def intra_node_allreduce_time(size: float, ranks: float, links: IntraLinks) -> float:
    r"""Time of an all-reduce among accelerators of one machine.

    Behind an NVSwitch the measured curve of the whole machine is interpolated in log-log and scaled
    to the ranks that take part; over PCIe, a link mesh or a torus the ring law holds:

    .. math:: t = t_8(S) \frac{(n-1)/n}{(N-1)/N} \qquad
        t = 2 \frac{n-1}{n} \frac{S}{B} + \alpha + 2 \alpha_{torus}

    Parameters
    ----------
    size : float
        Bytes reduced on every rank, :math:`S`. [B]
    ranks : float
        Ranks that take part, :math:`n`; one rank costs nothing. [-]
    links : Links
        Links of the machine and its measured curve. [-]

    Returns
    -------
    seconds : float
        Time until every rank holds the sum. [s]

    Notes
    -----
    Below the smallest measured message the time of that message holds; above the largest the time
    grows in proportion.

    References
    ----------
    .. [1] P. Patarasuk and X. Yuan, "Bandwidth optimal all-reduce algorithms for clusters of
       workstations," J. Parallel Distrib. Comput. 69(2), 2009.

    Examples
    --------
    >>> pcie = IntraLinks(8.0, 16e9, 30e-6, UNMEASURED)
    >>> round(float(intra_node_allreduce_time(670e6, 8, pcie)), 4)
    0.0733
    """
    if ranks <= 1.0 or size <= 0.0:
        return 0.0
    sweep, count = links.sweep, links.sweep.shape[1]
    if count == 0:
        hops = 2.0 * torus_latency(ranks, links.torus_axes, links.hop_latency)
        return 2.0 * (ranks - 1.0) / ranks * size / links.bus_bandwidth + links.latency + hops
    smallest, largest = sweep[SIZES, 0], sweep[SIZES, count - 1]
    position = math.log(max(min(size, largest), smallest))
    whole = math.exp(interpolated(position, sweep[LOG_SIZES], sweep[LOG_SECONDS])) * max(size / largest, 1.0)
    everyone = max(links.devices - 1.0, 1.0) / links.devices
    return whole * ((ranks - 1.0) / ranks) / everyone


def node_bandwidth(fabric: ScaleOutFabric, efficiency: FloatLike = 1.0) -> Floats:
    """Bandwidth of one machine into the fabric, one direction, under load from all. [B/s]

    All ports together, as far as software reaches them, over the oversubscription.

    >>> float(node_bandwidth(ScaleOutFabric("hdr", 24e9, 8, 7.5e-6, 14e-6, 30e-6, 1.0, 0.92)))
    192000000000.0
    """
    return np.asarray(
        fabric.port_bandwidth * fabric.ports_per_node * np.asarray(efficiency) / fabric.oversubscription
    )


@inner
def ring_time(
    size: float, ranks: float, local: float, links: IntraLinks, network: Network, passes: float
) -> float:
    """Time of a ring over machines, without the start of the collective. [s]"""
    nodes = math.ceil(ranks / local)
    bandwidth = min(network.bandwidth * local / links.devices, links.bus_bandwidth)
    moved = passes * (ranks - 1.0) / ranks * size / bandwidth
    return moved + passes * (network.hop_latency * (nodes - 1.0) + links.latency * (ranks - nodes))


@inner
def tree_time(size: float, ranks: float, local: float, links: IntraLinks, network: Network) -> float:
    """Time of an all-reduce along a double binary tree, without the start of the collective. [s]"""
    nodes = math.ceil(ranks / local)
    bandwidth = min(network.bandwidth * local / links.devices, links.bus_bandwidth)
    levels = network.tree_latency * math.log2(max(nodes, 1.0)) + links.latency * (local - 1.0)
    return 2.0 * size / (network.tree_share * bandwidth) + 2.0 * levels


@inner
def in_network_time(size: float, ranks: float, local: float, links: IntraLinks, network: Network) -> float:
    """Time of an all-reduce that switches sum, without the start of the collective. [s]

    Every byte leaves a machine once and returns once, both at a time; inside, ranks sum before and share
    after.
    """
    bandwidth = min(network.bandwidth * local / links.devices, links.bus_bandwidth)
    inside = 2.0 * (local - 1.0) / local * size / links.bus_bandwidth
    return max(size / bandwidth, inside) + 2.0 * (network.tree_latency + links.latency * (local - 1.0))


@called
def collective_time(
    size: float, ranks: float, ranks_per_node: float, links: IntraLinks, network: Network, passes: float
) -> float:
    r"""Time of an all-reduce, a reduce-scatter or an all-gather over machines.

    Ranks of the same place in every machine share its ports with the other groups that communicate
    at the same time. The fastest of a ring and, for an all-reduce, a double binary tree and switches that sum
    is taken:

    .. math:: t_{ring} = f \frac{n-1}{n} \frac{S}{B} + f ((N-1) \alpha_{net} + (n-N) \alpha_{node})
    .. math:: t_{tree} = \frac{2 S}{0.92 B} + 2 (\alpha_{tree} \log_2 N + (g-1) \alpha_{node})
    .. math:: t_{sum} = \max\left(\frac{S}{B}, 2 \frac{g-1}{g} \frac{S}{B_{node}}\right)
        + 2 (\alpha_{tree} + (g-1) \alpha_{node})

    Parameters
    ----------
    size : float
        Bytes of the whole message, :math:`S`. [B]
    ranks : float
        Ranks, :math:`n`. [-]
    ranks_per_node : float
        Ranks of the group in one machine, :math:`g`; the group spans :math:`N = n/g` machines. [-]
    links : Links
        Links inside a machine. [-]
    network : Network
        Links between machines, as the software stack reaches them. [-]
    passes : float
        2 for an all-reduce, 1 for a reduce-scatter or an all-gather, :math:`f`. [-]

    Returns
    -------
    seconds : float
        Time of the collective; nothing for one rank or no bytes. [s]

    References
    ----------
    .. [1] R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of collective communication operations
       in MPICH," Int. J. High Perform. Comput. Appl. 19(1), 2005.
    .. [2] NVIDIA, NCCL source, src/graph/tuning.cc (latency and bandwidth of ring and tree).
    .. [3] R. L. Graham et al., "Scalable hierarchical aggregation protocol (SHArP)," COMHPC, 2016.

    Examples
    --------
    BERT-Large gradients over 20 machines of eight GPUs on eight HDR ports:

    >>> hdr = Network(8 * 24e9, 7.5e-6, 14e-6, 30e-6, 0.92, 0.0)
    >>> node = IntraLinks(8.0, 232e9, 3.4e-6, UNMEASURED)
    >>> round(float(collective_time(670e6, 160, 8, node, hdr, 2.0)) * 1e3, 2)
    7.78
    """
    if ranks <= 1.0 or size <= 0.0:
        return 0.0
    local = min(max(ranks_per_node, 1.0), ranks)
    if math.ceil(ranks / local) <= 1:
        return intra_node_allreduce_time(size, ranks, links) * passes / 2.0
    seconds = ring_time(size, ranks, local, links, network, passes)
    if passes == 2.0:
        seconds = min(seconds, tree_time(size, ranks, local, links, network))
        if network.in_network_reduction > 0.0:
            seconds = min(seconds, in_network_time(size, ranks, local, links, network))
    return seconds + network.message_latency


@inner
def allreduce_algorithm(
    size: float, ranks: float, ranks_per_node: float, links: IntraLinks, network: Network
) -> float:
    """Return which algorithm makes an all-reduce over machines fastest: 0 ring, 1 tree, 2 switches that sum.

    A tree waits for few hops and wins for small messages over many machines (Sanders, Speck, Träff 2009).

    >>> hdr = Network(8 * 24e9, 7.5e-6, 14e-6, 30e-6, 0.92, 0.0)
    >>> node = IntraLinks(8.0, 232e9, 3.4e-6, UNMEASURED)
    >>> [allreduce_algorithm(size, 512, 8, node, hdr) for size in (1e6, 10e9)]
    [1.0, 0.0]
    """
    local = min(max(ranks_per_node, 1.0), ranks)
    if ranks <= local:
        return 0.0
    ring = ring_time(size, ranks, local, links, network, 2.0)
    tree = tree_time(size, ranks, local, links, network)
    summed = math.inf
    if network.in_network_reduction > 0.0:
        summed = in_network_time(size, ranks, local, links, network)
    if summed < min(ring, tree):
        return 2.0
    return 1.0 if tree < ring else 0.0


@formula
def ring_pass_time(size: float, ranks: float, bandwidth: float, latency: float) -> float:
    r"""Time in which the parts of every rank pass all others in a ring.

    .. math:: t = (c - 1) \left(\frac{S}{B} + \alpha\right)

    Parameters
    ----------
    size : float
        Part of one rank, :math:`S`. [B]
    ranks : float
        Ranks of the ring, :math:`c`. [-]
    bandwidth : float
        Bandwidth of the slowest link between neighbours, :math:`B`. [B/s]
    latency : float
        Start-up of one message, :math:`\\alpha`. [s]

    Returns
    -------
    seconds : float
        Nothing for one rank. [s]

    Notes
    -----
    All links carry one part at a time in one direction. Context-parallel attention passes keys and values so.

    References
    ----------
    .. [1] H. Liu, M. Zaharia, P. Abbeel, "Ring attention with blockwise transformers for near-infinite
       context," 2023.

    Examples
    --------
    Keys and values of 4,096 tokens in eight heads of 128 in bf16, 16.8 MB, over four ranks on a port of
    50 GB/s:

    >>> round(float(ring_pass_time(16.8e6, 4.0, 50e9, 10e-6)) * 1e3, 3)
    1.038
    """
    return (ranks - 1.0) * (size / bandwidth + latency)


@formula
def distinct_share(draws: float, places: float) -> float:
    r"""Share of draws that hit a place for the first time, each place equally likely.

    .. math:: s = \frac{n}{k} \left(1 - \left(1 - \frac{1}{n}\right)^k\right)

    Parameters
    ----------
    draws : float
        Draws, :math:`k`: the experts that a token visits. [-]
    places : float
        Places, :math:`n`: the machines that hold them. [-]

    Returns
    -------
    share : float
        A token that visits several experts of one machine crosses the network once. [-]

    References
    ----------
    .. [1] DeepSeek-AI, "DeepSeek-V3 technical report," arXiv:2412.19437, 2024, section 3.2.2 (tokens cross
       InfiniBand once per node and are forwarded over NVLink).

    Examples
    --------
    Eight experts on four machines: 3.6 machines are visited.

    >>> round(float(distinct_share(8.0, 4.0)) * 8, 2)
    3.6
    """
    return places / draws * (1.0 - (1.0 - 1.0 / places) ** draws)


@inner
def all_to_all_time(
    size: float,
    ranks: float,
    ranks_per_node: float,
    links: IntraLinks,
    network: Network,
    distinct: float = 1.0,
) -> float:
    r"""Time in which every rank sends every other rank of its group an equal share of what it holds.

    Shares for the same machine and shares for others travel side by side, each rank on its part of the
    machine's ports:

    .. math:: t = \max\left(\frac{g-1}{n} \frac{S}{B_{node}}, \frac{n-g}{n} \frac{d S}{B_{port}}\right)
        + \alpha

    Parameters
    ----------
    size : float
        Bytes one rank holds, :math:`S`. [B]
    ranks : float
        Ranks of the group, :math:`n`; one rank costs nothing. [-]
    ranks_per_node : float
        Ranks of the group in one machine, :math:`g`. [-]
    links : Links
        Links inside a machine. [-]
    network : Network
        Links between machines, as the software stack reaches them. [-]
    distinct : float
        Share of the bytes for other machines that no other rank of the same machine gets, :math:`d`. [-]

    Returns
    -------
    seconds : float
        Time until every rank has received all its shares. [s]

    References
    ----------
    .. [1] D. Lepikhin et al., "GShard: scaling giant models with conditional computation and automatic
       sharding," ICLR, 2021, section 3.3 (AllToAll).

    Examples
    --------
    Eight ranks on eight machines send seven eighths of 100 MB through one port each:

    >>> hdr = Network(8 * 24e9, 7.5e-6, 14e-6, 30e-6, 0.92, 0.0)
    >>> node = IntraLinks(8.0, 232e9, 3.4e-6, UNMEASURED)
    >>> round(float(all_to_all_time(100e6, 8, 1, node, hdr)) * 1e3, 3)
    3.676
    """
    if ranks <= 1.0:
        return 0.0
    local = min(max(ranks_per_node, 1.0), ranks)
    inside = (local - 1.0) / ranks * size / links.bus_bandwidth
    port = min(network.bandwidth / links.devices, links.bus_bandwidth)
    outside = (ranks - local) / ranks * distinct * size / port
    return max(inside, outside) + (network.message_latency if ranks > local else links.latency)


@formula
def exposed_time(communication: float, overlap: float, cover: float) -> float:
    r"""Part of a communication that computation does not hide.

    .. math:: t = \max(C - o T, (1 - o) C)

    Parameters
    ----------
    communication : float
        Time of the communication alone, :math:`C`. [s]
    overlap : float
        Share that may be hidden, :math:`o`. [-]
    cover : float
        Computation it may hide under, :math:`T`. [s]

    Returns
    -------
    seconds : float
        Never negative, never more than the communication. [s]

    References
    ----------
    .. [1] S. Li et al., "PyTorch distributed: experiences on accelerating data parallel training,"
       VLDB 13(12), 2020.

    Examples
    --------
    >>> float(exposed_time(1.0, 0.5, 10.0)), float(exposed_time(1.0, 0.5, 0.2))
    (0.5, 0.9)
    """
    return communication - min(overlap * cover, overlap * communication)
