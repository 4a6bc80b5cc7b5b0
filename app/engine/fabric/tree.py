"""Whole trees: all levels together, at the bound and balanced."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from app.engine.fabric.counts import (
    ROUNDING,
    Counts,
    balanced_core,
    balanced_switches,
    leaf_switches,
    switches_for,
)
from app.engine.records import FloatLike, Floats
from app.errors import BadInput, Message


@dataclass(frozen=True, slots=True, kw_only=True)
class FatTree:
    """Counts of a fat tree; arrays of one shape. The bound fills every port, the rest is balanced."""

    levels: Counts
    """Switch levels: 1, 2 or 3. [-]"""
    rails: Counts
    """Planes of leaves, one per port of a node. [-]"""
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
    """Round up, forgiving what division leaves."""
    return np.ceil(np.asarray(value, dtype=float) - ROUNDING).astype(np.int64)


def fat_tree(
    nodes: ArrayLike, ports_per_node: ArrayLike, switch_ports: ArrayLike, oversubscription: FloatLike = 1.0
) -> FatTree:
    """Switches and cables of a network: one level, two or three, whichever is enough.

    All endpoints on one switch need no tree. Else nodes spread evenly over the leaves of each rail, and
    leaves over spines; more leaves than a spine has ports make pods under a core, whose spines pass as
    much up as they take from below.

    Parameters
    ----------
    nodes : ArrayLike
        Nodes. [-]
    ports_per_node : ArrayLike
        Ports of a node, one rail each. [-]
    switch_ports : ArrayLike
        Ports of a switch. [-]
    oversubscription : FloatLike
        Ports towards nodes per uplink that a leaf may have, at least 1. [-]

    Returns
    -------
    tree : FatTree
        Counts of switches and links at the bound and balanced. [-]

    Raises
    ------
    BadInput
        Where a count is below 1 or three levels do not suffice.

    References
    ----------
    .. [1] C. E. Leiserson, "Fat-trees: universal networks for hardware-efficient supercomputing,"
       IEEE Trans. Computers, vol. C-34, no. 10, 1985.
    .. [2] Hyperconnect AI Lab, "Building a high-performance deep-learning cluster, part 1," 2020.

    Examples
    --------
    Twenty nodes of eight ports on switches of 40, and forty of them:

    >>> tree = fat_tree([20, 40], 8, 40)
    >>> tree.leaf.tolist(), tree.spine.tolist(), tree.balanced_spine.tolist(), tree.cables.tolist()
    ([8, 16], [4, 8], [4, 10], [320, 640])
    """
    nodes, rails, ports = np.broadcast_arrays(
        *(np.asarray(part, dtype=np.int64) for part in (nodes, ports_per_node, switch_ports))
    )
    for name, count in ((Message("nodes"), nodes), (Message("ports per node"), rails)):
        if not np.all(count >= 1):
            raise BadInput(
                Message("{what} must be 1 or more, got {n}", {"what": name, "n": int(count.min())})
            )
    endpoints, half = nodes * rails, ports // 2
    single = endpoints <= ports
    leaf = np.where(single, 1, leaf_switches(nodes, rails, ports, oversubscription))
    if np.any(leaf > ports * half):
        raise BadInput(
            Message(
                "{n} leaf switches: three levels of {ports}-port switches join {most} at most; take switches "
                "with more ports, fewer ports per node, or more oversubscription",
                {
                    "n": int(leaf[leaf > ports * half].min()),
                    "ports": int(ports.min()),
                    "most": int((ports * half).min()),
                },
            )
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
