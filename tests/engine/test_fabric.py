"""Fat trees against published clusters, and what every tree must keep."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.engine.errors import EngineError
from app.engine.fat_tree import balanced_switches, fat_tree

NODES = st.integers(1, 1500)

RAILS = st.integers(1, 8)

PORTS = st.sampled_from([16, 24, 32, 36, 40, 48, 64, 128])

RATIO = st.sampled_from([1.0, 1.5, 2.0, 3.0, 4.0])


@pytest.mark.parametrize(
    ("nodes", "leaf", "spine", "balanced", "core", "cables"),
    [
        (20, 8, 4, 4, 0, 320),  # Hyperconnect: eight leaves with 20 + 20 ports, 160 uplinks
        (40, 16, 8, 10, 0, 640),  # 20 uplinks do not divide by 8
        (140, 56, 56, 60, 28, 3360),  # SuperPOD of seven units: 56 leaves, 28 core switches
    ],
)
def test_published_clusters_of_eight_rails(
    nodes: int, leaf: int, spine: int, balanced: int, core: int, cables: int
) -> None:
    tree = fat_tree(nodes, 8, 40)
    assert (tree.leaf, tree.spine, tree.balanced_spine, tree.core) == (leaf, spine, balanced, core)
    assert tree.minimum_cables == cables


def test_ten_thousand_endpoints_have_the_leaves_and_spines_of_fire_flyer() -> None:
    # Fire-Flyer (SC24) counts 320 core, 500 spine and 500 leaf switches for 10,000 endpoints of a DGX design.
    tree = fat_tree(10_000, 1, 40)
    assert (tree.leaf, tree.spine) == (500, 500)
    assert tree.core <= 320 <= tree.balanced_core


def test_one_switch_where_all_endpoints_fit() -> None:
    fits, grows = fat_tree(5, 8, 40), fat_tree(6, 8, 40)
    assert (fits.levels, fits.minimum_switches, fits.cables, fits.oversubscription) == (1, 1, 40, 1.0)
    assert (grows.levels, grows.leaf, grows.spine) == (2, 8, 2)


@pytest.mark.parametrize(("levels", "endpoints"), [(1, 36), (2, 36**2 // 2), (3, 36**3 // 4)])
def test_full_trees_have_no_port_left(levels: int, endpoints: int) -> None:
    full = fat_tree(endpoints, 1, 36)
    assert full.levels == levels
    assert (full.spine, full.core) == (full.balanced_spine, full.balanced_core)
    free = 36 * full.switches - full.endpoints - 2 * (full.leaf_links + full.spine_links)
    assert free == 0


def test_more_than_three_levels_are_refused_with_a_way_out() -> None:
    fat_tree(2000, 8, 40)
    for nodes, rails, ports, ratio in [
        (2001, 8, 40, 1.0),
        (0, 8, 40, 1.0),
        (1, 0, 40, 1.0),
        (1, 1, 1, 1.0),
        (1, 1, 40, 0.5),
    ]:
        with pytest.raises(EngineError):
            fat_tree(nodes, rails, ports, ratio)


@given(nodes=NODES, rails=RAILS, ports=PORTS, ratio=RATIO)
def test_no_switch_has_more_links_than_ports(nodes: int, rails: int, ports: int, ratio: float) -> None:
    try:
        tree = fat_tree(nodes, rails, ports, ratio)
    except EngineError:
        assert nodes * rails > ports * (ports // 2) ** 2 // 4
        return
    assert tree.leaf_down + tree.balanced_up <= ports
    assert tree.balanced_up >= tree.leaf_up
    assert tree.minimum_switches <= tree.switches
    assert tree.minimum_cables <= tree.cables
    assert tree.leaf * tree.leaf_down >= tree.endpoints
    if tree.levels == 1:
        assert nodes * rails <= ports
        return
    spines = tree.balanced_spine // tree.pods
    assert tree.balanced_up % spines == 0 or tree.levels == 3
    assert tree.pod_leaf * tree.balanced_up <= spines * (ports - tree.spine_up)
    assert tree.spine_links <= tree.balanced_core * ports
    if tree.levels == 3:
        # A spine passes as much up as it takes from below.
        assert tree.spine_up * spines >= tree.pod_leaf * tree.balanced_up


@given(nodes=NODES, rails=RAILS, ports=PORTS, ratio=RATIO)
def test_a_tree_blocks_only_where_it_is_oversubscribed(
    nodes: int, rails: int, ports: int, ratio: float
) -> None:
    try:
        tree = fat_tree(nodes, rails, ports, ratio)
    except EngineError:
        return
    assert 1.0 <= tree.oversubscription <= ratio + 1e-9
    if ratio == 1.0:
        assert tree.uplinks == (0 if tree.levels == 1 else tree.endpoints)


@given(rails=RAILS, ports=PORTS)
def test_more_nodes_never_need_fewer_switches_at_the_bound(rails: int, ports: int) -> None:
    leaves_of_a_rail = ports * (ports // 2) // rails
    nodes = np.arange(1, min(leaves_of_a_rail * (ports // 2), 400) + 1)
    tree = fat_tree(nodes, rails, ports)
    assert np.all(np.diff(tree.minimum_switches) >= 0)
    assert np.all(np.diff(tree.minimum_cables) >= 0)


@given(lower=st.integers(1, 40), uplinks=st.integers(1, 20))
def test_the_fewest_balanced_spines_are_found(lower: int, uplinks: int) -> None:
    spines, wired = balanced_switches(lower, uplinks, 20, 40)
    assert wired % spines == 0
    assert uplinks <= wired <= 20
    for fewer in range(1, int(spines)):
        each = fewer * -(-uplinks // fewer)
        assert each > 20 or lower * each > 40 * fewer


def test_arrays_answer_as_single_values_do() -> None:
    nodes = [1, 5, 6, 20, 21, 40, 140, 1000]
    together = fat_tree(nodes, 8, 40, 1.5)
    alone = [fat_tree(n, 8, 40, 1.5) for n in nodes]
    for field in ("levels", "leaf", "spine", "balanced_spine", "core", "balanced_core", "spine_up", "cables"):
        assert getattr(together, field).tolist() == [int(getattr(one, field)) for one in alone]
