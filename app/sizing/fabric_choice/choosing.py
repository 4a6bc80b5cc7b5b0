"""From a request to the answer: time, price and weigh every network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from app import __version__
from app.engine.records import GpuSystem
from app.errors import BadInput, Conflict
from app.sizing.calibration_runs import below
from app.sizing.context import SizingContext
from app.sizing.estimate import estimate
from app.sizing.fabric_choice.answering import answer
from app.sizing.fabric_choice.deciding import NetworkAlternatives
from app.sizing.fabric_choice.documents import FabricChoice
from app.sizing.fabric_choice.evaluation import weigh
from app.sizing.fabric_choice.measuring import fitted_to, measured_on, noise_of
from app.sizing.fabric_choice.options import NetworkOption, by_network, named_network, networks
from app.sizing.fabric_choice.purchase import purchase
from app.sizing.fabric_choice.request import FabricChoiceRequest
from app.sizing.fabric_choice.spread import shared_variance
from app.sizing.fabric_choice.timing import Cluster, timed
from app.sizing.failures import reliability
from app.sizing.models import resolve_model
from app.sizing.request import EstimateRequest
from app.sizing.spread import common_normals
from app.sizing.summaries import plan_summary


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
        raise BadInput.at("model.total_flop", "a bare figure has no messages that a network could carry")
    asked = request.system
    hardware = context.hardware.system(
        asked.id, asked.count, asked.fabric, asked.ports_per_node, asked.streaming_memory_gb
    )
    if not isinstance(hardware.engine, GpuSystem):
        raise Conflict.at(
            "system.id",
            "{system} is joined by IPU-Links and GW-Links; there is no network to choose",
            system=hardware.entry.name,
        )
    if hardware.entry.acquisition.value == "rent":
        raise Conflict.at(
            "system.id",
            "{system} is rented with the network of its cloud; choose machines that are bought",
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
