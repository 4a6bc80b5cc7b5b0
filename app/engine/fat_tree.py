"""Switches and cables of fat trees, at the bound and balanced."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from app.engine.errors import OutOfRange
from app.engine.records import FloatLike, Floats

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
    OutOfRange
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
        raise OutOfRange("a switch needs 2 ports or more, got {n}", n=float(np.min(ports)))
    if not np.all(ratio >= 1):
        raise OutOfRange("oversubscription must be 1 or more, got {o}", o=float(np.min(ratio)))
    return np.minimum(_whole(np.floor(ports * ratio / (1.0 + ratio) + ROUNDING)), _whole(ports) - 1)


def leaf_switches(
    nodes: ArrayLike, ports_per_node: ArrayLike, switch_ports: ArrayLike, oversubscription: FloatLike = 1.0
) -> Counts:
    """Leaf switches of a rail-wise network: each rail, one for every port of a node, has its own.

    Twenty nodes on eight rails of 40-port switches need eight (Hyperconnect AI Lab 2020):

    >>> int(leaf_switches(20, 8, 40)), int(leaf_switches(140, 8, 40))
    (8, 56)
    """
    capacity = leaf_capacity(switch_ports, oversubscription)
    return _whole(ports_per_node) * -(-_whole(nodes) // capacity)


def switches_for(links: ArrayLike, ports: ArrayLike) -> Counts:
    """Fewest switches whose free ports take all links.

    A bound, since the links of a lower switch need not divide evenly over them.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class FatTree:
    """Counts of a fat tree; arrays of one shape. The bound fills every port, the rest is balanced."""

    levels: Counts
    """Switch levels: 1, 2 or 3. [-]"""
    rails: Counts
    """Planes of leaves, one per port of a node; 1 where all ports share their leaves. [-]"""
    leaf: Counts
    """Switches next to the nodes. [-]"""
    leaf_down: Counts
    """Nodes on the fullest leaf. [-]"""
    leaf_up: Counts
    """Uplinks it needs for the oversubscription. [-]"""
    spine: Counts
    """Least switches above the leaves. [-]"""
    core: Counts
    """Least switches above the spines; 0 with two levels. [-]"""
    uplinks: Counts
    """Uplinks of all leaves together at the bound. [-]"""
    endpoints: Counts
    """Ports of all nodes. [-]"""
    pods: Counts
    """Groups of leaves and spines under the core; 1 with two levels. [-]"""
    pod_leaf: Counts
    """Leaves of the largest pod. [-]"""
    balanced_spine: Counts
    """Spines over which each leaf's uplinks divide evenly. [-]"""
    balanced_up: Counts
    """Uplinks of a leaf then, a multiple of the spines it reaches. [-]"""
    balanced_core: Counts
    """Core switches over which each spine's uplinks divide evenly. [-]"""
    spine_up: Counts
    """Uplinks of a spine then. [-]"""

    @property
    def minimum_switches(self) -> Counts:
        """Leaves, spines and core of the bound. [-]"""
        return self.leaf + self.spine + self.core

    @property
    def switches(self) -> Counts:
        """Leaves, spines and core, balanced: what is bought. [-]"""
        return self.leaf + self.balanced_spine + self.balanced_core

    @property
    def minimum_cables(self) -> Counts:
        """Cables of nodes and between the switches of the bound. [-]"""
        return self.endpoints + self.uplinks * (self.levels - 1)

    @property
    def leaf_links(self) -> Counts:
        """Cables between leaves and spines, balanced. [-]"""
        return self.leaf * self.balanced_up

    @property
    def spine_links(self) -> Counts:
        """Cables between spines and core, balanced. [-]"""
        return self.balanced_spine * self.spine_up

    @property
    def cables(self) -> Counts:
        """Cables of nodes and between switches, balanced: what is bought. [-]"""
        return self.endpoints + self.leaf_links + self.spine_links

    @property
    def oversubscription(self) -> Floats:
        """Ports towards the nodes over uplinks on the fullest leaf, as wired. [-]"""
        up = np.where(self.levels == 1, self.leaf_down, self.balanced_up)
        return np.maximum(self.leaf_down / np.maximum(up, 1), 1.0)


def _up(value: ArrayLike) -> Counts:
    """Round up, ignoring rounding errors of divisions."""
    return np.ceil(np.asarray(value, dtype=float) - ROUNDING).astype(np.int64)


def fat_tree(
    nodes: ArrayLike,
    ports_per_node: ArrayLike,
    switch_ports: ArrayLike,
    oversubscription: FloatLike = 1.0,
    leaves: ArrayLike = 0,
) -> FatTree:
    """Switches and cables of a network: one level, two or three, whichever is enough.

    All endpoints on one switch need no tree. Else nodes spread evenly over the leaves of each rail, one for
    every port of a node, and leaves over spines; more leaves than a spine has ports make pods under a core,
    whose spines pass as much up as they take from below (Leiserson 1985). ``leaves`` asks for more than the
    fewest. Where a count is below 1 or three levels do not suffice it raises :class:`OutOfRange`.

    Twenty nodes of eight ports on switches of 40, and forty of them:

    >>> tree = fat_tree([20, 40], 8, 40)
    >>> tree.leaf.tolist(), tree.spine.tolist(), tree.balanced_spine.tolist(), tree.cables.tolist()
    ([8, 16], [4, 8], [4, 10], [320, 640])
    """
    nodes, rails, ports, leaves = np.broadcast_arrays(
        *(np.asarray(part, dtype=np.int64) for part in (nodes, ports_per_node, switch_ports, leaves))
    )
    if not np.all(nodes >= 1):
        raise OutOfRange("nodes must be 1 or more, got {n}", n=int(nodes.min()))
    if not np.all(rails >= 1):
        raise OutOfRange("ports per node must be 1 or more, got {n}", n=int(rails.min()))
    endpoints, half = nodes * rails, ports // 2
    single = endpoints <= ports
    leaf = np.maximum(leaf_switches(nodes, rails, ports, oversubscription), leaves)
    leaf = np.where(single, 1, leaf)
    if np.any(leaf > ports * half):
        raise OutOfRange(
            "{n} leaf switches: three levels of {ports}-port switches connect at most "
            "{most}; use switches with more ports, fewer ports per node, or higher "
            "oversubscription",
            n=int(leaf[leaf > ports * half].min()),
            ports=int(ports.min()),
            most=int((ports * half).min()),
        )
    deep = leaf > ports
    down = np.where(single, endpoints, -(-nodes // np.maximum(leaf // rails, 1)))
    up = np.where(single, 0, _up(down / np.asarray(oversubscription, dtype=float)))
    # The leaves of a rail differ by one node at most; those that have one fewer may need one uplink fewer.
    per_rail = np.maximum(leaf // rails, 1)
    fuller = nodes - (down - 1) * per_rail
    lesser = _up((down - 1) / np.asarray(oversubscription, dtype=float))
    uplinks = np.where(single, 0, rails * (fuller * up + (per_rail - fuller) * lesser))
    pods = np.where(deep, -(-leaf // half), 1)
    pod_leaf = -(-leaf // pods)
    facing = np.where(deep, half, ports)
    spines, wired = balanced_switches(pod_leaf, up, ports - down, facing)
    spines, wired = np.where(single, 0, spines), np.where(single, 0, wired)
    spine_down = pod_leaf * wired // np.maximum(spines, 1)
    core, spine_up = np.zeros_like(leaf), np.zeros_like(leaf)
    if np.any(deep):
        core[deep], spine_up[deep] = balanced_core(
            *(part[deep] for part in (pods, spines, spine_down, ports))
        )
    return FatTree(
        levels=np.where(single, 1, np.where(deep, 3, 2)),
        rails=rails,
        leaf=leaf,
        leaf_down=down,
        leaf_up=up,
        spine=np.where(single, 0, switches_for(uplinks, facing)),
        core=np.where(deep, switches_for(uplinks, ports), 0),
        uplinks=uplinks,
        endpoints=endpoints,
        pods=pods,
        pod_leaf=pod_leaf,
        balanced_spine=np.where(deep, pods * spines, spines),
        balanced_up=wired,
        balanced_core=core,
        spine_up=spine_up,
    )


def smallest_fat_tree(
    nodes: int, ports_per_node: int, switch_ports: int, oversubscription: float = 1.0
) -> FatTree:
    """Return the network of fewest switches, then cables: rails share leaves where that saves any.

    A leaf or two more than the fewest may need fewer spines, over which their uplinks divide evenly.

    Three nodes of 24 ports on switches of 64 need five, where every rail with its own leaf needs 26;
    twenty of eight ports on switches of 40 keep one leaf for each rail:

    >>> [int(smallest_fat_tree(*size).switches) for size in ((3, 24, 64), (20, 8, 40))]
    [5, 12]
    >>> int(fat_tree(3, 24, 64).switches), int(smallest_fat_tree(20, 8, 40).rails)
    (26, 8)
    """
    endpoints, most = nodes * ports_per_node, switch_ports * (switch_ports // 2)
    fewest = int(leaf_switches(endpoints, 1, switch_ports, oversubscription))
    separate = int(leaf_switches(nodes, ports_per_node, switch_ports, oversubscription))
    if endpoints <= switch_ports or fewest > most:
        return fat_tree(nodes, ports_per_node, switch_ports, oversubscription)
    counts = np.arange(fewest, min(max(separate, fewest), most) + 1)
    shared = fat_tree(endpoints, 1, switch_ports, oversubscription, counts)
    best = int(np.lexsort((shared.cables, shared.switches))[0])
    if separate <= most:
        by_rail = fat_tree(nodes, ports_per_node, switch_ports, oversubscription)
        if (by_rail.switches, by_rail.cables) <= (shared.switches[best], shared.cables[best]):
            return by_rail
    return FatTree(**{entry.name: getattr(shared, entry.name)[best] for entry in fields(shared)})
