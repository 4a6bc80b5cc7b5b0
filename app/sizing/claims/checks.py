"""What to beware of in a vendor claim."""

from __future__ import annotations

from app.catalog import Catalog, VendorRatio
from app.errors import Message
from app.sizing.checks import MK2
from app.sizing.claims.documents import Reading
from app.sizing.document import CheckWarning


def claim_warnings(
    ratio: VendorRatio, readings: list[Reading], catalog: Catalog, efficiency: float
) -> list[CheckWarning]:
    """Return what to beware of in one claim."""
    name = catalog.system(ratio.claimed.system).name
    found = [
        CheckWarning.of(
            "vendor_figure",
            "caution",
            Message("{rows}: published by the vendor; nobody else has measured it", {"rows": ratio.model}),
            "ratio",
        )
    ]
    if ratio.linear and efficiency == 1:
        found.append(
            CheckWarning.of(
                "linear_scaling_assumed",
                "caution",
                Message(
                    "{rows}: extrapolated, not measured; real scaling falls short of it, so this flatters "
                    "the row",
                    {"rows": f"{ratio.baseline.count} × {catalog.system(ratio.baseline.system).name}"},
                ),
                "ratio",
            )
        )
    if ratio.metric == "unstated_throughput":
        found.append(
            CheckWarning.of(
                "base_not_stated",
                "caution",
                Message(
                    "{model}: the source does not say whether training or inference is meant",
                    {"model": ratio.model},
                ),
                "metric",
            )
        )
    if catalog.system(ratio.claimed.system).chip in MK2:
        found.append(
            CheckWarning.of(
                "generation_mk2",
                "info",
                Message(
                    "{system} carries Mk2 IPUs (GC200); Bow systems of the same size run at a 40 % "
                    "higher clock",
                    {"system": name},
                ),
                "claimed",
            )
        )
    return [*found, *_of_readings(ratio, readings)]


def _of_readings(ratio: VendorRatio, readings: list[Reading]) -> list[CheckWarning]:
    if not readings:
        return []
    first = readings[0]
    software = first.claimed.phases[0].software
    found = [
        CheckWarning.of(
            "software_era_differs",
            "info",
            Message(
                "the claim rests on {era}; the oldest software the catalogue knows on that side is "
                "{software}, of later date and hardly slower, which is in favour of the claim",
                {"era": ratio.software_era, "software": software},
            ),
            "readings",
        )
    ]
    sides = (first.claimed, first.baseline)
    doubtful = [
        side.name for side in sides if any(phase.validation == "unvalidated" for phase in side.phases)
    ]
    if doubtful:
        found.append(
            CheckWarning.of(
                "unvalidated",
                "caution",
                Message(
                    "{model} was never measured on {systems}: the estimate rests on other networks",
                    {"model": ratio.model, "systems": ", ".join(dict.fromkeys(doubtful))},
                ),
                "readings",
            )
        )
    return found


def unmeasured(reading: Reading) -> bool:
    """Tell whether no measured run reaches as far as either side."""
    sides = (reading.claimed, reading.baseline)
    return all(phase.validation == "unvalidated" for side in sides for phase in side.phases)


def power_basis_differs() -> CheckWarning:
    """Say that power figures of the two vendors do not mean the same."""
    message = Message(
        "typical power is measured in training for DGX A100 and stated by the vendor for IPU-M2000, the "
        "maximum is that of the data sheet for the one and of the power supplies for the other; typical is "
        "set against typical here, maximum against maximum"
    )
    return CheckWarning.of("power_basis_differs", "caution", message, "parity", "footings")


def network_left_out() -> CheckWarning:
    """Say that several machines need a network whose price is not counted here."""
    message = Message(
        "the price of several DGX A100 is that of the machines: their network comes on top, while an "
        "IPU-POD64 brings its own"
    )
    return CheckWarning.of("capex_excludes_fabric", "info", message, "parity", "footings")
