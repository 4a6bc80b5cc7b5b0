"""MIG profiles of a GPU as the catalogue has them, and instances packed onto GPUs."""

from __future__ import annotations

from collections.abc import Sequence

from app.catalog import Catalog
from app.engine.slices import SlicedGpu, SliceProfile, arrangement, gpus_for_slices
from app.errors import BadInput, NotFound
from app.sizing.tenancy.documents import SliceRoom

COMPUTE, MEMORY, PLACES = "mig_compute_slices", "mig_memory_slices", "mig_placements"


def sliced_gpu(catalog: Catalog, chip: str) -> SlicedGpu | None:
    """Return how a chip can be cut; None where it cannot."""
    compute, memory = catalog.find(chip, COMPUTE), catalog.find(chip, MEMORY)
    return None if compute is None or memory is None else SlicedGpu(round(compute.si), round(memory.si))


def profiles_of(catalog: Catalog, chip: str) -> dict[str, SliceProfile]:
    """Return the MIG profiles of a chip by name, the smallest first."""
    found = [
        SliceProfile(
            memory=round(catalog.figure(chip, MEMORY, name).si),
            compute=round(catalog.figure(chip, COMPUTE, name).si),
            starts=tuple(int(start) for start in catalog.figure(chip, PLACES, name).text.split()),
            name=name,
        )
        for name in catalog.conditions(chip, PLACES)
    ]
    return {one.name: one for one in sorted(found)}


def profile_named(catalog: Catalog, chip: str, name: str, field: str) -> SliceProfile:
    """Return a profile, or say which there are."""
    profiles = profiles_of(catalog, chip)
    if not profiles:
        raise BadInput.at(
            field, "{chip} has no MIG; leave the profile out", chip=catalog.item("chip", chip).name
        )
    if name not in profiles:
        raise NotFound.named("MIG profile", name, profiles, field)
    return profiles[name]


def cut_gpus(
    instances: Sequence[tuple[int, SliceProfile]], gpu: SlicedGpu
) -> list[list[tuple[int, SliceProfile, int]]]:
    """Return the GPUs that hold instances: request, profile and first memory slice of each."""
    kinds = [profile for _, profile in instances]
    found = []
    for share in gpus_for_slices(kinds, gpu):
        ordered = sorted(share, key=lambda at: kinds[at])
        starts = arrangement(tuple(kinds[at] for at in ordered), gpu)
        assert starts is not None, "the packer puts together only what fits"
        found.append(
            [(instances[at][0], kinds[at], start) for at, start in zip(ordered, starts, strict=True)]
        )
    return found


def room_left(
    cut: Sequence[Sequence[tuple[int, SliceProfile, int]]], profiles: Sequence[SliceProfile], gpu: SlicedGpu
) -> list[SliceRoom]:
    """Return how many instances of each profile still fit on GPUs that are cut, were they laid out anew."""
    found = []
    for profile in profiles:
        more = 0
        for share in cut:
            held = [one for _, one, _ in share]
            while arrangement(tuple(sorted([*held, profile])), gpu) is not None:
                held.append(profile)
                more += 1
        if more:
            found.append(SliceRoom(slice=profile.name, more=more))
    return found
