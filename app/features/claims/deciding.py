"""Verdicts on vendor claims from estimates of both sides."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from app.catalog.catalog import Catalog
from app.catalog.vendor_ratios import VendorRatio
from app.engine.units import HOUR
from app.errors import Message, NotFound
from app.estimating.checks import MK2
from app.estimating.documents import CheckWarning, Text
from app.estimating.ranges import quantity, significant, spread_quantity
from app.estimating.schema import filled
from app.estimating.trace import source_ref
from app.features.claims.estimates import ERAS, EstimatedSide, Estimates
from app.features.claims.footing import SystemAmounts, amounts_of, decided, footings_of, parity_of, published
from app.features.claims.measured import measured_ratios, measured_warnings
from app.features.claims.model import (
    ClaimSide,
    ClaimsRequest,
    Era,
    PublishedHours,
    Reading,
    VendorClaim,
    VendorClaims,
    Verdict,
    check,
)

BOW_CLAIM = "vendor-bow-40"
"""Catalogue claim of the largest speed-up of Bow."""

BOW = {"ipu-pod64": "bow-pod64"}
"""Mk2 system → Bow system of the same size."""


def claims_of(catalog: Catalog, estimates: Estimates, assumptions: ClaimsRequest) -> VendorClaims:
    """Return every claim with its verdict, estimated with software of the time."""
    check(assumptions)
    return VendorClaims(
        items=[_claim(ratio, catalog, estimates, assumptions, ERAS[:1]) for ratio in catalog.vendor_ratios],
        measured=measured_ratios(estimates.pairs, catalog, assumptions),
        hours=_hours(catalog, estimates, assumptions.scaling_efficiency),
        parity=parity_of(catalog, assumptions),
        assumptions=assumptions,
        catalog_version=catalog.version,
        warnings=[*list_warnings(), *measured_warnings()],
    )


def claim_of(
    claim_id: str, catalog: Catalog, estimates: Estimates, assumptions: ClaimsRequest
) -> VendorClaim:
    """Return one claim, estimated with software of the time and the best later."""
    check(assumptions)
    known = {ratio.id: ratio for ratio in catalog.vendor_ratios}
    if claim_id not in known:
        raise NotFound.named("vendor claim", claim_id, known, "id")
    return _claim(known[claim_id], catalog, estimates, assumptions, ERAS)


def _claim(
    ratio: VendorRatio,
    catalog: Catalog,
    estimates: Estimates,
    assumptions: ClaimsRequest,
    eras: Sequence[Era],
) -> VendorClaim:
    efficiency = assumptions.scaling_efficiency
    readings = [_reading(era, ratio, estimates, catalog, assumptions) for era in eras if ratio.modelled]
    verdict = _verdict(ratio, readings)
    return filled(
        VendorClaim,
        ratio,
        statement=Text.of(Message(ratio.statement)),
        ratio=ratio.value,
        restated=published(ratio, efficiency) if ratio.linear else None,
        base=Text.of(_base(ratio, catalog)),
        unclear=Text.of(Message(ratio.unclear)),
        source=source_ref(ratio.source),
        others=[source_ref(source) for source in ratio.others],
        verdict=verdict,
        sentence=Text.of(_sentence(ratio, verdict, readings)),
        readings=readings,
        warnings=list(claim_warnings(ratio, readings, catalog, efficiency)),
    )


def _verdict(ratio: VendorRatio, readings: list[Reading]) -> Verdict:
    """Return the verdict on a claim; “not comparable” if neither side rests on measurements."""
    if not readings:
        return "not_comparable" if ratio.metric == "unstated_throughput" else "not_modelled"
    first = readings[0]
    measured = any(
        phase.validation != "unvalidated" for side in (first.claimed, first.baseline) for phase in side.phases
    )
    return decided(first.footings) if measured else "not_comparable"


def _base(ratio: VendorRatio, catalog: Catalog) -> Message:
    claimed, baseline = catalog.system(ratio.claimed.system), catalog.system(ratio.baseline.system)
    values: dict[str, object] = {
        "claimed": claimed.name,
        "claimed_devices": ratio.claimed.devices,
        "baseline": baseline.name,
        "baseline_count": ratio.baseline.count,
        "baseline_devices": ratio.baseline.devices,
    }
    if ratio.baseline.devices < baseline.devices:
        return Message(
            "one {claimed} with {claimed_devices} IPUs versus one of the 8 GPUs of a {baseline}", values
        )
    if ratio.baseline.count == 1:
        return Message(
            "one {claimed} with {claimed_devices} IPUs versus one {baseline} with {baseline_devices} GPUs",
            values,
        )
    return Message(
        "one {claimed} with {claimed_devices} IPUs versus {baseline_count} × {baseline} with "
        "{baseline_devices} GPUs, scaled linearly from one",
        values,
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
    by_name = {footing.footing: significant(footing.ours.value, 2) for footing in readings[0].footings}
    values = {
        "claimed": ratio.value,
        "base": by_name["as_claimed"],
        "chip": by_name["per_chip"],
        "dollar": by_name["per_dollar"],
        "watt": by_name["per_watt_typical"],
    }
    if verdict == "survives":
        return Message(
            "holds on equal footing: {chip}× per chip, {dollar}× per dollar and {watt}× per watt reach "
            "the {claimed}×",
            values,
        )
    if verdict == "shrinks":
        return Message(
            "shrinks on equal footing: for the claimed {claimed}× we find {base}× on its own "
            "basis, {chip}× per chip, {dollar}× per dollar and {watt}× per watt",
            values,
        )
    return Message(
        "no advantage can be shown on equal footing: for the claimed {claimed}× we find {base}× on its own "
        "basis, {chip}× per chip, {dollar}× per dollar and {watt}× per watt",
        values,
    )


def _reading(
    era: Era, ratio: VendorRatio, estimates: Estimates, catalog: Catalog, assumptions: ClaimsRequest
) -> Reading:
    estimated = estimates.of(ratio, era)
    claimed = amounts_of(ratio.claimed.system, catalog, assumptions)
    baseline = amounts_of(ratio.baseline.system, catalog, assumptions)
    return Reading(
        era=era,
        claimed=_side(estimated.claimed, claimed),
        baseline=_side(estimated.baseline, baseline),
        whole=_side(estimated.whole, baseline),
        footings=footings_of(ratio, estimated, claimed, baseline, assumptions.scaling_efficiency),
    )


def _side(side: EstimatedSide, amounts: SystemAmounts) -> ClaimSide:
    return ClaimSide(
        system=side.entry.id,
        name=side.entry.name,
        count=side.stated.count,
        devices=side.devices,
        chip=side.entry.machine.chip.id,
        time=quantity(side.seconds, side.samples, "s"),
        price=spread_quantity(amounts.price),
        power_typical=spread_quantity(amounts.typical),
        power_maximum=spread_quantity(amounts.maximum),
        published_hours=side.stated.hours,
        phases=[phase.estimate for phase in side.phases],
    )


def _hours(catalog: Catalog, estimates: Estimates, efficiency: float) -> list[PublishedHours]:
    """Return the published times to train of all claims, the slowest first."""
    by_system: dict[tuple[str, int], PublishedHours] = {}
    for ratio in catalog.vendor_ratios:
        claimed, baseline = ratio.claimed, ratio.baseline
        if claimed.hours is None or baseline.hours is None:
            continue
        estimate = estimates.of(ratio, ERAS[0]) if ratio.modelled else None
        loss = efficiency if ratio.linear else 1.0
        for machinery, hours, side in (
            (baseline, baseline.hours / baseline.count / loss, estimate and estimate.baseline),
            (claimed, claimed.hours, estimate and estimate.claimed),
        ):
            by_system[machinery.system, machinery.count] = PublishedHours(
                label=f"{machinery.count} × {catalog.system(machinery.system).name}",
                kind="linear" if machinery is baseline and ratio.linear else "vendor",
                hours=hours,
                ceiling=False,
                system=machinery.system,
                count=machinery.count,
                ours=side and quantity(side.seconds / HOUR, side.samples / HOUR, "h"),
                ratio=hours / claimed.hours,
            )
        if claimed.system in BOW:
            bow = BOW[claimed.system]
            faster = catalog.claim(BOW_CLAIM).value or 1.0
            by_system[bow, claimed.count] = PublishedHours(
                label=f"1 × {catalog.system(bow).name}",
                kind="vendor",
                hours=claimed.hours / faster,
                ceiling=True,
                system=bow,
                count=1,
                ours=None,
                ratio=1.0 / faster,
            )
    return sorted(by_system.values(), key=lambda published_hours: -published_hours.hours)


def list_warnings() -> Iterator[CheckWarning]:
    measured = Message(
        "typical power is measured in training for DGX A100 and stated by the vendor for "
        "IPU-M2000; maximum power is from the data sheet for the former and from the power "
        "supplies for the latter; typical is compared with typical, maximum with maximum"
    )
    yield CheckWarning.of("power_basis_differs", "caution", measured, "parity", "footings")
    network = Message(
        "the price of several DGX A100 covers the machines only: their network costs extra, "
        "while an IPU-POD64 includes its own"
    )
    yield CheckWarning.of("capex_excludes_fabric", "info", network, "parity", "footings")


def claim_warnings(
    ratio: VendorRatio, readings: Sequence[Reading], catalog: Catalog, efficiency: float
) -> Iterator[CheckWarning]:
    claimed, baseline = catalog.system(ratio.claimed.system), catalog.system(ratio.baseline.system)
    vendor = Message("{rows}: published by the vendor; not independently measured", {"rows": ratio.model})
    yield CheckWarning.of("vendor_figure", "caution", vendor, "ratio")
    if ratio.linear and efficiency == 1:
        linear = Message(
            "{rows}: extrapolated, not measured; real scaling falls short of it, which flatters the row",
            {"rows": f"{ratio.baseline.count} × {baseline.name}"},
        )
        yield CheckWarning.of("linear_scaling_assumed", "caution", linear, "ratio")
    if ratio.metric == "unstated_throughput":
        unstated = Message(
            "{model}: the source does not say whether it means training or inference", {"model": ratio.model}
        )
        yield CheckWarning.of("base_not_stated", "caution", unstated, "metric")
    if claimed.machine.chip.id in MK2:
        older = Message(
            "{system} uses Mk2 IPUs (GC200); Bow systems of the same size run at a 40 % higher clock",
            {"system": claimed.name},
        )
        yield CheckWarning.of("generation_mk2", "info", older, "claimed")
    if not readings:
        return
    first = readings[0]
    newer = Message(
        "the claim is based on {era}; the oldest software the catalogue has for that "
        "side is {software}, which is newer and hardly slower, so it favours the claim",
        {"era": ratio.software_era, "software": first.claimed.phases[0].software},
    )
    yield CheckWarning.of("software_era_differs", "info", newer, "readings")
    unmeasured_sides = [
        side.name
        for side in (first.claimed, first.baseline)
        if any(phase.validation == "unvalidated" for phase in side.phases)
    ]
    if unmeasured_sides:
        unmeasured = Message(
            "{model} has never been measured on {systems}; the estimate is based on other neural networks",
            {"model": ratio.model, "systems": ", ".join(dict.fromkeys(unmeasured_sides))},
        )
        yield CheckWarning.of("unvalidated", "caution", unmeasured, "readings")
