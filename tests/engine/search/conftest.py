"""Spaces of plans for the tests of the search, and plans as rows that can be compared."""

from dataclasses import fields

from hypothesis import strategies as st

from app.engine.plans import Plans
from app.engine.search.enumeration import plans_of, spread_of
from app.engine.search.space import Space, layouts

NAMES = tuple(entry.name for entry in fields(Plans))


def space(**changes: object) -> Space:
    values = {
        "devices": 64,
        "devices_per_node": 8,
        "global_batch": 512,
        "depth": 24,
        "heads": 16,
        "ipu": False,
        "allowed": {},
    }
    return Space(**(values | changes))


def gpu_plans(asked: Space) -> Plans:
    """Return every legal plan of a space."""
    return plans_of(spread_of(asked, layouts(asked)))


def rows(plans: Plans, names: tuple[str, ...] = NAMES) -> list[tuple[float, ...]]:
    """Return one tuple of each plan."""
    return list(zip(*(getattr(plans, name).tolist() for name in names), strict=True))


spaces = st.builds(
    space,
    devices=st.sampled_from([1, 2, 3, 4, 6, 8, 16, 24, 32, 64, 128]),
    global_batch=st.integers(1, 512),
    depth=st.integers(1, 48),
    heads=st.sampled_from([0, 1, 4, 12, 16, 25]),
    experts=st.sampled_from([1, 1, 8, 12]),
    fused_attention=st.booleans(),
)

ipu_spaces = st.builds(
    space,
    devices=st.sampled_from([4, 16, 64, 256]),
    devices_per_node=st.just(4),
    global_batch=st.integers(1, 2048),
    depth=st.integers(1, 96),
    heads=st.sampled_from([0, 12, 16, 32]),
    ipu=st.just(True),
)
