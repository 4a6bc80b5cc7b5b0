"""The measured runs that a proposal names."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from app.errors import AppError, FieldError, Message
from app.estimating.context import SizingContext
from app.estimating.documents import CheckWarning, Text
from app.features.calibration.model import CalibrationAnswer, GainAnswer
from app.features.calibration.service import get_calibration
from app.features.comparisons.model import ComparisonRow
from app.features.networks.advice import percent
from app.features.networks.answering import weigh_fabrics
from app.features.networks.measuring import measured_gain, noise_of
from app.features.networks.model import FabricChoice, FabricOption, NetworkAdvice
from app.features.proposals.exchange import in_currency
from app.features.proposals.measurements import Evidence, FitFound, FittedRun, GainFound, WeighedOption
from app.features.proposals.model import Advice, OptionReasons, ProposalRequest
from app.platform.workspace import Workspace

UNDER = "Not recommended: {against} gains {gain} % over {taken}, below the threshold of {threshold} %"

ABOVE = "Recommended: {taken} gains {gain} % over {against}, above the threshold of {threshold} %"


@dataclass(frozen=True, slots=True)
class NamedAnswers:
    """Answers named by a proposal; None if not named."""

    calibration: CalibrationAnswer | GainAnswer | None = None
    networks: FabricChoice | None = None


def evidence_of(answers: NamedAnswers, context: SizingContext) -> Evidence | None:
    """Return the measured runs of a proposal as evidence; None if it names none."""
    gains, fit = [], None
    if isinstance(answers.calibration, GainAnswer):
        gains.append(gain_of_runs(answers.calibration, context))
    elif answers.calibration is not None:
        fit = fit_found(answers.calibration)
    if answers.networks is not None and answers.networks.advice is not None:
        gains.append(gain_of_networks(answers.networks, answers.networks.advice, context))
    return Evidence(gains=gains, fit=fit) if gains or fit is not None else None


def gain_of_runs(answer: GainAnswer, context: SizingContext) -> GainFound:
    reference = next(option for option in answer.options if option.label == answer.reference)
    best = max((option for option in answer.options if option is not reference), key=lambda o: o.mean)
    worth = answer.recommendation == best.label
    taken, against = (best.label, reference.label) if worth else (reference.label, best.label)
    shares = {"gain": percent(answer.relative_gain), "threshold": percent(answer.threshold)}
    values: dict[str, object] = {"taken": taken, "against": against, **shares}
    gain = measured_gain(best, reference, noise_of(context), answer.threshold)
    return gain_found(
        **dict(answer) | {"options": [weighed_option(**dict(option)) for option in answer.options]},
        basis="runs",
        label=context.catalog.system(answer.system).name,
        calibration_id=answer.id,
        taken=taken,
        against=against,
        worth=worth,
        gain=gain.quantity,
        sentence=Text.of(Message(ABOVE if worth else UNDER, values)),
    )


def gain_of_networks(choice: FabricChoice, advice: NetworkAdvice, context: SizingContext) -> GainFound:
    options = {option.id: option for option in choice.options}
    gains = {gain.option: gain.gain.value for gain in choice.gains}
    taken, against = options.get(advice.recommendation or ""), options.get(advice.against or "")
    reference = options.get(choice.reference or "")
    compared = (taken, against, reference)
    listed = [option for option in choice.options if option.measured is not None or option in compared]
    saved: dict[str, Any] = {}
    if advice.not_worth_it and against is not None and (refused := against.network):
        saved = {"money_saved": advice.money_saved, "left_out": [dict(line) for line in advice.not_bought]}
        saved |= {"switches_saved": refused.switches, "cables_saved": refused.cables}
    return gain_found(
        **saved,
        basis="networks",
        label=context.catalog.system(choice.system.id).name,
        system=choice.system.id,
        reference="" if reference is None else reference.label,
        taken="" if taken is None else taken.label,
        against=None if against is None else against.label,
        worth=not advice.not_worth_it,
        threshold=choice.threshold,
        gain=advice.gain,
        sentence=advice.sentence,
        more=[*advice.more, advice.decided_by.explanation],
        options=[network_option(option, gains.get(option.id, 0.0)) for option in listed],
    )


def gain_found(**known: Any) -> GainFound:
    """Return a verdict; fields not given are null."""
    nothing = dict.fromkeys(GainFound.model_fields) | {"more": [], "left_out": []}
    return GainFound.model_validate(nothing | known)


def network_option(option: FabricOption, gain: float) -> WeighedOption:
    runs = {"predicted": option.throughput} if option.measured is None else dict(option.measured)
    bought = {} if option.network is None else dict(option.network)
    return weighed_option(**runs, **bought, label=option.label, fabric=option.fabric, gain=gain)


def weighed_option(**known: Any) -> WeighedOption:
    """Return a measured or compared option; fields not given are null."""
    nothing = dict.fromkeys(WeighedOption.model_fields) | {"runs": []}
    return WeighedOption.model_validate(nothing | known)


def fit_found(answer: CalibrationAnswer) -> FitFound:
    """Return a fit, named by its system: names and notes of calibrations are the workspace's."""
    runs = [
        FittedRun.model_validate(
            {**dict(run), "label": f"{number}. {run.count} × {run.system_name}", "note": None}
        )
        for number, run in enumerate(answer.runs, start=1)
    ]
    own = {"label": answer.runs[0].system_name, "calibration_id": answer.id, "runs": runs}
    return FitFound.model_validate({**dict(answer), **own})


def with_evidence(advice: Advice, evidence: Evidence | None, recommended: ComparisonRow | None) -> Advice:
    """Return advice with the conclusions of measured runs.

    The network of the recommended option is not advised against; a warning mentions it instead.
    """
    gains = [gain for gain in (evidence.gains if evidence else ()) if gain.against is not None]
    refused = [
        OptionReasons(label=str(gain.against), reasons=[gain.sentence, *gain.more])
        for gain in gains
        if not gain.worth and not advises_against(gain, recommended)
    ]
    reasons = [gain.sentence for gain in gains if gain.worth]
    return advice.model_copy(
        update={"avoid": [*advice.avoid, *refused], "reasons": [*advice.reasons, *reasons]}
    )


def advises_against(gain: GainFound, row: ComparisonRow | None) -> bool:
    """Return whether measured runs advise against the network of an option."""
    if gain.worth or row is None or row.estimate is None:
        return False
    fabrics = {option.label: option.fabric for option in gain.options}
    refused, taken = fabrics.get(gain.against or ""), fabrics.get(gain.taken)
    system = row.estimate.system
    alike = (gain.system, refused) == (system.id, system.fabric)
    return alike and taken is not None and refused != taken


def evidence_warnings(
    answers: NamedAnswers, evidence: Evidence | None, recommended: ComparisonRow | None
) -> list[tuple[str | None, CheckWarning]]:
    """Return the warnings of the named answers, each with the label of its subject."""
    measured, networks = answers.calibration, answers.networks
    labels = {} if evidence is None else {gain.basis: gain.label for gain in evidence.gains}
    runs = evidence.fit.label if evidence is not None and evidence.fit is not None else labels.get("runs")
    warnings: list[tuple[str | None, CheckWarning]] = []
    warnings += [] if measured is None else [(runs, warning) for warning in measured.warnings]
    warnings += [] if networks is None else [(labels.get("networks"), one) for one in networks.warnings]
    for gain in () if evidence is None else evidence.gains:
        if recommended is not None and advises_against(gain, recommended):
            message = Message(
                "{option} is recommended with the network {network}, but the network "
                "comparison advises against it",
                {"option": recommended.label, "network": gain.against},
            )
            warning = CheckWarning.of("refused_network_recommended", "serious", message, "fabric_choice")
            warnings.append((recommended.label, warning))
    return warnings


def named_answers(workspace: Workspace, request: ProposalRequest) -> NamedAnswers:
    """Return the answers named by a request, with networks in its currency and at its prices."""
    calibration, networks = None, None
    if request.calibration_id is not None:
        with at_field("calibration_id"):
            calibration = get_calibration(workspace, request.calibration_id)
    if request.fabric_choice is not None:
        choice = request.fabric_choice
        estimate = in_currency(choice.estimate, request.currency, workspace.context())
        book = choice.price_book_id if request.price_book_id is None else request.price_book_id
        choice = choice.model_copy(update={"estimate": estimate, "price_book_id": book})
        with at_field("fabric_choice", inside=True):
            networks = weigh_fabrics(workspace, choice)
    return NamedAnswers(calibration, networks)


@contextmanager
def at_field(field: str, *, inside: bool = False) -> Iterator[None]:
    """Relocate errors to a field of the proposal."""
    try:
        yield
    except AppError as error:
        relocated = [FieldError(f"{field}.{e.field}", e.message) for e in error.errors if inside]
        error.errors = tuple(relocated) or (FieldError(field, error.message),)
        raise
