"""Which network is worth its price for a workload."""

from __future__ import annotations

from typing import Any

import numpy as np

from app.engine.collectives import node_bandwidth
from app.engine.records import GpuSystem
from app.errors import AppError, BadInput, Conflict, fields_at
from app.estimating.context import SizingContext
from app.estimating.documents import CheckWarning
from app.estimating.estimate import Answer
from app.estimating.ranges import quantity
from app.estimating.regimes import regimes
from app.estimating.request import EstimateRequest
from app.estimating.summaries import plan_summary, system_summary
from app.estimating.version import engine_version
from app.estimating.workload import summarise
from app.features.calibration.gain import gain_option
from app.features.networks.advice import advice_of
from app.features.networks.checks import fabric_checks, validation_of_fabric
from app.features.networks.evaluation import Evaluation, NetworkCandidate, candidate, price_difference
from app.features.networks.explaining import exposed_of, messages_of, terms_between, turning_of
from app.features.networks.measuring import fitted_to_runs, modelled_gain
from app.features.networks.model import (
    FabricChoice,
    FabricChoiceRequest,
    FabricGain,
    FabricOption,
    FittedEfficiencies,
    MeasuredThroughput,
    TurningPoint,
)
from app.features.networks.options import (
    by_network,
    ladder,
    named_network,
    network_options,
    shared_variance,
    usual_networks,
)
from app.features.networks.timing import decided, same_plans, timed
from app.platform.workspace import Workspace


def choose_fabric(request: FabricChoiceRequest, context: SizingContext) -> FabricChoice:
    """Return gain and cost of every network, and a recommendation."""
    estimate_request = _at_book(request, context)
    with fields_at("estimate.{}".format):
        answer = asked(estimate_request, context)
    options = network_options(request, answer.hardware, answer.context.catalog)
    runs = by_network(request.measured, options, "measured")
    reference = None if request.reference is None else named_network(request.reference, options, "reference")
    own_network = (answer.hardware.fabric, answer.hardware.ports_per_node)
    own = next((option for option in options if (option.fabric, option.ports) == own_network), options[0])
    with fields_at("estimate.{}".format):
        base = decided(answer, own)
    if not base.choice.fits:
        return _too_large(request, answer)
    if runs:
        # Measured runs are of one batch.
        workload = estimate_request.workload.model_copy(update={"global_batch": base.batch})
        answer = Answer(estimate_request.model_copy(update={"workload": workload}), context)
    predicted = timings = timed(answer, options, own)
    fitted = fitted_to_runs(answer, predicted, runs)
    if fitted is not None:
        answer = fitted[1]
        timings = timed(answer, options, own)
    warnings: list[CheckWarning] = []
    candidates = {
        name: candidate(
            answer,
            timing,
            predicted[name],
            gain_option(name, runs[name], 1.0) if name in runs else None,
            warnings,
        )
        for name, timing in timings.items()
    }
    return _answer(
        Evaluation(
            request=request,
            answer=answer,
            candidates=candidates,
            own=candidates[own.id],
            requested=None if reference is None else candidates[reference.id],
            fit=None if fitted is None else fitted[0],
            cost_warnings=list({warning.code: warning for warning in warnings}.values()),
        )
    )


def _at_book(request: FabricChoiceRequest, context: SizingContext) -> EstimateRequest:
    """Return the estimate's request at the price book of the choice, which must exist if named."""
    estimate_request = request.estimate
    if request.price_book_id is None:
        return estimate_request
    context.priced(request.price_book_id)
    book = {"price_book_id": request.price_book_id}
    return estimate_request.model_copy(
        update={"assumptions": estimate_request.assumptions.model_copy(update=book)}
    )


def asked(request: EstimateRequest, context: SizingContext) -> Answer:
    """Return the question of the estimate; refuse systems without a network to choose."""
    if request.model.total_flop is not None:
        raise BadInput.at(
            "model.total_flop", "a model given only as total FLOP has no messages to send over a network"
        )
    answer = Answer(request, context)
    hardware = answer.hardware
    if not isinstance(hardware.engine, GpuSystem):
        raise Conflict.at(
            "system.id",
            "{system} uses IPU-Links and GW-Links; there is no network to choose",
            system=hardware.entry.name,
        )
    if hardware.entry.acquisition.value == "rent":
        raise Conflict.at(
            "system.id",
            "{system} is rented with its cloud's network; choose machines that are purchased",
            system=hardware.entry.name,
        )
    return answer


def _shared_fields(request: FabricChoiceRequest, answer: Answer) -> dict[str, Any]:
    """Return the fields that an answer has whether the model fits or not."""
    catalog = answer.context.catalog
    return {
        "engine_version": engine_version(catalog.version),
        "catalog_version": catalog.version,
        "request": request,
        "currency": answer.request.currency,
        "threshold": request.threshold,
        "shared_network_variance": shared_variance(catalog),
    }


def _too_large(request: FabricChoiceRequest, answer: Answer) -> FabricChoice:
    estimate = answer.document
    return FabricChoice(
        **_shared_fields(request, answer),
        label=estimate.name,
        model=estimate.model,
        system=estimate.system,
        software=estimate.software or "",
        fits=False,
        reference=None,
        options=[],
        gains=[],
        advice=None,
        turning=None,
        fitted=None,
        warnings=estimate.warnings,
    )


def _answer(evaluation: Evaluation) -> FabricChoice:
    request, answer, fit = evaluation.request, evaluation.answer, evaluation.fit
    decision, hardware, name = evaluation.own.timing.decision, answer.hardware, answer.profile.name
    ordered, reference = evaluation.cheapest_first, evaluation.reference
    return FabricChoice(
        **_shared_fields(request, answer),
        label=request.estimate.label or f"{name} · {hardware.count} × {hardware.entry.name}",
        model=summarise(decision.training, decision.scenario.table),
        system=system_summary(hardware, answer.context.catalog, answer.profile.family),
        software=decision.scenario.software.id if fit is None else fit.prior_software,
        fits=True,
        reference=reference.network.id,
        options=[_option(evaluation, network) for network in ordered],
        gains=[_gain(evaluation, network) for network in ordered if network is not reference],
        decision=evaluation.decision,
        advice=advice_of(evaluation),
        turning=_turning(evaluation) if evaluation.several else None,
        fitted=None
        if fit is None
        else FittedEfficiencies(
            software=fit.prior_software, gap_before=fit.gap_before, gap_after=fit.gap_after, moved=fit.moved
        ),
        warnings=fabric_checks(evaluation),
    )


def _option(evaluation: Evaluation, network: NetworkCandidate) -> FabricOption:
    answer, option, timing, price = evaluation.answer, network.network, network.timing, network.price
    decision, plans, family = timing.decision, timing.plans, answer.profile.family
    prices = [other.price.price for other in evaluation.candidates.values() if other.price is not None]
    dearest = max(prices, key=lambda known: known.value, default=None)
    sampled = decision.scenario.sampled
    assert sampled is not None, "a network is timed with samples of it"
    return FabricOption(
        id=option.id,
        label=option.label,
        fabric=option.fabric,
        name=answer.context.catalog.items[option.fabric].name,
        ports_per_node=option.ports,
        oversubscription=option.oversubscription,
        installed=option.installed,
        node_bandwidth=quantity(float(node_bandwidth(timing.fabric)), node_bandwidth(sampled.fabric), "B/s"),
        plan=plan_summary(decision, plans),
        plan_basis="given"
        if not decision.choice.searched
        else "reference"
        if same_plans(plans, evaluation.own.timing.plans)
        else "own",
        step_time=network.step,
        step_time_reference_plan=quantity(timing.same_plan.step_seconds, timing.same_plan.step_samples, "s"),
        throughput=network.throughput,
        time_to_train=quantity(*network.time, "s"),
        exposed=exposed_of(timing.run.step.parts),
        messages=messages_of(timing),
        network=price,
        saved=None if price is None or dearest is None else price_difference(dearest, price.price),
        run_cost=None if network.cost is None else quantity(*network.cost, answer.request.currency),
        measured=_measured(network, fitted=evaluation.fit is not None),
        validation=validation_of_fabric(
            answer, network, regimes(decision.scenario, plans, family, answer.context.measured)
        ),
    )


def _measured(network: NetworkCandidate, *, fitted: bool) -> MeasuredThroughput | None:
    runs = network.runs
    if runs is None:
        return None
    predicted = network.predicted.throughput
    return MeasuredThroughput(
        runs=runs.runs,
        mean=runs.mean,
        deviation=runs.deviation,
        predicted=predicted,
        gap=float(np.log(predicted.value / runs.mean)),
        fitted=network.timing.throughput if fitted else None,
    )


def _gain(evaluation: Evaluation, network: NetworkCandidate) -> FabricGain:
    reference, base = evaluation.reference, evaluation.own.timing
    gain = evaluation.gain(network, reference)
    own, other = network.timing, reference.timing
    with_base_plan = all(same_plans(timing.plans, base.plans) for timing in (own, other))
    same_plan = None
    if not with_base_plan:
        same_plan = modelled_gain(own.same_plan, other.same_plan, evaluation.threshold).quantity
    return FabricGain(
        option=network.network.id,
        reference=reference.network.id,
        gain=gain.quantity,
        probability_real=gain.probability_real,
        probability_above_threshold=gain.probability_above,
        basis="measured" if gain.measured else "modelled",
        same_plan=same_plan,
        terms=terms_between(base, other.fabric, own.fabric) if evaluation.several else [],
    )


def _turning(evaluation: Evaluation) -> TurningPoint:
    answer, verdict = evaluation.answer, evaluation.verdict
    pair = None if verdict is None else verdict.pair
    rungs = ladder(answer.hardware, answer.context.catalog, evaluation.request.oversubscription)
    fabrics = [] if pair is None else [network.timing.fabric for network in pair]
    return turning_of(answer, evaluation.own.timing, rungs, evaluation.threshold, fabrics)


def weigh_fabrics(workspace: Workspace, request: FabricChoiceRequest) -> FabricChoice:
    """Return gain and cost of every network, and the advice; nothing is stored."""

    def choose() -> FabricChoice:
        return choose_fabric(request, workspace.context())

    books = (request.price_book_id, request.estimate.assumptions.price_book_id)
    # Price books change under their identifier.
    if any(book is not None for book in books):
        return choose()
    return workspace.cached(workspace.installation.choices, request, choose)


def usual_options(workspace: Workspace, estimate: EstimateRequest) -> list[tuple[str, str]]:
    """Return identifier and label of the networks that are compared by default."""
    try:
        hardware = workspace.sizing.hardware.asked(estimate.system)
    except AppError:
        return []
    return [(network.id, network.label) for network in usual_networks(hardware, workspace.sizing.catalog)]
