"""From claims and their estimates to one document with verdicts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from app.catalog.catalog import Catalog
from app.catalog.vendor_ratios import VendorRatio
from app.engine.units import HOUR
from app.errors import Message, NotFound
from app.estimating.checks import MK2
from app.estimating.documents import CheckWarning, Text
from app.estimating.ranges import quantity, significant, spread_quantity
from app.estimating.schema import Quantity
from app.features.claims.estimates import (
    ERAS,
    ClaimEstimate,
    EstimatedSide,
    Estimates,
    Phase,
    SystemAmounts,
    amounts_of,
)
from app.features.claims.footing import decided, footings, parity_of, published, source_ref
from app.features.claims.model import (
    ClaimSide,
    ClaimsRequest,
    Era,
    PhaseEstimate,
    PublishedHours,
    Reading,
    VendorClaim,
    VendorClaims,
    Verdict,
    check,
)


def claim_warnings(
    ratio: VendorRatio, readings: list[Reading], catalog: Catalog, efficiency: float
) -> list[CheckWarning]:
    """Return what to beware of in one claim."""
    name = catalog.system(ratio.claimed.system).name
    found = [
        CheckWarning.of(
            "vendor_figure",
            "caution",
            Message("{rows}: published by the vendor; not independently measured", {"rows": ratio.model}),
            "ratio",
        )
    ]
    if ratio.linear and efficiency == 1:
        found.append(
            CheckWarning.of(
                "linear_scaling_assumed",
                "caution",
                Message(
                    "{rows}: extrapolated, not measured; real scaling falls short of it, which "
                    "flatters the row",
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
                    "{model}: the source does not say whether it means training or inference",
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
                    "{system} uses Mk2 IPUs (GC200); Bow systems of the same size run at a 40 % higher clock",
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
                "the claim is based on {era}; the oldest software the catalogue has for that "
                "side is {software}, which is newer and hardly slower, so it favours the claim",
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
                    "{model} has never been measured on {systems}; the estimate is based on "
                    "other neural networks",
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
        "typical power is measured in training for DGX A100 and stated by the vendor for "
        "IPU-M2000; maximum power is from the data sheet for the former and from the power "
        "supplies for the latter; typical is compared with typical, maximum with maximum"
    )
    return CheckWarning.of("power_basis_differs", "caution", message, "parity", "footings")


def network_left_out() -> CheckWarning:
    """Say that several machines need a network whose price is not counted here."""
    message = Message(
        "the price of several DGX A100 covers the machines only: their network costs extra, "
        "while an IPU-POD64 includes its own"
    )
    return CheckWarning.of("capex_excludes_fabric", "info", message, "parity", "footings")


BOW_CLAIM = "vendor-bow-40"
"""Claim of the catalogue that says by how much Bow is faster, at most."""

BOW = {"ipu-pod64": "bow-pod64"}
"""System of the second generation → that of its successor of the same size."""


def claims_of(catalog: Catalog, estimates: Estimates, asked: ClaimsRequest) -> VendorClaims:
    """Return every claim with its verdict, estimated with software of the time."""
    check(asked)
    return VendorClaims(
        items=[_claim(ratio, catalog, estimates, asked, ERAS[:1]) for ratio in catalog.vendor_ratios],
        hours=_hours(catalog, estimates, asked.scaling_efficiency),
        parity=parity_of(catalog, asked),
        assumptions=asked,
        catalog_version=catalog.version,
        warnings=[power_basis_differs(), network_left_out()],
    )


def claim_of(claim_id: str, catalog: Catalog, estimates: Estimates, asked: ClaimsRequest) -> VendorClaim:
    """Return one claim, estimated with software of the time and the best later, or say which there are."""
    check(asked)
    known = {ratio.id: ratio for ratio in catalog.vendor_ratios}
    if claim_id not in known:
        raise NotFound.named("vendor claim", claim_id, known, "id")
    return _claim(known[claim_id], catalog, estimates, asked, ERAS)


def _claim(
    ratio: VendorRatio, catalog: Catalog, estimates: Estimates, asked: ClaimsRequest, eras: Sequence[Era]
) -> VendorClaim:
    efficiency = asked.scaling_efficiency
    eras = eras if ratio.modelled else ()
    readings = [_reading(era, ratio, estimates.of(ratio, era), catalog, asked) for era in eras]
    verdict = _verdict(ratio, readings)
    return VendorClaim(
        id=ratio.id,
        statement=Text.of(Message(ratio.statement)),
        quote=ratio.quote,
        ratio=ratio.value,
        also=ratio.also,
        restated=published(ratio, efficiency) if ratio.linear else None,
        metric=ratio.metric,
        model=ratio.model,
        base=Text.of(_base(ratio, catalog)),
        software_era=ratio.software_era,
        unclear=Text.of(Message(ratio.unclear)),
        source=source_ref(catalog, ratio.source.id),
        others=[source_ref(catalog, one.id) for one in ratio.others],
        as_of=ratio.as_of,
        verdict=verdict,
        sentence=Text.of(_sentence(ratio, verdict, readings)),
        readings=readings,
        warnings=claim_warnings(ratio, readings, catalog, efficiency),
    )


def _verdict(ratio: VendorRatio, readings: list[Reading]) -> Verdict:
    """Return what becomes of a claim; where nothing measured stands behind either side, nothing is said."""
    if not readings:
        return "not_comparable" if ratio.metric == "unstated_throughput" else "not_modelled"
    if unmeasured(readings[0]):
        return "not_comparable"
    return decided(readings[0].footings)


def _base(ratio: VendorRatio, catalog: Catalog) -> Message:
    claimed, baseline = catalog.system(ratio.claimed.system), catalog.system(ratio.baseline.system)
    places: dict[str, object] = {
        "claimed": claimed.name,
        "claimed_devices": ratio.claimed.devices,
        "baseline": baseline.name,
        "baseline_count": ratio.baseline.count,
        "baseline_devices": ratio.baseline.devices,
    }
    if ratio.baseline.devices < baseline.devices:
        return Message(
            "one {claimed} with {claimed_devices} IPUs versus one of the 8 GPUs of a {baseline}", places
        )
    if ratio.baseline.count == 1:
        return Message(
            "one {claimed} with {claimed_devices} IPUs versus one {baseline} with {baseline_devices} GPUs",
            places,
        )
    return Message(
        "one {claimed} with {claimed_devices} IPUs versus {baseline_count} × {baseline} with "
        "{baseline_devices} GPUs, scaled linearly from one",
        places,
    )


def _sentence(ratio: VendorRatio, verdict: Verdict, readings: list[Reading]) -> Message:
    if not readings:
        return Message("{reason}; we have no figure to compare", {"reason": Message(ratio.reason)})
    if verdict == "not_comparable":
        return Message(
            "no measurement supports either side of our estimate, so it neither confirms nor "
            "refutes the {claimed}×",
            {"claimed": ratio.value},
        )
    by_name = {one.footing: significant(one.ours.value, 2) for one in readings[0].footings}
    places = {
        "claimed": ratio.value,
        "base": by_name["as_claimed"],
        "chip": by_name["per_chip"],
        "dollar": by_name["per_dollar"],
        "watt": by_name["per_watt_typical"],
    }
    sentences = {
        "survives": Message(
            "holds on equal footing: {chip}× per chip, {dollar}× per dollar and {watt}× per watt reach "
            "the {claimed}×",
            places,
        ),
        "shrinks": Message(
            "shrinks on equal footing: for the claimed {claimed}× we find {base}× on its own "
            "basis, {chip}× per chip, {dollar}× per dollar and {watt}× per watt",
            places,
        ),
        "does_not_survive": Message(
            "no advantage can be shown on equal footing: for the claimed {claimed}× we find "
            "{base}× on its own basis, {chip}× per chip, {dollar}× per dollar and {watt}× per "
            "watt",
            places,
        ),
    }
    return sentences[verdict]


def _reading(
    era: Era, ratio: VendorRatio, estimated: ClaimEstimate, catalog: Catalog, asked: ClaimsRequest
) -> Reading:
    claimed = amounts_of(ratio.claimed.system, catalog, asked)
    baseline = amounts_of(ratio.baseline.system, catalog, asked)
    return Reading(
        era=era,
        claimed=_side(estimated.claimed, claimed, catalog),
        baseline=_side(estimated.baseline, baseline, catalog),
        whole=_side(estimated.whole, baseline, catalog),
        footings=footings(ratio, estimated, claimed, baseline, asked.scaling_efficiency),
    )


def _side(side: EstimatedSide, amounts: SystemAmounts, catalog: Catalog) -> ClaimSide:
    return ClaimSide(
        system=side.entry.id,
        name=side.entry.name,
        count=side.count,
        devices=side.devices,
        chip=side.entry.chip,
        time=quantity(side.seconds, side.samples, "s"),
        price=spread_quantity(amounts.price),
        power_typical=spread_quantity(amounts.typical),
        power_maximum=spread_quantity(amounts.maximum),
        published_hours=side.hours,
        phases=[_phase(phase, catalog) for phase in side.phases],
    )


def _phase(phase: Phase, catalog: Catalog) -> PhaseEstimate:
    plans, run, stated = phase.sizing.choice.plans, phase.run, phase.stated
    batch = float(np.ravel(plans.global_batch)[0])
    return PhaseEstimate(
        phase=stated.phase,
        samples=run.samples,
        seq_len=stated.seq_len,
        global_batch=int(batch),
        micro_batch=int(np.ravel(plans.micro_batch)[0]),
        precision=phase.sizing.scenario.precision.value,
        software=phase.sizing.scenario.software.id,
        throughput=quantity(batch / run.step_seconds, batch / run.step_samples, "samples/s"),
        time=quantity(phase.seconds, phase.samples, "s"),
        validation=phase.status,
        basis=stated.note,
        source=source_ref(catalog, stated.source.id),
        request=phase.request.model_dump(mode="json", exclude_unset=True),
    )


def _hours(catalog: Catalog, estimates: Estimates, efficiency: float) -> list[PublishedHours]:
    """Return the published times to train of all claims that have any, the slowest first."""
    found: dict[tuple[str, int], PublishedHours] = {}
    for ratio in catalog.vendor_ratios:
        claimed, baseline = ratio.claimed, ratio.baseline
        if claimed.hours is None or baseline.hours is None:
            continue
        known = estimates.of(ratio, ERAS[0]) if ratio.modelled else None
        loss = efficiency if ratio.linear else 1.0
        for machinery, hours, side in (
            (baseline, baseline.hours / baseline.count / loss, known.baseline if known else None),
            (claimed, claimed.hours, known.claimed if known else None),
        ):
            entry = catalog.system(machinery.system)
            linear = machinery is baseline and ratio.linear
            found[machinery.system, machinery.count] = PublishedHours(
                label=f"{machinery.count} × {entry.name}",
                kind="linear" if linear else "vendor",
                hours=hours,
                ceiling=False,
                system=machinery.system,
                count=machinery.count,
                ours=_hours_of(side),
                ratio=hours / claimed.hours,
            )
        if claimed.system in BOW:
            found[BOW[claimed.system], claimed.count] = _bow(catalog, BOW[claimed.system], claimed.hours)
    return sorted(found.values(), key=lambda one: -one.hours)


def _bow(catalog: Catalog, system: str, hours: float) -> PublishedHours:
    faster = catalog.claim(BOW_CLAIM).value or 1.0
    return PublishedHours(
        label=f"1 × {catalog.system(system).name}",
        kind="vendor",
        hours=hours / faster,
        ceiling=True,
        system=system,
        count=1,
        ours=None,
        ratio=1.0 / faster,
    )


def _hours_of(side: EstimatedSide | None) -> Quantity | None:
    return None if side is None else quantity(side.seconds / HOUR, side.samples / HOUR, "h")
