"""What the forms offer: software, and systems by maker."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from app.platform.catalogue import Catalogue
from app.platform.catalogue_model import Fabric, System
from app.platform.web.contexts import Choice, ChoiceGroup
from app.platform.wording.voice import Voice
from app.platform.workbench import Workbench


@dataclass(frozen=True, slots=True)
class SystemChoice:
    """One system that can be ticked."""

    id: str
    name: str
    detail: str
    fabrics: Sequence[Choice]
    default_fabric: str


@dataclass(frozen=True, slots=True)
class SystemGroup:
    """Systems under one heading; ``common`` groups are shown open."""

    name: str
    common: bool
    systems: Sequence[SystemChoice]


COMMON = {
    "dgx-a100-640gb",
    "dgx-a100-320gb",
    "ipu-m2000",
    "ipu-pod4",
    "ipu-pod16",
    "ipu-pod64",
    "ipu-pod128",
    "ipu-pod256",
    "bow-2000",
    "bow-pod16",
    "bow-pod64",
    "bow-pod128",
    "bow-pod256",
}
"""Systems customers ask about, shown open; generic nodes, clouds and older machines are folded."""

RENTED = "Cloud"

OTHER = "Other machines"


def softwares(bench: Workbench, voice: Voice, kind: str) -> list[ChoiceGroup]:
    """Return the software profiles of a kind, each with its date and what it was fitted on.

    What profiles are put together from or start from is left out.
    """
    profiles = bench.sizing.software.profiles
    groups: dict[str, list[Choice]] = {}
    for one in bench.catalogue.software.documents.values():
        profile = profiles[one.id]
        if kind == one.kind and profile.extends and profile.complete:
            families = ", ".join(voice.label(family) for family in one.families)
            detail = " · ".join(filter(None, (one.as_of[:7], families)))
            groups.setdefault(f"software.{one.kind}", []).append(Choice(one.id, one.name, detail))
    return [ChoiceGroup(name, found) for name, found in groups.items()]


def systems(catalogue: Catalogue) -> list[SystemGroup]:
    """Return the systems by maker, those customers ask about first."""
    scale_out = [fabric for fabric in catalogue.fabrics.documents.values() if fabric.id != "ipu-fabric"]
    groups: dict[str, list[SystemChoice]] = {}
    for system in catalogue.systems.documents.values():
        groups.setdefault(heading(system), []).append(system_choice(system, scale_out, catalogue))
    made = [SystemGroup(name, name not in {RENTED, OTHER}, found) for name, found in groups.items()]
    return sorted(made, key=lambda group: not group.common)


def heading(system: System) -> str:
    if system.acquisition == "rent":
        return RENTED
    return system.maker if system.id in COMMON else OTHER


def system_choice(system: System, scale_out: Iterable[Fabric], catalogue: Catalogue) -> SystemChoice:
    """Return one system as it is offered; pods come with their own fabric."""
    chip = catalogue.chips.get(system.chip)
    own = catalogue.fabrics.documents.get(system.fabric)
    offered = [own] if system.chip_kind == "ipu" or system.acquisition == "rent" else scale_out
    fabrics = [Choice(fabric.id, fabric.name.partition(" (")[0]) for fabric in offered if fabric is not None]
    return SystemChoice(system.id, system.name, f"{system.devices} × {chip.name}", fabrics, system.fabric)


def system_names(catalogue: Catalogue) -> list[ChoiceGroup]:
    """Return the systems by maker for a list to choose from, short enough to read when it is closed."""
    documents = catalogue.systems.documents

    def size(identifier: str) -> str:
        system = documents[identifier]
        return f"{system.devices} {'IPU' if system.chip_kind == 'ipu' else 'GPU'}"

    return [
        ChoiceGroup(group.name, [Choice(one.id, one.name, size(one.id)) for one in group.systems])
        for group in systems(catalogue)
    ]
