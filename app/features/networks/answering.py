"""From a request to the answer: time, price and weigh every network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from app import __version__
from app.engine.comparison import relative_gain
from app.engine.records import GpuSystem
from app.errors import BadInput, Conflict, Message
from app.estimating.context import SizingContext
from app.estimating.documents import Text
from app.estimating.estimate import estimate
from app.estimating.hardware import reliability
from app.estimating.ranges import common_normals, quantity
from app.estimating.regimes import regimes
from app.estimating.request import EstimateRequest
from app.estimating.summaries import plan_summary, system_summary
from app.estimating.workload import resolve_model, summarise
from app.features.calibration.fitting import below
from app.features.networks import checks as sentences
from app.features.networks.checks import fabric_checks, validation_of_fabric
from app.features.networks.evaluation import (
    Evaluation,
    NetworkAlternatives,
    difference,
    modelled,
    purchase,
    weigh,
)
from app.features.networks.measuring import fitted_to, measured_on, noise_of
from app.features.networks.model import (
    Advice,
    DecidedBy,
    FabricChoice,
    FabricChoiceRequest,
    FabricGain,
    FabricOption,
    FittedEfficiencies,
    MeasuredThroughput,
    Term,
    TermShare,
    Turning,
)
from app.features.networks.options import (
    NetworkOption,
    by_network,
    ladder,
    named_network,
    networks,
    shared_variance,
)
from app.features.networks.terms import counterfactuals, exposed_of, messages_of, terms_between, turning_of
from app.features.networks.timing import Cluster, Timed, bandwidth_of, same_plans, timed


def answer(weighed: Evaluation) -> FabricChoice:
    """Return the answer."""
    cluster, field = weighed.cluster, weighed.field
    training, scenario = weighed.base.sizing.training, weighed.base.sizing.scenario
    hardware, asked = cluster.hardware, weighed.request.estimate
    names = field.cheapest_first
    fitted = weighed.fitted
    return FabricChoice(
        engine_version=__version__,
        catalog_version=cluster.context.catalog.version,
        label=asked.label or f"{cluster.profile.name} · {hardware.count} × {hardware.entry.name}",
        request=weighed.request,
        model=summarise(training, scenario.table),
        system=system_summary(hardware, cluster.context.catalog, cluster.profile.family),
        software=scenario.software.id if fitted is None else fitted.answer.prior_software,
        currency=asked.currency,
        fits=True,
        threshold=field.threshold,
        reference=weighed.reference,
        shared_network_variance=shared_variance(cluster.context.catalog),
        options=[_option(weighed, field.timed[name]) for name in names],
        gains=[_gain(weighed, name) for name in names if name != weighed.reference],
        advice=_advice(weighed) if weighed.several else _alone(),
        turning=_turning(weighed) if weighed.several else None,
        fitted=_fitted(weighed),
        warnings=fabric_checks(weighed),
    )


def _option(weighed: Evaluation, one: Timed) -> FabricOption:
    network, sizing, cluster = one.network, one.sizing, weighed.cluster
    priced, price = weighed.priced[network.id], weighed.price(network.id)
    prices = [known.price.price for known in weighed.field.bought.values() if known is not None]
    dearest = max(prices, key=lambda known: known.value, default=None)
    same = same_plans(one.plans, weighed.base.plans)
    names = regimes(sizing.scenario, one.plans, cluster.profile.family, cluster.context.measured)
    return FabricOption(
        id=network.id,
        label=network.label,
        fabric=network.fabric,
        name=cluster.context.catalog.items[network.fabric].name,
        ports_per_node=network.ports,
        oversubscription=network.oversubscription,
        installed=network.installed,
        node_bandwidth=quantity(*bandwidth_of(sizing.scenario), "B/s"),
        plan=plan_summary(sizing, one.plans),
        plan_basis="given" if not sizing.choice.searched else "reference" if same else "own",
        step_time=priced.step,
        step_time_reference_plan=quantity(one.same_plan.step_seconds, one.same_plan.step_samples, "s"),
        throughput=priced.throughput,
        time_to_train=priced.time,
        exposed=exposed_of(one.run.step.parts),
        messages=messages_of(sizing.scenario, one.plans),
        network=price,
        saved=None if price is None or dearest is None else difference(dearest, price.price),
        run_cost=None if priced.cost is None else priced.cost.quantity,
        measured=_measured(weighed, one),
        validation=validation_of_fabric(
            cluster.context.runs,
            network.fabric,
            cluster.profile.family,
            cluster.hardware.entry.chip,
            measured=network.id in weighed.field.measured,
            regimes=names,
        ),
    )


def _measured(weighed: Evaluation, one: Timed) -> MeasuredThroughput | None:
    found = weighed.field.measured.get(one.network.id)
    if found is None:
        return None
    before, after = (
        quantity(run.batch / run.run.step_seconds, run.batch / run.run.step_samples, "samples/s")
        for run in (weighed.predicted[one.network.id], one)
    )
    return MeasuredThroughput(
        runs=found.option.runs,
        mean=found.option.mean,
        deviation=found.option.deviation,
        predicted=before,
        gap=float(np.log(before.value / found.option.mean)),
        fitted=None if weighed.fitted is None else after,
    )


def _gain(weighed: Evaluation, name: str) -> FabricGain:
    field, reference = weighed.field, weighed.reference
    found = field.over(name, reference)
    one, base = field.timed[name], field.timed[reference]
    own = not all(same_plans(timed.plans, weighed.base.plans) for timed in (one, base))
    same = modelled(
        float(relative_gain(base.same_plan.step_seconds, one.same_plan.step_seconds)),
        relative_gain(base.same_plan.step_samples, one.same_plan.step_samples),
        field.threshold,
    )
    return FabricGain(
        option=name,
        reference=reference,
        gain=found.gain,
        probability_real=found.real,
        probability_above_threshold=found.above,
        basis="measured" if found.measured else "modelled",
        same_plan=same.gain if own else None,
        terms=_terms(weighed, reference, name) if weighed.several else [],
    )


def _terms(weighed: Evaluation, slower: str, faster: str) -> list[TermShare]:
    networks = (weighed.field.network(slower), weighed.field.network(faster))
    return terms_between(weighed.cluster, weighed.base.sizing.scenario, weighed.base.plans, *networks)


def _advice(weighed: Evaluation) -> Advice:
    field, found, gain = weighed.field, weighed.verdict, weighed.gain
    taken = weighed.price(found.taken)
    other = None if found.against is None else weighed.price(found.against)
    saved = None if taken is None or other is None else difference(other.price, taken.price)
    run = weighed.run_difference
    installed = field.network(found.taken).installed
    return Advice(
        recommendation=found.taken,
        against=found.against,
        not_worth_it=found.against is not None and not found.worth,
        sentence=Text.of(sentences.advice_sentence(field, found, gain, saved, other)),
        more=[Text.of(one) for one in sentences.more_sentences(field, found, gain, run)],
        gain=None if gain is None else gain.gain,
        probability_real=None if gain is None else gain.real,
        probability_above_threshold=None if gain is None else gain.above,
        money_saved=saved,
        run_cost_difference=run,
        not_bought=[] if other is None else other.lines,
        instead=[] if installed or taken is None else taken.lines,
        decided_by=_decided_by(weighed),
    )


def _decided_by(weighed: Evaluation) -> DecidedBy:
    field, pair, gain = weighed.field, weighed.pair, weighed.gain
    if pair is None or gain is None:
        return _undecided("same_network", Message(sentences.ALIKE))
    base, slow = weighed.base, field.timed[pair[0]]
    networks = (field.network(pair[0]), field.network(pair[1]))
    return sentences.decided_by(
        field,
        gain,
        _terms(weighed, *pair),
        counterfactuals(weighed.cluster, base.sizing.scenario, base.plans, *networks),
        messages_of(slow.sizing.scenario, slow.plans),
        exposed_of(slow.run.step.parts).share,
    )


def _undecided(term: Term, message: Message) -> DecidedBy:
    return DecidedBy(
        term=term,
        explanation=Text.of(message),
        gain_without_overlap=None,
        gain_without_accumulation=None,
    )


def _alone() -> Advice:
    """Return the advice for one machine."""
    message = sentences.alone()
    return Advice(
        recommendation=None,
        against=None,
        not_worth_it=True,
        sentence=Text.of(message),
        more=[],
        gain=None,
        probability_real=None,
        probability_above_threshold=None,
        money_saved=None,
        run_cost_difference=None,
        not_bought=[],
        instead=[],
        decided_by=_undecided("one_machine", message),
    )


def _turning(weighed: Evaluation) -> Turning:
    field, pair, cluster = weighed.field, weighed.pair, weighed.cluster
    rungs = ladder(cluster.hardware, cluster.context.catalog, weighed.request.oversubscription)
    chosen = None if pair is None else (field.network(pair[0]), field.network(pair[1]))
    scenario, plans = weighed.base.sizing.scenario, weighed.base.plans
    return turning_of(cluster, scenario, plans, rungs, field.threshold, chosen)


def _fitted(weighed: Evaluation) -> FittedEfficiencies | None:
    if weighed.fitted is None:
        return None
    found = weighed.fitted.answer
    return FittedEfficiencies(
        software=found.prior_software,
        gap_before=found.gap_before,
        gap_after=found.gap_after,
        moved=found.moved,
    )


def choose_fabric(request: FabricChoiceRequest, context: SizingContext) -> FabricChoice:
    """Return every network with what it gains and costs, and which to take."""
    asked = _at_book(request, context)
    with below("estimate"):
        cluster = _cluster(asked, context.at_prices(asked.assumptions))
    context = cluster.context
    options = networks(request, cluster.hardware, context.catalog)
    runs = by_network(request.measured, options, "measured")
    named = None if request.reference is None else named_network(request.reference, options, "reference")
    own = _own(options, cluster)
    with below("estimate"):
        base = cluster.decided(own)
    if not base.choice.fits:
        return _too_large(request, cluster)
    cluster = replace(cluster, request=_at_batch(asked, base.batch))
    plans = base.choice.plans
    found = timed(cluster, options, plans)
    predicted = {one.network.id: one for one in found}
    fitted = None
    if runs:
        summaries = {name: plan_summary(one.sizing, one.plans) for name, one in predicted.items()}
        fitted = fitted_to(cluster.request, context, {one.id: one for one in options}, runs, summaries)
    if fitted is not None:
        cluster = replace(cluster, request=fitted.request, context=fitted.context)
        base = cluster.decided(own)
        plans = base.choice.plans
        found = timed(cluster, options, plans)
    field = NetworkAlternatives(
        timed={one.network.id: one for one in found},
        measured=measured_on(runs),
        bought={one.id: purchase(cluster, one) for one in options},
        threshold=request.threshold,
        noise=noise_of(context),
    )
    return answer(weigh(request, cluster, field, predicted, fitted, own, named))


def _at_book(request: FabricChoiceRequest, context: SizingContext) -> EstimateRequest:
    """Return the estimate with the price book of the choice, where it names one that is known."""
    asked = request.estimate
    if request.price_book_id is None:
        return asked
    context.priced(request.price_book_id)
    book = {"price_book_id": request.price_book_id}
    return asked.model_copy(update={"assumptions": asked.assumptions.model_copy(update=book)})


def _cluster(request: EstimateRequest, context: SizingContext) -> Cluster:
    """Return machines and assumptions; refuse what has no network to choose."""
    if request.model.total_flop is not None:
        raise BadInput.at(
            "model.total_flop", "a model given only as total FLOP has no messages to send over a network"
        )
    asked = request.system
    hardware = context.hardware.system(
        asked.id, asked.count, asked.fabric, asked.ports_per_node, asked.streaming_memory_gb
    )
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
    defaults = context.catalog.reliability_defaults(hardware.entry.chip_kind)
    return Cluster(
        request=request,
        profile=resolve_model(request.model, context),
        hardware=hardware,
        context=context,
        assumed=reliability(defaults, request.assumptions),
        normals=common_normals(),
    )


def _own(options: Sequence[NetworkOption], cluster: Cluster) -> NetworkOption:
    """Return the network of the estimate among the options, else the first of them."""
    hardware = cluster.hardware
    for network in options:
        if (network.fabric, network.ports) == (hardware.fabric, hardware.ports_per_node):
            return network
    return options[0]


def _at_batch(request: EstimateRequest, batch: int) -> EstimateRequest:
    """Return an estimate at one global batch, so that all networks do the same work."""
    workload = request.workload.model_copy(update={"global_batch": batch})
    return request.model_copy(update={"workload": workload})


def _too_large(request: FabricChoiceRequest, cluster: Cluster) -> FabricChoice:
    found = estimate(cluster.request, cluster.context)
    return FabricChoice(
        engine_version=__version__,
        catalog_version=cluster.context.catalog.version,
        label=found.label,
        request=request,
        model=found.model,
        system=found.system,
        software=found.software or "",
        currency=cluster.request.currency,
        fits=False,
        threshold=request.threshold,
        reference=None,
        shared_network_variance=shared_variance(cluster.context.catalog),
        options=[],
        gains=[],
        advice=None,
        turning=None,
        fitted=None,
        warnings=found.warnings,
    )
