"""Switches of one level, and how links divide evenly between two."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from app.engine.records import FloatLike, Floats
from app.errors import BadInput, Message

Counts: TypeAlias = NDArray[np.int64]

ROUNDING = 1e-9
"""What a quotient may miss a whole number by and still be that number. [-]"""


def _whole(value: ArrayLike) -> Counts:
    return np.asarray(value).astype(np.int64)


def leaf_capacity(switch_ports: ArrayLike, oversubscription: FloatLike = 1.0) -> Counts:
    r"""Nodes one leaf takes when the rest of its ports go up.

    .. math:: D = \left\lfloor \frac{P o}{1 + o} \right\rfloor

    Parameters
    ----------
    switch_ports : ArrayLike
        Ports of a switch, :math:`P`, at least 2. [-]
    oversubscription : FloatLike
        Ports towards nodes per uplink, :math:`o`, at least 1. [-]

    Returns
    -------
    nodes : Counts
        Ports of the leaf that face nodes. [-]

    Raises
    ------
    BadInput
        Where a switch has fewer than 2 ports or fewer ports face down than up.

    References
    ----------
    .. [1] C. E. Leiserson, "Fat-trees: universal networks for hardware-efficient supercomputing,"
       IEEE Trans. Computers, vol. C-34, no. 10, 1985.

    Examples
    --------
    >>> int(leaf_capacity(40)), int(leaf_capacity(40, 3.0))
    (20, 30)
    """
    ports, ratio = np.asarray(switch_ports, dtype=float), np.asarray(oversubscription, dtype=float)
    if not np.all(ports >= 2):
        raise BadInput(Message("a switch needs 2 ports or more, got {n}", {"n": float(np.min(ports))}))
    if not np.all(ratio >= 1):
        raise BadInput(Message("oversubscription must be 1 or more, got {o}", {"o": float(np.min(ratio))}))
    return np.minimum(_whole(np.floor(ports * ratio / (1.0 + ratio) + ROUNDING)), _whole(ports) - 1)


def leaf_switches(
    nodes: ArrayLike, ports_per_node: ArrayLike, switch_ports: ArrayLike, oversubscription: FloatLike = 1.0
) -> Counts:
    r"""Leaf switches of a rail-wise network: each rail has its own.

    .. math:: L = R \left\lceil \frac{N}{D} \right\rceil

    Parameters
    ----------
    nodes : ArrayLike
        Nodes, :math:`N`. [-]
    ports_per_node : ArrayLike
        Ports of a node and so rails, :math:`R`. [-]
    switch_ports : ArrayLike
        Ports of a switch. [-]
    oversubscription : FloatLike
        Ports towards nodes per uplink. [-]

    Returns
    -------
    leaves : Counts
        Leaf switches, with :math:`D` of :func:`leaf_capacity`. [-]

    References
    ----------
    .. [1] Hyperconnect AI Lab, "Building a high-performance deep-learning cluster, part 1," 2020:
       eight leaves of 40 ports for eight rails of 20 nodes.

    Examples
    --------
    >>> int(leaf_switches(20, 8, 40)), int(leaf_switches(140, 8, 40))
    (8, 56)
    """
    capacity = leaf_capacity(switch_ports, oversubscription)
    return _whole(ports_per_node) * -(-_whole(nodes) // capacity)


def switches_for(links: ArrayLike, ports: ArrayLike) -> Counts:
    r"""Least switches with so many free ports that all links end in one.

    .. math:: n = \left\lceil \frac{U}{P} \right\rceil

    Parameters
    ----------
    links : ArrayLike
        Links from the level below, :math:`U`. [-]
    ports : ArrayLike
        Ports of a switch that face down, :math:`P`. [-]

    Returns
    -------
    switches : Counts
        Switches; a bound, since the links of a lower switch need not divide evenly over them. [-]

    References
    ----------
    .. [1] C. Clos, "A study of non-blocking switching networks," Bell System Technical Journal,
       vol. 32, no. 2, 1953.

    Examples
    --------
    >>> int(switches_for(160, 40)), int(switches_for(320, 40))
    (4, 8)
    """
    return -(-_whole(links) // _whole(ports))


def balanced_switches(
    lower: ArrayLike, uplinks: ArrayLike, free_ports: ArrayLike, ports: ArrayLike
) -> tuple[Counts, Counts]:
    r"""Return the fewest switches that share every lower switch's uplinks evenly, and those uplinks.

    The smallest :math:`s` not below the bound of :func:`switches_for` for which
    :math:`u' = s \lceil u / s \rceil` fits the free ports of a lower switch and
    :math:`l u' \le s P`, with :math:`l` lower switches that need :math:`u` uplinks each, and :math:`P`
    ports above. :math:`s = u` always works, one link to each: so the search ends there.

    Examples
    --------
    Eight leaves with 20 uplinks need 4 spines; sixteen of them 10, for 20 does not divide by 8:

    >>> [int(part) for part in balanced_switches(8, 20, 20, 40)]
    [4, 20]
    >>> [int(part) for part in balanced_switches(16, 20, 20, 40)]
    [10, 20]
    """
    below, needed, free, above = np.broadcast_arrays(*map(_whole, (lower, uplinks, free_ports, ports)))
    candidates = np.arange(1, max(int(needed.max(initial=1)), 1) + 1)
    below, needed, free, above = (part[..., np.newaxis] for part in (below, needed, free, above))
    wired = candidates * -(-needed // candidates)
    works = (wired <= free) & (below * wired <= candidates * above)
    works &= candidates >= switches_for(below * needed, above)
    first = np.argmax(works, axis=-1)
    chosen = np.take_along_axis(np.broadcast_to(wired, works.shape), first[..., np.newaxis], axis=-1)
    return _whole(candidates[first]), _whole(chosen[..., 0])


def balanced_core(
    pods: ArrayLike, spines: ArrayLike, uplinks: ArrayLike, switch_ports: ArrayLike
) -> tuple[Counts, Counts]:
    r"""Return the fewest core switches that join pods evenly, and the uplinks of a spine.

    Every core reaches every pod. :math:`g` of the spines of each pod share :math:`c` core switches; each
    spine needs :math:`v` uplinks and has :math:`v' = c \lceil v / c \rceil`, at most half its ports, and
    :math:`p g v' \le c P` with :math:`p` pods and switches of :math:`P` ports.

    Examples
    --------
    Four pods of 20 spines with 14 uplinks, as a SuperPOD of 140 nodes has:

    >>> [int(part) for part in balanced_core(4, 20, 14, 40)]
    [28, 14]
    """
    joined, above, needed, ports = np.broadcast_arrays(*map(_whole, (pods, spines, uplinks, switch_ports)))
    core, wired = above * needed, needed.copy()
    candidates = np.arange(1, max(int(needed.max(initial=1)), 1) + 1)
    links = candidates * -(-needed[..., np.newaxis] // candidates)
    fits = links <= ports[..., np.newaxis] // 2
    for group in range(1, int(above.max(initial=1)) + 1):
        reach = joined * group
        works = fits & (reach[..., np.newaxis] * links <= candidates * ports[..., np.newaxis])
        first = np.argmax(works, axis=-1)
        total = candidates[first] * (above // group)
        better = np.any(works, axis=-1) & (above % group == 0) & (total < core)
        chosen = np.take_along_axis(links, first[..., np.newaxis], axis=-1)[..., 0]
        core, wired = np.where(better, total, core), np.where(better, chosen, wired)
    return _whole(core), _whole(wired)


def node_bandwidth(ports_per_node: ArrayLike, port_bandwidth: FloatLike) -> Floats:
    r"""Line rate of all ports of one node.

    .. math:: B = R b

    Parameters
    ----------
    ports_per_node : ArrayLike
        Ports, :math:`R`. [-]
    port_bandwidth : FloatLike
        Line rate of one in one direction, :math:`b`. [B/s]

    Returns
    -------
    bandwidth : Floats
        Line rate of the node in one direction. [B/s]

    References
    ----------
    .. [1] Hyperconnect AI Lab, "Building a high-performance deep-learning cluster, part 1," 2020:
       eight ports of 200 Gb/s are 1.6 Tb/s.

    Examples
    --------
    >>> float(node_bandwidth(8, 25e9))
    200000000000.0
    """
    return np.asarray(np.asarray(ports_per_node, dtype=float) * port_bandwidth)
