"""The customer's measured runs in a proposal: what they say, and what not to buy because of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from app.errors import Message
from app.sizing.calibration_documents import CalibratedRun, CalibrationAnswer, GainAnswer
from app.sizing.context import SizingContext
from app.sizing.document import CheckWarning, ComparisonRow, SourceRef, Text
from app.sizing.fabric_choice.documents import Advice as NetworkAdvice
from app.sizing.fabric_choice.documents import FabricChoice, FabricOption, NetworkLine
from app.sizing.fabric_choice.measuring import NetworkRuns, measured_gain, noise_of
from app.sizing.fabric_choice.sentences import percent
from app.sizing.proposal.documents import Advice, Reasoned
from app.sizing.proposal.evidence_documents import (
    Evidence,
    FitFound,
    FittedRun,
    GainFound,
    PartLeftOut,
    WeighedOption,
)

UNDER = "Not recommended: {against} gains {gain} % over {taken}, under the threshold of {threshold} %"
ABOVE = "Recommended: {taken} gains {gain} % over {against}, above the threshold of {threshold} %"


@dataclass(frozen=True, slots=True)
class Named:
    """Answers that a proposal names; None where it names none."""

    calibration: CalibrationAnswer | GainAnswer | None = None
    networks: FabricChoice | None = None


def evidence_of(named: Named, context: SizingContext) -> Evidence | None:
    """Return what a proposal says of measured runs; None where it names none."""
    gains = []
    if isinstance(named.calibration, GainAnswer):
        gains.append(of_runs(named.calibration, context))
    if named.networks is not None and named.networks.advice is not None:
        gains.append(of_networks(named.networks, named.networks.advice))
    fit = of_fit(named.calibration) if isinstance(named.calibration, CalibrationAnswer) else None
    return Evidence(gains=gains, fit=fit) if gains or fit is not None else None


def of_runs(answer: GainAnswer, context: SizingContext) -> GainFound:
    """Return measured alternatives with their verdict."""
    by_label = {one.label: one for one in answer.options}
    reference = by_label[answer.reference]
    best = max((one for one in answer.options if one is not reference), key=lambda one: one.mean)
    worth = answer.recommendation == best.label
    taken, against = (best.label, reference.label) if worth else (reference.label, best.label)
    values: dict[str, object] = {
        "taken": taken,
        "against": against,
        "gain": percent(answer.relative_gain),
        "threshold": percent(answer.threshold),
    }
    found = measured_gain(NetworkRuns(best), NetworkRuns(reference), noise_of(context))
    return GainFound(
        basis="runs",
        label=answer.label,
        calibration_id=answer.id,
        system=answer.system,
        reference=answer.reference,
        taken=taken,
        against=against,
        worth=worth,
        threshold=answer.threshold,
        gain=found.quantity,
        sentence=Text.of(Message(ABOVE if worth else UNDER, values)),
        more=[],
        options=[
            WeighedOption(
                label=one.label,
                fabric=None,
                runs=one.runs,
                mean=one.mean,
                deviation=one.deviation,
                predicted=None,
                gap=None,
                gain=one.gain,
                price=None,
                switches=None,
                cables=None,
            )
            for one in answer.options
        ],
        money_saved=None,
        switches_saved=None,
        cables_saved=None,
        left_out=[],
    )


def of_networks(choice: FabricChoice, advice: NetworkAdvice) -> GainFound:
    """Return networks with the advice between them."""
    options = {one.id: one for one in choice.options}
    gains = {one.option: one.gain.value for one in choice.gains}
    taken, against = options.get(advice.recommendation or ""), options.get(advice.against or "")
    shown = [
        one
        for one in choice.options
        if one.measured is not None or one in (taken, against) or one.id == choice.reference
    ]
    other = None if against is None else against.network
    refused = advice.not_worth_it and other is not None
    reference = options.get(choice.reference or "")
    return GainFound(
        basis="networks",
        label=choice.label,
        calibration_id=None,
        system=choice.system.id,
        reference="" if reference is None else reference.label,
        taken="" if taken is None else taken.label,
        against=None if against is None else against.label,
        worth=not advice.not_worth_it,
        threshold=choice.threshold,
        gain=advice.gain,
        sentence=advice.sentence,
        more=[*advice.more, advice.decided_by.explanation],
        options=[weighed_option(one, gains.get(one.id, 0.0)) for one in shown],
        money_saved=advice.money_saved if refused else None,
        switches_saved=other.switches if refused and other is not None else None,
        cables_saved=other.cables if refused and other is not None else None,
        left_out=[left_out(line) for line in advice.not_bought] if refused else [],
    )


def weighed_option(one: FabricOption, gain: float) -> WeighedOption:
    """Return one network with its runs and its price."""
    runs = one.measured
    return WeighedOption(
        label=one.label,
        fabric=one.fabric,
        runs=[] if runs is None else runs.runs,
        mean=None if runs is None else runs.mean,
        deviation=None if runs is None else runs.deviation,
        predicted=one.throughput if runs is None else runs.predicted,
        gap=None if runs is None else runs.gap,
        gain=gain,
        price=None if one.network is None else one.network.price,
        switches=None if one.network is None else one.network.switches,
        cables=None if one.network is None else one.network.cables,
    )


def left_out(line: NetworkLine) -> PartLeftOut:
    """Return a part that is not bought."""
    return PartLeftOut(
        item=line.item, name=line.name, count=line.count, unit_price=line.unit_price, source=line.source
    )


def of_fit(answer: CalibrationAnswer) -> FitFound:
    """Return a fitted profile with the runs it rests on."""
    return FitFound(
        calibration_id=answer.id,
        label=answer.label,
        prior_software=answer.prior_software,
        gap_before=answer.gap_before,
        gap_after=answer.gap_after,
        runs=[fitted_run(place, run) for place, run in enumerate(answer.runs, start=1)],
    )


def fitted_run(place: int, run: CalibratedRun) -> FittedRun:
    """Return one run; its place keeps apart those on one system."""
    return FittedRun(
        label=f"{place}. {run.count} × {run.system_name}",
        note=run.note,
        measured=run.measured,
        samples_per_s=run.samples_per_s,
        before=run.before,
        after=run.after,
        gap_before=run.gap_before,
        gap_after=run.gap_after,
    )


def networks_instead(named: Named, rows: Sequence[ComparisonRow]) -> dict[str, str]:
    """Return which option stands for which: the same system on the network that is taken."""
    choice = named.networks
    if choice is None or choice.advice is None:
        return {}
    options = {one.id: (one.fabric, one.ports_per_node) for one in choice.options}
    taken = options.get(choice.advice.recommendation or "")
    against = options.get(choice.advice.against or "")
    systems = [(row.label, row.estimate.system) for row in rows if row.estimate is not None]
    on = {
        (one.id, one.count, one.fabric, one.ports_per_node): label
        for label, one in systems
        if one.id == choice.system.id
    }
    return {
        label: on[one.id, one.count, *taken]
        for label, one in systems
        if taken is not None
        and (one.fabric, one.ports_per_node) == against
        and (one.id, one.count, *taken) in on
    }


def with_evidence(advice: Advice, found: Evidence | None) -> Advice:
    """Return advice with what measured runs say: what they refuse is not to be bought."""
    if found is None:
        return advice
    refused = [
        Reasoned(label=one.against, reasons=[one.sentence, *one.more])
        for one in found.gains
        if one.against is not None and not one.worth
    ]
    taken = [one.sentence for one in found.gains if one.against is not None and one.worth]
    return advice.model_copy(
        update={"avoid": [*advice.avoid, *refused], "reasons": [*advice.reasons, *taken]}
    )


def evidence_warnings(
    named: Named, found: Evidence | None, recommended: ComparisonRow | None
) -> list[tuple[str, CheckWarning]]:
    """Return the warnings of the answers that are named, each with what it concerns."""
    warnings: list[tuple[str, CheckWarning]] = []
    if named.calibration is not None:
        warnings += [(named.calibration.label, one) for one in named.calibration.warnings]
    if named.networks is not None:
        warnings += [(named.networks.label, one) for one in named.networks.warnings]
    system = None if recommended is None or recommended.estimate is None else recommended.estimate.system
    for one in () if found is None or system is None else found.gains:
        fabrics = {option.label: option.fabric for option in one.options}
        refused, taken = fabrics.get(one.against or ""), fabrics.get(one.taken)
        if one.worth or refused is None or taken is None or system is None or refused == taken:
            continue
        if (one.system, refused) == (system.id, system.fabric) and recommended is not None:
            message = Message(
                "{option} is recommended with the network {network}, which the comparison of networks "
                "advises against",
                {"option": recommended.label, "network": one.against},
            )
            said = CheckWarning.of("refused_network_recommended", "serious", message, "fabric_choice")
            warnings.append((recommended.label, said))
    return warnings


def evidence_sources(found: Evidence | None) -> Iterator[SourceRef]:
    """Return the sources of the prices of what is not bought."""
    for gain in () if found is None else found.gains:
        for part in gain.left_out:
            if part.source is not None:
                yield part.source
