"""Amounts of build or rent for an option of a study: purchase, running cost and cloud bill."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from app.catalog.catalog import Catalog
from app.catalog.defaults import YEARLY_SHARES
from app.catalog.entries import Acquisition, ChipKind, SystemEntry
from app.engine.units import HOUR, KILOWATT, MONTHS
from app.errors import Message, Unprocessable
from app.estimating.decision import Decision, DecisionQuestion
from app.estimating.documents import CheckWarning, Default, Estimate, Text
from app.estimating.prices import staff_posts
from app.estimating.ranges import money, quantity, significant
from app.estimating.request import EstimateRequest
from app.estimating.schema import Quantity
from app.features.break_even.deciding import decide
from app.features.break_even.model import BreakEven, BreakEvenRequest, RangeInput, RangesInput, RunningInput
from app.features.break_even.words import written
from app.features.studies.common_basis import WAYS
from app.features.studies.frame import StudyQuestion
from app.features.studies.knobs import demand_of, labels_of
from app.features.studies.model import StudyOption, free_keys
from app.features.studies.options import BasisCost, DemandAnswer, PublishedFigure
from app.features.studies.service import estimates_of
from app.features.studies.side_by_side import OptionEntry, SideBySide
from app.platform.workspace import Workspace

RUNNING = ("power", "space", "staff", *YEARLY_SHARES)
"""Cost lines paid month by month; the others pay for the purchase."""


@dataclass(frozen=True, slots=True)
class CloudBill:
    """Cost of the runs of an owned option in the cloud."""

    key: str
    """Key of the cloud option; empty where the study has none and the closest catalogue system is used."""
    label: str
    system: str
    count: int
    run: Quantity
    """Cost of one run."""
    monthly: Quantity
    """Cost of the runs of a month."""
    rental: str
    """Rental pricing model."""
    commitment: BasisCost | None
    """The cheapest published commitment for the same system; None where there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionAmounts:
    """Amounts of owning an option, on the basis that all options of the study share."""

    purchase: Quantity
    """Equipment with freight and installation."""
    running: Mapping[str, float]
    """Running cost of a month by line. [currency/month]"""
    utilisation: float
    """Share of the time the option is in use."""
    months: float
    """Depreciation term."""
    discount_rate: float
    residual_share: float
    runs: float
    """Runs of a month."""
    cloud: CloudBill | None
    """None where no rentable system runs the model."""
    used: RangeInput | None
    """Range of the utilisation if it is the catalogue's; None if the study states it."""
    term: float
    """Cost over the term as the view of cost items shows it. [currency]"""
    labels: Mapping[str, str]
    """Names of the option and of those that could be rented for it, by key."""
    decision: Decision
    """Between buying the option and renting."""
    by_demand: Sequence[DemandAnswer]

    @property
    def running_monthly(self) -> float:
        return sum(self.running.values())

    def share_of(self, bill: float) -> float:
        """Return the utilisation of the option by the runs that a cloud bill pays for."""
        assert self.cloud is not None, "only runs that can be rented are paid for by a bill"
        return bill / self.cloud.monthly.value * self.utilisation


def is_owned(workspace: Workspace, option: StudyOption) -> bool:
    if option.system is None:
        return False
    entry = workspace.sizing.catalog.system(option.system.id)
    return (option.assumptions.acquisition or entry.acquisition.value) == Acquisition.OWN.value


def amounts_of(question: StudyQuestion) -> OptionAmounts | None:
    """Return the amounts of an option; None where it has no price, or does not run."""
    workspace, content, own = question.workspace, question.content, question.option
    catalog = workspace.context().priced(content.base.assumptions.price_book_id).catalog
    rented = [option for option in content.options if option.system and not is_owned(workspace, option)]
    stand_ins = [] if rented else list(closest_clouds(catalog, own))
    for clouds in [[stand_in] for stand_in in stand_ins] or [rented]:
        compared = content.model_copy(update={"options": [own, *clouds]})
        requests, estimates = estimates_of(workspace, compared, {}, strict=False)
        entries = {
            key: OptionEntry(request, estimate)
            for key, request in requests.items()
            if isinstance(estimate := estimates[key], Estimate) and estimate.cost is not None
        }
        if any(cloud.key in entries for cloud in clouds) or own.key not in entries:
            break
    labels, currency = labels_of(compared, catalog), content.base.currency
    side = SideBySide(entries, labels, workspace.context(), currency)
    priced = side.priced
    if priced is None or own.key not in priced.costs:
        return None
    own_estimate, cost = entries[own.key].estimate, priced.costs[own.key][0]
    if cost.purchase is None:
        return None
    assert own_estimate is not None and own_estimate.cost is not None and cost.capex is not None
    train = own_estimate.time_to_train
    assert train is not None, "an estimate with a cost has a time to train"
    basis = own_estimate.cost.basis
    hours = priced.basis.useful_hours_per_year / MONTHS
    times = np.asarray(own_estimate.time_samples or train.value)
    runs = hours * HOUR / times
    bills = []
    for cloud in clouds:
        run = priced.amounts.get(cloud.key)
        if cloud.system is None or run is None:
            continue
        central = run.value * hours * HOUR / train.value
        ways = priced.costs[cloud.key]
        committed = [way for way in ways if (way.rental or "").startswith("reserved")]
        bills.append(
            CloudBill(
                key="" if stand_ins else cloud.key,
                label=labels[cloud.key],
                system=cloud.system.id,
                count=cloud.system.count,
                run=quantity(run.value, np.asarray(run.drawn), currency),
                monthly=quantity(central, np.asarray(run.drawn * runs), currency),
                rental=ways[0].rental or "",
                commitment=min(committed, key=lambda way: way.run.value, default=None),
            )
        )
    asked = DecisionQuestion.of(content.limits, demand_of(content), currency)
    return OptionAmounts(
        purchase=cost.purchase,
        running={line.item: line.hourly * hours for line in cost.lines if line.item in RUNNING},
        utilisation=priced.basis.utilisation,
        months=priced.basis.term_years * MONTHS,
        discount_rate=float(str(basis.get("discount_rate") or 0.0)),
        residual_share=float(str(basis.get("residual_share") or 0.0)),
        runs=hours * HOUR / train.value,
        cloud=min(bills, key=lambda bill: bill.monthly.value, default=None),
        used=used_range(priced.basis.utilisation, list(requests.values()), catalog),
        term=cost.over_term.value,
        labels=labels,
        decision=side.decision(asked),
        by_demand=side.by_demand(asked),
    )


def used_range(
    share: float, requests: Sequence[EstimateRequest | PublishedFigure], catalog: Catalog
) -> RangeInput | None:
    stated = [request.assumptions.utilisation for request in requests if isinstance(request, EstimateRequest)]
    figure = catalog.cost_defaults(ChipKind.GPU).utilisation
    if any(utilisation is not None for utilisation in stated) or not figure.si_low < share < figure.si_high:
        return None
    return RangeInput(low=figure.si_low, high=figure.si_high)


def closest_clouds(catalog: Catalog, own: StudyOption) -> Iterator[StudyOption]:
    """Yield rentable systems of the catalogue that could replace an owned one, in rising counts.

    The same accelerator is preferred, else the one whose dense peak is closest; of those the cheapest. The
    count matches the peak, or is a multiple of it in case the model does not fit in memory.
    """
    assert own.system is not None, "only systems are owned"
    entry, owned = catalog.system(own.system.id), own.system.count

    def rank(other: SystemEntry) -> tuple[bool, float, float]:
        distance = abs(math.log(peak_of(catalog, other) / other.devices / (own_peak / entry.devices)))
        return (
            other.machine.chip.id != entry.machine.chip.id,
            distance,
            catalog.rents(other.id)[-1].si / other.devices,
        )

    own_peak = peak_of(catalog, entry)
    candidates = [
        other
        for name in catalog.names("system")
        if (other := catalog.system(name)).acquisition is Acquisition.RENT
        and other.machine.chip.kind is ChipKind.GPU
        and any(rent.value for rent in catalog.rents(name)[-1:])
    ]
    if not candidates:
        return
    best = min(candidates, key=rank)
    count = math.ceil(own_peak * owned / peak_of(catalog, best) - ROUNDING)
    fields = own.model_dump(mode="json", exclude_unset=True, include={"model", "workload"})
    for times in MULTIPLES:
        chosen = {"key": next(free_keys({own.key})), "system": {"id": best.id, "count": count * times}}
        yield StudyOption.model_validate({**fields, **chosen})


ROUNDING = 1e-9

MULTIPLES = (1, 2, 4)
"""Multiples of the count that are tried."""


def peak_of(catalog: Catalog, entry: SystemEntry) -> float:
    """Return the dense peak of a system. [FLOP/s]"""
    return catalog.usual_peak(entry.machine.chip.id).value * entry.devices


def is_unpriced(question: StudyQuestion) -> bool:
    own = question.option
    alone = question.content.model_copy(update={"options": [own]})
    estimate = estimates_of(question.workspace, alone, {}, strict=False)[1][own.key]
    return isinstance(estimate, Estimate) and estimate.fits and estimate.cost is None


def usual_fields(question: StudyQuestion) -> dict[str, str]:
    amounts = amounts_of(question)
    fields: dict[str, str] = {"currency": question.content.base.currency}
    if amounts is None:
        return fields
    fields |= {
        "capex": whole(amounts.purchase.value),
        "onprem_monthly": whole(amounts.running_monthly),
        "horizon_months": f"{amounts.months:g}",
        "discount_percent": f"{100 * amounts.discount_rate:g}",
        "residual_percent": f"{100 * amounts.residual_share:g}",
    }
    if amounts.cloud is not None:
        fields["cloud_monthly"] = whole(amounts.cloud.monthly.value)
    return fields


def whole(amount: float) -> str:
    return f"{round(amount):,}"


def decide_of_study(question: StudyQuestion, request: BreakEvenRequest) -> BreakEven:
    """Return when owning an option is cheaper; amounts not stated come from the study."""
    amounts = amounts_of(question)
    body = completed_by(question, request, amounts)
    answer = decide(body, question.workspace.context())
    warnings = [warning for warning in answer.warnings if warning.code != "capacity_not_checked"]
    more: dict[str, object] = {"warnings": [*capacity(question, answer, amounts), *warnings]}
    bill = study_bill(request, amounts)
    if amounts is not None and is_of_study(request.cloud_monthly, bill):
        more["sentences"] = [*answer.sentences, *map(Text.of, ways_of_bill(question, body, amounts))]
    if amounts is not None and body.utilisation != request.utilisation:
        why = Message("share of the time for which the runs that the cloud bill pays for use the system")
        more["defaults"] = [*answer.defaults, Default.of("utilisation", body.utilisation, why)]
    return answer.model_copy(update=more)


def study_bill(request: BreakEvenRequest, amounts: OptionAmounts | None) -> Quantity | None:
    """Return the cloud bill of the study; None where there is none or the request describes another."""
    if amounts is None or amounts.cloud is None or request.cloud is not None:
        return None
    return amounts.cloud.monthly


def ways_of_bill(
    question: StudyQuestion, body: BreakEvenRequest, amounts: OptionAmounts
) -> Iterator[Message]:
    """Say how the cloud bill of a study is paid, and when owning pays off against a commitment."""
    cloud = amounts.cloud
    assert cloud is not None, "the bill is that of the study"
    values: dict[str, object] = {"cloud": cloud.label, "way": WAYS[cloud.rental]}
    yield Message("The cloud bill is that of {cloud} {way}.", values)
    if cloud.commitment is None or cloud.commitment.rental == cloud.rental:
        return
    bill = cloud.commitment.run.value * amounts.runs
    committed = {"cloud_monthly": bill, "utilisation": None, "ranges": None, "growth": None}
    answer = decide(body.model_copy(update=committed), question.workspace.context())
    values = {
        "way": WAYS[cloud.commitment.rental or ""],
        "bill": money(bill, question.content.base.currency),
        "months": written(answer.months),
    }
    template = (
        "Against the cheapest published commitment, {way} at {bill} a month, owning pays off after {months} "
        "months."
        if answer.months is not None
        else "Against the cheapest published commitment, {way} at {bill} a month, owning never pays off."
    )
    yield Message(template, values)


def is_of_study(stated: float | None, amount: Quantity | None) -> bool:
    """Tell whether a stated amount is that of the study: unchanged or omitted."""
    return amount is not None and (stated is None or stated == round(amount.value))


def completed_by(
    question: StudyQuestion, request: BreakEvenRequest, amounts: OptionAmounts | None
) -> BreakEvenRequest:
    more: dict[str, object] = {}
    ranges: dict[str, RangeInput] = {}
    stated = request.ranges or RangesInput()
    bill = study_bill(request, amounts)
    for name, amount in (("capex", None if amounts is None else amounts.purchase), ("cloud_monthly", bill)):
        if amount is not None and is_of_study(getattr(request, name), amount):
            times = 1.0
            if name == "cloud_monthly" and amounts is not None and request.utilisation is not None:
                # The study's bill is for the runs of the study's utilisation.
                times = request.utilisation / amounts.utilisation
            value = float(round(amount.value * times))
            more[name] = value
            if getattr(stated, name) is None and amount.low < amount.high:
                ranges[name] = RangeInput(
                    low=min(amount.low * times, value), high=max(amount.high * times, value)
                )
    if "capex" in more and request.capex_includes_fabric is None:
        more["capex_includes_fabric"] = True
    if amounts is not None and bill is not None and request.utilisation is None:
        typed = None if "cloud_monthly" in more else request.cloud_monthly
        if typed is None:
            more["utilisation"] = amounts.utilisation
            if stated.utilisation is None and amounts.used is not None:
                ranges["utilisation"] = amounts.used
        elif "capex" in more:
            # The study's purchase has a known capacity; a typed purchase price may be for anything.
            more["utilisation"] = amounts.share_of(typed)
    if request.onprem is not None:
        more["onprem"] = running_of(question, request)
    elif request.onprem_monthly is None and amounts is not None:
        more["onprem_monthly"] = amounts.running_monthly
    if ranges:
        more["ranges"] = stated.model_copy(update=ranges)
    body = request.model_copy(update=more)
    for name, parts in (("capex", None), ("onprem_monthly", body.onprem), ("cloud_monthly", body.cloud)):
        if getattr(body, name) is None and parts is None:
            raise Unprocessable.at(
                name, "enter an amount; the study has none for {option}", option=question.label
            )
    return body


def running_of(question: StudyQuestion, request: BreakEvenRequest) -> RunningInput:
    """Complete the components of the running cost with those that follow from the machines."""
    assert request.onprem is not None and question.request is not None
    system = question.request.system
    entry = question.workspace.sizing.catalog.system(system.id)
    rates = question.workspace.sizing.catalog.cost_defaults(entry.machine.chip.kind)
    defaults = {
        "power_kw": entry.power_typical.value * system.count / KILOWATT,
        "staff": staff_posts(entry, system.count, rates),
    }
    missing = {name: value for name, value in defaults.items() if getattr(request.onprem, name) is None}
    return request.onprem.model_copy(update=missing)


def capacity(
    question: StudyQuestion, answer: BreakEven, amounts: OptionAmounts | None
) -> Iterator[CheckWarning]:
    """Yield the warning that compares the work behind the bill with the capacity of the owned option."""
    if amounts is None or amounts.cloud is None:
        message = Message("the capacity of the cluster is not checked against the work behind the cloud bill")
        yield CheckWarning.of("capacity_not_checked", "caution", message, "cloud_monthly")
        return
    share = amounts.share_of(answer.cloud_monthly)
    values = {
        "own": question.label,
        "cloud": amounts.cloud.label,
        "share": round(100 * share),
        "times": significant(share),
        "part": round(100 / share),
    }
    if share > 1.0:
        message = Message(
            "on {cloud} the bill pays for {times} times the work that {own} can do in a whole month; "
            "{own} replaces at most {part} % of the bill",
            values,
        )
        yield CheckWarning.of("capacity_short", "serious", message, "cloud_monthly")
        return
    message = Message(
        "on {cloud} the bill pays for the work that keeps {own} in use {share} % of the time", values
    )
    yield CheckWarning.of("capacity_compared", "info", message, "cloud_monthly")
