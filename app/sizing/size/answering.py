"""The sizing: from a request to the options worth considering and a recommendation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from app import __version__
from app.errors import BadInput, Message
from app.sizing.context import SizingContext
from app.sizing.document import Default
from app.sizing.models import resolve_model, summarise
from app.sizing.size.candidates import Candidate, Candidates
from app.sizing.size.curve import curve_of
from app.sizing.size.documents import LeftOut, ScalingCurve, Sizing
from app.sizing.size.exploring import Explorer
from app.sizing.size.options import option_document
from app.sizing.size.request import SizingRequest, check
from app.sizing.size.restating import SampledOption, Samples, limits_of, restated
from app.sizing.size.searching import Searcher


@dataclass(frozen=True, slots=True)
class Sized:
    """A sizing, and the samples by option with which other limits can be judged."""

    document: Sizing
    samples: Mapping[str, Samples]
    """By option, in the order all estimates share."""


MOST_ROWS = 500
"""Rows of a layer table that each option of a sizing repeats, so that it can be estimated alone."""


def size(
    request: SizingRequest,
    context: SizingContext,
) -> Sized:
    """Return the sizing of a request; its ``id`` is left to whoever keeps it."""
    rows = len(request.model.layers or ())
    if rows > MOST_ROWS:
        raise BadInput.at(
            "model.layers",
            "{rows} rows would stand in every option of the answer; at most {most} do: upload the table as a "
            "profile and give its profile_id",
            rows=rows,
            most=MOST_ROWS,
        )
    context = context.at_prices(request.assumptions)
    explorer, systems, searcher = _explorer(request, context)
    explored = explorer.explore(systems, refine=request.counts is None)
    if not explored.options:
        raise searcher.refusal or BadInput.at("workload.global_batch", "no batch divides over the devices")
    by_id = {option.candidate.identifier: option for option in explored.options}
    sampled = [
        SampledOption(
            option_document(option, request),
            option.seconds_samples,
            option.cost_samples,
            option.money("purchase")[1],
        )
        for option in explored.options
    ]
    sizing = explored.options[0].found.sizing
    training = sizing.training
    searches = searcher.searches
    document = Sizing(
        id="",
        label=request.label or sizing.profile.name,
        engine_version=__version__,
        catalog_version=context.catalog.version,
        request=request,
        model=summarise(training, sizing.scenario.table),
        currency=request.currency,
        outcome="front",
        recommended=None,
        cheapest=None,
        fastest=None,
        nearest=None,
        options=[],
        pareto=[],
        scaling=None,
        considered=len(explored.options) + len(explored.impossible),
        searched=searches,
        left_out=[_left_out(candidate) for candidate in explored.impossible],
        defaults=_defaults(request, batch_searched=sizing.batch_searched),
        warnings=[],
    )
    document = restated(document, sampled, request)
    leader = document.recommended or document.cheapest
    if leader is not None:
        name = by_id[leader].candidate.hardware.entry.id
        scaling = _curve(explorer, name, request)
        document = document.model_copy(
            update={"scaling": scaling, "warnings": [] if scaling is None else scaling.warnings}
        )
    samples = {
        entry.document.id: (entry.seconds_samples, entry.run_samples, entry.purchase_samples)
        for entry in sampled
        if entry.document.fits
    }
    return Sized(document, samples)


def scaling(request: SizingRequest, system: str, context: SizingContext) -> ScalingCurve:
    """Return the scaling curve of one system over the counts of a request."""
    context = context.at_prices(request.assumptions)
    explorer, systems, searcher = _explorer(request.model_copy(update={"systems": [system]}), context)
    explored = explorer.explore(systems, refine=False)
    if not explored.options:
        raise searcher.refusal or BadInput.at("workload.global_batch", "no batch divides over the devices")
    found = _curve(explorer, system, request)
    if found is None:
        raise BadInput.at("systems.0", "{system} holds the model at none of its counts", system=system)
    return found


def _explorer(
    request: SizingRequest, context: SizingContext
) -> tuple[Explorer, dict[str, list[int]], Searcher]:
    check(request)
    rate = request.assumptions.input_samples_per_second
    if rate is not None and rate <= 0:
        raise BadInput.at("assumptions.input_samples_per_second", "{value} is not above 0", value=rate)
    profile = resolve_model(request.model, context)
    candidates = Candidates(request, profile, context)
    searcher = Searcher(request, profile, context)
    explorer = Explorer(candidates, searcher, limits_of(request))
    return explorer, candidates.systems(), searcher


def _curve(explorer: Explorer, system: str, request: SizingRequest) -> ScalingCurve | None:
    known = explorer.explored.of(system)
    impossible = [entry for entry in explorer.explored.impossible if entry.hardware.entry.id == system]
    return curve_of([known[count] for count in sorted(known)], impossible, request.currency)


def _left_out(candidate: Candidate) -> LeftOut:
    return LeftOut(system=candidate.hardware.entry.id, count=candidate.hardware.count, reason="no_plan")


def _defaults(request: SizingRequest, *, batch_searched: bool) -> list[Default]:
    """Return what was not asked for and taken."""
    given = request.model_fields_set
    entries = (
        ("systems", "all", Message("every system of the catalogue")),
        ("counts", "lattice", Message("powers of two and multiples of 20 nodes; pods by powers of two")),
        ("most_accelerators", request.most_accelerators, Message("the largest systems that are sized")),
        ("probability", request.probability, Message("four runs in five, where nothing else is asked")),
        ("currency", request.currency, Message("US dollars, where no currency is given")),
    )
    found = [Default.of(name, value, why) for name, value, why in entries if name not in given]
    if batch_searched:
        why = Message("least time to train within the range where convergence holds")
        found.append(Default.of("workload.global_batch", None, why))
    return found
