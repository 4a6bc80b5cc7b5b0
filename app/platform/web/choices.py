"""What the forms offer: software, and systems by maker."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from app.catalog.own import PREFIX
from app.platform.catalogue import Catalogue
from app.platform.catalogue_model import Fabric, System
from app.platform.web.contexts import Choice, ChoiceGroup
from app.platform.wording.voice import Voice
from app.platform.workspace import Workspace


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


COMMON = (
    "dgx-a100-640gb",
    "dgx-a100-320gb",
    "dgx-h100",
    "dgx-h200",
    "dgx-b200",
    "dgx-b300",
    "gb200-nvl72",
    "gb300-nvl72",
    "mi300x-8",
    "mi325x-8",
    "mi355x-8",
    "gaudi2-8",
    "gaudi3-8",
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
)
"""Systems customers ask about, shown open; generic nodes, clouds and older machines are folded."""

OWN_NAMES = {"Google": "TPU", "Intel": "Gaudi", "Amazon Web Services": "Trainium"}
"""What accelerators are called whose makers do not call them GPUs."""

RENTED = "Cloud"

OTHER = "Other machines"

ADDED = "Your accelerators"


def softwares(workspace: Workspace, voice: Voice, kind: str) -> list[ChoiceGroup]:
    """Return the software profiles of a kind, each with its date and what it was fitted on.

    What profiles are put together from or start from is left out.
    """
    profiles = workspace.sizing.software.profiles
    groups: dict[str, list[Choice]] = {}
    for software in workspace.catalogue.software.documents.values():
        profile = profiles[software.id]
        if kind == software.kind and profile.extends and profile.complete:
            families = ", ".join(voice.label(family) for family in software.families)
            detail = " · ".join(filter(None, (software.as_of[:7], families)))
            groups.setdefault(f"software.{software.kind}", []).append(
                Choice(software.id, software.name, detail)
            )
    return [ChoiceGroup(name, choices) for name, choices in groups.items()]


def systems(catalogue: Catalogue) -> list[SystemGroup]:
    """Return the systems by maker, those customers ask about first."""
    scale_out = [fabric for fabric in catalogue.fabrics.documents.values() if is_bought(fabric)]
    groups: dict[str, list[SystemChoice]] = {}
    for system in catalogue.systems.listed:
        groups.setdefault(heading(system), []).append(system_choice(system, scale_out, catalogue))
    system_groups = [
        SystemGroup(name, name not in {RENTED, OTHER}, choices) for name, choices in groups.items()
    ]
    return sorted(system_groups, key=lambda group: (group.name != ADDED, not group.common))


def is_bought(fabric: Fabric) -> bool:
    """Tell whether there are switches for a fabric; those of clouds come with what is rented."""
    return any(figure.parameter == "switch" for figure in fabric.figures)


def heading(system: System) -> str:
    if system.id.startswith(PREFIX):
        return ADDED
    if system.acquisition == "rent":
        return RENTED
    return system.maker if system.id in COMMON else OTHER


def system_choice(system: System, scale_out: Iterable[Fabric], catalogue: Catalogue) -> SystemChoice:
    """Return one system as it is offered; pods come with their own fabric."""
    chip = catalogue.chips.get(system.chip)
    own = catalogue.fabrics.documents.get(system.fabric)
    alone = system.chip_kind == "ipu" or system.acquisition == "rent"
    offered = [own] if alone else [*scale_out, *([] if own is None or own in scale_out else [own])]
    fabrics = [Choice(fabric.id, fabric.name.partition(" (")[0]) for fabric in offered if fabric is not None]
    return SystemChoice(system.id, system.name, f"{system.devices} × {chip.name}", fabrics, system.fabric)


@lru_cache(maxsize=4)
def system_names(catalogue: Catalogue) -> list[ChoiceGroup]:
    """Return the systems by maker for a list to choose from, short enough to read when it is closed."""
    documents = catalogue.systems.documents

    def size(identifier: str) -> str:
        system = documents[identifier]
        chip = catalogue.chips.get(system.chip)
        kind = "IPU" if system.chip_kind == "ipu" else OWN_NAMES.get(chip.maker, "GPU")
        return f"{system.devices} {kind}"

    return [
        ChoiceGroup(group.name, [Choice(one.id, one.name, size(one.id)) for one in group.systems])
        for group in systems(catalogue)
    ]
