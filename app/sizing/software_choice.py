"""Which software profile an estimate uses where none is asked for: data/software_defaults.csv."""

from __future__ import annotations

from dataclasses import replace

from app.catalog import ChipKind
from app.catalog.software import DefaultSoftware, SoftwareProfile
from app.errors import BadInput, Message
from app.sizing.context import SizingContext
from app.sizing.document import Default


def default_software(
    family: str, convolutional: bool, chip: str, kind: ChipKind, context: SizingContext
) -> DefaultSoftware:
    """Return what usually runs a family or kind of network on a chip."""
    formats = (
        [] if kind is ChipKind.IPU else [one.value for one in context.catalog.gpu_chip(chip).matrix_peak]
    )
    network = "convolutional" if convolutional else ""
    return context.software.default(family, network, kind.value, chip, formats)


def choose_software(
    asked: str | None,
    family: str,
    convolutional: bool,
    chip: str,
    kind: ChipKind,
    context: SizingContext,
    defaults: list[Default],
) -> SoftwareProfile:
    """Return the software profile asked for, or the default of the chip and the family or kind of network."""
    if asked is not None:
        profile = context.software_profile(asked)
        if profile.kind != kind.value:
            raise BadInput.at(
                "software",
                "{software} is software for a {kind}; choose one for {chip}, or leave it out",
                software=asked,
                kind=profile.kind.upper(),
                chip=chip,
            )
        return profile
    usual = default_software(family, convolutional, chip, kind, context)
    profile = context.software.profile(usual.profile)
    defaults.append(
        Default.of(
            "software",
            usual.profile,
            Message(
                "usual for {models} on this chip since {since}; name your own for a narrower range",
                {"models": Message(usual.models), "since": usual.since[:4]},
            ),
        )
    )
    return replace(profile, presumed=True)
