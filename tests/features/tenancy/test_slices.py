"""Instances of an A100: the combinations the vendor lists, and no others."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.catalog.catalog import load_catalog
from app.engine.partition import SlicedGpu, SliceProfile, arrangement, gpus_for_slices
from app.features.tenancy.nodes import profiles_of, sliced_gpu
from tests.conftest import DATA

CATALOG = load_catalog(DATA)

CHIP = "a100-sxm-40gb"

PROFILES = profiles_of(CATALOG, CHIP)

GPU = sliced_gpu(CATALOG, CHIP) or SlicedGpu(0, 0)

KNOWN = (
    "7g.40gb",
    "4g.20gb 3g.20gb",
    "4g.20gb 2g.10gb 1g.5gb",
    "4g.20gb 1g.5gb 1g.5gb 1g.5gb",
    "3g.20gb 3g.20gb",
    "3g.20gb 2g.10gb 1g.5gb",
    "3g.20gb 1g.5gb 1g.5gb 1g.5gb",
    "2g.10gb 2g.10gb 3g.20gb",
    "2g.10gb 1g.5gb 1g.5gb 3g.20gb",
    "2g.10gb 2g.10gb 2g.10gb 1g.5gb",
    "2g.10gb 2g.10gb 1g.5gb 1g.5gb 1g.5gb",
    "2g.10gb 1g.5gb 1g.5gb 1g.5gb 1g.5gb 1g.5gb",
    "1g.5gb 1g.5gb 1g.5gb 1g.5gb 1g.5gb 1g.5gb 1g.5gb",
)
"""The geometries that nebuly-ai/nos knows of the A100 (pkg/gpu/mig/known_configs.go), with 4g + 3g of "
"the guide."""

IMPOSSIBLE = (
    "4g.20gb 4g.20gb",
    "7g.40gb 1g.5gb",
    "3g.20gb 3g.20gb 1g.5gb",
    "2g.10gb 2g.10gb 2g.10gb 2g.10gb",
    "4g.20gb 2g.10gb 2g.10gb",
)
"""4g begins at 0 only, 2g at 0, 2 and 4 only; two 3g take all eight memory slices."""


def named(cut: str) -> tuple[SliceProfile, ...]:
    return tuple(PROFILES[name] for name in cut.split())


@pytest.mark.parametrize("cut", KNOWN)
def test_known_combinations_fit(cut: str) -> None:
    profiles = named(cut)
    starts = arrangement(profiles, GPU)
    assert starts is not None
    taken = [start + at for start, one in zip(starts, profiles, strict=True) for at in range(one.memory)]
    assert len(taken) == len(set(taken)) and max(taken) < GPU.memory
    assert all(start in one.starts for start, one in zip(starts, profiles, strict=True))


@pytest.mark.parametrize("cut", IMPOSSIBLE)
def test_others_do_not(cut: str) -> None:
    assert arrangement(named(cut), GPU) is None


def test_the_most_instances_of_each_are_those_of_the_table() -> None:
    """“Instances available” of nvidia-smi mig -lgip: 7, 4, 3, 2, 1, 1."""
    most = {}
    for name, one in PROFILES.items():
        count = 1
        while arrangement((one,) * (count + 1), GPU) is not None:
            count += 1
        most[name] = count
    assert most == {"1g.5gb": 7, "1g.10gb": 4, "2g.10gb": 3, "3g.20gb": 2, "4g.20gb": 1, "7g.40gb": 1}


@given(st.lists(st.sampled_from(sorted(PROFILES)), max_size=20))
def test_every_instance_gets_a_gpu_it_fits_on(names: list[str]) -> None:
    instances = [PROFILES[name] for name in names]
    shares = gpus_for_slices(instances, GPU)
    assert sorted(at for share in shares for at in share) == list(range(len(names)))
    for share in shares:
        assert arrangement(tuple(sorted(instances[at] for at in share)), GPU) is not None
    assert len(shares) * GPU.memory >= sum(one.memory for one in instances)


def test_an_80_gb_chip_has_the_same_cuts_under_other_names() -> None:
    large = profiles_of(CATALOG, "a100-pcie-80gb")
    assert list(large) == ["1g.10gb", "1g.20gb", "2g.20gb", "3g.40gb", "4g.40gb", "7g.80gb"]
    assert Counter((one.memory, one.compute, one.starts) for one in large.values()) == Counter(
        (one.memory, one.compute, one.starts) for one in PROFILES.values()
    )
    assert sliced_gpu(CATALOG, "v100") is None and profiles_of(CATALOG, "bow") == {}
