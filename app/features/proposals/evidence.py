"""The measured runs that a proposal names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

from app.errors import AppError, Conflict, FieldError, Message
from app.estimating.context import SizingContext
from app.estimating.documents import CheckWarning, SystemSummary, Text
from app.estimating.request import EstimateRequest
from app.estimating.schema import SourceRef
from app.features.calibration.model import CalibratedRun, CalibrationAnswer, GainAnswer
from app.features.calibration.service import get_calibration
from app.features.comparisons.model import Comparison, ComparisonRequest, ComparisonRow
from app.features.comparisons.service import create_comparison
from app.features.networks.advice import percent
from app.features.networks.measuring import measured_gain, noise_of
from app.features.networks.model import Advice as NetworkAdvice
from app.features.networks.model import FabricChoice, FabricChoiceRequest, FabricOption, NetworkLine
from app.features.networks.service import weigh_fabrics
from app.features.proposals.model import (
    Advice,
    Evidence,
    FitFound,
    FittedRun,
    GainFound,
    PartLeftOut,
    ProposalRequest,
    Reasoned,
    WeighedOption,
)
from app.platform.workbench import Workbench

UNDER = "Not recommended: {against} gains {gain} % over {taken}, below the threshold of {threshold} %"

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
    found = measured_gain(best, reference, noise_of(context), answer.threshold)
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
                "{option} is recommended with the network {network}, but the network "
                "comparison advises against it",
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


FEWEST = 2
"""Networks that can be held against each other."""


def named_evidence(bench: Workbench, workspace_id: str, asked: ProposalRequest) -> Named:
    """Return the answers about measured runs that a proposal names, networks in its currency and prices."""
    calibration, networks = None, None
    if asked.calibration_id is not None:
        with at_field("calibration_id"):
            calibration = get_calibration(bench, workspace_id, asked.calibration_id)
    if asked.fabric_choice is not None:
        with at_field("fabric_choice", inside=True):
            networks = weigh_fabrics(bench, workspace_id, in_terms_of(asked, asked.fabric_choice))
    return Named(calibration, networks)


def in_terms_of(asked: ProposalRequest, choice: FabricChoiceRequest) -> FabricChoiceRequest:
    """Return a choice of networks in the currency of a proposal, and at its price book where it has one."""
    estimate = choice.estimate.model_copy(update={"currency": asked.currency})
    book = choice.price_book_id if asked.price_book_id is None else asked.price_book_id
    return choice.model_copy(update={"estimate": estimate, "price_book_id": book})


@contextmanager
def at_field(field: str, *, inside: bool = False) -> Iterator[None]:
    """Name the field of a proposal in what is wrong with it."""
    try:
        yield
    except AppError as error:
        found = [FieldError(f"{field}.{one.field}", one.message) for one in error.errors if inside]
        error.errors = tuple(found) or (FieldError(field, error.message),)
        raise


def compare_networks(
    bench: Workbench, workspace_id: str, choice: FabricChoiceRequest, locale: Literal["ko", "en"]
) -> Comparison:
    """Compare the network that is taken with the one it is held against, and keep the comparison."""
    found = weigh_fabrics(bench, workspace_id, choice)
    options = {one.id: one for one in found.options}
    advice = found.advice
    pair = (
        []
        if advice is None
        else [options.get(advice.recommendation or ""), options.get(advice.against or "")]
    )
    rows = [row_on(choice, one, found.system) for one in pair if one is not None]
    if len(rows) < FEWEST:
        raise Conflict(Message("there are no two networks here to compare"))
    request = ComparisonRequest(title=found.label[:200], locale=locale, currency=found.currency, rows=rows)
    return create_comparison(bench, workspace_id, request)


def row_on(choice: FabricChoiceRequest, option: FabricOption, system: SystemSummary) -> EstimateRequest:
    """Return the estimate of a choice on one of its networks."""
    asked = choice.estimate
    label = f"{system.count} × {system.name} · {option.label}"
    on = asked.system.model_copy(update={"fabric": option.fabric, "ports_per_node": option.ports_per_node})
    return asked.model_copy(update={"system": on, "label": label[:200]})
