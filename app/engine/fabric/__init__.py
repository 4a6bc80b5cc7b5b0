r"""Fat trees: how many switches and cables join so many nodes, in one, two or three levels.

Every port of a node is a rail of its own: port :math:`i` of all nodes meets in the leaves of rail
:math:`i`. Leaves are joined by spines; where there are more leaves than a spine has ports, leaves and
spines form pods that are joined by core switches. Counts are arrays of whole numbers.
"""

from app.engine.fabric.counts import (
    Counts,
    balanced_core,
    balanced_switches,
    leaf_capacity,
    leaf_switches,
    node_bandwidth,
    switches_for,
)
from app.engine.fabric.tree import FatTree, fat_tree

__all__ = [
    "Counts",
    "FatTree",
    "balanced_core",
    "balanced_switches",
    "fat_tree",
    "leaf_capacity",
    "leaf_switches",
    "node_bandwidth",
    "switches_for",
]
