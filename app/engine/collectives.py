"""Collective operations inside a machine and between machines."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from app.engine.records import Fabric, FloatLike, Floats, Intra, Machine


def intra_node_allreduce_time(size: FloatLike, ranks: FloatLike, machine: Machine) -> Floats:
    r"""Time of an all-reduce among accelerators of one machine.

    Behind an NVSwitch the measured curve of the whole machine is interpolated in log-log and scaled
    to the ranks that take part; over PCIe or a link mesh the ring law holds:

    .. math:: t = t_8(S) \frac{(n-1)/n}{(N-1)/N} \qquad t = 2 \frac{n-1}{n} \frac{S}{B} + \alpha

    Parameters
    ----------
    size : float or array
        Bytes reduced on every rank, :math:`S`. [B]
    ranks : float or array
        Ranks that take part, :math:`n`; one rank costs nothing. [-]
    machine : Machine
        Links of the machine and its measured curve. [-]

    Returns
    -------
    seconds : array
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
    >>> pcie = Machine("m", 8, Intra.PCIE, np.array([]), np.array([]), 16e9, 30e-6)
    >>> round(float(intra_node_allreduce_time(670e6, 8, pcie)), 4)
    0.0733
    """
    size, ranks = np.asarray(size, float), np.asarray(ranks, float)
    ring = 2.0 * (ranks - 1) / ranks * size / machine.bus_bandwidth + machine.latency
    seconds = ring
    if machine.intra is Intra.NVSWITCH and machine.allreduce_bytes.size:
        largest = machine.allreduce_bytes[-1]
        known = np.log(np.maximum(np.minimum(size, largest), machine.allreduce_bytes[0]))
        curve = np.maximum.accumulate(machine.allreduce_seconds)
        whole = np.exp(np.interp(known, np.log(machine.allreduce_bytes), np.log(curve)))
        whole = whole * np.maximum(size / largest, 1.0)
        everyone = max(machine.devices - 1, 1) / machine.devices
        seconds = whole * ((ranks - 1) / ranks) / everyone
    return np.asarray(np.where((ranks > 1) & (size > 0), seconds, 0.0))


def node_bandwidth(fabric: Fabric, efficiency: FloatLike = 1.0) -> Floats:
    """Bandwidth of one machine into the fabric, one direction, under load from all.

    Parameters
    ----------
    fabric : Fabric
        Ports and their achieved bandwidth. [-]
    efficiency : float or array
        Share that the software stack reaches. [-]

    Returns
    -------
    bandwidth : array
        All ports together, divided by the oversubscription. [B/s]

    References
    ----------
    .. [1] C. Leiserson, "Fat-trees: universal networks for hardware-efficient supercomputing," IEEE
       Trans. Computers C-34(10), 1985.

    Examples
    --------
    >>> float(node_bandwidth(Fabric("hdr", 24e9, 8, 7.5e-6, 14e-6, 30e-6, 1.0, 0.92)))
    192000000000.0
    """
    return np.asarray(
        fabric.port_bandwidth * fabric.ports_per_node * np.asarray(efficiency) / fabric.oversubscription
    )


def collective_time(
    size: FloatLike,
    ranks: FloatLike,
    ranks_per_node: FloatLike,
    machine: Machine,
    fabric: Fabric,
    efficiency: FloatLike,
    passes: float,
) -> Floats:
    r"""Time of an all-reduce, a reduce-scatter or an all-gather over machines.

    Ranks of the same place in every machine share its ports with the other groups that communicate
    at the same time. The faster of a ring and, for an all-reduce, a double binary tree is taken:

    .. math:: t_{ring} = f \frac{n-1}{n} \frac{S}{B} + f ((N-1) \alpha_{net} + (n-N) \alpha_{node})
    .. math:: t_{tree} = \frac{2 S}{0.92 B} + 2 (\alpha_{tree} \log_2 N + (g-1) \alpha_{node})

    Parameters
    ----------
    size : float or array
        Bytes of the whole message, :math:`S`. [B]
    ranks : float or array
        Ranks, :math:`n`. [-]
    ranks_per_node : float or array
        Ranks of the group in one machine, :math:`g`; the group spans :math:`N = n/g` machines. [-]
    machine : Machine
        Links inside a machine. [-]
    fabric : Fabric
        Links between machines. [-]
    efficiency : float or array
        Share of the fabric's bandwidth the software stack reaches. [-]
    passes : float
        2 for an all-reduce, 1 for a reduce-scatter or an all-gather, :math:`f`. [-]

    Returns
    -------
    seconds : array
        Time of the collective; nothing for one rank or no bytes. [s]

    References
    ----------
    .. [1] R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of collective communication operations
       in MPICH," Int. J. High Perform. Comput. Appl. 19(1), 2005.
    .. [2] NVIDIA, NCCL source, src/graph/tuning.cc (latency and bandwidth of ring and tree).

    Examples
    --------
    BERT-Large gradients over 20 machines of eight GPUs on eight HDR ports:

    >>> hdr = Fabric("hdr", 24e9, 8, 7.5e-6, 14e-6, 30e-6, 1.0, 0.92)
    >>> node = Machine("m", 8, Intra.NVLINK, np.array([]), np.array([]), 232e9, 3.4e-6)
    >>> round(float(collective_time(670e6, 160, 8, node, hdr, 1.0, 2.0)) * 1e3, 2)
    7.78
    """
    size, ranks = np.asarray(size, float), np.asarray(ranks, float)
    local = np.minimum(np.maximum(np.asarray(ranks_per_node, float), 1.0), ranks)
    inside = intra_node_allreduce_time(size, ranks, machine) * passes / 2.0
    ring, tree = _ring_and_tree(size, ranks, local, machine, fabric, efficiency, passes)
    between = (ring if tree is None else np.minimum(ring, tree)) + fabric.message_latency
    seconds = np.where(np.ceil(ranks / local) > 1, between, inside)
    return np.asarray(np.where((ranks > 1) & (size > 0), seconds, 0.0))


def _ring_and_tree(
    size: Floats,
    ranks: Floats,
    local: Floats,
    machine: Machine,
    fabric: Fabric,
    efficiency: FloatLike,
    passes: float,
) -> tuple[Floats, Floats | None]:
    """Time of a ring over machines, and of a tree where there is one, without the start of the collective."""
    nodes = np.ceil(ranks / local)
    share = node_bandwidth(fabric, efficiency) * local / machine.devices
    bandwidth = np.minimum(share, machine.bus_bandwidth)
    ring = passes * (ranks - 1) / ranks * size / bandwidth
    ring = ring + passes * (fabric.hop_latency * (nodes - 1) + machine.latency * (ranks - nodes))
    if passes != 2.0:
        return np.asarray(ring), None
    levels = fabric.tree_latency * np.log2(np.maximum(nodes, 1.0)) + machine.latency * (local - 1)
    return np.asarray(ring), np.asarray(2.0 * size / (fabric.tree_share * bandwidth) + 2.0 * levels)


def takes_tree(
    size: FloatLike,
    ranks: FloatLike,
    ranks_per_node: FloatLike,
    machine: Machine,
    fabric: Fabric,
    efficiency: FloatLike,
) -> NDArray[np.bool_]:
    """Tell whether an all-reduce over machines is faster as a double binary tree than as a ring.

    Parameters
    ----------
    size : float or array
        Bytes of the whole message. [B]
    ranks : float or array
        Ranks. [-]
    ranks_per_node : float or array
        Ranks of the group in one machine. [-]
    machine : Machine
        Links inside a machine. [-]
    fabric : Fabric
        Links between machines. [-]
    efficiency : float or array
        Share of the fabric's bandwidth the software stack reaches. [-]

    Returns
    -------
    tree : array of bool
        True for the tree, which waits for few hops and wins for small messages over many machines. [-]

    References
    ----------
    .. [1] P. Sanders, J. Speck, J. Träff, "Two-tree algorithms for full bandwidth broadcast, reduction
       and scan," Parallel Computing 35(12), 2009.

    Examples
    --------
    >>> hdr = Fabric("hdr", 24e9, 8, 7.5e-6, 14e-6, 30e-6, 1.0, 0.92)
    >>> node = Machine("m", 8, Intra.NVLINK, np.array([]), np.array([]), 232e9, 3.4e-6)
    >>> [bool(takes_tree(size, 512, 8, node, hdr, 1.0)) for size in (1e6, 10e9)]
    [True, False]
    """
    size, ranks = np.asarray(size, float), np.asarray(ranks, float)
    local = np.minimum(np.maximum(np.asarray(ranks_per_node, float), 1.0), ranks)
    ring, tree = _ring_and_tree(size, ranks, local, machine, fabric, efficiency, 2.0)
    assert tree is not None
    return np.asarray((tree < ring) & (ranks > local))


def all_to_all_time(
    size: FloatLike,
    ranks: FloatLike,
    ranks_per_node: FloatLike,
    machine: Machine,
    fabric: Fabric,
    efficiency: FloatLike,
) -> Floats:
    r"""Time in which every rank sends every other rank of its group an equal share of what it holds.

    Shares for the same machine and shares for others travel side by side, each rank on its part of the
    machine's ports:

    .. math:: t = \max\left(\frac{g-1}{n} \frac{S}{B_{node}}, \frac{n-g}{n} \frac{S}{B_{port}}\right)
        + \alpha

    Parameters
    ----------
    size : float or array
        Bytes one rank holds, :math:`S`. [B]
    ranks : float or array
        Ranks of the group, :math:`n`; one rank costs nothing. [-]
    ranks_per_node : float or array
        Ranks of the group in one machine, :math:`g`. [-]
    machine : Machine
        Links inside a machine. [-]
    fabric : Fabric
        Links between machines. [-]
    efficiency : float or array
        Share of the fabric's bandwidth the software stack reaches. [-]

    Returns
    -------
    seconds : array
        Time until every rank has received all its shares. [s]

    References
    ----------
    .. [1] D. Lepikhin et al., "GShard: scaling giant models with conditional computation and automatic
       sharding," ICLR, 2021, section 3.3 (AllToAll).

    Examples
    --------
    Eight ranks on eight machines send seven eighths of 100 MB through one port each:

    >>> hdr = Fabric("hdr", 24e9, 8, 7.5e-6, 14e-6, 30e-6, 1.0, 0.92)
    >>> node = Machine("m", 8, Intra.NVLINK, np.array([]), np.array([]), 232e9, 3.4e-6)
    >>> round(float(all_to_all_time(100e6, 8, 1, node, hdr, 1.0)) * 1e3, 3)
    3.676
    """
    size, ranks = np.asarray(size, float), np.asarray(ranks, float)
    local = np.minimum(np.maximum(np.asarray(ranks_per_node, float), 1.0), ranks)
    inside = (local - 1.0) / ranks * size / machine.bus_bandwidth
    port = np.minimum(node_bandwidth(fabric, efficiency) / machine.devices, machine.bus_bandwidth)
    outside = (ranks - local) / ranks * size / port
    start = np.where(ranks > local, fabric.message_latency, machine.latency)
    return np.asarray(np.where(ranks > 1, np.maximum(inside, outside) + start, 0.0))


def exposed_time(communication: FloatLike, overlap: FloatLike, cover: FloatLike) -> Floats:
    r"""Part of a communication that computation does not hide.

    .. math:: t = \max(C - o T, (1 - o) C)

    Parameters
    ----------
    communication : float or array
        Time of the communication alone, :math:`C`. [s]
    overlap : float or array
        Share that may be hidden, :math:`o`. [-]
    cover : float or array
        Computation it may hide under, :math:`T`. [s]

    Returns
    -------
    seconds : array
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
    communication = np.asarray(communication, float)
    hidden = np.minimum(np.asarray(overlap) * cover, np.asarray(overlap) * communication)
    return np.asarray(communication - hidden)
